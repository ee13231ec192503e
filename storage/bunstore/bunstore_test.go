package bunstore_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/both"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/storage/storagetest"
	"github.com/helpwright/helpwright/storage/testenv"
)

// databases are the databases that all tests run on.
var databases = []struct {
	name string
	url  func(t testing.TB) string
}{
	{"SQLite", func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "help desk %?#.db") }},
	{"SQLiteMemory", func(testing.TB) string { return "sqlite::memory:" }},
	{"PostgreSQL", func(t testing.TB) string { return testenv.Postgres(t) }},
}

// open opens and migrates a database, and closes it at the end of the test.
func open(t testing.TB, url string, cfg bunstore.Config) *bunstore.DB {
	t.Helper()
	db, err := both.Open(t.Context(), url, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}

func TestStore(t *testing.T) {
	t.Parallel()
	for _, database := range databases {
		t.Run(database.name, func(t *testing.T) {
			t.Parallel()
			storagetest.Run(t, func(t *testing.T) storagetest.Backend {
				db := open(t, database.url(t), bunstore.Config{})
				return storagetest.Backend{Store: db, Jobs: db, Events: db, KB: db.KB(), SnapshotsBlock: database.name == "SQLiteMemory"}
			})
		})
	}
}

// The stores behave like the model under random operations.
func TestCompare(t *testing.T) {
	t.Parallel()
	for _, database := range databases {
		for seed := range uint64(4) {
			t.Run(fmt.Sprintf("%s/%d", database.name, seed), func(t *testing.T) {
				t.Parallel()
				model := memstore.New()
				db := open(t, database.url(t), bunstore.Config{})
				storagetest.Compare(t, seed, 500,
					storagetest.Backend{Store: model, Jobs: model, Events: model, KB: model.KB()},
					storagetest.Backend{Store: db, Jobs: db, Events: db, KB: db.KB()})
			})
		}
	}
}
