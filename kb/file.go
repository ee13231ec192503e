package kb

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"path"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/filetype"
)

// File is an image or another file that the articles of a site use. Anyone with its address may read it, even when the site
// is private. Its bytes are a blob and never change.
type File struct {
	ID          int64
	SiteID      int64
	Filename    string
	ContentType string
	Size        int64  // bytes
	URLKey      string // unguessable part of its address
	BlobKey     string
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// FileUpload is a new file for a site.
type FileUpload struct {
	// Filename is the name of the file. Its extension must be among [filetype.Documents], and its content must match the
	// extension.
	Filename string
	// Rename is another name for it, or "". Without an extension it keeps that of the file.
	Rename  string
	Content io.Reader
	// ExchangeKey is the key of the file, see [ExchangeKey]; "": none yet.
	ExchangeKey string
}

// MaxFile returns the maximum size of a file in bytes.
func (s *Service) MaxFile() int64 { return s.cfg.MaxFile }

// CreateFile adds a file to the site. A file larger than Config.MaxFile is a TooLarge fault, one of a type that is not
// allowed an Invalid fault. It needs files.create.
func (e *Editor) CreateFile(ctx context.Context, up FileUpload) (File, error) {
	begin, err := e.guard.Write(FilesCreate)
	if err != nil {
		return File{}, err
	}
	f, err := e.storeFile(ctx, up)
	if err != nil {
		return File{}, err
	}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.Files().Insert(ctx, &f); err != nil {
			return err
		}
		if err := setKey(ctx, tx, FileKey, f.ID, up.ExchangeKey); err != nil {
			return err
		}
		return e.emit(ctx, tx, "file.created", f.ID)
	})
	if err != nil {
		e.svc.discard(ctx, err, f.BlobKey)
		return File{}, err
	}
	return f, nil
}

// storeFile checks an upload and stores its bytes.
func (e *Editor) storeFile(ctx context.Context, up FileUpload) (File, error) {
	name := filetype.SafeName(up.Filename)
	if up.Content == nil || name == "" {
		return File{}, fault.Field("file", "is required")
	}
	limit := e.svc.cfg.MaxFile
	content := bufio.NewReaderSize(io.LimitReader(up.Content, limit+1), 4096)
	head, err := content.Peek(filetype.HeadSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return File{}, fault.Wrap(fault.Malformed, "reading an upload", err)
	}
	if problem := filetype.Check(name, head, filetype.Documents()); problem != "" {
		return File{}, fault.Field("file", problem)
	}
	if up.Rename != "" {
		if name, err = renamed(up.Rename, name, head); err != nil {
			return File{}, err
		}
	}
	urlKey, err := e.svc.random(20)
	if err != nil {
		return File{}, err
	}
	media := filetype.MediaType(name, head) // head is valid only until the content is read
	key := sitePrefix(e.site.AccountID, e.site.ID) + "files/" + strings.ToLower(rand.Text())
	size, err := e.svc.cfg.Blobs.Put(ctx, key, content)
	if err == nil && size > limit {
		err = fault.Newf(fault.TooLarge, "The file is larger than %d MB.", limit>>20)
	}
	if err != nil {
		e.svc.discard(ctx, err, key)
		return File{}, err
	}
	now := e.svc.now()
	return File{Filename: name, ContentType: media, Size: size, URLKey: urlKey, BlobKey: key, CreatedAt: now, UpdatedAt: now}, nil
}

// renamed checks a new name for a file whose content begins with head, and returns it.
func renamed(name, old string, head []byte) (string, error) {
	name = filetype.SafeName(name)
	if path.Ext(name) == "" && name != "" {
		name = filetype.SafeName(name + path.Ext(old))
	}
	if name == "" {
		return "", fault.Field("filename", "is not a valid file name")
	}
	if problem := filetype.Check(name, head, filetype.Documents()); problem != "" {
		return "", fault.Field("filename", problem)
	}
	return name, nil
}

// Files lists the files of the site, newest first. It needs files.view.
func (e *Editor) Files(ctx context.Context, req storage.PageRequest) (storage.Page[File], error) {
	r, err := e.guard.Read(FilesView)
	if err != nil {
		return storage.Page[File]{}, err
	}
	return storage.List(req, true, func(f File) storage.Position { return storage.Position{ID: f.ID} },
		func(seek storage.Seek) ([]File, error) { return r.Files().List(ctx, storage.NoFilter{}, seek) })
}

// File returns a file's description. It needs files.view.
func (e *Editor) File(ctx context.Context, id int64) (File, error) {
	r, err := e.guard.Read(FilesView)
	if err != nil {
		return File{}, err
	}
	return r.Files().Get(ctx, id)
}

// FileInput changes a file. Absent fields stay as they are.
type FileInput struct {
	// Filename must be allowed for the content, as in [FileUpload]. Addresses with the old name stay valid.
	Filename storage.Opt[string]
}

// UpdateFile renames a file. It needs files.update.
func (e *Editor) UpdateFile(ctx context.Context, id int64, in FileInput) (File, error) {
	begin, err := e.guard.Write(FilesUpdate)
	if err != nil {
		return File{}, err
	}
	r, err := e.guard.Read(FilesUpdate)
	if err != nil {
		return File{}, err
	}
	f, err := r.Files().Get(ctx, id)
	if err != nil || !in.Filename.IsSet() {
		return f, err
	}
	head, err := e.head(ctx, f)
	if err != nil {
		return File{}, err
	}
	name, _ := in.Filename.Get()
	if name, err = renamed(name, f.Filename, head); err != nil {
		return File{}, err
	}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if f, err = tx.Files().Get(ctx, id); err != nil {
			return err
		}
		f.Filename, f.ContentType, f.UpdatedAt = name, filetype.MediaType(name, head), e.svc.now()
		if err := tx.Files().Update(ctx, &f); err != nil {
			return err
		}
		return e.emit(ctx, tx, "file.updated", id)
	})
	return f, err
}

// head reads the first bytes of a file.
func (e *Editor) head(ctx context.Context, f File) ([]byte, error) {
	from, err := e.svc.cfg.Blobs.GetRange(ctx, f.BlobKey, 0, filetype.HeadSize)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	return io.ReadAll(from)
}

// DeleteFile deletes a file; its blob is deleted soon after. It needs files.delete.
func (e *Editor) DeleteFile(ctx context.Context, id int64) error {
	begin, err := e.guard.Write(FilesDelete)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		f, err := tx.Files().Get(ctx, id)
		if err != nil {
			return err
		}
		if err := tx.Files().Delete(ctx, id); err != nil {
			return err
		}
		if err := tx.Enqueue(ctx, purgeKeys(e.site.AccountID, []string{f.BlobKey})...); err != nil {
			return err
		}
		return e.emit(ctx, tx, "file.deleted", id)
	})
}
