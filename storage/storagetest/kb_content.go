package storagetest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func articleTests() []testCase {
	return []testCase{
		{"Collection", testCollection},
		{"Category", testCategory},
		{"Article", testArticle},
		{"Revisions", testRevisions},
		{"Pages", testContentPages},
		{"Shelves", testShelves},
		{"Counts", testCounts},
		{"DeleteSite", testDeleteSite},
	}
}

// Counters are not written, and a collection that is not empty cannot be deleted.
func testCollection(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	changed := w.shelf.collection
	changed.Articles, changed.Views, changed.UpdatedAt = 99, 99, at(9)
	fresh := changed
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error {
		ok(t, tx.Collections().Update(ctx, &changed))
		return tx.Collections().Insert(ctx, &fresh)
	})
	changed.Counters, fresh.Counters = kb.Counters{}, kb.Counters{}
	one(t, "changed collection", changed, w.inSite().Collections().Get, changed.ID)
	one(t, "new collection", fresh, w.inSite().Collections().Get, fresh.ID)
	remove := func(ctx context.Context, tx kb.Tx) error { return tx.Collections().Delete(ctx, changed.ID) }
	fails(t, "deleting a collection with articles", w.tryKB(t, remove), fault.Conflict)
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error { return tx.Articles().Delete(ctx, w.shelf.article.ID) })
	fails(t, "deleting a collection with categories", w.tryKB(t, remove), fault.Conflict)
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error { return tx.Categories().Delete(ctx, w.shelf.category.ID) })
	ok(t, w.tryKB(t, remove))
}

func testCategory(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	second, changed := w.newCollection(5), w.shelf.category
	changed.Articles, changed.Views = 99, 99 // not written
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error {
		ok(t, tx.Collections().Insert(ctx, &second))
		changed.CollectionID = second.ID
		return tx.Categories().Update(ctx, &changed)
	})
	changed.Counters = kb.Counters{}
	one(t, "category in another collection", changed, w.inSite().Categories().Get, changed.ID)
	remove := func(ctx context.Context, tx kb.Tx) error { return tx.Categories().Delete(ctx, changed.ID) }
	fails(t, "deleting a category with articles", w.tryKB(t, remove), fault.Conflict)
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error {
		a := w.shelf.article
		a.CategoryIDs = nil
		return tx.Articles().Update(ctx, &a)
	})
	ok(t, w.tryKB(t, remove))
}

func testArticle(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	filled(t, w.shelf.live, "Views", "Positive", "Negative")
	want := kb.ArticleRevision{Article: w.shelf.article, Revision: w.shelf.live}
	one(t, "article", want, w.inSite().LiveArticle, want.Article.ID)
	one(t, "published article", want, w.inSite().PublishedArticle, want.Article.ID)
	a := w.newArticle(8)
	a.ID, a.Live, a.Draft, a.LastRevision, a.Published, a.CategoryIDs, a.UpdatedAt = want.Article.ID, 2, 0, 7, false, nil, at(9)
	a.Views, a.Feedbacks = 99, 99 // not written
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error {
		some, err := tx.LockArticles(ctx, []int64{nobody, a.ID})
		ok(t, err)
		same(t, "articles to be changed", []kb.Article{w.shelf.article}, some)
		return tx.Articles().Update(ctx, &a)
	})
	a.Views, a.Feedbacks = 0, w.shelf.article.Feedbacks
	one(t, "changed article", kb.ArticleRevision{Article: a, Revision: w.shelf.draft}, w.inSite().LiveArticle, a.ID)
	_, err := w.inSite().PublishedArticle(t.Context(), a.ID)
	fails(t, "an article that is not published", err, fault.NotFound)
	list, err := w.inSite().PublishedArticles(t.Context(), kb.ArticleFilter{}, all())
	ok(t, err)
	same(t, "published articles", 0, len(list))
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error { return tx.Articles().Delete(ctx, a.ID) })
	_, err = w.inSite().Revision(t.Context(), a.ID, 1)
	fails(t, "a revision of an article that is gone", err, fault.NotFound)
}

