package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/fault"
)

// made creates the file of a migrated database and runs some statements in it.
func made(t *testing.T, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a b?.db")
	db, err := Open(t.Context(), path, bunstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Migrate(t.Context()), db.Close()); err != nil {
		t.Fatal(err)
	}
	for _, s := range statements {
		exec(t, path, s)
	}
	return path
}

func exec(t *testing.T, path, statement string) {
	t.Helper()
	pool, err := Pool("file:" + filepath.ToSlash(filepath.Dir(path)) + "/" + "a%20b%3f.db" + "?_pragma=busy_timeout(5000)&_pragma=foreign_keys(0)")
	if err != nil {
		t.Fatal(err)
	}
	_, err = pool.ExecContext(t.Context(), statement)
	if err := errors.Join(err, pool.Close()); err != nil {
		t.Fatal(err)
	}
}

// A copy shows one moment although rows are being written, and leaves no other files.
func TestSnapshotUnderWrites(t *testing.T) {
	t.Parallel()
	path := made(t, "CREATE TABLE pairs (a INTEGER, b INTEGER)")
	stop := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		pool, err := sql.Open("sqlite", "file:"+filepath.Dir(path)+"/a%20b%3f.db?_pragma=busy_timeout(5000)&_txlock=immediate")
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = pool.Close() }()
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			tx, err := pool.Begin()
			if err == nil {
				_, err = tx.Exec("INSERT INTO pairs VALUES (?, 1)", i)
			}
			if err == nil {
				_, err = tx.Exec("UPDATE pairs SET b = 2 WHERE a = ?", i)
			}
			if err := errors.Join(err, tx.Commit()); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for i := range 10 {
		to := filepath.Join(t.TempDir(), fmt.Sprintf("copy-%d", i))
		if err := os.WriteFile(to, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Snapshot(t.Context(), path, to); err != nil {
			t.Fatal(err)
		}
		db, err := OpenSnapshot(t.Context(), to)
		if err != nil {
			t.Fatal(err)
		}
		if keys, err := db.ListNamedBlobs(t.Context(), "", 5); err != nil || len(keys) > 0 {
			t.Errorf("%v %v", keys, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		plain, err := sql.Open("sqlite", "file:"+to+"?immutable=1")
		if err != nil {
			t.Fatal(err)
		}
		half, err := texts(t.Context(), plain, "SELECT count(*) FROM pairs WHERE b <> 2 UNION ALL SELECT count(*) - max(a) - 1 FROM pairs HAVING count(*) > 0")
		if err != nil || half[0] != "0" || len(half) > 1 && half[1] != "0" {
			t.Errorf("half a transaction is in the copy: %v %v", half, err)
		}
		_ = plain.Close()
		entries, err := os.ReadDir(filepath.Dir(to))
		if err != nil || len(entries) != 1 {
			t.Errorf("%v %v", entries, err)
		}
	}
	close(stop)
	writing.Wait()
}

func TestOpenSnapshot(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		statements []string
		damage     func(file []byte) []byte
		want       fault.Kind
		code       string
	}{
		"whole":               {},
		"of a later release":  {statements: []string{`INSERT INTO hw_migrations (name) VALUES ('9999')`}, want: fault.Conflict, code: bunstore.CodeNewerSchema},
		"before all releases": {statements: []string{`UPDATE hw_migrations SET name = '0159'`}, want: fault.Conflict, code: bunstore.CodeUnreleasedSchema},
		"without any table":   {statements: []string{`DROP TABLE hw_migrations`}, want: fault.Invalid},
		"a broken reference":  {statements: []string{`INSERT INTO hw_fetch_cursors VALUES (1, 1, 'INBOX', 1, 1)`}, want: fault.Invalid},
		"a page of something": {damage: func(file []byte) []byte { copy(file[8192:12288], make([]byte, 4096)); return file }, want: fault.Invalid},
		"cut short":           {damage: func(file []byte) []byte { return file[:len(file)/2] }, want: fault.Invalid},
		"no database": {damage: func([]byte) []byte {
			return []byte("no database at all, and more than a header of it has, which is 100 bytes long, so that it is read as one")
		}, want: fault.Invalid},
		"nothing": {damage: func([]byte) []byte { return nil }, want: fault.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := filepath.Join(t.TempDir(), "copy")
			if err := Snapshot(t.Context(), made(t, test.statements...), to); err != nil {
				t.Fatal(err)
			}
			if test.damage != nil {
				file, err := os.ReadFile(to)
				if err == nil {
					err = os.WriteFile(to, test.damage(file), 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			db, err := OpenSnapshot(t.Context(), to)
			if err == nil {
				_, err = db.ListNamedBlobs(t.Context(), "", 10)
				err = errors.Join(err, db.Close())
			}
			if (err != nil) != (test.want != fault.Internal) || err != nil && !fault.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
			if f, ok := errors.AsType[*fault.Error](err); ok && f.Code != test.code {
				t.Errorf("code %q, want %q", f.Code, test.code)
			}
		})
	}
}

// A database of a later release is not modified.
func TestMigrateRefusesNewer(t *testing.T) {
	t.Parallel()
	path := made(t, `INSERT INTO hw_migrations (name) VALUES ('9999')`)
	db, err := Open(t.Context(), path, bunstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	f, ok := errors.AsType[*fault.Error](db.Migrate(t.Context()))
	if diff := cmp.Diff(bunstore.CodeNewerSchema, f.Code); !ok || diff != "" {
		t.Errorf("%v %s", f, diff)
	}
}

func TestSnapshotOfNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "none.db")
	if err := Snapshot(t.Context(), path, path+"-copy"); !fault.Is(err, fault.Unavailable) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a database was made")
	}
	whole := made(t)
	if err := Snapshot(t.Context(), whole, whole); !fault.Is(err, fault.Unavailable) {
		t.Errorf("over the database itself: %v", err)
	}
}
