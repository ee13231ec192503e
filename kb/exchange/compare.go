package exchange

import (
	"cmp"
	"maps"
	"slices"
)

// byKey indexes values by their keys.
func byKey[T any](all []T, key func(T) string) map[string]T {
	found := make(map[string]T, len(all))
	for _, v := range all {
		found[key(v)] = v
	}
	return found
}

// located is a value with its collection.
type located[T any] struct {
	in string
	T  T
}

func spread[T any](site Site, of func(Collection) []T) []located[T] {
	var all []located[T]
	for _, c := range site.Collections {
		for _, v := range of(c) {
			all = append(all, located[T]{c.Key, v})
		}
	}
	return all
}

func categoriesOf(s Site) []located[Category] {
	return spread(s, func(c Collection) []Category { return c.Categories })
}

func articlesOf(s Site) []located[Article] {
	return spread(s, func(c Collection) []Article { return c.Articles })
}

func collectionKey(c Collection) string      { return c.Key }
func categoryKey(c located[Category]) string { return c.T.Key }
func articleKey(a located[Article]) string   { return a.T.Key }
func fileKey(f File) string                  { return f.Name }
func ownCategoryKey(c Category) string       { return c.Key }
func ownArticleKey(a Article) string         { return a.Key }
func sortBy[T any](all []T, key func(T) string) {
	slices.SortFunc(all, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
}

// with adds to a site what only the other one has: an import without deletion leaves that in place.
func (s Site) with(other Site) Site {
	files, categories, articles := byKey(s.Files, fileKey), byKey(categoriesOf(s), categoryKey), byKey(articlesOf(s), articleKey)
	s.Files, s.Collections = slices.Clone(s.Files), slices.Clone(s.Collections)
	for _, f := range other.Files {
		if _, known := files[f.Name]; !known {
			s.Files = append(s.Files, f)
		}
	}
	sortBy(s.Files, fileKey)
	at := map[string]int{}
	for i, c := range s.Collections {
		at[c.Key] = i
		s.Collections[i].Categories, s.Collections[i].Articles = slices.Clone(c.Categories), withDrafts(c.Articles, other)
	}
	for _, o := range other.Collections {
		i, known := at[o.Key]
		if !known {
			i = len(s.Collections)
			own := o
			own.Categories, own.Articles = nil, nil
			s.Collections = append(s.Collections, own)
		}
		c := &s.Collections[i]
		for _, g := range o.Categories {
			if _, known := categories[g.Key]; !known {
				c.Categories = append(c.Categories, g)
			}
		}
		for _, a := range o.Articles {
			if _, known := articles[a.Key]; !known {
				c.Articles = append(c.Articles, a)
			}
		}
		sortBy(c.Categories, ownCategoryKey)
		sortBy(c.Articles, ownArticleKey)
	}
	sortBy(s.Collections, collectionKey)
	return s
}

// withDrafts adds to articles the drafts that only the other site has.
func withDrafts(articles []Article, other Site) []Article {
	known := byKey(articlesOf(other), articleKey)
	articles = slices.Clone(articles)
	for i, a := range articles {
		if a.Draft == nil {
			articles[i].Draft = known[a.Key].T.Draft
		}
	}
	return articles
}

// differences lists the names of the fields that differ.
type differences []string

func (d *differences) add(field string, differs bool) {
	if differs {
		*d = append(*d, field)
	}
}

// texts compares collections or categories. An order that is not given counts as unchanged.
func (d *differences) texts(source, oldSource string, order, oldOrder Number, texts, old map[string]Text) {
	d.add("source_locale", source != oldSource)
	d.add("sort_order", cmp.Or(order.normal(), oldOrder) != oldOrder)
	languages(d, texts, old, func(locale string, t, o Text) {
		d.add(locale+".name", t.Name != o.Name)
		d.add(locale+".summary", t.Summary != o.Summary)
	})
}

// version compares versions of an article.
func (d *differences) version(v, old Version) {
	d.add("status", v.Status != cmp.Or(old.Status, v.Status))
	d.add("source_locale", v.SourceLocale != old.SourceLocale)
	d.add("sort_order", cmp.Or(v.SortOrder.normal(), old.SortOrder) != old.SortOrder)
	d.add("categories", !slices.Equal(v.Categories, old.Categories))
	languages(d, v.Texts, old.Texts, func(locale string, t, o ArticleText) {
		d.add(locale+".title", t.Title != o.Title)
		d.add(locale+".summary", t.Summary != o.Summary)
		d.add(locale+".format", t.Format != o.Format)
		d.add(locale+".content", t.Content != o.Content)
	})
}

// languages compares texts by locale, in order.
func languages[T any](d *differences, texts, old map[string]T, compare func(locale string, t, o T)) {
	all := slices.Sorted(maps.Keys(texts))
	for locale := range old {
		if _, kept := texts[locale]; !kept {
			all = append(all, locale)
		}
	}
	slices.Sort(all)
	for _, locale := range all {
		t, now := texts[locale]
		o, before := old[locale]
		switch {
		case !before:
			d.add("+"+locale, true)
		case !now:
			d.add("-"+locale, true)
		default:
			compare(locale, t, o)
		}
	}
}
