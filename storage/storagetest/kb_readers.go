package storagetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/search"
)

func readerTests() []testCase {
	return []testCase{
		{"Search", testArticleSearch},
		{"SearchLanguages", testArticleSearchLanguages},
		{"SearchPages", testArticleSearchPages},
		{"SearchSpelled", testArticleSearchSpelled},
		{"Documents", testDocuments},
		{"Spellings", testSpellings},
		{"ExchangeKeys", testExchangeKeys},
		{"Feedback", testFeedback},
		{"Reactions", testReactions},
		{"ReactionsAtOnce", testReactionsAtOnce},
		{"Audit", testAuditKnowledge},
	}
}

// newDocument returns a document with the terms of some texts.
func newDocument(locale, title, summary, content string) kb.Document {
	language := locale
	if i := slices.Index([]byte(locale), '-'); i >= 0 {
		language = locale[:i]
	}
	return kb.Document{
		Locale: locale, Language: language, Published: true,
		Title: search.Terms(title), Summary: search.Terms(summary), Content: search.Terms(content),
	}
}

// addArticle stores another article with its documents; the first one is the source.
func (w *world) addArticle(t *testing.T, published bool, documents ...kb.Document) kb.Article {
	t.Helper()
	a := w.newArticle(7)
	a.Published = published
	documents[0].Source = true
	for i := range documents {
		documents[i].Published = published
	}
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error {
		if err := tx.Articles().Insert(ctx, &a); err != nil {
			return err
		}
		r := w.newRevision(a, 1)
		if err := tx.InsertRevision(ctx, &r); err != nil {
			return err
		}
		return tx.SetDocuments(ctx, a.ID, documents)
	})
	return a
}

// looksFor returns a query for words; a last word that ends with a star is a prefix.
func looksFor(rank kb.Rank, words ...string) kb.SearchQuery {
	q := kb.SearchQuery{Rank: rank, Locales: []kb.LocaleChoice{{Locale: "en"}, {Language: "en"}}}
	for _, w := range words {
		prefix := w[len(w)-1] == '*'
		if prefix {
			w = w[:len(w)-1]
		}
		q.Words = append(q.Words, []kb.SearchTerm{{Text: w, Prefix: prefix}})
	}
	return q
}

// articlesOf returns the articles of hits.
func articlesOf(hits []kb.Hit, err error) ([]int64, error) {
	var ids []int64
	for _, h := range hits {
		ids = append(ids, h.ArticleID)
	}
	return ids, err
}

