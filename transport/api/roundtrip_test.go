package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/memstore"
)

// named are objects that the others refer to, by their name in the bodies below: where they are created, how, and with which
// query they are deleted although they are in use.
var named = []struct{ name, path, body, force string }{
	{"mailbox2", "/accounts/{account_id}/mailboxes", `{"name": "Gone", "email": "gone@acme.example"}`, "?force=1"},
	{"tag2", "/accounts/{account_id}/conversation-tags", `{"tag": "Gone"}`, ""},
	{"team2", "/accounts/{account_id}/teams", `{"name": "Gone", "users": [{agent_id}]}`, ""},
	{"company2", "/accounts/{account_id}/companies", `{"name": "Gone", "domains": ["gone.example"]}`, ""},
	{"customer2", "/accounts/{account_id}/customers", `{"first_name": "Gone", "emails": [{"email": "gone@example.com"}]}`, ""},
	{"role2", "/accounts/{account_id}/roles", `{"name": "Gone", "permissions": ["conversations.view"]}`, ""},

	{"category2", "/sites/{site_id}/categories", `{"source_locale": "en", "collection_id": {collection_id}, "translations": {"en": {"name": "Gone"}}}`, ""},
}

// referring has what each object is given first, so that it names everything that it can.
var referring = map[string]string{
	"updateView": `{"name": "V", "filter": {"mailbox_id": {mailbox2}, "tag_id": [{tag_id}, {tag2}], "customer_id": {customer2}, "company_id": {company2}, "team_id": {team2}, "agent": "{agent_id}",
		"status": ["posted", "pending"], "priority": ["high"], "query": "door", "sort_by": "created_at", "fields": {"tier": {"values": ["Gold"]}}}, "columns": ["tier"]}`,
	"updateSavedReply":      `{"name": "R", "body": "<p>x</p>", "is_shared": true}`,
	"updateWebhook":         `{"url": "https://example.org/x", "events": ["*"], "mailboxes": [{mailbox_id}, {mailbox2}]}`,
	"updateMembership":      `{"roles": [{role_id}, {role2}], "mailboxes": [{mailbox_id}, {mailbox2}]}`,
	"updateJoinRule":        `{"domain": "acme.example", "roles": [{role_id}, {role2}], "mailboxes": [{mailbox_id}, {mailbox2}]}`,
	"updateCalendar":        `{"name": "C", "timezone": "Europe/Berlin", "week": {"mon": [{"from": "09:00", "to": "12:00"}, {"from": "22:00", "to": "06:00"}]}, "holidays": [{"from": "2026-12-24", "to": "2026-12-26", "name": "Christmas"}]}`,
	"updateRetentionPolicy": `{"name": "R", "match": {"all": [{"field": "priority", "op": "is", "value": "high"}], "any": []}, "after_days": 30, "action": "erase_content", "is_active": true}`,
	"holdConversation":      `{"held": true, "reason": "Case 7"}`,
	"updateSurvey":          `{"name": "S", "mailbox_ids": [{mailbox_id}, {mailbox2}], "scale": 5, "delay": 12, "once_per": 7, "match": {"all": [{"field": "priority", "op": "is", "value": "high"}], "any": []}, "translations": {"en": {"subject": "S", "body": "<p>x</p>", "question": "Q?", "thanks": "T"}}, "is_active": false}`,
	"updateAutoReply":       `{"name": "A", "mailbox_ids": [{mailbox_id}, {mailbox2}], "calendar_id": {calendar_id}, "when": "outside", "on": "every", "once_per": 12, "translations": {"en": {"subject": "S", "body": "<p>x</p>"}, "de": {"body": "<p>y</p>"}}}`,
	"updateRule":            `{"name": "R", "state": "dry", "position": 1, "on": ["interaction.created", "conversation.updated"], "stop": true, "match": {"all": [{"field": "mailbox_id", "op": "any_of", "value": [{mailbox_id}, {mailbox2}]}, {"field": "tags", "op": "changed"}], "any": [{"field": "company.id", "op": "is", "value": {company2}}, {"field": "fields.tier", "op": "empty"}]}, "actions": [{"type": "add_tags", "value": [{tag_id}, {tag2}]}, {"type": "assign_team", "value": {team2}}, {"type": "set_field", "field": "tier", "value": "Gold"}, {"type": "add_note", "value": "<p>x</p>"}]}`,
	"updateTeam":            `{"name": "T", "users": [{owner_id}, {agent_id}], "assignment": {"strategy": "balanced", "capacity": 7, "who": "all", "when_unavailable": "return", "return_after": 12, "sticky": true}}`,
	"updateField":           `{"label": "F", "customer_visible": true, "required_to_close": false, "sort_order": 3}`,
	"updateConversation":    `{"subject": "S", "fields": {"tier": "Gold"}, "user_id": {agent_id}, "team_id": {team2}, "priority": "high"}`,
	"updateSite":            `{"account_id": {account_id}, "name": "S", "mailbox_id": {mailbox2}}`,
	"updateCollection":      `{"source_locale": "en", "collection_id": {collection_id}, "translations": {"en": {"name": "C"}}}`,
	"updateCategory":        `{"source_locale": "en", "category_id": {category_id}, "collection_id": {collection_id}, "translations": {"en": {"name": "C"}}}`,
	"updateArticle":         `{"source_locale": "en", "collection_id": {collection_id}, "categories": [{category_id}, {category2}], "translations": {"en": {"title": "A", "content": "<p>x</p>"}}}`,
	"updateDraft":           `{"source_locale": "en", "collection_id": {collection_id}, "categories": [{category_id}, {category2}], "translations": {"en": {"title": "D", "content": "<p>x</p>"}}}`,
	"updateCompany":         `{"name": "C", "domains": ["c.example"], "note": "N", "external_id": "7"}`,
	"updateCustomer":        `{"first_name": "Ada", "external_id": "8", "company_id": {company2}, "emails": [{"email": "ada@example.com"}], "phones": [{"phone": "+49 30 1234"}], "websites": [{"website": "https://example.org"}]}`,
}

