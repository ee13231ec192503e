// Package zendesk reads the tickets, users and macros of a Zendesk account from files.
//
// It takes the JSON export of an account ("Exporting data to a JSON, CSV, or XML file", support.zendesk.com article
// 4408886165402): files of one ticket, user or organization in each line, tickets with their comments. And it takes answers
// of the Support API v2 as they came (developer.zendesk.com/api-reference/ticketing, as of November 2026): pages with
// tickets, users, organizations, groups, ticket_fields, user_fields, macros and comments. The comments of a ticket, which do
// not name it, lie in a file whose name or folder ends in the ticket's number: comments/35436.json, comments/35436-2.json or
// tickets/35436/comments.json.
//
// Neither has the files of comments. They are looked for in the folder attachments, by the id of the attachment:
// attachments/498483/crash.log, attachments/498483-crash.log, attachments/498483.log or attachments/498483.
package zendesk

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/movein/foreign"
)

// Source is an account of Zendesk. It implements [foreign.Source].
type Source struct {
	scanner  foreign.Scanner
	folder   *foreign.Folder
	report   foreign.Report
	users    *foreign.Index[foreign.Person]
	orgs     *foreign.Index[organization]
	tickets  *foreign.Index[struct{}]
	groups   map[string]string
	fields   map[string]*foreign.Property // ticket fields
	traits   map[string]*foreign.Property // user fields, by key
	comments map[string][]string          // files by ticket
}

// Open looks through a folder: it reads all of it once, and remembers where users and tickets lie.
func Open(ctx context.Context, cfg foreign.Config) (*Source, error) {
	if cfg.Files == nil {
		return nil, errors.New("zendesk: Files is required")
	}
	s := &Source{groups: map[string]string{}, fields: map[string]*foreign.Property{}, traits: map[string]*foreign.Property{}, comments: map[string][]string{}}
	s.scanner = foreign.Scanner{
		Config: cfg, Report: &s.report,
		Collections: []string{"tickets", "users", "organizations", "groups", "ticket_fields", "user_fields", "macros", "comments"},
		Singles:     map[string]string{"ticket": "tickets", "user": "users", "organization": "organizations", "group": "groups", "macro": "macros", "ticket_field": "ticket_fields", "user_field": "user_fields"},
	}
	s.users = foreign.NewIndex(s.scanner, person)
	s.orgs = foreign.NewIndex(s.scanner, func(o foreign.Object) organization {
		return readOrganization(o, &foreign.Report{}) // it was told when the files were opened
	})
	s.tickets = foreign.NewIndex(s.scanner, func(foreign.Object) struct{} { return struct{}{} })
	var err error
	if s.folder, err = foreign.OpenFolder(ctx, cfg.Files, &s.report); err != nil {
		return nil, err
	}
	for _, file := range s.folder.Records {
		if id := ticketOf(file); id != "" {
			s.comments[id] = append(s.comments[id], file)
			continue
		}
		if err := s.scanner.Scan(ctx, file, s.index); err != nil {
			return nil, err
		}
	}
	s.scanner.Report = &foreign.Report{} // what is wrong with the files was told
	return s, nil
}

// Format implements [foreign.Source].
func (s *Source) Format() foreign.Format {
	return foreign.Format{Name: "zendesk", Title: "Zendesk", What: "ticket", Document: "JSON export and Support API v2, as of November 2026"}
}

// Report implements [foreign.Source].
func (s *Source) Report() *foreign.Report { return &s.report }

// Open implements [foreign.Source].
func (s *Source) Open(f foreign.File) (fs.File, error) { return s.scanner.Files.Open(f.Path) }

var numbers = regexp.MustCompile(`\d+`)

// ticketOf is the ticket whose comments a file has, "" if it has none.
func ticketOf(file string) string {
	dir, base := path.Split(file)
	dir = strings.TrimSuffix(dir, "/")
	base = strings.TrimSuffix(base, path.Ext(base))
	parent := path.Base(dir)
	if strings.HasPrefix(base, "comments") && numbers.FindString(parent) == parent {
		return parent
	}
	if parent == "comments" || strings.HasPrefix(base, "comments") {
		return numbers.FindString(base)
	}
	return ""
}

