package storagetest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/search"
)

// shelf is the part of a world in the knowledge base.
type shelf struct {
	scope kb.Scope
	site  kb.Site // has all of the following
	bare  kb.Site // has nothing
	decor

	collection kb.Collection
	category   kb.Category
	article    kb.Article
	live       kb.Revision
	draft      kb.Revision
	document   int64 // of the article
	feedback   kb.Feedback
}

// newLibrary is newAccount with a knowledge base.
func newLibrary(t *testing.T, b Backend) *world {
	t.Helper()
	if b.KB == nil {
		lacks(t, "the backend has no knowledge base")
	}
	w := newAccount(t, b)
	s := &w.shelf
	w.kb(t, kb.Scope{AccountID: w.account.ID}, func(ctx context.Context, tx kb.Tx) error {
		s.site, s.bare = w.newSite("first"), w.newSite("second")
		return tx.Sites().Insert(ctx, &s.site, &s.bare)
	})
	s.scope = kb.Scope{AccountID: w.account.ID, SiteID: s.site.ID}
	w.kb(t, s.scope, func(ctx context.Context, tx kb.Tx) error {
		s.collection = w.newCollection(1)
		if err := tx.Collections().Insert(ctx, &s.collection); err != nil {
			return err
		}
		s.category = w.newCategory(2)
		if err := tx.Categories().Insert(ctx, &s.category); err != nil {
			return err
		}
		s.article = w.newArticle(3)
		if err := tx.Articles().Insert(ctx, &s.article); err != nil {
			return err
		}
		s.live, s.draft = w.newRevision(s.article, 1), w.newRevision(s.article, 2)
		if err := tx.InsertRevision(ctx, &s.live); err != nil {
			return err
		}
		if err := tx.InsertRevision(ctx, &s.draft); err != nil {
			return err
		}
		found := newDocument("pt-BR", "marked x"+w.mark, "", "") // the random mark may begin like a word of a test
		found.Source, found.Locale = true, "pt-x-"+w.mark
		if err := tx.SetDocuments(ctx, s.article.ID, []kb.Document{found}); err != nil {
			return err
		}
		if err := tx.AddSpellings(ctx, []string{"word" + w.mark}); err != nil {
			return err
		}
		if err := tx.SetExchangeKeys(ctx, []kb.ExchangeKey{{Kind: kb.FileKey, ID: 1, Key: "key-" + w.mark}}); err != nil {
			return err
		}
		s.feedback = w.newFeedback()
		s.article.Feedbacks = 1
		return tx.Feedback().Insert(ctx, &s.feedback)
	})
	hits, err := w.inSite().FindDocuments(t.Context(), kb.DocumentQuery{Articles: []int64{s.article.ID}})
	ok(t, err)
	s.document = hits[0].ID
	w.decorate(t)
	return w
}

func (w *world) newText() kb.Text {
	return kb.Text{SourceLocale: "pt-BR", Translations: []kb.Translation{
		{Locale: "de", Number: 2, Title: "Übung " + w.mark, UpdatedAt: at(3), SourceAt: at(2),
			MadeFrom: kb.SourceText{Title: `\ ' "` + w.mark, Summary: "before", Content: "<p>&</p>", Markdown: "& \\u0000"}},
		{Locale: "pt-BR", Number: 1, Title: "Ação " + w.mark, Summary: `\ ' "`, Content: "<p>\\u0000 & " + w.mark + "</p>", Markdown: "& " + w.mark, UpdatedAt: at(2)},
	}}
}

func (w *world) newCollection(order kb.SortOrder) kb.Collection {
	return kb.Collection{SiteID: w.shelf.site.ID, SortOrder: order, Icon: "key", Text: w.newText(), CreatedAt: base, UpdatedAt: at(1)}
}

func (w *world) newCategory(order kb.SortOrder) kb.Category {
	return kb.Category{SiteID: w.shelf.site.ID, CollectionID: w.shelf.collection.ID, SortOrder: order, Text: w.newText(), CreatedAt: base, UpdatedAt: at(1)}
}

func (w *world) newArticle(order kb.SortOrder) kb.Article {
	return kb.Article{SiteID: w.shelf.site.ID, Live: 1, Draft: 2, LastRevision: 2, Outdated: 1, Published: true, CollectionID: w.shelf.collection.ID,
		CategoryIDs: []int64{w.shelf.category.ID}, SortOrder: order, ChangedAt: at(5), CreatedAt: base, UpdatedAt: at(1)}
}

func (w *world) newRevision(a kb.Article, number int64) kb.Revision {
	return kb.Revision{ArticleID: a.ID, Number: number, Status: kb.Published, CollectionID: a.CollectionID, CategoryIDs: a.CategoryIDs,
		SortOrder: a.SortOrder, Text: w.newText(), CreatedAt: at(4), UpdatedAt: at(5)}
}

func (w *world) newFeedback() kb.Feedback {
	return kb.Feedback{SiteID: w.shelf.site.ID, ArticleID: w.shelf.article.ID, Revision: 1, Text: "feedback " + w.mark, DoneAt: at(7), CreatedAt: at(6)}
}

