package kb

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/kb/theme"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/filetype"
	"github.com/helpwright/helpwright/storage/plain"
)

// Theme is a set of templates and assets that a site is rendered with. At most one theme of a site is active; without an
// active theme the site uses Config.Theme.
type Theme struct {
	ID       int64
	SiteID   int64
	Name     string
	IsActive bool
	Source   string // name of the first-party theme it was created from, "" for any other
	Version  string // of Source
	Revision int64  // number of changes to its files
	// UpdateAvailable reports whether Config.Theme is a later version of Source. The service fills it in.
	UpdateAvailable bool
	CreatedAt       time.Time
	UpdatedAt       time.Time
}

// maxThemeName limits names, in characters.
const maxThemeName = 200

// shown fills in the fields that are not stored.
func (s *Service) shown(t Theme) Theme {
	t.UpdateAvailable = t.Source != "" && t.Source == s.cfg.Theme.Name && theme.Newer(s.cfg.Theme.Version, t.Version)
	return t
}

// CreateTheme creates a theme with the files of Config.Theme. With an empty name it takes the name of Config.Theme. It needs
// themes.create.
func (e *Editor) CreateTheme(ctx context.Context, name string) (Theme, error) {
	begin, err := e.guard.Write(ThemesCreate)
	if err != nil {
		return Theme{}, err
	}
	source := e.svc.cfg.Theme
	t := Theme{Name: plain.Line(name), Source: source.Name, Version: source.Version}
	if t.Name == "" {
		t.Name = source.Name
	}
	return e.createTheme(ctx, begin, t, eachOf(source))
}

// ThemeUpload is the archive of a new theme.
type ThemeUpload struct {
	Name     string // of the theme; "": from theme.json, otherwise the name of the file
	Filename string // of the archive
	Archive  io.ReaderAt
	Size     int64 // bytes of the archive
}

// UploadTheme creates a theme from a zip archive. An archive that [theme.Open] refuses is an Invalid fault that names the
// entry and the reason, an archive over 30 MB a TooLarge fault; nothing changes then. It needs themes.create.
func (e *Editor) UploadTheme(ctx context.Context, up ThemeUpload) (Theme, error) {
	begin, err := e.guard.Write(ThemesCreate)
	if err != nil {
		return Theme{}, err
	}
	if up.Archive == nil {
		return Theme{}, fault.Field("zip", "is required")
	}
	if up.Size > theme.MaxArchive {
		return Theme{}, fault.New(fault.TooLarge, "The archive is larger than 30 MB.")
	}
	archive, err := theme.Open(up.Archive, up.Size)
	if p, ok := errors.AsType[*theme.Problem](err); ok {
		return Theme{}, fault.Field("zip", p.Error())
	} else if err != nil {
		return Theme{}, err
	}
	t := Theme{Name: plain.Line(up.Name)}
	for _, name := range []string{archive.Description().Name, strings.TrimSuffix(filetype.SafeName(up.Filename), path.Ext(up.Filename)), "Theme"} {
		if t.Name == "" {
			t.Name = plain.Cut(plain.Line(name), maxThemeName)
		}
	}
	return e.createTheme(ctx, begin, t, func(fn fileFunc) error {
		return archive.Each(func(f theme.File, content io.Reader) error { return fn(f.Path, content) })
	})
}

// fileFunc takes a file of a theme, each an iterator over all of them.
type (
	fileFunc = func(path string, content io.Reader) error
	each     = func(fn fileFunc) error
)

func eachOf(source theme.Source) each {
	return func(fn fileFunc) error {
		for _, path := range slices.Sorted(maps.Keys(source.Files)) {
			if err := fn(path, bytes.NewReader(source.Files[path])); err != nil {
				return err
			}
		}
		return nil
	}
}

func (e *Editor) createTheme(ctx context.Context, begin beginTx, t Theme, files each) (Theme, error) {
	var problems fault.Collector
	visible(&problems, "name", t.Name)
	bounded(&problems, "name", t.Name, maxThemeName)
	if err := problems.Err(); err != nil {
		return Theme{}, err
	}
	t.Revision, t.CreatedAt = 1, e.svc.now()
	t.UpdatedAt = t.CreatedAt
	stored, err := e.shelve(ctx, t.CreatedAt, files)
	if err != nil {
		return Theme{}, err
	}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.Themes().Insert(ctx, &t); err != nil {
			return err
		}
		if err := insertThemeFiles(ctx, tx, t.ID, stored...); err != nil {
			return err
		}
		return e.emit(ctx, tx, "theme.created", t.ID)
	})
	if err != nil {
		e.svc.discard(ctx, err, blobKeys(stored)...)
		return Theme{}, err
	}
	return e.svc.shown(t), nil
}

