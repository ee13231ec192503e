package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
	"github.com/helpwright/helpwright/transport/api"
)

// customer registers a key, and returns a portal token for an address.
func (w *world) customer(t testing.TB, who, email string, claims jwt.MapClaims) {
	t.Helper()
	var key struct {
		Data struct {
			ID     int64
			Secret string
		}
	}
	rec := w.must(t, "POST", fmt.Sprintf("/accounts/%d/portal-keys", w.account.ID), "name=App&algorithm=HS256", "Content-Type", "application/x-www-form-urlencoded")
	if err := json.Unmarshal(rec.Body.Bytes(), &key); err != nil {
		t.Fatal(err)
	}
	w.tokens[who] = sign(t, strconv.FormatInt(key.Data.ID, 10), key.Data.Secret, w.account.ID, email, w.clock.now(), claims)
}

func sign(t testing.TB, kid, secret string, accountID int64, email string, now time.Time, claims jwt.MapClaims) string {
	t.Helper()
	all := jwt.MapClaims{"aud": fmt.Sprintf("account:%d", accountID), "email": email, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	maps.Copy(all, claims)
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, all)
	token.Header["kid"] = kid
	text, err := token.SignedString([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

var portalSecret = regexp.MustCompile(`"id":([0-9]+)([^{}]*)"secret":"(hwk_[A-Z0-9]+)"`)

// portalSecrets keeps the secret of a key that a walk has made, for a portal token of Ada's, whose bearer is "customer".
func (r *run) portalSecrets(body string) string {
	m := portalSecret.FindStringSubmatch(body)
	if m == nil {
		return body
	}
	claims := jwt.MapClaims{"aud": "account:1", "email": "ada@example.com", "iat": r.clock.now().Unix(), "exp": r.clock.now().Add(time.Hour).Unix()}
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, claims)
	token.Header["kid"] = m[1]
	r.tokens["customer"], _ = token.SignedString([]byte(m[3])) // []byte is a key of HS256
	return strings.Replace(body, m[3], "hwk_x", 1)
}

// A portal token opens the operations of customers and no other, whatever the ids.
func TestPortalMatrix(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, b.open(t))
			ids := settled(t, w)
			w.customer(t, "ada", "ada@example.com", nil)
			w.customer(t, "bob", "bob@example.com", nil)
			foreign := maps.Clone(ids)
			foreign["account_id"] = strconv.FormatInt(w.account.ID+1, 10)
			var open []string
			for _, r := range w.table.Routes() {
				if r.Public {
					continue
				}
				if !r.Customers {
					for who, ids := range map[string]map[string]string{"ada": ids, "bob": foreign} {
						if rec := w.ask(t, who, r, ids); rec.Code != http.StatusUnauthorized {
							t.Errorf("%s as %s: %d %s", r.ID, who, rec.Code, rec.Body)
						}
					}
					continue
				}
				open = append(open, r.ID)
				if rec := w.ask(t, "ada", r, foreign); rec.Code != http.StatusUnauthorized {
					t.Errorf("%s in another account: %d %s", r.ID, rec.Code, rec.Body)
				}
				want := r.Status
				if strings.Contains(r.Path, "{conversation_id}") {
					want = http.StatusNotFound
				}
				if rec := w.askAsCustomer(t, "bob", r, ids); rec.Code != want {
					t.Errorf("%s of another customer: %d %s", r.ID, rec.Code, rec.Body)
				}
				if rec := w.askAsCustomer(t, "ada", r, ids); rec.Code != r.Status {
					t.Errorf("%s of the customer: %d %s", r.ID, rec.Code, rec.Body)
				}
			}
			slices.Sort(open)
			if diff := cmp.Diff([]string{
				"createAttachment", "createConversation", "createInteraction", "getAttachment", "getAttachmentContent", "getConversation",
				"getInteraction", "listAttachments", "listConversations", "listFormFields", "listInteractions",
			}, open); diff != "" {
				t.Error(diff)
			}
			w.intact(t, ids)
		})
	}
}

