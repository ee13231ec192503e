package exchange_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/exchange"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

type caller struct{}

func (caller) UserID() int64  { return 1 }
func (caller) TokenID() int64 { return 0 }

// newExchange opens a new site for somebody who may do everything.
func newExchange(t *testing.T, svc *kb.Service, account int64, path string) exchange.Exchange {
	t.Helper()
	sites, err := svc.Sites(caller{})
	if err != nil {
		t.Fatal(err)
	}
	site, err := sites.Create(t.Context(), kb.SiteInput{AccountID: account, Name: path})
	if err != nil {
		t.Fatal(err)
	}
	e, err := svc.Editor(t.Context(), caller{}, site.ID)
	if err != nil {
		t.Fatal(err)
	}
	return exchange.Exchange{Service: svc, Editor: e, FileURL: func(f kb.File) string {
		return fmt.Sprintf("https://x.example/sites/%d/files/%d/%s/%s", f.SiteID, f.ID, f.URLKey, f.Filename)
	}}
}

// What a folder says becomes a site, whose export is the same folder; reading it again changes nothing.
func TestImport(t *testing.T) {
	t.Parallel()
	store := memstore.New()
	account := helpdesk.Account{Name: "A", DefaultLocale: "en"}
	err := store.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error { return tx.InsertAccount(ctx, &account) })
	if err != nil {
		t.Fatal(err)
	}
	svc, err := kb.New(kb.Config{Store: store.KB(), Blobs: memblob.New(), Membership: func(context.Context, kb.Caller, int64) (kb.Membership, error) {
		var m kb.Membership
		for _, area := range []string{"sites", "collections", "categories", "articles", "files"} {
			for _, action := range []string{"view", "create", "update", "delete", "publish"} {
				m.Permissions = append(m.Permissions, kb.Permission(area+"."+action))
			}
		}
		return m, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	folder := full()
	folder.Files[0].Name = "note.txt"
	folder.Files[0].Open = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("txt")), nil }
	folder.Collections[0].SortOrder = "-1.25"
	live := folder.Collections[0].Articles[0].Live
	live.Texts["en"] = exchange.ArticleText{Title: "Files", Format: exchange.Markdown, Content: "![x](../../../files/note.txt)"}
	live.Texts["fr"] = exchange.ArticleText{Title: "été", Format: exchange.HTML, Content: "<p>x</p>"}
	folder.Collections[0].Articles[0].Draft.Status = ""
	want := contents(written(t, folder))
	x := newExchange(t, svc, account.ID, "first")
	planned, err := x.Import(t.Context(), folder, exchange.Options{DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	done, err := x.Import(t.Context(), folder, exchange.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(planned, done); diff != "" || len(done) == 0 {
		t.Errorf("planned and done: %s", diff)
	}
	back, err := x.Export(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, contents(written(t, back))); diff != "" {
		t.Errorf("exported (-folder +export):\n%s", diff)
	}
	again, err := x.Import(t.Context(), back, exchange.Options{Delete: true})
	if err != nil || len(again) > 0 {
		t.Errorf("again: %v %v", again, err)
	}
}