// PUT of what GET gave changes nothing, also after everything that the object names was deleted.
func TestPutWhatGetGave(t *testing.T) {
	t.Parallel()
	for _, encoding := range encodings {
		for _, deleted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, deleted %t", encoding.name, deleted), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, memstore.New())
				ids := settled(t, w)
				w.refersToAll(t, ids)
				if deleted {
					w.deleteNamed(t, ids)
				}
				for _, r := range w.table.Routes() {
					if r.Method != http.MethodPut || !w.has(http.MethodGet, r.Path) {
						continue
					}
					path := place(r.Path, ids)
					before := w.object(t, path)
					body, kind := encoding.encode(t, before)
					w.clock.advance(1e9)
					rec := w.do(t, "owner", http.MethodPut, path, body, "Content-Type", kind)
					if rec.Code != http.StatusOK {
						t.Errorf("%s: %d %s\nof %s", r.ID, rec.Code, rec.Body, body)
						continue
					}
					after := w.object(t, path)
					delete(before, "updated_at")
					delete(after, "updated_at")
					if diff := cmp.Diff(before, after); diff != "" {
						t.Errorf("%s changed what it was given: %s", r.ID, diff)
					}
				}
			})
		}
	}
}

// has reports whether a path has a method.
func (w *world) has(method, path string) bool {
	for _, r := range w.table.Routes() {
		if r.Method == method && r.Path == path {
			return true
		}
	}
	return false
}

// object is what GET gives, without its envelope.
func (w *world) object(t *testing.T, path string) map[string]any {
	t.Helper()
	o := decoded(t, w.must(t, http.MethodGet, path, "").Body.String())
	if inner, ok := o["data"].(map[string]any); ok && len(o) == 1 {
		return inner
	}
	return o
}

func decoded(t *testing.T, text string) (o map[string]any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&o); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return o
}