// askAsCustomer is ask with the fields that customers may send.
func (w *world) askAsCustomer(t testing.TB, who string, r transport.Route, ids map[string]string) *httptest.ResponseRecorder {
	t.Helper()
	body := map[string]string{
		"createConversation": `{"channel":"email","interactions":[{"type":"customer","body":"Hello"}]}`,
		"createInteraction":  `{"type":"customer","body":"Hello"}`,
	}[r.ID]
	if r.ID == "createAttachment" { // to a message that they have posted, not to a mail
		var posted struct{ ID int64 }
		rec := w.do(t, who, "POST", "/accounts/"+ids["account_id"]+"/conversations/"+ids["conversation_id"]+"/interactions", `{"type":"customer","body":"Hello"}`, "Content-Type", "application/json")
		if rec.Code == http.StatusCreated && json.Unmarshal(rec.Body.Bytes(), &posted) == nil {
			ids = maps.Clone(ids)
			ids["interaction_id"] = strconv.FormatInt(posted.ID, 10)
		}
	}
	if body == "" {
		return w.ask(t, who, r, ids)
	}
	path := strings.NewReplacer("{account_id}", ids["account_id"], "{conversation_id}", ids["conversation_id"]).Replace(r.Path)
	return w.do(t, who, r.Method, path, body, "Content-Type", "application/json")
}