// beginTx is a function that opens transactions.
type beginTx = func(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error

// shelve stores the bytes of files. When it fails, it leaves none of them behind.
func (e *Editor) shelve(ctx context.Context, now time.Time, files each) ([]*ThemeFile, error) {
	var stored []*ThemeFile
	prefix := sitePrefix(e.site.AccountID, e.site.ID) + "themes/" + strings.ToLower(rand.Text())
	err := files(func(path string, content io.Reader) error {
		f := &ThemeFile{Path: path, BlobKey: fmt.Sprintf("%s/%d", prefix, len(stored)), CreatedAt: now, UpdatedAt: now}
		stored = append(stored, f)
		sum := sha256.New()
		size, err := e.svc.cfg.Blobs.Put(ctx, f.BlobKey, io.TeeReader(content, sum))
		f.Size, f.Hash = size, hex.EncodeToString(sum.Sum(nil))
		return err
	})
	if err != nil {
		e.svc.discard(ctx, err, blobKeys(stored)...)
		return nil, err
	}
	return stored, nil
}

func blobKeys(files []*ThemeFile) []string {
	keys := make([]string, len(files))
	for i, f := range files {
		keys[i] = f.BlobKey
	}
	return keys
}

// Themes lists the themes of the site, oldest first. It needs themes.view.
func (e *Editor) Themes(ctx context.Context, req storage.PageRequest) (storage.Page[Theme], error) {
	r, err := e.guard.Read(ThemesView)
	if err != nil {
		return storage.Page[Theme]{}, err
	}
	page, err := storage.List(req, false, func(t Theme) storage.Position { return storage.Position{ID: t.ID} },
		func(seek storage.Seek) ([]Theme, error) { return r.Themes().List(ctx, storage.NoFilter{}, seek) })
	for i, t := range page.Items {
		page.Items[i] = e.svc.shown(t)
	}
	return page, err
}

// Theme returns a theme. It needs themes.view.
func (e *Editor) Theme(ctx context.Context, id int64) (Theme, error) {
	r, err := e.guard.Read(ThemesView)
	if err != nil {
		return Theme{}, err
	}
	t, err := r.Themes().Get(ctx, id)
	return e.svc.shown(t), err
}

// DeleteTheme deletes a theme with its files. Deleting the active theme is a Conflict fault. It needs themes.delete.
func (e *Editor) DeleteTheme(ctx context.Context, id int64) error {
	begin, err := e.guard.Write(ThemesDelete)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		t, err := tx.Themes().Lock(ctx, id)
		if err != nil {
			return err
		}
		if t.IsActive {
			return fault.New(fault.Conflict, "The active theme cannot be deleted. Activate another one first.")
		}
		files, err := tx.ThemeFiles().List(ctx, ThemeFileFilter{ThemeID: id}, everyFile())
		if err != nil {
			return err
		}
		if err := tx.Themes().Delete(ctx, id); err != nil {
			return err
		}
		if err := tx.Enqueue(ctx, purgeKeys(e.site.AccountID, keysOf(files))...); err != nil {
			return err
		}
		return e.emit(ctx, tx, "theme.deleted", id)
	})
}

// everyFile returns the Seek for all files of a theme.
func everyFile() storage.Seek { return storage.Seek{Limit: 2 * theme.MaxFiles} }

func keysOf(files []ThemeFile) []string {
	keys := make([]string, len(files))
	for i, f := range files {
		keys[i] = f.BlobKey
	}
	return keys
}

