package backup_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/backup"
	"github.com/helpwright/helpwright/storage/blobs"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/fileblob"
	"github.com/helpwright/helpwright/storage/filelock"
	"github.com/helpwright/helpwright/storage/memblob"
)

// rows is the database of these tests: a text with its mark and the keys it refers to, one per line.
type rows []string

func (r rows) Mark(context.Context) (string, error) { return r[0], nil }

func (rows) Close() error { return nil }

func (r rows) NamedBlobs(context.Context, []string) ([]string, error) { panic("not asked for") }

func (r rows) ListNamedBlobs(_ context.Context, after string, limit int) ([]string, error) {
	left := slices.DeleteFunc(slices.Clone(r[1:]), func(key string) bool { return key <= after })
	return left[:min(limit, len(left))], nil
}

var errNoDatabase = errors.New("no database")

func open(_ context.Context, path string) (backup.Snapshot, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(string(text), "damaged") {
		return nil, errNoDatabase
	}
	return rows(strings.Split(string(text), "\n")), nil
}

// desk returns the content of a help desk.
func desk() content {
	return content{
		Info:     backup.Info{Format: 1, Created: created, Database: "sqlite", Mark: "mark"},
		Database: "mark\naccounts/1/a\naccounts/1/b\naccounts/1/c",
		Files:    []backup.File{{Name: "results/1-2.json", Content: []byte("[]")}, {Name: "secret.key", Content: []byte("key")}},
		Blobs:    map[string]string{"accounts/1/a": "A", "accounts/1/c": "C"},
		Missing:  []string{"accounts/1/b"},
	}
}

func without(c content, change func(*content)) content {
	change(&c)
	return c
}

func code(err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f.Code
	}
	return ""
}

func TestVerify(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		content content
		want    string
		is      error
	}{
		"whole":               {content: desk()},
		"more than is named":  {content: without(desk(), func(c *content) { c.Blobs["accounts/1/b0"] = "" })},
		"a blob short":        {content: without(desk(), func(c *content) { delete(c.Blobs, "accounts/1/a") }), want: backup.CodeDamaged},
		"the last blob short": {content: without(desk(), func(c *content) { delete(c.Blobs, "accounts/1/c") }), want: backup.CodeDamaged},
		"all blobs short":     {content: without(desk(), func(c *content) { c.Blobs, c.Missing = nil, nil }), want: backup.CodeDamaged},
		"another's database":  {content: without(desk(), func(c *content) { c.Info.Mark = "other" }), want: backup.CodeDamaged},
		"no database":         {content: without(desk(), func(c *content) { c.Database = "" }), want: backup.CodeDamaged},
		"a damaged database":  {content: without(desk(), func(c *content) { c.Database = "damaged" }), is: errNoDatabase},
		"of PostgreSQL":       {content: without(desk(), func(c *content) { c.Info.Database, c.Database = "postgres", "" })},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			report, err := backup.Verify(t.Context(), bytes.NewReader(write(t, test.content)), backup.VerifyConfig{Open: open, Temp: dir})
			if code(err) != test.want || (err != nil) != (test.want != "" || test.is != nil) || !errors.Is(err, test.is) && test.is != nil {
				t.Errorf("%v", err)
			}
			if err == nil && (report.Info.Mark != "mark" || !slices.Equal(report.Missing, []string{"accounts/1/b"}) || len(report.Files) != 2) {
				t.Errorf("%+v", report)
			}
			if left := names(t, dir); len(left) > 0 {
				t.Errorf("%v are left", left)
			}
		})
	}
}

