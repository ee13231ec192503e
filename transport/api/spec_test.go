package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/memstore"
)

// specFields are the field tables of the specification, one field per line: its name and type. An expandable field is absent
// unless requested. The type of a field may be another table, or quoted values.
var specFields = map[string]string{
	// spec: default_sites_domain is deprecated, and null.
	"account": `
		id: integer
		name: string
		realtime_channel: string
		next_conversation_number: integer
		default_sites_domain: string or null
		default_locale: string
		languages: expandable array of language`,
	"language": `
		id: integer
		name: string
		native: string
		code: string`,
	// spec: last_activity is null until the user was seen in the account.
	"membership": `
		id: integer
		user_id: integer
		account_id: integer
		user: expandable memberUser
		account: expandable account
		roles: expandable array of role
		mailboxes: expandable array of mailbox
		permissions: array of string
		is_online: boolean
		last_activity: timestamp or null
		created_at: timestamp
		updated_at: timestamp`,
	"memberUser": `
		id: integer
		name: string
		initials: string
		email: string
		email_verified_at: timestamp or null
		created_at: timestamp
		updated_at: timestamp`,
	"role": `
		id: integer
		name: string
		description: string`,
	"availability": `
		is_online: boolean
		force_offline: boolean
		while_in_app: boolean
		use_schedule: boolean
		schedule: schedule or null`,
	"schedule": `
		mon: optional hours
		tue: optional hours
		wed: optional hours
		thu: optional hours
		fri: optional hours
		sat: optional hours
		sun: optional hours`,
	"hours": `
		from: hh:mm
		to: hh:mm`,
	"mailbox": `
		id: integer
		account_id: integer
		name: string
		email: string
		from: string
		internal_email_address: string
		connection: connection
		created_at: timestamp
		updated_at: timestamp`,
	"connection": `inbound: inbound`,
	"forwarded": `
		type: "FWD"
		forward_to: string`,
	// spec: password is never returned; has_password reports whether there is one.
	"fetched": `
		type: "IMAP|POP3"
		host: string
		port: integer
		username: string
		encryption: "TLS|SSL|NONE"
		validate_certificate: boolean
		folders: array of string`,
	"customer": `
		id: integer
		name: string
		initials: string
		first_name: string
		last_name: string
		company: string
		account_id: integer
		avatar: string or null
		emails: array of email
		phones: array of phone
		websites: array of website
		stats: single stats
		created_at: timestamp
		updated_at: timestamp`,
	"email": `
		id: integer
		email: string`,
	"phone": `
		id: integer
		phone: string`,
	"website": `
		id: integer
		website: string`,
	"stats": `conversations: counters`,
	"counters": `
		total: integer
		posted: integer
		pending: integer
		closed: integer
		email_channel: integer`,
	// spec: the field "the service" is a name lost in editing; it is the fingerprint.
	"key": `
		id: integer
		name: string
		fingerprint: string
		expires_at: timestamp or null
		customer_email: datedEmail
		created_at: timestamp
		updated_at: timestamp`,
	"datedEmail": `
		id: integer
		email: string
		created_at: timestamp
		updated_at: timestamp`,
	"conversation": `
		id: integer
		channel: "email"
		customer_email: email
		mailbox_id: integer
		mailbox: expandable mailbox
		user_id: integer or null
		user: expandable user or null
		number: integer
		status: "posted|draft|pending|closed"
		subject: string
		preview: string
		realtime_channel: string
		customer_awaiting_reply_since: timestamp or null
		tags: array of tag
		customer: expandable customer
		unread_count: integer
		created_at: timestamp
		updated_at: timestamp`,
	"user": `
		id: integer
		name: string
		initials: string
		is_me: boolean
		avatar: string or null`,
	"context": `
		active_users: array of activeUser
		is_online: boolean`,
	"activeUser": `
		id: integer
		user_id: integer
		account_id: integer
		user: contextUser
		is_online: boolean
		last_activity: timestamp`,
	"contextUser": `
		id: integer
		name: string
		initials: string
		avatar: string or null`,
	"user interaction": `
		id: integer
		type: "user"
		body: string
		attachments: expandable array of attachment
		conversation_id: integer
		created_at: timestamp
		updated_at: timestamp
		status: "posted|draft"
		to: array of string
		cc: array of string
		bcc: array of string
		user: expandable user
		posted_by: expandable user or null
		is_starter: boolean
		is_forward: boolean
		seen_at: timestamp or null`,
	"customer interaction": `
		id: integer
		type: "customer"
		body: string
		attachments: expandable array of attachment
		conversation_id: integer
		created_at: timestamp
		updated_at: timestamp
		source: string
		customer: expandable customer
		customer_email: email
		is_starter: boolean
		is_forward: boolean`,
	"note interaction": `
		id: integer
		type: "note"
		body: string
		attachments: expandable array of attachment
		conversation_id: integer
		created_at: timestamp
		updated_at: timestamp
		user: expandable user`,
	"attachment": `
		id: integer
		conversation_interaction_id: integer
		filename: string
		size: integer
		size_human: string
		url: string
		is_inline: boolean`,
	"tag": `
		id: integer
		tag: string
		color: #rrggbb
		created_at: timestamp
		updated_at: timestamp`,
	"view": `
		id: integer
		account_id: integer
		user_id: integer or null
		name: string
		filter: filter
		created_at: timestamp
		updated_at: timestamp`,
	"filter": `
		agent: optional string
		status: optional array of "posted|draft|pending|closed"`,
	"domain": `
		id: integer
		account_id: integer
		domain: string
		subdomain: string or null
		verified: boolean
		dns_records: array of record
		created_at: timestamp
		updated_at: timestamp`,
	"record": `
		label: string
		type: string
		hostname: string
		value: string
		verified: boolean`,
	"siteFile": `
		id: integer
		site_id: integer
		filename: string
		size: integer
		url: string
		created_at: timestamp
		updated_at: timestamp`,
	// spec: preview_url and iframe_preview_url are deprecated, and null.
	"siteTheme": `
		id: integer
		name: string
		is_active: boolean
		preview_url: string or null
		iframe_preview_url: string or null
		update_available: boolean
		created_at: timestamp
		updated_at: timestamp`,
	// spec: public_url is null unless the file is public; content is not in lists.
	"themeFile": `
		site_theme_id: integer
		file: string
		content: optional string
		public_url: string or null
		size: integer
		created_at: timestamp
		updated_at: timestamp`,
}

