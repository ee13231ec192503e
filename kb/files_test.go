package kb_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/theme"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

// workshop is a knowledge base whose blobs and built-in theme a test controls.
type workshop struct {
	*kb.Service
	*kb.Editor
	blobs  storage.Blobs
	memory *memstore.Store
	site   kb.Site
}

// newWorkshop creates a workshop with a site of Erin's.
func newWorkshop(t *testing.T, change func(*kb.Config)) *workshop {
	t.Helper()
	w := &workshop{blobs: memblob.New(), memory: memstore.New()}
	err := w.memory.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error {
		return tx.InsertAccount(ctx, &identity.Account{Name: "Acme", NextNumber: 1, DefaultLocale: "en"})
	})
	if err != nil {
		t.Fatal(err)
	}
	w.open(t, change)
	sites, err := w.Sites(erin)
	if err != nil {
		t.Fatal(err)
	}
	if w.site, err = sites.Create(t.Context(), kb.SiteInput{AccountID: 1, Name: "Help"}); err != nil {
		t.Fatal(err)
	}
	if w.Editor, err = w.Service.Editor(t.Context(), erin, w.site.ID); err != nil {
		t.Fatal(err)
	}
	return w
}

// open creates the service, possibly another one on the same data.
func (w *workshop) open(t *testing.T, change func(*kb.Config)) {
	t.Helper()
	cfg := kb.Config{
		Store: w.memory.KB(), Blobs: w.blobs,
		Membership: func(context.Context, kb.Caller, int64) (kb.Membership, error) {
			return kb.Membership{Permissions: everything()}, nil
		},
	}
	if change != nil {
		change(&cfg)
	}
	var err error
	if w.Service, err = kb.New(cfg); err != nil {
		t.Fatal(err)
	}
	if w.site.ID != 0 {
		if w.Editor, err = w.Service.Editor(t.Context(), erin, w.site.ID); err != nil {
			t.Fatal(err)
		}
	}
}

// stored lists the keys of all blobs.
func (w *workshop) stored(t *testing.T) []string {
	t.Helper()
	list, err := w.blobs.List(t.Context(), "", "", 10_000)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, b := range list {
		keys = append(keys, b.Key)
	}
	return keys
}