// kind is what a record is. Those of an export stand in no list that would tell.
func kind(r foreign.Record, o foreign.Object) string {
	switch {
	case r.Collection != "":
		return r.Collection
	case o.Has("requester_id") || o.Has("submitter_id"):
		return "tickets"
	case o.Has("role"):
		return "users"
	case o.Has("domain_names") || o.Has("shared_comments"):
		return "organizations"
	case o.Has("actions") && o.Has("title"):
		return "macros"
	case o.Has("author_id"):
		return "comments"
	}
	return ""
}

// index notes where a record lies.
func (s *Source) index(r foreign.Record) error {
	o, err := foreign.ParseObject(r.Raw, r.Place())
	if err != nil {
		s.report.Problems.Add("a record is left out: "+err.Error(), r.Place())
		return nil //nolint:nilerr // it is in the report
	}
	what, id := kind(r, o), o.Peek("id")
	if id == "" || what == "" {
		s.report.Problems.Add("a record is left out: it is none that is known", r.Place())
		return nil
	}
	switch what {
	case "tickets":
		s.tickets.Add(id, r)
	case "users":
		s.users.Add(id, r)
	case "organizations":
		s.orgs.Add(id, r)
		readOrganization(o, &s.report)
	case "groups":
		s.groups[id] = o.Text("name")
	case "ticket_fields":
		s.fields[id] = property(o)
		s.fields[id].Required, s.fields[id].Public = o.Bool("required"), o.Bool("visible_in_portal")
	case "user_fields":
		p := property(o)
		p.OfCustomer = true
		s.traits[o.Text("key")] = p
	case "comments":
		s.report.Problems.Add("a comment is left out: its file does not tell the ticket; call it comments/NUMBER.json", r.Place())
	}
	return nil
}

// each calls fn with the records of a kind, of each id the last.
func (s *Source) each(ctx context.Context, what string, is func(id string, r foreign.Record) bool, fn func(foreign.Record, foreign.Object) error) error {
	for _, file := range s.folder.Records {
		if ticketOf(file) != "" {
			continue
		}
		if err := s.scanner.Scan(ctx, file, func(r foreign.Record) error {
			o, err := foreign.ParseObject(r.Raw, r.Place())
			if err != nil || kind(r, o) != what {
				return nil //nolint:nilerr // it was told when the files were opened
			}
			if !is(o.Peek("id"), r) {
				return nil // a later one counts
			}
			return fn(r, o)
		}); err != nil {
			return err
		}
	}
	return nil
}

// People implements [foreign.Source].
func (s *Source) People(ctx context.Context, fn func(foreign.Person) error) error {
	return s.each(ctx, "users", s.users.Is, func(_ foreign.Record, o foreign.Object) error {
		p := person(o)
		if p.Agent {
			for _, f := range o.Rest(&foreign.Report{}, "", foreign.Fields{}) {
				s.report.LeftOut.Add("agent."+f.Name, o.Place)
			}
			return fn(p)
		}
		s.userFields(o, &p)
		p.Extra = append(p.Extra, o.Rest(&s.report, "user.", userFields)...)
		if err := s.inOrganization(&p, true); err != nil {
			return err
		}
		return fn(p)
	})
}

var userFields = foreign.Fields{
	Kept: []string{"alias", "details", "external_id", "locale", "signature", "tags", "time_zone", "user_fields", "suspended", "custom_role_id"},
	LeftOut: []string{
		"url", "active", "verified", "shared", "shared_agent", "shared_phone_number", "photo", "locale_id", "iana_time_zone", "last_login_at", "created_at", "updated_at",
		"two_factor_auth_enabled", "role_type", "restricted_agent", "report_csv", "only_private_comments", "ticket_restriction", "moderator", "chat_only",
		"default_group_id", "permanently_deleted", "remote_photo_url",
	},
}