// specRow is a row of the specification's endpoint tables: method, path, request and response are as it words them. least
// has the required fields only, most has all; each field of least is left out once.
type specRow struct {
	method, path, request, response string
	least, most                     string
	keep                            string // placeholder for the id of the created object
}

// once means no request with only the required fields, as a second one would be refused: an address has only one key.
const once = "once"

// specSection is a part of the endpoint tables. Later rows use objects that earlier rows created.
type specSection struct {
	name string
	rows []specRow
}

// specSections are the help desk's endpoints; those of the knowledge base are kbSections.
var specSections = []specSection{
	{"Accounts", []specRow{
		{"POST", "/accounts", "`name` string required; `next_conversation_number` integer optional, default 1", "data: account",
			"name=Least", "name=Most&next_conversation_number=7", "account_id"},
		{"PUT", "/accounts/<account_id>", "`name` string required; `next_conversation_number` integer optional", "data: account",
			"name=Least", "name=Most&next_conversation_number=8", ""},
		{"DELETE", "/accounts/<account_id>", "", "204", "", "", ""},
	}},
	{"Memberships and availability", []specRow{
		{"GET", "/accounts/<account_id>/memberships", "", "data: array of membership", "", "", ""},
		{"GET", "/accounts/<account_id>/memberships/<membership_id>", "", "data: membership", "", "", ""},
		{"GET", "/accounts/<account_id>/membership", "", "data: the caller's own membership", "", "", ""},
		{"PUT", "/accounts/<account_id>/memberships/<membership_id>", "`roles` array of role ids required; `mailboxes` array of mailbox ids optional", "data: membership",
			"roles[]=<role_id>", "roles[0]=<role_id>&mailboxes[0]=<mailbox_id>", ""},
		{"GET", "/accounts/<account_id>/memberships/<membership_id>/preferences/availability", "", "data: availability", "", "", ""},
		{"PUT", "/accounts/<account_id>/memberships/<membership_id>/preferences/availability", "`force_offline` boolean required; `while_in_app` boolean required; `use_schedule` boolean required", "data: availability",
			"force_offline=0&while_in_app=true&use_schedule=0", "force_offline=1&while_in_app=false&use_schedule=off", ""},
		{"PUT", "/accounts/<account_id>/memberships/<membership_id>/preferences/availability", "`schedule` object required if use_schedule=true, with per-day `from` (required) and `to` (required), format hh:mm", "data: availability",
			"force_offline=0&while_in_app=0&use_schedule=1&schedule[mon][from]=09:00&schedule[mon][to]=17:30",
			"force_offline=0&while_in_app=0&use_schedule=1&schedule[mon][from]=09:00&schedule[mon][to]=17:30&schedule[tue][from]=09:00&schedule[tue][to]=17:30" +
				"&schedule[wed][from]=09:00&schedule[wed][to]=17:30&schedule[thu][from]=09:00&schedule[thu][to]=17:30&schedule[fri][from]=09:00&schedule[fri][to]=17:30" +
				"&schedule[sat][from]=09:00&schedule[sat][to]=17:30&schedule[sun][from]=09:00&schedule[sun][to]=17:30", ""},
		{"DELETE", "/accounts/<account_id>/memberships/<membership_id>", "", "204", "", "", ""},
	}},
	{"Mailboxes", []specRow{
		{"POST", "/accounts/<account_id>/mailboxes", "`name` string; `email` string; `from` string; `connection` object optional (see below)", "data: mailbox",
			"", "name=Sales&email=sales@acme.example&from=:user.name&connection[inbound][type]=FWD", "mailbox_id"},
		{"POST", "/accounts/<account_id>/mailboxes", "`type` enum IMAP, POP3 (required), `host` string (required), `port` integer (required), `username` string (required), `password` string (required), `encryption` enum TLS, SSL, NONE (required), `validate_certificate` boolean (required), `folders` array optional", "data: mailbox",
			"connection[inbound][type]=POP3&connection[inbound][host]=pop.example.com&connection[inbound][port]=995&connection[inbound][username]=a" +
				"&connection[inbound][password]=b&connection[inbound][encryption]=SSL&connection[inbound][validate_certificate]=1",
			"name=Post&email=post@acme.example&from=Post&connection[inbound][type]=IMAP&connection[inbound][host]=imap.example.com&connection[inbound][port]=143" +
				"&connection[inbound][username]=a&connection[inbound][password]=b&connection[inbound][encryption]=TLS" +
				"&connection[inbound][validate_certificate]=0&connection[inbound][folders][0]=INBOX&connection[inbound][folders][1]=Spam", "mailbox_id"},
		{"GET", "/accounts/<account_id>/mailboxes", "", "data: array of mailbox", "", "", ""},
		{"GET", "/accounts/<account_id>/mailboxes/<mailbox_id>", "", "data: mailbox", "", "", ""},
		{"PUT", "/accounts/<account_id>/mailboxes/<mailbox_id>", "same fields as create", "data: mailbox",
			"", "name=Sales&email=sell@acme.example&from=:mailbox.name&connection[inbound][type]=FWD", ""},
		{"DELETE", "/accounts/<account_id>/mailboxes/<mailbox_id>", "", "204", "", "", ""},
	}},
	{"Customers", []specRow{
		{"POST", "/accounts/<account_id>/customers", "`first_name` string required; `last_name` string optional; `company` string; `emails` array of {email} optional, max 15; `phones` array of {phone} optional, max 25; `websites` array of {website} optional, max 150", "data: customer",
			"first_name=Grace", "first_name=Grace&last_name=Hopper&company=Navy&emails[0][email]=grace@example.com&phones[0][phone]=123&websites[0][website]=https://example.com", "customer_id"},
		{"GET", "/accounts/<account_id>/customers", "", "data: array of customer", "", "", ""},
		{"GET", "/accounts/<account_id>/customers/<customer_id>", "", "data: customer (with stats)", "", "", ""},
		{"PUT", "/accounts/<account_id>/customers/<customer_id>", "`first_name` required; `last_name`, `company`; `emails`, `phones`, `websites` as in create, each item optionally with `id`", "data: customer",
			"first_name=Grace", "first_name=Grace&last_name=Hopper&company=Navy&emails[0][id]=999999&emails[0][email]=hopper@example.com&phones[0][phone]=456&websites[0][website]=https://example.org", ""},
		{"DELETE", "/accounts/<account_id>/customers/<customer_id>", "", "204", "", "", ""},
	}},
	{"Customer PGP public keys", []specRow{
		{"GET", "/accounts/<account_id>/customers/<customer_id>/pgp-public-keys", "", "data: array of key", "", "", ""},
		{"GET", "/accounts/<account_id>/customers/<customer_id>/pgp-public-keys/<key_id>", "", "key object", "", "", ""},
		{"PUT", "/accounts/<account_id>/customers/<customer_id>/pgp-public-keys/<key_id>", "`name` string required", "key object", "name=Work", "name=Home", ""},
		{"DELETE", "/accounts/<account_id>/customers/<customer_id>/pgp-public-keys/<key_id>", "", "204", "", "", ""},
		{"POST", "/accounts/<account_id>/customers/<customer_id>/pgp-public-keys", "`customer_email_id` integer required; `name` string optional; `content` string required (base64-encoded key content)", "key object",
			"customer_email_id=<email_id>&content=<key>", "", "key_id"},
		{"DELETE", "/accounts/<account_id>/customers/<customer_id>/pgp-public-keys/<key_id>", "", "204", "", "", ""},
		{"POST", "/accounts/<account_id>/customers/<customer_id>/pgp-public-keys", "`customer_email_id` integer required; `name` string optional; `content` string required (base64-encoded key content)", "key object",
			once, "customer_email_id=<email_id>&name=Work&content=<key>", ""},
	}},
	{"Conversations", []specRow{
		{"POST", "/accounts/<account_id>/conversations", "`channel` string required (email); `to` string required if channel=email (customer email for interactions); `mailbox_id` integer optional (account default mailbox if omitted); `user_id` integer optional (default null, unassigned); `status` optional, default posted; `subject` string optional; `interactions` array of interaction objects optional (fields such as `type`, `body`)", "data: conversation",
			"channel=email&to=new@example.com", "channel=email&to=ada@example.com&mailbox_id=<mailbox_id>&user_id=<user_id>&status=pending&subject=Engine" +
				"&interactions[0][type]=customer&interactions[0][body]=Help&interactions[1][type]=note&interactions[1][body]=Soon", "conversation_id"},
		{"GET", "/accounts/<account_id>/conversations", "", "data: array of conversation", "", "", ""},
		{"GET", "/accounts/<account_id>/conversations/<conversation_id>", "", "data: conversation", "", "", ""},
		{"PUT", "/accounts/<account_id>/conversations/<conversation_id>", "`subject` string required; `mailbox_id`, `user_id`, `status` optional (same meaning/defaults as create)", "data: conversation",
			"subject=Loom", "subject=Engine&mailbox_id=<mailbox_id>&user_id=<user_id>&status=closed", ""},
		{"GET", "/accounts/<account_id>/conversations/context", "", "data: `{ active_users: [ {id, user_id, account_id, user {id, name, initials, avatar}, is_online boolean, last_activity timestamp} ], is_online boolean }`", "", "", ""},
		{"DELETE", "/accounts/<account_id>/conversations/<conversation_id>", "", "204", "", "", ""},
		{"DELETE", "/accounts/<account_id>/conversations/bulk", "`conversations` array of conversation ids, max 100", "204", "conversations[]=<other_id>", "", ""},
	}},
	{"Interactions", slices.Concat(
		interactionRows("user", "`status` optional (posted default, or draft); `body` required if status=posted; `to` array of emails optional (if empty, the email goes to the conversation's customer email); `cc`, `bcc` arrays of emails optional; `is_forward` boolean",
			"body=Fixed", "status=draft&body=Fixed&to[0]=a@example.com&cc[0]=b@example.com&bcc[0]=c@example.com&is_forward=1", true),
		interactionRows("customer", "`body` required; `source` optional", "body=Help", "body=Help&source=chat", true),
		interactionRows("note", "`body` optional", "", "body=Soon", false),
	)},
	{"Attachments", []specRow{
		{"POST", "/accounts/<account_id>/conversations/<conversation_id>/interactions/<interaction_id>/attachments", "multipart: `file` file; `is_inline` boolean", "data: attachment",
			"file=x.txt", "file=y.txt&is_inline=1", "attachment_id"},
		{"GET", "/accounts/<account_id>/conversations/<conversation_id>/interactions/<interaction_id>/attachments", "", "data: array of attachment", "", "", ""},
		{"GET", "/accounts/<account_id>/conversations/<conversation_id>/interactions/<interaction_id>/attachments/<attachment_id>", "", "data: attachment", "", "", ""},
	}},
	{"Conversation tags", []specRow{
		{"POST", "/accounts/<account_id>/conversation-tags", "`tag` string required; `color` string optional", "tag", "tag=Least", "tag=Most&color=%23b42318", "tag_id"},
		{"GET", "/accounts/<account_id>/conversation-tags", "", "data: array of tag", "", "", ""},
		{"GET", "/accounts/<account_id>/conversation-tags/<tag_id>", "", "tag", "", "", ""},
		{"PUT", "/accounts/<account_id>/conversation-tags/<tag_id>", "`tag` required; `color` optional", "tag", "tag=Lesser", "tag=More&color=%2300ff00", ""},
		{"DELETE", "/accounts/<account_id>/conversation-tags/<tag_id>", "", "204", "", "", ""},
	}},
	{"Conversation views", []specRow{
		{"POST", "/accounts/<account_id>/conversation-views", "`name` string required; `filter` object required (samples send it as `filters[...]` form fields)", "data: view; `user_id` is set to the caller",
			"name=Least&filter[agent]=me", "name=Most&filters[agent]=unassigned&filters[status][]=posted&filters[status][]=pending", "view_id"},
		{"GET", "/accounts/<account_id>/conversation-views/<view_id>", "", "data: view", "", "", ""},
		{"PUT", "/accounts/<account_id>/conversation-views/<view_id>", "`name` required; `filter` required", "data: view",
			"name=Lesser&filter[agent]=me", "name=More&filters[agent]=me&filters[status][]=closed", ""},
		{"GET", "/accounts/<account_id>/views", "", "data: array of view (the list is shown on this path)", "", "", ""},
		{"DELETE", "/accounts/<account_id>/conversation-views/<view_id>", "", "204", "", "", ""},
	}},
	{"Domains", []specRow{
		// spec: the field is not marked as required, but a domain needs a name.
		{"POST", "/accounts/<account_id>/domains", "`domain` string", "data: domain", "domain=least.example.com", "domain=mail.example.org", "domain_id"},
		{"GET", "/accounts/<account_id>/domains", "", "data: array of domain", "", "", ""},
		{"GET", "/accounts/<account_id>/domains/<domain_id>", "", "data: domain", "", "", ""},
		{"PUT", "/accounts/<account_id>/domains/<domain_id>", "`domain` string", "data: domain", "domain=post.example.org", "domain=news.example.org", ""},
		{"POST", "/accounts/<account_id>/domains/<domain_id>/verify-dns", "none", "data: domain with refreshed per-record `verified`", "", "", ""},
		{"DELETE", "/accounts/<account_id>/domains/<domain_id>", "", "204", "", "", ""},
	}},
}