func testArticleSearch(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	password := w.addArticle(t, true, newDocument("en", "Reset your password", "When it is lost", "Press the blue button")).ID
	login := w.addArticle(t, true, newDocument("en", "Logging in", "With a password", "Type it")).ID
	colours := w.addArticle(t, true, newDocument("en", "Colours", "Which we have", "The button of the password is blue, of 東京 red")).ID
	hidden := w.addArticle(t, false, newDocument("en", "Password of tomorrow", "", "blue")).ID
	uncategorised := w.addArticle(t, true, newDocument("en", "Orphan", "", ""))
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error {
		uncategorised.CategoryIDs = nil
		return tx.Articles().Update(ctx, &uncategorised)
	})
	orphan, category := uncategorised.ID, w.shelf.category.ID
	for name, test := range map[string]struct {
		query     kb.SearchQuery
		all, open []int64
	}{
		"in the title":             {looksFor(kb.InTitle, "password"), []int64{password, hidden}, []int64{password}},
		"in the summary":           {looksFor(kb.InSummary, "password"), []int64{login}, []int64{login}},
		"in the content":           {looksFor(kb.InContent, "password"), []int64{colours}, []int64{colours}},
		"over title and summary":   {looksFor(kb.InSummary, "reset", "lost"), []int64{password}, []int64{password}},
		"over all":                 {looksFor(kb.InContent, "reset", "lost", "blue"), []int64{password}, []int64{password}},
		"not all words":            {looksFor(kb.InContent, "reset", "red"), nil, nil},
		"a beginning":              {looksFor(kb.InTitle, "pass*"), []int64{password, hidden}, []int64{password}},
		"a beginning of one":       {looksFor(kb.InTitle, "p*"), []int64{password, hidden}, []int64{password}},
		"a beginning as a word":    {looksFor(kb.InTitle, "pass"), nil, nil},
		"without spaces":           {looksFor(kb.InContent, "東京"), []int64{colours}, []int64{colours}},
		"nothing":                  {looksFor(kb.InContent, "nothing"), nil, nil},
		"what no term can be":      {looksFor(kb.InContent, `a"b`), nil, nil},
		"an operator":              {looksFor(kb.InContent, "or"), nil, nil},
		"a token of the store's":   {looksFor(kb.InContent, "_1"), nil, nil},
		"quotes":                   {looksFor(kb.InContent, "it's", `\`), nil, nil},
		"a word for another":       {either(looksFor(kb.InTitle, "pasword"), "password"), []int64{password, hidden}, []int64{password}},
		"a word for no other":      {either(looksFor(kb.InTitle, "pasword"), "passport"), nil, nil},
		"in an article":            {within(looksFor(kb.InTitle, "password"), 0, hidden), []int64{hidden}, nil},
		"in no article":            {within(looksFor(kb.InTitle, "password"), 0), nil, nil},
		"in the collection":        {within(looksFor(kb.InSummary, "password"), w.shelf.collection.ID, login, nobody), []int64{login}, []int64{login}},
		"in a collection of none":  {within(looksFor(kb.InSummary, "password"), nobody, login), nil, nil},
		"in a category":            {inCategory(looksFor(kb.InTitle, "password"), category), []int64{password, hidden}, []int64{password}},
		"in a category of none":    {inCategory(looksFor(kb.InTitle, "password"), nobody), nil, nil},
		"in no category":           {inCategory(looksFor(kb.InTitle, "orphan"), category), nil, nil},
		"without a category":       {looksFor(kb.InTitle, "orphan"), []int64{orphan}, []int64{orphan}},
		"in all at once":           {inCategory(within(looksFor(kb.InTitle, "password"), w.shelf.collection.ID, hidden), category), []int64{hidden}, nil},
		"no locale that is wanted": {kb.SearchQuery{Rank: kb.InTitle, Words: looksFor(0, "password").Words}, []int64{password, hidden}, []int64{password}},
	} {
		found, err := articlesOf(w.inSite().FindArticles(t.Context(), test.query, all()))
		ok(t, err)
		same(t, name, test.all, found)
		found, err = articlesOf(w.inSite().FindPublished(t.Context(), test.query, all()))
		ok(t, err)
		same(t, name+", published", test.open, found)
	}
}

// either adds an alternative to the first word of a query.
func either(q kb.SearchQuery, word string) kb.SearchQuery {
	q.Words[0] = append(q.Words[0], kb.SearchTerm{Text: word})
	return q
}

func within(q kb.SearchQuery, collection int64, articles ...int64) kb.SearchQuery {
	q.Filter.CollectionID, q.Filter.IDs = collection, append([]int64{}, articles...)
	return q
}

func inCategory(q kb.SearchQuery, category int64) kb.SearchQuery {
	q.Filter.CategoryID = category
	return q
}

// hit returns a hit without the id of its document.
func hit(article int64, locale string) kb.Hit { return kb.Hit{ArticleID: article, Locale: locale} }

// Each article is found only in the language that is shown.
func testArticleSearchLanguages(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	word := func(locale string) kb.Document { return newDocument(locale, "word "+locale, "", "") }
	english := w.addArticle(t, true, word("en")).ID
	both := w.addArticle(t, true, word("en"), word("de")).ID
	swiss := w.addArticle(t, true, word("fr"), word("de-CH"), word("de-AT")).ID
	for name, test := range map[string]struct {
		locales []kb.LocaleChoice
		want    []kb.Hit
	}{
		"none": {nil, []kb.Hit{hit(english, "en"), hit(both, "en"), hit(swiss, "fr")}},
		"german": {
			[]kb.LocaleChoice{{Locale: "de"}, {Language: "de"}, {Locale: "en"}},
			[]kb.Hit{hit(english, "en"), hit(both, "de"), hit(swiss, "de-AT")},
		},
		"swiss": {
			[]kb.LocaleChoice{{Locale: "de-CH"}, {Locale: "de"}, {Language: "de"}},
			[]kb.Hit{hit(english, "en"), hit(both, "de"), hit(swiss, "de-CH")},
		},
		"one that is not there": {[]kb.LocaleChoice{{Locale: "ja"}, {Language: "ja"}}, []kb.Hit{hit(english, "en"), hit(both, "en"), hit(swiss, "fr")}},
	} {
		found, err := w.inSite().FindPublished(t.Context(), kb.SearchQuery{Words: looksFor(0, "word").Words, Locales: test.locales}, all())
		ok(t, err)
		slices.SortFunc(found, func(a, b kb.Hit) int { return int(a.ArticleID - b.ArticleID) })
		for i := range found {
			found[i].ID = 0
		}
		same(t, name, test.want, found)
	}
	found, err := w.inSite().FindPublished(t.Context(), kb.SearchQuery{
		Words: looksFor(0, "en").Words, Locales: []kb.LocaleChoice{{Locale: "de"}, {Language: "de"}},
	}, all())
	ok(t, err)
	if len(found) != 1 || found[0].ArticleID != english {
		t.Errorf("by a word of the other language: %+v", found)
	}
}

func testArticleSearchPages(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	for range 7 {
		w.addArticle(t, true, newDocument("en", "word", "", ""))
	}
	whole, err := w.inSite().FindPublished(t.Context(), looksFor(kb.InTitle, "word"), all())
	ok(t, err)
	if len(whole) != 7 || !slices.IsSortedFunc(whole, func(a, b kb.Hit) int { return int(a.ID - b.ID) }) {
		t.Fatalf("%+v", whole)
	}
	for _, desc := range []bool{false, true} {
		want := slices.Clone(whole)
		if desc {
			slices.Reverse(want)
		}
		var got []kb.Hit
		seek := storage.Seek{Desc: desc, Limit: 3}
		for {
			page, err := w.inSite().FindPublished(t.Context(), looksFor(kb.InTitle, "word"), seek)
			ok(t, err)
			got = append(got, page...)
			if len(page) < seek.Limit {
				break
			}
			seek.From = &storage.Position{ID: page[len(page)-1].ID}
		}
		same(t, "pages", want, got)
	}
	words := []kb.SearchTerm{{Text: "absent"}, {Text: "word"}, {Text: "wo", Prefix: true}}
	for limit, want := range map[int][][]kb.Hit{3: {nil, nil, nil}, len(whole): {nil, nil, nil}, len(whole) + 1: {nil, whole, whole}, 1000: {nil, whole, whole}} {
		each, err := w.inSite().FindPublishedEach(t.Context(), kb.SearchQuery{Rank: kb.InTitle}, words, limit)
		ok(t, err)
		same(t, fmt.Sprintf("each word that has less than %d", limit), want, each)
	}
	none, err := w.inSite().FindPublished(t.Context(), looksFor(kb.InTitle, "word"), storage.Seek{})
	ok(t, err)
	if len(none) != 0 {
		t.Errorf("without a limit: %+v", none)
	}
}

func testDocuments(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	a := w.addArticle(t, true, newDocument("en", "old", "", ""), newDocument("de", "alt", "", ""))
	find := func(word string) []kb.Hit {
		t.Helper()
		q := looksFor(kb.InTitle, word)
		q.Locales = []kb.LocaleChoice{{Locale: "de"}, {Locale: "en"}}
		hits, err := w.inSite().FindPublished(t.Context(), q, all())
		ok(t, err)
		return hits
	}
	before := find("alt")
	next := newDocument("de", "neu", "", "")
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error { return tx.SetDocuments(ctx, a.ID, []kb.Document{next}) })
	same(t, "the same document", before, find("neu"))
	same(t, "a former word", []kb.Hit(nil), find("alt"))
	same(t, "a removed document", []kb.Hit(nil), find("old"))
	next.Published = false
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error { return tx.SetDocuments(ctx, a.ID, []kb.Document{next}) })
	same(t, "not published", []kb.Hit(nil), find("neu"))
	next.Published = true
	err := w.tryKB(t, func(ctx context.Context, tx kb.Tx) error {
		ok(t, tx.SetDocuments(ctx, a.ID, []kb.Document{next}))
		return fault.New(fault.Conflict, "undo")
	})
	fails(t, "undoing", err, fault.Conflict)
	same(t, "undone", []kb.Hit(nil), find("neu"))
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error {
		ok(t, tx.SetDocuments(ctx, a.ID, []kb.Document{next}))
		return tx.Articles().Delete(ctx, a.ID)
	})
	same(t, "of a deleted article", []kb.Hit(nil), find("neu"))
	fails(t, "documents of no article", w.tryKB(t, func(ctx context.Context, tx kb.Tx) error {
		return tx.SetDocuments(ctx, a.ID, []kb.Document{next})
	}), fault.NotFound)
}

func testSpellings(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error {
		ok(t, tx.AddSpellings(ctx, []string{"invoice", "password", "cat", "東京"}))
		return tx.AddSpellings(ctx, []string{"password", "passport", "Ärger"})
	})
	for word, want := range map[string][]string{
		"pasword": {"password"}, "passwort": {"passport", "password"}, "inovice": {"invoice"}, "invoice": {"invoice"}, "cats": nil, "nothing": nil,
	} {
		got, err := w.inSite().Spellings(t.Context(), search.Variants(word))
		ok(t, err)
		same(t, word, want, got)
	}
	got, err := w.inSite().Spellings(t.Context(), nil)
	ok(t, err)
	if len(got) > 0 {
		t.Errorf("no variants find %q", got)
	}
	var many []string
	for i := range 120 {
		many = append(many, "end"+string(rune('а'+119-i)))
	}
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error { return tx.AddSpellings(ctx, many) })
	got, err = w.inSite().Spellings(t.Context(), []string{"end"})
	ok(t, err)
	slices.Reverse(many)
	same(t, "a hundred of many, in order", many[:100], got)
}

func testExchangeKeys(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	set := func(keys ...kb.ExchangeKey) {
		t.Helper()
		w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error { return tx.SetExchangeKeys(ctx, keys) })
	}
	read := func() []kb.ExchangeKey {
		t.Helper()
		keys, err := w.inSite().ExchangeKeys(t.Context())
		ok(t, err)
		keys = slices.DeleteFunc(keys, func(k kb.ExchangeKey) bool { return k.Kind == kb.FileKey })
		slices.SortFunc(keys, func(a, b kb.ExchangeKey) int {
			return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
		})
		return keys
	}
	set()
	set(kb.ExchangeKey{Kind: kb.ArticleKey, ID: 1, Key: "a"}, kb.ExchangeKey{Kind: kb.ArticleKey, ID: 2, Key: `b\ ' "`}, kb.ExchangeKey{Kind: kb.CategoryKey, ID: 1, Key: "a"})
	same(t, "keys", []kb.ExchangeKey{{Kind: kb.ArticleKey, ID: 1, Key: "a"}, {Kind: kb.ArticleKey, ID: 2, Key: `b\ ' "`}, {Kind: kb.CategoryKey, ID: 1, Key: "a"}}, read())
	set(kb.ExchangeKey{Kind: kb.ArticleKey, ID: 2, Key: "a"}, kb.ExchangeKey{Kind: kb.ArticleKey, ID: 3, Key: "c"})
	same(t, "keys given to others", []kb.ExchangeKey{{Kind: kb.ArticleKey, ID: 2, Key: "a"}, {Kind: kb.ArticleKey, ID: 3, Key: "c"}, {Kind: kb.CategoryKey, ID: 1, Key: "a"}}, read())
}

func testFeedback(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	second := w.addArticle(t, true, newDocument("en", "x", "", ""))
	var want []kb.Feedback
	for i, article := range []int64{w.shelf.article.ID, second.ID, w.shelf.article.ID} {
		f := kb.Feedback{ArticleID: article, Revision: int64(i + 1), Text: `\ ' " ` + w.mark, CreatedAt: at(i)}
		w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error { return tx.Feedback().Insert(ctx, &f) })
		if f.SiteID != w.shelf.site.ID || f.ID == 0 {
			t.Fatalf("%+v", f)
		}
		want = append(want, f)
		one(t, "feedback", f, w.inSite().Feedback().Get, f.ID)
	}
	count := func(article, want int64) {
		t.Helper()
		a, err := w.inSite().LiveArticle(t.Context(), article)
		ok(t, err)
		if a.Article.Feedbacks != want {
			t.Errorf("the article counts %d, not %d", a.Article.Feedbacks, want)
		}
	}
	count(w.shelf.article.ID, 2+w.shelf.article.Feedbacks)
	count(second.ID, 1)
	got, err := w.inSite().Feedback().List(t.Context(), kb.FeedbackFilter{}, storage.Seek{Desc: true, Limit: 2})
	ok(t, err)
	same(t, "the newest", []kb.Feedback{want[2], want[1]}, got)
	got, err = w.inSite().Feedback().List(t.Context(), kb.FeedbackFilter{ArticleID: second.ID}, all())
	ok(t, err)
	same(t, "of an article", []kb.Feedback{want[1]}, got)
	remove := func(ctx context.Context, tx kb.Tx) error { return tx.Feedback().Delete(ctx, want[1].ID) }
	ok(t, w.tryKB(t, remove))
	count(second.ID, 0)
	fails(t, "deleting again", w.tryKB(t, remove), fault.NotFound)
	count(second.ID, 0)

	keys := []kb.RevisionKey{{ArticleID: w.shelf.article.ID, Number: 2}, {ArticleID: second.ID, Number: 1}, {ArticleID: second.ID, Number: 9}, {ArticleID: nobody, Number: 1}}
	revisions, err := w.inSite().RevisionsByKey(t.Context(), keys)
	ok(t, err)
	slices.SortFunc(revisions, func(a, b kb.ArticleRevision) int { return int(a.Article.ID - b.Article.ID) })
	if len(revisions) != 2 || revisions[0].Revision.Number != 2 || revisions[1].Revision.Number != 1 || revisions[1].Article.ID != second.ID {
		t.Errorf("revisions: %+v", revisions)
	}
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error {
		lost := second
		lost.Live = 9
		return tx.Articles().Update(ctx, &lost)
	})
	revisions, err = w.inSite().RevisionsByKey(t.Context(), keys[1:])
	ok(t, err)
	same(t, "revisions of an article without a live one", 1, len(revisions))
	found, err := w.inSite().LiveArticles(t.Context(), kb.ArticleFilter{}, storage.Seek{Desc: true, Limit: 1})
	ok(t, err)
	same(t, "articles with a live one, up to a limit", []int64{w.shelf.article.ID}, ids(found, articleID))
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error { return tx.Articles().Delete(ctx, w.shelf.article.ID) })
	left, err := w.inSite().Feedback().List(t.Context(), kb.FeedbackFilter{ArticleID: w.shelf.article.ID}, all())
	ok(t, err)
	if len(left) > 0 {
		t.Errorf("of a deleted article: %+v", left)
	}
}

