package transport

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/internal/file"
)

// siteFile as the API shows it.
type siteFile struct {
	ID        int64  `json:"id"`
	SiteID    int64  `json:"site_id"`
	Filename  string `json:"filename"`
	Size      int64  `json:"size" description:"Bytes."`
	URL       string `json:"url" description:"Its content, to everybody who has the address, also when the site is private. It never changes; addresses with a former name go on working."`
	CreatedAt Time   `json:"created_at"`
	UpdatedAt Time   `json:"updated_at"`
}

type siteFileInput struct {
	File     *Upload `json:"file" required:"true"`
	Filename string  `json:"filename" description:"Another name for the file. Without an extension it keeps the file's."`
}

type siteFileID struct {
	FileID int64 `path:"file_id"`
}

type siteFileUpdate struct {
	siteFileID
	Filename storage.Opt[string] `json:"filename" example:"diagram.png" description:"Its extension must be allowed for the content."`
}

const (
	siteFilesPath = sitePath + "/files"
	siteFilePath  = siteFilesPath + "/{file_id}"
)

// multipartRoom is what a multipart body has beside its file.
const multipartRoom = 1 << 20

func (a *api) addSiteFiles(t *Table) {
	op := func(id, method, path, summary, description string) Operation {
		return Operation{ID: id, Method: method, Path: path, Tag: "Site files", Summary: summary, Description: description, Bare: true}
	}
	create := op("createSiteFile", http.MethodPost, siteFilesPath, "Add a file to a site",
		"multipart/form-data, at most 100 MB unless the server sets another limit. The types of the specification, by extension and by content. "+
			"Everybody who has its url may read it, also when the site is private. Needs files.create.")
	create.Status, create.MaxBody = http.StatusCreated, 100<<20+multipartRoom
	if a.kb != nil {
		create.MaxBody = a.kb.MaxFile() + multipartRoom
	}
	Handle(t, a.editor, create, a.createSiteFile)
	list := op("listSiteFiles", http.MethodGet, siteFilesPath, "List the files of a site", "Newest first. Needs files.view.")
	list.Bare = false
	HandlePage(t, a.editor, list, func(ctx context.Context, e *kb.Editor, in Paging) (storage.Page[siteFile], error) {
		page, err := e.Files(ctx, in.Request())
		return mapPage(page, a.showSiteFile), err
	})
	Handle(t, a.editor, op("getSiteFile", http.MethodGet, siteFilePath, "Retrieve a file's description", "Needs files.view."),
		func(ctx context.Context, e *kb.Editor, in siteFileID) (siteFile, error) {
			f, err := e.File(ctx, in.FileID)
			return a.showSiteFile(f), err
		})
	Handle(t, a.editor, op("updateSiteFile", http.MethodPut, siteFilePath, "Rename a file", "Needs files.update."),
		func(ctx context.Context, e *kb.Editor, in siteFileUpdate) (siteFile, error) {
			f, err := e.UpdateFile(ctx, in.FileID, kb.FileInput{Filename: in.Filename})
			return a.showSiteFile(f), err
		})
	HandleEmpty(t, a.editor, op("deleteSiteFile", http.MethodDelete, siteFilePath, "Delete a file", "Needs files.delete."),
		func(ctx context.Context, e *kb.Editor, in siteFileID) error { return e.DeleteFile(ctx, in.FileID) })
	content := op("getSiteFileContent", http.MethodGet, siteFilePath+"/{key}/{name}", "Download a file of a site",
		"The url of a file. Works without a token; the name at the end does not matter. Ranges work. What a browser could run is sent to be saved.")
	content.Bare, content.Public = false, true
	HandleContent(t, a.publicKnowledge, content, a.getSiteFileContent)
}

// publicKnowledge is the resolver of operations that everybody may use, whoever they
// say they are.
func (a *api) publicKnowledge(_ context.Context, r *Request) (*kb.Service, error) {
	return a.knowledge(r)
}

func (a *api) createSiteFile(ctx context.Context, e *kb.Editor, in siteFileInput) (siteFile, error) {
	up := kb.FileUpload{Rename: in.Filename}
	if in.File != nil {
		content, err := in.File.Open()
		if err != nil {
			return siteFile{}, fault.Wrap(fault.Internal, "opening an upload", err)
		}
		defer content.Close()
		up.Filename, up.Content = in.File.Filename, content
	}
	f, err := e.CreateFile(ctx, up)
	return a.showSiteFile(f), err
}

type siteFileContent struct {
	SiteID int64  `path:"site_id"`
	FileID int64  `path:"file_id"`
	Key    string `path:"key"`
	Name   string `path:"name"`
}

func (a *api) getSiteFileContent(ctx context.Context, svc *kb.Service, in siteFileContent) (Content, error) {
	found, err := svc.PublicFile(ctx, in.SiteID, in.FileID, in.Key)
	if err != nil {
		return Content{}, err
	}
	return publicContent(ctx, found)
}

// publicContent answers with a file that everybody may read and keep.
func publicContent(ctx context.Context, found kb.Content) (Content, error) {
	body, err := file.Open(found.Size, func(offset int64) (io.ReadCloser, error) { return found.Open(ctx, offset) })
	if err != nil {
		return Content{}, err
	}
	age := 5 * time.Minute
	if found.Immutable {
		age = forGood
	}
	return Content{Name: found.Filename, Type: found.ContentType, ModTime: found.ModTime, ETag: found.ETag, Body: body, Public: true, MaxAge: age}, nil
}

// SiteFileURL is the address of a file's content at the API whose address is base, such
// as "https://desk.example.net/api/v1": the url of the file in answers.
func SiteFileURL(base string, f kb.File) string {
	return fmt.Sprintf("%s/sites/%d/files/%d/%s/%s", base, f.SiteID, f.ID, f.URLKey, url.PathEscape(f.Filename))
}

func (a *api) showSiteFile(f kb.File) siteFile {
	return siteFile{
		ID: f.ID, SiteID: f.SiteID, Filename: f.Filename, Size: f.Size,
		URL:       SiteFileURL(a.base, f),
		CreatedAt: Time(f.CreatedAt), UpdatedAt: Time(f.UpdatedAt),
	}
}
