package storagetest

import (
	"context"
	"fmt"
	"testing"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func decorTests() []testCase {
	return []testCase{
		{"File", testSiteFile},
		{"Theme", testTheme},
		{"ThemeFile", testThemeFile},
		{"Active", testActiveTheme},
		{"ManyFiles", testManyThemeFiles},
		{"Pages", testDecorPages},
		{"Site", testDecorSite},
	}
}

// decor is what a shelf's site has of files and themes.
type decor struct {
	file      kb.File
	theme     kb.Theme // active
	themeFile kb.ThemeFile
}

// decorate puts a file and a theme with a file into the site.
func (w *world) decorate(t *testing.T) {
	t.Helper()
	s := &w.shelf
	s.file, s.theme, s.themeFile = w.newFile("first"), w.newTheme("first"), w.newThemeFile("assets/a.css")
	s.theme.IsActive = true
	w.kb(t, s.scope, func(ctx context.Context, tx kb.Tx) error {
		ok(t, tx.InsertFile(ctx, &s.file))
		ok(t, tx.InsertTheme(ctx, &s.theme))
		return tx.InsertThemeFiles(ctx, s.theme.ID, []*kb.ThemeFile{&s.themeFile})
	})
}

func (w *world) newFile(name string) kb.File {
	return kb.File{
		Filename: name + ` \' ü.png`, ContentType: "image/png", Size: 1 << 40, URLKey: w.mark, BlobKey: "blobs/" + w.mark, CreatedAt: base, UpdatedAt: at(1),
	}
}

func (w *world) newTheme(name string) kb.Theme {
	return kb.Theme{Name: name + " " + w.mark, Source: "Own", Version: "1.0", Revision: 3, CreatedAt: base, UpdatedAt: at(1)}
}

func (w *world) newThemeFile(path string) kb.ThemeFile {
	return kb.ThemeFile{Path: path, Size: 7, Hash: "00ff" + w.mark, BlobKey: "blobs/" + w.mark, CreatedAt: base, UpdatedAt: at(1)}
}

func testSiteFile(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	f := w.shelf.file
	filled(t, f)
	same(t, "site of a file", w.shelf.site.ID, f.SiteID)
	one(t, "file", f, w.inSite().File, f.ID)
	f.Filename, f.ContentType, f.UpdatedAt = "other.txt", "text/plain", at(9)
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error { return tx.UpdateFile(ctx, &f) })
	one(t, "changed file", f, w.inSite().File, f.ID)
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error { return tx.DeleteFile(ctx, f.ID) })
	for what, err := range map[string]error{
		"reading":  errOf(w.inSite().File(t.Context(), f.ID)),
		"updating": w.tryKB(t, func(ctx context.Context, tx kb.Tx) error { return tx.UpdateFile(ctx, &f) }),
		"deleting": w.tryKB(t, func(ctx context.Context, tx kb.Tx) error { return tx.DeleteFile(ctx, f.ID) }),
	} {
		fails(t, what+" a deleted file", err, fault.NotFound)
	}
}

func errOf[T any](_ T, err error) error { return err }

func testTheme(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	theme := w.shelf.theme
	filled(t, theme, "UpdateAvailable")
	one(t, "theme", theme, w.inSite().Theme, theme.ID)
	theme.Name, theme.IsActive, theme.Source, theme.Version, theme.Revision, theme.UpdatedAt = "other", false, "", "", 4, at(9)
	given := theme
	given.UpdateAvailable = true // is nothing that is stored
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error {
		locked, err := tx.ThemeForUpdate(ctx, theme.ID)
		ok(t, err)
		same(t, "theme to be changed", w.shelf.theme, locked)
		return tx.UpdateTheme(ctx, &given)
	})
	one(t, "changed theme", theme, w.inSite().Theme, theme.ID)
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error { return tx.DeleteTheme(ctx, theme.ID) })
	for what, err := range map[string]error{
		"reading":       errOf(w.inSite().Theme(t.Context(), theme.ID)),
		"reading files": errOf(w.inSite().ThemeFile(t.Context(), theme.ID, w.shelf.themeFile.Path)),
		"locking":       w.tryKB(t, func(ctx context.Context, tx kb.Tx) error { return errOf(tx.ThemeForUpdate(ctx, theme.ID)) }),
		"updating":      w.tryKB(t, func(ctx context.Context, tx kb.Tx) error { return tx.UpdateTheme(ctx, &theme) }),
		"deleting":      w.tryKB(t, func(ctx context.Context, tx kb.Tx) error { return tx.DeleteTheme(ctx, theme.ID) }),
		"adding a file to": w.tryKB(t, func(ctx context.Context, tx kb.Tx) error {
			f := w.newThemeFile("assets/b")
			return tx.InsertThemeFiles(ctx, theme.ID, []*kb.ThemeFile{&f})
		}),
	} {
		fails(t, what+" a deleted theme", err, fault.NotFound)
	}
}

