package bunstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/postgres"
	"github.com/helpwright/helpwright/storage/bunstore/sqlite"
	"github.com/helpwright/helpwright/storage/testenv"
)

// BenchmarkPools creates conversations in a database opened for the DB, in a pool of the program's own, and in a pool that
// was not made for bun.
func BenchmarkPools(b *testing.B) {
	const params = "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=foreign_keys(1)&_pragma=synchronous(NORMAL)&_txlock=immediate"
	own := func(b *testing.B, db *bun.DB, cfg bunstore.Config) *bunstore.DB {
		b.Helper()
		b.Cleanup(func() { _ = db.Close() })
		store := bunstore.New(db, cfg)
		if err := store.Migrate(b.Context()); err != nil {
			b.Fatal(err)
		}
		return store
	}
	check := func(b *testing.B, db *sql.DB, err error) *sql.DB {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
		db.SetMaxOpenConns(4)
		return db
	}
	for _, c := range []struct {
		name string
		open func(b *testing.B) *bunstore.DB
	}{
		{"SQLite/opened", func(b *testing.B) *bunstore.DB {
			return open(b, "sqlite:"+filepath.Join(b.TempDir(), "db"), bunstore.Config{SyncNormal: true})
		}},
		{"SQLite/pool", func(b *testing.B) *bunstore.DB {
			db, err := sqlite.Pool("file:" + filepath.Join(b.TempDir(), "db") + params)
			return own(b, bun.NewDB(check(b, db, err), sqlitedialect.New()), bunstore.Config{})
		}},
		{"SQLite/another", func(b *testing.B) *bunstore.DB {
			db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "db")+params)
			return own(b, bun.NewDB(check(b, db, err), sqlitedialect.New()), bunstore.Config{})
		}},
		{"PostgreSQL/opened", func(b *testing.B) *bunstore.DB { return open(b, testenv.Postgres(b), bunstore.Config{}) }},
		{"PostgreSQL/pool", func(b *testing.B) *bunstore.DB {
			db, err := postgres.Pool(testenv.Postgres(b), bunstore.Config{})
			return own(b, bun.NewDB(check(b, db, err), pgdialect.New()), bunstore.Config{Listen: postgres.Listen})
		}},
		{"PostgreSQL/another", func(b *testing.B) *bunstore.DB {
			db, err := sql.Open("pgx", testenv.Postgres(b))
			return own(b, bun.NewDB(check(b, db, err), pgdialect.New()), bunstore.Config{})
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			db := c.open(b)
			n := 0
			for b.Loop() {
				n++
				err := db.InSystemTx(b.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error {
					for i := range 10 {
						email := fmt.Sprintf("user-%d-%d@example.org", n, i)
						if err := tx.InsertUser(ctx, &identity.User{Name: "A user", Email: email, EmailKey: email}); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