// person takes a user (Users API, JSON format).
func person(o foreign.Object) foreign.Person {
	p := foreign.Person{ID: o.ID("id"), Name: o.Text("name"), Note: o.Text("notes"), Company: o.ID("organization_id")}
	if email := o.Text("email"); email != "" {
		p.Emails = []string{email}
	}
	if phone := o.Text("phone"); phone != "" {
		p.Phones = []string{phone}
	}
	role := o.Text("role")
	p.Agent = role == "agent" || role == "admin"
	p.Deleted = o.Has("active") && !o.Bool("active")
	identities, _ := o.Objects("identities")
	for _, one := range identities {
		switch value := one.Text("value"); one.Text("type") {
		case "email":
			if !slices.Contains(p.Emails, value) {
				p.Emails = append(p.Emails, value)
			}
		case "phone_number":
			if !slices.Contains(p.Phones, value) {
				p.Phones = append(p.Phones, value)
			}
		default:
			p.Extra = append(p.Extra, foreign.Field{Name: "identity", Value: value})
		}
	}
	return p
}

type organization struct {
	name string
	foreign.Organization
}

var organizationFields = foreign.Fields{
	Kept:    []string{"organization_fields", "tags"},
	LeftOut: []string{"url", "created_at", "updated_at", "shared_comments", "shared_tickets", "group_id"},
}

// readOrganization takes an organization (Organizations API, JSON format).
func readOrganization(o foreign.Object, r *foreign.Report) organization {
	org := organization{name: o.Text("name")}
	o.ID("id")
	org.Domains, org.ExternalID = o.Texts("domain_names"), o.ID("external_id")
	org.Note = strings.TrimSpace(o.Text("details") + "\n\n" + o.Text("notes"))
	if extra := o.Rest(r, "organization.", organizationFields); len(extra) > 0 {
		list := "From Zendesk:"
		for _, f := range extra {
			list += "\n" + f.Name + ": " + f.Value
		}
		org.Note = strings.TrimSpace(org.Note + "\n\n" + list)
	}
	return org
}

// inOrganization replaces the id of a person's organization by its name, and adds what else is known of it to a whole person.
func (s *Source) inOrganization(p *foreign.Person, whole bool) error {
	if p.Company == "" {
		return nil
	}
	org, found, err := s.orgs.Get(p.Company)
	if err != nil {
		return err
	}
	if !found {
		p.Extra = append(p.Extra, foreign.Field{Name: "organization_id", Value: p.Company})
		p.Company = ""
		return nil
	}
	p.Company = org.name
	if whole {
		p.Organization = org.Organization
	}
	return nil
}

// someone is the user with an id. One that is not in the files has no name but that.
func (s *Source) someone(id string) (foreign.Person, error) {
	if id == "" || id == "-1" { // the system
		return foreign.Person{ID: id, Name: "Zendesk", Agent: true}, nil
	}
	p, found, err := s.users.Get(id)
	if err != nil {
		return p, err
	}
	if !found {
		return foreign.Person{ID: id, Name: "Zendesk user " + id}, nil
	}
	return p, s.inOrganization(&p, false)
}