// interactionRows are the rows of the interactions for one type.
func interactionRows(kind, attributes, least, most string, bodyRequired bool) []specRow {
	const base = "/accounts/<account_id>/conversations/<conversation_id>/interactions"
	response := kind + " interaction"
	update := least
	if bodyRequired { // fields left out of an update are unchanged
		update = ""
	}
	return []specRow{
		{"POST", base, "`type` required; " + attributes, response, strings.TrimSuffix("type="+kind+"&"+least, "&"), "type=" + kind + "&" + most, "interaction_id"},
		{"GET", base + "/<interaction_id>", "", response, "", "", ""},
		{"PUT", base + "/<interaction_id>", "attributes of the interaction's type (below), without `type`: " + attributes, response, update, most, ""},
		{"DELETE", base + "/<interaction_id>", "", "204", "", "", ""},
	}
}

// Every row of the specification's endpoint tables holds.
func TestSpecEndpoints(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, b.open(t))
			all := settled(t, w)
			all["user_id"], all["key"] = strconv.FormatInt(w.desk(t).UserID(), 10), adaKey()
			w.must(t, "PUT", "/accounts/"+all["account_id"]+"/conversations/"+all["conversation_id"]+"/tags", "tags[]="+all["tag_id"])
			w.atWork(t, all["account_id"])
			for _, section := range slices.Concat(specSections, kbSections) {
				walk := specWalk{w: w, ids: maps.Clone(all)}
				for _, row := range section.rows {
					t.Run(section.name+": "+row.method+" "+row.path, func(t *testing.T) { walk.row(t, row) })
				}
			}
		})
	}
}

