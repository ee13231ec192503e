package api_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/transport"
)

// references are the ids that operations accept in a body or in the query, by operation: the field, and the path parameter
// for the same objects. Exceptions: the account in GET and POST /sites, which has the role of a path parameter, and the user
// of the audit log, who may have left.
var references = map[string]map[string]string{
	"createView":          {"filter[mailbox_id]": "mailbox_id", "filter[tag_id][]": "tag_id", "filter[customer_id]": "customer_id", "filter[company_id]": "company_id", "filter[team_id]": "team_id", "team_id": "team_id"},
	"listConversations":   {"mailbox_id": "mailbox_id", "customer_id": "customer_id", "company_id": "company_id", "tag_id[]": "tag_id", "view_id": "view_id", "user_id": "user_id", "team_id": "team_id"},
	"createConversation":  {"mailbox_id": "mailbox_id", "user_id": "user_id", "team_id": "team_id"},
	"updateConversation":  {"mailbox_id": "mailbox_id", "user_id": "user_id", "team_id": "team_id"},
	"deleteConversations": {"conversations[]": "conversation_id"},
	"updateConversations": {"conversations[]": "conversation_id", "mailbox_id": "mailbox_id", "tags[]": "tag_id", "user_id": "user_id", "team_id": "team_id"},
	"rethreadInteraction": {"conversation": "conversation_id"},
	"mergeConversation":   {"into": "conversation_id"},
	"applyMacro":          {"saved_reply_id": "saved_reply_id"},
	"createInteraction":   {"saved_reply_id": "saved_reply_id"},
	"updateInteraction":   {"saved_reply_id": "saved_reply_id"},

	"applyMacroToConversations": {"conversations[]": "conversation_id", "saved_reply_id": "saved_reply_id"},
	"splitConversation":         {"interaction": "interaction_id", "interactions[]": "interaction_id"},
	"replayRule":                {"rule_id": "rule_id"},
	"createSurvey":              {"mailbox_ids[]": "mailbox_id"},
	"updateSurvey":              {"mailbox_ids[]": "mailbox_id"},
	"createAutoReply":           {"mailbox_ids[]": "mailbox_id", "calendar_id": "calendar_id"},
	"updateAutoReply":           {"mailbox_ids[]": "mailbox_id", "calendar_id": "calendar_id"},
	"listFormFields":            {"mailbox_id": "mailbox_id"},
	"createTeam":                {"users[]": "user_id"},
	"updateTeam":                {"users[]": "user_id"},
	"addTeamMembers":            {"users[]": "user_id"},
	"setConversationTags":       {"tags[]": "tag_id"},
	"addConversationTags":       {"tags[]": "tag_id"},
	"removeConversationTags":    {"tags[]": "tag_id"},
	"listCustomers":             {"company_id": "company_id"},
	"createCustomer":            {"company_id": "company_id"},
	"updateCustomer":            {"company_id": "company_id"},
	"mergeCompany":              {"into": "company_id"},
	"mergeCustomer":             {"into": "customer_id"},
	"createPGPKey":              {"customer_email_id": "email_id"},
	"listEvents":                {"conversation_id": "conversation_id"},
	"createJoinRule":            {"mailboxes[]": "mailbox_id", "roles[]": "role_id"},
	"updateJoinRule":            {"mailboxes[]": "mailbox_id", "roles[]": "role_id"},
	"createInvitation":          {"mailboxes[]": "mailbox_id", "roles[]": "role_id"},
	"updateMembership":          {"mailboxes[]": "mailbox_id", "roles[]": "role_id"},
	"createWebhook":             {"mailboxes[]": "mailbox_id"},
	"updateWebhook":             {"mailboxes[]": "mailbox_id"},
	"createSite":                {"mailbox_id": "mailbox_id"},
	"updateSite":                {"account_id": "account_id", "mailbox_id": "mailbox_id"},
	"listArticles":              {"collection_id": "collection_id", "category_id": "category_id"},
	"listCategories":            {"collection_id": "collection_id"},
	"listArticleFeedback":       {"article_id": "article_id"},
	"createArticle":             {"categories[]": "category_id", "collection_id": "collection_id"},
	"updateArticle":             {"categories[]": "category_id", "collection_id": "collection_id"},
	"updateDraft":               {"categories[]": "category_id", "collection_id": "collection_id"},
	"createCategory":            {"collection_id": "collection_id"},
	"updateCategory":            {"category_id": "category_id", "collection_id": "collection_id"},
	"updateCollection":          {"collection_id": "collection_id"},
	"createArticleFeedback":     {"article_id": "article_id"},
}

