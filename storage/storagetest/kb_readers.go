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
		{"SearchLimits", testArticleSearchLimits},
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
	d := kb.Document{Locale: locale, Language: language, Published: true}
	known := map[string]bool{}
	for rank, text := range []string{title, summary, content} {
		for _, term := range search.Terms(text) {
			if !known[term] {
				d.Terms = append(d.Terms, kb.WeightedTerm{Term: term, Rank: kb.Rank(rank), Weight: int64(900 - 100*rank - 10*len(title))})
				known[term] = true
			}
		}
	}
	slices.SortFunc(d.Terms, func(a, b kb.WeightedTerm) int { return cmp.Compare(a.Term, b.Term) })
	return d
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

// termsOf returns terms to search for; one that ends with a star is a prefix.
func termsOf(words ...string) (terms []kb.SearchTerm) {
	for _, w := range words {
		text, prefix := strings.CutSuffix(w, "*")
		terms = append(terms, kb.SearchTerm{Text: text, Prefix: prefix})
	}
	return terms
}

// found returns the articles of postings, in their order.
func (w *world) found(t *testing.T, postings []kb.Posting) (articles []int64) {
	t.Helper()
	var documents []int64
	for _, p := range postings {
		documents = append(documents, p.DocumentID)
	}
	hits, err := w.inSite().FindDocuments(t.Context(), kb.DocumentQuery{IDs: documents, Locales: []kb.LocaleChoice{{Locale: "en"}, {Language: "en"}}})
	ok(t, err)
	for _, id := range documents {
		if i := slices.IndexFunc(hits, func(h kb.Hit) bool { return h.ID == id }); i >= 0 {
			articles = append(articles, hits[i].ArticleID)
		}
	}
	return articles
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
	orphan, category, collection := uncategorised.ID, w.shelf.category.ID, w.shelf.collection.ID
	type filter = kb.ArticleFilter
	for name, test := range map[string]struct {
		word      string
		last      kb.Rank
		filter    filter
		all, open []int64
	}{
		"in the title":             {"password", kb.InTitle, filter{}, []int64{password, hidden}, []int64{password}},
		"in the summary":           {"password", kb.InSummary, filter{}, []int64{password, hidden, login}, []int64{password, login}},
		"anywhere":                 {"password", kb.InContent, filter{}, []int64{password, hidden, login, colours}, []int64{password, login, colours}},
		"a beginning":              {"pass*", kb.InTitle, filter{}, []int64{password, hidden}, []int64{password}},
		"a beginning of one":       {"p*", kb.InTitle, filter{}, []int64{password, hidden}, []int64{password}},
		"two words of one article": {"re*", kb.InContent, filter{}, []int64{password, colours}, []int64{password, colours}},
		"a beginning as a word":    {"pass", kb.InContent, filter{}, nil, nil},
		"without spaces":           {"東京", kb.InContent, filter{}, []int64{colours}, []int64{colours}},
		"nothing":                  {"nothing", kb.InContent, filter{}, nil, nil},
		"a pattern":                {"passw%", kb.InContent, filter{}, nil, nil},
		"quotes":                   {`it's" \`, kb.InContent, filter{}, nil, nil},
		"in an article":            {"password", kb.InTitle, filter{IDs: []int64{hidden}}, []int64{hidden}, nil},
		"in no article":            {"password", kb.InTitle, filter{IDs: []int64{}}, nil, nil},
		"in the collection":        {"password", kb.InContent, filter{CollectionID: collection, IDs: []int64{login, nobody}}, []int64{login}, []int64{login}},
		"in a collection of none":  {"password", kb.InContent, filter{CollectionID: nobody, IDs: []int64{login}}, nil, nil},
		"in a category":            {"password", kb.InTitle, filter{CategoryID: category}, []int64{password, hidden}, []int64{password}},
		"in a category of none":    {"password", kb.InTitle, filter{CategoryID: nobody}, nil, nil},
		"in no category":           {"orphan", kb.InTitle, filter{CategoryID: category}, nil, nil},
		"without a category":       {"orphan", kb.InTitle, filter{}, []int64{orphan}, []int64{orphan}},
		"loose":                    {"o*", kb.InTitle, filter{Loose: true}, []int64{orphan}, []int64{orphan}},
		"in all at once":           {"password", kb.InTitle, filter{CollectionID: collection, IDs: []int64{hidden}, CategoryID: category}, []int64{hidden}, nil},
	} {
		q := kb.PostingQuery{Terms: termsOf("absent", test.word), Last: test.last, Filter: test.filter, Limit: 10}
		found, err := w.inSite().Postings(t.Context(), q)
		ok(t, err)
		same(t, name+", of the first term", 0, len(found[0]))
		same(t, name, test.all, w.found(t, found[1]))
		found, err = w.inSite().PublishedPostings(t.Context(), q)
		ok(t, err)
		same(t, name+", published", test.open, w.found(t, found[1]))
	}
	q := kb.PostingQuery{Terms: termsOf("password"), Last: kb.InContent, Limit: 10}
	found, err := w.inSite().Postings(t.Context(), q)
	ok(t, err)
	var documents []int64
	for _, p := range found[0] {
		documents = append(documents, p.DocumentID)
	}
	among, err := w.inSite().PostingsAmong(t.Context(), documents[:2], termsOf("password", "bl*", "blue", "orphan", "pass"))
	ok(t, err)
	same(t, "terms of two articles", "blue password blue password", fmt.Sprint(among[0].Term, " ", among[1].Term, " ", among[2].Term, " ", among[3].Term))
	published, each, err := w.inSite().Frequencies(t.Context(), []string{"password", "absent", "pass"}, 100)
	ok(t, err)
	same(t, "how many are published", true, published >= 4)
	same(t, "how many have a word", []int64{3, 0, 0}, each)
	_, each, err = w.inSite().Frequencies(t.Context(), []string{"password"}, 2)
	ok(t, err)
	same(t, "to the limit", []int64{2}, each)
	hits, err := w.inSite().FindDocuments(t.Context(), kb.DocumentQuery{Articles: []int64{hidden, login, nobody}})
	ok(t, err)
	same(t, "published documents of articles", []int64{login}, ids(hits, func(h kb.Hit) int64 { return h.ArticleID }))
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
	found, err := w.inSite().PublishedPostings(t.Context(), kb.PostingQuery{Terms: termsOf("word"), Limit: 10})
	ok(t, err)
	documents := ids(found[0], func(p kb.Posting) int64 { return p.DocumentID })
	same(t, "documents", 6, len(documents))
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
		for by, q := range map[string]kb.DocumentQuery{"documents": {IDs: documents}, "articles": {Articles: []int64{english, both, swiss}}} {
			q.Locales = test.locales
			hits, err := w.inSite().FindDocuments(t.Context(), q)
			ok(t, err)
			slices.SortFunc(hits, func(a, b kb.Hit) int { return int(a.ArticleID - b.ArticleID) })
			for i := range hits {
				hits[i].ID = 0
			}
			same(t, name+", by "+by, test.want, hits)
		}
	}
}

// Of many documents with a term, those that are most about it are found.
func testArticleSearchLimits(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	for i := range 7 {
		d := newDocument("en", "word", "", "")
		d.Terms[0].Weight = int64([]int{5, 1, 9, 5, 7, 2, 3}[i])
		d.Terms = append(d.Terms, kb.WeightedTerm{Term: "work", Rank: kb.InContent, Weight: 1})
		w.addArticle(t, i != 4, d)
	}
	read := func(limit int, published bool, words ...string) (weights []int64) {
		q := kb.PostingQuery{Terms: termsOf(words...), Last: kb.InContent, Limit: limit}
		read := w.inSite().Postings
		if published {
			read = w.inSite().PublishedPostings
		}
		found, err := read(t.Context(), q)
		ok(t, err)
		same(t, "lists", len(words), len(found))
		for _, list := range found {
			weights = append(weights, ids(list, func(p kb.Posting) int64 { return p.Weight })...)
		}
		return weights
	}
	same(t, "the best three", []int64{9, 7, 5}, read(3, false, "word"))
	same(t, "the best three that are published", []int64{9, 5, 5}, read(3, true, "word"))
	same(t, "of each rank", []int64{9, 5, 1, 1}, read(2, true, "wor*"))
	same(t, "none", []int64{}, append([]int64{}, read(0, true, "word")...))
	var many []string
	for i := range 90 { // more than one statement has
		many = append(many, fmt.Sprint("x", i))
	}
	same(t, "the last of many words", []int64{9}, read(1, false, append(many, "word")...))
}

func testDocuments(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	a := w.addArticle(t, true, newDocument("en", "old", "", ""), newDocument("de", "alt", "", ""))
	find := func(word string) []kb.Hit {
		t.Helper()
		found, err := w.inSite().PublishedPostings(t.Context(), kb.PostingQuery{Terms: termsOf(word), Limit: 10})
		ok(t, err)
		documents := ids(found[0], func(p kb.Posting) int64 { return p.DocumentID })
		hits, err := w.inSite().FindDocuments(t.Context(), kb.DocumentQuery{IDs: documents, Locales: []kb.LocaleChoice{{Locale: "de"}, {Locale: "en"}}})
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
		"pasword": {"passport", "password"}, "passwort": {"passport", "password"}, "inovice": {"invoice"}, "invoice": {"invoice"}, "cats": nil, "nothing": nil,
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
	for i := range 520 {
		many = append(many, "end"+string(rune('а'+519-i)))
	}
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error { return tx.AddSpellings(ctx, many) })
	got, err = w.inSite().Spellings(t.Context(), []string{"end"})
	ok(t, err)
	slices.Reverse(many)
	same(t, "five hundred of many, in order", many[:500], got)
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
	want[0].DoneAt = at(9)
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error { return tx.Feedback().Update(ctx, &want[0]) })
	for done, of := range map[bool][]kb.Feedback{true: {w.shelf.feedback, want[0]}, false: want[1:]} {
		got, err = w.inSite().Feedback().List(t.Context(), kb.FeedbackFilter{Done: storage.Some(done)}, all())
		ok(t, err)
		same(t, fmt.Sprint("done ", done), of, got)
	}
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
	marked := kb.PostingQuery{Terms: termsOf("marked"), Limit: 10}
	return map[string]readProbeOf[kb.Reader]{
		"Postings": {ofSite, false, func(ctx context.Context, r r, v *world) (any, error) {
			return foundOf(r.Postings(ctx, marked))(v)
		}},
		"PublishedPostings": {ofSite, false, func(ctx context.Context, r r, v *world) (any, error) {
			return foundOf(r.PublishedPostings(ctx, marked))(v)
		}},
		"PostingsAmong": {ofSite, false, func(ctx context.Context, r r, v *world) (any, error) {
			found, err := r.PostingsAmong(ctx, []int64{v.shelf.document}, termsOf("marked"))
			return foundOf([][]kb.Posting{found}, err)(v)
		}},
		"Frequencies": {ofSite, false, func(ctx context.Context, r r, v *world) (any, error) {
			n, each, err := r.Frequencies(ctx, []string{"x" + v.mark}, 10)
			if n == 0 || each[0] == 0 {
				return nil, err
			}
			return v.mark, err
		}},
		"FindDocuments": {ofSite, false, func(ctx context.Context, r r, v *world) (any, error) {
			hits, err := r.FindDocuments(ctx, kb.DocumentQuery{IDs: []int64{v.shelf.document}})
			return answer(hits, err)
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

// foundOf returns a check whether postings belong to a world.
func foundOf(found [][]kb.Posting, err error) func(v *world) (any, error) {
	return func(v *world) (any, error) {
		if slices.ContainsFunc(slices.Concat(found...), func(p kb.Posting) bool { return p.DocumentID == v.shelf.document }) {
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

func (g *generator) postingQuery(seen library) kb.PostingQuery {
	return kb.PostingQuery{Terms: g.searchTerms(), Last: kb.Rank(g.IntN(3)), Filter: g.articleFilter(seen), Limit: g.IntN(4)}
}

func (g *generator) searchTerms() (all []kb.SearchTerm) {
	for _, t := range g.query() {
		all = append(all, t.Any()...)
	}
	return all
}

func (g *generator) locales() (all []kb.LocaleChoice) {
	for range g.IntN(4) {
		choice := kb.LocaleChoice{Locale: g.locale()}
		if g.IntN(2) == 0 {
			choice = kb.LocaleChoice{Language: choice.Locale[:2]}
		}
		all = append(all, choice)
	}
	return all
}

// readReaders generates reads by readers and editors.
func (g *generator) readReaders(seen library, seek storage.Seek) []operation {
	article, revision := g.either("Article", articleID(oneOf(g, seen.Articles))), oneOf(g, seen.Revisions)
	var filter kb.FeedbackFilter
	if g.IntN(2) == 0 {
		filter.ArticleID = article.n
	}
	if g.IntN(2) == 0 {
		filter.Done = storage.Some(g.IntN(2) == 0)
	}
	keys := []kb.RevisionKey{{ArticleID: revision.ArticleID, Number: revision.Number}, {ArticleID: article.n, Number: int64(1 + g.IntN(3))}}
	return []operation{
		{method: "Postings", args: []any{g.postingQuery(seen)}},
		{method: "PublishedPostings", args: []any{g.postingQuery(seen)}},
		{method: "PublishedPostings", args: []any{kb.PostingQuery{Terms: beginnings, Last: kb.InContent, Limit: 10}}},
		{method: "PostingsAmong", args: []any{idList{"Document", []int64{oneOf(g, seen.Postings).DocumentID, oneOf(g, seen.Postings).DocumentID}}, g.searchTerms()}},
		{method: "Frequencies", args: []any{[]string{"apple", oneOf(g, spellings)}, g.IntN(4)}},
		{method: "FindDocuments", args: []any{kb.DocumentQuery{IDs: []int64{oneOf(g, seen.Postings).DocumentID, oneOf(g, seen.Postings).DocumentID}, Locales: g.locales()}}},
		{method: "FindDocuments", args: []any{kb.DocumentQuery{Articles: []int64{articleID(oneOf(g, seen.Articles))}, Locales: g.locales()}}},
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
		f := kb.Feedback{ArticleID: article.n, Revision: int64(1 + g.IntN(3)), Text: g.text(), DoneAt: g.time(true), CreatedAt: g.time(false)}
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
