package site

import (
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

// linked replaces the references in an article by addresses for readers of a language. below is the prefix of pages'
// addresses, and files that of files.
func (v *visit) linked(t kb.Translation, locale, below, files string) (kb.Translation, error) {
	references := t.References()
	if len(references) == 0 {
		return t, nil
	}
	titles, err := v.titles(references, locale)
	if err != nil {
		return t, err
	}
	return t.Linked(func(r kb.Reference) string {
		if r.Kind == kb.FilePages {
			return files + r.Path(locale)
		}
		return below + kb.PagePath(locale, r.Kind, r.ID, titles[target{r.Kind, r.ID}]) + r.Suffix
	}), nil
}

// target is the target of a reference.
type target struct {
	kind string
	id   int64
}

// titles returns the titles of referenced pages. A link without a title is redirected, or leads nowhere if its target does
// not exist.
func (v *visit) titles(references []kb.Reference, locale string) (map[target]string, error) {
	ids := map[string][]int64{}
	for _, r := range references {
		if len(ids[r.Kind]) < storage.MaxLimit {
			ids[r.Kind] = append(ids[r.Kind], r.ID)
		}
	}
	titles := map[target]string{}
	note := func(kind string, id int64, text kb.Text) {
		titles[target{kind, id}] = text.Serve(v.site.DefaultLocale, locale).Title
	}
	if some := ids[kb.ArticlePages]; len(some) > 0 {
		articles, err := v.Articles(v.ctx(), kb.ArticleFilter{IDs: some, Brief: true}, false, storage.PageRequest{Limit: storage.MaxLimit})
		if err != nil {
			return nil, err
		}
		for _, a := range articles.Items {
			note(kb.ArticlePages, a.Article.ID, a.Revision.Text)
		}
	}
	if some := ids[kb.CollectionPages]; len(some) > 0 {
		collections, err := v.CollectionsByID(v.ctx(), some)
		if err != nil {
			return nil, err
		}
		for _, c := range collections {
			note(kb.CollectionPages, c.ID, c.Text)
		}
	}
	if some := ids[kb.CategoryPages]; len(some) > 0 {
		categories, err := v.CategoriesByID(v.ctx(), some)
		if err != nil {
			return nil, err
		}
		for _, c := range categories {
			note(kb.CategoryPages, c.ID, c.Text)
		}
	}
	return titles, nil
}