// newSite returns a site with a host of its own.
func (w *world) newSite(path string) kb.Site {
	host := "help." + w.mark + ".example"
	return kb.Site{
		AccountID: w.account.ID, MailboxID: w.mailbox.ID, Name: "Site " + w.mark, Path: path, Subdomain: "s" + w.mark,
		CustomDomain: host, HostKey: host, HTMLHead: "<!-- " + w.mark + ` \' -->`, Visibility: kb.Private, CreatedAt: base, UpdatedAt: at(1),
		Look: kb.Look{Accent: "#016770", LogoID: 7, HidePopular: true, Texts: map[string]kb.LookText{
			"en": {Title: w.mark + ` \' "<`, Searches: []string{"a", "b"}, FooterLinks: []kb.Link{{Name: "Terms", URL: "https://example.com/"}}},
		}},
		Search:        kb.SearchSettings{Synonyms: [][]string{{"invoice", w.mark}}, Pins: []kb.Pin{{Query: "a b", Articles: []int64{7, 8}}}},
		DefaultLocale: w.account.DefaultLocale, Languages: w.account.Languages,
	}
}

// kbFunc is the body of a transaction.
type kbFunc = func(ctx context.Context, tx kb.Tx) error

// kb runs a transaction that must succeed.
func (w *world) kb(t *testing.T, scope kb.Scope, fn kbFunc) {
	t.Helper()
	ok(t, w.KB.InTx(t.Context(), scope, fn))
}

// tryKB runs a transaction in the first site and returns its error.
func (w *world) tryKB(t *testing.T, fn kbFunc) error {
	t.Helper()
	return w.KB.InTx(t.Context(), w.shelf.scope, fn)
}

// inSite reads the first site.
func (w *world) inSite() kb.Reader { return w.KB.Within(w.shelf.scope) }

// library is everything that a scope of the knowledge base can read.
type library struct {
	Sites       []kb.Site
	Collections []kb.Collection
	Categories  []kb.Category
	Articles    []kb.ArticleRevision
	Published   []kb.ArticleRevision
	Revisions   []kb.Revision
	Feedback    []kb.Feedback
	Postings    []kb.Posting
	Spellings   []string
	Files       []kb.File
	Themes      []kb.Theme
	ThemeFiles  []kb.ThemeFile
}

// library reads the sites of the account, and everything in the first one.
func (w *world) library(t *testing.T) []library {
	t.Helper()
	var all []library
	for _, scope := range []kb.Scope{{AccountID: w.account.ID}, w.shelf.scope} {
		l, err := readLibrary(t.Context(), w.KB.Within(scope))
		ok(t, err)
		all = append(all, l)
	}
	return all
}

// readLibrary reads everything in r.
func readLibrary(ctx context.Context, r kb.Reader) (l library, err error) {
	note := func(what string, e error) {
		if e != nil && err == nil {
			err = fmt.Errorf("%s: %w", what, e)
		}
	}
	var e error
	l.Sites, e = r.Sites().List(ctx, storage.NoFilter{}, all())
	note("Sites", e)
	l.Files, e = r.Files().List(ctx, storage.NoFilter{}, all())
	note("Files", e)
	l.Themes, e = r.Themes().List(ctx, storage.NoFilter{}, all())
	note("Themes", e)
	for _, t := range l.Themes {
		files, e := r.ThemeFiles().List(ctx, kb.ThemeFileFilter{ThemeID: t.ID}, all())
		l.ThemeFiles = append(l.ThemeFiles, files...)
		note("ThemeFiles", e)
	}
	l.Collections, e = r.Collections().List(ctx, storage.NoFilter{}, all())
	note("Collections", e)
	l.Categories, e = r.Categories().List(ctx, kb.CategoryFilter{}, all())
	note("Categories", e)
	l.Articles, e = r.LiveArticles(ctx, kb.ArticleFilter{}, all())
	note("LiveArticles", e)
	l.Published, e = r.PublishedArticles(ctx, kb.ArticleFilter{}, all())
	note("PublishedArticles", e)
	for _, a := range l.Articles {
		revisions, e := r.Revisions(ctx, a.Article.ID, all())
		note("Revisions", e)
		l.Revisions = append(l.Revisions, revisions...)
	}
	l.Feedback, e = r.Feedback().List(ctx, kb.FeedbackFilter{}, all())
	note("Feedbacks", e)
	found, e := r.Postings(ctx, kb.PostingQuery{Terms: beginnings, Last: kb.InContent, Limit: 1000})
	note("Postings", e)
	l.Postings = slices.Concat(found...)
	var variants []string
	for _, w := range spellings {
		variants = append(variants, search.Variants(w)...)
	}
	l.Spellings, e = r.Spellings(ctx, variants)
	note("Spellings", e)
	return l, err
}

// beginnings are prefixes of the terms of all documents.
var beginnings = []kb.SearchTerm{
	{Text: "a", Prefix: true}, {Text: "b", Prefix: true}, {Text: "m", Prefix: true}, {Text: "東", Prefix: true}, {Text: "京", Prefix: true},
	{Text: "ж", Prefix: true}, {Text: "1", Prefix: true},
}
