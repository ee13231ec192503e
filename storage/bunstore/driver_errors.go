package bunstore

import (
	"errors"
	"reflect"
)

// Driver errors are recognized by their methods and fields, so that a program links only the driver that it uses.

// The PostgreSQL error codes (appendix A of its manual) that are handled.
const (
	pgUniqueViolation      = "23505"
	pgForeignKeyViolation  = "23503"
	pgSerializationFailure = "40001"
	pgDeadlockDetected     = "40P01"
	pgLockNotAvailable     = "55P03"
	pgQueryCanceled        = "57014" // with a live context: the statement timeout
	pgReadOnly             = "25006" // a standby, or a server that was made read-only
	pgIdleInTransaction    = "25P03" // the server ended an idle session
	pgNoStatement          = "26000" // the session lacks a prepared statement: a pooler has switched sessions
	pgStatementExists      = "42P05" // and the new session already has one of that name
	pgNotSupported         = "0A000"
	pgCompletionUnknown    = "40003"
	pgResolutionUnknown    = "08007"
)

// pgOutdated is the routine in which the server refuses a statement prepared before a migration changed the type of a
// column.
const pgOutdated = "RevalidateCachedQuery"

// Messages of pgx errors that do not come from the server.
const (
	pgxRolledBack   = "commit unexpectedly resulted in rollback" // pgx.ErrTxCommitRollback
	pgxNoConnection = "failed to connect to `"                   // pgconn.ConnectError
)

// The SQLite result codes (https://sqlite.org/rescode.html) that are handled.
const (
	sqliteBusy       = 5
	sqliteLocked     = 6
	sqliteNoMem      = 7
	sqliteReadOnly   = 8
	sqliteInterrupt  = 9
	sqliteIOErr      = 10
	sqliteFull       = 13
	sqliteCantOpen   = 14
	sqliteProtocol   = 15
	sqliteConstraint = 19
	sqliteForeignKey = sqliteConstraint | 3<<8
	sqlitePrimaryKey = sqliteConstraint | 6<<8
	sqliteUnique     = sqliteConstraint | 8<<8
)

// postgresError holds the fields of a server error.
type postgresError struct{ code, constraint, severity, routine string }

// ofPostgres reports whether err comes from the server: such errors have a method SQLState in both
// pgx and lib/pq.
func ofPostgres(err error) (postgresError, bool) {
	e, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err)
	if !ok {
		return postgresError{}, false
	}
	fields := reflect.Indirect(reflect.ValueOf(e))
	text := func(names ...string) string {
		for _, name := range names {
			if fields.Kind() != reflect.Struct {
				return ""
			}
			if f := fields.FieldByName(name); f.IsValid() && f.Kind() == reflect.String && f.String() != "" {
				return f.String()
			}
		}
		return ""
	}
	return postgresError{
		code: e.SQLState(), constraint: text("ConstraintName", "Constraint"), severity: text("SeverityUnlocalized", "Severity"),
		routine: text("Routine"),
	}, true
}

// ofSQLite returns the extended result code of a SQLite error, recognized by its method Code as in
// modernc.org/sqlite.
func ofSQLite(err error) (code int, ok bool) {
	e, ok := errors.AsType[interface {
		error
		Code() int
	}](err)
	if !ok {
		return 0, false
	}
	return e.Code(), true
}