// Replies implements [foreign.Source]: macros, with those of their actions that there are here.
func (s *Source) Replies(ctx context.Context, fn func(foreign.Reply) error) error {
	all := func(string, foreign.Record) bool { return true }
	return s.each(ctx, "macros", all, func(r foreign.Record, o foreign.Object) error {
		reply := foreign.Reply{ID: o.ID("id"), Name: o.Text("title"), Place: r.Place()}
		actions, _ := o.Objects("actions")
		internal := false
		for _, a := range actions {
			field := a.Text("field")
			switch field {
			case "comment_value_html":
				reply.HTML = macroText(a)
				continue
			case "comment_value":
				reply.HTML = cmp.Or(reply.HTML, macroText(a))
				continue
			case "comment_mode_is_public":
				internal = a.Text("value") == "false"
				continue
			}
			known, err := s.does(&reply.Does, field, a)
			if err != nil {
				return err
			}
			if !known {
				s.report.LeftOut.Add("macro action "+field, r.Place())
			}
		}
		o.Rest(&s.report, "macro.", foreign.Fields{LeftOut: []string{"url", "active", "created_at", "updated_at", "default", "position", "description", "raw_title", "restriction"}})
		reply.HTML = placeholders.Replace(reply.HTML)
		if internal {
			reply.HTML, reply.Does.Note = "", reply.HTML
		}
		if reply.HTML == "" && reply.Does.Nothing() {
			s.report.Problems.Add("a macro is left out: it writes no comment, and does nothing that there is here", r.Place())
			return nil
		}
		return fn(reply)
	})
}

// does takes an action of a macro that there is here.
func (s *Source) does(d *foreign.Does, field string, a foreign.Object) (known bool, err error) {
	if id, own := strings.CutPrefix(field, "custom_fields_"); own {
		of := s.fields[id]
		raw := a.Raw("value")
		if of == nil || of.Name == "" || raw == nil {
			return false, nil
		}
		v, ok := valueOf(of, raw)
		if ok {
			d.Values = append(d.Values, v)
		}
		return ok, nil
	}
	text := macroText(a)
	switch field {
	case "status":
		d.State, d.Sets = states[text]
		known = d.Sets
	case "priority":
		if known = slices.Contains([]string{"low", "normal", "high", "urgent"}, text); known {
			d.Priority = text
		}
	case "current_tags":
		d.AddTags, known = strings.Fields(text), true
	case "remove_tags":
		d.RemoveTags, known = strings.Fields(text), true
	case "group_id":
		d.Team = s.groups[text]
		known = d.Team != ""
	case "assignee_id":
		if d.Unassigns = text == ""; d.Unassigns {
			return true, nil
		}
		d.Assignee, err = s.someone(text)
		known = d.Assignee.Email() != ""
	}
	return known, err
}

// macroText is the text that a macro writes: a string, or a list of a channel and a string.
func macroText(a foreign.Object) string {
	if list := a.Texts("value"); len(list) > 0 {
		return list[len(list)-1]
	}
	return a.Text("value")
}

// placeholders are those of Zendesk that this help desk has by another name.
var placeholders = strings.NewReplacer(
	"{{ticket.requester.first_name}}", "{{customer.first_name}}", "{{ticket.requester.name}}", "{{customer.name}}",
	"{{current_user.name}}", "{{agent.name}}", "{{ticket.id}}", "{{conversation.number}}", "{{ticket.title}}", "{{conversation.subject}}",
)

// Conversations implements [foreign.Source].
func (s *Source) Conversations(ctx context.Context, fn func(foreign.Conversation) error) error {
	return s.each(ctx, "tickets", s.tickets.Is, func(r foreign.Record, o foreign.Object) error {
		c, err := s.conversation(ctx, r, o)
		if err != nil || c.ID == "" {
			return err
		}
		return fn(c)
	})
}

// states are those of tickets.
var states = map[string]foreign.State{
	"new": foreign.Open, "open": foreign.Open, "pending": foreign.Pending, "hold": foreign.Pending, "solved": foreign.Closed, "closed": foreign.Closed,
}

var ticketFields = foreign.Fields{
	Kept: []string{
		"brand_id", "due_at", "external_id", "organization_id", "problem_id", "recipient", "satisfaction_rating", "satisfaction_probability", "type",
		"custom_status_id", "ticket_form_id", "sharing_agreement_ids", "followup_ids", "followers", "group_id", "assignee_id", "custom_fields", "forum_topic_id",
	},
	LeftOut: []string{
		"url", "raw_subject", "fields", "via", "has_incidents", "is_public", "allow_channelback", "allow_attachments", "from_messaging_channel",
		"generated_timestamp", "encoded_id", "metric_set", "deleted_ticket_form_id", "collaborator_ids", "submitter_id", "dates", "comment_count",
		"support_type", "ticket_id", "channel",
	},
}

