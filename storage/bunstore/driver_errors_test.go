package bunstore

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	sqlite3 "modernc.org/sqlite/lib"
)

// The drivers' errors have the methods and fields that this package relies on.
func TestErrorsOfDrivers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ ours, theirs int }{
		{sqliteBusy, sqlite3.SQLITE_BUSY}, {sqliteLocked, sqlite3.SQLITE_LOCKED}, {sqliteNoMem, sqlite3.SQLITE_NOMEM},
		{sqliteReadOnly, sqlite3.SQLITE_READONLY}, {sqliteInterrupt, sqlite3.SQLITE_INTERRUPT}, {sqliteIOErr, sqlite3.SQLITE_IOERR},
		{sqliteFull, sqlite3.SQLITE_FULL}, {sqliteCantOpen, sqlite3.SQLITE_CANTOPEN}, {sqliteProtocol, sqlite3.SQLITE_PROTOCOL},
		{sqliteConstraint, sqlite3.SQLITE_CONSTRAINT}, {sqliteForeignKey, sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY},
		{sqlitePrimaryKey, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY}, {sqliteUnique, sqlite3.SQLITE_CONSTRAINT_UNIQUE},
	} {
		if c.ours != c.theirs {
			t.Errorf("%d, the driver has %d", c.ours, c.theirs)
		}
	}
	if pgx.ErrTxCommitRollback.Error() != pgxRolledBack {
		t.Errorf("pgx says %q", pgx.ErrTxCommitRollback)
	}
	config, err := pgx.ParseConfig("postgres://nobody@127.0.0.1:1/none?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(stdlib.GetConnector(*config))
	defer db.Close()
	err = db.PingContext(t.Context())
	if _, ok := errors.AsType[*pgconn.ConnectError](err); !ok || !strings.Contains(err.Error(), pgxNoConnection) || !unreachable(err) {
		t.Errorf("pgx says %v", err)
	}
	for name, c := range map[string]struct {
		err  error
		want postgresError
	}{
		"a constraint": {&pgconn.PgError{Code: "23505", ConstraintName: "hw_tags_key", Severity: "ERREUR", SeverityUnlocalized: "ERROR"},
			postgresError{"23505", "hw_tags_key", "ERROR", ""}},
		"an old server": {&pgconn.PgError{Code: "40001", Severity: "ERROR"}, postgresError{"40001", "", "ERROR", ""}},
		"a routine":     {&pgconn.PgError{Code: "0A000", Severity: "ERROR", Routine: "RevalidateCachedQuery"}, postgresError{"0A000", "", "ERROR", pgOutdated}},
	} {
		got, ok := ofPostgres(fmt.Errorf("wrapped: %w", c.err))
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(postgresError{})); diff != "" || !ok {
			t.Errorf("%s: %v %s", name, ok, diff)
		}
	}
}