func testThemeFile(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	theme, f := w.shelf.theme.ID, w.shelf.themeFile
	filled(t, f)
	find := func(path string) (kb.ThemeFile, error) { return w.inSite().ThemeFile(t.Context(), theme, path) }
	got, err := find(f.Path)
	ok(t, err)
	same(t, "file of a theme", f, got)
	for _, path := range []string{"assets/A.css", "assets/a.css ", "", "assets/%"} {
		fails(t, "path "+path, errOf(find(path)), fault.NotFound)
	}
	f.Size, f.Hash, f.BlobKey, f.UpdatedAt = 8, "11", "blobs/other", at(9)
	other := w.newThemeFile("assets/A.css")
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error {
		ok(t, tx.UpdateThemeFile(ctx, &f))
		return tx.InsertThemeFiles(ctx, theme, []*kb.ThemeFile{&other})
	})
	got, err = find(f.Path)
	ok(t, err)
	same(t, "changed file of a theme", f, got)
	for what, fn := range map[string]kbFunc{
		"inserting": func(ctx context.Context, tx kb.Tx) error {
			again := w.newThemeFile(f.Path)
			return tx.InsertThemeFiles(ctx, theme, []*kb.ThemeFile{&again})
		},
		"updating": func(ctx context.Context, tx kb.Tx) error {
			again := other
			again.Path = f.Path
			return tx.UpdateThemeFile(ctx, &again)
		},
	} {
		conflicts(t, what+" a path that is taken", w.tryKB(t, fn), kb.UniqueThemeFile)
	}
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error {
		ok(t, tx.DeleteThemeFiles(ctx, theme, nil))
		return tx.DeleteThemeFiles(ctx, theme, []int64{f.ID, nobody})
	})
	fails(t, "a deleted file", errOf(find(f.Path)), fault.NotFound)
	_, err = find(other.Path)
	ok(t, err)
	fails(t, "updating a deleted file", w.tryKB(t, func(ctx context.Context, tx kb.Tx) error { return tx.UpdateThemeFile(ctx, &f) }), fault.NotFound)
}

// A site has one active theme, or none.
func testActiveTheme(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	second, bare := w.newTheme("second"), w.newTheme("bare")
	bare.IsActive = true
	inBare := kb.Scope{AccountID: w.account.ID, SiteID: w.shelf.bare.ID}
	fails(t, "a site without themes", errOf(w.KB.Within(inBare).ActiveTheme(t.Context())), fault.NotFound)
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error { return tx.InsertTheme(ctx, &second) })
	w.kb(t, inBare, func(ctx context.Context, tx kb.Tx) error { return tx.InsertTheme(ctx, &bare) })
	second.IsActive = true
	conflicts(t, "a second active theme", w.tryKB(t, func(ctx context.Context, tx kb.Tx) error { return tx.UpdateTheme(ctx, &second) }), kb.UniqueActiveTheme)
	conflicts(t, "a new active theme", w.tryKB(t, func(ctx context.Context, tx kb.Tx) error {
		theme := w.newTheme("third")
		theme.IsActive = true
		return tx.InsertTheme(ctx, &theme)
	}), kb.UniqueActiveTheme)
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error {
		old, err := tx.ActiveTheme(ctx)
		ok(t, err)
		same(t, "active theme", w.shelf.theme, old)
		old.IsActive = false
		ok(t, tx.UpdateTheme(ctx, &old))
		return tx.UpdateTheme(ctx, &second)
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
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error { return tx.InsertThemeFiles(ctx, w.shelf.theme.ID, files) })
	got, err := w.inSite().ThemeFiles(t.Context(), w.shelf.theme.ID, storage.Seek{Limit: 4000})
	ok(t, err)
	want := []kb.ThemeFile{w.shelf.themeFile}
	for _, f := range files {
		want = append(want, *f)
	}
	same(t, "many files", want, got)
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error {
		return tx.DeleteThemeFiles(ctx, w.shelf.theme.ID, ids(got, func(f kb.ThemeFile) int64 { return f.ID }))
	})
	got, err = w.inSite().ThemeFiles(t.Context(), w.shelf.theme.ID, all())
	ok(t, err)
	same(t, "files after all were deleted", 0, len(got))
}

