package transport

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"os"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/theme"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/filetype"
)

// siteTheme as the API shows it.
type siteTheme struct {
	ID               int64   `json:"id"`
	Name             string  `json:"name"`
	IsActive         bool    `json:"is_active" description:"The site's current theme. A site without one looks like the built-in theme."`
	PreviewURL       *string `json:"preview_url" description:"Deprecated. Where the site can be looked at in the theme, by whoever has the address, for a day."`
	IframePreviewURL *string `json:"iframe_preview_url" description:"Deprecated. The same, to be framed by pages of this service."`
	UpdateAvailable  bool    `json:"update_available" description:"There is a later version of the first-party theme that it is."`
	CreatedAt        Time    `json:"created_at"`
	UpdatedAt        Time    `json:"updated_at"`
}

type themeInput struct {
	Name string `json:"name" maxLength:"200" example:"Autumn"`
}

type themeUpload struct {
	Zip  *Upload `json:"zip" required:"true"`
	Name string  `json:"name" maxLength:"200" description:"When left out, what theme.json in the archive says, else the name of the archive."`
}

type themeID struct {
	ThemeID int64 `path:"theme_id"`
}

const (
	themesPath = sitePath + "/themes"
	themePath  = themesPath + "/{theme_id}"
)

func (a *api) addThemes(t *Table) {
	op := func(id, method, path, summary, description string) Operation {
		return Operation{ID: id, Method: method, Path: path, Tag: "Themes", Summary: summary, Description: description}
	}
	create := op("createTheme", http.MethodPost, themesPath, "Create a theme",
		"With the files of the built-in theme. It is not active yet. Needs themes.create.")
	create.Status = http.StatusCreated
	Handle(t, a.editor, create, func(ctx context.Context, e *kb.Editor, in themeInput) (siteTheme, error) {
		return a.showTheme(e)(e.CreateTheme(ctx, in.Name))
	})
	HandlePage(t, a.editor, op("listThemes", http.MethodGet, themesPath, "List the themes of a site", "Oldest first. Needs themes.view."),
		func(ctx context.Context, e *kb.Editor, in Paging) (storage.Page[siteTheme], error) {
			page, err := e.Themes(ctx, in.Request())
			return mapPage(page, func(t kb.Theme) siteTheme { return a.themeShown(e, t) }), err
		})
	Handle(t, a.editor, op("getTheme", http.MethodGet, themePath, "Retrieve a theme", "Needs themes.view."),
		func(ctx context.Context, e *kb.Editor, in themeID) (siteTheme, error) {
			return a.showTheme(e)(e.Theme(ctx, in.ThemeID))
		})
	HandleEmpty(t, a.editor, op("deleteTheme", http.MethodDelete, themePath, "Delete a theme",
		"409 for the active one. Needs themes.delete."),
		func(ctx context.Context, e *kb.Editor, in themeID) error { return e.DeleteTheme(ctx, in.ThemeID) })
	Handle(t, a.editor, op("updateTheme", http.MethodPost, themePath+"/update", "Apply the pending update",
		"Replaces all files of a first-party theme by those of the later version, also those that were changed. Without a pending update nothing happens. "+
			"409 for a theme that is no first-party one. Needs themes.update."),
		func(ctx context.Context, e *kb.Editor, in themeID) (siteTheme, error) {
			return a.showTheme(e)(e.UpdateTheme(ctx, in.ThemeID))
		})
	Handle(t, a.editor, op("activateTheme", http.MethodPost, themePath+"/activate", "Make a theme the site's current one",
		"The one that was is not active any more. Needs themes.update."),
		func(ctx context.Context, e *kb.Editor, in themeID) (siteTheme, error) {
			return a.showTheme(e)(e.ActivateTheme(ctx, in.ThemeID))
		})
	upload := op("uploadTheme", http.MethodPost, themesPath+"/upload", "Upload a theme",
		"multipart/form-data with a zip archive of at most 30 MB: templates/ with at least layout.html and article.html, assets/ and theme.json, at most 2,000 files "+
			"and 100 MB unpacked. 422 says which entry is wrong and why, and in which line of a template; nothing is changed then. Needs themes.create.")
	upload.Status, upload.MaxBody, upload.Location = http.StatusCreated, theme.MaxArchive+multipartRoom, themesPath+"/{id}"
	Handle(t, a.editor, upload, a.uploadTheme)
	HandleContent(t, a.editor, op("downloadTheme", http.MethodGet, themePath+"/download", "Download a theme",
		"As a zip archive that can be uploaded again; the same files give the same bytes. Needs themes.view."), a.downloadTheme)
}

func (a *api) uploadTheme(ctx context.Context, e *kb.Editor, in themeUpload) (siteTheme, error) {
	if in.Zip == nil {
		return siteTheme{}, fault.Field("zip", "is required")
	}
	content, err := in.Zip.Open()
	if err != nil {
		return siteTheme{}, fault.Wrap(fault.Internal, "opening an upload", err)
	}
	defer content.Close()
	return a.showTheme(e)(e.UploadTheme(ctx, kb.ThemeUpload{Name: in.Name, Filename: in.Zip.Filename, Archive: content, Size: in.Zip.Size}))
}

// downloadTheme makes the archive in a temporary file, as it may be large and ranges
// of it may be asked for.
func (a *api) downloadTheme(ctx context.Context, e *kb.Editor, in themeID) (Content, error) {
	file, err := os.CreateTemp("", "helpwright-theme-*")
	if err != nil {
		return Content{}, fault.Wrap(fault.Unavailable, "downloading a theme", err)
	}
	body := tempFile{file}
	sum := sha256.New()
	found, err := e.DownloadTheme(ctx, in.ThemeID, io.MultiWriter(file, sum))
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = body.Close()
		return Content{}, err
	}
	return Content{
		Name: filetype.SafeName(found.Name + ".zip"), Type: "application/zip", ModTime: found.UpdatedAt,
		ETag: hex.EncodeToString(sum.Sum(nil)), Body: body,
	}, nil
}

// tempFile goes when it is closed.
type tempFile struct{ *os.File }

func (f tempFile) Close() error { return errors.Join(f.File.Close(), os.Remove(f.Name())) }

func (a *api) showTheme(e *kb.Editor) func(kb.Theme, error) (siteTheme, error) {
	return func(t kb.Theme, err error) (siteTheme, error) { return a.themeShown(e, t), err }
}

func (a *api) themeShown(e *kb.Editor, t kb.Theme) siteTheme {
	out := siteTheme{
		ID: t.ID, Name: t.Name, IsActive: t.IsActive, UpdateAvailable: t.UpdateAvailable, CreatedAt: Time(t.CreatedAt), UpdatedAt: Time(t.UpdatedAt),
	}
	if a.previewTheme != nil && t.ID != 0 {
		address := a.previewTheme(e.URL(), e.SiteID(), t.ID)
		out.PreviewURL, out.IframePreviewURL = &address, &address
	}
	return out
}

// Stable is the theme without its preview, whose address is another one each time.
func (t siteTheme) Stable() any {
	t.PreviewURL, t.IframePreviewURL = nil, nil
	return t
}