// react stores a reaction of a visitor to the live revision.
func (w *world) react(ctx context.Context, visitor string, positive bool) error {
	return w.KB.InTx(ctx, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error {
		return tx.SetReaction(ctx, kb.VisitorReaction{
			ArticleID: w.shelf.article.ID, Revision: 1, Visitor: []byte(visitor), Positive: positive, CreatedAt: at(1),
		})
	})
}

func testReactions(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	counted := func(number, positive, negative int64) {
		t.Helper()
		r, err := w.inSite().Revision(t.Context(), w.shelf.article.ID, number)
		ok(t, err)
		if r.Positive != positive || r.Negative != negative {
			t.Errorf("revision %d counts %d and %d, not %d and %d", number, r.Positive, r.Negative, positive, negative)
		}
	}
	ok(t, w.react(t.Context(), "a", true))
	ok(t, w.react(t.Context(), "a", true))
	counted(1, 1, 0)
	ok(t, w.react(t.Context(), "\x00\xff", false))
	counted(1, 1, 1)
	ok(t, w.react(t.Context(), "a", false))
	counted(1, 0, 2)
	counted(2, 0, 0)
	fails(t, "a reaction to no revision", w.tryKB(t, func(ctx context.Context, tx kb.Tx) error {
		return tx.SetReaction(ctx, kb.VisitorReaction{ArticleID: w.shelf.article.ID, Revision: 9, Visitor: []byte("a"), CreatedAt: at(1)})
	}), fault.NotFound)
}

