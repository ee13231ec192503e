package desk

import (
	"strings"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

// linkedArticle is one that an answer can link to.
type linkedArticle struct {
	Title string `json:"title"`
	URL   string `json:"url"`
	Site  string `json:"site"`
	Lang  string `json:"lang"`
}

// maxLinked bounds how many articles are offered.
const maxLinked = 8

// linkedArticles finds published articles for an answer, in the language of the customer
// where there is one.
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

// linkable answers the module with the articles that words find.
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
