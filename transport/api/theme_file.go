package api

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport"
)

// themeFile as the API shows it.
type themeFile struct {
	SiteThemeID int64          `json:"site_theme_id"`
	File        string         `json:"file" description:"Path within the theme, such as templates/article.html."`
	Content     *string        `json:"content,omitempty" description:"Content as Base64. Not in lists."`
	PublicURL   *string        `json:"public_url" description:"Public URL for files in assets/. Null for others."`
	Size        int64          `json:"size" description:"Size in bytes."`
	CreatedAt   transport.Time `json:"created_at"`
	UpdatedAt   transport.Time `json:"updated_at"`
}

type themeFileList struct {
	themeID
	transport.Paging
}

type themeFilePath struct {
	themeID
	FilePath string `path:"file_path"`
}

type themeFileInput struct {
	themeFilePath
	Content storage.Opt[string] `json:"content" description:"Content as Base64. Omitted, an existing file stays unchanged and a new one is empty."`
}

const (
	themeFilesPath  = themePath + "/files"
	themeFilePathOf = themeFilesPath + "/{file_path...}"
)

func (a *api) addThemeFiles(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Theme files", Summary: summary, Description: description}
	}
	transport.HandlePage(t, a.editor, op("listThemeFiles", http.MethodGet, themeFilesPath, "List the files of a theme",
		"Without content, in the order of creation. Needs themes.view."),
		func(ctx context.Context, e *kb.Editor, in themeFileList) (storage.Page[themeFile], error) {
			page, err := e.ThemeFiles(ctx, in.ThemeID, in.Request())
			return mapPage(page, a.showThemeFile), err
		})
	transport.Handle(t, a.editor, op("getThemeFile", http.MethodGet, themeFilePathOf, "Retrieve a file of a theme", "Needs themes.view."),
		func(ctx context.Context, e *kb.Editor, in themeFilePath) (themeFile, error) {
			return a.withContent(e.ThemeFile(ctx, in.ThemeID, in.FilePath))
		})
	transport.Handle(t, a.editor, op("putThemeFile", http.MethodPut, themeFilePathOf, "Create or replace a file of a theme",
		"422 for a path other than theme.json or below templates/ or assets/, and for a template that does not parse or calls a "+
			"forbidden function; the message names the line. Needs themes.update."), a.putThemeFile)
	transport.HandleEmpty(t, a.editor, op("deleteThemeFile", http.MethodDelete, themeFilePathOf, "Delete a file of a theme",
		"409 for a template that the theme needs. Needs themes.update."),
		func(ctx context.Context, e *kb.Editor, in themeFilePath) error {
			return e.DeleteThemeFile(ctx, in.ThemeID, in.FilePath)
		})
	asset := op("getThemeAsset", http.MethodGet, themePath+"/assets/{asset_path...}", "Download an asset of a theme",
		"The public_url of a theme file. Works without a token, even if the site is private. Supports ranges. Active content is sandboxed.")
	asset.Public = true
	transport.HandleContent(t, a.publicKnowledge, asset, a.getThemeAsset)
}

func (a *api) putThemeFile(ctx context.Context, e *kb.Editor, in themeFileInput) (themeFile, error) {
	var content []byte
	if text, given := in.Content.Get(); given {
		var err error
		if content, err = decodeBase64(text); err != nil {
			return themeFile{}, fault.Field("content", "must be Base64")
		}
	}
	return a.withContent(e.PutThemeFile(ctx, in.ThemeID, in.FilePath, content))
}

// decodeBase64 decodes both alphabets of RFC 4648, with and without padding and line breaks. It never returns nil without an
// error.
func decodeBase64(text string) ([]byte, error) {
	text = strings.NewReplacer("\r", "", "\n", "", " ", "", "\t", "", "-", "+", "_", "/").Replace(text)
	content, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	if content == nil {
		content = []byte{}
	}
	return content, err
}

type themeAsset struct {
	SiteID    int64  `path:"site_id"`
	ThemeID   int64  `path:"theme_id"`
	AssetPath string `path:"asset_path"`
	Version   string `query:"v" description:"Part of the content's hash. With it, the answer can be cached forever."`
}

func (a *api) getThemeAsset(ctx context.Context, svc *kb.Service, in themeAsset) (transport.Content, error) {
	found, err := svc.PublicAsset(ctx, in.SiteID, in.ThemeID, "assets/"+in.AssetPath, in.Version)
	if err != nil {
		return transport.Content{}, err
	}
	return publicContent(ctx, found)
}

func (a *api) withContent(f kb.ThemeFile, content []byte, err error) (themeFile, error) {
	out := a.showThemeFile(f)
	text := base64.StdEncoding.EncodeToString(content)
	out.Content = &text
	return out, err
}

func (a *api) showThemeFile(f kb.ThemeFile) themeFile {
	out := themeFile{SiteThemeID: f.ThemeID, File: f.Path, Size: f.Size, CreatedAt: transport.Time(f.CreatedAt), UpdatedAt: transport.Time(f.UpdatedAt)}
	if f.IsPublic() {
		segments := strings.Split(f.Path, "/")
		for i, s := range segments {
			segments[i] = url.PathEscape(s)
		}
		address := fmt.Sprintf("%s/sites/%d/themes/%d/%s", a.base, f.SiteID, f.ThemeID, strings.Join(segments, "/"))
		out.PublicURL = &address
	}
	return out
}