// purge runs the jobs that delete files.
func (w *workshop) purge(t *testing.T) {
	t.Helper()
	now := w.site.CreatedAt.AddDate(1, 0, 0)
	jobs, err := w.memory.Claim(t.Context(), map[string]int{kb.JobPurgeFiles: 100}, now, now.AddDate(0, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs {
		if err := w.PurgeFiles(t.Context(), j); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFileLimit(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, func(cfg *kb.Config) { cfg.MaxFile = 1 << 20 })
	_, err := w.CreateFile(t.Context(), kb.FileUpload{Filename: "a.txt", Content: strings.NewReader(strings.Repeat("a", 1<<20))})
	if err != nil {
		t.Error(err)
	}
	_, err = w.CreateFile(t.Context(), kb.FileUpload{Filename: "a.txt", Content: strings.NewReader(strings.Repeat("a", 1<<20+1))})
	if !fault.Is(err, fault.TooLarge) {
		t.Errorf("a byte too many: %v", err)
	}
	_, err = w.CreateFile(t.Context(), kb.FileUpload{Filename: "a.txt", Content: io.MultiReader(strings.NewReader(strings.Repeat("a", 5000)), broken{})})
	if err == nil {
		t.Error("a broken upload was taken")
	}
	if got := w.stored(t); len(got) != 1 {
		t.Errorf("left behind: %v", got)
	}
}

// broken is an upload that ends in an error.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("cut off") }

// The blob of a file is deleted after its row, and not before.
func TestFilePurge(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	f, err := w.CreateFile(t.Context(), kb.FileUpload{Filename: "a.txt", Content: strings.NewReader("x")})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.DeleteFile(t.Context(), f.ID); err != nil {
		t.Fatal(err)
	}
	if got := w.stored(t); len(got) != 1 {
		t.Errorf("gone before the transaction's job: %v", got)
	}
	w.purge(t)
	if got := w.stored(t); len(got) != 0 {
		t.Errorf("left behind: %v", got)
	}
}

func TestFileEvents(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	f, _ := w.CreateFile(t.Context(), kb.FileUpload{Filename: "a.txt", Content: strings.NewReader("x")})
	_, _ = w.UpdateFile(t.Context(), f.ID, kb.FileInput{Filename: storage.Some("b.txt")})
	_ = w.DeleteFile(t.Context(), f.ID)
	th, _ := w.CreateTheme(t.Context(), "")
	_, _, _ = w.PutThemeFile(t.Context(), th.ID, "assets/a", []byte("x"))
	_ = w.DeleteThemeFile(t.Context(), th.ID, "assets/a")
	_ = w.DeleteTheme(t.Context(), th.ID)
	th, _ = w.CreateTheme(t.Context(), "Mine")
	_, _ = w.ActivateTheme(t.Context(), th.ID)
	events, err := w.memory.Events(t.Context(), 1, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range events {
		var data map[string]int64
		if err := json.Unmarshal(e.Data, &data); err != nil || data["site_id"] != w.site.ID {
			t.Errorf("%s: %s", e.Type, e.Data)
		}
		got = append(got, fmt.Sprint(e.Type, " ", e.Subject))
	}
	want := []string{"site.created 1", "file.created 1", "file.updated 1", "file.deleted 1", "theme.created 1", "theme.updated 1", "theme.updated 1",
		"theme.deleted 1", "theme.created 2", "theme.activated 2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// After concurrent activations exactly one theme is active.
func TestActivateConcurrently(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	var ids []int64
	for range 5 {
		th, err := w.CreateTheme(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, th.ID)
	}
	var wg sync.WaitGroup
	for n := range 40 {
		wg.Go(func() {
			if th, err := w.ActivateTheme(t.Context(), ids[n%len(ids)]); err != nil || !th.IsActive {
				t.Error(th, err)
			}
		})
	}
	wg.Wait()
	page, err := w.Themes(t.Context(), storage.PageRequest{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	active := 0
	for _, th := range page.Items {
		if th.IsActive {
			active++
			if err := w.DeleteTheme(t.Context(), th.ID); !fault.Is(err, fault.Conflict) {
				t.Errorf("deleting the active theme: %v", err)
			}
			continue
		}
		if err := w.DeleteTheme(t.Context(), th.ID); err != nil {
			t.Error(err)
		}
	}
	if active != 1 {
		t.Errorf("%d active themes", active)
	}
	w.purge(t)
	if got, want := len(w.stored(t)), len(theme.Builtin().Files); got != want {
		t.Errorf("%d files stay, want %d", got, want)
	}
}

// later is a built-in theme of another version.
func later(version string) theme.Source {
	return theme.Source{Name: "House", Version: version, Files: map[string][]byte{
		"templates/layout.html": []byte(version + `{{template "content" .}}`), "templates/article.html": []byte("a"), "assets/" + version + ".css": []byte(version),
	}}
}

func TestUpdateTheme(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, func(cfg *kb.Config) { cfg.Theme = later("1.9") })
	own, err := w.CreateTheme(t.Context(), "")
	if err != nil || own.Name != "House" || own.UpdateAvailable || own.IsActive {
		t.Fatal(own, err)
	}
	if _, _, err := w.PutThemeFile(t.Context(), own.ID, "templates/article.html", []byte("changed")); err != nil {
		t.Fatal(err)
	}
	if got, err := w.UpdateTheme(t.Context(), own.ID); err != nil || got.UpdateAvailable {
		t.Error("nothing is pending:", got, err)
	}
	if _, content, err := w.ThemeFile(t.Context(), own.ID, "templates/article.html"); err != nil || string(content) != "changed" {
		t.Errorf("without an update the changes stay: %q %v", content, err)
	}
	var zip bytes.Buffer
	if _, err := w.DownloadTheme(t.Context(), own.ID, &zip); err != nil {
		t.Fatal(err)
	}
	uploaded, err := w.UploadTheme(t.Context(), kb.ThemeUpload{Filename: "Custom.zip", Archive: bytes.NewReader(zip.Bytes()), Size: int64(zip.Len())})
	if err != nil || uploaded.Name != "Custom" {
		t.Fatal(uploaded, err)
	}

	w.open(t, func(cfg *kb.Config) { cfg.Theme = later("1.10") })
	if got, err := w.Theme(t.Context(), own.ID); err != nil || !got.UpdateAvailable {
		t.Error("1.10 comes after 1.9:", got, err)
	}
	if got, err := w.Theme(t.Context(), uploaded.ID); err != nil || got.UpdateAvailable {
		t.Error("an uploaded theme is nobody's:", got, err)
	}
	if _, err := w.UpdateTheme(t.Context(), uploaded.ID); !fault.Is(err, fault.Conflict) {
		t.Error(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if got, err := w.UpdateTheme(t.Context(), own.ID); err != nil || got.UpdateAvailable {
				t.Error(got, err)
			}
		})
	}
	wg.Wait()
	files, err := w.ThemeFiles(t.Context(), own.ID, storage.PageRequest{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, f := range files.Items {
		paths = append(paths, f.Path)
	}
	if diff := cmp.Diff([]string{"assets/1.10.css", "templates/article.html", "templates/layout.html"}, paths); diff != "" {
		t.Error(diff)
	}
	if _, content, err := w.ThemeFile(t.Context(), own.ID, "templates/article.html"); err != nil || string(content) != "a" {
		t.Errorf("the update overrides changes: %q %v", content, err)
	}
	w.purge(t)
	if got := w.stored(t); len(got) != 6 {
		t.Errorf("left behind: %v", got)
	}
	w.open(t, func(cfg *kb.Config) { cfg.Theme = later("1.2") })
	if got, err := w.Theme(t.Context(), own.ID); err != nil || got.UpdateAvailable {
		t.Error("an earlier version is no update:", got, err)
	}
}

// A change of one template is checked against all others, including concurrent changes.
func TestThemeFilesFit(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	th, err := w.CreateTheme(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	put := func(path, content string) error {
		_, _, err := w.PutThemeFile(t.Context(), th.ID, path, []byte(content))
		return err
	}
	if err := put("templates/partials/x.html", "x"); err != nil {
		t.Fatal(err)
	}
	if err := put("templates/home.html", `{{template "partials/x" .}}`); err != nil {
		t.Fatal(err)
	}
	if err := w.DeleteThemeFile(t.Context(), th.ID, "templates/partials/x.html"); !fault.Is(err, fault.Conflict) {
		t.Errorf("a template that is called: %v", err)
	}
	if err := put("templates/home.html", `x`); err != nil {
		t.Fatal(err)
	}
	// Either the partial is deleted or home requires it, never both.
	var wg sync.WaitGroup
	var deleted, needed error
	wg.Go(func() { deleted = w.DeleteThemeFile(t.Context(), th.ID, "templates/partials/x.html") })
	wg.Go(func() { needed = put("templates/home.html", `{{template "partials/x" .}}`) })
	wg.Wait()
	if (deleted == nil) == (needed == nil) {
		t.Errorf("deleted: %v, needed: %v", deleted, needed)
	}
	templates := map[string]string{}
	files, _ := w.ThemeFiles(t.Context(), th.ID, storage.PageRequest{Limit: 100})
	for _, f := range files.Items {
		if theme.IsTemplate(f.Path) {
			_, content, err := w.ThemeFile(t.Context(), th.ID, f.Path)
			if err != nil {
				t.Fatal(err)
			}
			templates[f.Path] = string(content)
		}
	}
	if _, err := theme.Compile(templates); err != nil {
		t.Errorf("the theme is broken: %v", err)
	}
}

// A failure leaves no file behind, and a bad archive changes nothing.
func TestThemeLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	for name, err := range map[string]error{
		"long name": errOf(w.CreateTheme(t.Context(), strings.Repeat("x", 201))),
		"no zip":    errOf(w.UploadTheme(t.Context(), kb.ThemeUpload{Archive: strings.NewReader("x"), Size: 1})),
		"nothing":   errOf(w.UploadTheme(t.Context(), kb.ThemeUpload{})),
	} {
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := w.DeleteSite(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := errOf(w.CreateTheme(t.Context(), "")); !fault.Is(err, fault.NotFound) {
		t.Errorf("a theme in a deleted site: %v", err)
	}
	if err := errOf(w.CreateFile(t.Context(), kb.FileUpload{Filename: "a.txt", Content: strings.NewReader("x")})); !fault.Is(err, fault.NotFound) {
		t.Errorf("a file in a deleted site: %v", err)
	}
	if got := w.stored(t); len(got) != 0 {
		t.Errorf("left behind: %v", got)
	}
}

func errOf[T any](_ T, err error) error { return err }

func ExampleEditor_UploadTheme() {
	ctx := context.Background()
	editor := exampleEditor(ctx)
	own, err := editor.CreateTheme(ctx, "House")
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, _, err := editor.PutThemeFile(ctx, own.ID, "templates/home.html", []byte("<h1>{{.Site.Name}}</h1>")); err != nil {
		fmt.Println(err)
		return
	}
	var archive bytes.Buffer
	if _, err := editor.DownloadTheme(ctx, own.ID, &archive); err != nil {
		fmt.Println(err)
		return
	}
	again, err := editor.UploadTheme(ctx, kb.ThemeUpload{Name: "Copy", Archive: bytes.NewReader(archive.Bytes()), Size: int64(archive.Len())})
	if err != nil {
		fmt.Println(err)
		return
	}
	again, err = editor.ActivateTheme(ctx, again.ID)
	fmt.Println(again.Name, again.IsActive, err)
	_, _, err = editor.PutThemeFile(ctx, again.ID, "templates/home.html", []byte("<h1>\n{{.Site.Name"))
	fmt.Println(err)
	// Output:
	// Copy true <nil>
	// Some fields are invalid. (content: templates/home.html, line 2: unclosed action)
}

func ExampleEditor_CreateFile() {
	ctx := context.Background()
	editor := exampleEditor(ctx)
	file, err := editor.CreateFile(ctx, kb.FileUpload{Filename: "hours.csv", Rename: "Opening hours", Content: strings.NewReader("mon,9-17\n")})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(file.Filename, file.Size, file.ContentType)
	// Output: Opening hours.csv 9 text/csv
}

// exampleEditor opens a new site.
func exampleEditor(ctx context.Context) *kb.Editor {
	store := memstore.New()
	err := store.InSystemTx(ctx, func(ctx context.Context, tx helpdesk.SystemTx) error {
		return tx.InsertAccount(ctx, &identity.Account{Name: "Acme", NextNumber: 1})
	})
	if err != nil {
		panic(err)
	}
	svc, err := kb.New(kb.Config{Store: store.KB(), Blobs: memblob.New(), Membership: func(context.Context, kb.Caller, int64) (kb.Membership, error) {
		return kb.Membership{Permissions: []kb.Permission{kb.SitesCreate, kb.FilesCreate, kb.ThemesCreate, kb.ThemesView, kb.ThemesUpdate}}, nil
	}})
	if err != nil {
		panic(err)
	}
	sites, err := svc.Sites(erin)
	if err != nil {
		panic(err)
	}
	site, err := sites.Create(ctx, kb.SiteInput{AccountID: 1, Name: "Help"})
	if err != nil {
		panic(err)
	}
	editor, err := svc.Editor(ctx, erin, site.ID)
	if err != nil {
		panic(err)
	}
	return editor
}