// conversation takes a ticket (Tickets API, JSON format). One without an ID is left out.
func (s *Source) conversation(ctx context.Context, r foreign.Record, o foreign.Object) (c foreign.Conversation, err error) {
	c = foreign.Conversation{
		ID: o.ID("id"), Subject: cmp.Or(o.Text("subject"), o.Text("raw_subject")), Status: o.Text("status"), Priority: o.Text("priority"),
		Tags: o.Texts("tags"), Created: o.Time("created_at"), Updated: o.Time("updated_at"), Place: r.Place(),
	}
	c.Number = c.ID
	if c.Status == "deleted" {
		s.report.Problems.Add("a ticket is left out: it was deleted", r.Place())
		return foreign.Conversation{}, nil
	}
	var known bool
	if c.State, known = states[c.Status]; !known {
		o.Put("status", c.Status)
	}
	s.report.Statuses.Add(cmp.Or(c.Status, "no status")+" becomes "+c.State.String(), r.Place())
	if !slices.Contains([]string{"", "low", "normal", "high", "urgent"}, c.Priority) {
		o.Put("priority", c.Priority)
		c.Priority = ""
	}
	if err := s.ticketPeople(o, &c); err != nil {
		return c, err
	}
	if score := o.Object("satisfaction_rating"); score.Has("score") {
		switch value := score.Text("score"); value {
		case "unoffered", "offered":
		case "good", "good_with_comment":
			c.Rating = foreign.Rating{Good: true, Comment: score.Text("comment")}
		case "bad", "bad_with_comment":
			c.Rating = foreign.Rating{Bad: true, Comment: score.Text("comment")}
		default:
			o.Put("satisfaction_rating", strings.TrimSpace(value+" "+score.Text("comment")))
		}
	}
	s.customFields(o, &c)
	description := o.Text("description")
	comments, err := s.commentsOf(ctx, o, c.ID)
	if err != nil {
		return c, err
	}
	for n, one := range comments {
		m, err := s.message(one, c)
		if err != nil {
			return c, err
		}
		if n == 0 && description != "" && strings.TrimSpace(description) == strings.TrimSpace(m.Text) {
			m.ID = "description"
		}
		for _, f := range m.Extra {
			c.Extra = append(c.Extra, foreign.Field{Name: "comment " + m.ID + " " + f.Name, Value: f.Value})
		}
		c.Messages = append(c.Messages, m)
	}
	if len(comments) == 0 {
		s.report.Problems.Add("a ticket has no comments in the files: its description is all that is taken", r.Place())
		if description != "" {
			c.Messages = []foreign.Message{{ID: "description", Author: c.Customer, Text: description, At: c.Created}}
		}
	}
	slices.SortStableFunc(c.Messages, func(a, b foreign.Message) int { return a.At.Compare(b.At) })
	c.Extra = append(o.Rest(&s.report, "ticket.", ticketFields), c.Extra...)
	return c, nil
}

// ticketPeople takes who a ticket is from, and who works on it.
func (s *Source) ticketPeople(o foreign.Object, c *foreign.Conversation) (err error) {
	if c.Customer, err = s.someone(cmp.Or(o.ID("requester_id"), o.ID("submitter_id"))); err != nil {
		return err
	}
	if id := o.ID("assignee_id"); id != "" {
		if c.Assignee, err = s.someone(id); err != nil {
			return err
		}
	}
	if id := o.ID("group_id"); id != "" {
		if c.Team = s.groups[id]; c.Team == "" {
			o.Put("group_id", id)
		}
	}
	for _, list := range []string{"email_cc_ids", "collaborator_ids"} {
		for _, id := range o.Texts(list) {
			p, err := s.someone(id)
			if err != nil {
				return err
			}
			if !p.Agent && !slices.ContainsFunc(c.Cc, func(cc foreign.Person) bool { return cc.ID == id }) {
				c.Cc = append(c.Cc, p)
			}
		}
	}
	var followers []string
	for _, id := range o.Texts("follower_ids") {
		p, err := s.someone(id)
		if err != nil {
			return err
		}
		followers = append(followers, p.Name)
	}
	o.Put("followers", strings.Join(followers, ", "))
	return nil
}

