package desk_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
)

// What readers searched for is listed, what left them alone first, and an article begins with its words.
func TestReaderSearches(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	if page := l.get("/help/1/feedback/searches"); page.status != http.StatusOK || !strings.Contains(page.body, "No reader was left alone") {
		t.Fatal(page.status, page.body)
	}
	read := func(query string, article int64, c helpdesk.ReadingCounts) {
		t.Helper()
		l.service.CountReading(t.Context(), l.desk.AccountID(), helpdesk.SiteReading{SiteID: 1, Locale: "en", Query: query, ArticleID: article, ReadingCounts: c})
		if err := l.service.FlushMarks(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	id := l.article.Article.ID
	read("burr <grinder>", 0, helpdesk.ReadingCounts{Searches: 41, Clicks: 30})
	read("gift card", 0, helpdesk.ReadingCounts{Searches: 17, Unanswered: 13})
	read("seen twice", 0, helpdesk.ReadingCounts{Searches: 2, Unanswered: 2})
	read("", id, helpdesk.ReadingCounts{Contacts: 23})
	for _, tt := range []struct {
		path       string
		shows, not []string
	}{
		{"/help/1/feedback/searches", []string{"gift card", ">17<", ">13<", "/help/1/new?title=gift&#43;card", "/en/search?query=gift&#43;card"}, []string{"burr", "seen twice"}},
		{"/help/1/feedback/searches?show=all&days=90", []string{"gift card", "burr &lt;grinder&gt;", ">41<", ">30<"}, []string{"seen twice"}},
		{"/help/1/feedback/searches?days=year", []string{"gift card"}, nil},
		{"/help/1/feedback/searches?days=-5", []string{"gift card"}, nil},
		{"/help/1/new?title=gift+card", []string{"gift card<"}, nil},
		{"/reports/help-centre", []string{"Found nothing", ">60<", ">15<", "/help/1/feedback/searches"}, []string{"/rows?"}},
		{"/reports", []string{"/reports/help-centre"}, nil},
	} {
		page := l.get(tt.path)
		if page.status != http.StatusOK {
			t.Errorf("%s: %d %s", tt.path, page.status, page.body)
		}
		for _, text := range tt.shows {
			if !strings.Contains(page.body, text) {
				t.Errorf("%s lacks %q", tt.path, text)
			}
		}
		for _, text := range tt.not {
			if strings.Contains(page.body, text) {
				t.Errorf("%s shows %q", tt.path, text)
			}
		}
	}
}
