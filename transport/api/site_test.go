package api_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/memstore"
)

// newSite makes a site as somebody and returns its id.
func (w *world) newSite(t testing.TB, who, body string) string {
	t.Helper()
	rec := w.do(t, who, "POST", "/sites", body, "Content-Type", "application/x-www-form-urlencoded")
	var out struct{ Data struct{ ID int64 } }
	if err := json.Unmarshal(rec.Body.Bytes(), &out); err != nil || rec.Code != http.StatusCreated {
		t.Fatal(rec.Code, rec.Body, err)
	}
	return strconv.FormatInt(out.Data.ID, 10)
}

// settleSite adds a private site, and one of the stranger's.
func (w *world) settleSite(t testing.TB, ids map[string]string) {
	t.Helper()
	ids["site_id"] = w.newSite(t, "owner", "account_id="+ids["account_id"]+"&name=Help&visibility=private")
	for _, noun := range []string{"collection", "category", "article", "feedback"} {
		path := map[string]string{"collection": "collections", "category": "categories", "article": "articles", "feedback": "article-feedbacks"}[noun]
		body := "article_id=" + ids["article_id"] + "&feedback=X&source_locale=en&collection_id=" + ids["collection_id"] + "&translations[en][name]=X&translations[en][title]=X&translations[en][content]=X"
		rec := w.must(t, "POST", "/site/"+ids["site_id"]+"/"+path, body, "Content-Type", "application/x-www-form-urlencoded")
		var out struct{ Data struct{ ID int64 } }
		if err := json.Unmarshal(rec.Body.Bytes(), &out); err != nil {
			t.Fatal(err)
		}
		ids[noun+"_id"] = strconv.FormatInt(out.Data.ID, 10)
	}
	ids["revision_id"] = "1"
	ids["stranger_site"] = w.newSite(t, "stranger", "account_id="+strconv.FormatInt(w.account.ID+1, 10)+"&name=Other")
}

// Problems of a site's address are reported for the right field.
func TestSiteAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	w.newSite(t, "owner", "account_id=1&name=A&path=a&subdomain=acme&custom_domain=help.example.org")
	w.newSite(t, "owner", "account_id=1&name=Shared&path=shared")
	for _, tt := range []struct {
		who, body string
		want      map[string][]string
	}{
		{"owner", "account_id=1&name=B&path=a&custom_domain=HELP.example.org.", map[string][]string{"path": {"is already taken"}}},
		{"owner", "account_id=1&name=B&path=shared", map[string][]string{"path": {"is already taken"}}},
		{"stranger", "account_id=2&name=B&path=b&custom_domain=help.example.org", map[string][]string{"custom_domain": {"is already taken"}}},
		{"stranger", "account_id=2&name=B&path=api", map[string][]string{"path": {"is reserved"}}},
		{"stranger", "account_id=2&name=B&path=A+b", map[string][]string{"path": {"must have at most 64 of a-z, 0-9, - and _"}}},
		{"owner", "account_id=1&name=B&subdomain=a.b&custom_domain=10.0.0.1&visibility=secret", map[string][]string{
			"subdomain": {"must be one label of a host name"}, "custom_domain": {"must be a host name such as help.example.org"},
			"visibility": {"must be public or private"}}},
		{"owner", "account_id=1&name=B&custom_domain=x.desk.example.net", map[string][]string{"custom_domain": {"belongs to this service: use subdomain instead"}}},
		{"owner", "", map[string][]string{"account_id": {"is required"}, "name": {"is required"}}},
	} {
		rec := w.do(t, tt.who, "POST", "/sites", tt.body, "Content-Type", "application/x-www-form-urlencoded")
		if diff := cmp.Diff(tt.want, problem(t, rec).Errors); diff != "" || rec.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d\n%s", tt.body, rec.Code, diff)
		}
	}
	rec := w.do(t, "owner", "PUT", "/sites/2", "account_id=1&name=Shared&path=", "Content-Type", "application/x-www-form-urlencoded")
	if diff := cmp.Diff(map[string][]string{"path": {"is required without a subdomain or a custom domain"}}, problem(t, rec).Errors); diff != "" {
		t.Error(diff)
	}
	for _, body := range []string{"account_id=2&name=Moved", "account_id=1&name=Foreign&mailbox_id=77"} {
		if rec := w.do(t, "owner", "PUT", "/sites/2", body, "Content-Type", "application/x-www-form-urlencoded"); rec.Code != 422 && rec.Code != 404 {
			t.Errorf("%s: %d %s", body, rec.Code, rec.Body)
		}
	}
}