func testReactionsAtOnce(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	var group sync.WaitGroup
	for i := range 12 {
		group.Go(func() {
			if err := w.react(t.Context(), string(rune('a'+i%4)), i%3 == 0); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	r, err := w.inSite().Revision(t.Context(), w.shelf.article.ID, 1)
	ok(t, err)
	if r.Positive+r.Negative != 4 || r.Positive < 0 || r.Negative < 0 {
		t.Errorf("four visitors count as %d and %d", r.Positive, r.Negative)
	}
}

func readerReads() map[string]readProbeOf[kb.Reader] {
	type r = kb.Reader
	marked := func(v *world) kb.SearchQuery { return looksFor(kb.InTitle, "marked") }
	return map[string]readProbeOf[kb.Reader]{
		"FindArticles": {ofSite, false, func(ctx context.Context, r r, v *world) (any, error) {
			return foundOf(r.FindArticles(ctx, marked(v), all()))(v)
		}},
		"FindPublished": {ofSite, false, func(ctx context.Context, r r, v *world) (any, error) {
			return foundOf(r.FindPublished(ctx, marked(v), all()))(v)
		}},
		"FindPublishedEach": {ofSite, false, func(ctx context.Context, r r, v *world) (any, error) {
			found, err := r.FindPublishedEach(ctx, kb.SearchQuery{Rank: kb.InTitle}, []kb.SearchTerm{{Text: "absent"}, {Text: "marked"}}, 10)
			return foundOf(slices.Concat(found...), err)(v)
		}},
		"Spellings": {ofSite, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.Spellings(ctx, search.Variants("word"+v.mark)))
		}},
		"ExchangeKeys": {ofSite, false, func(ctx context.Context, r r, v *world) (any, error) { return answer(r.ExchangeKeys(ctx)) }},
		"RevisionsByKey": {ofSite, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.RevisionsByKey(ctx, []kb.RevisionKey{{ArticleID: v.shelf.article.ID, Number: 1}}))
		}},
	}
}