// atWork marks the owner as online in the application.
func (w *world) atWork(t testing.TB, account string) {
	t.Helper()
	var own struct{ Data struct{ ID int64 } }
	if err := json.Unmarshal(w.must(t, "GET", "/accounts/"+account+"/membership", "").Body.Bytes(), &own); err != nil {
		t.Fatal(err)
	}
	w.must(t, "PUT", fmt.Sprintf("/accounts/%s/memberships/%d/preferences/availability", account, own.Data.ID), "force_offline=0&while_in_app=1&use_schedule=0")
}

// specWalk goes through a section.
type specWalk struct {
	w   *world
	ids map[string]string
}

var placeholder = regexp.MustCompile(`<([a-z_]+)>`)

func (s *specWalk) fill(t testing.TB, text string) string {
	t.Helper()
	return placeholder.ReplaceAllStringFunc(text, func(p string) string {
		id := s.ids[p[1:len(p)-1]]
		if id == "" {
			t.Fatalf("nothing stands for %s", p)
		}
		return id
	})
}

// send sends a form, of the row's kind, and returns the answer.
func (s *specWalk) send(t testing.TB, row specRow, query, form string) (status int, answer any, raw string) {
	t.Helper()
	kind := "application/x-www-form-urlencoded"
	if strings.HasPrefix(row.request, "multipart") {
		form, kind = asMultipart(t, form)
	} else if form != "" {
		form = s.fill(t, form)
	}
	rec := s.w.do(t, "owner", row.method, s.fill(t, row.path)+query, form, "Accept", "application/json", "Content-Type", kind)
	if rec.Body.Len() > 0 {
		if err := json.Unmarshal(rec.Body.Bytes(), &answer); err != nil {
			t.Fatalf("%d %s: %v", rec.Code, rec.Body, err)
		}
	}
	return rec.Code, answer, rec.Body.String()
}

// asMultipart sends the field file as a file of that name.
func asMultipart(t testing.TB, form string) (body, kind string) {
	t.Helper()
	var buf bytes.Buffer
	m := multipart.NewWriter(&buf)
	for _, pair := range strings.FieldsFunc(form, func(r rune) bool { return r == '&' }) {
		name, value, _ := strings.Cut(pair, "=")
		if name == "file" {
			part, err := m.CreateFormFile(name, value)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = part.Write([]byte("content"))
		} else if err := m.WriteField(name, value); err != nil {
			t.Fatal(err)
		}
	}
	_ = m.Close()
	return buf.String(), m.FormDataContentType()
}

