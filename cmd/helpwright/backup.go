package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage/backup"
	"github.com/helpwright/helpwright/storage/blobs"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/sqlite"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/desk"
)

type backupCmd struct {
	File   string `arg:"" help:"Where to write the archive: a new file, a folder or s3://BUCKET/FOLDER?region=NAME (the archive is then named after the time), or - for standard output."`
	Verify bool   `help:"Write nothing; check that the archive FILE is complete and undamaged. - reads standard input."`
	Dump   string `help:"With PostgreSQL, the shell command that dumps the database, such as pg_dump. It runs before the files are copied, and no file is removed meanwhile." placeholder:"COMMAND"`
	Temp   string `help:"Folder with space for a copy of the SQLite database. Default: the archive's folder." placeholder:"FOLDER"`
}

// Run writes or checks an archive. It works while a server runs.
func (c *backupCmd) Run(s *session) error {
	if err := s.settings.check(); err != nil {
		return err
	}
	if c.Verify {
		return c.verify(s)
	}
	if err := backup.Interrupted(s.data); err != nil {
		return err
	}
	b, err := s.newBackup(c.Dump)
	if err != nil {
		return err
	}
	defer b.close()
	name, err := c.write(s, b)
	b.progress.done()
	if _, usage := errors.AsType[usageError](err); usage {
		return err
	}
	b.remember(err != nil)
	if err != nil {
		return fmt.Errorf("no backup was written: %w", err)
	}
	return b.reportArchive(name)
}

// write writes the archive to its destination, and returns its name.
func (c *backupCmd) write(s *session, b *backingUp) (name string, err error) {
	if inBucket(c.File) {
		return c.writeBucket(s, b)
	}
	if c.File == "-" {
		out := bufio.NewWriterSize(s.stdout, 1<<20)
		err = c.inTemp(b, func(work string) error { return b.write(out, work) })
		return "the standard output", errors.Join(err, out.Flush())
	}
	name = c.File
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		name = filepath.Join(name, backup.FileName(time.Now()))
	}
	err = backup.Create(name, func(w io.Writer, work string) error {
		if c.Temp == "" {
			return b.write(w, work)
		}
		return backup.InFolder(c.Temp, func(work string) error { return b.write(w, work) })
	})
	if errors.Is(err, fs.ErrExist) {
		err = usageError{fmt.Errorf("%s already exists: choose a new file or a folder", name)}
	}
	return name, err
}

// verify checks an archive.
func (c *backupCmd) verify(s *session) error {
	in, temp := io.Reader(os.Stdin), c.Temp
	if c.File != "-" {
		file, err := s.openArchive(c.File)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		in = file
		if temp == "" && !inBucket(c.File) {
			temp = filepath.Dir(c.File)
		}
	}
	if temp == "" {
		temp = os.TempDir()
	}
	p := newProgress(s.stderr, "checked")
	report, err := backup.Verify(s.ctx, in, backup.VerifyConfig{Open: openSnapshot, Temp: temp, Progress: p.reportFiles})
	p.done()
	if err != nil {
		return err
	}
	fmt.Fprintf(s.stdout, "whole: %s of %s (%s, schema %s): %s\n", report.Info.Database, report.Info.Created.Format(time.RFC3339),
		report.Info.Program, report.Info.Schema, contents(report.Totals))
	tellMissing(s.stdout, report)
	s.rememberVerified(report.Info.Created)
	return nil
}

func openSnapshot(ctx context.Context, path string) (backup.Snapshot, error) {
	db, err := sqlite.OpenSnapshot(ctx, path)
	if err != nil {
		return nil, err
	}
	return db, nil
}

func contents(t backup.Totals) string {
	return fmt.Sprintf("%d files of mails, attachments and sites, %s in all", t.Blobs, megabytes(t.Bytes))
}

func tellMissing(w io.Writer, report backup.Report) {
	if report.Totals.Missing == 0 {
		return
	}
	fmt.Fprintf(w, "%d files that the database names were missing already when the backup was taken, such as %s\n",
		report.Totals.Missing, strings.Join(report.Missing, ", "))
}

// incompleteError reports work that is done except for missing parts: exit code 4.
type incompleteError struct{ error }

// incomplete reports that files are missing from a backup or an archive.
func incomplete(what string, missing int64) error {
	files := "1 missing file that the database refers to: helpwright doctor names it"
	if missing > 1 {
		files = fmt.Sprintf("%d missing files that the database refers to: helpwright doctor lists some", missing)
	}
	return incompleteError{fmt.Errorf("the %s is complete except for %s", what, files)}
}

