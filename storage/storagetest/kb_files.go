package storagetest

import (
	"context"
	"fmt"
	"testing"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// themeFileTests test the specifics of files and themes.
func themeFileTests() []testCase {
	return []testCase{
		{"Theme", testTheme},
		{"ThemeFile", testThemeFile},
		{"Active", testActiveTheme},
		{"ManyFiles", testManyThemeFiles},
		{"Site", testDecorSite},
	}
}

// decor holds the files and themes of a shelf's site.
type decor struct {
	file      kb.File
	theme     kb.Theme // active
	themeFile kb.ThemeFile
}

// decorate adds a file and a theme with a file to the site.
func (w *world) decorate(t *testing.T) {
	t.Helper()
	s := &w.shelf
	s.file, s.theme, s.themeFile = w.newFile("first"), w.newTheme("first"), w.newThemeFile("assets/a.css")
	s.theme.IsActive = true
	w.kb(t, s.scope, func(ctx context.Context, tx kb.Tx) error {
		ok(t, tx.Files().Insert(ctx, &s.file))
		ok(t, tx.Themes().Insert(ctx, &s.theme))
		s.themeFile.ThemeID = s.theme.ID
		return tx.ThemeFiles().Insert(ctx, &s.themeFile)
	})
}

func (w *world) newFile(name string) kb.File {
	return kb.File{
		SiteID: w.shelf.site.ID, Filename: name + ` \' ü.png`, ContentType: "image/png", Size: 1 << 40, URLKey: w.mark, BlobKey: "blobs/" + w.mark, CreatedAt: base, UpdatedAt: at(1),
	}
}

func (w *world) newTheme(name string) kb.Theme {
	return kb.Theme{SiteID: w.shelf.site.ID, Name: name + " " + w.mark, Source: "Own", Version: "1.0", Revision: 3, CreatedAt: base, UpdatedAt: at(1)}
}

func (w *world) newThemeFile(path string) kb.ThemeFile {
	return kb.ThemeFile{SiteID: w.shelf.site.ID, ThemeID: w.shelf.theme.ID, Path: path, Size: 7, Hash: "00ff" + w.mark, BlobKey: "blobs/" + w.mark, CreatedAt: base, UpdatedAt: at(1)}
}

func errOf[T any](_ T, err error) error { return err }

// The fields of a theme that the service fills in are not stored. Deleting a theme deletes its files.
func testTheme(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	theme := w.shelf.theme
	theme.Name = "other"
	given := theme
	given.UpdateAvailable = true
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error { return tx.Themes().Update(ctx, &given) })
	one(t, "changed theme", theme, w.inSite().Themes().Get, theme.ID)
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error { return tx.Themes().Delete(ctx, theme.ID) })
	f := w.newThemeFile("assets/b")
	for what, err := range map[string]error{
		"a file of":        errOf(w.inSite().ThemeFiles().Get(t.Context(), w.shelf.themeFile.ID)),
		"the path of":      errOf(w.inSite().ThemeFileByPath(t.Context(), theme.ID, w.shelf.themeFile.Path)),
		"adding a file to": w.tryKB(t, func(ctx context.Context, tx kb.Tx) error { return tx.ThemeFiles().Insert(ctx, &f) }),
	} {
		fails(t, what+" a deleted theme", err, fault.NotFound)
	}
}

// A theme's file is found by its exact path, and deleted together with others.
func testThemeFile(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	theme, f := w.shelf.theme.ID, w.shelf.themeFile
	find := func(path string) (kb.ThemeFile, error) { return w.inSite().ThemeFileByPath(t.Context(), theme, path) }
	got, err := find(f.Path)
	ok(t, err)
	same(t, "file of a theme", f, got)
	for _, path := range []string{"assets/A.css", "assets/a.css ", "", "assets/%"} {
		fails(t, "path "+path, errOf(find(path)), fault.NotFound)
	}
	other := w.newThemeFile("assets/A.css")
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error {
		ok(t, tx.ThemeFiles().Insert(ctx, &other))
		ok(t, tx.DeleteThemeFiles(ctx, theme, nil))
		return tx.DeleteThemeFiles(ctx, theme, []int64{f.ID, nobody})
	})
	fails(t, "a deleted file", errOf(find(f.Path)), fault.NotFound)
	_, err = find(other.Path)
	ok(t, err)
}

