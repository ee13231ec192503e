package kb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/cases"

	"github.com/helpwright/helpwright/kb/theme"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// ThemeFile is a file of a theme. Its bytes are a blob.
type ThemeFile struct {
	ID        int64
	SiteID    int64
	ThemeID   int64
	Path      string // as [theme.CleanPath] returns it
	Size      int64  // bytes
	Hash      string // SHA-256 of the content, in hexadecimal digits
	BlobKey   string
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Version returns the beginning of the hash. The content at an address that contains it never changes.
func (f ThemeFile) Version() string { return f.Hash[:min(len(f.Hash), 12)] }

// IsPublic reports whether anyone may read the file.
func (f ThemeFile) IsPublic() bool { return theme.IsAsset(f.Path) }

// ThemeFiles lists the files of a theme in the order they were added. It needs themes.view.
func (e *Editor) ThemeFiles(ctx context.Context, themeID int64, req storage.PageRequest) (storage.Page[ThemeFile], error) {
	r, err := e.guard.Read(ThemesView)
	if err != nil {
		return storage.Page[ThemeFile]{}, err
	}
	if _, err := r.Themes().Get(ctx, themeID); err != nil {
		return storage.Page[ThemeFile]{}, err
	}
	return storage.List(req, false, func(f ThemeFile) storage.Position { return storage.Position{ID: f.ID} },
		func(seek storage.Seek) ([]ThemeFile, error) {
			return r.ThemeFiles().List(ctx, ThemeFileFilter{ThemeID: themeID}, seek)
		})
}

// ThemeFile returns a file of a theme and its content. It needs themes.view.
func (e *Editor) ThemeFile(ctx context.Context, themeID int64, path string) (ThemeFile, []byte, error) {
	r, err := e.guard.Read(ThemesView)
	if err != nil {
		return ThemeFile{}, nil, err
	}
	f, err := findThemeFile(ctx, r, themeID, path)
	if err != nil {
		return ThemeFile{}, nil, err
	}
	content, err := e.content(ctx, f)
	return f, content, err
}

func findThemeFile(ctx context.Context, r Reader, themeID int64, path string) (ThemeFile, error) {
	if _, err := r.Themes().Get(ctx, themeID); err != nil {
		return ThemeFile{}, err
	}
	if clean, err := theme.CleanPath(path); err == nil {
		path = clean
	}
	return r.ThemeFileByPath(ctx, themeID, plain.Text(path))
}

func (e *Editor) content(ctx context.Context, f ThemeFile) ([]byte, error) {
	from, err := e.svc.cfg.Blobs.Get(ctx, f.BlobKey)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	return io.ReadAll(from)
}

// errMoved is the error of a change that was checked against files that have changed since.
var errMoved = fault.New(fault.Conflict, "Someone else is changing the theme. Try again.")

// attempts is how often a change is checked again after a concurrent change.
const attempts = 4

// PutThemeFile creates or replaces a file of a theme. With nil content it leaves an existing file as it is, and creates an
// empty one otherwise. An invalid path, a file beyond the limits of [theme.Open], and a template that [theme.Compile]
// refuses are Invalid faults. It needs themes.update.
func (e *Editor) PutThemeFile(ctx context.Context, themeID int64, path string, content []byte) (ThemeFile, []byte, error) {
	begin, err := e.guard.Write(ThemesUpdate)
	if err != nil {
		return ThemeFile{}, nil, err
	}
	r, err := e.guard.Read(ThemesUpdate)
	if err != nil {
		return ThemeFile{}, nil, err
	}
	for range attempts {
		if f, now, err := e.putThemeFile(ctx, r, begin, themeID, path, content); !errors.Is(err, errMoved) {
			return f, now, err
		}
	}
	return ThemeFile{}, nil, errMoved
}

// invalid turns a *theme.Problem into a problem of a field.
func invalid(field string, err error) error {
	if p, ok := errors.AsType[*theme.Problem](err); ok {
		return fault.Field(field, p.Error())
	}
	return err
}

// putThemeFile tries once. It returns errMoved when the theme was changed meanwhile.
func (e *Editor) putThemeFile(ctx context.Context, r Reader, begin beginTx, themeID int64, path string, content []byte) (ThemeFile, []byte, error) {
	t, err := r.Themes().Get(ctx, themeID)
	if err != nil {
		return ThemeFile{}, nil, err
	}
	if path, err = theme.CleanPath(path); err != nil {
		return ThemeFile{}, nil, invalid("file", err)
	}
	files, err := r.ThemeFiles().List(ctx, ThemeFileFilter{ThemeID: themeID}, everyFile())
	if err != nil {
		return ThemeFile{}, nil, err
	}
	at := slices.IndexFunc(files, func(f ThemeFile) bool { return f.Path == path })
	if at >= 0 && content == nil {
		content, err = e.content(ctx, files[at])
		return files[at], content, err
	}
	if err := e.checkThemeFile(ctx, files, at, path, content); err != nil {
		return ThemeFile{}, nil, err
	}
	stored, err := e.shelve(ctx, e.svc.now(), func(fn fileFunc) error { return fn(path, bytes.NewReader(content)) })
	if err != nil {
		return ThemeFile{}, nil, err
	}
	f, old := *stored[0], ""
	if at >= 0 {
		f.ID, f.SiteID, f.ThemeID, f.CreatedAt, old = files[at].ID, files[at].SiteID, themeID, files[at].CreatedAt, files[at].BlobKey
	}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := e.touchTheme(ctx, tx, t, old); err != nil {
			return err
		}
		if old != "" {
			return tx.ThemeFiles().Update(ctx, &f)
		}
		return insertThemeFiles(ctx, tx, themeID, &f)
	})
	if err != nil {
		e.svc.discard(ctx, err, f.BlobKey)
		return ThemeFile{}, nil, err
	}
	return f, content, nil
}

