package desk

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/filetype"
	"github.com/helpwright/helpwright/transport/internal/file"
)

type siteFilesView struct {
	Name, Back, Action           string
	CanAdd, CanRename, CanDelete bool
	Rows                         []siteFileRow
	Next                         string
	Errors                       map[string]string
}

type siteFileRow struct {
	Name, URL, Size, When, Action, Code string
	Image                               bool
}

func (hv *helpVisit) filesPage() error { return hv.listFiles(nil, 0) }

func (hv *helpVisit) listFiles(problems map[string]string, status int) error {
	page, err := hv.ed.Files(hv.ctx(), storage.PageRequest{Limit: 50, Cursor: hv.r.URL.Query().Get("after")})
	if err != nil {
		return err
	}
	view := siteFilesView{
		Name: hv.site.Name, Back: hv.here(""), Action: hv.here("/files"), CanAdd: hv.may(kb.FilesCreate), CanRename: hv.may(kb.FilesUpdate), CanDelete: hv.may(kb.FilesDelete), Errors: orEmpty(problems),
	}
	for _, f := range page.Items {
		view.Rows = append(view.Rows, siteFileRow{
			Name: f.Filename, URL: hv.here(kb.FilePath(f)), Size: helpdesk.Attachment{Size: f.Size}.SizeHuman(), When: hv.when(f.CreatedAt), Action: hv.here("/files/" + itoa(f.ID)), Code: fileMarkdown(f), Image: strings.HasPrefix(f.ContentType, "image/"),
		})
	}
	if page.Next != "" {
		view.Next = hv.here("/files?after=" + url.QueryEscape(page.Next))
	}
	return hv.showHelp("help-files", hv.words.T("Files"), view, status)
}

// fileMarkdown returns the Markdown that inserts a file into a text.
func fileMarkdown(f kb.File) string {
	name := strings.NewReplacer("[", "", "]", "", "\\", "").Replace(f.Filename)
	if strings.HasPrefix(f.ContentType, "image/") {
		return "![" + strings.TrimSuffix(name, "."+lastPart(name)) + "](" + kb.FilePath(f) + ")"
	}
	return "[" + name + "](" + kb.FilePath(f) + ")"
}

func lastPart(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// uploadFile adds a file; the script is sent the Markdown that inserts it.
func (hv *helpVisit) uploadFile() error {
	module := strings.Contains(hv.r.Header.Get("Accept"), "application/json")
	hv.r.Body = http.MaxBytesReader(hv.w, hv.r.Body, hv.h.cfg.KB.MaxFile()+1<<20)
	f, err := hv.storeUpload()
	if module {
		if err != nil {
			status := http.StatusUnprocessableEntity
			if f, ok := asFault(err); !ok || f.Kind != fault.Invalid && f.Kind != fault.TooLarge {
				return err
			}
			hv.w.Header().Set("Content-Type", "application/json")
			hv.w.WriteHeader(status)
			return hv.json(map[string]string{"error": hv.firstProblem(err)})
		}
		return hv.json(map[string]string{"markdown": fileMarkdown(f), "name": f.Filename, "url": kb.FilePath(f)})
	}
	if fault.Is(err, fault.Invalid) {
		return hv.listFiles(hv.problems(err), http.StatusUnprocessableEntity)
	}
	return hv.done(err, "/files", hv.words.T("File added"))
}

// storeUpload stores the one file of the form while it is read.
func (hv *helpVisit) storeUpload() (kb.File, error) {
	parts, err := hv.r.MultipartReader()
	if err != nil {
		return kb.File{}, fault.Field("file", "is required")
	}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return kb.File{}, fault.Field("file", "is required")
		}
		if err != nil {
			return kb.File{}, tooLarge(err)
		}
		if part.FormName() != "file" || part.FileName() == "" {
			continue
		}
		f, err := hv.ed.CreateFile(hv.ctx(), kb.FileUpload{Filename: filetype.SafeName(part.FileName()), Content: part})
		return f, tooLarge(err)
	}
}

// tooLarge reports that a form exceeded the size limit.
func tooLarge(err error) error {
	if m, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return fault.Newf(fault.TooLarge, "The file is larger than %d MB.", m.Limit>>20)
	}
	return err
}

func (hv *helpVisit) renameFile() error {
	_, err := hv.ed.UpdateFile(hv.ctx(), hv.number("file"), kb.FileInput{Filename: storage.Some(hv.r.PostFormValue("name"))})
	return hv.done(err, "/files", hv.words.T("File renamed"))
}

func (hv *helpVisit) deleteFile() error {
	return hv.done(hv.ed.DeleteFile(hv.ctx(), hv.number("file")), "/files", hv.words.T("File deleted"))
}

// siteFile serves a file of the site to its editors.
func (hv *helpVisit) siteFile() error {
	if !hv.may(kb.ArticlesView) {
		return fault.Missing("file", hv.number("file"))
	}
	c, err := hv.kb().PublicFile(hv.ctx(), hv.site.ID, hv.number("file"), hv.r.PathValue("key"))
	if err != nil {
		return err
	}
	body, err := file.Open(c.Size, func(offset int64) (io.ReadCloser, error) { return c.Open(hv.ctx(), offset) })
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // only read
	h := hv.w.Header()
	file.Describe(h, c.ContentType, c.Filename)
	h.Set("ETag", `"`+c.ETag+`"`)
	h.Set("Cache-Control", "private, max-age=31536000, immutable")
	http.ServeContent(hv.w, hv.r, "", c.ModTime, body)
	return nil
}