func testRevisions(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	id := w.shelf.article.ID
	again := func(ctx context.Context, tx kb.Tx) error { r := w.shelf.live; return tx.InsertRevision(ctx, &r) }
	fails(t, "a number again", w.tryKB(t, again), fault.Conflict)
	changed := w.newRevision(w.shelf.article, 2)
	changed.Status, changed.CollectionID, changed.CategoryIDs, changed.SortOrder = kb.Unpublished, nobody, []int64{nobody}, -1 // not checked
	changed.SourceLocale, changed.Translations, changed.UpdatedAt = "en", changed.Translations[:1], at(20)
	live := w.shelf.live
	live.Translations = append(live.Translations[:1:1], w.newText().Translations[1:]...)
	live.Translations[0].Title, live.Translations[0].Summary = `"quoted" \u0001 <b> 🦊`+"\u2028", "two\nlines" // as JSON escapes them
	want := []kb.Revision{live, changed}
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error {
		want = want[:2]
		ok(t, tx.UpdateRevision(ctx, &live))
		ok(t, tx.UpdateRevision(ctx, &changed))
		for n := range 3 {
			r := w.newRevision(w.shelf.article, int64(10-n))
			ok(t, tx.InsertRevision(ctx, &r))
			want = append(want, r)
		}
		return nil
	})
	want[2], want[4] = want[4], want[2]
	checkPages(t, want, func(r kb.Revision) storage.Position { return storage.Position{ID: r.Number} },
		func(s storage.Seek) ([]kb.Revision, error) { return w.inSite().Revisions(t.Context(), id, s) })
	got, err := w.inSite().Revision(t.Context(), id, 2)
	ok(t, err)
	same(t, "changed revision", changed, got)
	list, err := w.inSite().LiveArticles(t.Context(), kb.ArticleFilter{Brief: true}, all())
	ok(t, err)
	same(t, "the changed texts of a brief list", []kb.ArticleRevision{brief(kb.ArticleRevision{Article: w.shelf.article, Revision: live})}, list)
	remove := func(ctx context.Context, tx kb.Tx) error { return tx.DeleteRevision(ctx, id, 2) }
	ok(t, w.tryKB(t, remove))
	fails(t, "deleting again", w.tryKB(t, remove), fault.NotFound)
	fails(t, "updating what is gone", w.tryKB(t, func(ctx context.Context, tx kb.Tx) error { return tx.UpdateRevision(ctx, &changed) }), fault.NotFound)
}

