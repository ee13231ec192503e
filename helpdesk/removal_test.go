package helpdesk_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// tired is a store whose transactions fail now and then, and always if they remove too many conversations.
type tired struct {
	helpdesk.Store
	left int // transactions that work; negative: all
	most int // conversations that one has removed
}

type tiredTx struct {
	helpdesk.Tx
	removed int
}

func (t *tiredTx) DeleteConversations(ctx context.Context, ids []int64) error {
	t.removed += len(ids)
	return t.Tx.DeleteConversations(ctx, ids)
}

func (t *tired) InTx(ctx context.Context, scope helpdesk.Scope, fn func(context.Context, helpdesk.Tx) error) error {
	if t.left == 0 {
		return fault.New(fault.Unavailable, "tired")
	}
	t.left--
	return t.Store.InTx(ctx, scope, func(ctx context.Context, tx helpdesk.Tx) error {
		counted := &tiredTx{Tx: tx}
		err := fn(ctx, counted)
		t.most = max(t.most, counted.removed)
		return err
	})
}

// annWrites creates conversations of one customer, and returns the customer's id.
func (b *bundle) annWrites(t *testing.T, conversations int) (customer int64) {
	t.Helper()
	for n := range conversations {
		c := must(b.desk.Conversations().Create(b.ctx, helpdesk.ConversationInput{
			Channel: "email", To: "ann@example.com", Subject: fmt.Sprint("Question ", n), MailboxID: b.mailbox.ID,
			Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeNote, Body: "Text."}},
		}))(t)
		customer = c.CustomerID
	}
	return customer
}

// Objects with many conversations are removed in pieces: no transaction grows with their number, and an interrupted removal
// continues when repeated.
func TestRemovalInPieces(t *testing.T) {
	t.Parallel()
	const conversations = 900
	for name, remove := range map[string]func(b *bundle, customer int64, force bool) error{
		"mailbox": func(b *bundle, _ int64, force bool) error {
			return b.desk.Mailboxes().Delete(b.ctx, b.mailbox.ID, force)
		},
		"customer": func(b *bundle, id int64, force bool) error { return b.desk.Customers().Delete(b.ctx, id, force) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &tired{left: -1}
			b := newBundle(t, func(cfg *helpdesk.Config) { store.Store = cfg.Store; cfg.Store = store })
			customer := b.annWrites(t, conversations)
			if err := remove(b, customer, false); !fault.Is(err, fault.Conflict) {
				t.Errorf("without force: %v", err)
			}
			count := func() int {
				all := must(b.store.Within(helpdesk.Scope{AccountID: b.account.ID}).
					Conversations().List(b.ctx, helpdesk.ConversationOrder{ConversationFilter: helpdesk.ConversationFilter{}, Sort: helpdesk.ByCreated}, storage.Seek{Limit: 2 * conversations}))(t)
				return len(all)
			}
			if n := count(); n != conversations {
				t.Fatalf("%d conversations before", n)
			}
			calls := 0
			for before := count(); ; before = count() {
				store.left = 2
				err := remove(b, customer, true)
				if calls++; err == nil {
					break
				}
				if n := count(); !fault.Is(err, fault.Unavailable) || n >= before {
					t.Fatalf("%v, and %d conversations of %d", err, n, before)
				}
			}
			if store.left = -1; calls < 2 || store.most > 400 || count() > 0 {
				t.Errorf("removed by %d calls; one transaction has removed %d conversations, and %d are left", calls, store.most, count())
			}
			if err := remove(b, customer, true); !fault.Is(err, fault.NotFound) {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}