// foundOf returns a check whether hits belong to a world.
func foundOf(hits []kb.Hit, err error) func(v *world) (any, error) {
	return func(v *world) (any, error) {
		if slices.ContainsFunc(hits, func(h kb.Hit) bool { return h.ArticleID == v.shelf.article.ID }) {
			return v.mark, err
		}
		return nil, err
	}
}

func readerWrites() map[string]writeProbeOf[kb.Tx] {
	type tx = kb.Tx
	return map[string]writeProbeOf[kb.Tx]{
		"SetDocuments": {level: ofSite, call: func(ctx context.Context, tx tx, v *world) error {
			return tx.SetDocuments(ctx, v.shelf.article.ID, nil)
		}},
		"SetReaction": {level: ofSite, call: func(ctx context.Context, tx tx, v *world) error {
			return tx.SetReaction(ctx, kb.VisitorReaction{ArticleID: v.shelf.article.ID, Revision: 1, Visitor: []byte("v"), CreatedAt: at(1)})
		}},
	}
}

// The knowledge base writes to the same audit log.
func testAuditKnowledge(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	entries := []storage.AuditEntry{w.newAudit()}
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error { return tx.InsertAudit(ctx, entries) })
	got, err := w.in().AuditLog(t.Context(), helpdesk.AuditFilter{}, all())
	ok(t, err)
	same(t, "log", entries, got)
	fails(t, "in no account", b.KB.InTx(t.Context(), kb.Scope{AccountID: nobody}, func(ctx context.Context, tx kb.Tx) error {
		return tx.InsertAudit(ctx, []storage.AuditEntry{w.newAudit()})
	}), fault.NotFound)
}