func testDecorPages(t *testing.T, b Backend) {
	w, _ := newLibrary(t, b), newLibrary(t, b)
	var files []kb.File
	var themes []kb.Theme
	var themeFiles []kb.ThemeFile
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error {
		files, themes, themeFiles = []kb.File{w.shelf.file}, []kb.Theme{w.shelf.theme}, []kb.ThemeFile{w.shelf.themeFile}
		for n := range 4 {
			f, theme, tf := w.newFile(fmt.Sprint(n)), w.newTheme(fmt.Sprint(n)), w.newThemeFile(fmt.Sprint("assets/", 9-n))
			ok(t, tx.InsertFile(ctx, &f))
			ok(t, tx.InsertTheme(ctx, &theme))
			ok(t, tx.InsertThemeFiles(ctx, w.shelf.theme.ID, []*kb.ThemeFile{&tf}))
			files, themes, themeFiles = append(files, f), append(themes, theme), append(themeFiles, tf)
		}
		return nil
	})
	r := w.inSite()
	checkPages(t, files, func(f kb.File) storage.Position { return storage.Position{ID: f.ID} },
		func(s storage.Seek) ([]kb.File, error) { return r.Files(t.Context(), s) })
	checkPages(t, themes, func(t kb.Theme) storage.Position { return storage.Position{ID: t.ID} },
		func(s storage.Seek) ([]kb.Theme, error) { return r.Themes(t.Context(), s) })
	checkPages(t, themeFiles, func(f kb.ThemeFile) storage.Position { return storage.Position{ID: f.ID} },
		func(s storage.Seek) ([]kb.ThemeFile, error) { return r.ThemeFiles(t.Context(), w.shelf.theme.ID, s) })
}

// Files and themes go with their site, and there is nothing to add to a site that is
// not there, or to an account as such.
func testDecorSite(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	add := func(scope kb.Scope) (file, theme error) {
		f, th := w.newFile("x"), w.newTheme("x")
		file = w.KB.InTx(t.Context(), scope, func(ctx context.Context, tx kb.Tx) error { return tx.InsertFile(ctx, &f) })
		theme = w.KB.InTx(t.Context(), scope, func(ctx context.Context, tx kb.Tx) error { return tx.InsertTheme(ctx, &th) })
		return file, theme
	}
	check := func(what string, scope kb.Scope) {
		file, theme := add(scope)
		fails(t, "a file in "+what, file, fault.NotFound)
		fails(t, "a theme in "+what, theme, fault.NotFound)
	}
	check("an account", kb.Scope{AccountID: w.account.ID})
	w.kb(t, kb.Scope{AccountID: w.account.ID}, func(ctx context.Context, tx kb.Tx) error { return tx.DeleteSite(ctx, w.shelf.site.ID) })
	check("a deleted site", w.shelf.scope)
	for what, err := range map[string]error{
		"file":            errOf(w.inSite().File(t.Context(), w.shelf.file.ID)),
		"theme":           errOf(w.inSite().Theme(t.Context(), w.shelf.theme.ID)),
		"active theme":    errOf(w.inSite().ActiveTheme(t.Context())),
		"file of a theme": errOf(w.inSite().ThemeFile(t.Context(), w.shelf.theme.ID, w.shelf.themeFile.Path)),
	} {
		fails(t, what+" of a deleted site", err, fault.NotFound)
	}
}

func decorReads() map[string]readProbeOf[kb.Reader] {
	type r = kb.Reader
	return map[string]readProbeOf[kb.Reader]{
		"File": {ofSite, true, func(ctx context.Context, r r, v *world) (any, error) { return answer(r.File(ctx, v.shelf.file.ID)) }},
		"FilesByID": {ofSite, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.FilesByID(ctx, []int64{v.shelf.file.ID}))
		}},
		"Files": {ofSite, false, func(ctx context.Context, r r, _ *world) (any, error) { return answer(r.Files(ctx, all())) }},
		"Theme": {ofSite, true, func(ctx context.Context, r r, v *world) (any, error) { return answer(r.Theme(ctx, v.shelf.theme.ID)) }},
		"Themes": {ofSite, false, func(ctx context.Context, r r, _ *world) (any, error) {
			return answer(r.Themes(ctx, all()))
		}},
		"ActiveTheme": {ofSite, false, func(ctx context.Context, r r, _ *world) (any, error) { return answer(r.ActiveTheme(ctx)) }},
		"ThemeFile": {ofSite, true, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.ThemeFile(ctx, v.shelf.theme.ID, v.shelf.themeFile.Path))
		}},
		"ThemeFiles": {ofSite, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.ThemeFiles(ctx, v.shelf.theme.ID, all()))
		}},
	}
}