// row sends the row's requests: each required field left out, the required ones only, and all of them together with
// everything that can be expanded.
func (s *specWalk) row(t *testing.T, row specRow) {
	want := http.StatusOK
	switch {
	case row.response == "204":
		want = http.StatusNoContent
	case row.method == "POST" && row.request != "none":
		want = http.StatusCreated
	}
	s.leaveOut(t, row)
	shape := shapeOf(row.response)
	forms := []string{row.least, row.most}
	switch {
	case row.most == "":
		forms = forms[:1]
	case row.least == once:
		forms = forms[1:]
	}
	expand := shape.expandable()
	for i, form := range forms {
		queries := []string{""}
		if i == len(forms)-1 && len(expand) > 0 {
			queries = []string{"?expand=" + strings.Join(expand, ",")}
			if row.method == "GET" {
				queries = append(queries, "")
			}
		}
		for _, query := range queries {
			status, answer, raw := s.send(t, row, query, form)
			if status != want {
				t.Fatalf("%s: %d %s", form, status, raw)
			}
			if want == http.StatusNoContent {
				if raw != "" {
					t.Errorf("the body is not empty: %s", raw)
				}
				continue
			}
			id := shape.check(t, answer, query != "")
			s.echo(t, answer, form)
			if row.keep != "" {
				s.ids[row.keep] = id
			}
		}
	}
}

// echo checks that the fields of a form have the same values in the answer. Fields shown as objects, or sanitized, are not
// compared.
func (s *specWalk) echo(t *testing.T, answer any, form string) {
	t.Helper()
	object, _ := answer.(map[string]any)
	if data, ok := object["data"].(map[string]any); ok {
		object = data
	}
	list := map[string]int{}
	for _, pair := range strings.FieldsFunc(s.fill(t, form), func(r rune) bool { return r == '&' }) {
		name, value, _ := strings.Cut(pair, "=")
		if strings.HasSuffix(name, "[]") {
			list[name]++
			name = strings.TrimSuffix(name, "]") + strconv.Itoa(list[name]-1) + "]"
		}
		name = strings.Replace(name, "filters[", "filter[", 1)
		value, err := url.QueryUnescape(value)
		if err != nil {
			t.Fatal(err)
		}
		var got any = object
		for _, key := range strings.Split(strings.ReplaceAll(strings.ReplaceAll(name, "]", ""), "[", "."), ".") {
			switch in := got.(type) {
			case map[string]any:
				got = in[key]
			case []any:
				i, err := strconv.Atoi(key)
				if got = nil; err == nil && i < len(in) {
					got = in[i]
				}
			}
		}
		switch is := got.(type) {
		case bool:
			if want := slices.Contains([]string{"1", "true", "on"}, value); is != want {
				t.Errorf("%s=%s came to be %v", name, value, got)
			}
		case string, float64:
			if name != "body" && !strings.HasSuffix(name, "[id]") && fmt.Sprint(got) != value {
				t.Errorf("%s=%s came to be %v", name, value, got)
			}
		}
	}
}

// leaveOut sends the required fields without one of them, which the answer names.
func (s *specWalk) leaveOut(t *testing.T, row specRow) {
	t.Helper()
	pairs := strings.Split(row.least, "&")
	if row.least == "" || row.least == once {
		return
	}
	for i, pair := range pairs {
		name, _, _ := strings.Cut(pair, "=")
		root, _, _ := strings.Cut(name, "[")
		rest := slices.Delete(slices.Clone(pairs), i, i+1)
		named := name
		if !slices.ContainsFunc(rest, func(p string) bool { return strings.HasPrefix(p, root+"[") }) {
			named = root
		}
		status, answer, raw := s.send(t, row, "", strings.Join(rest, "&"))
		problem, _ := answer.(map[string]any)
		fields, _ := problem["errors"].(map[string]any)
		_, whole := fields[named]
		if _, exact := fields[name]; status != http.StatusUnprocessableEntity || !whole && !exact {
			t.Errorf("without %s: %d %s", named, status, raw)
		}
	}
}

// specShape describes a response in the terms of the specification.
type specShape struct {
	wrapped, list, stats bool
	table                string
}

var specNames = regexp.MustCompile(`^(account|(?:the caller's own )?membership|availability|mailbox|customer interaction|user interaction|note interaction|customer|key|conversation|attachment|tag|view|domain|site|collection|category|live article|draft revision|article \(draft\)|article|` + "`{ active_users)")

func shapeOf(response string) specShape {
	var s specShape
	s.table, s.wrapped = strings.CutPrefix(response, "data: ")
	s.table, s.list = strings.CutPrefix(s.table, "array of ")
	s.stats = strings.HasSuffix(s.table, "(with stats)")
	s.table = strings.TrimPrefix(specNames.FindString(s.table), "the caller's own ")
	if strings.HasPrefix(s.table, "`") {
		s.table = "context"
	}
	return s
}

// fields are the name and the type of the fields of a table.
func tableFields(table string) (fields [][2]string) {
	for line := range strings.Lines(specFields[table] + kbFields[table]) {
		if name, kind, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			fields = append(fields, [2]string{name, kind})
		}
	}
	return fields
}

func (s specShape) expandable() (names []string) {
	for _, f := range tableFields(s.table) {
		if strings.HasPrefix(f[1], "expandable ") {
			names = append(names, f[0])
		}
	}
	return names
}

// check checks the whole answer and returns the id of the object.
func (s specShape) check(t *testing.T, answer any, expanded bool) (id string) {
	t.Helper()
	outer, ok := answer.(map[string]any)
	if !ok {
		t.Fatalf("no object: %v", answer)
	}
	if _, has := outer["data"]; has != s.wrapped || s.wrapped && len(outer) != 1 {
		t.Fatalf("wrapping: %v", answer)
	}
	inner := answer
	if s.wrapped {
		inner = outer["data"]
	}
	if s.list {
		list, ok := inner.([]any)
		if !ok || len(list) == 0 {
			t.Fatalf("no list with something in it: %v", inner)
		}
		for i, one := range list {
			s.object(t, fmt.Sprintf("[%d]", i), s.table, one, expanded)
		}
		return ""
	}
	s.object(t, "", s.table, inner, expanded)
	object, _ := inner.(map[string]any)
	number, _ := object["id"].(float64)
	return strconv.FormatFloat(number, 'f', -1, 64)
}

