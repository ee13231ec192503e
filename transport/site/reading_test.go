package site_test

import (
	"context"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/transport/site"
)

// What readers do is counted, with what they had searched for, and programs are not.
func TestReading(t *testing.T) {
	t.Parallel()
	const (
		home    = "https://help.example.org"
		browser = "Mozilla/5.0 (X11; Linux x86_64; rv:141.0) Gecko/20100101 Firefox/141.0"
		found   = home + "/en/search?query=Refund"
	)
	type request struct{ address, from, agent string }
	for _, tt := range []struct {
		name string
		ask  request
		want []site.Reading
	}{
		{"a search", request{"/en/search?query=Refund", "", browser}, []site.Reading{{What: site.Searched, Locale: "en", Query: "Refund"}}},
		{"a search that finds nothing", request{"/en/search?query=zzzqq", "", browser}, []site.Reading{{What: site.FoundNone, Locale: "en", Query: "zzzqq"}}},
		{"no words", request{"/en/search", "", browser}, nil},
		{"a program", request{"/en/search?query=Refund", "", "curl/8"}, nil},
		{"no program said what it is", request{"/en/search?query=Refund", "", ""}, nil},
		{"an article from a search", request{articlePath, found, browser}, []site.Reading{{What: site.Opened, Locale: "en", Query: "Refund"}}},
		{"the second page of a search", request{articlePath, found + "&after=x", browser}, []site.Reading{{What: site.Opened, Locale: "en", Query: "Refund"}}},
		{"an article from elsewhere", request{articlePath, home + "/en", browser}, nil},
		{"an article from another site's search", request{articlePath, "https://example.com/en/search?query=Refund", browser}, nil},
		{"an article from an address that is none", request{articlePath, "https://help.example.org/en/search?query=%zz&x=%", browser}, nil},
		{"a view", request{"/-/view/1", home + articlePath, browser}, []site.Reading{{What: site.Viewed, Locale: "en", ArticleID: 1}}},
		{"a view of nothing", request{"/-/view/99", home + articlePath, browser}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, memstore.New())
			w.library()
			var got []site.Reading
			h := w.handler(func(c *site.Config) {
				c.Read = func(_ context.Context, _ kb.Site, r site.Reading) { got = append(got, r) }
			})
			for range 2 { // also when the page is cached
				got = nil
				r := httptest.NewRequest("GET", home+tt.ask.address, nil)
				r.Header.Set("User-Agent", tt.ask.agent)
				r.Header.Set("Referer", tt.ask.from)
				rw := httptest.NewRecorder()
				h.ServeHTTP(rw, r)
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("%d (-want +got): %s", rw.Code, diff)
				}
			}
		})
	}
}

// A message counts for what its writer had searched for or read, also when the form is shown again.
func TestReadingBeforeMessage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, from string
		want       site.Reading
	}{
		{"from a search", "https://help.example.org/en/search?query=Refund+%E2%82%AC", site.Reading{What: site.Wrote, Locale: "en", Query: "Refund €"}},
		{"from an article", "https://help.example.org" + articlePath, site.Reading{What: site.Wrote, Locale: "en", ArticleID: 1}},
		{"from the home page", "https://help.example.org/en", site.Reading{What: site.Wrote, Locale: "en"}},
		{"from another site", "https://example.com/en/search?query=Refund", site.Reading{What: site.Wrote, Locale: "en"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, memstore.New())
			w.library()
			var got []site.Reading
			h := w.handler(func(c *site.Config) {
				c.Read = func(_ context.Context, _ kb.Site, r site.Reading) { got = append(got, r) }
			})
			const contact = "https://help.example.org/en/contact"
			browser := []string{"User-Agent", "Mozilla/5.0 Firefox/141.0"}
			form := url.Values{"about": {"A refund is late"}, "message": {"Where?"}, "email": {"ada@example.com"}}
			page := w.ask(h, "GET", contact, nil, append(browser, "Referer", tt.from)...)
			for _, change := range []func(){func() {}, func() { form.Set("asked", "1") }} {
				form.Set("token", value(page.Body.String(), "token"))
				change()
				w.advance(3 * time.Second)
				page = w.ask(h, "POST", contact, form, append(browser, "Referer", contact)...)
			}
			if diff := cmp.Diff([]site.Reading{tt.want}, got); diff != "" {
				t.Errorf("%d (-want +got): %s", page.Code, diff)
			}
		})
	}
}
