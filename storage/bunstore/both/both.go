// Package both opens SQLite and PostgreSQL databases for package bunstore, depending on the address. It links both drivers.
package both

import (
	"context"
	"strings"

	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/postgres"
	"github.com/helpwright/helpwright/storage/bunstore/sqlite"
	"github.com/helpwright/helpwright/storage/fault"
)

// Open opens a database: "sqlite:path/to/file.db", "sqlite::memory:" for one that ends with the DB, or a "postgres://" URL
// as in libpq. It runs no migrations, see [bunstore.DB.Migrate]. An invalid address is an Invalid fault, a database that
// does not answer an Unavailable fault.
func Open(ctx context.Context, address string, cfg bunstore.Config) (*bunstore.DB, error) {
	scheme, rest, _ := strings.Cut(address, ":")
	switch scheme {
	case "sqlite":
		return sqlite.Open(ctx, strings.TrimPrefix(rest, "//"), cfg)
	case "postgres", "postgresql":
		return postgres.Open(ctx, address, cfg)
	}
	return nil, fault.New(fault.Invalid, "A database address begins with sqlite: or postgres:.")
}
