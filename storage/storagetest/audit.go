package storagetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func auditTests() []testCase {
	return []testCase{
		{"Log", testAuditLog},
		{"Scope", testAuditScope},
		{"Rollback", testAuditRollback},
	}
}

func (w *world) newAudit() helpdesk.AuditEntry {
	return helpdesk.AuditEntry{Action: "role.updated " + w.mark, Subject: w.role.ID, MailboxID: w.mailbox.ID, UserID: w.user.ID, TokenID: w.token.ID,
		Address: "2001:db8::1 " + w.mark, CreatedAt: base,
		Changes: []storage.AuditChange{{Field: "name", From: []string{"Old " + w.mark}, To: []string{"New"}}, {Field: "permissions", To: []string{"a", "b"}}}}
}

// noted adds entries to the log, whose ids are set then.
func (w *world) noted(t *testing.T, entries []helpdesk.AuditEntry) {
	t.Helper()
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.InsertAudit(ctx, entries) })
}

func testAuditLog(t *testing.T, b Backend) {
	w := newAccount(t, b)
	filled(t, w.newAudit(), "ID")
	one, two, three := w.newAudit(), w.newAudit(), w.newAudit()
	one.CreatedAt, two.Action, three.UserID, three.MailboxID, three.TokenID, three.Address = at(2), "role.deleted", 0, 0, 0, ""
	three.Changes = nil
	all3 := []helpdesk.AuditEntry{one, two, three}
	w.noted(t, all3)
	w.noted(t, nil)
	one, two, three = all3[0], all3[1], all3[2]
	read := func(f helpdesk.AuditFilter, seek storage.Seek) []helpdesk.AuditEntry {
		got, err := w.in().AuditLog(t.Context(), f, seek)
		ok(t, err)
		return got
	}
	type f = helpdesk.AuditFilter
	newest := storage.Seek{Desc: true, Limit: 10}
	same(t, "newest first", []helpdesk.AuditEntry{one, three, two}, read(f{}, newest))
	same(t, "oldest first", []helpdesk.AuditEntry{two, three, one}, read(f{}, all()))
	same(t, "first page", []helpdesk.AuditEntry{one, three}, read(f{}, storage.Seek{Desc: true, Limit: 2}))
	from := &storage.Position{Key: three.CreatedAt.UnixMicro(), ID: three.ID}
	same(t, "second page", []helpdesk.AuditEntry{two}, read(f{}, storage.Seek{Desc: true, Limit: 2, From: from}))
	same(t, "of the user", []helpdesk.AuditEntry{one, two}, read(f{UserID: storage.Some(w.user.ID)}, newest))
	same(t, "of nobody", []helpdesk.AuditEntry{three}, read(f{UserID: storage.Null[int64]()}, newest))
	same(t, "of another", []helpdesk.AuditEntry(nil), read(f{UserID: storage.Some[int64](nobody)}, newest))
	same(t, "of an action", []helpdesk.AuditEntry{two}, read(f{Action: "role.deleted"}, newest))
	same(t, "since then", []helpdesk.AuditEntry{one}, read(f{Since: at(1)}, newest))
	same(t, "since the same time", []helpdesk.AuditEntry{one}, read(f{Since: at(2).Add(time.Nanosecond)}, newest))
	same(t, "all together", []helpdesk.AuditEntry{two}, read(f{UserID: storage.Some(w.user.ID), Action: "role.deleted", Since: base}, newest))
	err := b.Store.InTx(t.Context(), helpdesk.Scope{AccountID: nobody}, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.InsertAudit(ctx, []helpdesk.AuditEntry{w.newAudit()})
	})
	fails(t, "an entry of no account", err, fault.NotFound)
}

func testAuditScope(t *testing.T, b Backend) {
	w := newAccount(t, b)
	general := w.newAudit()
	general.MailboxID = 0
	entries := []helpdesk.AuditEntry{w.newAudit(), general}
	w.noted(t, entries)
	for what, tt := range map[string]struct {
		mailboxes []int64
		want      []helpdesk.AuditEntry
	}{
		"with the mailbox":    {[]int64{w.mailbox.ID}, entries},
		"with another":        {[]int64{w.empty.ID}, entries[1:]},
		"without any mailbox": {[]int64{}, entries[1:]},
	} {
		got, err := b.Store.Within(helpdesk.Scope{AccountID: w.account.ID, Mailboxes: tt.mailboxes}).AuditLog(t.Context(), helpdesk.AuditFilter{}, all())
		ok(t, err)
		same(t, what, tt.want, got)
	}
}

func testAuditRollback(t *testing.T, b Backend) {
	w := newAccount(t, b)
	err := w.try(t, func(ctx context.Context, tx helpdesk.Tx) error {
		if err := tx.InsertAudit(ctx, []helpdesk.AuditEntry{w.newAudit()}); err != nil {
			return err
		}
		return errOnPurpose
	})
	if !errors.Is(err, errOnPurpose) {
		t.Errorf("got %v", err)
	}
	got, err := w.in().AuditLog(t.Context(), helpdesk.AuditFilter{}, all())
	ok(t, err)
	same(t, "log", []helpdesk.AuditEntry(nil), got)
}

func auditReads() map[string]readProbe {
	return map[string]readProbe{
		"AuditLog": {ofMailbox, false, func(ctx context.Context, r helpdesk.Reader, _ *world) (any, error) {
			return answer(r.AuditLog(ctx, helpdesk.AuditFilter{}, all()))
		}},
	}
}

func (g *generator) auditFilter(seen content) helpdesk.AuditFilter {
	e := oneOf(g, seen.Audit)
	f := helpdesk.AuditFilter{}
	if g.IntN(2) == 0 {
		f.Action = e.Action
	}
	if g.IntN(3) == 0 {
		f.Since = e.CreatedAt
	}
	if g.IntN(4) == 0 {
		f.UserID = storage.Null[int64]()
	}
	return f
}
