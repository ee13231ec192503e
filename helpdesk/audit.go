package helpdesk

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// AuditEntry is one line of an account's audit log, see [storage.AuditEntry] and
// [Service.From].
type AuditEntry = storage.AuditEntry

// What users do to themselves. It is in the log of each account they are members of.
const (
	auditLogin       = "user.logged_in"    // subject: user, as of the following
	auditLoginFailed = "user.login_failed" // a password of the user was not right
	auditLogout      = "user.logged_out"
	auditPassword    = "user.password_changed"
	auditDisabled    = "user.disabled"
	auditEnabled     = "user.enabled"

	auditFactor       = "user.second_factor_added"
	auditFactorGone   = "user.second_factor_removed"
	auditRecoveryNew  = "user.recovery_codes_renewed"
	auditRecoveryUsed = "user.recovery_code_used"

	auditToken     = "token.created" // subject: token, as of the next
	auditTokenGone = "token.deleted"
)

// audited reports whether events of a type go into the audit log: all that happens to
// what the account is made of, whatever is deleted, merged, split, moved or exported,
// and what is decided about mails that could not be imported.
func audited(kind string) bool {
	area, action, _ := strings.Cut(kind, ".")
	return slices.Contains([]string{
		"account", "membership", "role", "team", "invitation", "mailbox", "domain", "pgp_key", "portal_key", "webhook",
	}, area) || slices.Contains([]string{"deleted", "merged", "split", "moved", "exported", "ignored", "replayed"}, action)
}

// From returns the same service for requests from an address, which the audit log
// notes with what they do.
func (s *Service) From(address netip.Addr) *Service {
	out := *s
	if address = address.Unmap(); address.IsValid() {
		out.address = address.String()
	}
	return &out
}

// auditing is a transaction whose events are noted in the audit log as far as they
// are administrative.
type auditing struct {
	Tx
	svc   *Service
	token int64
}

func (t auditing) Emit(ctx context.Context, events ...storage.Event) error {
	return storage.EmitAudited(ctx, t.Tx, audited, t.token, t.svc.address, events)
}

// auditingSystem is auditing above accounts.
type auditingSystem struct {
	SystemTx
	svc   *Service
	token int64
}

func (t auditingSystem) Within(s Scope) Tx { return auditing{t.SystemTx.Within(s), t.svc, t.token} }

func (s *Service) entry(action string, subject, userID, tokenID int64, now time.Time) AuditEntry {
	return AuditEntry{Action: action, Subject: subject, UserID: userID, TokenID: tokenID, Address: s.address, CreatedAt: now}
}

// beginSystem begins transactions above accounts for who came with a token.
func (s *Service) beginSystem(tokenID int64) func(context.Context, func(context.Context, SystemTx) error) error {
	return func(ctx context.Context, fn func(context.Context, SystemTx) error) error {
		return s.cfg.Store.InSystemTx(ctx, func(ctx context.Context, tx SystemTx) error {
			return fn(ctx, auditingSystem{tx, s, tokenID})
		})
	}
}

// note records what a user did to themselves, in all accounts they are members of.
func (s *Service) note(ctx context.Context, tx SystemTx, action string, subject, userID, tokenID int64) error {
	return s.noteFor(ctx, tx, userID, s.entry(action, subject, userID, tokenID, s.now()))
}

// noteFor puts an entry into the logs of all accounts of a user.
func (s *Service) noteFor(ctx context.Context, tx SystemTx, userID int64, entry AuditEntry) error {
	list := func(seek storage.Seek) ([]Account, error) { return tx.AccountsOf(ctx, userID, seek) }
	return each(list, func(a Account) int64 { return a.ID }, func(a Account) error {
		return tx.Within(Scope{AccountID: a.ID}).InsertAudit(ctx, []AuditEntry{entry})
	})
}

// failedLogin notes that a password was not that of a user, 0 for an address that no
// user has: that takes a transaction too. Of many failures only some are noted: who
// guesses passwords must not fill the log.
func (s *Service) failedLogin(ctx context.Context, userID int64, email string) error {
	if !s.throttle.worthNoting(s.now(), EmailKey(email), network(s.address)) {
		return nil
	}
	return s.cfg.Store.InSystemTx(ctx, func(ctx context.Context, tx SystemTx) error {
		return s.note(ctx, tx, auditLoginFailed, userID, userID, 0)
	})
}

// AuditFilter narrows the audit log. The zero value is all of it.
type AuditFilter struct {
	UserID storage.Opt[int64] // who did it; null: the operator
	Action string             // "": all
	Since  time.Time          // zero: all
}

// AuditLog lists administrative changes, newest first: of the account, its members,
// teams, roles, invitations, mailboxes, domains, keys and webhooks, whatever was deleted,
// merged or exported, and what its members did to their tokens, sessions and
// passwords, also in vain. It needs audit_log.view. A member of some mailboxes does
// not see what is about others. Whom the filter names may have left: somebody who
// never was there has done nothing.
func (d *Desk) AuditLog(ctx context.Context, filter AuditFilter, req storage.PageRequest) (storage.Page[AuditEntry], error) {
	r, err := d.guard.Read(AuditLogView)
	if err != nil {
		return storage.Page[AuditEntry]{}, err
	}
	filter.Action = cleanLine(filter.Action)
	var problems fault.Collector
	bounded(&problems, "action", filter.Action, 100)
	if err := problems.Err(); err != nil {
		return storage.Page[AuditEntry]{}, err
	}
	position := func(e AuditEntry) storage.Position { return storage.Position{Key: e.CreatedAt.UnixMicro(), ID: e.ID} }
	return storage.List(req, true, position, func(seek storage.Seek) ([]AuditEntry, error) { return r.AuditLog(ctx, filter, seek) })
}
