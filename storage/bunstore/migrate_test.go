package bunstore_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/both"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/testenv"
)

// persistent runs a test on the databases that several processes can open.
func persistent(t *testing.T, fn func(t *testing.T, url string)) {
	t.Helper()
	for _, database := range databases {
		if database.name == "SQLiteMemory" {
			continue
		}
		t.Run(database.name, func(t *testing.T) {
			t.Parallel()
			fn(t, database.url(t))
		})
	}
}

// unmigrated opens a database without migrating it.
func unmigrated(t testing.TB, url string) *bunstore.DB {
	t.Helper()
	db, err := both.Open(t.Context(), url, bunstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestMigrateTwice(t *testing.T) {
	t.Parallel()
	persistent(t, func(t *testing.T, url string) {
		db := unmigrated(t, url)
		pending, err := db.Pending(t.Context())
		if err != nil || len(pending) == 0 || !strings.HasPrefix(pending[0], "1000_") {
			t.Fatalf("pending before: %v, %v", pending, err)
		}
		for range 2 {
			if err := db.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			if pending, err := db.Pending(t.Context()); err != nil || len(pending) > 0 {
				t.Fatalf("pending after: %v, %v", pending, err)
			}
		}
	})
}

func TestMigrateAtTheSameTime(t *testing.T) {
	t.Parallel()
	persistent(t, func(t *testing.T, url string) {
		var group sync.WaitGroup
		for range 4 {
			db := unmigrated(t, url) // acts as a separate process
			group.Go(func() {
				if err := db.Migrate(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if _, err := unmigrated(t, url).HasUsers(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A migration and the record that it was applied are one transaction: one that fails at any point is run again.
func TestMigrationsAreWhole(t *testing.T) {
	t.Parallel()
	for _, obstacle := range []string{"hw_users", "hw_conversations", "hw_new_ids"} {
		t.Run(obstacle, func(t *testing.T) {
			t.Parallel()
			persistent(t, func(t *testing.T, url string) {
				db := unmigrated(t, url)
				plain, _ := bunstore.Plain(db)
				run := func(statement string) {
					t.Helper()
					if _, err := plain.ExecContext(t.Context(), statement); err != nil {
						t.Fatal(err)
					}
				}
				run("CREATE TABLE " + obstacle + " (id INTEGER)")
				before, err := db.Pending(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if err := db.Migrate(t.Context()); err == nil {
					t.Fatal("migrated over a table of another")
				}
				if after, err := db.Pending(t.Context()); err != nil || !slices.Equal(before, after) {
					t.Fatalf("pending after a failure: %v, %v", after, err)
				}
				run("DROP TABLE " + obstacle)
				if err := db.Migrate(t.Context()); err != nil {
					t.Fatal(err)
				}
				if pending, err := db.Pending(t.Context()); err != nil || len(pending) > 0 {
					t.Fatalf("pending after: %v, %v", pending, err)
				}
			})
		})
	}
}

// A database of a later release, or from before the first one, is refused and left as it is.
func TestMigrateRefuses(t *testing.T) {
	t.Parallel()
	for number, want := range map[string]string{"0159": bunstore.CodeUnreleasedSchema, "9999": bunstore.CodeNewerSchema} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			persistent(t, func(t *testing.T, url string) {
				db := unmigrated(t, url)
				if err := db.Migrate(t.Context()); err != nil {
					t.Fatal(err)
				}
				plain, _ := bunstore.Plain(db)
				if _, err := plain.ExecContext(t.Context(), "INSERT INTO hw_migrations (name) VALUES ('"+number+"')"); err != nil {
					t.Fatal(err)
				}
				err := db.Migrate(t.Context())
				if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.Conflict || f.Code != want {
					t.Errorf("%v, want a Conflict fault of code %s", err, want)
				}
			})
		})
	}
}

// A process that died during a migration delays the next one only for a while.
func TestMigrateAfterCrash(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		url := databases[0].url(t)
		open(t, url, bunstore.Config{})
		plain, err := sql.Open("sqlite", escaped(url))
		if err != nil {
			t.Fatal(err)
		}
		defer plain.Close()
		until := time.Now().Add(3 * time.Second)
		if _, err := plain.Exec(`INSERT INTO hw_migration_lease VALUES (1, 'dead', ?)`, until.UnixMicro()); err != nil {
			t.Fatal(err)
		}
		db := unmigrated(t, url)
		impatient, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if err := db.Migrate(impatient); err == nil {
			t.Error("the lease of another was ignored")
		}
		if err := db.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if time.Now().Before(until) {
			t.Error("the lease of another was taken before its end")
		}
		var leases int
		if err := plain.QueryRow(`SELECT count(*) FROM hw_migration_lease`).Scan(&leases); err != nil || leases != 0 {
			t.Errorf("%d leases are left, %v", leases, err)
		}
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		url := testenv.Postgres(t)
		plain, err := sql.Open("pgx", url)
		if err != nil {
			t.Fatal(err)
		}
		defer plain.Close()
		conn, err := plain.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.ExecContext(t.Context(), "SELECT pg_advisory_lock($1)", 0x68656c7077); err != nil {
			t.Fatal(err)
		}
		db := unmigrated(t, url)
		impatient, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := db.Migrate(impatient); err == nil {
			t.Error("the lock of another was ignored")
		}
		if _, err := plain.Exec("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"); err != nil {
			t.Fatal(err)
		}
		if err := db.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]fault.Kind{
		"":                             fault.Invalid,
		"mysql://localhost/x":          fault.Invalid,
		"sqlite:":                      fault.Invalid,
		"postgres://%zz":               fault.Invalid,
		"sqlite:/nowhere/at/all/x.db":  fault.Unavailable,
		"postgres://127.0.0.1:1/x":     fault.Unavailable,
		"postgres://127.0.0.1:1/x?a=%": fault.Invalid,
	} {
		if _, err := both.Open(t.Context(), url, bunstore.Config{}); !fault.Is(err, want) {
			t.Errorf("Open(%q): %v, want a fault of kind %v", url, err, want)
		}
	}
}

// escaped returns the file URI of a test's SQLite database.
func escaped(url string) string {
	path := strings.TrimPrefix(url, "sqlite:")
	return "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23", " ", "%20").Replace(path) +
		"?_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)"
}
