package bunstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage/fault"
)

// errEnded is the error of a Tx used after its transaction has ended.
var errEnded = &fault.Error{Kind: fault.Internal, Op: "bunstore", Message: "The transaction has ended."}

// uniques maps indexes to the uniqueness rules of the contract. PostgreSQL reports the index, SQLite the columns.
var uniques = []struct{ index, columns, code string }{
	{"hw_users_email_key", "hw_users.email_key", identity.UniqueUserEmail},
	{"hw_memberships_user", "hw_memberships.user_id, hw_memberships.account_id", identity.UniqueMembership},
	{"hw_passkeys_credential", "hw_passkeys.credential_id", identity.UniquePasskey},
	{"hw_user_identities_subject", "hw_user_identities.issuer, hw_user_identities.subject", identity.UniqueUserIdentity},
	{"hw_join_rules_domain", "hw_join_rules.domain, hw_join_rules.issuer, hw_join_rules.account_id", identity.UniqueJoinRule},
	{"hw_mailboxes_email", "hw_mailboxes.account_id, hw_mailboxes.email_key", helpdesk.UniqueMailboxEmail},
	{"hw_mailboxes_local", "hw_mailboxes.internal_local", helpdesk.UniqueMailboxLocal},
	{"hw_customer_emails_key", "hw_customer_emails.account_id, hw_customer_emails.email_key", helpdesk.UniqueCustomerEmail},
	{"hw_customers_external", "hw_customers.account_id, hw_customers.external_id", helpdesk.UniqueCustomerExternal},
	{"hw_inbound_mails_identity", "hw_inbound_mails.identity, hw_inbound_mails.mailbox_id", ledger.UniqueIdentity},
	{"hw_inbound_mails_position", "hw_inbound_mails.position", ledger.UniqueMailPosition},
	{"hw_domains_name", "hw_domains.account_id, hw_domains.name", sending.UniqueDomain},
	{"hw_pgp_keys_fingerprint", "hw_pgp_keys.customer_email_id, hw_pgp_keys.fingerprint", helpdesk.UniquePGPKey},
	{"hw_notifications_source", "hw_notifications.user_id, hw_notifications.source", helpdesk.UniqueNotification},
	{"hw_jobs_unique_key", "hw_jobs.unique_key", helpdesk.UniqueJob},
	{"hw_sites_address", "hw_sites.host_key, hw_sites.path", kb.UniqueSitePath},
	{"hw_themes_active", "hw_themes.site_id", kb.UniqueActiveTheme},
	{"hw_theme_files_path", "hw_theme_files.theme_id, hw_theme_files.path", kb.UniqueThemeFile},
}

// failure turns a driver's error for a statement on a resource into a fault.
func failure(ctx context.Context, err error, resource string, id int64) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	switch {
	case ctx.Err() != nil: // drivers report it with errors of their own
		return ctx.Err()
	case errors.Is(err, sql.ErrNoRows):
		return fault.Missing(resource, id)
	}
	if index, ok := uniqueViolation(err); ok {
		return conflict(index, resource, id, err)
	}
	switch {
	case foreignKeyViolation(err):
		missing := fault.Missing(resource, id)
		missing.Message, missing.Err = "What the "+resource+" refers to is not there.", err
		return missing
	case readOnly(err):
		return &fault.Error{Kind: fault.Unavailable, Op: "bunstore", Message: "The database takes no writes right now: it is read-only.", Err: err}
	case passing(err), unreachable(err):
		return &fault.Error{Kind: fault.Unavailable, Op: "bunstore", Message: "The database cannot be reached right now.", Err: err}
	case errors.Is(err, sql.ErrTxDone):
		return &fault.Error{Kind: fault.Internal, Op: "bunstore", Message: errEnded.Message, Err: err}
	}
	return fault.Wrap(fault.Internal, "bunstore", err)
}

// commitFailure turns a driver's error for a commit into a fault. The caller's context no longer matters.
func commitFailure(ctx context.Context, err error) error {
	if notCommitted(err) {
		return failure(context.WithoutCancel(ctx), err, "transaction", 0)
	}
	return &fault.Error{
		Kind: fault.OutcomeUnknown, Op: "bunstore", Err: err,
		Message: "The database did not confirm whether the change was made.",
	}
}

// notCommitted reports that a commit has certainly failed: it was never sent, or the database refused it.
func notCommitted(err error) bool {
	if e, ok := ofPostgres(err); ok {
		// An error that ends the session may follow the commit, for instance while it waits for standbys.
		return e.severity == "ERROR" && e.code != pgCompletionUnknown && e.code != pgResolutionUnknown
	}
	if code, ok := ofSQLite(err); ok {
		switch code & 0xff {
		case sqliteBusy, sqliteLocked, sqliteFull, sqliteReadOnly, sqliteConstraint:
			return true
		}
		return false // after a disk error the content of the disk is unknown
	}
	// Not pgconn.SafeToRetry: it is also true for a connection that was reset after the commit was sent.
	return strings.Contains(err.Error(), pgxRolledBack) || errors.Is(err, sql.ErrTxDone)
}

