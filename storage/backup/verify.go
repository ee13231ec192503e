package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Snapshot is a verified copy of a database that lists the blobs it refers to.
type Snapshot interface {
	storage.BlobRows
	Mark(ctx context.Context) (string, error)
	Close() error
}

// Opener checks a copy of a database and opens it, as OpenSnapshot of bunstore/sqlite does.
type Opener func(ctx context.Context, path string) (Snapshot, error)

// Report describes the contents of an archive.
type Report struct {
	Info    Info
	Totals  Totals
	Files   []string // of the server's folder
	Missing []string // the first ten blobs that were already missing when the backup was taken
}

const reported = 10 // missing blobs to report

// VerifyConfig says how to check an archive. Open is required.
type VerifyConfig struct {
	Open Opener
	// Temp is a folder with room for the database, see InFolder.
	Temp     string
	Progress func(Totals) // nil: no reports
}

// Verify checks an archive without restoring it: its bytes, see [Read], its database, and that it contains every blob that
// the database refers to.
func Verify(ctx context.Context, r io.Reader, cfg VerifyConfig) (Report, error) {
	if cfg.Open == nil {
		return Report{}, fault.Field("Open", "is required")
	}
	var v *verifier
	err := InFolder(cfg.Temp, func(work string) (err error) {
		v = &verifier{ctx: ctx, open: cfg.Open, stage: filepath.Join(work, nameDatabase), progress: cfg.Progress}
		return v.read(r)
	})
	if v == nil {
		return Report{}, err
	}
	return v.Report, err
}

// verifier reads an archive once and stores its database in a file.
type verifier struct {
	ctx      context.Context //nolint:containedctx // lives as long as one call
	open     Opener
	rows     storage.BlobRows // of a database outside the archive; nil: unknown
	info     func(Info) error // may refuse it
	stage    string           // path for the database
	progress func(Totals)
	Report

	want     func() (key string, err error, ok bool) // blobs that the database refers to
	snapshot Snapshot
	size     int64  // of the database
	next     string // the next expected blob
	due      bool
}

func (v *verifier) read(r io.Reader) (err error) {
	stop := func() {}
	defer func() { stop() }()
	compare := func(rows storage.BlobRows) error {
		v.want, stop = iter.Pull2(Named(v.ctx, rows))
		return v.advance()
	}
	defer func() {
		if v.snapshot != nil {
			err = errors.Join(err, v.snapshot.Close())
		}
	}()
	v.Totals, err = Read(v.ctx, r, Sink{
		Info: func(info Info) error {
			v.Report.Info = info
			if v.info != nil {
				if err := v.info(info); err != nil {
					return err
				}
			}
			if v.rows != nil {
				return compare(v.rows)
			}
			return nil
		},
		Database: func(r io.Reader, size int64) error {
			if err := v.database(r, size); err != nil {
				return err
			}
			return compare(v.snapshot)
		},
		File:     func(f File) error { v.Files = append(v.Files, f.Name); return nil },
		Blob:     func(key string, _ io.Reader, _ int64) error { return v.found(key) },
		Missing:  v.missing,
		Progress: v.progress,
	})
	if err != nil {
		return err
	}
	if v.Report.Info.Database == "sqlite" && v.snapshot == nil {
		return damaged("its database is not in it")
	}
	return v.noneLeft()
}

// database writes the database to disk and checks it.
func (v *verifier) database(r io.Reader, size int64) error {
	v.size = size
	if err := Room(filepath.Dir(v.stage), size); err != nil {
		return err
	}
	file, err := os.OpenFile(v.stage, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, r)
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	if v.snapshot, err = v.open(v.ctx, v.stage); err != nil {
		return fmt.Errorf("the database in the archive: %w", err)
	}
	mark, err := v.snapshot.Mark(v.ctx)
	if err == nil && mark != v.Report.Info.Mark {
		err = damaged("its database is another one than it says")
	}
	return err
}

// advance moves to the next blob that the database refers to.
func (v *verifier) advance() (err error) {
	v.next, err, v.due = v.want()
	return err
}

// found records a blob of the archive. Expected blobs that sort before it are missing.
func (v *verifier) found(key string) error {
	if v.want == nil {
		return nil
	}
	if v.due && v.next < key {
		return absent(v.next)
	}
	if v.due && v.next == key {
		return v.advance()
	}
	return nil
}

func (v *verifier) missing(key string) error {
	if len(v.Report.Missing) < reported {
		v.Report.Missing = append(v.Report.Missing, key)
	}
	return v.found(key)
}

func (v *verifier) noneLeft() error {
	if v.due {
		return absent(v.next)
	}
	return nil
}

func absent(key string) error {
	return damaged("the database names the file %s, which is not in it", key)
}