// Internal data of the desk is in no answer to a customer, under any name.
func TestPortalLeaks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, backends()[0].open(t))
	ids := settled(t, w)
	in := "/accounts/" + ids["account_id"] + "/conversations/" + ids["conversation_id"]
	w.must(t, "DELETE", "/accounts/"+ids["account_id"]+"/customers/"+ids["customer_id"]+"/pgp-public-keys/"+ids["key_id"], "") // with a key, the answer would be encrypted
	d := w.desk(t)
	conversation, _ := strconv.ParseInt(ids["conversation_id"], 10, 64)
	say := func(i helpdesk.InteractionInput) int64 {
		created, err := d.Interactions().Create(t.Context(), conversation, i)
		if err != nil {
			t.Fatal(err)
		}
		return created.ID
	}
	sent := say(helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "public", Bcc: []string{"secret-bcc@example.org"}})
	if _, err := w.svc.Outgoing().Begin(t.Context(), w.account.ID, sent, 1); err != nil {
		t.Fatal(err)
	}
	say(helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "secret-held"})
	say(helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "secret-draft", Status: helpdesk.StatusDraft})
	say(helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "secret-forward", To: []string{"secret-expert@example.net"}, IsForward: true})
	note := say(helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: "secret-note"})
	w.must(t, "POST", in+"/tags", "tags[]="+ids["tag_id"], "Content-Type", "application/x-www-form-urlencoded")
	if _, err := d.Conversations().Update(t.Context(), conversation, helpdesk.ConversationUpdate{Subject: storage.Some("x"), UserID: storage.Some(d.UserID())}); err != nil {
		t.Fatal(err)
	}
	w.customer(t, "ada", "ada@example.com", nil)
	secrets := []string{"secret", "Urgent", "@example.org", "accounts.", "conversations.", "support@", "threading", "deliveries", "bcc", "message_id"}
	for _, path := range []string{
		"", "/interactions", "/interactions?expand=user,posted_by,attachments", fmt.Sprintf("/interactions/%d?expand=user", sent),
		"/interactions/" + ids["interaction_id"] + "/attachments", "/interactions/" + ids["interaction_id"] + "/attachments/" + ids["attachment_id"],
	} {
		rec := w.do(t, "ada", "GET", in+path, "")
		if rec.Code != http.StatusOK {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
		for _, secret := range secrets {
			if strings.Contains(rec.Body.String(), secret) {
				t.Errorf("%s tells %q: %s", path, secret, rec.Body)
			}
		}
	}
	list := w.do(t, "ada", "GET", "/accounts/"+ids["account_id"]+"/conversations?status[]=posted", "")
	if body := list.Body.String(); !strings.Contains(body, `"preview":"public"`) || !strings.Contains(body, `"user_id":null`) {
		t.Error(body)
	}
	for path, want := range map[string]int{
		fmt.Sprintf("/interactions/%d", note): http.StatusNotFound, "?expand=customer": http.StatusForbidden, "?expand=mailbox": http.StatusForbidden,
		"?expand=user": http.StatusForbidden, "/interactions?expand=customer": http.StatusForbidden, "?expand=nothing": http.StatusUnprocessableEntity,
	} {
		if rec := w.do(t, "ada", "GET", in+path, ""); rec.Code != want {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
	for _, filter := range []string{"query=secret", "user_id=me", "team_id=1", "tag_id[]=" + ids["tag_id"], "view_id=" + ids["view_id"], "customer_id=1",
		"mailbox_id=1", "updated_since=2020-01-01T00:00:00Z", "sort_by=updated_at", "sort_type=asc", "status[]=draft"} {
		rec := w.do(t, "ada", "GET", "/accounts/"+ids["account_id"]+"/conversations?"+filter, "")
		if rec.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", filter, rec.Code, rec.Body)
		}
	}
}

func TestPortalInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t, backends()[0].open(t))
	ids := settled(t, w)
	w.customer(t, "ada", "ada@example.com", jwt.MapClaims{"name": "Ada Lovelace"})
	w.customer(t, "new", "new@example.com", jwt.MapClaims{"name": "New Comer"})
	conversations := "/accounts/" + ids["account_id"] + "/conversations"
	in := conversations + "/" + ids["conversation_id"] + "/interactions"
	for _, tt := range []struct {
		path, body string
		status     int
		fields     []string
	}{
		{in, `{"type":"user","body":"x"}`, http.StatusForbidden, nil},
		{in, `{"type":"note"}`, http.StatusForbidden, nil},
		{in, `{"type":"chat"}`, http.StatusUnprocessableEntity, []string{"body", "type"}},
		{in, `{"type":"customer"}`, http.StatusUnprocessableEntity, []string{"body"}},
		{in, `{"type":"customer","body":"x","to":["eve@example.com"],"status":"draft","is_forward":true}`, http.StatusCreated, nil},
		{conversations, `{"channel":"email","to":"ADA@example.com","interactions":[{"type":"customer","body":"x"}]}`, http.StatusCreated, nil},
		{conversations, `{"channel":"email","interactions":[{"type":"user","body":"x"}]}`, http.StatusForbidden, nil},
		{conversations, `{"to":"eve@example.com","user_id":1,"status":"closed","interactions":[{"type":"chat"}]}`, http.StatusUnprocessableEntity,
			[]string{"channel", "interactions[0][body]", "interactions[0][type]", "status", "to", "user_id"}},
		{conversations, `{"channel":"email"}`, http.StatusUnprocessableEntity, []string{"interactions"}},
		{conversations, `{"channel":"email","mailbox_id":9999,"interactions":[{"type":"customer","body":"x"}]}`, http.StatusUnprocessableEntity, []string{"mailbox_id"}},
	} {
		rec := w.do(t, "ada", "POST", tt.path, tt.body, "Content-Type", "application/json")
		var got []string
		if rec.Code >= 400 {
			got = slices.Sorted(maps.Keys(problem(t, rec).Errors))
		}
		if diff := cmp.Diff(tt.fields, got); rec.Code != tt.status || diff != "" {
			t.Errorf("%s: %d %s", tt.body, rec.Code, rec.Body)
		}
	}
	rec := w.do(t, "new", "POST", conversations, `{"channel":"email","subject":"Hi","interactions":[{"type":"customer","body":"x"}]}`,
		"Content-Type", "application/json", "Idempotency-Key", "once")
	again := w.do(t, "new", "POST", conversations, `{"channel":"email","subject":"Hi","interactions":[{"type":"customer","body":"x"}]}`,
		"Content-Type", "application/json", "Idempotency-Key", "once")
	if rec.Code != http.StatusCreated || again.Code != http.StatusCreated {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	if list := w.must(t, "GET", "/accounts/"+ids["account_id"]+"/customers?email=new@example.com", ""); !strings.Contains(list.Body.String(), `"name":"New Comer"`) {
		t.Error(list.Body)
	}
}

