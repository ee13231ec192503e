package storage

import (
	"context"
	"time"
)

// AuditEntry is one line of an account's audit log: who did what to which resource, and from which address. It is written in
// the same transaction as the change it records.
type AuditEntry struct {
	ID        int64
	Action    string // event type, such as "membership.updated", or for what users do to themselves, "user.logged_in"
	Subject   int64  // id of the resource; Action begins with its noun
	MailboxID int64  // members of this mailbox may see the entry; 0: everyone who may see the log
	UserID    int64  // user who acted; 0: the operator of the program
	TokenID   int64  // access token or session that was used; 0: none
	Address   string // client address; "" when unknown
	Changes   []AuditChange
	CreatedAt time.Time // time of the transaction
}

// AuditChange is one thing that an audited change changed. Of a list it has only what was added and removed.
type AuditChange struct {
	Field string   `json:"field"`          // as the API calls it, such as "roles"
	From  []string `json:"from,omitempty"` // the former value; of a list what was removed. Names as they were then
	To    []string `json:"to,omitempty"`   // the new value; of a list what was added
}

// AuditWriter writes the audit log. Entries are never changed.
type AuditWriter interface {
	// InsertAudit stores entries and sets their ids. It does not check that the resources exist.
	InsertAudit(ctx context.Context, entries []AuditEntry) error
}

// Audit returns the audit entry for the event, caused by a request with a token from an address.
func (e Event) Audit(tokenID int64, address string) AuditEntry {
	return AuditEntry{
		Action: e.Type, Subject: e.Subject, MailboxID: e.MailboxID, UserID: e.ActorID, TokenID: tokenID, Address: address, CreatedAt: e.Time,
	}
}

// EmitAudited appends events to the event log of the transaction's account, and adds those of an audited type to the audit
// log.
func EmitAudited(ctx context.Context, tx interface {
	Outbox
	AuditWriter
}, audited func(kind string) bool, tokenID int64, address string, events []Event) error {
	var entries []AuditEntry
	for _, e := range events {
		if audited(e.Type) {
			entries = append(entries, e.Audit(tokenID, address))
		}
	}
	if len(entries) > 0 {
		if err := tx.InsertAudit(ctx, entries); err != nil {
			return err
		}
	}
	return tx.Emit(ctx, events...)
}
