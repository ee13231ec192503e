package site_test

import (
	"context"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

// Every address leads to a page, to the address that it should have been, or to 404.
func TestAddresses(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		w := newWorld(t, s)
		w.library()
		sites, err := w.kb.Sites(person(1))
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range []kb.SiteInput{
			{AccountID: w.site.AccountID, Name: "Shared", Path: storage.Some("shared")},
			{AccountID: w.site.AccountID, Name: "Sub", Path: storage.Some(""), Subdomain: storage.Some("sub")},
			{AccountID: w.site.AccountID, Name: "Below", Path: storage.Some("below"), CustomDomain: storage.Some("help.example.org")},
		} {
			if _, err := sites.Create(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
		const article = "/en/articles/1-connect-your-bank-account"
		for _, tt := range []struct {
			url, accept string
			status      int
			to          string
		}{
			{"https://help.example.org/", "", 302, "/en"},
			{"https://help.example.org/", "de, fr-CA;q=0.5", 302, "/fr"},
			{"https://help.example.org/", "ar-EG", 302, "/ar"},
			{"https://help.example.org/", "ja", 302, "/en"},
			{"https://help.example.org/en", "", 200, ""},
			{"https://help.example.org/en/", "", 301, "/en"},
			{"https://help.example.org/EN", "", 301, "/en"},
			{"https://help.example.org/en-GB/search?query=x", "", 301, "/en/search?query=x"},
			{"https://help.example.org/de/articles/1-x", "", 301, "/en/articles/1-x"},
			{"https://help.example.org" + article, "", 200, ""},
			{"https://help.example.org" + article + "/", "", 301, article},
			{"https://help.example.org/en/articles/1", "", 301, article},
			{"https://help.example.org/en/articles/1-a-former-title", "", 301, article},
			{"https://help.example.org/fr/articles/1-connect-your-bank-account", "", 301, "/fr/articles/1-relier-votre-compte-bancaire"},
			{"https://help.example.org/fr/articles/2-why-a-payout-is-late", "", 200, ""}, // in English, and marked so
			{"https://help.example.org/articles/1", "fr", 302, "/fr/articles/1-relier-votre-compte-bancaire"},
			{"https://help.example.org/articles/2", "fr", 302, "/en/articles/2-why-a-payout-is-late"},
			{"https://help.example.org/articles/99", "", 404, ""},
			{"https://help.example.org/en/articles/99-x", "", 404, ""},
			{"https://help.example.org/en/articles/01", "", 404, ""},
			{"https://help.example.org/en/articles/x", "", 404, ""},
			{"https://help.example.org/en/articles/4", "", 301, "/en/articles/4-gr%C3%B6%C3%9Fe-quotes-b"},
			{"https://help.example.org/en/articles/4-gr%C3%B6%C3%9Fe-quotes-b", "", 200, ""},
			{"https://help.example.org/ar/articles/1-%D8%A7%D8%B1%D8%A8%D8%B7-%D8%AD%D8%B3%D8%A7%D8%A8%D9%83-%D8%A7%D9%84%D8%A8%D9%86%D9%83%D9%8A", "", 200, ""},
			{"https://help.example.org/en/collections/1-payments-payouts", "", 200, ""},
			{"https://help.example.org/collections/1", "", 302, "/en/collections/1-payments-payouts"},
			{"https://help.example.org/en/categories/2-refunds", "", 200, ""},
			{"https://help.example.org/en/categories/2-refunds?after=nonsense", "", 404, ""},
			{"https://help.example.org/en/search", "", 200, ""},
			{"https://help.example.org/search?query=a+b", "", 302, "/en/search?query=a+b"},
			{"https://help.example.org/en/contact", "", 200, ""},
			{"https://help.example.org/en/nothing", "", 404, ""},
			{"https://help.example.org/en/articles/1/x", "", 404, ""},
			{"https://help.example.org/nothing", "", 404, ""},
			{"https://help.example.org/-/nothing", "", 404, ""},
			{"https://help.example.org/-/assets/0/none.css", "", 404, ""},
			{"https://help.example.org/-/preview/x.y.z/en", "", 404, ""},
			{"https://HELP.example.org:443/en", "", 200, ""},
			{"https://help.example.org/below", "", 302, "/below/en"},
			{"https://help.example.org/below/", "", 302, "/below/en"},
			{"https://help.example.org/below/en", "", 200, ""},
			{"https://desk.example.net/shared", "fr", 302, "/shared/en"},
			{"https://desk.example.net/shared/en", "", 200, ""},
			{"https://desk.example.net/", "", 404, ""},
			{"https://desk.example.net/other", "", 404, ""},
			{"https://sub.desk.example.net/", "", 302, "/en"},
			{"https://other.desk.example.net/", "", 404, ""},
			{"https://unknown.example/", "", 404, ""},
		} {
			rec := w.ask(w.Handler, "GET", tt.url, nil, "Accept-Language", tt.accept)
			if to := rec.Header().Get("Location"); rec.Code != tt.status || to != tt.to {
				t.Errorf("%s (%s): %d %s, want %d %s", tt.url, tt.accept, rec.Code, to, tt.status, tt.to)
			}
		}
		if rec := w.ask(w.Handler, "PUT", "https://help.example.org"+article, nil); rec.Code != 405 || rec.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("PUT: %d %v", rec.Code, rec.Header())
		}
	})
}

