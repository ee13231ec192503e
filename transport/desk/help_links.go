package desk

import (
	"html"
	"strings"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

// linkedArticle is an article to which an answer can link.
type linkedArticle struct {
	Title string `json:"title"`
	URL   string `json:"url"`
	Site  string `json:"site"`
	Lang  string `json:"lang"`
}

// maxLinked is the maximum number of articles offered.
const maxLinked = 8

// linkedArticles finds published articles for an answer, in the customer's language if available.
func (v *visit) linkedArticles(query, locale string) ([]linkedArticle, error) {
	sites, err := v.sites()
	if err != nil {
		return nil, err
	}
	var found []linkedArticle
	for _, s := range sites[:min(len(sites), 5)] {
		if s.Visibility == kb.Private || len(found) >= maxLinked {
			continue
		}
		ed, err := v.kb().Editor(v.ctx(), v.caller, s.ID)
		if err != nil {
			return nil, err
		}
		if !ed.Holds(kb.ArticlesView) {
			continue
		}
		wanted := []string{}
		if locale != "" {
			wanted = append(wanted, locale)
		}
		var list []kb.ArticleRevision
		if query = strings.TrimSpace(query); query != "" {
			page, err := ed.Search(v.ctx(), query, append(wanted, v.words.lang), kb.ArticleFilter{}, storage.PageRequest{Limit: 2 * maxLinked})
			if err != nil {
				return nil, err
			}
			for _, f := range page.Items {
				list = append(list, f.ArticleRevision)
			}
		} else {
			page, err := ed.Articles(v.ctx(), kb.ArticleFilter{Brief: true}, false, storage.PageRequest{Limit: 2 * maxLinked})
			if err != nil {
				return nil, err
			}
			list = page.Items
		}
		for _, a := range list {
			if !a.Article.Published || len(found) >= maxLinked {
				continue
			}
			t := a.Revision.Serve(s.DefaultLocale, wanted...)
			found = append(found, linkedArticle{Title: t.Title, URL: ed.URL() + kb.PagePath(t.Locale, kb.ArticlePages, a.Article.ID, t.Title), Site: s.Name, Lang: t.Locale})
		}
	}
	return found, nil
}

// linkable sends the script the articles that match a search.
func (v *visit) linkable() error {
	if !v.seesHelp() {
		return v.missing()
	}
	q := v.r.URL.Query()
	found, err := v.linkedArticles(q.Get("q"), q.Get("lang"))
	if err != nil {
		return err
	}
	return v.json(map[string]any{"articles": append([]linkedArticle{}, found...)})
}

// insertArticle adds a link to the best match of a search to the end of the draft.
func (v *visit) insertArticle() error {
	w, err := v.written()
	if err != nil {
		return err
	}
	found, err := v.linkedArticles(v.r.PostFormValue("article"), v.r.PostFormValue("article_lang"))
	if err != nil {
		return err
	}
	if len(found) == 0 {
		v.say(toast{Text: v.words.T("No published article matches these words"), Bad: true})
	} else {
		w.body += `<p><a href="` + html.EscapeString(found[0].URL) + `">` + html.EscapeString(found[0].Title) + `</a></p>`
	}
	if _, err := v.storeDraft(v.ctx(), w); err != nil {
		return err
	}
	return v.see(v.at("/c/"+itoa(w.conversation)) + "#write")
}

// writeFrom begins an article with an answer, in the help centre of the account. The member chooses if there are several.
func (v *visit) writeFrom() error {
	sites, err := v.sites()
	if err != nil {
		return err
	}
	query := "/new?" + v.r.URL.Query().Encode()
	if len(sites) == 1 {
		return v.see(v.at("/help/" + itoa(sites[0].ID) + query))
	}
	view := sitesView{}
	for _, s := range sites {
		view.Rows = append(view.Rows, siteRow{s.Name, v.at("/help/" + itoa(s.ID) + query), v.h.cfg.KB.URL(s), s.Visibility == kb.Private})
	}
	return v.showHelp("help-sites", v.words.T("Help centre"), view, 0)
}