// Lists are in sort order, with many equal keys.
func testContentPages(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	var collections []kb.Collection
	var categories []kb.Category
	var articles []kb.ArticleRevision
	orders := []kb.SortOrder{-1_500_000_000, 0, 0, 0, 1 << 60, 1 << 60}
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error {
		collections, categories, articles = nil, nil, nil
		ok(t, tx.Articles().Delete(ctx, w.shelf.article.ID))
		ok(t, tx.Categories().Delete(ctx, w.shelf.category.ID))
		ok(t, tx.Collections().Delete(ctx, w.shelf.collection.ID))
		for n, order := range orders {
			c := w.newCollection(order)
			ok(t, tx.Collections().Insert(ctx, &c))
			collections = append(collections, c)
			of := collections[n%2]
			g := w.newCategory(order)
			g.CollectionID = of.ID
			ok(t, tx.Categories().Insert(ctx, &g))
			categories = append(categories, g)
			a := w.newArticle(order)
			a.Outdated, a.Draft = int64(n%2), int64(n%4)
			a.CollectionID, a.Published, a.CategoryIDs = of.ID, n%3 > 0, []int64{categories[0].ID, g.ID}[:1+min(n, 1)]
			ok(t, tx.Articles().Insert(ctx, &a))
			r := w.newRevision(a, 1)
			ok(t, tx.InsertRevision(ctx, &r))
			articles = append(articles, kb.ArticleRevision{Article: a, Revision: r})
		}
		return nil
	})
	r := w.inSite()
	checkPages(t, collections, func(c kb.Collection) storage.Position { return storage.Position{Key: int64(c.SortOrder), ID: c.ID} },
		func(s storage.Seek) ([]kb.Collection, error) {
			return r.Collections().List(t.Context(), storage.NoFilter{}, s)
		})
	for _, f := range []kb.CategoryFilter{{}, {CollectionID: collections[0].ID}} {
		want := matching(categories, func(c kb.Category) bool { return f.CollectionID == 0 || c.CollectionID == f.CollectionID })
		checkPages(t, want, func(c kb.Category) storage.Position { return storage.Position{Key: int64(c.SortOrder), ID: c.ID} },
			func(s storage.Seek) ([]kb.Category, error) { return r.Categories().List(t.Context(), f, s) })
	}
	position := func(a kb.ArticleRevision) storage.Position {
		return storage.Position{Key: int64(a.Article.SortOrder), ID: a.Article.ID}
	}
	for _, f := range []kb.ArticleFilter{
		{}, {CollectionID: collections[1].ID}, {CategoryID: categories[0].ID}, {CategoryID: categories[2].ID},
		{IDs: []int64{articles[1].Article.ID, articles[5].Article.ID, nobody}}, {IDs: []int64{}}, {Loose: true},
		{Loose: true, CollectionID: collections[1].ID}, {Outdated: true}, {Drafts: true}, {Outdated: true, Drafts: true, CollectionID: collections[1].ID},
	} {
		want := matching(articles, func(a kb.ArticleRevision) bool { return matches(f, a.Article) })
		checkPages(t, want, position, func(s storage.Seek) ([]kb.ArticleRevision, error) { return r.LiveArticles(t.Context(), f, s) })
		plain, err := r.Articles().List(t.Context(), f, all())
		ok(t, err)
		same(t, "articles", ids(want, articleID), ids(plain, func(a kb.Article) int64 { return a.ID }))
		want = matching(want, func(a kb.ArticleRevision) bool { return a.Article.Published })
		checkPages(t, want, position, func(s storage.Seek) ([]kb.ArticleRevision, error) { return r.PublishedArticles(t.Context(), f, s) })
		testBeside(t, r, f, articles, want)
	}
}

// testBeside finds the neighbours of each article in a list, whether it is in the list itself or not.
func testBeside(t *testing.T, r kb.Reader, f kb.ArticleFilter, all, list []kb.ArticleRevision) {
	t.Helper()
	for _, a := range all {
		at := storage.Position{Key: int64(a.Article.SortOrder), ID: a.Article.ID}
		var want [2]int64
		for _, other := range list {
			order := cmp.Or(cmp.Compare(other.Article.SortOrder, a.Article.SortOrder), cmp.Compare(other.Article.ID, a.Article.ID))
			if order < 0 {
				want[0] = other.Article.ID
			}
			if order > 0 && want[1] == 0 {
				want[1] = other.Article.ID
			}
		}
		before, after, err := r.Beside(t.Context(), f, at)
		ok(t, err)
		same(t, "the articles before and after", want, [2]int64{before.Article.ID, after.Article.ID})
		for _, n := range []kb.ArticleRevision{before, after} {
			for _, text := range n.Revision.Text.Translations {
				same(t, "the content of a neighbour", "", text.Content)
			}
		}
	}
}

func matches(f kb.ArticleFilter, a kb.Article) bool {
	has := func(list []int64, id int64) bool {
		for _, n := range list {
			if n == id {
				return true
			}
		}
		return false
	}
	return (f.CollectionID == 0 || f.CollectionID == a.CollectionID) && (f.CategoryID == 0 || has(a.CategoryIDs, f.CategoryID)) &&
		(f.IDs == nil || has(f.IDs, a.ID)) && (!f.Loose || len(a.CategoryIDs) == 0) &&
		(!f.Outdated || a.Outdated > 0) && (!f.Drafts || a.Draft > 0)
}

func matching[T any](list []T, match func(T) bool) []T {
	var out []T
	for _, v := range list {
		if match(v) {
			out = append(out, v)
		}
	}
	return out
}

