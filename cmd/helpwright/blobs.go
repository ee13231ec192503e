package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/backup"
	"github.com/helpwright/helpwright/storage/blobs"
	"github.com/helpwright/helpwright/storage/fault"
)

type blobsCmd struct {
	Adopt blobsAdoptCmd `cmd:"" help:"Tie the blob store to the database although they do not seem to belong together, for example after either was replaced."`
	Copy  blobsCopyCmd  `cmd:"" help:"Copy all files to another store, for example from a folder to a bucket, while the server runs. Repeat it until nothing is new."`
	Sweep blobsSweepCmd `cmd:"" help:"Remove files that the database does not refer to. The server does this by itself every six hours."`
}

type blobsSweepCmd struct {
	DryRun bool          `name:"dry-run" help:"Remove nothing; print what would be removed."`
	Grace  time.Duration `help:"Minimum age of a file to remove, at least ten minutes: a file is written before its row." default:"24h" placeholder:"TIME"`
}

// bucketGrace is the minimum grace if another machine's clock determines the age of a file. S3 servers refuse clients whose
// clocks differ by more than a quarter of an hour.
const bucketGrace = time.Hour

// Run sweeps once and prints the result.
func (c *blobsSweepCmd) Run(s *session) error {
	if s.settings.blobFolder() == "" && c.Grace < bucketGrace {
		return usageError{fmt.Errorf("--grace must be at least %s for files in a bucket, whose server has a clock of its own", bucketGrace)}
	}
	a, err := s.open(false)
	if err != nil {
		return err
	}
	defer a.close()
	cfg := blobs.SweepConfig{Blobs: a.Tie(), Rows: []storage.BlobRows{a.db}, Logger: s.log, Grace: c.Grace, Dry: c.DryRun}
	did := "removed"
	if c.DryRun {
		did = "would remove"
		cfg.Each = func(b storage.BlobInfo) {
			fmt.Fprintf(s.stdout, "%s\t%d\t%s\n", b.Modified.Format(time.RFC3339), b.Size, b.Key)
		}
	}
	found, err := blobs.Sweep(s.ctx, cfg)
	fmt.Fprintf(s.stdout, "%s %d of %d files (%d bytes) and %d temporary ones; %d are younger than %s\n",
		did, found.Removed, found.Looked, found.Bytes, found.Temporary, found.Young, c.Grace)
	if err == nil && found.Failed > 0 {
		err = fmt.Errorf("%d files could not be removed: the log says why", found.Failed)
	}
	return err
}

type blobsAdoptCmd struct{}

// Run ties the files to the database.
func (blobsAdoptCmd) Run(s *session) error {
	s.adopting = true
	a, err := s.open(true)
	if err != nil {
		return err
	}
	defer a.close()
	if err := a.Tie().Adopt(s.ctx); err != nil {
		return err
	}
	fmt.Fprintln(s.stdout, "the files belong to this database now")
	return nil
}

// errNewDatabase explains why a new database is not combined with files of another one.
var errNewDatabase = errors.New("the database is new or empty, but HELPWRIGHT_BLOB_URL has files of another database: see whether its disk is mounted and HELPWRIGHT_DATABASE_URL is right, or restore it from a backup.\n" +
	"To begin anew beside these files, which are removed then: helpwright blobs adopt")

// refuseLostFile returns an error if the file of SQLite is missing or empty but there are blobs: in that case no new
// database is created. The same holds for an unfinished restore.
func (s *session) refuseLostFile() error {
	if err := backup.Interrupted(s.data); err != nil {
		return err
	}
	path := s.settings.sqliteFile()
	if path == "" || s.adopting {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.Size() > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if folder := s.settings.blobFolder(); folder != "" {
		if _, err := os.Stat(folder); err != nil {
			return nil
		}
	}
	files, err := s.openBlobsAt(s.settings.BlobURL)
	if err != nil {
		return nil // the next command to open it reports the problem
	}
	defer func() { _ = files.Close() }()
	if found, err := files.List(s.ctx, blobs.Prefix, "", 1); err == nil && len(found) > 0 {
		return errNewDatabase
	}
	return nil
}

// belong checks that the files belong to the database. Only a lost database stops the program: files may become available
// again, and whatever needs them waits.
func (a *app) belong(write bool) error {
	if a.adopting {
		return nil
	}
	see := a.Tie().Look
	if write {
		see = a.Tie().Check
	}
	if f, ok := errors.AsType[*fault.Error](see(a.ctx)); ok && f.Code == blobs.CodeNewDatabase {
		return errNewDatabase
	}
	return nil
}
