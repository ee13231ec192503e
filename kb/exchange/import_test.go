package exchange_test

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/exchange"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/both"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/storage/testenv"
)

// backend is a store of both domains.
type backend interface {
	helpdesk.Store
	KB() kb.Store
}

// backends are the stores that sites are imported into.
var backends = map[string]func(t testing.TB) backend{
	"Memory":     func(testing.TB) backend { return memstore.New() },
	"SQLite":     func(t testing.TB) backend { return open(t, "sqlite:"+filepath.Join(t.TempDir(), "kb.db")) },
	"PostgreSQL": func(t testing.TB) backend { return open(t, testenv.Postgres(t)) },
}

func open(t testing.TB, url string) *bunstore.DB {
	t.Helper()
	db, err := both.Open(t.Context(), url, bunstore.Config{SyncNormal: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}

type caller struct{}

func (caller) UserID() int64  { return 1 }
func (caller) TokenID() int64 { return 0 }

// newExchange opens a new site of a new account in a store.
func newExchange(t testing.TB, store backend) exchange.Exchange {
	t.Helper()
	account := identity.Account{Name: "A", DefaultLocale: "en"}
	err := store.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error { return tx.InsertAccount(ctx, &account) })
	if err != nil {
		t.Fatal(err)
	}
	svc, err := kb.New(kb.Config{
		Store: store.KB(), Blobs: memblob.New(), MaxFile: 1 << 10,
		Membership: func(context.Context, kb.Caller, int64) (kb.Membership, error) {
			return kb.Membership{Permissions: []kb.Permission{kb.SitesCreate}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	sites, err := svc.Sites(caller{})
	if err != nil {
		t.Fatal(err)
	}
	site, err := sites.Create(t.Context(), kb.SiteInput{AccountID: account.ID, Name: "New"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := svc.Operator(t.Context(), site.ID)
	if err != nil {
		t.Fatal(err)
	}
	return exchange.Exchange{Service: svc, Editor: e}
}

// library returns a site as an export returns it.
func library() exchange.Site {
	site := full()
	site.Files = []exchange.File{textFile("a note.txt", "txt")}
	site.Collections[0].SortOrder = "-1.25"
	live := site.Collections[0].Articles[0].Live
	live.Texts["en"] = exchange.ArticleText{Title: "Files", Format: exchange.Markdown, Content: "![x](../../../files/a%20note.txt)"}
	live.Texts["fr"] = exchange.ArticleText{Title: "été", Format: exchange.HTML, Content: `<p><img src="../../../files/a%20note.txt"></p>`}
	site.Collections[0].Articles[0].Draft.Status = ""
	return site
}

func textFile(name, content string) exchange.File {
	return exchange.File{Name: name, Size: int64(len(content)), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(content)), nil
	}}
}

// imported imports a folder, checks the planned changes, and expects the site to equal wanted afterwards.
func imported(t *testing.T, x exchange.Exchange, folder, want exchange.Site, opts exchange.Options) []string {
	t.Helper()
	plan := opts
	plan.DryRun = true
	planned, err := x.Import(t.Context(), folder, plan)
	if err != nil {
		t.Fatal(err)
	}
	done, err := x.Import(t.Context(), folder, opts)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(planned, done); diff != "" {
		t.Errorf("planned and done: %s", diff)
	}
	back, err := x.Export(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(contents(written(t, want)), contents(written(t, back))); diff != "" {
		t.Errorf("exported (-want +export):\n%s", diff)
	}
	again, err := x.Import(t.Context(), back, exchange.Options{Delete: true})
	if err != nil || len(again) > 0 {
		t.Errorf("again: %v %v", again, err)
	}
	var lines []string
	for _, c := range done {
		lines = append(lines, c.String())
	}
	return lines
}

// A folder becomes a site whose export is the same folder; importing it again changes nothing.
func TestImport(t *testing.T) {
	t.Parallel()
	for name, open := range backends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newExchange(t, open(t))
			if lines := imported(t, x, library(), library(), exchange.Options{}); len(lines) != 9 {
				t.Errorf("done: %q", lines)
			}

			// A replaced file gets another address; all its users follow, also those not in the folder.
			replaced, want := library(), library()
			replaced.Files[0] = textFile("a note.txt", "other")
			replaced.Collections = replaced.Collections[1:]
			want.Files = replaced.Files
			lines := imported(t, x, replaced, want, exchange.Options{})
			if diff := cmp.Diff([]string{"update files/a note.txt (content)", "update collections/erste-schritte/articles/a (files)"}, lines); diff != "" {
				t.Error(diff)
			}

			changed := want
			changed.Collections = library().Collections
			article := &changed.Collections[0].Articles[0]
			article.Draft = nil
			article.Live.SortOrder, article.Live.Status = "10.5", "unpublished"
			article.Live.Texts["en"] = exchange.ArticleText{Title: "Now", Summary: "About: Files", Format: exchange.HTML, Content: "<p>Text</p>"}
			article.Live.Texts["es"] = exchange.ArticleText{Title: "¡Hola!", Format: exchange.Markdown}
			delete(article.Live.Texts, "ar")
			changed.Collections[1].Articles = []exchange.Article{changed.Collections[0].Articles[1]}
			changed.Collections[0].Articles = changed.Collections[0].Articles[:1]
			changed.Collections[0].Texts["pt-BR"] = exchange.Text{Name: "1.0", Summary: "Um"}
			lines = imported(t, x, changed, changed, exchange.Options{Delete: true})
			if diff := cmp.Diff([]string{
				"update collections/erste-schritte/index (pt-BR.summary)",
				"update collections/erste-schritte/articles/a (status, sort_order, -ar, en.title, en.summary, en.format, en.content, +es)",
				"update collections/leer/articles/b (collection)",
				"delete collections/erste-schritte/articles/a (draft)",
			}, lines); diff != "" {
				t.Error(diff)
			}

			empty := exchange.Site{Name: "Nothing left", Look: &exchange.Look{}}
			if lines := imported(t, x, empty, exchange.Site{Name: "Nothing left", Visibility: "private"}, exchange.Options{Delete: true}); len(lines) != 8 {
				t.Errorf("done: %q", lines)
			}
		})
	}
}

// The look is set and removed along with its images, and kept when a folder does not mention it.
func TestImportLook(t *testing.T) {
	t.Parallel()
	x := newExchange(t, memstore.New())
	site := exchange.Site{
		Name: "New", Visibility: "public", Files: []exchange.File{textFile("icon.png", png), textFile("logo.png", png)},
		Look: &exchange.Look{Accent: " #ABCDEF", Logo: "logo.png", Favicon: "icon.png", Texts: map[string]exchange.LookText{"en": {Title: " How  can we help? "}, "de": {}}},
	}
	want := site
	want.Look = &exchange.Look{Accent: "#abcdef", Logo: "logo.png", Favicon: "icon.png", Texts: map[string]exchange.LookText{"en": {Title: "How can we help?"}}}
	lines := imported(t, x, site, want, exchange.Options{})
	if diff := cmp.Diff([]string{
		"create files/icon.png", "create files/logo.png", "update site.yaml (look.logo, look.favicon, look.accent, look.en.title)",
	}, lines); diff != "" {
		t.Error(diff)
	}

	replaced := want
	replaced.Look, replaced.Files = nil, []exchange.File{want.Files[0], textFile("logo.png", png+"other")}
	want.Files = replaced.Files
	lines = imported(t, x, replaced, want, exchange.Options{Delete: true})
	if diff := cmp.Diff([]string{"update files/logo.png (content)", "update site.yaml (look.logo)"}, lines); diff != "" {
		t.Error(diff)
	}

	want.Look, want.Files = &exchange.Look{Hero: "accent", Favicon: "icon.png"}, want.Files[:1]
	lines = imported(t, x, want, want, exchange.Options{Delete: true})
	if diff := cmp.Diff([]string{"update site.yaml (look.logo, look.accent, look.hero, look.en.title)", "delete files/logo.png"}, lines); diff != "" {
		t.Error(diff)
	}

	silent := want
	silent.Look, silent.Files = nil, nil
	lines = imported(t, x, silent, exchange.Site{Name: "New", Visibility: "public", Look: &exchange.Look{Hero: "accent"}}, exchange.Options{Delete: true})
	if diff := cmp.Diff([]string{"update site.yaml (look.favicon)", "delete files/icon.png"}, lines); diff != "" {
		t.Error(diff)
	}

	for name, look := range map[string]exchange.Look{
		"look.logo names files/gone.png, which is not there": {Logo: "gone.png"},
		"accent must be a color such as #016770":             {Accent: "red", Favicon: "icon.png"},
		"look.logo names files/note.txt, which is no image":  {Logo: "note.txt"},
	} {
		refused := want
		refused.Look, refused.Files = &look, []exchange.File{want.Files[0], textFile("note.txt", "text")}
		_, err := x.Import(t.Context(), refused, exchange.Options{})
		var problems exchange.Problems
		if !errors.As(err, &problems) || problems.Error() != "site.yaml: "+name {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What the service refuses is found before anything is changed.
func TestImportRefused(t *testing.T) {
	t.Parallel()
	x := newExchange(t, memstore.New())
	folder := library()
	folder.Visibility = "secret"
	folder.Files = append(folder.Files, textFile("b.txt", strings.Repeat("x", 1<<10+1)), textFile("c.exe", "x"))
	folder.Collections[0].Texts["pt-BR"] = exchange.Text{Name: strings.Repeat("x", 301)}
	folder.Collections[0].Articles[0].Draft.Texts["en"] = exchange.ArticleText{}
	_, err := x.Import(t.Context(), folder, exchange.Options{})
	var problems exchange.Problems
	if !errors.As(err, &problems) {
		t.Fatal(err)
	}
	want := `collections/erste-schritte/articles/a.en.draft.md: content is required
collections/erste-schritte/articles/a.en.draft.md: title is required
collections/erste-schritte/index.pt-BR.md: name is longer than 300 characters
files/b.txt: it is larger than 0 MB
files/c.exe: files of this type are not accepted
site.yaml: visibility must be public or private`
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
	site, err := x.Export(t.Context())
	if err != nil || site.Name != "New" || len(site.Collections)+len(site.Files) > 0 {
		t.Errorf("the site is %+v, %v", site, err)
	}
}

// What is still being written travels, too.
func TestUnfinishedDraftsTravel(t *testing.T) {
	t.Parallel()
	x := newExchange(t, memstore.New())
	folder := library()
	draft := folder.Collections[0].Articles[0].Draft
	draft.Unfinished, draft.Texts["en"] = true, exchange.ArticleText{Format: exchange.Markdown, Content: "Half a sen"}
	if _, err := x.Import(t.Context(), folder, exchange.Options{}); err != nil {
		t.Fatal(err)
	}
	site, err := x.Export(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := site.Collections[0].Articles[0].Draft
	if got == nil || !got.Unfinished || got.Texts["en"].Content != "Half a sen" || got.Texts["en"].Title != "" {
		t.Errorf("%+v", got)
	}
}

// failing is a store that becomes unreachable after some transactions.
type failing struct {
	kb.Store
	left int
}

func (f *failing) InTx(ctx context.Context, s kb.Scope, fn func(ctx context.Context, tx kb.Tx) error) error {
	return f.Store.InTx(ctx, s, func(ctx context.Context, tx kb.Tx) error {
		err := fn(ctx, tx)
		if err != nil { // a rehearsal
			return err
		}
		if f.left--; f.left < 0 {
			return fault.New(fault.Unavailable, "The database is away.")
		}
		return nil
	})
}

// An interrupted import, wherever it stopped, is completed by another one.
func TestImportCutOff(t *testing.T) {
	t.Parallel()
	for n := range 9 {
		store := memstore.New()
		x := newExchange(t, store)
		site := x.Editor.SiteID()
		whole := x
		x.Service = x.Service.Bind(&failing{store.KB(), n})
		editor, err := x.Service.Operator(t.Context(), site)
		if err != nil {
			t.Fatal(err)
		}
		x.Editor = editor
		done, err := x.Import(t.Context(), library(), exchange.Options{})
		if !errors.Is(err, kb.ErrUnavailable) || len(done) != n {
			t.Errorf("after %d: %v %v", n, done, err)
		}
		if rest := imported(t, whole, library(), library(), exchange.Options{}); len(rest) != 9-n {
			t.Errorf("after %d the rest is %q", n, rest)
		}
	}
}