// ActivateTheme makes a theme the active one, in place of the former. It needs themes.update.
func (e *Editor) ActivateTheme(ctx context.Context, id int64) (Theme, error) {
	begin, err := e.guard.Write(ThemesUpdate)
	if err != nil {
		return Theme{}, err
	}
	var t Theme
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if _, err := tx.Sites().Lock(ctx, e.site.ID); err != nil { // one at a time
			return err
		}
		if t, err = tx.Themes().Lock(ctx, id); err != nil || t.IsActive {
			return err
		}
		now := e.svc.now()
		old, err := tx.ActiveTheme(ctx)
		if err == nil {
			old.IsActive, old.UpdatedAt = false, now
			err = tx.Themes().Update(ctx, &old)
		}
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		t.IsActive, t.UpdatedAt = true, now
		if err := tx.Themes().Update(ctx, &t); err != nil {
			return err
		}
		return e.emit(ctx, tx, "theme.activated", id)
	})
	return e.svc.shown(t), err
}

// UpdateTheme updates a first-party theme to the version of Config.Theme, replacing all its files, including modified ones.
// Without an available update it does nothing. A theme that is not first-party is a Conflict fault. It needs themes.update.
func (e *Editor) UpdateTheme(ctx context.Context, id int64) (Theme, error) {
	begin, err := e.guard.Write(ThemesUpdate)
	if err != nil {
		return Theme{}, err
	}
	r, err := e.guard.Read(ThemesUpdate)
	if err != nil {
		return Theme{}, err
	}
	t, err := r.Themes().Get(ctx, id)
	if err != nil {
		return Theme{}, err
	}
	if t.Source == "" || t.Source != e.svc.cfg.Theme.Name {
		return Theme{}, fault.New(fault.Conflict, "Only built-in themes can be updated.")
	}
	if t = e.svc.shown(t); !t.UpdateAvailable {
		return t, nil
	}
	stored, err := e.shelve(ctx, e.svc.now(), eachOf(e.svc.cfg.Theme))
	if err != nil {
		return Theme{}, err
	}
	applied := false
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if t, err = tx.Themes().Lock(ctx, id); err != nil {
			return err
		}
		if applied = e.svc.shown(t).UpdateAvailable; !applied { // another caller was faster
			return nil
		}
		return e.replaceFiles(ctx, tx, &t, stored)
	})
	if err != nil || !applied {
		e.svc.discard(ctx, err, blobKeys(stored)...)
	}
	return e.svc.shown(t), err
}

// replaceFiles replaces the files of a theme with those of Config.Theme.
func (e *Editor) replaceFiles(ctx context.Context, tx Tx, t *Theme, stored []*ThemeFile) error {
	old, err := tx.ThemeFiles().List(ctx, ThemeFileFilter{ThemeID: t.ID}, everyFile())
	if err != nil {
		return err
	}
	ids := make([]int64, len(old))
	for i, f := range old {
		ids[i] = f.ID
	}
	if err := tx.DeleteThemeFiles(ctx, t.ID, ids); err != nil {
		return err
	}
	if err := insertThemeFiles(ctx, tx, t.ID, stored...); err != nil {
		return err
	}
	t.Version, t.Revision, t.UpdatedAt = e.svc.cfg.Theme.Version, t.Revision+1, e.svc.now()
	if err := tx.Themes().Update(ctx, t); err != nil {
		return err
	}
	if err := tx.Enqueue(ctx, purgeKeys(e.site.AccountID, keysOf(old))...); err != nil {
		return err
	}
	return e.emit(ctx, tx, "theme.updated", t.ID)
}

// DownloadTheme writes a theme as a zip archive that [Editor.UploadTheme] accepts. The same files always give the same
// bytes. It needs themes.view.
func (e *Editor) DownloadTheme(ctx context.Context, id int64, w io.Writer) (Theme, error) {
	r, err := e.guard.Read(ThemesView)
	if err != nil {
		return Theme{}, err
	}
	t, err := r.Themes().Get(ctx, id)
	if err != nil {
		return Theme{}, err
	}
	files, err := r.ThemeFiles().List(ctx, ThemeFileFilter{ThemeID: id}, everyFile())
	if err != nil {
		return Theme{}, err
	}
	keys, list := map[string]string{}, make([]theme.File, len(files))
	for i, f := range files {
		keys[f.Path], list[i] = f.BlobKey, theme.File{Path: f.Path, Size: f.Size}
	}
	return e.svc.shown(t), theme.Write(w, list, func(path string) (io.ReadCloser, error) { return e.svc.cfg.Blobs.Get(ctx, keys[path]) })
}
