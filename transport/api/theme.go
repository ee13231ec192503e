package api

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
	"github.com/helpwright/helpwright/transport"
)

// siteTheme as the API shows it.
type siteTheme struct {
	ID               int64          `json:"id"`
	Name             string         `json:"name"`
	IsActive         bool           `json:"is_active" description:"Whether it is the site's current theme. A site without one uses the built-in theme."`
	PreviewURL       *string        `json:"preview_url" description:"Deprecated. URL that previews the site in this theme for a day, for everybody who has it."`
	IframePreviewURL *string        `json:"iframe_preview_url" description:"Deprecated. Like preview_url, for framing by pages of this service."`
	UpdateAvailable  bool           `json:"update_available" description:"Whether a newer version of this first-party theme is available."`
	CreatedAt        transport.Time `json:"created_at"`
	UpdatedAt        transport.Time `json:"updated_at"`
}

type themeInput struct {
	Name string `json:"name" maxLength:"200" example:"Autumn"`
}

type themeUpload struct {
	Zip  *transport.Upload `json:"zip" required:"true"`
	Name string            `json:"name" maxLength:"200" description:"Default: the name in the archive's theme.json, else the archive's file name."`
}

type themeID struct {
	ThemeID int64 `path:"theme_id"`
}

const (
	themesPath = sitePath + "/themes"
	themePath  = themesPath + "/{theme_id}"
)

func (a *api) addThemes(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Themes", Summary: summary, Description: description}
	}
	create := op("createTheme", http.MethodPost, themesPath, "Create a theme",
		"Creates it with the files of the built-in theme. It is not active yet. Needs themes.create.")
	create.Status = http.StatusCreated
	transport.Handle(t, a.editor, create, func(ctx context.Context, e *kb.Editor, in themeInput) (siteTheme, error) {
		return a.showTheme(e)(e.CreateTheme(ctx, in.Name))
	})
	transport.HandlePage(t, a.editor, op("listThemes", http.MethodGet, themesPath, "List the themes of a site", "Oldest first. Needs themes.view."),
		func(ctx context.Context, e *kb.Editor, in transport.Paging) (storage.Page[siteTheme], error) {
			page, err := e.Themes(ctx, in.Request())
			return mapPage(page, func(t kb.Theme) siteTheme { return a.themeShown(e, t) }), err
		})
	transport.Handle(t, a.editor, op("getTheme", http.MethodGet, themePath, "Retrieve a theme", "Needs themes.view."),
		func(ctx context.Context, e *kb.Editor, in themeID) (siteTheme, error) {
			return a.showTheme(e)(e.Theme(ctx, in.ThemeID))
		})
	transport.HandleEmpty(t, a.editor, op("deleteTheme", http.MethodDelete, themePath, "Delete a theme",
		"409 for the active one. Needs themes.delete."),
		func(ctx context.Context, e *kb.Editor, in themeID) error { return e.DeleteTheme(ctx, in.ThemeID) })
	transport.Handle(t, a.editor, op("updateTheme", http.MethodPost, themePath+"/update", "Update a first-party theme",
		"Replaces all files of a first-party theme with those of the newer version, including changed ones. Does nothing without "+
			"a pending update. 409 for other themes. Needs themes.update."),
		func(ctx context.Context, e *kb.Editor, in themeID) (siteTheme, error) {
			return a.showTheme(e)(e.UpdateTheme(ctx, in.ThemeID))
		})
	transport.Handle(t, a.editor, op("activateTheme", http.MethodPost, themePath+"/activate", "Activate a theme",
		"The previous theme becomes inactive. Needs themes.update."),
		func(ctx context.Context, e *kb.Editor, in themeID) (siteTheme, error) {
			return a.showTheme(e)(e.ActivateTheme(ctx, in.ThemeID))
		})
	upload := op("uploadTheme", http.MethodPost, themesPath+"/upload", "Upload a theme",
		"multipart/form-data with a zip archive of at most 30 MB: templates/ with at least layout.html and article.html, assets/ "+
			"and theme.json; at most 2,000 files and 100 MB unpacked. 422 names the invalid entry, the reason and the template line; "+
			"nothing changes then. Needs themes.create.")
	upload.Status, upload.MaxBody, upload.Location = http.StatusCreated, theme.MaxArchive+multipartRoom, themesPath+"/{id}"
	transport.Handle(t, a.editor, upload, a.uploadTheme)
	transport.HandleContent(t, a.editor, op("downloadTheme", http.MethodGet, themePath+"/download", "Download a theme",
		"A zip archive that can be uploaded again. The same files give the same bytes. Needs themes.view."), a.downloadTheme)
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

// downloadTheme makes the archive in a temporary file, as it may be large and clients may request ranges.
func (a *api) downloadTheme(ctx context.Context, e *kb.Editor, in themeID) (transport.Content, error) {
	file, err := os.CreateTemp("", "helpwright-theme-*")
	if err != nil {
		return transport.Content{}, fault.Wrap(fault.Unavailable, "downloading a theme", err)
	}
	body := tempFile{file}
	sum := sha256.New()
	found, err := e.DownloadTheme(ctx, in.ThemeID, io.MultiWriter(file, sum))
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = body.Close()
		return transport.Content{}, err
	}
	return transport.Content{
		Name: filetype.SafeName(found.Name + ".zip"), Type: "application/zip", ModTime: found.UpdatedAt,
		ETag: hex.EncodeToString(sum.Sum(nil)), Body: body,
	}, nil
}

// tempFile is removed when it is closed.
type tempFile struct{ *os.File }

func (f tempFile) Close() error { return errors.Join(f.File.Close(), os.Remove(f.Name())) }

func (a *api) showTheme(e *kb.Editor) func(kb.Theme, error) (siteTheme, error) {
	return func(t kb.Theme, err error) (siteTheme, error) { return a.themeShown(e, t), err }
}

func (a *api) themeShown(e *kb.Editor, t kb.Theme) siteTheme {
	out := siteTheme{
		ID: t.ID, Name: t.Name, IsActive: t.IsActive, UpdateAvailable: t.UpdateAvailable, CreatedAt: transport.Time(t.CreatedAt), UpdatedAt: transport.Time(t.UpdatedAt),
	}
	if a.previewTheme != nil && t.ID != 0 {
		address := a.previewTheme(e.URL(), e.SiteID(), t.ID)
		out.PreviewURL, out.IframePreviewURL = &address, &address
	}
	return out
}

// Stable returns the theme without its preview, whose address changes each time.
func (t siteTheme) Stable() any {
	t.PreviewURL, t.IframePreviewURL = nil, nil
	return t
}