// An id in a body or a filter that names nothing is a problem of its field; one of another account reads the same.
func TestReferences(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, b.open(t))
			ids := settled(t, w)
			foreign := w.foreign(t, ids)
			for _, r := range w.table.Routes() {
				for field, noun := range references[r.ID] {
					unknown := w.refer(t, r, ids, field, 1<<40)
					if unknown.Code != 422 {
						t.Errorf("%s with an unknown %s: %d %s", r.ID, field, unknown.Code, unknown.Body)
						continue
					}
					named := func(name string) bool {
						return strings.HasPrefix(name, strings.TrimSuffix(field, "[]"))
					}
					errors := problem(t, unknown).Errors
					var names []string
					for name := range errors {
						names = append(names, name)
					}
					if !slices.ContainsFunc(names, named) {
						t.Errorf("%s with an unknown %s: %s", r.ID, field, unknown.Body)
					}
					if foreign[noun] == 0 {
						continue
					}
					same := func(rec *httptest.ResponseRecorder, id int64) string {
						p, err := json.Marshal(problem(t, rec))
						return fmt.Sprint(strings.ReplaceAll(string(p), " "+strconv.FormatInt(id, 10)+`"`, " {id}"), err)
					}
					theirs := w.refer(t, r, ids, field, foreign[noun])
					if diff := cmp.Diff(same(unknown, 1<<40), same(theirs, foreign[noun])); diff != "" {
						t.Errorf("%s tells an unknown %s from another's: %s", r.ID, field, diff)
					}
				}
			}
		})
	}
}

// refer sends the request of an operation with an id in a field.
func (w *world) refer(t *testing.T, r transport.Route, ids map[string]string, field string, id int64) *httptest.ResponseRecorder {
	t.Helper()
	path, body, kind := w.wants(t, r, ids)
	at := &body
	if r.Method == "GET" {
		target, query, _ := strings.Cut(path, "?")
		path, body = target, query
	}
	kept := slices.DeleteFunc(strings.Split(*at, "&"), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return pair == "" || strings.TrimSuffix(name, "[]") == strings.TrimSuffix(field, "[]")
	})
	*at = strings.Join(append(kept, field+"="+strconv.FormatInt(id, 10)), "&")
	if r.Method == "GET" {
		path, body = path+"?"+body, ""
	}
	return w.do(t, "owner", r.Method, path, body, "Content-Type", kind)
}

// foreign are objects of the stranger's account, by the path parameter that names them.
func (w *world) foreign(t *testing.T, ids map[string]string) map[string]int64 {
	t.Helper()
	account := w.account.ID + 1
	in := "/accounts/" + strconv.FormatInt(account, 10)
	created := func(path, body string) int64 {
		rec := w.do(t, "stranger", "POST", path, body, "Content-Type", "application/x-www-form-urlencoded")
		at := rec.Header().Get("Location")
		id, err := strconv.ParseInt(at[strings.LastIndexByte(at, '/')+1:], 10, 64)
		if err != nil {
			t.Fatalf("%s: %d %s", path, rec.Code, rec.Body)
		}
		return id
	}
	out := map[string]int64{"account_id": account}
	out["mailbox_id"] = created(in+"/mailboxes", "name=X&email=x@other.example")
	out["company_id"] = created(in+"/companies", "name=X")
	out["customer_id"] = created(in+"/customers", "first_name=X")
	out["conversation_id"] = created(in+"/conversations", "channel=email&to=x@example.com")
	out["interaction_id"] = created(in+"/conversations/"+strconv.FormatInt(out["conversation_id"], 10)+"/interactions", "type=note&body=X")
	out["tag_id"] = created(in+"/conversation-tags", "tag=X")
	out["team_id"] = created(in+"/teams", "name=X")
	out["view_id"] = created(in+"/conversation-views", "name=X&filter[agent]=me")
	out["role_id"] = created(in+"/roles", "name=X")
	site := "/sites/" + ids["stranger_site"]
	out["collection_id"] = created(site+"/collections", "source_locale=en&translations[en][name]=X")
	out["category_id"] = created(site+"/categories", "source_locale=en&translations[en][name]=X&collection_id="+strconv.FormatInt(out["collection_id"], 10))
	return out
}
