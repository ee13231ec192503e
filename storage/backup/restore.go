package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/blobs"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/filelock"
)

// restoring is the name of the marker file in the server's folder while a restore is unfinished.
const restoring = "restoring"

// Small blobs are held in memory and stored many at a time.
const (
	putAtOnce = 32
	maxHeld   = 256 << 10 // bytes
)

// spare is the space to leave free on a disk.
const spare = 64 << 20

// RestoreConfig says where to restore an archive. Data, Blobs and Open are required.
type RestoreConfig struct {
	Data     string        // the server's folder
	Database string        // path of the SQLite file; "": the rows are in PostgreSQL, see Rows
	Blobs    storage.Blobs // without a Tie
	BlobsDir string        // folder of Blobs, whose disk must have room; "": unknown
	Open     Opener
	// Rows and Mark belong to the database restored beforehand, when Database is "".
	Rows storage.BlobRows
	Mark string
	// Accept may refuse an archive because of its Info; nil: accepts any.
	Accept   func(Info) error
	Progress func(Totals) // nil: no reports; the archive is read twice
}

// Restore restores an archive into an empty target: a folder without a database, a secret key or results, and an empty blob
// store. Any other target is a Conflict fault with the code [CodeNotEmpty]. Restore first reads and checks the whole archive
// like [Verify], and writes only its database meanwhile, next to its final place. Then it reads the archive again and stores
// everything, the database last.
//
// A restore that ends early, by an error or a crash, leaves a marker file that makes [Interrupted] return an error. The
// restore can then be run again.
func Restore(ctx context.Context, archive io.ReadSeeker, cfg RestoreConfig) (Report, error) {
	var problems fault.Collector
	problems.Check(cfg.Data != "", "Data", "is required")
	problems.Check(cfg.Blobs != nil, "Blobs", "is required")
	problems.Check(cfg.Open != nil, "Open", "is required")
	problems.Check((cfg.Database == "") == (cfg.Rows != nil), "Rows", "belongs to a database that is not in the archive")
	if err := problems.Err(); err != nil {
		return Report{}, err
	}
	r := &restorer{RestoreConfig: cfg, ctx: ctx, archive: archive}
	if err := r.prepareTarget(); err != nil {
		return Report{}, err
	}
	defer func() { _ = r.lock.Close() }()
	report, err := r.run()
	if err != nil && !r.placing && !r.again {
		err = errors.Join(err, r.forget()) // nothing has changed yet
	}
	return report, err
}

type restorer struct {
	RestoreConfig
	ctx     context.Context //nolint:containedctx // lives as long as one call
	archive io.ReadSeeker
	lock    io.Closer
	again   bool // an earlier restore was interrupted
	placing bool
	files   []File
}

func (r *restorer) marker() string { return filepath.Join(r.Data, restoring) }

// stage returns the path of the database until everything else is restored.
func (r *restorer) stage() string { return r.Database + ".restoring" }