// A site has one active theme, or none.
func testActiveTheme(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	second, bare := w.newTheme("second"), w.newTheme("bare")
	bare.IsActive = true
	inBare := kb.Scope{AccountID: w.account.ID, SiteID: w.shelf.bare.ID}
	fails(t, "a site without themes", errOf(w.KB.Within(inBare).ActiveTheme(t.Context())), fault.NotFound)
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error { return tx.Themes().Insert(ctx, &second) })
	w.kb(t, inBare, func(ctx context.Context, tx kb.Tx) error { return tx.Themes().Insert(ctx, &bare) })
	second.IsActive = true
	conflicts(t, "a second active theme", w.tryKB(t, func(ctx context.Context, tx kb.Tx) error { return tx.Themes().Update(ctx, &second) }), kb.UniqueActiveTheme)
	conflicts(t, "a new active theme", w.tryKB(t, func(ctx context.Context, tx kb.Tx) error {
		theme := w.newTheme("third")
		theme.IsActive = true
		return tx.Themes().Insert(ctx, &theme)
	}), kb.UniqueActiveTheme)
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error {
		old, err := tx.ActiveTheme(ctx)
		ok(t, err)
		same(t, "active theme", w.shelf.theme, old)
		old.IsActive = false
		ok(t, tx.Themes().Update(ctx, &old))
		return tx.Themes().Update(ctx, &second)
	})
	got, err := w.inSite().ActiveTheme(t.Context())
	ok(t, err)
	same(t, "active theme", second, got)
}

// More files than fit into one statement.
func testManyThemeFiles(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	var files []*kb.ThemeFile
	for n := range 1100 {
		f := w.newThemeFile(fmt.Sprintf("assets/%04d", n))
		files = append(files, &f)
	}
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error { return tx.ThemeFiles().Insert(ctx, files...) })
	got, err := w.inSite().ThemeFiles().List(t.Context(), kb.ThemeFileFilter{ThemeID: w.shelf.theme.ID}, storage.Seek{Limit: 4000})
	ok(t, err)
	want := []kb.ThemeFile{w.shelf.themeFile}
	for _, f := range files {
		want = append(want, *f)
	}
	same(t, "many files", want, got)
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error {
		return tx.DeleteThemeFiles(ctx, w.shelf.theme.ID, ids(got, func(f kb.ThemeFile) int64 { return f.ID }))
	})
	got, err = w.inSite().ThemeFiles().List(t.Context(), kb.ThemeFileFilter{ThemeID: w.shelf.theme.ID}, all())
	ok(t, err)
	same(t, "files after all were deleted", 0, len(got))
}

// Deleting a site deletes its files and themes. Nothing can be added to a missing site, or to an account without a site.
func testDecorSite(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	add := func(scope kb.Scope) (file, theme error) {
		f, th := w.newFile("x"), w.newTheme("x")
		file = w.KB.InTx(t.Context(), scope, func(ctx context.Context, tx kb.Tx) error { return tx.Files().Insert(ctx, &f) })
		theme = w.KB.InTx(t.Context(), scope, func(ctx context.Context, tx kb.Tx) error { return tx.Themes().Insert(ctx, &th) })
		return file, theme
	}
	check := func(what string, scope kb.Scope) {
		file, theme := add(scope)
		fails(t, "a file in "+what, file, fault.NotFound)
		fails(t, "a theme in "+what, theme, fault.NotFound)
	}
	check("an account", kb.Scope{AccountID: w.account.ID})
	w.kb(t, kb.Scope{AccountID: w.account.ID}, func(ctx context.Context, tx kb.Tx) error { return tx.Sites().Delete(ctx, w.shelf.site.ID) })
	check("a deleted site", w.shelf.scope)
	for what, err := range map[string]error{
		"file":            errOf(w.inSite().Files().Get(t.Context(), w.shelf.file.ID)),
		"theme":           errOf(w.inSite().Themes().Get(t.Context(), w.shelf.theme.ID)),
		"active theme":    errOf(w.inSite().ActiveTheme(t.Context())),
		"file of a theme": errOf(w.inSite().ThemeFileByPath(t.Context(), w.shelf.theme.ID, w.shelf.themeFile.Path)),
	} {
		fails(t, what+" of a deleted site", err, fault.NotFound)
	}
}

func decorReads() map[string]readProbeOf[kb.Reader] {
	type r = kb.Reader
	return map[string]readProbeOf[kb.Reader]{
		"ActiveTheme": {ofSite, false, func(ctx context.Context, r r, _ *world) (any, error) { return answer(r.ActiveTheme(ctx)) }},
		"ThemeFileByPath": {ofSite, true, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.ThemeFileByPath(ctx, v.shelf.theme.ID, v.shelf.themeFile.Path))
		}},
	}
}