// types are those of properties, by those of ticket fields and user fields.
var types = map[string]foreign.PropertyType{
	"checkbox": foreign.PropertyBoolean, "date": foreign.PropertyDate, "integer": foreign.PropertyNumber, "decimal": foreign.PropertyNumber,
	"tagger": foreign.PropertyOneOf, "dropdown": foreign.PropertyOneOf, "multiselect": foreign.PropertySomeOf,
}

// property takes a ticket field or user field (Ticket Fields API, User Fields API).
func property(o foreign.Object) *foreign.Property {
	p := &foreign.Property{ID: o.ID("id"), Name: cmp.Or(o.Text("title"), o.Text("raw_title")), Type: cmp.Or(types[o.Text("type")], foreign.PropertyText)}
	options, _ := o.Objects("custom_field_options")
	for _, one := range options {
		value := one.Text("value")
		p.Options = append(p.Options, foreign.Option{Value: value, Name: cmp.Or(one.Text("name"), value)})
	}
	return p
}

// valueOf reads the value of a property; false: it has none.
func valueOf(p *foreign.Property, raw json.RawMessage) (v foreign.Value, ok bool) {
	v.Of = p
	if json.Unmarshal(raw, &v.Texts) != nil {
		v.Texts = []string{foreign.Shown(raw)}
	}
	if p.Type == foreign.PropertyDate {
		for i, text := range v.Texts {
			v.Texts[i] = text[:min(len(text), len(time.DateOnly))] // of a user field, it is a time
		}
	}
	return v, len(v.Texts) > 0 && v.Texts[0] != ""
}

// userFields takes those of a user whose definitions are known.
func (s *Source) userFields(o foreign.Object, p *foreign.Person) {
	if len(s.traits) == 0 {
		return
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(o.Raw("user_fields"), &all) != nil {
		return
	}
	var rest []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if string(all[key]) == "null" {
			continue
		}
		if of := s.traits[key]; of != nil {
			if v, ok := valueOf(of, all[key]); ok {
				p.Values = append(p.Values, v)
			}
			continue
		}
		rest = append(rest, key+": "+foreign.Shown(all[key]))
	}
	o.Put("user_fields", strings.Join(rest, ", "))
}

// customFields takes those of a ticket that have a value: as values if their definitions are known.
func (s *Source) customFields(o foreign.Object, c *foreign.Conversation) {
	fields, _ := o.Objects("custom_fields")
	for _, f := range fields {
		id := f.ID("id")
		if raw := f.Raw("value"); raw != nil {
			if of := s.fields[id]; of != nil && of.Name != "" {
				if v, ok := valueOf(of, raw); ok {
					c.Values = append(c.Values, v)
				}
				continue
			}
			s.report.Kept.Add("ticket.custom_fields", o.Place)
			c.Extra = append(c.Extra, foreign.Field{Name: "custom field " + id, Value: foreign.Shown(raw)})
		}
	}
}

// commentsOf are the comments of a ticket, oldest first: those that it has itself, as in an export, or those of its files.
func (s *Source) commentsOf(ctx context.Context, o foreign.Object, id string) ([]foreign.Object, error) {
	list, bad := o.Objects("comments")
	for range bad {
		s.report.Problems.Add("a comment is left out: it is no object", o.Place)
	}
	if len(list) == 0 {
		for _, file := range s.comments[id] {
			told := s.scanner
			told.Report = &s.report // these files were not read before
			if err := told.Scan(ctx, file, func(r foreign.Record) error {
				if r.Collection != "" && r.Collection != "comments" {
					return nil // users that came along with the comments
				}
				one, err := foreign.ParseObject(r.Raw, r.Place())
				if err != nil {
					s.report.Problems.Add("a comment is left out: "+err.Error(), r.Place())
					return nil //nolint:nilerr // it is in the report
				}
				list = append(list, one)
				return nil
			}); err != nil {
				return nil, err
			}
		}
	}
	slices.SortStableFunc(list, func(a, b foreign.Object) int {
		return cmp.Or(a.PeekTime("created_at").Compare(b.PeekTime("created_at")), cmp.Compare(foreign.Number(a.Peek("id")), foreign.Number(b.Peek("id"))))
	})
	return list, nil
}

