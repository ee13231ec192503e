package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/smtp"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/backup"
	"github.com/helpwright/helpwright/storage/blobs"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/both"
	"github.com/helpwright/helpwright/storage/fileblob"
	"github.com/helpwright/helpwright/storage/testenv"
)

// rowsOf are all rows of all tables of a database, each table's sorted, as texts.
func rowsOf(t *testing.T, databaseURL string) map[string][]string {
	t.Helper()
	driver, dsn, list := "pgx", databaseURL, "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
	if path, ok := strings.CutPrefix(databaseURL, "sqlite:"); ok {
		driver, dsn, list = "sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=query_only(1)", "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_stat%'" // statistics are made anew at each start
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	all := map[string][]string{}
	for _, table := range query(t, db, list) {
		rows := query(t, db, `SELECT * FROM "`+table+`"`)
		if table == "hw_vault" { // servers note there that they run, and a backup when it has ended what became of it
			rows = slices.DeleteFunc(rows, func(row string) bool {
				return strings.HasPrefix(row, `["servers/`) || strings.HasPrefix(row, `["backup/outcome"`)
			})
			if len(rows) == 0 {
				rows = nil
			}
		}
		slices.Sort(rows)
		all[table] = rows
	}
	if len(all["hw_migrations"]) == 0 {
		t.Fatalf("there are no tables in %s", databaseURL)
	}
	return all
}

func query(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		if len(values) == 1 {
			all = append(all, fmt.Sprint(values[0]))
			continue
		}
		all = append(all, fmt.Sprintf("%q", values))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// blobsOf are the hashes of all blobs below a folder, by their keys.
func blobsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := fileblob.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = files.Close() }()
	return hashesOf(t, files)
}

// hashesOf are the hashes of all blobs, by their keys.
func hashesOf(t *testing.T, files storage.Blobs) map[string]string {
	t.Helper()
	all := map[string]string{}
	for key, err := range backup.Stored(t.Context(), files, "") {
		if err != nil {
			t.Fatal(err)
		}
		r, err := files.Get(t.Context(), key)
		if err != nil {
			continue // deleted meanwhile
		}
		hash := sha256.New()
		_, err = io.Copy(hash, r)
		_ = r.Close()
		if err != nil {
			t.Fatal(err)
		}
		all[key] = hex.EncodeToString(hash.Sum(nil))
	}
	return all
}

// namedBlobs are the keys that the rows of a database name.
func namedBlobs(t *testing.T, databaseURL string) []string {
	t.Helper()
	db, err := both.Open(t.Context(), databaseURL, bunstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var all []string
	for key, err := range backup.Named(t.Context(), db) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, key)
	}
	return all
}

// at is the same server in another folder, which does not run.
func (s *process) at(dir string, env ...string) *process {
	s.t.Helper()
	other := &process{t: s.t, dir: dir, http: s.http, intake: s.intake, token: s.token, env: append(slices.Clone(s.env), env...), stderr: s.stderr}
	s.t.Cleanup(other.kill)
	return other
}

// archived runs backup into a folder of its own and returns the archive.
func (s *process) archived(args ...string) string {
	s.t.Helper()
	dir := s.t.TempDir()
	out, err := s.command(append([]string{"backup", dir}, args...)...)
	if err != nil {
		s.t.Fatalf("%v\n%s", err, out)
	}
	found, err := filepath.Glob(filepath.Join(dir, "helpwright-*.tar.zst"))
	if entries, _ := os.ReadDir(dir); err != nil || len(found) != 1 || len(entries) != 1 {
		s.t.Fatalf("%v %v %v", found, entries, err)
	}
	if info, err := os.Stat(found[0]); err != nil || info.Mode().Perm() != 0o600 {
		s.t.Errorf("%v %v", info.Mode(), err)
	}
	return found[0]
}

// load puts mails, answers, files and deletions on a server until it is stopped.
type load struct {
	mails, deleted atomic.Int64 // that were done, and answered
	stop           func()
}