// brief removes contents, as [kb.ArticleFilter] describes.
func brief(a kb.ArticleRevision) kb.ArticleRevision {
	a.Revision.Translations = slices.Clone(a.Revision.Translations)
	for i := range a.Revision.Translations {
		a.Revision.Translations[i].Content, a.Revision.Translations[i].Markdown = "", ""
		a.Revision.Translations[i].MadeFrom = kb.SourceText{}
	}
	return a
}

// What readers choose from: by views, by time, the first of each category.
func testShelves(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	newLibrary(t, b) // must not be visible
	second, other := w.newCategory(9), w.newCategory(10)
	var articles []kb.ArticleRevision
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error {
		articles = nil
		ok(t, tx.Articles().Delete(ctx, w.shelf.article.ID))
		ok(t, tx.Categories().Insert(ctx, &second))
		ok(t, tx.Categories().Insert(ctx, &other))
		in := [][]int64{{w.shelf.category.ID}, {w.shelf.category.ID, second.ID}, {w.shelf.category.ID, second.ID}, nil, {second.ID}, {second.ID}}
		for n, categories := range in {
			a := w.newArticle(kb.SortOrder(10 - n))
			a.CategoryIDs, a.ChangedAt, a.Published = categories, at([]int{5, 9, 9, 2, 20, 3}[n]), n != 4
			ok(t, tx.Articles().Insert(ctx, &a))
			r := w.newRevision(a, 1)
			ok(t, tx.InsertRevision(ctx, &r))
			views := []int64{2, 7, 0, 7, 9, 1}[n]
			ok(t, tx.AddViews(ctx, []kb.View{{ArticleID: a.ID, Revision: 1, N: views}}))
			a.Views, r.Views = views, views
			d := newDocument([]string{"pt-BR", "de", "de", "en", "xx", "de-AT"}[n], "x", "", "")
			d.Published = a.Published
			ok(t, tx.SetDocuments(ctx, a.ID, []kb.Document{d}))
			articles = append(articles, kb.ArticleRevision{Article: a, Revision: r})
		}
		return nil
	})
	pick := func(numbers ...int) (list []kb.ArticleRevision) {
		for _, n := range numbers {
			list = append(list, brief(articles[n]))
		}
		return list
	}
	r := w.inSite()
	check := func(name string, want []kb.ArticleRevision) func([]kb.ArticleRevision, error) {
		return func(got []kb.ArticleRevision, err error) {
			t.Helper()
			ok(t, err)
			same(t, name, want, got)
		}
	}
	check("by views", pick(3, 1, 0, 5))(r.TopArticles(t.Context(), kb.MostViewed, 9))
	check("two by views", pick(3, 1))(r.TopArticles(t.Context(), kb.MostViewed, 2))
	readership := func(from *storage.Position, limit int) ([]kb.ArticleRevision, error) {
		return r.PublishedArticles(t.Context(), kb.ArticleFilter{ByViews: true, Brief: true}, storage.Seek{From: from, Desc: true, Limit: limit})
	}
	check("the first two by views", pick(3, 1))(readership(nil, 2))
	viewed := articles[1].Article
	check("the next one by views", pick(0))(readership(&storage.Position{Key: viewed.Views, ID: viewed.ID}, 1))
	check("by time", pick(2, 1, 0, 5, 3))(r.TopArticles(t.Context(), kb.LatestChanged, 9))
	check("none", nil)(r.TopArticles(t.Context(), kb.LatestChanged, 0))
	firsts := func(n int, ids ...int64) (of []kb.FirstOf) {
		for _, id := range ids {
			of = append(of, kb.FirstOf{CategoryID: id, N: n})
		}
		return of
	}
	check("the first of one", pick(2))(r.FirstArticles(t.Context(), firsts(1, w.shelf.category.ID)))
	check("the first of each", pick(5, 2))(r.FirstArticles(t.Context(), firsts(1, second.ID, w.shelf.category.ID, other.ID, nobody)))
	check("two of each", pick(5, 2, 1))(r.FirstArticles(t.Context(), firsts(2, second.ID, w.shelf.category.ID)))
	check("all of each", pick(5, 2, 1, 0))(r.FirstArticles(t.Context(), firsts(50, second.ID, w.shelf.category.ID)))
	check("one of the first, all of the other", pick(5, 2, 1, 0))(r.FirstArticles(t.Context(), append(firsts(1, second.ID), firsts(50, w.shelf.category.ID)...)))
	check("all of the first, one of the other", pick(5, 2, 1))(r.FirstArticles(t.Context(), append(firsts(50, second.ID), firsts(1, w.shelf.category.ID)...)))
	check("none of the first, one of the other", pick(2))(r.FirstArticles(t.Context(), append(firsts(0, second.ID), firsts(1, w.shelf.category.ID)...)))
	check("of one that is named twice", pick(2, 1))(r.FirstArticles(t.Context(), append(firsts(1, w.shelf.category.ID), firsts(2, w.shelf.category.ID)...)))
	check("of one that is named twice, the most first", pick(2))(r.FirstArticles(t.Context(), append(firsts(2, w.shelf.category.ID), firsts(1, w.shelf.category.ID)...)))
	check("none of each", nil)(r.FirstArticles(t.Context(), firsts(0, second.ID)))
	check("of no category", nil)(r.FirstArticles(t.Context(), nil))
	check("a brief list", pick(5, 3, 2, 1, 0))(r.PublishedArticles(t.Context(), kb.ArticleFilter{Brief: true}, all()))
	front, err := r.Front(t.Context())
	ok(t, err)
	theme, err := r.ActiveTheme(t.Context())
	ok(t, err)
	same(t, "front", kb.Front{Locales: []string{"de", "de-AT", "en", "pt-BR"}, ThemeID: theme.ID, ThemeRevision: theme.Revision}, front)
	front, err = w.KB.Within(kb.Scope{AccountID: w.account.ID, SiteID: w.shelf.bare.ID}).Front(t.Context())
	ok(t, err)
	same(t, "front of an empty site", kb.Front{}, front)
	third := w.newCategory(3)
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error { return tx.Categories().Insert(ctx, &third) })
	collection, err := r.Collections().Get(t.Context(), w.shelf.collection.ID)
	ok(t, err)
	categories, err := r.Categories().List(t.Context(), kb.CategoryFilter{CollectionID: collection.ID}, all())
	ok(t, err)
	for _, n := range []int{100, 2, 0} {
		got, err := r.Shelf(t.Context(), collection.ID, n)
		ok(t, err)
		same(t, fmt.Sprint("a shelf with at most ", n), kb.Shelf{Collection: collection, Categories: categories[:min(n, len(categories)):len(categories)]}, got)
	}
	_, err = r.Shelf(t.Context(), nobody, 1)
	fails(t, "a shelf that is not there", err, fault.NotFound)
}