// No link on any page is dead, and addresses in the API's answers need no redirect.
func TestNoDeadLinks(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		w := newWorld(t, s)
		w.library()
		seen, todo := map[string]bool{}, []string{"/en", "/fr", "/ar", "/en/search?query=refund", "/en/search?query=zzz", "/en/nowhere", "/sitemap-1.xml"}
		for len(todo) > 0 {
			path := todo[0]
			todo = todo[1:]
			if seen[path] {
				continue
			}
			seen[path] = true
			rec := w.get(path)
			_, ofLocale := kb.Locale(strings.Split(path+"/", "/")[1])
			neutral := !ofLocale && rec.Code == 302 // for languages that the page is not in
			if want := map[bool]int{true: 404, false: 200}[path == "/en/nowhere"]; rec.Code != want && !neutral {
				t.Errorf("%s: %d", path, rec.Code)
			}
			if !strings.HasPrefix(rec.Header().Get("Content-Type"), "text/html") && path != "/sitemap-1.xml" {
				continue
			}
			ids := map[string]bool{}
			var anchors []string
			z := html.NewTokenizer(rec.Body)
			for z.Next() != html.ErrorToken {
				tok := z.Token()
				for _, a := range tok.Attr {
					switch a.Key {
					case "id":
						if ids[a.Val] {
							t.Errorf("%s: id %s twice", path, a.Val)
						}
						ids[a.Val] = true
					case "style":
						t.Errorf("%s: a style in an attribute", path)
					case "href", "src":
						to := strings.TrimPrefix(a.Val, "https://help.example.org")
						if strings.HasPrefix(to, "#") {
							anchors = append(anchors, to[1:])
						} else if strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "/-/view") {
							todo = append(todo, to)
						} else if !strings.HasPrefix(to, "/-/view") {
							t.Errorf("%s: a link to %s", path, a.Val)
						}
					}
					if strings.HasPrefix(a.Key, "on") {
						t.Errorf("%s: %s", path, a.Key)
					}
				}
			}
			for _, a := range anchors {
				if plain, err := url.PathUnescape(a); err != nil || !ids[plain] {
					t.Errorf("%s: no #%s", path, a)
				}
			}
		}
		if len(seen) < 40 {
			t.Errorf("%d pages only", len(seen))
		}
	})
}

// A host of a site's own works for all its pages, and serves nothing else; unknown hosts and the service's own do not serve
// the site.
func TestOwnHosts(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		w := newWorld(t, s)
		owns := func(host string) bool {
			return w.Handler.Owns(httptest.NewRequest("GET", "http://"+host+"/api/v1/me", nil))
		}
		for host, want := range map[string]bool{
			"help.example.org": true, "HELP.example.org.:8080": true, "desk.example.net": false, "other.example.org": false, "localhost:8080": false, "127.0.0.1": false, "[::1]:80": false,
		} {
			if got := owns(host); got != want {
				t.Errorf("%s: %v", host, got)
			}
		}
		move := func(domain, path string) {
			t.Helper()
			in := kb.SiteInput{AccountID: 1, Name: "Acme", CustomDomain: storage.Some(domain), Path: storage.Some(path)}
			if _, err := w.editor.UpdateSite(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			w.advance(1100 * time.Millisecond)
		}
		move("help.example.org", "docs")
		if !owns("help.example.org") {
			t.Error("a host whose site is at a path is not its own")
		}
		move("other.example.org", "docs")
		if owns("help.example.org") || !owns("other.example.org") {
			t.Error("the site has moved, the host has not")
		}
	})
}

// Another site at the address of one that was found before is found at once: the next site on the host, one at a path
// below it, and that of another account.
func TestSuccession(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		w := newWorld(t, s)
		other := identity.Account{Name: "Other", NextNumber: 1, DefaultLocale: "en", Languages: []string{"en"}}
		if err := s.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error { return tx.InsertAccount(ctx, &other) }); err != nil {
			t.Fatal(err)
		}
		w.library()
		sites, err := w.kb.Sites(person(1))
		if err != nil {
			t.Fatal(err)
		}
		move := func(domain, path string) {
			t.Helper()
			if _, err := w.editor.UpdateSite(t.Context(), kb.SiteInput{AccountID: 1, Name: "Acme", CustomDomain: storage.Some(domain), Path: storage.Some(path)}); err != nil {
				t.Fatal(err)
			}
		}
		open := func(account int64, name, domain, path string) {
			t.Helper()
			made, err := sites.Create(t.Context(), kb.SiteInput{AccountID: account, Name: name, CustomDomain: storage.Some(domain), Path: storage.Some(path)})
			if err != nil {
				t.Fatal(err)
			}
			of := &world{t: t}
			if of.editor, err = w.kb.Editor(t.Context(), person(1), made.ID); err != nil {
				t.Fatal(err)
			}
			of.article(of.collection(map[string]string{"en": "Printing"}, "").ID, nil, map[string]string{"en": "Print"}, "<p>Print.</p>")
		}
		shows := func(url, want string) {
			t.Helper()
			for range 3 { // unknown, known, and kept
				rec := w.ask(w.Handler, "GET", url, nil)
				if want == "" && rec.Code == 404 || want != "" && strings.Contains(rec.Body.String(), "<title>"+want+"</title>") {
					continue
				}
				t.Errorf("%s: %d instead of the site %q", url, rec.Code, want)
			}
		}
		shows("https://help.example.org/en", "Acme")
		shows("https://help.example.org/docs/en", "")
		open(1, "Docs", "help.example.org", "docs")
		shows("https://help.example.org/docs/en", "Docs")
		shows("https://help.example.org/en", "Acme")
		move("new.example.org", "")
		shows("https://help.example.org/en", "")
		shows("https://new.example.org/en", "Acme")
		shows("https://help.example.org/docs/en", "Docs")
		move("new.example.org", "below")
		shows("https://new.example.org/en", "")
		shows("https://new.example.org/below/en", "Acme")
		move("third.example.org", "below")
		open(other.ID, "Other", "new.example.org", "below")
		shows("https://new.example.org/below/en", "Other")
		shows("https://third.example.org/below/en", "Acme")
	})
}