func newLoad(s *process, forward string) *load {
	l := &load{}
	ctx, end := context.WithCancel(s.t.Context())
	var wait sync.WaitGroup
	var number atomic.Int64
	each := func(do func(s *process, n int64)) {
		wait.Go(func() {
			own := *s // the cached answer is not shared
			for ctx.Err() == nil {
				do(&own, number.Add(1))
			}
		})
	}
	text := bytes.Repeat([]byte("some text "), 20_000)
	for range 2 {
		each(func(s *process, n int64) {
			raw := crlf(head(int(n), fmt.Sprintf("Message-ID: <m%d@example.com>\n\n", n))) + string(text[:rand.IntN(50_000)]) + "\r\n"
			if smtp.SendMail(s.intake, nil, "a@example.com", []string{forward}, []byte(raw)) == nil {
				l.mails.Add(1)
			}
		})
	}
	for range 2 {
		each(func(s *process, n int64) {
			attachments := s.notes()
			conversation, _, _ := strings.Cut(attachments, "/interactions")
			s.hurl(context.Background(), attachments, "file", fmt.Sprint(n, ".txt"), text[:rand.IntN(len(text))])
			s.ok("POST", conversation+"/interactions", url.Values{"type": {"user"}, "body": {"<p>Answer</p>"}}, nil)
			if n%2 == 0 {
				s.ok("DELETE", conversation, nil, nil)
				l.deleted.Add(1)
			}
		})
	}
	l.stop = sync.OnceFunc(func() { end(); wait.Wait() })
	s.t.Cleanup(l.stop)
	return l
}

// TestBackupUnderLoad takes backups while mails come in, answers leave, files are uploaded and conversations deleted, and
// restores each: it is one moment of the server, with every file that its rows name. One of a server at rest is the server,
// row by row and file by file.
func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	m := s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
	l := newLoad(s, m.InternalEmailAddress)
	testenv.Eventually(t, "there is something to back up", func() bool { return l.mails.Load() > 20 && l.deleted.Load() > 5 })
	for range 4 {
		mails := l.mails.Load()
		archive := s.archived()
		done := l.mails.Load() - mails
		if out, err := s.command("backup", "--verify", archive); err != nil || !strings.Contains(out, "whole: sqlite") || strings.Contains(out, "missing") {
			t.Errorf("%v\n%s", err, out)
		}
		other := s.at(t.TempDir())
		if out, err := other.command("restore", archive); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		restored := other.databaseURL()
		rows := rowsOf(t, restored)
		if n := int64(len(rows["hw_inbound_mails"])); n < mails {
			t.Errorf("%d mails are in the backup, %d were accepted before it", n, mails)
		}
		snapshot := filepath.Join(t.TempDir(), "snapshot.db")
		unpackDatabase(t, archive, snapshot)
		if diff := cmp.Diff(rowsOf(t, "sqlite:"+snapshot), rows); diff != "" {
			t.Errorf("what was restored is not what was backed up:\n%s", diff)
		}
		named, there := namedBlobs(t, restored), blobsOf(t, filepath.Join(other.dir, "data", "blobs"))
		for _, key := range named {
			if there[key] == "" {
				t.Errorf("%s is not there", key)
			}
		}
		if len(there) != len(named)+1 || there[blobs.MarkKey] == "" {
			t.Errorf("there are %d files, %d are named", len(there), len(named))
		}
		if len(rows["hw_attachments"]) == 0 {
			t.Error("there are no attachments")
		}
		t.Logf("%d rows of mails, %d of attachments, %d files; %d mails came in meanwhile", len(rows["hw_inbound_mails"]), len(rows["hw_attachments"]), len(named), done)
	}
	l.stop()
	testenv.Eventually(t, "every mail is filed", func() bool { return len(ledgerOf(s, m.ID, "received")) == 0 })
	s.stop()
	s.sameAfterRestore(s.archived())
}