func testCounts(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	sum := kb.Counters{Articles: 1, Categories: 2, Views: 3, PublishedArticles: -4, PublishedViews: 5}
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error {
		ok(t, tx.AddViews(ctx, []kb.View{{ArticleID: w.shelf.article.ID, Revision: 1, N: 3}, {ArticleID: w.shelf.article.ID, Revision: 99, N: 4}}))
		ok(t, tx.AddCounts(ctx, []kb.Counts{{CollectionID: w.shelf.collection.ID, Counters: sum}, {CategoryID: w.shelf.category.ID, Counters: sum}}))
		return tx.AddCounts(ctx, []kb.Counts{{CategoryID: w.shelf.category.ID, Counters: sum}})
	})
	got, err := w.inSite().LiveArticle(t.Context(), w.shelf.article.ID)
	ok(t, err)
	same(t, "views", []int64{7, 3}, []int64{got.Article.Views, got.Revision.Views})
	c, err := w.inSite().Collections().Get(t.Context(), w.shelf.collection.ID)
	ok(t, err)
	same(t, "counters of the collection", sum, c.Counters)
	g, err := w.inSite().Categories().Get(t.Context(), w.shelf.category.ID)
	ok(t, err)
	same(t, "counters of the category", sum.Add(sum), g.Counters)
	for what, fn := range map[string]kbFunc{
		"article": func(ctx context.Context, tx kb.Tx) error {
			return tx.AddViews(ctx, []kb.View{{ArticleID: nobody, Revision: 1, N: 1}})
		},
		"collection": func(ctx context.Context, tx kb.Tx) error {
			return tx.AddCounts(ctx, []kb.Counts{{CollectionID: nobody, Counters: sum}})
		},
		"category": func(ctx context.Context, tx kb.Tx) error {
			return tx.AddCounts(ctx, []kb.Counts{{CategoryID: nobody, Counters: sum}})
		},
	} {
		fails(t, "counting for an absent "+what, w.tryKB(t, fn), fault.NotFound)
	}
}