// backingUp is a backup in progress.
type backingUp struct {
	*session
	database string       // SQLite's file; "" for PostgreSQL
	rows     *bunstore.DB // for PostgreSQL
	dump     string
	blobs    blobStore
	progress *progress

	info   backup.Info
	totals backup.Totals
	size   int64 // of the archive
}

// newBackup opens the parts of the archive, and creates nothing.
func (s *session) newBackup(dump string) (*backingUp, error) {
	b := &backingUp{session: s, database: s.settings.sqliteFile(), dump: dump, progress: newProgress(s.stderr, "backed up")}
	switch {
	case s.settings.inMemory():
		return nil, usageError{errors.New("HELPWRIGHT_DATABASE_URL names a database in memory, which ends with its server")}
	case b.database != "" && dump != "":
		return nil, usageError{errors.New("--dump goes with PostgreSQL: a database of SQLite is in the archive")}
	}
	if folder := s.settings.blobFolder(); folder != "" {
		if _, err := os.Stat(folder); err != nil {
			return nil, fmt.Errorf("HELPWRIGHT_BLOB_URL: %w", err)
		}
	}
	if b.database != "" {
		if _, err := os.Stat(b.database); err != nil {
			return nil, fmt.Errorf("HELPWRIGHT_DATABASE_URL: %w", err)
		}
	}
	var err error
	if b.blobs, err = s.openReachable(s.settings.BlobURL); err != nil {
		return nil, fmt.Errorf("HELPWRIGHT_BLOB_URL: %w", err)
	}
	if b.database != "" {
		return b, nil
	}
	if b.rows, err = s.openDatabase(false); err != nil {
		return nil, errors.Join(err, b.blobs.Close())
	}
	return b, nil
}

func (b *backingUp) close() {
	_ = b.blobs.Close()
	if b.rows != nil {
		_ = b.rows.Close()
	}
}

// write writes the archive while no file is removed.
func (b *backingUp) write(w io.Writer, work string) error {
	return blobs.Hold(b.ctx, b.blobs, func(ctx context.Context) error {
		files, err := b.ownFiles() // mails recorded from now on are in both files and database, or in neither
		if err != nil {
			return err
		}
		src := backup.Source{Files: files, Blobs: b.blobs, Progress: b.progress.reportFiles}
		rows := b.rows
		b.info.Settings = portable(b.shown)
		b.info.Created, b.info.Program, b.info.Database = time.Now().UTC().Truncate(time.Second), version(), "postgres"
		if b.database != "" {
			if rows, err = b.snapshot(ctx, filepath.Join(work, "database.sqlite")); err != nil {
				return err
			}
			defer func() { _ = rows.Close() }()
			src.Database, b.info.Database = filepath.Join(work, "database.sqlite"), "sqlite"
			src.Keys = backup.Named(ctx, rows)
		} else {
			if err := b.dumpRows(ctx); err != nil {
				return err
			}
			src.Keys = backup.Stored(ctx, b.blobs, blobs.Prefix)
		}
		if err := b.describe(ctx, rows); err != nil {
			return err
		}
		for _, err := range src.Keys {
			if err != nil {
				return err
			}
			b.progress.files++
		}
		src.Info = b.info
		counted := &countingWriter{to: w}
		b.totals, err = backup.Write(ctx, counted, src)
		b.size = counted.n
		return err
	})
}

// snapshot copies the database of SQLite and checks the copy.
func (b *backingUp) snapshot(ctx context.Context, to string) (*bunstore.DB, error) {
	info, err := os.Stat(b.database)
	if err != nil {
		return nil, err
	}
	if err := backup.Room(filepath.Dir(to), info.Size()); err != nil {
		return nil, err
	}
	if err := os.WriteFile(to, nil, 0o600); err != nil {
		return nil, err
	}
	if err := sqlite.Snapshot(ctx, b.database, to); err != nil {
		return nil, err
	}
	return sqlite.OpenSnapshot(ctx, to)
}

// dumpRows runs the command that dumps PostgreSQL.
func (b *backingUp) dumpRows(ctx context.Context) error {
	if b.dump == "" {
		return nil
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", b.dump)
	cmd.Stdout, cmd.Stderr = b.stderr, b.stderr
	cmd.Env = append(os.Environ(), "HELPWRIGHT_DATABASE_URL="+forLibpq(b.settings.DatabaseURL))
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the command of --dump: %w", err)
	}
	return nil
}

