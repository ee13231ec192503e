package bunstore

import (
	"errors"
	"reflect"
)

// The errors of drivers are known here by their methods and fields, so that a program links the driver that it uses and
// no other.

// The codes of PostgreSQL (appendix A of its manual) that mean something here.
const (
	pgUniqueViolation      = "23505"
	pgForeignKeyViolation  = "23503"
	pgSerializationFailure = "40001"
	pgDeadlockDetected     = "40P01"
	pgLockNotAvailable     = "55P03"
	pgQueryCanceled        = "57014" // with a live context: the statement timeout
	pgReadOnly             = "25006" // a standby, or a server that was made read-only
	pgIdleInTransaction    = "25P03" // the server ended our session: it heard nothing for long
	pgNoStatement          = "26000" // the session does not know what was prepared: a pooler gave us another one
	pgStatementExists      = "42P05" // and this one has one of that name
	pgNotSupported         = "0A000"
	pgCompletionUnknown    = "40003"
	pgResolutionUnknown    = "08007"
)

// pgOutdated is where the server refuses what was prepared before a migration changed the type of a column.
const pgOutdated = "RevalidateCachedQuery"

// What pgx says that is no error of the server.
const (
	pgxRolledBack   = "commit unexpectedly resulted in rollback" // pgx.ErrTxCommitRollback
	pgxNoConnection = "failed to connect to `"                   // pgconn.ConnectError
)

// The result codes of SQLite (https://sqlite.org/rescode.html) that mean something here.
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

// postgresError is what an error of the server says.
type postgresError struct{ code, constraint, severity, routine string }

// ofPostgres reports whether an error is of the server: it has a method SQLState, as those of pgx and lib/pq have.
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

// ofSQLite returns the extended result code of an error of SQLite: it has a method Code, as those of modernc.org/sqlite
// have.
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