// Deleting a site deletes everything in it, and so does deleting an account.
func testDeleteSite(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error { return tx.Sites().Delete(ctx, w.shelf.site.ID) })
	left, err := readLibrary(t.Context(), w.inSite())
	ok(t, err)
	same(t, "what is left in the site", library{}, left)
	err = w.tryKB(t, func(ctx context.Context, tx kb.Tx) error {
		c := w.newCollection(1)
		return tx.Collections().Insert(ctx, &c)
	})
	fails(t, "a collection in a site that is gone", err, fault.NotFound)
}

func contentReads() map[string]readProbeOf[kb.Reader] {
	type r = kb.Reader
	return map[string]readProbeOf[kb.Reader]{
		"LiveArticle": {ofSite, true, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.LiveArticle(ctx, v.shelf.article.ID))
		}},
		"LiveArticles": {ofSite, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.LiveArticles(ctx, kb.ArticleFilter{CategoryID: v.shelf.category.ID}, all()))
		}},
		"PublishedArticle": {ofSite, true, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.PublishedArticle(ctx, v.shelf.article.ID))
		}},
		"PublishedArticles": {ofSite, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.PublishedArticles(ctx, kb.ArticleFilter{IDs: []int64{v.shelf.article.ID}}, all()))
		}},
		"TopArticles": {ofSite, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.TopArticles(ctx, kb.LatestChanged, 100))
		}},
		"FirstArticles": {ofSite, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.FirstArticles(ctx, []kb.FirstOf{{CategoryID: v.shelf.category.ID, N: 1}}))
		}},
		"Beside": {ofSite, false, func(ctx context.Context, r r, v *world) (any, error) {
			before, after, err := r.Beside(ctx, kb.ArticleFilter{CategoryID: v.shelf.category.ID}, storage.Position{Key: math.MinInt32})
			return nonZero(before.Article.ID+after.Article.ID != 0, v), err
		}},
		"Front": {ofSite, false, func(ctx context.Context, r r, v *world) (any, error) {
			f, err := r.Front(ctx)
			return answer(f.Locales, err)
		}},
		"Shelf": {ofSite, true, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.Shelf(ctx, v.shelf.collection.ID, 100))
		}},
		"Revision": {ofSite, true, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.Revision(ctx, v.shelf.article.ID, 2))
		}},
		"Revisions": {ofSite, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.Revisions(ctx, v.shelf.article.ID, all()))
		}},
	}
}