// object checks every field of a table. Expanding goes one level deep.
func (s specShape) object(t *testing.T, path, table string, value any, expanded bool) {
	t.Helper()
	object, ok := value.(map[string]any)
	if !ok {
		t.Errorf("%s is no %s: %v", path, table, value)
		return
	}
	if table == "inbound" {
		if table = "fetched"; object["type"] == "FWD" {
			table = "forwarded"
		}
	}
	for _, f := range tableFields(table) {
		name, kind := f[0], f[1]
		at := strings.TrimPrefix(path+"."+name, ".")
		got, has := object[name]
		for prefix, wanted := range map[string]bool{"expandable ": expanded, "single ": s.stats, "optional ": has} {
			if rest, ok := strings.CutPrefix(kind, prefix); ok {
				if kind = rest; !wanted {
					kind = "absent"
				}
				break
			}
		}
		switch {
		case kind == "absent" && has && name == "posted_by" && got == nil && object["status"] == "draft":
			// "posted_by is null" of a draft, also where it is not expanded
		case kind == "absent" && has:
			t.Errorf("%s of a %s is not absent: %v", at, table, got)
		case kind != "absent" && !has:
			t.Errorf("%s of a %s is absent", at, table)
		case has:
			s.value(t, at, kind, got)
		}
	}
}

var specFormats = map[string]*regexp.Regexp{
	"hh:mm":   regexp.MustCompile(`^([01][0-9]|2[0-3]):[0-5][0-9]$`),
	"#rrggbb": regexp.MustCompile(`^#[0-9a-f]{6}$`),
}

// value checks the JSON type of a field.
func (s specShape) value(t *testing.T, path, kind string, value any) {
	t.Helper()
	kind, null := strings.CutSuffix(kind, " or null")
	if null && value == nil {
		return
	}
	if item, ok := strings.CutPrefix(kind, "array of "); ok {
		list, ok := value.([]any)
		if !ok {
			t.Errorf("%s is no array: %v", path, value)
		}
		for i, one := range list {
			s.value(t, fmt.Sprintf("%s[%d]", path, i), item, one)
		}
		return
	}
	if item, ok := strings.CutPrefix(kind, "translations of "); ok {
		byLocale, ok := value.(map[string]any)
		if !ok || len(byLocale) == 0 {
			t.Errorf("%s has no translation: %v", path, value)
		}
		for locale, one := range byLocale {
			s.value(t, path+"["+locale+"]", item, one)
		}
		return
	}
	text, isText := value.(string)
	ok := isText
	switch kind {
	case "decimal":
		_, ok = value.(float64)
	case "string":
	case "integer":
		number, isNumber := value.(float64)
		ok = isNumber && number == float64(int64(number))
	case "boolean":
		_, ok = value.(bool)
	case "timestamp":
		_, err := time.Parse("2006-01-02T15:04:05-07:00", text)
		ok = err == nil && strings.HasSuffix(text, "+00:00")
	case "hh:mm", "#rrggbb":
		ok = specFormats[kind].MatchString(text)
	default:
		values, quoted := strings.CutPrefix(kind, `"`)
		if !quoted {
			specShape{}.object(t, path, kind, value, false)
			return
		}
		ok = isText && slices.Contains(strings.Split(strings.TrimSuffix(values, `"`), "|"), text)
	}
	if !ok {
		t.Errorf("%s is no %s: %v", path, kind, value)
	}
}

