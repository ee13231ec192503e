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

// restoring is the name of the file, in the server's folder, that is there while a restore is not done.
const restoring = "restoring"

// Small blobs are put in place many at a time, and are in memory until they are.
const (
	putAtOnce = 32
	maxHeld   = 256 << 10 // bytes
)

// spare is what is left free of a disk.
const spare = 64 << 20

// RestoreConfig says where an archive is put. Data, Blobs and Open are required.
type RestoreConfig struct {
	Data     string        // the server's folder
	Database string        // path of the file of SQLite; "": the rows are in PostgreSQL, and Rows tells about them
	Blobs    storage.Blobs // without a Tie
	BlobsDir string        // folder of Blobs, whose disk must have room; "": not known
	Open     Opener
	// Rows and Mark are of the database that was restored before, where Database is "".
	Rows storage.BlobRows
	Mark string
	// Accept may refuse an archive for what it says of itself; nil: takes any.
	Accept   func(Info) error
	Progress func(Totals) // nil: nobody; the archive is read twice
}

// Restore puts an archive into an empty place: a folder without a database, a secret key or results, and blobs without any.
// Elsewhere it is a Conflict fault of the code [CodeNotEmpty]. The archive is read and checked first, as by [Verify], and
// nothing but its database is written meanwhile, beside its place. Then it is read again and put in place, the database at
// last.
//
// A restore that ends in between, by an error or a crash, leaves a file behind for which [Interrupted] is an error, and can
// be done again there.
func Restore(ctx context.Context, archive io.ReadSeeker, cfg RestoreConfig) (Report, error) {
	var problems fault.Collector
	problems.Check(cfg.Data != "", "Data", "is required")
	problems.Check(cfg.Blobs != nil, "Blobs", "is required")
	problems.Check(cfg.Open != nil, "Open", "is required")
	problems.Check((cfg.Database == "") == (cfg.Rows != nil), "Rows", "goes with a database that is not in the archive")
	if err := problems.Err(); err != nil {
		return Report{}, err
	}
	r := &restorer{RestoreConfig: cfg, ctx: ctx, archive: archive}
	if err := r.begin(); err != nil {
		return Report{}, err
	}
	defer func() { _ = r.lock.Close() }()
	report, err := r.run()
	if err != nil && !r.placing && !r.again {
		err = errors.Join(err, r.forget()) // nothing has changed
	}
	return report, err
}

type restorer struct {
	RestoreConfig
	ctx     context.Context //nolint:containedctx // lives as long as one call
	archive io.ReadSeeker
	lock    io.Closer
	again   bool // one before was interrupted
	placing bool
	files   []File
}

func (r *restorer) marker() string { return filepath.Join(r.Data, restoring) }

// stage is where the database lies until all else is in place.
func (r *restorer) stage() string { return r.Database + ".restoring" }

// begin makes sure that nobody else does, and that the place is empty or was when an interrupted restore began.
func (r *restorer) begin() error {
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
		return fault.Newf(fault.Conflict, "Another restore is at work in %s.", r.Data)
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

// empty reports what is in the way.
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
	return &fault.Error{Kind: fault.Conflict, Code: CodeNotEmpty, Message: "A backup is restored into an empty place only, and " + what +
		" is there already: move what is there away, or name another folder, database and store of files."}
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

// accept refuses what does not fit.
func (r *restorer) accept(info Info) error {
	switch {
	case info.Database == "sqlite" && r.Database == "":
		return fault.New(fault.Conflict, "The backup is of a database of SQLite: name a file of SQLite to restore it to.")
	case info.Database != "sqlite" && r.Database != "":
		return fault.New(fault.Conflict, "The backup is of a database of PostgreSQL, which is in a dump of its own: restore that first, and name that database.")
	case r.Database == "" && info.Mark != r.Mark:
		return fault.New(fault.Conflict, "The database is not that of the backup: restore its dump first.")
	case r.Accept != nil:
		return r.Accept(info)
	}
	return nil
}

// place reads the archive again and puts all of it where it belongs.
func (r *restorer) place(report Report) error {
	if _, err := r.archive.Seek(0, io.SeekStart); err != nil {
		return err
	}
	// Each blob waits for the disk: many at a time wait no longer than one.
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
	if failed := putting.Wait(); failed != nil { // which ended reading, too
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

// file writes one of the server's folder.
func (r *restorer) file(f File) error {
	path := filepath.Join(r.Data, filepath.FromSlash(f.Name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // of an interrupted restore
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

// forget removes the marker: the place is whole, or as it was.
func (r *restorer) forget() error {
	if err := os.Remove(r.marker()); err != nil {
		return err
	}
	return syncDir(r.Data)
}

// Room is an Unavailable fault when a disk has less room than that.
func Room(dir string, bytes int64) error {
	left, known := free(dir)
	if known && (bytes > left-spare) {
		return fault.Newf(fault.Unavailable, "There is no room in %s: %d MB are needed, and %d are free.", dir, bytes>>20+1, max(0, left)>>20)
	}
	return nil
}

// Interrupted is an error while a restore into a server's folder is at work, or was interrupted: what is there is not
// whole, and must not be used.
func Interrupted(data string) error {
	if _, err := os.Lstat(filepath.Join(data, restoring)); err != nil {
		return nil
	}
	return fault.Newf(fault.Unavailable, "A backup is being restored into %s, or a restore was interrupted: do it again. To give it up, remove what is there, and %s at last.",
		data, filepath.Join(data, restoring))
}