func contentWrites() map[string]writeProbeOf[kb.Tx] {
	type tx = kb.Tx
	return map[string]writeProbeOf[kb.Tx]{
		"LockArticles": {level: ofSite, call: func(ctx context.Context, tx tx, v *world) error {
			found, err := tx.LockArticles(ctx, []int64{v.shelf.article.ID})
			if len(found) == 0 && err == nil {
				return fault.Missing("article", 0)
			}
			return err
		}},
		"InsertRevision": {level: ofSite, call: func(ctx context.Context, tx tx, v *world) error {
			r := v.newRevision(v.shelf.article, 9)
			return tx.InsertRevision(ctx, &r)
		}},
		"UpdateRevision": {level: ofSite, call: func(ctx context.Context, tx tx, v *world) error {
			r := v.shelf.live
			r.Translations = nil
			return tx.UpdateRevision(ctx, &r)
		}},
		"DeleteRevision": {level: ofSite, call: func(ctx context.Context, tx tx, v *world) error {
			return tx.DeleteRevision(ctx, v.shelf.article.ID, 2)
		}},
		"AddViews": {level: ofSite, call: func(ctx context.Context, tx tx, v *world) error {
			return tx.AddViews(ctx, []kb.View{{ArticleID: v.shelf.article.ID, Revision: 1, N: 1}})
		}},
		"AddCounts": {level: ofSite, call: func(ctx context.Context, tx tx, v *world) error {
			return tx.AddCounts(ctx, []kb.Counts{{CollectionID: v.shelf.collection.ID, Counters: kb.Counters{Views: 1}}})
		}},
	}
}

func (g *generator) sortOrder() kb.SortOrder { return kb.SortOrder(g.IntN(4)) * 500_000_000 }

func (g *generator) translated() kb.Text {
	t := kb.Text{SourceLocale: "en"}
	for n := range g.IntN(3) {
		t.Translations = append(t.Translations, kb.Translation{Locale: g.text(), Number: int64(n), Title: g.text(), Content: g.text(), UpdatedAt: g.time(false)})
	}
	return t
}

func (g *generator) readContent(seen library, seek storage.Seek) []operation {
	collection, category := g.either("Collection", oneOf(g, seen.Collections).ID), g.either("Category", oneOf(g, seen.Categories).ID)
	from := oneOf(g, seen.Articles).Article
	article := g.either("Article", from.ID)
	seek.From = nil
	if from.ID != 0 && g.IntN(2) == 0 {
		seek.From = &storage.Position{Key: int64(from.SortOrder), ID: from.ID}
	}
	filter := g.articleFilter(seen)
	return []operation{
		{method: "Collections.Get", args: []any{collection}},
		{method: "Collections.ByIDs", args: []any{idList{"Collection", []int64{collection.n, nobody}}}},
		{method: "Categories.Get", args: []any{category}},
		{method: "Categories.ByIDs", args: []any{idList{"Category", []int64{category.n, nobody}}}},
		{method: "Articles.Get", args: []any{article}},
		{method: "Articles.List", args: []any{filter, ordered{seek, "Article"}}},
		{method: "LiveArticle", args: []any{article}},
		{method: "PublishedArticle", args: []any{article}},
		{method: "LiveArticles", args: []any{filter, ordered{seek, "Article"}}},
		{method: "PublishedArticles", args: []any{filter, ordered{seek, "Article"}}},
		{method: "TopArticles", args: []any{oneOf(g, []kb.ArticleOrder{kb.MostViewed, kb.LatestChanged}), seek.Limit}},
		{method: "FirstArticles", args: []any{[]kb.FirstOf{{CategoryID: category.n, N: seek.Limit}, {CategoryID: nobody, N: 2}}}},
		{method: "Front"},
		{method: "Shelf", args: []any{collection, seek.Limit}},
		{method: "Revision", args: []any{article, int64(1 + g.IntN(3))}},
		{method: "Revisions", args: []any{article, storage.Seek{Desc: seek.Desc, Limit: seek.Limit}}},
	}
}

func (g *generator) articleFilter(seen library) kb.ArticleFilter {
	var f kb.ArticleFilter
	f.Brief, f.Outdated, f.Drafts = g.IntN(4) == 0, g.IntN(6) == 0, g.IntN(6) == 0
	switch g.IntN(8) {
	case 3:
		f.Loose = true
	case 0:
		f.CollectionID = g.either("Collection", oneOf(g, seen.Collections).ID).n
	case 1:
		f.CategoryID = g.either("Category", oneOf(g, seen.Categories).ID).n
	case 2:
		f.IDs = append([]int64{}, some(g, "Article", seen.Articles, articleID).n...)
	}
	return f
}

func articleID(a kb.ArticleRevision) int64 { return a.Article.ID }