// insertThemeFiles adds new files to a theme.
func insertThemeFiles(ctx context.Context, tx Tx, themeID int64, files ...*ThemeFile) error {
	for _, f := range files {
		f.ThemeID = themeID
	}
	return tx.ThemeFiles().Insert(ctx, files...)
}

// touchTheme increments a theme's revision if it is still the one that was read, and schedules a file that is no longer
// needed for deletion.
func (e *Editor) touchTheme(ctx context.Context, tx Tx, seen Theme, oldKey string) error {
	t, err := tx.Themes().Lock(ctx, seen.ID)
	if err != nil {
		return err
	}
	if t.Revision != seen.Revision {
		return errMoved
	}
	t.Revision++
	t.UpdatedAt = e.svc.now()
	if err := tx.Themes().Update(ctx, &t); err != nil {
		return err
	}
	if oldKey != "" {
		if err := tx.Enqueue(ctx, purgeKeys(e.site.AccountID, []string{oldKey})...); err != nil {
			return err
		}
	}
	return e.emit(ctx, tx, "theme.updated", t.ID)
}

// checkThemeFile checks a file that replaces the one at index at of files, or is a new one.
func (e *Editor) checkThemeFile(ctx context.Context, files []ThemeFile, at int, path string, content []byte) error {
	if err := theme.CheckFile(path, content); err != nil {
		return invalid("content", err)
	}
	total := int64(len(content))
	for i, f := range files {
		if i != at {
			total += f.Size
		}
	}
	if total > theme.MaxUnpacked {
		return fault.Field("content", "would make the theme larger than 100 MB")
	}
	if at < 0 {
		if len(files) >= theme.MaxFiles {
			return fault.Field("file", fmt.Sprintf("would exceed the limit of %d files per theme", theme.MaxFiles))
		}
		if slices.ContainsFunc(files, func(f ThemeFile) bool { return collide(f.Path, path) }) {
			return fault.Field("file", "already exists in different letter case, or as both a file and a folder")
		}
	}
	if !theme.IsTemplate(path) {
		return nil
	}
	templates, err := e.templates(ctx, files)
	if err != nil {
		return err
	}
	templates[path] = string(content)
	_, err = theme.Compile(templates)
	return invalid("content", err)
}

// collide reports whether two files cannot both exist on a case-insensitive file system.
func collide(a, b string) bool {
	fold := cases.Fold()
	a, b = fold.String(a), fold.String(b)
	return a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}

// templates reads the texts of a theme's templates.
func (e *Editor) templates(ctx context.Context, files []ThemeFile) (map[string]string, error) {
	texts := map[string]string{}
	for _, f := range files {
		if !theme.IsTemplate(f.Path) {
			continue
		}
		content, err := e.content(ctx, f)
		if err != nil {
			return nil, err
		}
		texts[f.Path] = string(content)
	}
	return texts, nil
}

// DeleteThemeFile deletes a file of a theme. A template that is required, or that another one calls, is a Conflict fault. It
// needs themes.update.
func (e *Editor) DeleteThemeFile(ctx context.Context, themeID int64, path string) error {
	begin, err := e.guard.Write(ThemesUpdate)
	if err != nil {
		return err
	}
	r, err := e.guard.Read(ThemesUpdate)
	if err != nil {
		return err
	}
	for range attempts {
		if err = e.deleteThemeFile(ctx, r, begin, themeID, path); !errors.Is(err, errMoved) {
			return err
		}
	}
	return errMoved
}

func (e *Editor) deleteThemeFile(ctx context.Context, r Reader, begin beginTx, themeID int64, path string) error {
	t, err := r.Themes().Get(ctx, themeID)
	if err != nil {
		return err
	}
	gone, err := findThemeFile(ctx, r, themeID, path)
	if err != nil {
		return err
	}
	if theme.IsTemplate(gone.Path) {
		files, err := r.ThemeFiles().List(ctx, ThemeFileFilter{ThemeID: themeID}, everyFile())
		if err != nil {
			return err
		}
		templates, err := e.templates(ctx, files)
		if err != nil {
			return err
		}
		delete(templates, gone.Path)
		if _, err := theme.Compile(templates); err != nil {
			return fault.Newf(fault.Conflict, "The theme needs this file: %v", err)
		}
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := e.touchTheme(ctx, tx, t, gone.BlobKey); err != nil {
			return err
		}
		return tx.DeleteThemeFiles(ctx, themeID, []int64{gone.ID})
	})
}