func decorWrites() map[string]writeProbeOf[kb.Tx] {
	type tx = kb.Tx
	return map[string]writeProbeOf[kb.Tx]{
		"DeleteThemeFiles": {level: ofSite, quiet: true, call: func(ctx context.Context, tx tx, v *world) error {
			return tx.DeleteThemeFiles(ctx, v.shelf.theme.ID, []int64{v.shelf.themeFile.ID})
		}},
	}
}

func fileID(f kb.File) int64           { return f.ID }
func themeFileID(f kb.ThemeFile) int64 { return f.ID }

func (g *generator) themePath() string {
	return oneOf(g, []string{"assets/a", "assets/A", "assets/b", "theme.json"})
}

func (g *generator) readDecor(seen library, seek storage.Seek) []operation {
	theme := g.either("Theme", oneOf(g, seen.Themes).ID)
	file := g.either("File", fileID(oneOf(g, seen.Files)))
	files := kb.ThemeFileFilter{ThemeID: theme.n}
	return []operation{
		{method: "Files.Get", args: []any{file}},
		{method: "Files.ByIDs", args: []any{idList{"File", []int64{file.n, nobody}}}},
		{method: "Files.List", args: []any{storage.NoFilter{}, ordered{g.from(seek, "File"), "File"}}},
		{method: "Themes.Get", args: []any{theme}},
		{method: "Themes.List", args: []any{storage.NoFilter{}, ordered{g.from(seek, "Theme"), "Theme"}}},
		{method: "ActiveTheme"},
		{method: "ThemeFileByPath", args: []any{theme, g.themePath()}},
		{method: "ThemeFiles.Get", args: []any{g.either("ThemeFile", themeFileID(oneOf(g, seen.ThemeFiles)))}},
		{method: "ThemeFiles.List", args: []any{files, ordered{g.from(seek, "ThemeFile"), "ThemeFile"}}},
	}
}

// writeDecor changes files and themes of a site.
func (g *generator) writeDecor(seen library) operation {
	old, theme, file := oneOf(g, seen.Files), oneOf(g, seen.Themes), oneOf(g, seen.ThemeFiles)
	themeID := g.either("Theme", theme.ID)
	switch g.IntN(11) {
	case 0, 1:
		made := kb.File{Filename: g.text(), Size: int64(g.IntN(9)), CreatedAt: g.time(false), UpdatedAt: g.time(false)}
		return operation{method: "Files.Insert", args: []any{[]*kb.File{&made}}}
	case 2:
		old.Filename, old.ID, old.CreatedAt, old.UpdatedAt = g.text(), g.either("File", old.ID).n, g.time(false), g.time(false)
		return operation{method: "Files.Update", args: []any{[]*kb.File{&old}}}
	case 3:
		return operation{method: "Files.Delete", args: []any{g.either("File", old.ID)}}
	case 4, 5:
		made := kb.Theme{Name: g.text(), IsActive: g.IntN(3) == 0, Revision: int64(g.IntN(4)), CreatedAt: g.time(false), UpdatedAt: g.time(false)}
		return operation{method: "Themes.Insert", args: []any{[]*kb.Theme{&made}}, clash: true}
	case 6:
		theme.ID, theme.IsActive, theme.CreatedAt, theme.UpdatedAt = themeID.n, g.IntN(2) == 0, g.time(false), g.time(false)
		return operation{method: "Themes.Update", args: []any{[]*kb.Theme{&theme}}, clash: true}
	case 7:
		if g.IntN(2) == 0 {
			return operation{method: "Themes.Delete", args: []any{themeID}}
		}
		return operation{method: "DeleteThemeFiles", args: []any{themeID, some(g, "ThemeFile", seen.ThemeFiles, themeFileID)}}
	case 8:
		file.ID, file.Path, file.Hash, file.CreatedAt, file.UpdatedAt = g.either("ThemeFile", file.ID).n, g.themePath(), g.text(), g.time(false), g.time(false)
		return operation{method: "ThemeFiles.Update", args: []any{[]*kb.ThemeFile{&file}}, clash: true}
	case 9:
		return operation{method: "ThemeFiles.Delete", args: []any{g.either("ThemeFile", file.ID)}}
	default:
		added := kb.ThemeFile{ThemeID: themeID.n, Path: g.themePath(), Hash: g.text(), Size: int64(g.IntN(9)), CreatedAt: g.time(false), UpdatedAt: g.time(false)}
		return operation{method: "ThemeFiles.Insert", args: []any{[]*kb.ThemeFile{&added}}, clash: true}
	}
}
