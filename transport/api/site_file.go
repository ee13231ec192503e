package api

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
	"github.com/helpwright/helpwright/transport"
	"github.com/helpwright/helpwright/transport/internal/file"
)

// siteFile as the API shows it.
type siteFile struct {
	ID        int64          `json:"id"`
	SiteID    int64          `json:"site_id"`
	Filename  string         `json:"filename"`
	Size      int64          `json:"size" description:"Size in bytes."`
	URL       string         `json:"url" description:"URL of its content, readable by everybody who has it, even if the site is private. It never changes; URLs with a former name keep working."`
	CreatedAt transport.Time `json:"created_at"`
	UpdatedAt transport.Time `json:"updated_at"`
}

type siteFileInput struct {
	File     *transport.Upload `json:"file" required:"true"`
	Filename string            `json:"filename" description:"New name of the file. Without an extension, it keeps the file's."`
}

type siteFileID struct {
	FileID int64 `path:"file_id"`
}

type siteFileUpdate struct {
	siteFileID
	Filename storage.Opt[string] `json:"filename" example:"diagram.png" description:"Its extension must match the content."`
}

const (
	siteFilesPath = sitePath + "/files"
	siteFilePath  = siteFilesPath + "/{file_id}"
)

// multipartRoom is the size of a multipart body in addition to its file.
const multipartRoom = 1 << 20

func (a *api) addSiteFiles(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Site files", Summary: summary, Description: description, Bare: true}
	}
	create := op("createSiteFile", http.MethodPost, siteFilesPath, "Add a file to a site",
		"multipart/form-data, at most 100 MB unless the server sets another limit. Allowed types are checked by extension and "+
			"content. Everybody who has its url can read it, even if the site is private. Needs files.create.")
	create.Status, create.MaxBody = http.StatusCreated, 100<<20+multipartRoom
	if a.kb != nil {
		create.MaxBody = a.kb.MaxFile() + multipartRoom
	}
	transport.Handle(t, a.editor, create, a.createSiteFile)
	list := op("listSiteFiles", http.MethodGet, siteFilesPath, "List the files of a site", "Newest first. Needs files.view.")
	list.Bare = false
	transport.HandlePage(t, a.editor, list, func(ctx context.Context, e *kb.Editor, in transport.Paging) (storage.Page[siteFile], error) {
		page, err := e.Files(ctx, in.Request())
		return mapPage(page, a.showSiteFile), err
	})
	transport.Handle(t, a.editor, op("getSiteFile", http.MethodGet, siteFilePath, "Retrieve a file's description", "Needs files.view."),
		func(ctx context.Context, e *kb.Editor, in siteFileID) (siteFile, error) {
			f, err := e.File(ctx, in.FileID)
			return a.showSiteFile(f), err
		})
	transport.Handle(t, a.editor, op("updateSiteFile", http.MethodPut, siteFilePath, "Rename a file", "Needs files.update."),
		func(ctx context.Context, e *kb.Editor, in siteFileUpdate) (siteFile, error) {
			f, err := e.UpdateFile(ctx, in.FileID, kb.FileInput{Filename: in.Filename})
			return a.showSiteFile(f), err
		})
	transport.HandleEmpty(t, a.editor, op("deleteSiteFile", http.MethodDelete, siteFilePath, "Delete a file", "Needs files.delete."),
		func(ctx context.Context, e *kb.Editor, in siteFileID) error { return e.DeleteFile(ctx, in.FileID) })
	content := op("getSiteFileContent", http.MethodGet, siteFilePath+"/{key}/{name}", "Download a file of a site",
		"The url of a file. Works without a token; the name at the end is ignored. Supports ranges. Content that a browser could execute is sent as a download.")
	content.Bare, content.Public = false, true
	transport.HandleContent(t, a.publicKnowledge, content, a.getSiteFileContent)
}

// publicKnowledge is the resolver of operations that are open to everyone, with any credentials or none.
func (a *api) publicKnowledge(_ context.Context, r *transport.Request) (*kb.Service, error) {
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

func (a *api) getSiteFileContent(ctx context.Context, svc *kb.Service, in siteFileContent) (transport.Content, error) {
	found, err := svc.PublicFile(ctx, in.SiteID, in.FileID, in.Key)
	if err != nil {
		return transport.Content{}, err
	}
	return publicContent(ctx, found)
}

// publicContent answers with a file that anyone may read and cache.
func publicContent(ctx context.Context, found kb.Content) (transport.Content, error) {
	body, err := file.Open(found.Size, func(offset int64) (io.ReadCloser, error) { return found.Open(ctx, offset) })
	if err != nil {
		return transport.Content{}, err
	}
	age := 5 * time.Minute
	if found.Immutable {
		age = transport.Immutable
	}
	return transport.Content{Name: found.Filename, Type: found.ContentType, ModTime: found.ModTime, ETag: found.ETag, Body: body, Public: true, MaxAge: age}, nil
}

// SiteFileURL returns the address of a file's content at the API with the address base, such as
// "https://desk.example.net/api/v1": the url of the file in answers.
func SiteFileURL(base string, f kb.File) string {
	return fmt.Sprintf("%s/sites/%d/files/%d/%s/%s", base, f.SiteID, f.ID, f.URLKey, url.PathEscape(f.Filename))
}

func (a *api) showSiteFile(f kb.File) siteFile {
	return siteFile{
		ID: f.ID, SiteID: f.SiteID, Filename: f.Filename, Size: f.Size,
		URL:       SiteFileURL(a.base, f),
		CreatedAt: transport.Time(f.CreatedAt), UpdatedAt: transport.Time(f.UpdatedAt),
	}
}
