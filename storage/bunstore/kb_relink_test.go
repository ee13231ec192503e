package bunstore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage/bunstore"
)

// The migration turns addresses that earlier imports left in articles into references, in all revisions, and changes nothing
// else.
func TestMigrateRelinks(t *testing.T) {
	t.Parallel()
	eachEmbedded(t, func(t *testing.T, app *bun.DB, db *bunstore.DB) {
		account, err := newAccount(t.Context(), db, "old")
		if err != nil {
			t.Fatal(err)
		}
		site := kb.Site{Name: "Help", HostKey: "help.acme.example", CustomDomain: "help.acme.example", Path: "docs", Visibility: kb.Public}
		scope := kb.Scope{AccountID: account.ID}
		if err := db.KB().InTx(t.Context(), scope, func(ctx context.Context, tx kb.Tx) error { return tx.Sites().Insert(ctx, &site) }); err != nil {
			t.Fatal(err)
		}
		scope.SiteID = site.ID
		f := kb.File{Filename: "a.png", URLKey: "abcdefgh2345", BlobKey: "x"}
		a := kb.Article{SiteID: site.ID, Live: 2, LastRevision: 2, CollectionID: 1}
		var revisions []kb.Revision
		err = db.KB().InTx(t.Context(), scope, func(ctx context.Context, tx kb.Tx) error {
			revisions = nil
			if err := tx.Files().Insert(ctx, &f); err != nil {
				return err
			}
			c := kb.Collection{SiteID: site.ID, Text: kb.Text{SourceLocale: "en", Translations: []kb.Translation{{Locale: "en", Number: 1, Title: "C"}}}}
			if err := tx.Collections().Insert(ctx, &c); err != nil {
				return err
			}
			a.CollectionID = c.ID
			if err := tx.Articles().Insert(ctx, &a); err != nil {
				return err
			}
			for n := range int64(2) {
				r := kb.Revision{ArticleID: a.ID, Number: n + 1, Status: kb.Published, CollectionID: c.ID, Text: kb.Text{SourceLocale: "en", Translations: []kb.Translation{
					{Locale: "en", Number: 1, Title: "A", Content: fmt.Sprintf(
						`<p>/files/1 <img src="http://127.0.0.1:8080/api/v1/sites/1/files/%d/%s/old.png" alt=""> <img src="https://x.example/files/%d/otherkey/a.png" alt=""> <a href="https://help.acme.example/docs/en/articles/7-x#y">x</a></p>`,
						f.ID, f.URLKey, f.ID), Markdown: fmt.Sprintf("![](http://127.0.0.1:8080/api/v1/sites/1/files/%d/%s/old.png)", f.ID, f.URLKey)},
					{Locale: "de", Number: 2, Title: "B", Content: `<p><a href="/docs/articles/7">x</a></p>`},
				}}}
				if err := tx.InsertRevision(ctx, &r); err != nil {
					return err
				}
				revisions = append(revisions, r)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := app.Exec("INSERT INTO hw_reference_pending (site_id, account_id) SELECT id, account_id FROM hw_sites"); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time there is nothing to do
			if err := db.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		file := fmt.Sprintf("kb:files/%d/%s/a.png", f.ID, f.URLKey)
		for _, want := range revisions {
			want.Translations[0].Content = fmt.Sprintf(
				`<p>/files/1 <img src="%s" alt=""> <img src="https://x.example/files/%d/otherkey/a.png" alt=""> <a href="kb:articles/7#y">x</a></p>`, file, f.ID)
			want.Translations[0].Markdown = "![](" + file + ")"
			want.Translations[1].Content = `<p><a href="kb:articles/7">x</a></p>`
			got, err := db.KB().Within(scope).Revision(t.Context(), a.ID, want.Number)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Error(err, diff)
			}
		}
		var pending int
		if err := app.QueryRow("SELECT count(*) FROM hw_reference_pending").Scan(&pending); err != nil || pending != 0 {
			t.Errorf("%d sites pending, %v", pending, err)
		}
	})
}