// forLibpq returns the address of a database without the parameters of this program's driver, which PostgreSQL's own
// programs refuse.
func forLibpq(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	query := u.Query()
	for _, name := range []string{"default_query_exec_mode", "statement_cache_capacity", "description_cache_capacity", "pool_mode"} {
		query.Del(name)
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// describe describes the content of the archive, and checks that files and database belong together.
func (b *backingUp) describe(ctx context.Context, rows *bunstore.DB) error {
	tie, err := blobs.NewTie(blobs.TieConfig{Blobs: b.blobs, Marks: rows, Rows: rows})
	if err != nil {
		return err
	}
	if err := tie.Look(ctx); err != nil {
		return err
	}
	if b.info.Mark, err = rows.Mark(ctx); err != nil {
		return err
	}
	done, err := rows.Applied(ctx)
	if err == nil && len(done) > 0 {
		b.info.Schema = done[len(done)-1]
	}
	return err
}

// ownFiles returns the files that the server keeps next to the database. It records the key.
func (b *backingUp) ownFiles() ([]backup.File, error) {
	var files []backup.File
	key, text := b.settings.SecretKey, []byte(nil)
	text, err := os.ReadFile(filepath.Join(b.data, "secret.key"))
	switch {
	case err == nil:
		files = append(files, backup.File{Name: "secret.key", Content: text})
		if key == "" {
			key, b.info.KeyInside = string(text), true
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if keys, err := secretKeys(strings.TrimSpace(key)); err == nil {
		b.info.Key = backup.Fingerprint(keys[0])
	}
	entries, err := os.ReadDir(filepath.Join(b.data, "results"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue // it is still being written
		}
		text, err := os.ReadFile(filepath.Join(b.data, "results", e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // the database has it
		}
		if err != nil {
			return nil, err
		}
		files = append(files, backup.File{Name: "results/" + e.Name(), Content: text})
	}
	return files, nil
}

// countingWriter counts what is written.
type countingWriter struct {
	to io.Writer
	n  int64
}

// Write implements [io.Writer].
func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += int64(n)
	return n, err
}

// rememberLimit is how long a command takes to note what became of a backup.
const rememberLimit = 10 * time.Second

// remember notes the outcome of the backup in the database, for the desk's page of the server's health.
func (b *backingUp) remember(failed bool) {
	now := time.Now().UTC()
	o := backup.Outcome{At: now, Failed: failed, Size: b.size, Written: now, Created: b.info.Created, RowsApart: b.database == "" && b.dump == ""}
	b.note(func(ctx context.Context, db *bunstore.DB) error { return backup.Remember(ctx, db, o) })
}

// rememberVerified notes that an archive is whole, if there is a database here that remembers it.
func (s *session) rememberVerified(created time.Time) {
	if file := s.settings.sqliteFile(); file != "" {
		if _, err := os.Stat(file); err != nil {
			return // archives are checked on other machines, too
		}
	}
	if s.settings.inMemory() {
		return
	}
	s.note(func(ctx context.Context, db *bunstore.DB) error {
		return backup.RememberVerified(ctx, db, created, time.Now().UTC())
	})
}

// note changes what the database remembers of backups. A failure changes nothing about the backup.
func (s *session) note(fn func(ctx context.Context, db *bunstore.DB) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), rememberLimit)
	defer cancel()
	own := *s
	own.ctx = ctx
	db, err := own.connect()
	if err == nil {
		err = errors.Join(fn(ctx, db), db.Close())
	}
	if err != nil {
		s.log.WarnContext(ctx, "the desk does not show this backup", "error", err)
	}
}

// backupState is what the desk shows of backups.
func (a *app) backupState(ctx context.Context) (desk.Backup, error) {
	o, err := backup.Last(ctx, a.db)
	if fault.Is(err, fault.NotFound) {
		return desk.Backup{}, nil
	}
	return desk.Backup{At: o.At, Failed: o.Failed, Written: o.Written, Size: o.Size, RowsApart: o.RowsApart, Verified: o.Verified}, err
}

// reportArchive reports the archive, and the parts of a backup that it does not contain.
func (b *backingUp) reportArchive(name string) error {
	fmt.Fprintf(b.stderr, "%s has %s\n", name, contents(b.totals))
	if !b.info.KeyInside {
		fmt.Fprintln(b.stderr, "note: the secret key is not in it, as it comes from HELPWRIGHT_SECRET_KEY: keep it elsewhere, nothing opens stored passwords without it")
	}
	if b.database == "" && b.dump == "" {
		fmt.Fprint(b.stderr, dumpText)
	}
	if b.totals.Missing > 0 {
		return incomplete("backup", b.totals.Missing)
	}
	return nil
}

// dumpText names the dump that belongs to an archive of PostgreSQL.
const dumpText = `note: the rows are in PostgreSQL, and not in it. To it belongs the last dump that was made before it:

  pg_dump --format=custom --no-owner --file=helpwright.dump "$HELPWRIGHT_DATABASE_URL"

or a base backup (pg_basebackup) with the WAL up to a moment before it. The order matters: files are stored before the rows
that name them, so that later files have all that an earlier dump names, but for those that were deleted in between. With
--dump 'pg_dump ...' the backup makes the dump itself, and removes nothing in between.
`

// belongs checks that the key in the settings is the backup's.
func (s *session) belongs(info backup.Info) error {
	if info.Key == "" || s.settings.SecretKey == "" && info.KeyInside {
		return nil
	}
	if s.settings.SecretKey == "" {
		return usageError{errors.New("the secret key is not in the backup: set HELPWRIGHT_SECRET_KEY to the one that the server had")}
	}
	keys, err := secretKeys(s.settings.SecretKey)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if backup.Fingerprint(key) == info.Key {
			return nil
		}
	}
	advice := "set it to the one that the server had"
	if info.KeyInside {
		advice = "unset it, as the right one is in the backup"
	}
	return usageError{errors.New("HELPWRIGHT_SECRET_KEY is not the key of the backup, so that nothing would open stored passwords: " + advice)}
}

type restoreCmd struct {
	File string `arg:"" help:"The archive that backup wrote: a file, or s3://BUCKET/FOLDER/FILE?region=NAME."`
}

// Run restores into the stores in the settings, which must be empty.
func (c *restoreCmd) Run(s *session) error {
	if err := s.settings.check(); err != nil {
		return err
	}
	file, err := s.openArchive(c.File)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if s.settings.inMemory() {
		return usageError{errors.New("HELPWRIGHT_DATABASE_URL names a database in memory, into which nothing is restored")}
	}
	files, err := s.openReachable(s.settings.BlobURL)
	if err != nil {
		return fmt.Errorf("HELPWRIGHT_BLOB_URL: %w", err)
	}
	defer func() { _ = files.Close() }()
	p := newProgress(s.stderr, "read") // the whole archive twice: to check it, and to restore it
	cfg := backup.RestoreConfig{
		Data: s.data, Database: s.settings.sqliteFile(), Blobs: files, BlobsDir: s.settings.blobFolder(),
		Open: openSnapshot, Accept: s.belongs, Progress: p.reportFiles,
	}
	if cfg.Database == "" {
		db, err := s.restoredRows(&cfg)
		if err != nil {
			return err
		}
		defer func() { _ = db.Close() }()
	}
	report, err := backup.Restore(s.ctx, file, cfg)
	p.done()
	if err != nil {
		return err
	}
	fmt.Fprintf(s.stdout, "restored the state of %s: %s\n", report.Info.Created.Format(time.RFC3339), contents(report.Totals))
	tellMissing(s.stdout, report)
	s.tellSettings(report.Info)
	fmt.Fprintln(s.stdout, "What waited to be sent then is sent when helpwright serve starts, even if it was sent since.")
	return nil
}

// tellSettings reports the settings that differ from those of the server that was backed up.
func (s *session) tellSettings(info backup.Info) {
	now := portable(s.shown)
	for _, name := range slices.Sorted(maps.Keys(info.Settings)) {
		if is, known := now[name]; known && is != info.Settings[name] {
			fmt.Fprintf(s.stdout, "note: %s was %q, and is %q\n", name, info.Settings[name], is)
		}
	}
}

// restoredRows opens the PostgreSQL database, which must have been restored from a dump.
func (s *session) restoredRows(cfg *backup.RestoreConfig) (*bunstore.DB, error) {
	db, err := s.connect()
	if err != nil {
		return nil, err
	}
	pending, err := db.Pending(s.ctx)
	if err == nil && len(pending) > 0 {
		err = fault.New(fault.Conflict, "The database has no tables of this release. Restore the dump that belongs to the backup first:\n\n"+
			"  pg_restore --no-owner --dbname=\"$HELPWRIGHT_DATABASE_URL\" helpwright.dump\n\n"+
			"A dump of an earlier release also needs: helpwright migrate")
	}
	if err == nil {
		cfg.Mark, err = db.Mark(s.ctx)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	cfg.Rows = db
	return db, nil
}