// spellings are words, some of them similar, and some too short to be misspelled.
var spellings = []string{"paper", "papers", "taper", "pape", "apple", "aplpe", "ample", "привет", "првиет", "2024", "cat", "東京都庁"}

func (g *generator) locale() string { return oneOf(g, []string{"en", "de", "de-AT", "de-CH", "fr"}) }

// documents returns documents in different locales. The first is often the source.
func (g *generator) documents() []kb.Document {
	var all []kb.Document
	for range g.IntN(4) {
		locale := g.locale()
		if slices.ContainsFunc(all, func(d kb.Document) bool { return d.Locale == locale }) {
			continue
		}
		d := newDocument(locale, strings.Join(g.terms(), " "), strings.Join(g.terms(), " "), strings.Join(g.terms(), " "))
		d.Source, d.Published = len(all) == 0 && g.IntN(4) > 0, g.IntN(3) > 0
		all = append(all, d)
	}
	return all
}

func (g *generator) searchQuery(seen library) kb.SearchQuery {
	q := kb.SearchQuery{Rank: kb.Rank(g.IntN(3)), Filter: g.articleFilter(seen)}
	for _, term := range g.query() {
		q.Words = append(q.Words, term.Any())
	}
	for range g.IntN(4) {
		choice := kb.LocaleChoice{Locale: g.locale()}
		if g.IntN(2) == 0 {
			choice = kb.LocaleChoice{Language: choice.Locale[:2]}
		}
		q.Locales = append(q.Locales, choice)
	}
	return q
}

