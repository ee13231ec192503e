package postgres_test

import (
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/postgres"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/storagetest/testenv"
)

// Behind a pooler a database is brought up to date, twice, and opened again, also by an address that names another pooler, which
// is down. Another mode of the pooler is refused.
func TestPoolMode(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"session", "statement", ""} {
		if _, err := postgres.Open(t.Context(), "postgres://127.0.0.1:1/x?pool_mode="+mode, bunstore.Config{}); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", mode, err)
		}
	}
	address := testenv.PgBouncer(t)
	for _, address := range []string{address, strings.Replace(address, "@", "@[::1]:1,", 1)} {
		db, err := postgres.Open(t.Context(), address, bunstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := db.Migrate(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