// field is a value inside an answer: keys and indexes with dots.
func field(t testing.TB, answer any, path string) any {
	t.Helper()
	for _, key := range strings.Split(path, ".") {
		switch in := answer.(type) {
		case map[string]any:
			answer = in[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(in) {
				t.Fatalf("no %s in %v", path, in)
			}
			answer = in[i]
		}
	}
	return answer
}

// specStep is a request with the expected fields of its answer: JSON by path.
type specStep struct {
	method, path, form string
	status             int
	want               map[string]string
	keep, id           string // placeholder, and where its value is in the answer
}

// specTransitions are the rows of "States and transitions", as the specification words them, and the rules that the tables
// of fields and endpoints state in prose.
var specTransitions = []struct {
	row   string
	steps []specStep
}{
	{"Interaction (user) | draft | update with status posted | body present | posted | posted_by set to the sender", []specStep{
		{method: "POST", path: specInteractions, form: "type=user&status=draft&body=Fixed", status: 201, keep: "new_id", id: "id"},
		{method: "PUT", path: specInteractions + "/<new_id>?expand=posted_by", form: "status=posted", status: 200,
			want: map[string]string{"status": `"posted"`, "posted_by.id": "<user_id>"}},
	}},
	{"the same, without a body", []specStep{
		{method: "POST", path: specInteractions, form: "type=user&status=draft", status: 201, keep: "new_id", id: "id"},
		{method: "PUT", path: specInteractions + "/<new_id>", form: "status=posted", status: 422, want: map[string]string{"errors.body.0": "*"}},
		{method: "GET", path: specInteractions + "/<new_id>", status: 200, want: map[string]string{"status": `"draft"`}},
	}},
	{"Interaction (user) | (none) | create with status draft | | draft | posted_by is null", []specStep{
		{method: "POST", path: specInteractions + "?expand=posted_by,user", form: "type=user&status=draft&body=Fixed", status: 201,
			want: map[string]string{"status": `"draft"`, "posted_by": "null", "user.id": "<user_id>"}},
	}},
	{"Interaction (user) | (none) | create, status omitted | body present | posted", []specStep{
		{method: "POST", path: specInteractions, form: "type=user&body=Fixed", status: 201, want: map[string]string{"status": `"posted"`}},
	}},
	{"customer_awaiting_reply_since: timestamp of the customer's reply; null once an agent replies", []specStep{
		{method: "POST", path: specInteractions, form: "type=customer&body=Help", status: 201},
		{method: "GET", path: specConversation, status: 200, want: map[string]string{"data.customer_awaiting_reply_since": "*"}},
		{method: "POST", path: specInteractions, form: "type=note&body=Soon", status: 201},
		{method: "GET", path: specConversation, status: 200, want: map[string]string{"data.customer_awaiting_reply_since": "*"}},
		{method: "POST", path: specInteractions, form: "type=user&body=Fixed", status: 201},
		{method: "GET", path: specConversation, status: 200, want: map[string]string{"data.customer_awaiting_reply_since": "null"}},
	}},
	{"Domain | record verified false | verify DNS records | DNS configured | record verified true; domain verified true when at least one record is verified", []specStep{
		{method: "POST", path: "/accounts/<account_id>/domains", form: "domain=news.example.org", status: 201, keep: "new_id", id: "data.id",
			want: map[string]string{"data.verified": "false", "data.dns_records.0.verified": "false", "data.domain": `"news.example.org"`, "data.subdomain": `"news"`}},
		{method: "POST", path: "/accounts/<account_id>/domains/<new_id>/verify-dns", status: 200,
			want: map[string]string{"data.verified": "true", "data.dns_records.0.verified": "true"}},
		{method: "GET", path: "/accounts/<account_id>/domains/<new_id>", status: 200, want: map[string]string{"data.verified": "true"}},
	}},
	{"Conversation | status values: posted, draft, pending, closed | create / update with `status` | | the given value | default posted", slices.Concat(
		[]specStep{{method: "POST", path: "/accounts/<account_id>/conversations", form: "channel=email&to=ada@example.com", status: 201,
			want: map[string]string{"data.status": `"posted"`, "data.user_id": "null", "data.mailbox_id": "<mailbox_id>"}}},
		conversationStatus("posted"), conversationStatus("draft"), conversationStatus("pending"), conversationStatus("closed"),
		[]specStep{
			{method: "POST", path: "/accounts/<account_id>/conversations", form: "channel=email&to=ada@example.com&status=open", status: 422, want: map[string]string{"errors.status.0": "*"}},
			{method: "PUT", path: specConversation, form: "subject=X&status=open", status: 422, want: map[string]string{"errors.status.0": "*"}},
		},
	)},
	{"the same, with interactions in the request", []specStep{
		{method: "POST", path: "/accounts/<account_id>/conversations", form: "channel=email&to=ada@example.com&status=closed&interactions[0][type]=customer&interactions[0][body]=Help", status: 201,
			want: map[string]string{"data.status": `"closed"`, "data.preview": `"Help"`}},
	}},
	{"next_conversation_number: integer optional, default 1; incremental conversation number", []specStep{
		{method: "POST", path: "/accounts", form: "name=X", status: 201, want: map[string]string{"data.next_conversation_number": "1"}},
		{method: "PUT", path: "/accounts/<account_id>", form: "name=X&next_conversation_number=500", status: 200, want: map[string]string{"data.next_conversation_number": "500"}},
		{method: "POST", path: "/accounts/<account_id>/conversations", form: "channel=email&to=ada@example.com", status: 201, want: map[string]string{"data.number": "500"}},
	}},
	{"schedule: null when no schedule definition exists; required if use_schedule=true", []specStep{
		{method: "GET", path: specAvailability, status: 200, want: map[string]string{"data.schedule": "null"}},
		{method: "PUT", path: specAvailability, form: "force_offline=0&while_in_app=0&use_schedule=1", status: 422, want: map[string]string{"errors.schedule.0": "*"}},
		{method: "PUT", path: specAvailability, form: "force_offline=0&while_in_app=0&use_schedule=1&schedule[mon][from]=9&schedule[mon][to]=17:30", status: 422,
			want: map[string]string{"errors.schedule[mon][from].0": "*"}},
	}},
	{"FWD: default when no inbound connection is configured", []specStep{
		{method: "POST", path: "/accounts/<account_id>/mailboxes", form: "name=X", status: 201, keep: "new_id", id: "data.id",
			want: map[string]string{"data.connection.inbound.type": `"FWD"`, "data.connection.inbound.forward_to": "*"}},
		{method: "PUT", path: "/accounts/<account_id>/mailboxes/<new_id>", form: "connection[inbound][type]=SMTP", status: 422, want: map[string]string{"errors.connection[inbound][type].0": "*"}},
	}},
	{"A customer is created automatically when a conversation starts with an email that belongs to no customer; name: if both are empty, an associated email is shown", []specStep{
		{method: "POST", path: "/accounts/<account_id>/conversations?expand=customer", form: "channel=email&to=lise@example.com", status: 201, keep: "new_id", id: "data.customer.id",
			want: map[string]string{"data.customer_email.email": `"lise@example.com"`, "data.customer.name": `"lise@example.com"`}},
		{method: "GET", path: "/accounts/<account_id>/customers/<new_id>", status: 200,
			want: map[string]string{"data.stats.conversations.total": "1", "data.stats.conversations.posted": "1", "data.stats.conversations.email_channel": "1"}},
	}},
	{"an email, phone or website item is created when it has no id or its id does not exist; otherwise it is updated", []specStep{
		{method: "POST", path: "/accounts/<account_id>/customers", form: "first_name=Grace&last_name=Hopper&phones[0][phone]=1", status: 201, keep: "new_id", id: "data.id",
			want: map[string]string{"data.name": `"Grace Hopper"`, "data.initials": `"GH"`}},
		{method: "GET", path: "/accounts/<account_id>/customers/<new_id>", status: 200, keep: "phone_id", id: "data.phones.0.id"},
		{method: "PUT", path: "/accounts/<account_id>/customers/<new_id>", form: "first_name=Grace&phones[0][id]=<phone_id>&phones[0][phone]=2&phones[1][phone]=3&phones[2][id]=999999&phones[2][phone]=4", status: 200,
			want: map[string]string{"data.phones.0.id": "<phone_id>", "data.phones.0.phone": `"2"`, "data.phones.1.phone": `"3"`, "data.phones.2.phone": `"4"`}},
	}},
	{"view: user_id is set to the caller", []specStep{
		{method: "POST", path: "/accounts/<account_id>/conversation-views", form: "name=X&filters[agent]=unassigned&filters[status][]=closed", status: 201,
			want: map[string]string{"data.user_id": "<user_id>", "data.filter.agent": `"unassigned"`, "data.filter.status.0": `"closed"`}},
	}},
}

const (
	specConversation = "/accounts/<account_id>/conversations/<conversation_id>"
	specInteractions = specConversation + "/interactions"
	specAvailability = "/accounts/<account_id>/memberships/<membership_id>/preferences/availability"
)

func conversationStatus(status string) []specStep {
	want := map[string]string{"data.status": `"` + status + `"`}
	return []specStep{
		{method: "POST", path: "/accounts/<account_id>/conversations", form: "channel=email&to=ada@example.com&status=" + status, status: 201, want: want},
		{method: "PUT", path: specConversation, form: "subject=X&status=" + status, status: 200, want: want},
	}
}

// The statements of the specification about states and defaults hold.
func TestSpecTransitions(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, b.open(t))
			all := settled(t, w)
			all["user_id"] = strconv.FormatInt(w.desk(t).UserID(), 10)
			for _, transition := range specTransitions {
				walk := specWalk{w: w, ids: maps.Clone(all)}
				t.Run(transition.row, func(t *testing.T) {
					for _, step := range transition.steps {
						walk.step(t, step)
					}
				})
			}
		})
	}
}

