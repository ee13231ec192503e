package errand

import (
	"archive/zip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/helpwright/helpwright/storage/fault"
)

// folderPrefix begins the names of the folders with unpacked files.
const folderPrefix = "helpwright-errand-"

// Unpack unpacks the uploaded file into a folder, which goes when the step ends: a ZIP archive with its folders, and any other
// file as it is. If an archive has one folder and nothing beside it, its content is returned. An archive that is damaged,
// encrypted or larger than Config allows is a fault, and so is one with a path that leads elsewhere or with anything but files.
func (t *Task) Unpack(ctx context.Context) (fs.FS, error) {
	t.folder = filepath.Join(t.office.cfg.Temp, folderPrefix+t.ID)
	if err := os.RemoveAll(t.folder); err != nil { // of a server that crashed
		return nil, err
	}
	content := filepath.Join(t.folder, "content")
	if err := os.MkdirAll(content, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(content)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // the files are written by then
	upload := filepath.Join(t.folder, "upload")
	if err := t.fetch(ctx, upload); err != nil {
		return nil, err
	}
	packed, err := isZip(upload)
	if err != nil {
		return nil, err
	}
	if !packed {
		if err := os.Rename(upload, filepath.Join(content, plainName(t.File))); err != nil {
			return nil, err
		}
		return os.DirFS(content), nil
	}
	u := unpacking{ctx: ctx, to: root, bytes: t.office.cfg.MaxUnpacked, entries: t.office.cfg.MaxEntries}
	if err := u.archive(upload); err != nil {
		return nil, err
	}
	if err := os.Remove(upload); err != nil {
		return nil, err
	}
	return os.DirFS(inner(content)), nil
}

// fetch copies the uploaded file to this machine.
func (t *Task) fetch(ctx context.Context, to string) error {
	in, err := t.office.cfg.Blobs.Get(ctx, blobKey(t.Errand, Uploaded))
	if fault.Is(err, fault.NotFound) {
		return fault.New(fault.NotFound, "The uploaded file is gone. Upload it again.")
	}
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// isZip reports whether a file is a ZIP archive, also an empty one.
func isZip(name string) (bool, error) {
	f, err := os.Open(name)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }() // only read
	head := make([]byte, 4)
	n, err := io.ReadFull(f, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return string(head[:n]) == "PK\x03\x04" || string(head[:n]) == "PK\x05\x06", err
}

// plainName returns the name of an uploaded file without a path.
func plainName(name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	if name == "." || name == "/" || name == ".." || strings.ContainsRune(name, 0) || len(name) > 200 {
		return "upload"
	}
	return name
}

// inner returns the folder that holds everything in a folder.
func inner(folder string) string {
	found, err := os.ReadDir(folder)
	if err != nil || len(found) != 1 || !found[0].IsDir() || found[0].Name() == "attachments" {
		return folder
	}
	return inner(filepath.Join(folder, found[0].Name()))
}

// unpacking unpacks an archive.
type unpacking struct {
	ctx     context.Context //nolint:containedctx // it is one call
	to      *os.Root
	bytes   int64 // that may still follow
	entries int   // the limit
}

func refuse(text string) error { return &fault.Error{Kind: fault.Invalid, Message: text} }

func (u *unpacking) archive(name string) error {
	r, err := zip.OpenReader(name)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return refuse("The ZIP file is damaged.")
	}
	defer func() { _ = r.Close() }() // only read
	if len(r.File) > u.entries {
		return fault.New(fault.TooLarge, "The ZIP file has too many files.")
	}
	for _, f := range r.File {
		if err := u.ctx.Err(); err != nil {
			return err
		}
		if err := u.entry(f); err != nil {
			return err
		}
	}
	return nil
}

// entry unpacks one entry.
func (u *unpacking) entry(f *zip.File) error {
	name, mode := strings.TrimSuffix(strings.TrimPrefix(f.Name, "./"), "/"), f.Mode()
	switch {
	case strings.HasPrefix(f.Name, "__MACOSX/"), f.Name == "./": // what a Mac adds, and the folder itself
		return nil
	case !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, "\\:\x00"):
		return refuse("The ZIP file has a path that leads out of it.")
	case mode.IsDir():
		return u.to.MkdirAll(name, 0o700)
	case !mode.IsRegular():
		return refuse("The ZIP file has something else than files and folders, such as a link.")
	case f.Flags&1 != 0:
		return refuse("The ZIP file is encrypted. Upload it without a password.")
	}
	if dir := path.Dir(name); dir != "." {
		if err := u.to.MkdirAll(dir, 0o700); err != nil {
			return u.misfit(err)
		}
	}
	in, err := f.Open()
	if err != nil {
		return refuse("The ZIP file is damaged.")
	}
	defer func() { _ = in.Close() }() // only read
	out, err := u.to.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return u.misfit(err)
	}
	n, err := io.Copy(out, damage{io.LimitReader(in, u.bytes+1)})
	if u.bytes -= n; u.bytes < 0 {
		err = fault.New(fault.TooLarge, "The ZIP file unpacks to more than the server accepts.")
	}
	return errors.Join(err, out.Close())
}

// misfit returns the error for a name that does not fit to those before.
func (u *unpacking) misfit(err error) error {
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.ENAMETOOLONG) {
		return refuse("The ZIP file has two entries with the same name, or a name that is too long.")
	}
	return err
}

// damage is a reader of an entry, whose errors mean that the archive is damaged.
type damage struct{ io.Reader }

func (d damage) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = refuse("The ZIP file is damaged.")
	}
	return n, err
}

// tidyFolders removes the folders that crashed servers have left, once they are old.
func (o *Office) tidyFolders(kept map[string]bool) {
	found, err := os.ReadDir(o.cfg.Temp)
	if err != nil {
		return // it may not be there yet
	}
	for _, d := range found {
		id, ours := strings.CutPrefix(d.Name(), folderPrefix)
		if !ours || kept[id] {
			continue
		}
		if info, err := d.Info(); err == nil && time.Since(info.ModTime()) > o.cfg.Keep {
			_ = os.RemoveAll(filepath.Join(o.cfg.Temp, d.Name())) // tried again
		}
	}
}