// readReaders generates reads by readers and editors.
func (g *generator) readReaders(seen library, seek storage.Seek) []operation {
	article, revision := g.either("Article", articleID(oneOf(g, seen.Articles))), oneOf(g, seen.Revisions)
	hits := storage.Seek{Desc: seek.Desc, Limit: seek.Limit}
	if h := oneOf(g, seen.Hits); h.ID != 0 && g.IntN(2) == 0 {
		hits.From = &storage.Position{ID: h.ID}
	}
	var filter kb.FeedbackFilter
	if g.IntN(2) == 0 {
		filter.ArticleID = article.n
	}
	many := kb.SearchQuery{Rank: kb.Rank(g.IntN(3)), Words: [][]kb.SearchTerm{beginnings}}
	keys := []kb.RevisionKey{{ArticleID: revision.ArticleID, Number: revision.Number}, {ArticleID: article.n, Number: int64(1 + g.IntN(3))}}
	return []operation{
		{method: "FindArticles", args: []any{g.searchQuery(seen), ordered{hits, "Hit"}}},
		{method: "FindArticles", args: []any{many, ordered{hits, "Hit"}}},
		{method: "FindPublished", args: []any{g.searchQuery(seen), ordered{hits, "Hit"}}},
		{method: "FindPublishedEach", args: []any{many, beginnings, g.IntN(4)}},
		{method: "Spellings", args: []any{search.Variants(oneOf(g, spellings))}},
		{method: "Feedback.Get", args: []any{g.either("Feedback", oneOf(g, seen.Feedback).ID)}},
		{method: "Feedback.List", args: []any{filter, ordered{g.from(seek, "Feedback"), "Feedback"}}},
		{method: "RevisionsByKey", args: []any{keys[:g.IntN(3)]}},
	}
}

// writeReaders generates writes of search documents, reactions and feedback.
func (g *generator) writeReaders(seen library) operation {
	article, revision := g.either("Article", articleID(oneOf(g, seen.Articles))), oneOf(g, seen.Revisions)
	switch g.IntN(12) {
	default:
		return operation{method: "SetDocuments", args: []any{article, g.documents()}}
	case 0:
		return oneOf(g, g.readReaders(library{}, all())) // as seen by the transaction itself
	case 1:
		return operation{method: "AddSpellings", args: []any{[]string{oneOf(g, spellings), oneOf(g, spellings)}}}
	case 2, 3:
		f := kb.Feedback{ArticleID: article.n, Revision: int64(1 + g.IntN(3)), Text: g.text(), CreatedAt: g.time(false)}
		return operation{method: "Feedback.Insert", args: []any{[]*kb.Feedback{&f}}}
	case 4:
		return operation{method: "Feedback.Delete", args: []any{g.either("Feedback", oneOf(g, seen.Feedback).ID)}}
	case 5, 6, 7:
		if g.IntN(2) == 0 && revision.Number != 0 { // a revision that others react to
			revision = seen.Revisions[0]
		}
		r := kb.VisitorReaction{ArticleID: g.either("Article", revision.ArticleID).n, Revision: revision.Number,
			Visitor: []byte(oneOf(g, []string{"v", "w", "\x00\xff"})), Positive: g.IntN(2) == 0, CreatedAt: g.time(false)}
		return operation{method: "SetReaction", args: []any{r}}
	}
}