// names returns the paths of all files in a folder.
func names(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, path); err == nil && !e.IsDir() {
			all = append(all, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// home is a target for a restore.
type home struct {
	dir string
	cfg backup.RestoreConfig
}

func newHome(t *testing.T) home {
	t.Helper()
	dir := t.TempDir()
	files, err := fileblob.Open(filepath.Join(dir, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	return home{dir, backup.RestoreConfig{
		Data: filepath.Join(dir, "data"), Database: filepath.Join(dir, "rows", "help.db"), Blobs: files, BlobsDir: dir, Open: open,
	}}
}

var restored = []string{"blobs/accounts+/1+/a", "blobs/accounts+/1+/c", "blobs/helpwright+/mark", "data/results/1-2.json", "data/secret.key", "rows/help.db"}

func TestRestore(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	report, err := backup.Restore(t.Context(), bytes.NewReader(write(t, desk())), h.cfg)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(restored, names(t, h.dir)); diff != "" {
		t.Error(diff)
	}
	if report.Totals.Blobs != 2 || report.Totals.Missing != 1 {
		t.Errorf("%+v", report)
	}
	for name, want := range map[string]string{
		"rows/help.db": desk().Database, "data/secret.key": "key", "blobs/accounts+/1+/c": "C", "blobs/helpwright+/mark": "mark\n",
	} {
		path := filepath.Join(h.dir, name)
		text, err := os.ReadFile(path)
		if err != nil || string(text) != want {
			t.Errorf("%s: %q %v", name, text, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s can be read by others: %v", name, info.Mode())
		}
	}
	if err := backup.Interrupted(h.cfg.Data); err != nil {
		t.Error(err)
	}
	if _, err := backup.Restore(t.Context(), bytes.NewReader(write(t, desk())), h.cfg); code(err) != backup.CodeNotEmpty {
		t.Errorf("a second time: %v", err)
	}
}

// Existing data of any kind is never touched, and a refused restore leaves nothing behind.
func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	later := without(desk(), func(c *content) { c.Info.Database, c.Database = "postgres", "" })
	for name, test := range map[string]struct {
		there   string
		blob    bool
		archive []byte
		accept  error
		want    string
	}{
		"a database":          {there: "rows/help.db", want: backup.CodeNotEmpty},
		"a WAL alone":         {there: "rows/help.db-wal", want: backup.CodeNotEmpty},
		"a key":               {there: "data/secret.key", want: backup.CodeNotEmpty},
		"results":             {there: "data/results/3.json", want: backup.CodeNotEmpty},
		"blobs":               {blob: true, want: backup.CodeNotEmpty},
		"cut short":           {archive: write(t, desk())[:300], want: backup.CodeDamaged},
		"no blobs":            {archive: write(t, without(desk(), func(c *content) { c.Blobs = nil })), want: backup.CodeDamaged},
		"a file of elsewhere": {archive: write(t, without(desk(), func(c *content) { c.Files = []backup.File{{Name: "config.json"}} })), want: backup.CodeDamaged},
		"of PostgreSQL":       {archive: write(t, later), want: "conflict"},
		"a damaged database":  {archive: write(t, without(desk(), func(c *content) { c.Database = "damaged" })), want: "other"},
		"not accepted":        {accept: errNoDatabase, want: "other"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			if test.there != "" {
				path := filepath.Join(h.dir, test.there)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("precious"), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			if test.blob {
				if _, err := h.cfg.Blobs.Put(t.Context(), "x", strings.NewReader("precious")); err != nil {
					t.Fatal(err)
				}
			}
			if test.accept != nil {
				h.cfg.Accept = func(backup.Info) error { return test.accept }
			}
			if test.archive == nil {
				test.archive = write(t, desk())
			}
			before := names(t, h.dir)
			_, err := backup.Restore(t.Context(), bytes.NewReader(test.archive), h.cfg)
			got := code(err)
			if got == "" {
				got = "other"
				if fault.Is(err, fault.Conflict) {
					got = "conflict"
				}
			}
			if err == nil || got != test.want {
				t.Errorf("%v, want %s", err, test.want)
			}
			if diff := cmp.Diff(before, names(t, h.dir)); diff != "" {
				t.Errorf("it has left something:\n%s", diff)
			}
		})
	}
}

// stubborn is a store that refuses blobs until it is told to accept them.
type stubborn struct {
	storage.Blobs
	err error
}

func (s *stubborn) Put(ctx context.Context, key string, r io.Reader) (int64, error) {
	if s.err != nil && key == "accounts/1/c" {
		return 0, s.err
	}
	return s.Blobs.Put(ctx, key, r)
}

// An interrupted restore is always recognized, and can be repeated, also with another archive.
func TestRestoreAgain(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	full := errors.New("disk full")
	disk := &stubborn{h.cfg.Blobs, full}
	h.cfg.Blobs = disk
	if _, err := backup.Restore(t.Context(), bytes.NewReader(write(t, desk())), h.cfg); !errors.Is(err, full) {
		t.Fatal(err)
	}
	if err := backup.Interrupted(h.cfg.Data); err == nil {
		t.Error("it is taken for whole")
	}
	if _, err := os.Stat(h.cfg.Database); err == nil {
		t.Error("the database is in place")
	}
	disk.err = nil
	bad := write(t, without(desk(), func(c *content) { c.Blobs = nil }))
	if _, err := backup.Restore(t.Context(), bytes.NewReader(bad), h.cfg); code(err) != backup.CodeDamaged {
		t.Error(err)
	}
	if err := backup.Interrupted(h.cfg.Data); err == nil {
		t.Error("it is taken for whole after an archive that was refused")
	}
	lock := filelock.Seize(filepath.Join(h.cfg.Data, "restoring"))
	if lock == nil {
		t.Fatal("the marker is locked")
	}
	if _, err := backup.Restore(t.Context(), bytes.NewReader(write(t, desk())), h.cfg); !fault.Is(err, fault.Conflict) {
		t.Errorf("beside another restore: %v", err)
	}
	_ = lock.Close()
	if _, err := backup.Restore(t.Context(), bytes.NewReader(write(t, desk())), h.cfg); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(restored, names(t, h.dir)); diff != "" {
		t.Error(diff)
	}
}

// PostgreSQL's rows are restored beforehand: the archive must contain the blobs they refer to.
func TestRestoreBesidePostgres(t *testing.T) {
	t.Parallel()
	archive := write(t, without(desk(), func(c *content) { c.Info.Database, c.Database = "postgres", "" }))
	for name, test := range map[string]struct {
		rows rows
		want fault.Kind
	}{
		"whole":               {rows: rows{"mark", "accounts/1/c"}},
		"another database":    {rows: rows{"", "accounts/1/c"}, want: fault.Conflict},
		"a later dump":        {rows: rows{"mark", "accounts/1/c", "accounts/1/d"}, want: fault.Invalid},
		"nothing in the dump": {rows: rows{"mark"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			h.cfg.Database, h.cfg.Rows, h.cfg.Mark = "", test.rows, test.rows[0]
			_, err := backup.Restore(t.Context(), bytes.NewReader(archive), h.cfg)
			if (err != nil) != (test.want != fault.Internal) || err != nil && !fault.Is(err, test.want) {
				t.Errorf("%v", err)
			}
			want := restored[:5]
			if err != nil {
				want = nil
			}
			if diff := cmp.Diff(want, names(t, h.dir)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRestoreConfig(t *testing.T) {
	t.Parallel()
	_, err := backup.Restore(t.Context(), bytes.NewReader(nil), backup.RestoreConfig{})
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.Invalid || len(f.Fields) != 4 {
		t.Errorf("%v", err)
	}
	if _, err := backup.Verify(t.Context(), bytes.NewReader(nil), backup.VerifyConfig{}); !fault.Is(err, fault.Invalid) {
		t.Errorf("%v", err)
	}
}

// A file appears complete or not at all, and nothing else is left behind.
func TestCreate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a [b] *.zst")
	wrong := errors.New("wrong")
	write := func(text string, err error) error {
		return backup.Create(path, func(w io.Writer, work string) error {
			if _, err := io.WriteString(w, text); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(work, "more"), nil, 0o600); err != nil {
				return err
			}
			if there := names(t, dir); len(there) != 3 || slices.Contains(there, filepath.Base(path)) {
				t.Errorf("while it is made there are %v", there)
			}
			return err
		})
	}
	if err := write("half", wrong); !errors.Is(err, wrong) || len(names(t, dir)) > 0 {
		t.Errorf("%v; %v are left", err, names(t, dir))
	}
	// The folders of a killed process, of a live one, of two on a system without locks, and of one that has not taken its lock
	// yet and will create another folder.
	empty := filepath.Join(dir, ".helpwright-backup-empty")
	dead, living, young, old := filepath.Join(dir, ".helpwright-backup-dead"), filepath.Join(dir, ".helpwright-backup-living"),
		filepath.Join(dir, ".helpwright-backup-young"), filepath.Join(dir, ".helpwright-backup-old")
	for _, folder := range []string{dead, living, young, old, empty} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dead, "lock"), nil, 0o600), os.WriteFile(filepath.Join(dead, "archive"), nil, 0o600),
		os.WriteFile(filepath.Join(young, "archive"), nil, 0o600), os.WriteFile(filepath.Join(old, "archive"), nil, 0o600), os.Chtimes(old, created, created)); err != nil {
		t.Fatal(err)
	}
	lock, err := filelock.New(filepath.Join(living, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := backup.Create(path, func(w io.Writer, _ string) error { _, err := io.WriteString(w, "whole"); return err }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{".helpwright-backup-living/lock", ".helpwright-backup-young/archive", "a [b] *.zst"}, names(t, dir)); diff != "" {
		t.Error(diff)
	}
	for folder, want := range map[string]bool{dead: false, old: false, living: true, young: true, empty: false} {
		if _, err := os.Stat(folder); (err == nil) != want {
			t.Errorf("%s: %v", folder, err)
		}
	}
	text, err := os.ReadFile(path)
	info, err2 := os.Stat(path)
	if err != nil || err2 != nil || string(text) != "whole" || info.Mode().Perm() != 0o600 {
		t.Errorf("%q %v %v", text, info.Mode(), err)
	}
	if err := write("other", nil); !errors.Is(err, os.ErrExist) {
		t.Errorf("over one that is there: %v", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "whole" {
		t.Errorf("%q %v", text, err)
	}
	if err := backup.Create(filepath.Join(dir, "no", "folder"), func(io.Writer, string) error { return nil }); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("into no folder: %v", err)
	}
}

func TestFileName(t *testing.T) {
	t.Parallel()
	if got := backup.FileName(created.In(time.FixedZone("", 3600))); got != "helpwright-20260304T050607Z.tar.zst" {
		t.Error(got)
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	b := memblob.New()
	var want []string
	for i := range 1201 {
		key := "accounts/1/" + strings.Repeat("x", 1+i/100) + string(rune('a'+i%26)) + strings.Repeat("y", i/26%100)
		want = append(want, key)
		if _, err := b.Put(t.Context(), key, strings.NewReader("")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Put(t.Context(), blobs.MarkKey, strings.NewReader("")); err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	want = slices.Compact(want)
	for name, seq := range map[string]func(func(string, error) bool){
		"stored": backup.Stored(t.Context(), b, blobs.Prefix), "named": backup.Named(t.Context(), rows(append([]string{""}, want...))),
	} {
		var got []string
		for key, err := range seq {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, key)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		for range seq {
			break
		}
	}
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	a, b := backup.Fingerprint([]byte("key")), backup.Fingerprint([]byte("other"))
	if len(a) != 32 || a == b || a != backup.Fingerprint([]byte("key")) {
		t.Error(a, b)
	}
}
