package helpdesk

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// AuditEntry is one entry of an account's audit log, see [storage.AuditEntry] and [Service.From].
type AuditEntry = storage.AuditEntry

// Actions of users on their own user. They are logged in each account that the user is a member of.
const (
	auditLogin       = "user.logged_in"    // subject: the user, also in the following
	auditLoginFailed = "user.login_failed" // a wrong password was given for the user
	auditLogout      = "user.logged_out"
	auditPassword    = "user.password_changed"
	auditEmail       = "user.email_changed"
	auditDisabled    = "user.disabled"
	auditEnabled     = "user.enabled"

	auditFactor       = "user.second_factor_added"
	auditFactorGone   = "user.second_factor_removed"
	auditRecoveryNew  = "user.recovery_codes_renewed"
	auditRecoveryUsed = "user.recovery_code_used"

	auditIdentity     = "user.identity_linked" // subject: the identity, also in the next
	auditIdentityGone = "user.identity_unlinked"

	auditPasskey     = "user.passkey_added" // subject: the passkey, also in the next
	auditPasskeyGone = "user.passkey_removed"

	auditToken     = "token.created" // subject: the token, also in the next
	auditTokenGone = "token.deleted"
)

// audited reports whether events of a type go into the audit log: all changes to the account's configuration, everything
// deleted, erased, merged, split, moved or exported, and decisions about messages that could not be imported.
func audited(kind string) bool {
	area, action, _ := strings.Cut(kind, ".")
	if area == "sla" && SLAOutcomeEvent(kind) {
		return false
	}
	return slices.Contains([]string{
		"account", "membership", "role", "team", "invitation", "join_rule", "mailbox", "domain", "pgp_key", "portal_key", "webhook",
		"calendar", "auto_reply", "rule", "sla", "survey", "retention_policy",
	}, area) || slices.Contains([]string{"deleted", "erased", "merged", "split", "moved", "exported", "ignored", "replayed"}, action)
}

// AuditActions returns the actions of an audit log: those of the given types of events that it has, and what users do to
// their own user.
func AuditActions(types ...storage.EventType) []string {
	actions := []string{
		auditLogin, auditLoginFailed, auditLogout, auditPassword, auditEmail, auditDisabled, auditEnabled, auditFactor, auditFactorGone,
		auditRecoveryNew, auditRecoveryUsed, auditIdentity, auditIdentityGone, auditPasskey, auditPasskeyGone, auditToken, auditTokenGone,
	}
	for _, t := range types {
		if audited(t.Name) {
			actions = append(actions, t.Name)
		}
	}
	return actions
}

// From returns the same service for requests from a client address, which its audit log entries contain.
func (s *Service) From(address netip.Addr) *Service {
	out := *s
	if address = address.Unmap(); address.IsValid() {
		out.address = address.String()
	}
	return &out
}

// auditing is a transaction that copies administrative events to the audit log.
type auditing struct {
	Tx
	svc   *Service
	token int64
}

func (t auditing) Emit(ctx context.Context, events ...storage.Event) error {
	return storage.EmitAudited(ctx, t.Tx, audited, t.token, t.svc.address, events)
}

// auditingSystem is auditing for data above accounts.
type auditingSystem struct {
	SystemTx
	svc   *Service
	token int64
}

func (t auditingSystem) Within(s Scope) Tx { return auditing{t.SystemTx.Within(s), t.svc, t.token} }

func (s *Service) entry(action string, subject, userID, tokenID int64, now time.Time) AuditEntry {
	return AuditEntry{Action: action, Subject: subject, UserID: userID, TokenID: tokenID, Address: s.address, CreatedAt: now}
}

// beginSystem begins transactions above accounts for a caller who authenticated with a token.
func (s *Service) beginSystem(tokenID int64) func(context.Context, func(context.Context, SystemTx) error) error {
	return func(ctx context.Context, fn func(context.Context, SystemTx) error) error {
		return s.cfg.Store.InSystemTx(ctx, func(ctx context.Context, tx SystemTx) error {
			return fn(ctx, auditingSystem{tx, s, tokenID})
		})
	}
}

// note records an action of a user on their own user, in all accounts they are a member of.
func (s *Service) note(ctx context.Context, tx SystemTx, action string, subject, userID, tokenID int64) error {
	return s.noteFor(ctx, tx, userID, s.entry(action, subject, userID, tokenID, s.now()))
}

// noteFor inserts an entry into the logs of all accounts of a user.
func (s *Service) noteFor(ctx context.Context, tx SystemTx, userID int64, entry AuditEntry) error {
	list := func(seek storage.Seek) ([]identity.Account, error) { return tx.AccountsOf(ctx, userID, seek) }
	return each(list, func(a identity.Account) int64 { return a.ID }, func(a identity.Account) error {
		return tx.Within(Scope{AccountID: a.ID}).InsertAudit(ctx, []AuditEntry{entry})
	})
}

// failedLogin records a wrong password for a user. For an unknown address (0) it also runs a transaction, so that the timing
// is the same. It records only some of many failures, so that password guessing does not fill the log.
func (s *Service) failedLogin(ctx context.Context, userID int64, email string) error {
	if !s.throttle.worthNoting(s.now(), mailaddr.Key(email), network(s.address)) {
		return nil
	}
	return s.cfg.Store.InSystemTx(ctx, func(ctx context.Context, tx SystemTx) error {
		return s.note(ctx, tx, auditLoginFailed, userID, userID, 0)
	})
}

// AuditFilter narrows the audit log. The zero value selects all.
type AuditFilter struct {
	UserID storage.Opt[int64] // the actor; null: the operator
	Action string             // "": all
	Since  time.Time          // zero: all
}

// AuditLog lists administrative changes, newest first: changes of the account, its members, teams, roles, invitations, join
// rules, mailboxes, domains, keys and webhooks; everything deleted, erased, merged or exported; and what members did to
// their own tokens, sessions and passwords, including failed attempts. It needs audit_log.view. A member limited to some
// mailboxes does not see entries about others. The filter may name a user who has left; an unknown user matches nothing.
func (d Account) AuditLog(ctx context.Context, filter AuditFilter, req storage.PageRequest) (storage.Page[AuditEntry], error) {
	r, err := d.guard.Read(identity.AuditLogView)
	if err != nil {
		return storage.Page[AuditEntry]{}, err
	}
	filter.Action = plain.Line(filter.Action)
	var problems fault.Collector
	bounded(&problems, "action", filter.Action, 100)
	if err := problems.Err(); err != nil {
		return storage.Page[AuditEntry]{}, err
	}
	position := func(e AuditEntry) storage.Position { return storage.Position{Key: e.CreatedAt.UnixMicro(), ID: e.ID} }
	return storage.List(req, true, position, func(seek storage.Seek) ([]AuditEntry, error) { return r.AuditLog(ctx, filter, seek) })
}