// inUse is failure for deleting a row: a foreign key violation means that other rows still refer to it.
func inUse(ctx context.Context, err error, resource string, id int64) error {
	if err != nil && foreignKeyViolation(err) {
		return stillInUse(resource, id, err)
	}
	return failure(ctx, err, resource, id)
}

func stillInUse(resource string, id int64, err error) error {
	message := "The " + resource + " is still in use."
	switch resource {
	case "mailbox", "customer":
		message = "The " + resource + " has conversations."
	case "role":
		message = "A member has this role."
	case "collection", "category":
		message = "The " + resource + " is not empty."
	}
	return &fault.Error{Kind: fault.Conflict, Resource: resource, ID: id, Message: message, Err: err}
}

// removed is changed for deleting a row.
func removed(ctx context.Context, res sql.Result, err error, resource string, id int64) error {
	if err != nil {
		return inUse(ctx, err, resource, id)
	}
	return changed(ctx, res, nil, resource, id)
}

// conflict returns the fault for a violated uniqueness rule.
func conflict(index, resource string, id int64, err error) error {
	code := ""
	for _, u := range uniques {
		if index == u.index || strings.HasSuffix(index, u.columns) {
			code = u.code
		}
	}
	return &fault.Error{
		Kind: fault.Conflict, Resource: resource, ID: id, Code: code,
		Message: "This " + resource + " already exists.", Err: err,
	}
}

// uniqueViolation returns the index, or its columns, that err names.
func uniqueViolation(err error) (string, bool) {
	if e, ok := ofPostgres(err); ok {
		return e.constraint, e.code == pgUniqueViolation
	}
	if code, ok := ofSQLite(err); ok && (code == sqliteUnique || code == sqlitePrimaryKey) {
		_, columns, _ := strings.Cut(err.Error(), "UNIQUE constraint failed: ")
		columns, _, _ = strings.Cut(columns, " (")
		return columns, true
	}
	return "", false
}

func foreignKeyViolation(err error) bool {
	if e, ok := ofPostgres(err); ok {
		return e.code == pgForeignKeyViolation
	}
	code, ok := ofSQLite(err)
	return ok && code == sqliteForeignKey
}

// passing reports a conflict with another transaction, an outdated prepared statement, which a program's own pool may keep, or
// a connection that was lost before anything happened: a retry helps.
func passing(err error) bool {
	if e, ok := ofPostgres(err); ok {
		switch e.code {
		case pgSerializationFailure, pgDeadlockDetected, pgNoStatement:
			return true
		}
		return e.code == pgNotSupported && e.routine == pgOutdated
	}
	if code, ok := ofSQLite(err); ok {
		primary := code & 0xff // the higher bits only add detail
		if primary == sqliteBusy || primary == sqliteLocked {
			return true
		}
	}
	return false
}

// readOnly reports that the database can be read, but not changed.
func readOnly(err error) bool {
	if e, ok := ofPostgres(err); ok {
		return e.code == pgReadOnly
	}
	code, ok := ofSQLite(err)
	return ok && code&0xff == sqliteReadOnly
}

// unreachable reports that the database cannot be reached, is full or is overloaded.
func unreachable(err error) bool {
	if e, ok := ofPostgres(err); ok {
		switch e.code {
		case pgLockNotAvailable, pgQueryCanceled, pgReadOnly, pgIdleInTransaction, pgStatementExists:
			return true
		}
		switch e.code[:min(2, len(e.code))] {
		case "08", "53", "57", "58": // connection exception, insufficient resources, operator intervention, system error
			return true
		}
		return false
	}
	if code, ok := ofSQLite(err); ok {
		switch code & 0xff {
		case sqliteFull, sqliteIOErr, sqliteCantOpen, sqliteReadOnly, sqliteProtocol, sqliteNoMem, sqliteInterrupt:
			return true
		}
		return false
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errSlow) {
		return true // our own limit: the caller's context is still live
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		strings.Contains(err.Error(), pgxNoConnection) || strings.Contains(err.Error(), "database is closed") || strings.Contains(err.Error(), "conn closed")
}

// checkText refuses strings that the database cannot store unchanged: bun replaces invalid UTF-8, and PostgreSQL rejects NUL
// as a syntax error. It looks into structs, slices and pointers.
func checkText(values ...any) error {
	for _, v := range values {
		ok := true
		switch v := v.(type) {
		case string:
			ok = storable(v)
		case int64, int, bool, []byte, nil:
		case bun.Query: // checked when it was built
		default:
			ok = storableValue(reflect.ValueOf(v))
		}
		if !ok {
			return fault.New(fault.Invalid, "The text contains NUL or is not valid UTF-8.")
		}
	}
	return nil
}

func storable(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

func storableValue(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return storable(v.String())
	case reflect.Pointer:
		return v.IsNil() || storableValue(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if !storableValue(v.Field(i)) {
				return false
			}
		}
	case reflect.Slice:
		switch v.Type().Elem().Kind() {
		case reflect.String, reflect.Struct, reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
			for i := range v.Len() {
				if !storableValue(v.Index(i)) {
					return false
				}
			}
		}
	case reflect.Map:
		for each := v.MapRange(); each.Next(); {
			if !storableValue(each.Key()) || !storableValue(each.Value()) {
				return false
			}
		}
	case reflect.Interface:
		return v.IsNil() || storableValue(v.Elem())
	}
	return true
}
