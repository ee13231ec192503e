package storagetest

import (
	"context"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

func laggingTests() []testCase {
	return []testCase{{"Lists", testLagging}}
}

// A scope that may lag has everything that was written through the same store, also when it was written a moment ago.
func testLagging(t *testing.T, b Backend) {
	w := newWorld(t, b)
	w.index(t, "invoice")
	check := func() {
		t.Helper()
		for _, mailboxes := range [][]int64{nil, {w.mailbox.ID}, {w.empty.ID}, {}} {
			scope := helpdesk.Scope{AccountID: w.account.ID, Mailboxes: mailboxes}
			may := scope
			may.MayLag = true
			now, lagging := b.Store.Within(scope), b.Store.Within(may)
			for _, filter := range []helpdesk.ConversationFilter{{}, {Terms: []helpdesk.SearchTerm{word("invoice")}}, {UserID: storage.Some(w.user.ID)}} {
				order := helpdesk.ConversationOrder{ConversationFilter: filter}
				want, err := now.Conversations().List(t.Context(), order, all())
				ok(t, err)
				got, err := lagging.Conversations().List(t.Context(), order, all())
				ok(t, err)
				same(t, "conversations", want, got)
			}
			for _, filter := range []helpdesk.CustomerFilter{{}, {Terms: []helpdesk.SearchTerm{word("invoice")}}, {EmailKey: w.customer.Emails[0].Key}} {
				want, err := now.Customers(t.Context(), filter, all())
				ok(t, err)
				got, err := lagging.Customers(t.Context(), filter, all())
				ok(t, err)
				same(t, "customers", want, got)
			}
			q := helpdesk.CountQuery{Maintained: true, Conversations: []helpdesk.ConversationFilter{{}}, Limit: 100}
			want, err := now.Count(t.Context(), q)
			ok(t, err)
			got, err := lagging.Count(t.Context(), q)
			ok(t, err)
			same(t, "counts", want, got)
			c, err := lagging.Conversations().Get(t.Context(), w.conversation.ID)
			if mailboxes == nil {
				ok(t, err)
				same(t, "a conversation", w.conversation, c)
			}
		}
	}
	check()
	spread(t, w)
	check()
	for range 3 {
		w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
			c := w.newConversation()
			return tx.Conversations().Insert(ctx, &c)
		})
		check()
	}
}