func (s *specWalk) step(t *testing.T, step specStep) {
	t.Helper()
	status, answer, raw := s.send(t, specRow{method: step.method, path: step.path}, "", step.form)
	if status != step.status {
		t.Fatalf("%s %s %s: %d %s", step.method, step.path, step.form, status, raw)
	}
	for path, want := range step.want {
		got := field(t, answer, path)
		text, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if want == "*" && got == nil || want != "*" && string(text) != s.fill(t, want) {
			t.Errorf("%s %s %s: %s is %s, not %s", step.method, step.path, step.form, path, text, want)
		}
	}
	if step.keep != "" {
		s.ids[step.keep] = fmt.Sprint(field(t, answer, step.id))
	}
}

// The numbers of the specification's "Limits": as many are taken, one more is not.
func TestSpecLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	walk := specWalk{w: w, ids: settled(t, w)}
	times := func(n int, format string) string {
		pairs := make([]string, n)
		for i := range pairs {
			pairs[i] = strings.ReplaceAll(format, "#", strconv.Itoa(i))
		}
		return strings.Join(pairs, "&")
	}
	const customers = "/accounts/<account_id>/customers"
	for _, limit := range []struct {
		field, item string
		most        int
	}{
		{"emails", "emails[#][email]=x#@example.com", 15},
		{"phones", "phones[#][phone]=+49 #", 25},
		{"websites", "websites[#][website]=https://#.example.com", 150},
	} {
		for _, request := range [][2]string{{"POST", customers}, {"PUT", customers + "/<second_id>"}} {
			ok := http.StatusOK
			item := limit.item
			if request[0] == "POST" {
				ok, item = http.StatusCreated, strings.ReplaceAll(item, "=x", "=new")
			}
			walk.step(t, specStep{method: request[0], path: request[1], status: ok, form: "first_name=X&" + times(limit.most, item)})
			walk.step(t, specStep{method: request[0], path: request[1], status: http.StatusUnprocessableEntity,
				form: "first_name=X&" + times(limit.most+1, item), want: map[string]string{"errors." + limit.field + ".0": "*"}})
		}
	}
	const conversations = "/accounts/<account_id>/conversations"
	for i := range 101 {
		walk.step(t, specStep{method: "POST", path: conversations, form: "channel=email&to=ada@example.com", status: http.StatusCreated,
			keep: "c" + strings.Repeat("_", i), id: "data.id"})
	}
	many := make([]string, 101)
	for i := range many {
		many[i] = "conversations[]=<c" + strings.Repeat("_", i) + ">"
	}
	walk.step(t, specStep{method: "DELETE", path: conversations + "/bulk", form: strings.Join(many, "&"), status: http.StatusUnprocessableEntity,
		want: map[string]string{"errors.conversations.0": "*"}})
	walk.step(t, specStep{method: "DELETE", path: conversations + "/bulk", form: strings.Join(many[:100], "&"), status: http.StatusNoContent})
	walk.step(t, specStep{method: "GET", path: conversations + "/<c>", status: http.StatusNotFound})
	walk.step(t, specStep{method: "GET", path: conversations + "/<c" + strings.Repeat("_", 100) + ">", status: http.StatusOK})
}

// "connection: included only when the caller has the appropriate permissions."
func TestSpecConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	ids := settled(t, w)
	path := "/accounts/" + ids["account_id"] + "/mailboxes/" + ids["mailbox_id"]
	for who, want := range map[string]bool{"owner": true, "agent": false} {
		rec := w.do(t, who, "GET", path, "")
		if rec.Code != http.StatusOK || strings.Contains(rec.Body.String(), `"connection"`) != want {
			t.Errorf("%s: %d %s", who, rec.Code, rec.Body)
		}
	}
}

// The sample "update account" of the specification labels its form fields as JSON.
func TestSpecLabelledJSON(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	path := "/accounts/" + strconv.FormatInt(w.account.ID, 10)
	rec := w.must(t, "PUT", path, "name=Renamed&next_conversation_number=9", "Accept", "application/json", "Content-Type", "application/json")
	if !strings.Contains(rec.Body.String(), `"name":"Renamed"`) || !strings.Contains(rec.Body.String(), `"next_conversation_number":9`) {
		t.Error(rec.Body)
	}
}