func decorWrites() map[string]writeProbeOf[kb.Tx] {
	type tx = kb.Tx
	return map[string]writeProbeOf[kb.Tx]{
		"UpdateFile": {level: ofSite, call: func(ctx context.Context, tx tx, v *world) error {
			f := v.shelf.file
			f.Filename = "stolen"
			return tx.UpdateFile(ctx, &f)
		}},
		"DeleteFile": {level: ofSite, call: func(ctx context.Context, tx tx, v *world) error { return tx.DeleteFile(ctx, v.shelf.file.ID) }},
		"ThemeForUpdate": {level: ofSite, call: func(ctx context.Context, tx tx, v *world) error {
			return errOf(tx.ThemeForUpdate(ctx, v.shelf.theme.ID))
		}},
		"UpdateTheme": {level: ofSite, call: func(ctx context.Context, tx tx, v *world) error {
			theme := v.shelf.theme
			theme.Name, theme.IsActive = "stolen", false
			return tx.UpdateTheme(ctx, &theme)
		}},
		"DeleteTheme": {level: ofSite, call: func(ctx context.Context, tx tx, v *world) error { return tx.DeleteTheme(ctx, v.shelf.theme.ID) }},
		"InsertThemeFiles": {level: ofSite, call: func(ctx context.Context, tx tx, v *world) error {
			f := v.newThemeFile("assets/stolen")
			return tx.InsertThemeFiles(ctx, v.shelf.theme.ID, []*kb.ThemeFile{&f})
		}},
		"UpdateThemeFile": {level: ofSite, call: func(ctx context.Context, tx tx, v *world) error {
			f := v.shelf.themeFile
			f.Hash = "stolen"
			return tx.UpdateThemeFile(ctx, &f)
		}},
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
	return []operation{
		{method: "File", args: []any{file}},
		{method: "FilesByID", args: []any{idList{"File", []int64{file.n, nobody}}}},
		{method: "Files", args: []any{ordered{g.from(seek, "File"), "File"}}},
		{method: "Theme", args: []any{theme}},
		{method: "Themes", args: []any{ordered{g.from(seek, "Theme"), "Theme"}}},
		{method: "ActiveTheme"},
		{method: "ThemeFile", args: []any{theme, g.themePath()}},
		{method: "ThemeFiles", args: []any{theme, ordered{g.from(seek, "ThemeFile"), "ThemeFile"}}},
	}
}

// writeDecor changes files and themes of a site.
func (g *generator) writeDecor(seen library) operation {
	old, theme, file := oneOf(g, seen.Files), oneOf(g, seen.Themes), oneOf(g, seen.ThemeFiles)
	themeID := g.either("Theme", theme.ID)
	switch g.IntN(10) {
	case 0, 1:
		return operation{method: "InsertFile", args: []any{&kb.File{Filename: g.text(), Size: int64(g.IntN(9)), CreatedAt: g.time(false), UpdatedAt: g.time(false)}}}
	case 2:
		old.Filename, old.ID, old.CreatedAt, old.UpdatedAt = g.text(), g.either("File", old.ID).n, g.time(false), g.time(false)
		return operation{method: "UpdateFile", args: []any{&old}}
	case 3:
		return operation{method: "DeleteFile", args: []any{g.either("File", old.ID)}}
	case 4, 5:
		made := kb.Theme{Name: g.text(), IsActive: g.IntN(3) == 0, Revision: int64(g.IntN(4)), CreatedAt: g.time(false), UpdatedAt: g.time(false)}
		return operation{method: "InsertTheme", args: []any{&made}, clash: true}
	case 6:
		theme.ID, theme.IsActive, theme.CreatedAt, theme.UpdatedAt = themeID.n, g.IntN(2) == 0, g.time(false), g.time(false)
		return operation{method: "UpdateTheme", args: []any{&theme}, clash: true}
	case 7:
		if g.IntN(2) == 0 {
			return operation{method: "DeleteTheme", args: []any{themeID}}
		}
		return operation{method: "DeleteThemeFiles", args: []any{themeID, some(g, "ThemeFile", seen.ThemeFiles, themeFileID)}}
	case 8:
		file.ID, file.Path, file.Hash, file.CreatedAt, file.UpdatedAt = g.either("ThemeFile", file.ID).n, g.themePath(), g.text(), g.time(false), g.time(false)
		return operation{method: "UpdateThemeFile", args: []any{&file}, clash: true}
	default:
		added := []*kb.ThemeFile{{Path: g.themePath(), Hash: g.text(), Size: int64(g.IntN(9)), CreatedAt: g.time(false), UpdatedAt: g.time(false)}}
		return operation{method: "InsertThemeFiles", args: []any{themeID, added}, clash: true}
	}
}