func (g *generator) writeContent(seen library, articles []kb.Article) operation {
	collection, category := oneOf(g, seen.Collections), oneOf(g, seen.Categories)
	article, revision := oneOf(g, articles), oneOf(g, seen.Revisions)
	in := g.either("Collection", collection.ID).n
	what := g.IntN(15)
	if g.IntN(3) > 0 { // rather what everything else is in
		switch {
		case collection.ID == 0:
			what = 0
		case len(seen.Articles) < len(articles):
			i := slices.IndexFunc(articles, func(a kb.Article) bool {
				return !slices.ContainsFunc(seen.Articles, func(seen kb.ArticleRevision) bool { return seen.Article.ID == a.ID })
			})
			article, what = articles[i], 11
		case len(articles) < 5:
			what = 7
		}
	}
	switch what {
	case 0, 1:
		c := kb.Collection{SortOrder: g.sortOrder(), Text: g.translated(), CreatedAt: g.time(false), UpdatedAt: g.time(false)}
		return operation{method: "Collections.Insert", args: []any{[]*kb.Collection{&c}}}
	case 2:
		c := kb.Collection{ID: in, SortOrder: g.sortOrder(), Text: g.translated(), CreatedAt: g.time(false), UpdatedAt: g.time(false)}
		return operation{method: "Collections.Update", args: []any{[]*kb.Collection{&c}}}
	case 3:
		return operation{method: "Collections.Delete", args: []any{one64("Collection", in)}, clash: true}
	case 4:
		c := kb.Category{CollectionID: in, SortOrder: g.sortOrder(), Text: g.translated(), CreatedAt: g.time(false), UpdatedAt: g.time(false)}
		return operation{method: "Categories.Insert", args: []any{[]*kb.Category{&c}}}
	case 5:
		c := kb.Category{ID: g.either("Category", category.ID).n, CollectionID: in, SortOrder: g.sortOrder(), Text: g.translated(), CreatedAt: g.time(false), UpdatedAt: g.time(false)}
		return operation{method: "Categories.Update", args: []any{[]*kb.Category{&c}}}
	case 6:
		return operation{method: "Categories.Delete", args: []any{g.either("Category", category.ID)}, clash: true}
	case 7, 8:
		return operation{method: "Articles.Insert", args: []any{[]*kb.Article{g.article(0, in, seen)}}}
	case 9:
		return operation{method: "Articles.Update", args: []any{[]*kb.Article{g.article(g.either("Article", article.ID).n, in, seen)}}}
	case 10:
		return operation{method: "Articles.Delete", args: []any{g.either("Article", article.ID)}}
	case 11, 13:
		number := oneOf(g, []int64{article.Live, article.Live, int64(1 + g.IntN(3))})
		r := kb.Revision{ArticleID: g.either("Article", article.ID).n, Number: number, Status: kb.Published, Text: g.translated(),
			SortOrder: g.sortOrder(), CreatedAt: g.time(false), UpdatedAt: g.time(false)}
		return operation{method: "InsertRevision", args: []any{&r}, clash: true}
	case 12:
		r := kb.Revision{ArticleID: revision.ArticleID, Number: revision.Number, Status: kb.Unpublished, Text: g.translated(), CreatedAt: g.time(false), UpdatedAt: g.time(false)}
		return operation{method: "UpdateRevision", args: []any{&r}}
	default:
		return operation{method: "DeleteRevision", args: []any{one64("Article", revision.ArticleID), revision.Number}}
	}
}

func (g *generator) article(id, collection int64, seen library) *kb.Article {
	a := &kb.Article{ID: id, Live: int64(1 + g.IntN(2)), LastRevision: 3, Published: g.IntN(2) == 0, CollectionID: collection, SortOrder: g.sortOrder(),
		ChangedAt: g.time(false), CreatedAt: g.time(false), UpdatedAt: g.time(false)}
	if c := oneOf(g, seen.Categories); c.ID != 0 && g.IntN(2) == 0 {
		a.CategoryIDs = []int64{c.ID}
	}
	return a
}