// While a backup is taken nothing is removed: a conversation is deleted at once, and its files when the backup is done.
func TestNothingIsRemovedDuringBackup(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
	attachments := s.notes()
	conversation, _, _ := strings.Cut(attachments, "/interactions")
	s.hurl(t.Context(), attachments, "file", "a.txt", []byte("text"))
	before, _ := s.blobFiles()
	if len(before) != 1 {
		t.Fatalf("there are files %v", before)
	}
	files, err := fileblob.Open(filepath.Join(s.dir, "data", "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = files.Close() }()
	err = blobs.Hold(t.Context(), files, func(context.Context) error {
		s.ok("DELETE", conversation, nil, nil)
		testenv.Eventually(t, "the server has tried", func() bool {
			log, err := os.ReadFile(s.stderr.Name())
			return err == nil && bytes.Contains(log, []byte("Files cannot be removed while a backup is running."))
		})
		if out, err := s.command("blobs", "sweep", "--grace", "10m"); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		if still, _ := s.blobFiles(); len(still) != 1 {
			t.Errorf("there are files %v", still)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	testenv.Eventually(t, "the file is removed", func() bool { still, _ := s.blobFiles(); return len(still) == 0 })
}

func (s *process) databaseURL() string {
	return "sqlite:" + filepath.Join(s.dir, "data", "helpwright.db")
}

// unpackDatabase takes the database out of an archive.
func unpackDatabase(t *testing.T, archive, to string) {
	t.Helper()
	in, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	_, err = backup.Read(t.Context(), in, backup.Sink{Database: func(r io.Reader, _ int64) error {
		out, err := os.Create(to)
		if err != nil {
			return err
		}
		if _, err := io.Copy(out, r); err != nil {
			return err
		}
		return out.Close()
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// sameAfterRestore restores the backup of a server that is not running, compares all rows and files, and runs the restored
// server.
func (s *process) sameAfterRestore(archive string) {
	s.t.Helper()
	other := s.at(s.t.TempDir())
	if out, err := other.command("restore", archive); err != nil {
		s.t.Fatalf("%v\n%s", err, out)
	}
	s.sameAs(other)
	other.start()
	defer other.stop()
	if n, want := len(other.conversations()), len(rowsOf(s.t, s.databaseURL())["hw_conversations"]); n != want || n == 0 {
		s.t.Errorf("the restored server has %d conversations, want %d", n, want)
	}
}

// sameAs compares two servers that do not run.
func (s *process) sameAs(other *process) {
	s.t.Helper()
	if diff := cmp.Diff(rowsOf(s.t, s.databaseURL()), rowsOf(s.t, other.databaseURL())); diff != "" {
		s.t.Errorf("rows differ:\n%.2000s", diff)
	}
	want, got := blobsOf(s.t, filepath.Join(s.dir, "data", "blobs")), blobsOf(s.t, filepath.Join(other.dir, "data", "blobs"))
	named := namedBlobs(s.t, s.databaseURL())
	for key := range want {
		if _, is := slices.BinarySearch(named, key); !is && key != blobs.MarkKey {
			delete(want, key) // to be swept
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("files differ:\n%.2000s", diff)
	}
	for _, name := range []string{"secret.key"} {
		key, err := os.ReadFile(filepath.Join(s.dir, "data", name))
		copied, err2 := os.ReadFile(filepath.Join(other.dir, "data", name))
		if err != nil || err2 != nil || !bytes.Equal(key, copied) {
			s.t.Errorf("%s: %v %v", name, err, err2)
		}
	}
}

// filled is a server with mails and large files that does not run any more.
func filled(t *testing.T) *process {
	t.Helper()
	s := newServer(t)
	m := s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
	noise := make([]byte, 8<<20)
	for i := range noise {
		noise[i] = byte(' ' + rand.Uint32N('~'-' '))
	}
	attachments := s.notes()
	for n := range 8 {
		s.hurl(t.Context(), attachments, "file", fmt.Sprint(n, ".txt"), noise)
	}
	submitAll(s, m.InternalEmailAddress, 60)
	testenv.Eventually(t, "every mail is filed", func() bool { return len(s.conversations()) == 61 })
	s.stop()
	return s
}

// killed runs a command of the program and kills it at a random moment within limit; it reports whether it was done before.
func (s *process) killed(limit time.Duration, args ...string) (done bool) {
	s.t.Helper()
	path := program(s.t)
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err == nil
	case <-time.After(time.Duration(rand.Int64N(int64(limit)))):
		_ = cmd.Process.Signal(syscall.SIGKILL)
		return <-ended == nil
	}
}

// TestBackupKilled kills backup and restore at random moments: nothing incomplete looks complete, and the next command
// cleans up.
func TestBackupKilled(t *testing.T) {
	t.Parallel()
	s := filled(t)
	began := time.Now()
	archive := s.archived()
	took, dir := time.Since(began), t.TempDir()
	if info, err := os.Stat(archive); err != nil || info.Size() < 40<<20 {
		t.Fatalf("the archive has %d bytes: %v", info.Size(), err)
	}
	done := 0
	for n := range kills {
		name := filepath.Join(dir, fmt.Sprintf("backup-%d", n))
		if s.killed(took*5/4, "backup", name) {
			done++
		}
		if _, err := os.Stat(name); err == nil {
			if out, err := s.command("backup", "--verify", name); err != nil {
				t.Errorf("a backup that is none: %v\n%s", err, out)
			}
		}
	}
	if out, err := s.command("backup", filepath.Join(dir, "last")); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".helpwright-*")); len(left) > 0 {
		t.Errorf("%v were left behind", left)
	}
	t.Logf("a backup took %v; %d of %d were done before they were killed", took, done, kills)

	other := s.at(t.TempDir())
	began = time.Now()
	if out, err := other.command("restore", archive); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	took = time.Since(began)
	other = s.at(t.TempDir())
	whole, refused := 0, 0
	for range kills {
		if other.killed(took*5/4, "restore", archive) {
			whole++
			s.sameAs(other)
			other = s.at(t.TempDir())
			continue
		}
		if _, err := os.Stat(filepath.Join(other.dir, "data", "restoring")); err != nil {
			if _, err := os.Stat(filepath.Join(other.dir, "data", "helpwright.db")); err == nil { // killed after it was done
				s.sameAs(other)
				other = s.at(t.TempDir())
			}
			continue
		}
		refused++
		for _, command := range []string{"migrate", "serve", "doctor"} {
			if out, err := other.command(command); err == nil || !strings.Contains(out, "Run it again") {
				t.Errorf("%s takes half a restore for a server: %v\n%s", command, err, out)
			}
		}
		if _, err := os.Stat(filepath.Join(other.dir, "data", "helpwright.db-wal")); err == nil {
			t.Error("the database was opened")
		}
	}
	if _, err := os.Stat(filepath.Join(other.dir, "data", "helpwright.db")); err != nil {
		if out, err := other.command("restore", archive); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	s.sameAs(other)
	t.Logf("a restore took %v; %d of %d were done before they were killed, %d were interrupted", took, whole, kills, refused)
}

// Backups and restores that cannot be made are refused with the right exit code, and leave nothing behind.
func TestBackupRefuses(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	m := s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
	submitAll(s, m.InternalEmailAddress, 3)
	testenv.Eventually(t, "every mail is filed", func() bool { return len(s.conversations()) == 3 })
	archive := s.archived()
	nonsense := filepath.Join(t.TempDir(), "nonsense")
	if err := os.WriteFile(nonsense, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut")
	if err := os.WriteFile(cut, text[:len(text)-20], 0o600); err != nil {
		t.Fatal(err)
	}
	nowhere := filepath.Join(t.TempDir(), "no", "folder", "x")
	for _, tt := range []struct {
		name string
		here bool // in the server's folder, otherwise in an empty one
		env  []string
		args []string
		code int
		says string
	}{
		{"over an archive", true, nil, []string{"backup", archive}, exitUsage, "already exists"},
		{"over the database", true, nil, []string{"backup", "data/helpwright.db"}, exitUsage, "already exists"},
		{"without a server", false, nil, []string{"backup", "x"}, exitFail, "HELPWRIGHT_BLOB_URL: stat data/blobs"},
		{"of memory", true, []string{"HELPWRIGHT_DATABASE_URL=sqlite::memory:"}, []string{"backup", "x"}, exitUsage, "in memory"},
		{"into memory", false, []string{"HELPWRIGHT_DATABASE_URL=sqlite::memory:"}, []string{"restore", archive}, exitUsage, "in memory"},
		{"into no folder", true, nil, []string{"backup", nowhere}, exitFail, "no such file"},
		{"a dump of SQLite", true, nil, []string{"backup", "--dump", "true", "x"}, exitUsage, "--dump goes with PostgreSQL"},
		{"other files", true, []string{"HELPWRIGHT_BLOB_URL=file:data/results"}, []string{"backup", "x"}, exitFail, "Is its disk mounted?"},
		{"a full disk", true, nil, []string{"backup", "/dev/full"}, exitUsage, "already exists"},
		{"no settings", true, []string{"HELPWRIGHT_LISTEN=nonsense"}, []string{"backup", "x"}, exitUsage, "HELPWRIGHT_LISTEN"},
		{"verify nonsense", true, nil, []string{"backup", "--verify", nonsense}, exitFail, "damaged or is not a backup"},
		{"verify what is cut", true, nil, []string{"backup", "--verify", cut}, exitFail, "cut short"},
		{"verify nothing", true, nil, []string{"backup", "--verify", nowhere}, exitFail, "no such file"},
		{"restore over it", true, nil, []string{"restore", archive}, exitFail, "into an empty place, and data/secret.key already exists"},
		{"restore beside its blobs", false, []string{"HELPWRIGHT_BLOB_URL=file:" + filepath.Join(s.dir, "data", "blobs")}, []string{"restore", archive}, exitFail, "in the store of files"},
		{"restore nonsense", false, nil, []string{"restore", nonsense}, exitFail, "damaged or is not a backup"},
		{"restore what is cut", false, nil, []string{"restore", cut}, exitFail, "cut short"},
		{"restore with another key", false, []string{"HELPWRIGHT_SECRET_KEY=" + strings.Repeat("x", 32)}, []string{"restore", archive}, exitUsage, "unset it"},
	} {
		dir := s.dir
		if !tt.here {
			dir = t.TempDir()
		}
		code, out, stderr := command(t, dir, tt.env, tt.args...)
		if code != tt.code || !strings.Contains(stderr, tt.says) || strings.Contains(stderr, "x has ") {
			t.Errorf("%s: %d, want %d and %q: %s%s", tt.name, code, tt.code, tt.says, out, stderr)
		}
		left, _ := filepath.Glob(filepath.Join(dir, "*"))
		if there := map[bool]int{true: 2, false: 0}[tt.here]; tt.args[0] == "backup" && len(left) != there {
			t.Errorf("%s: %v are left", tt.name, left)
		}
		if _, err := os.Stat(filepath.Join(dir, "data", "helpwright.db")); !tt.here && err == nil {
			t.Errorf("%s: there is a database", tt.name)
		}
	}
}

// The standard output may be full, too, and a pipe may end.
func TestBackupToOutput(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	path := program(t)
	for script, want := range map[string]string{
		"'%s' backup - > /dev/full":                                                                             "no backup was written: write /dev/stdout: no space left on device",
		"'%s' backup - | '%[1]s' backup --verify -":                                                             "whole: sqlite",
		"'%s' backup --temp . - > archive && '%[1]s' backup --verify archive; rm archive":                       "whole: sqlite",
		"ulimit -f 100; '%s' backup archive; test ! -e archive && ls -A | grep -c '^.helpwright' | sed s/0/OK/": "OK",
	} {
		cmd := exec.Command("sh", "-c", fmt.Sprintf(script, path))
		cmd.Dir, cmd.Env = s.dir, s.env
		out, _ := cmd.CombinedOutput()
		if !strings.Contains(string(out), want) {
			t.Errorf("%s: %s", script, out)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(s.dir, "data", ".helpwright-*")); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// A file that was lost is no reason for no backup, and not hidden.
func TestBackupOfLostFiles(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	m := s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
	submitAll(s, m.InternalEmailAddress, 5)
	testenv.Eventually(t, "every mail is filed", func() bool { return len(s.conversations()) == 5 })
	files, _ := s.blobFiles()
	if err := os.Remove(files[1]); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(t.TempDir(), "archive")
	code, _, stderr := command(t, s.dir, s.env, "backup", archive)
	if code != exitIncomplete || !strings.Contains(stderr, "the backup is complete except for 1 missing file that the database refers to") {
		t.Errorf("%d %s", code, stderr)
	}
	lost := regexp.MustCompile(`1 files that the database names were missing already when the backup was taken, such as accounts/`)
	for _, args := range [][]string{{"backup", "--verify", archive}, {"restore", archive}} {
		if code, out, stderr := command(t, t.TempDir(), nil, args...); code != exitDone || !lost.MatchString(out) {
			t.Errorf("%v: %d %s %s", args, code, out, stderr)
		}
	}
}

// A database of a later release, or from before the first one, is left as it is.
func TestBackupOfOtherReleases(t *testing.T) {
	t.Parallel()
	for number, says := range map[string]string{"0159": "from before the first release", "9999": "later release made this database"} {
		t.Run(number, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			s.stop()
			db, err := sql.Open("sqlite", "file:"+filepath.Join(s.dir, "data", "helpwright.db"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			if _, err := db.Exec("INSERT INTO hw_migrations (name) VALUES (?)", number); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"backup", "x"}, {"serve"}, {"migrate"}, {"doctor"}, {"blobs", "sweep"}} {
				if out, err := s.command(args...); err == nil || !strings.Contains(out, says) {
					t.Errorf("%v: %v\n%s", args, err, out)
				}
			}
		})
	}
}

// A key from the settings is not in the backup, which reports that, and a restore requires it.
func TestBackupWithoutTheKey(t *testing.T) {
	t.Parallel()
	key := "HELPWRIGHT_SECRET_KEY=" + strings.Repeat("k", 40)
	s := newServer(t, key)
	out, err := s.command("backup", "archive")
	if err != nil || !strings.Contains(out, "the secret key is not in it") {
		t.Errorf("%v\n%s", err, out)
	}
	archive := filepath.Join(s.dir, "archive")
	for _, tt := range []struct {
		env  []string
		code int
		says string
	}{
		{nil, exitUsage, "set HELPWRIGHT_SECRET_KEY to the one that the server had"},
		{[]string{"HELPWRIGHT_SECRET_KEY=" + strings.Repeat("x", 40)}, exitUsage, "is not the key of the backup"},
		{[]string{"HELPWRIGHT_SECRET_KEY=" + strings.Repeat("n", 40) + "," + strings.Repeat("k", 40)}, exitDone, ""},
		{[]string{key}, exitDone, ""},
	} {
		if code, _, stderr := command(t, t.TempDir(), tt.env, "restore", archive); code != tt.code || !strings.Contains(stderr, tt.says) {
			t.Errorf("%v: %d %s", tt.env, code, stderr)
		}
	}
}

// A restore reports which settings differ from those of the old server. Secrets are not among them.
func TestBackupReportsSettings(t *testing.T) {
	t.Parallel()
	s := newServer(t, "HELPWRIGHT_INTAKE_DOMAIN=in.example.org", "HELPWRIGHT_SMTP_URL=smtp://u:geheim@127.0.0.1:1?tls=none")
	archive := s.archived()
	var info backup.Info
	in, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := backup.Read(t.Context(), in, backup.Sink{Info: func(i backup.Info) error { info = i; return nil }}); err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprint(info); strings.Contains(text, "geheim") || strings.Contains(text, s.token) || info.Settings["HELPWRIGHT_INTAKE_DOMAIN"] != "in.example.org" {
		t.Error(text)
	}
	code, out, stderr := command(t, t.TempDir(), []string{"HELPWRIGHT_LISTEN=" + s.http}, "restore", archive)
	if code != exitDone || !strings.Contains(out, `note: HELPWRIGHT_INTAKE_DOMAIN was "in.example.org", and is "localhost"`) || strings.Contains(out, "HELPWRIGHT_LISTEN") {
		t.Errorf("%d %s%s", code, out, stderr)
	}
}

// TestBackupWithPostgres backs up files and a dump of PostgreSQL while the server has something to do, and restores both:
// the dump first.
func TestBackupWithPostgres(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("pg_dump"); err != nil {
		testenv.Skip(t, "there is no pg_dump")
	}
	databaseURL := testenv.Postgres(t)
	s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL)
	m := s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
	l := newLoad(s, m.InternalEmailAddress)
	testenv.Eventually(t, "there is something to back up", func() bool { return l.mails.Load() > 20 && l.deleted.Load() > 5 })
	if !strings.Contains(databaseURL, "?") {
		t.Fatalf("the address %s has no parameters", databaseURL)
	}
	dump := filepath.Join(t.TempDir(), "rows.dump")
	s.env = append(s.env, "HELPWRIGHT_DATABASE_URL="+databaseURL+"&default_query_exec_mode=exec") // unknown to pg_dump
	archive := s.archived("--dump", `pg_dump --format=custom --no-owner --file='`+dump+`' "$HELPWRIGHT_DATABASE_URL"`)
	l.stop()
	s.stop()

	fresh := testenv.Postgres(t)
	other := s.at(t.TempDir(), "HELPWRIGHT_DATABASE_URL="+fresh)
	if out, err := other.command("restore", archive); err == nil || !strings.Contains(out, "pg_restore --no-owner") {
		t.Errorf("before the dump: %v\n%s", err, out)
	}
	if out, err := exec.CommandContext(t.Context(), "pg_restore", "--no-owner", "--dbname="+fresh, dump).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := other.command("restore", archive); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	there := blobsOf(t, filepath.Join(other.dir, "data", "blobs"))
	named := namedBlobs(t, fresh)
	for _, key := range named {
		if there[key] == "" {
			t.Errorf("%s is not there", key)
		}
	}
	if len(named) == 0 || there[blobs.MarkKey] == "" {
		t.Errorf("%d files are named", len(named))
	}
	other.start()
	if len(other.conversations()) == 0 {
		t.Error("there are no conversations")
	}
	other.stop()

	if out, err := s.command("backup", "alone"); err != nil || !strings.Contains(out, "pg_dump --format=custom --no-owner") || strings.Contains(out, databaseURL) {
		t.Errorf("%v\n%s", err, out)
	}
	path := program(t)
	piped := exec.Command("sh", "-c", "cd /proc && '"+path+"' backup - | '"+path+"' backup --verify -") // in a folder that is not writable
	piped.Env = append(slices.Clone(s.env), "HELPWRIGHT_DATA="+filepath.Join(s.dir, "data"))
	if out, err := piped.CombinedOutput(); err != nil || !strings.Contains(string(out), "whole: postgres") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := s.command("backup", "--dump", "echo wrong; exit 7", "failed"); err == nil || !strings.Contains(out, "the command of --dump: exit status 7") {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "failed")); !os.IsNotExist(err) {
		t.Errorf("a backup without its dump: %v", err)
	}
}
