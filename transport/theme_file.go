package transport

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
)

// themeFile as the API shows it.
type themeFile struct {
	SiteThemeID int64   `json:"site_theme_id"`
	File        string  `json:"file" description:"Path within the theme, such as templates/article.html."`
	Content     *string `json:"content,omitempty" description:"Base64. Not in lists."`
	PublicURL   *string `json:"public_url" description:"Of what is in assets/, to everybody; null for other files."`
	Size        int64   `json:"size" description:"Bytes."`
	CreatedAt   Time    `json:"created_at"`
	UpdatedAt   Time    `json:"updated_at"`
}

type themeFileList struct {
	themeID
	Paging
}

type themeFilePath struct {
	themeID
	FilePath string `path:"file_path"`
}

type themeFileInput struct {
	themeFilePath
	Content storage.Opt[string] `json:"content" description:"Base64. Left out, a file stays as it is, and a new one is empty."`
}

const (
	themeFilesPath  = themePath + "/files"
	themeFilePathOf = themeFilesPath + "/{file_path...}"
)

func (a *api) addThemeFiles(t *Table) {
	op := func(id, method, path, summary, description string) Operation {
		return Operation{ID: id, Method: method, Path: path, Tag: "Theme files", Summary: summary, Description: description}
	}
	HandlePage(t, a.editor, op("listThemeFiles", http.MethodGet, themeFilesPath, "List the files of a theme",
		"Without their content, in the order in which they came. Needs themes.view."),
		func(ctx context.Context, e *kb.Editor, in themeFileList) (storage.Page[themeFile], error) {
			page, err := e.ThemeFiles(ctx, in.ThemeID, in.Request())
			return mapPage(page, a.showThemeFile), err
		})
	Handle(t, a.editor, op("getThemeFile", http.MethodGet, themeFilePathOf, "Retrieve a file of a theme", "Needs themes.view."),
		func(ctx context.Context, e *kb.Editor, in themeFilePath) (themeFile, error) {
			return a.withContent(e.ThemeFile(ctx, in.ThemeID, in.FilePath))
		})
	Handle(t, a.editor, op("putThemeFile", http.MethodPut, themeFilePathOf, "Create or replace a file of a theme",
		"422 for a path that is not below templates/ or assets/ nor theme.json, and for a template that does not parse or calls what themes must not: "+
			"the message names the line. Needs themes.update."), a.putThemeFile)
	HandleEmpty(t, a.editor, op("deleteThemeFile", http.MethodDelete, themeFilePathOf, "Delete a file of a theme",
		"409 for a template that the theme cannot be without. Needs themes.update."),
		func(ctx context.Context, e *kb.Editor, in themeFilePath) error {
			return e.DeleteThemeFile(ctx, in.ThemeID, in.FilePath)
		})
	asset := op("getThemeAsset", http.MethodGet, themePath+"/assets/{asset_path...}", "Download an asset of a theme",
		"The public_url of a theme file. Works without a token, also when the site is private. Ranges work. What a browser could run is kept from running in the name of the site.")
	asset.Public = true
	HandleContent(t, a.publicKnowledge, asset, a.getThemeAsset)
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

// decodeBase64 reads both alphabets of RFC 4648, with and without padding, in lines or
// in one. It never returns nil without an error.
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
	Version   string `query:"v" description:"Part of the content's hash: the answer may be kept for good then."`
}

func (a *api) getThemeAsset(ctx context.Context, svc *kb.Service, in themeAsset) (Content, error) {
	found, err := svc.PublicAsset(ctx, in.SiteID, in.ThemeID, "assets/"+in.AssetPath, in.Version)
	if err != nil {
		return Content{}, err
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
	out := themeFile{SiteThemeID: f.ThemeID, File: f.Path, Size: f.Size, CreatedAt: Time(f.CreatedAt), UpdatedAt: Time(f.UpdatedAt)}
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