// prepareTarget makes sure that no other restore is running, and that the target is empty or was when an interrupted restore began.
func (r *restorer) prepareTarget() error {
	_, err := os.Lstat(r.marker())
	r.again = err == nil
	if !r.again {
		if err := r.empty(); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(r.Data, 0o700); err != nil {
		return err
	}
	if r.Database != "" {
		if err := os.MkdirAll(filepath.Dir(r.Database), 0o700); err != nil {
			return err
		}
	}
	if r.again {
		if lock := filelock.Seize(r.marker()); lock != nil {
			r.lock = lock
			return nil
		}
		return fault.Newf(fault.Conflict, "Another restore is running in %s.", r.Data)
	}
	lock, err := filelock.New(r.marker())
	if errors.Is(err, errors.ErrUnsupported) {
		lock, err = os.OpenFile(r.marker(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err != nil {
		return err
	}
	r.lock = lock
	return syncDir(r.Data)
}

// empty returns a fault that names what is in the target, if anything.
func (r *restorer) empty() error {
	there := []string{filepath.Join(r.Data, "secret.key")}
	if r.Database != "" {
		there = append(there, r.Database, r.Database+"-wal", r.Database+"-journal")
	}
	for _, path := range there {
		if _, err := os.Lstat(path); err == nil {
			return notEmpty(path)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if entries, err := os.ReadDir(filepath.Join(r.Data, "results")); err == nil && len(entries) > 0 {
		return notEmpty(filepath.Join(r.Data, "results"))
	}
	found, err := r.Blobs.List(r.ctx, "", "", 1)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return notEmpty("the file " + found[0].Key + " in the store of files")
	}
	return nil
}

func notEmpty(what string) error {
	return &fault.Error{Kind: fault.Conflict, Code: CodeNotEmpty, Message: "A backup can only be restored into an empty place, and " + what +
		" already exists. Move it away, or name another folder, database and blob store."}
}

func (r *restorer) run() (Report, error) {
	if r.Database != "" {
		if err := os.Remove(r.stage()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Report{}, err
		}
	}
	v := &verifier{ctx: r.ctx, open: r.Open, rows: r.Rows, info: r.accept, stage: r.stage(), progress: r.Progress}
	if err := r.check(v); err != nil {
		if r.Database != "" {
			_ = os.Remove(r.stage())
		}
		return v.Report, err
	}
	r.placing = true
	if err := r.place(v.Report); err != nil {
		return v.Report, fmt.Errorf("the restore is not complete, and can be done again: %w", err)
	}
	return v.Report, nil
}

// check reads the archive for the first time.
func (r *restorer) check(v *verifier) error {
	if err := v.read(r.archive); err != nil {
		return err
	}
	for _, name := range v.Files {
		if name != "secret.key" && !strings.HasPrefix(name, "results/") {
			return damaged("it has a file %q, which belongs nowhere", name)
		}
	}
	if r.BlobsDir == "" {
		return nil
	}
	return Room(r.BlobsDir, v.Totals.Bytes-v.size)
}

// accept refuses an archive that does not fit.
func (r *restorer) accept(info Info) error {
	switch {
	case info.Database == "sqlite" && r.Database == "":
		return fault.New(fault.Conflict, "The backup contains a SQLite database. Name a SQLite file to restore it to.")
	case info.Database != "sqlite" && r.Database != "":
		return fault.New(fault.Conflict, "The backup belongs to a PostgreSQL database, which is in a separate dump. Restore the dump first, then name that database.")
	case r.Database == "" && info.Mark != r.Mark:
		return fault.New(fault.Conflict, "The database does not belong to this backup. Restore its dump first.")
	case r.Accept != nil:
		return r.Accept(info)
	}
	return nil
}

// place reads the archive again and stores everything.
func (r *restorer) place(report Report) error {
	if _, err := r.archive.Seek(0, io.SeekStart); err != nil {
		return err
	}
	// Each blob waits for the disk, so many are stored at once.
	putting, ctx := errgroup.WithContext(r.ctx)
	putting.SetLimit(putAtOnce)
	totals, err := Read(ctx, r.archive, Sink{
		Blob: func(key string, content io.Reader, size int64) error {
			if size > maxHeld {
				_, err := r.Blobs.Put(ctx, key, content)
				return err
			}
			text, err := io.ReadAll(content)
			if err != nil {
				return err
			}
			putting.Go(func() error {
				_, err := r.Blobs.Put(ctx, key, bytes.NewReader(text))
				return err
			})
			return nil
		},
		File:     func(f File) error { r.files = append(r.files, f); return nil },
		Progress: r.Progress,
	})
	if failed := putting.Wait(); failed != nil { // this also ended reading
		err = failed
	}
	if err != nil {
		return err
	}
	if totals != report.Totals {
		return damaged("it has changed while it was read")
	}
	if report.Info.Mark != "" {
		if _, err := r.Blobs.Put(r.ctx, blobs.MarkKey, strings.NewReader(report.Info.Mark+"\n")); err != nil {
			return err
		}
	}
	for _, f := range r.files {
		if err := r.file(f); err != nil {
			return err
		}
	}
	if r.Database != "" {
		if err := os.Rename(r.stage(), r.Database); err != nil {
			return err
		}
		if err := syncDir(filepath.Dir(r.Database)); err != nil {
			return err
		}
	}
	return r.forget()
}

// file writes a file of the server's folder.
func (r *restorer) file(f File) error {
	path := filepath.Join(r.Data, filepath.FromSlash(f.Name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // left by an interrupted restore
		return err
	}
	err := fill(path, func(w io.Writer) error {
		_, err := w.Write(f.Content)
		return err
	})
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// forget removes the marker: the target is complete, or unchanged.
func (r *restorer) forget() error {
	if err := os.Remove(r.marker()); err != nil {
		return err
	}
	return syncDir(r.Data)
}

// Room returns an Unavailable fault when the disk of dir has less free space than bytes.
func Room(dir string, bytes int64) error {
	left, known := free(dir)
	if known && (bytes > left-spare) {
		return fault.Newf(fault.Unavailable, "There is not enough space in %s: %d MB are needed, and %d MB are free.", dir, bytes>>20+1, max(0, left)>>20)
	}
	return nil
}

// Interrupted returns an error while a restore into a server's folder is running or after it was interrupted: the data is
// incomplete and must not be used.
func Interrupted(data string) error {
	if _, err := os.Lstat(filepath.Join(data, restoring)); err != nil {
		return nil //nolint:nilerr // without the mark nothing was interrupted
	}
	return fault.Newf(fault.Unavailable, "A restore into %s is running or was interrupted. Run it again. To give it up, remove what is there, and %s last.",
		data, filepath.Join(data, restoring))
}
