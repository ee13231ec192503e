package site

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/helpwright/helpwright/kb"
)

// Reading is something that a reader did. Nothing in it says who they are: what they did before is known from the address that their
// browser sends along within the site.
type Reading struct {
	What      Act
	Locale    string
	Query     string // what they searched for, or had searched for just before; ""
	ArticleID int64  // the article from whose page they came; 0
}

// Act is what a reader did.
type Act string

// The acts.
const (
	Viewed    Act = "viewed"     // an article
	Searched  Act = "searched"   // and found something
	FoundNone Act = "found none" // searched, and found nothing
	Opened    Act = "opened"     // an article that a search had found
	Wrote     Act = "wrote"      // a message
)

// count reports what a reader did. Programs, and visits of members who try something, do not count.
func (v *visit) count(r Reading) {
	if v.h.cfg.Read != nil && !v.preview.signed && !robot(v.r.UserAgent()) {
		v.h.cfg.Read(v.ctx(), v.site, r)
	}
}

// cameFrom returns what the page was about from which a reader came within the site: a search, or an article.
func (v *visit) cameFrom() (query string, articleID int64) {
	from, err := url.Parse(v.r.Referer())
	if err != nil || from.Host != v.r.Host {
		return "", 0
	}
	rest, within := strings.CutPrefix(from.Path, v.prefix+"/")
	if !within {
		return "", 0
	}
	_, page, _ := strings.Cut(rest, "/") // after the language
	if page == "search" {
		return searchWords(from), 0
	}
	if name, ok := strings.CutPrefix(page, kb.ArticlePages+"/"); ok {
		articleID, _ = kb.ParsePageName(name)
	}
	return "", articleID
}

// fromSearch reports whether a request came from a page of search results. The visit of an article counts then.
func fromSearch(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.Referer(), "/search?")
}

// opened counts the visit of an article that a search has found.
func (v *visit) opened(locale string) {
	if v.h.cfg.Read == nil || !fromSearch(v.r) {
		return
	}
	if query, _ := v.cameFrom(); query != "" && !v.limited(LimitView) {
		v.count(Reading{What: Opened, Locale: locale, Query: query})
	}
}

// source returns where the reader of a contact form came from, for its token: "q" and a query, or "a" and the id of an article. A form
// that is shown again keeps what its token had.
func (v *visit) source() string {
	if v.r.Method == http.MethodPost {
		if data, _, ok := v.h.unseal("contact", v.site.ID, v.r.PostFormValue("token")); ok {
			_, origin, _ := strings.Cut(data, " ")
			return origin
		}
		return ""
	}
	query, articleID := v.cameFrom()
	switch {
	case query != "":
		return "q" + query
	case articleID != 0:
		return "a" + strconv.FormatInt(articleID, 10)
	}
	return ""
}

// wrote counts a message, by the data of its form's token.
func (v *visit) wrote(locale, data string) {
	r := Reading{What: Wrote, Locale: locale}
	_, origin, _ := strings.Cut(data, " ")
	if query, ok := strings.CutPrefix(origin, "q"); ok {
		r.Query = query
	} else if id, ok := strings.CutPrefix(origin, "a"); ok {
		r.ArticleID, _ = strconv.ParseInt(id, 10, 64) // 0: it was signed here
	}
	v.count(r)
}

// searchWords returns what the address of a search asks for, at most 200 characters of it.
func searchWords(u *url.URL) string {
	words := strings.TrimSpace(u.Query().Get("query"))
	if r := []rune(words); len(r) > 200 {
		words = string(r[:200])
	}
	return words
}
