package storage

import (
	"context"
	"time"
)

// AuditEntry is one line of an account's audit log: who did what to what, and where
// from. It is written in the transaction that it is about.
type AuditEntry struct {
	ID        int64
	Action    string    // type of the event, such as "membership.updated", or of what users do to themselves, "user.logged_in"
	Subject   int64     // id of the resource, whose noun Action begins with
	MailboxID int64     // whose members may see it; 0: all who may see the log
	UserID    int64     // who did it; 0: the operator of the program
	TokenID   int64     // access token or session that it was done with; 0: none
	Address   string    // that it was done from; "" when not known
	CreatedAt time.Time // of the transaction
}

// AuditWriter writes the audit log. Nothing of it is ever changed.
type AuditWriter interface {
	// InsertAudit stores entries and sets their ids. What they name is not looked up.
	InsertAudit(ctx context.Context, entries []AuditEntry) error
}

// Audit is the entry about an event that was brought about with a token, from an
// address.
func (e Event) Audit(tokenID int64, address string) AuditEntry {
	return AuditEntry{
		Action: e.Type, Subject: e.Subject, MailboxID: e.MailboxID, UserID: e.ActorID, TokenID: tokenID, Address: address, CreatedAt: e.Time,
	}
}

// EmitAudited appends events to the log of the transaction's account, and those of an
// audited type to the audit log too.
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
