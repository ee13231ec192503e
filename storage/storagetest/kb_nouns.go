package storagetest

import (
	"context"
	"fmt"
	"testing"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

// inLibrary describes how to test the rows of a site.
func inLibrary() domain[kb.Reader, kb.Tx] {
	return domain[kb.Reader, kb.Tx]{
		open: newLibrary,
		begin: func(w *world, ctx context.Context, fn func(ctx context.Context, tx kb.Tx) error) error {
			return w.KB.InTx(ctx, w.shelf.scope, fn)
		},
		in:      (*world).inSite,
		content: func(w *world, t *testing.T) any { return w.library(t) },
		move:    func(w *world, account int64) { w.shelf.scope.AccountID = account },
	}
}

func ofKB[T, F any](method string, n noun[kb.Reader, kb.Tx, T, F]) tester[kb.Reader, kb.Tx] {
	n.method, n.domain = method, inLibrary()
	return n
}

// ofSites is ofKB for sites themselves, all of which a scope without a site includes.
func ofSites(n noun[kb.Reader, kb.Tx, kb.Site, storage.NoFilter]) tester[kb.Reader, kb.Tx] {
	n.method, n.domain = "Sites", inLibrary()
	n.begin = func(w *world, ctx context.Context, fn func(ctx context.Context, tx kb.Tx) error) error {
		return w.KB.InTx(ctx, kb.Scope{AccountID: w.shelf.scope.AccountID}, fn)
	}
	n.in = func(w *world) kb.Reader { return w.KB.Within(kb.Scope{AccountID: w.account.ID}) }
	return n
}

// kbNouns returns the nouns of the knowledge base.
func kbNouns() []tester[kb.Reader, kb.Tx] {
	type (
		reader = kb.Reader
		tx     = kb.Tx
	)
	declared := kb.Nouns()
	place := func(order kb.SortOrder, id int64) storage.Position {
		return storage.Position{Key: int64(order), ID: id}
	}
	return []tester[reader, tx]{
		ofKB("Articles", noun[reader, tx, kb.Article, kb.ArticleFilter]{
			Noun: declared.Articles, read: reader.Articles, write: tx.Articles, refers: true, lacks: []string{"Views"},
			held:  func(w *world) kb.Article { return w.shelf.article },
			fresh: func(w *world, n int) kb.Article { return w.newArticle(kb.SortOrder(n)) },
			list:  func(*world) kb.ArticleFilter { return kb.ArticleFilter{} },
			place: func(a kb.Article) storage.Position { return place(a.SortOrder, a.ID) },
		}),
		ofKB("Categories", noun[reader, tx, kb.Category, kb.CategoryFilter]{
			Noun: declared.Categories, read: reader.Categories, write: tx.Categories, refers: true, lacks: []string{"Counters"},
			held:  func(w *world) kb.Category { return w.shelf.category },
			fresh: func(w *world, n int) kb.Category { return w.newCategory(kb.SortOrder(n)) },
			list:  func(*world) kb.CategoryFilter { return kb.CategoryFilter{} },
			place: func(c kb.Category) storage.Position { return place(c.SortOrder, c.ID) },
		}),
		ofKB("Collections", noun[reader, tx, kb.Collection, storage.NoFilter]{
			Noun: declared.Collections, read: reader.Collections, write: tx.Collections, list: everything, lacks: []string{"Counters"},
			held:  func(w *world) kb.Collection { return w.shelf.collection },
			fresh: func(w *world, n int) kb.Collection { return w.newCollection(kb.SortOrder(n)) },
			place: func(c kb.Collection) storage.Position { return place(c.SortOrder, c.ID) },
		}),
		ofKB("Feedback", noun[reader, tx, kb.Feedback, kb.FeedbackFilter]{
			Noun: declared.Feedback, read: reader.Feedback, write: tx.Feedback, refers: true,
			held:  func(w *world) kb.Feedback { return w.shelf.feedback },
			fresh: func(w *world, _ int) kb.Feedback { return w.newFeedback() },
			list:  func(*world) kb.FeedbackFilter { return kb.FeedbackFilter{} },
		}),
		ofKB("Files", noun[reader, tx, kb.File, storage.NoFilter]{
			Noun: declared.Files, read: reader.Files, write: tx.Files, list: everything,
			held:  func(w *world) kb.File { return w.shelf.file },
			fresh: func(w *world, n int) kb.File { return w.newFile(fmt.Sprint("fresh", n)) },
		}),
		ofSites(noun[reader, tx, kb.Site, storage.NoFilter]{
			Noun: declared.Sites, read: reader.Sites, write: tx.Sites, list: everything, variable: true,
			held:  func(w *world) kb.Site { return w.shelf.site },
			fresh: func(w *world, n int) kb.Site { return w.newSite(fmt.Sprint("fresh", n)) },
			fixed: []string{"DefaultLocale", "Languages"},
		}),
		ofKB("Themes", noun[reader, tx, kb.Theme, storage.NoFilter]{
			Noun: declared.Themes, read: reader.Themes, write: tx.Themes, list: everything, variable: true, lacks: []string{"UpdateAvailable"},
			held:  func(w *world) kb.Theme { return w.shelf.theme },
			fresh: func(w *world, n int) kb.Theme { return w.newTheme(fmt.Sprint("fresh", n)) },
		}),
		ofKB("ThemeFiles", noun[reader, tx, kb.ThemeFile, kb.ThemeFileFilter]{
			Noun: declared.ThemeFiles, read: reader.ThemeFiles, write: tx.ThemeFiles, refers: true,
			held:  func(w *world) kb.ThemeFile { return w.shelf.themeFile },
			fresh: func(w *world, n int) kb.ThemeFile { return w.newThemeFile(fmt.Sprint("fresh", n)) },
			list:  func(w *world) kb.ThemeFileFilter { return kb.ThemeFileFilter{ThemeID: w.shelf.theme.ID} },
		}),
	}
}
