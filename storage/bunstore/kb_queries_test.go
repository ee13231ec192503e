package bunstore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/exchange"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/memblob"
)

// operator opens a new site of a new account.
func operator(t *testing.T, db *bunstore.DB) (*kb.Service, *kb.Editor) {
	t.Helper()
	account := identity.Account{Name: "A", DefaultLocale: "en"}
	err := db.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error { return tx.InsertAccount(ctx, &account) })
	if err != nil {
		t.Fatal(err)
	}
	site := kb.Site{Name: "Help", HostKey: kb.SharedHost, Path: "help", Visibility: kb.Public}
	err = db.KB().InTx(t.Context(), kb.Scope{AccountID: account.ID}, func(ctx context.Context, tx kb.Tx) error { return tx.Sites().Insert(ctx, &site) })
	if err != nil {
		t.Fatal(err)
	}
	service, err := kb.New(kb.Config{
		Store: db.KB(), Blobs: memblob.New(),
		Membership: func(context.Context, kb.Caller, int64) (kb.Membership, error) { return kb.Membership{}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	editor, err := service.Operator(t.Context(), site.ID)
	if err != nil {
		t.Fatal(err)
	}
	return service, editor
}

// An export needs no more queries for many articles with drafts than for one.
func TestExportQueries(t *testing.T) {
	t.Parallel()
	eachEmbedded(t, func(t *testing.T, app *bun.DB, _ *bunstore.DB) {
		seen := &recorder{}
		service, editor := operator(t, bunstore.New(app.WithQueryHook(seen), bunstore.Config{}))
		text := func(title string) kb.TextInput {
			in := kb.TranslationInput{Title: storage.Some(title), Markdown: storage.Some(title)}
			return kb.TextInput{SourceLocale: "en", Translations: map[string]storage.Opt[kb.TranslationInput]{"en": storage.Some(in)}}
		}
		shelf := text("Shelf")
		shelf.Translations["en"] = storage.Some(kb.TranslationInput{Title: storage.Some("Shelf")})
		collection, err := editor.CreateCollection(t.Context(), kb.CollectionInput{TextInput: shelf})
		if err != nil {
			t.Fatal(err)
		}
		made := 0
		grow := func(n int) {
			t.Helper()
			for ; made < n; made++ {
				a, err := editor.CreateArticle(t.Context(), kb.ArticleInput{CollectionID: collection.ID, TextInput: text(fmt.Sprint("live ", made))})
				if err == nil {
					_, err = editor.UpdateDraft(t.Context(), a.Article.ID, kb.ArticleInput{CollectionID: collection.ID, TextInput: text(fmt.Sprint("draft ", made))})
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		export := func() int {
			t.Helper()
			x := exchange.Exchange{Service: service, Editor: editor}
			if _, err := x.Export(t.Context()); err != nil { // assigns keys
				t.Fatal(err)
			}
			seen.take()
			site, err := x.Export(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range site.Collections[0].Articles {
				if a.Draft == nil || a.Draft.Texts["en"].Title != "draft "+a.Live.Texts["en"].Title[len("live "):] {
					t.Errorf("%s has the draft %+v", a.Key, a.Draft)
				}
			}
			if got := len(site.Collections[0].Articles); got != made {
				t.Errorf("%d articles, not %d", got, made)
			}
			return len(seen.take())
		}
		grow(1)
		one := export()
		grow(40)
		if many := export(); many != one {
			t.Errorf("%d queries for %d articles, %d for one", many, made, one)
		}
	})
}
