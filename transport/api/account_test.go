package api_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/language/display"

	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/transport"
	"github.com/helpwright/helpwright/transport/api"
)

// The list has every language that there are names for, each with an id of its own that stays.
func TestLanguages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	var list struct {
		Data []struct {
			ID                 int64
			Name, Native, Code string
		}
	}
	if err := json.Unmarshal(w.do(t, "powerless", "GET", "/languages", "").Body.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	ids, byCode := map[int64]string{}, map[string]int64{}
	for _, l := range list.Data {
		if l.Name == "" || l.Native == "" || ids[l.ID] != "" {
			t.Errorf("%+v, and %s has the id", l, ids[l.ID])
		}
		ids[l.ID], byCode[l.Code] = l.Code, l.ID
	}
	for _, tag := range display.Supported.Tags() {
		if byCode[tag.String()] == 0 {
			t.Errorf("%s is not in the list: add it at its end", tag)
		}
	}
	got := map[string]int64{}
	for _, code := range []string{"af", "de", "en", "pt", "zu"} {
		got[code] = byCode[code]
	}
	if diff := cmp.Diff(map[string]int64{"af": 1, "de": 38, "en": 50, "pt": 182, "zu": 261}, got); diff != "" {
		t.Error(diff)
	}
}

// All problems of an input are reported at once: unreadable values, violations of the operation's rules, and conflicts with
// stored data. Nothing is changed.
func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	ids := settled(t, w)
	account, site := "/accounts/"+ids["account_id"], "/sites/"+ids["site_id"]
	for _, tt := range []struct {
		method, path, body string
		status             int
		fields             []string
	}{
		{"GET", account + "/conversations?due=never&timezone=Berlin", "", 422, []string{"due", "timezone"}},
		{"GET", account + "/conversations/search?timezone=Local", "", 422, []string{"timezone"}},
		{"POST", account + "/customers", `{"last_name": []}`, 422, []string{"first_name", "last_name"}},
		{"POST", account + "/customers", `{"first_name": {}, "emails": [{"email": "ada@example.com"}, {"email": "x"}]}`, 422,
			[]string{"emails[1][email]", "first_name"}},
		{"POST", account + "/conversations", `{"mailbox_id": "x", "to": "y", "interactions": [{"type": "user"}, {"type": 1, "body": "x"}]}`, 422,
			[]string{"channel", "interactions[0][body]", "interactions[1][type]", "mailbox_id", "to"}},
		{"PUT", account, `{"name": "", "next_conversation_number": "x", "default_locale": "?"}`, 422, []string{"default_locale", "name", "next_conversation_number"}},
		{"PUT", account + "/mailboxes/" + ids["mailbox_id"], `{"is_default": "x", "email": "y"}`, 422, []string{"email", "is_default"}},
		{"POST", "/user/tokens", `{"scopes": ["x"], "expires_at": "y"}`, 422, []string{"expires_at", "name", "scopes"}},
		{"PUT", "/user", `{"name": [], "password": "short"}`, 422, []string{"name", "password"}},
		{"POST", "/sites", `{"account_id": ` + ids["account_id"] + `, "name": "", "mailbox_id": "x", "visibility": "x"}`, 422, []string{"mailbox_id", "name", "visibility"}},
		{"PUT", site, `{"account_id": ` + ids["account_id"] + `, "name": [], "path": "?"}`, 422, []string{"name", "path"}},
		{"POST", site + "/collections", `{"source_locale": "en", "sort_order": "x", "translations": {"en": {"name": ""}}}`, 422, []string{"sort_order", "translations[en][name]"}},
		{"PUT", site + "/articles/" + ids["article_id"] + "/draft", `{"source_locale": "?", "collection_id": 1, "categories": ["x"], "status": "x"}`, 422,
			[]string{"categories[0]", "source_locale", "status"}},
		{"PUT", site + "/articles/" + ids["article_id"], `{"source_locale": "en", "collection_id": {}, "status": "x"}`, 422, []string{"collection_id", "status"}},
		{"POST", site + "/article-feedbacks", `{"article_id": "x", "feedback": " "}`, 422, []string{"article_id", "feedback"}},
	} {
		rec := w.do(t, "owner", tt.method, tt.path, tt.body, "Content-Type", "application/json")
		got := slices.Sorted(maps.Keys(problem(t, rec).Errors))
		if diff := cmp.Diff(tt.fields, got); rec.Code != tt.status || diff != "" {
			t.Errorf("%s %s: %d %s", tt.method, tt.body, rec.Code, rec.Body)
		}
	}
	if rec := w.do(t, "agent", "PUT", account, `{"next_conversation_number": "x"}`, "Content-Type", "application/json"); rec.Code != http.StatusForbidden {
		t.Errorf("without the permission: %d %s", rec.Code, rec.Body)
	}
	w.intact(t, ids)
}

// Signing in, accepting an invitation and pages beside the API count by address.
func TestPublicLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	for _, path := range []string{"/auth/login", "/invitations/hwi_x/accept", "page"} {
		w.serve(t, api.Config{Config: transport.Config{
			PublicLimiter: transport.NewBuckets(transport.BucketsConfig{Policy: "public", Limit: 2, Now: w.clock.now}),
		}})
		page := w.table.Limit(http.NotFoundHandler())
		if path == "page" {
			w.handler, path = page, "/invitations/x"
		}
		var got []bool
		for range 3 {
			req := newRequest(t, path)
			got = append(got, answered(w.handler, req) == http.StatusTooManyRequests)
		}
		if diff := cmp.Diff([]bool{false, false, true}, got); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}

func newRequest(t testing.TB, path string) *http.Request {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), "POST", "/api/v1"+path, strings.NewReader("email=x@example.org&password=wrong+password"))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return req
}

func answered(h http.Handler, req *http.Request) int {
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, req)
	return rec.Code
}