// The refusal of a token explains itself, without revealing which objects exist.
func TestPortalTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t, backends()[0].open(t))
	ids := settled(t, w)
	path := "/accounts/" + ids["account_id"] + "/conversations"
	w.customer(t, "ada", "ada@example.com", nil)
	now := w.clock.now()
	w.customer(t, "expired", "ada@example.com", jwt.MapClaims{"iat": now.Add(-2 * time.Hour).Unix(), "exp": now.Add(-time.Hour).Unix()})
	w.customer(t, "early", "ada@example.com", jwt.MapClaims{"nbf": now.Add(time.Hour).Unix()})
	w.customer(t, "long", "ada@example.com", jwt.MapClaims{"exp": now.Add(2 * time.Hour).Unix()})
	w.customer(t, "elsewhere", "ada@example.com", jwt.MapClaims{"aud": "account:99"})
	w.customer(t, "nobody", "no address", nil)
	w.tokens["forged"] = w.tokens["ada"][:len(w.tokens["ada"])-4] + "AAAA"
	w.tokens["unknown key"] = sign(t, "9999", "x", w.account.ID, "ada@example.com", now, nil)
	w.tokens["no key"] = sign(t, "../1", "x", w.account.ID, "ada@example.com", now, nil)
	w.tokens["unreadable"] = "eyJ.eyJ.x"
	details := map[string]string{}
	for _, who := range []string{"expired", "early", "long", "elsewhere", "nobody", "forged", "unknown key", "no key", "unreadable"} {
		rec := w.do(t, who, "GET", path, "")
		if rec.Code != http.StatusUnauthorized || rec.Header().Get("WWW-Authenticate") != `Bearer error="invalid_token"` {
			t.Errorf("%s: %d %s", who, rec.Code, rec.Body)
		}
		details[who] = problem(t, rec).Detail
	}
	if details["unknown key"] != details["no key"] {
		t.Error(details)
	}
	seen := map[string]bool{}
	for _, detail := range details {
		seen[detail] = true
	}
	if len(seen) != len(details)-1 {
		t.Errorf("not distinct: %v", details)
	}
	for what, path := range map[string]string{"another account": "/accounts/" + strconv.FormatInt(w.account.ID+1, 10), "no account": "/accounts/99999"} {
		if rec := w.do(t, "ada", "GET", path+"/conversations", ""); rec.Code != http.StatusUnauthorized || problem(t, rec).Detail != details["unknown key"] {
			t.Errorf("%s: %d %s", what, rec.Code, rec.Body)
		}
	}
	if rec := w.do(t, "ada", "GET", path, ""); rec.Code != http.StatusOK {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	var keys struct{ Data []struct{ ID int64 } }
	if err := json.Unmarshal(w.must(t, "GET", "/accounts/"+ids["account_id"]+"/portal-keys", "").Body.Bytes(), &keys); err != nil {
		t.Fatal(err)
	}
	for _, key := range keys.Data {
		w.must(t, "DELETE", fmt.Sprintf("/accounts/%s/portal-keys/%d", ids["account_id"], key.ID), "")
	}
	if rec := w.do(t, "ada", "GET", path, ""); rec.Code != http.StatusUnauthorized || problem(t, rec).Detail != details["unknown key"] {
		t.Errorf("with a deleted key: %d %s", rec.Code, rec.Body)
	}
}

// A customer is counted as one, however many tokens the application signs.
func TestPortalRateLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, backends()[0].open(t))
	ids := settled(t, w)
	w.customer(t, "ada", "ada@example.com", nil)
	w.customer(t, "ada again", "Ada@example.com", nil)
	w.customer(t, "bob", "bob@example.com", nil)
	w.serve(t, api.Config{Config: transport.Config{Limiter: transport.NewBuckets(transport.BucketsConfig{Limit: 2, Now: w.clock.now})}})
	var got []int
	for _, who := range []string{"ada", "ada again", "ada", "bob"} {
		got = append(got, w.do(t, who, "GET", "/accounts/"+ids["account_id"]+"/conversations", "").Code)
	}
	if diff := cmp.Diff([]int{200, 200, 429, 200}, got); diff != "" {
		t.Error(diff)
	}
}