// refersToAll creates what is named, and has the objects name it.
func (w *world) refersToAll(t *testing.T, ids map[string]string) {
	t.Helper()
	var member struct {
		User struct{ ID int64 }
		Data struct{ User struct{ ID int64 } }
	}
	read(t, w.must(t, "GET", place("/accounts/{account_id}/memberships/{membership_id}?expand=user", ids), ""), &member)
	ids["agent_id"] = strconv.FormatInt(max(member.User.ID, member.Data.User.ID), 10)
	for _, n := range named {
		var made struct {
			ID   int64
			Data struct{ ID int64 }
		}
		read(t, w.must(t, "POST", place(n.path, ids), idsIn(n.body, ids), "Content-Type", "application/json"), &made)
		ids[n.name] = strconv.FormatInt(max(made.ID, made.Data.ID), 10)
	}
	for _, r := range w.table.Routes() {
		if body := referring[r.ID]; body != "" {
			w.must(t, r.Method, place(r.Path, ids), idsIn(body, ids), "Content-Type", "application/json")
		}
	}
}

// deleteNamed deletes what is named, as far as the API allows it: a role or a category in use stays.
func (w *world) deleteNamed(t *testing.T, ids map[string]string) {
	t.Helper()
	for _, n := range named {
		rec := w.do(t, "owner", "DELETE", place(n.path, ids)+"/"+ids[n.name]+n.force, "")
		if rec.Code >= 300 && (rec.Code != http.StatusConflict || n.name != "role2" && n.name != "category2") {
			t.Errorf("DELETE %s: %d %s", n.name, rec.Code, rec.Body)
		}
	}
}

// idsIn puts ids into a body.
func idsIn(body string, ids map[string]string) string {
	return regexp.MustCompile(`\{[a-z_]+[0-9]?\}`).ReplaceAllStringFunc(body, func(p string) string { return ids[p[1:len(p)-1]] })
}

// A member whose mailboxes were all deleted sees none. Whatever is saved of what is shown does not give them all.
func TestDeletedMailboxesStayLimits(t *testing.T) {
	t.Parallel()
	bare := func(o map[string]any) map[string]any { return o }
	expanded := func(o map[string]any) map[string]any { // as a form with boxes to tick sends it
		ids := func(name string) (all []any) {
			all = []any{}
			for _, one := range o[name].([]any) {
				all = append(all, one.(map[string]any)["id"])
			}
			return all
		}
		return map[string]any{"roles": ids("roles"), "mailboxes": ids("mailboxes")}
	}
	for name, tt := range map[string]struct {
		query  string
		save   func(map[string]any) map[string]any
		limits string // what is shown of the limits then
	}{
		"bare":                    {"", bare, "[{mailbox2}]"},
		"expanded":                {"?expand=roles,mailboxes", expanded, "[{mailbox2}]"},
		"roles only":              {"?expand=roles", func(o map[string]any) map[string]any { o["mailboxes"] = []any{}; return expanded(o) }, "[{mailbox2}]"},
		"null is all, on purpose": {"", func(o map[string]any) map[string]any { o["mailboxes"] = nil; return o }, "[]"},
		"another": {"", func(o map[string]any) map[string]any {
			return map[string]any{"roles": o["role_ids"], "mailboxes": []any{json.Number("1")}}
		}, "[1]"},
	} {
		for _, encoding := range encodings {
			if strings.HasPrefix(name, "null") && encoding.name != "json" {
				continue // a form has no null
			}
			t.Run(name+", "+encoding.name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, memstore.New())
				ids := settled(t, w)
				w.refersToAll(t, ids)
				path := place("/accounts/{account_id}/memberships/{membership_id}", ids)
				w.must(t, "PUT", path, idsIn(`{"roles": [{role_id}], "mailboxes": [{mailbox2}]}`, ids), "Content-Type", "application/json")
				w.must(t, "DELETE", place("/accounts/{account_id}/mailboxes/", ids)+ids["mailbox2"]+"?force=1", "")
				for range 2 {
					body, kind := encoding.encode(t, tt.save(w.object(t, path+tt.query)))
					w.must(t, "PUT", path, body, "Content-Type", kind)
				}
				if got := fmt.Sprint(w.object(t, path)["mailbox_ids"]); got != idsIn(tt.limits, ids) {
					t.Errorf("the limits are %s, not %s", got, idsIn(tt.limits, ids))
				}
			})
		}
	}
}