var commentFields = foreign.Fields{
	Kept:    []string{"data", "recording_url", "transcription_visible", "formatted_from", "formatted_to", "location", "call_duration"},
	LeftOut: []string{"type", "audit_id", "uploads", "trusted", "url", "attachments", "ticket_id", "via", "metadata"},
}

// message takes a comment (Ticket Comments API, JSON format).
func (s *Source) message(o foreign.Object, c foreign.Conversation) (m foreign.Message, err error) {
	m = foreign.Message{ID: o.ID("id"), HTML: o.Text("html_body"), Text: o.Text("body"), At: o.Time("created_at")}
	m.Text = cmp.Or(m.Text, o.Text("plain_body"))
	o.Text("plain_body")
	if m.ID == "" {
		m.ID = "at " + m.At.Format(time.RFC3339)
	}
	if m.At.IsZero() {
		m.At = c.Created
	}
	author := o.ID("author_id")
	if m.Author, err = s.someone(author); err != nil {
		return m, err
	}
	if !s.knows(author) {
		s.report.Problems.Add("the author of a comment is not among the users", o.Place)
	}
	public := o.Has("public") && o.Bool("public")
	switch {
	case !public:
		m.Kind = foreign.Note
	case author == c.Customer.ID || s.knows(author) && !m.Author.Agent:
		m.Kind = foreign.FromCustomer
	default:
		m.Kind = foreign.FromAgent
	}
	via := o.Object("via").Object("source")
	if m.Kind == foreign.FromCustomer {
		if to := via.Object("to").Text("address"); to != "" {
			m.To = []string{to}
		}
		if from := via.Object("from").Text("address"); from != "" && m.Author.Email() == "" {
			m.Author.Emails = []string{from}
		}
	}
	m.MessageID = strings.Trim(o.Object("metadata").Object("system").Text("message_id"), " <>")
	s.files(o, &m)
	m.Extra = o.Rest(&s.report, "comment.", commentFields)
	return m, nil
}

func (s *Source) knows(id string) bool {
	_, found, err := s.users.Get(id)
	return err == nil && found || id == "-1"
}

// files takes the attachments of a comment (Attachments, JSON format), and shows those of the text that are there.
func (s *Source) files(o foreign.Object, m *foreign.Message) {
	list, _ := o.Objects("attachments")
	for _, a := range list {
		f := foreign.File{ID: a.ID("id"), Name: a.Text("file_name"), Type: a.Text("content_type"), Inline: a.Bool("inline")}
		if f.Path = s.folder.Attachment(f.ID, f.Name); f.Path == "" {
			reason := "a file of a comment is not in the folder attachments"
			if a.Bool("deleted") {
				reason = "a file of a comment was deleted"
			}
			s.report.Problems.Add(reason, o.Place)
		}
		for _, field := range []string{"mapped_content_url", "content_url"} {
			url := a.Text(field)
			if url == "" || f.Path == "" || !strings.Contains(m.HTML, "<img") {
				continue
			}
			f.ContentID = f.ID + "@zendesk"
			for _, text := range []string{url, strings.ReplaceAll(url, "&", "&amp;")} {
				m.HTML = strings.ReplaceAll(m.HTML, `src="`+text+`"`, `src="cid:`+f.ContentID+`"`)
			}
		}
		m.Files = append(m.Files, f)
	}
}
