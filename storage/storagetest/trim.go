package storagetest

import (
	"context"
	"fmt"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// trimTests verify what removes, moves or clears some rows before a change that would take long with all of them.
func trimTests() []testCase {
	return []testCase{
		{"Tag", testTrimTag},
		{"Mailbox", testTrimMailbox},
		{"Webhook", testTrimWebhook},
		{"Site", testTrimSite},
		{"Account", testTrimAccount},
		{"MoveSome", testMoveSome},
		{"ForgetEmails", testForgetEmails},
	}
}

// manyRows is how many rows the tests trim, two at a time.
const manyRows = 7

// trimmed calls trim until it reports false, which it must do before long.
func (w *world) trimmed(t *testing.T, trim func(ctx context.Context, tx helpdesk.Tx) (bool, error)) {
	t.Helper()
	for more, n := true, 0; more; n++ {
		if n > 10*manyRows {
			t.Fatal("there is more and more to trim")
		}
		w.tx(t, func(ctx context.Context, tx helpdesk.Tx) (err error) {
			more, err = trim(ctx, tx)
			return err
		})
	}
}

// conversations inserts conversations, and returns their ids.
func (w *world) conversations(t *testing.T, n int) []int64 {
	t.Helper()
	ids := make([]int64, n)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		for i := range ids {
			c := w.newConversation()
			c.ID = 0
			ok(t, tx.Conversations().Insert(ctx, &c))
			ids[i] = c.ID
			ok(t, tx.SetSearchTerms(ctx, c.ID, []string{"many"}))
		}
		return nil
	})
	return ids
}

func testTrimTag(t *testing.T, b Backend) {
	w := newWorld(t, b)
	many, other := w.conversations(t, manyRows), w.newTag("other")
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, helpdesk.Nouns().Tags.Rows(tx).Insert(ctx, &other))
		return tx.SetTags(ctx, many, []int64{w.tag.ID, other.ID})
	})
	with := func(tag int64) int {
		list, err := w.in().Conversations().List(t.Context(), helpdesk.ConversationOrder{ConversationFilter: helpdesk.ConversationFilter{TagIDs: []int64{tag}}}, all())
		ok(t, err)
		return len(list)
	}
	same(t, "conversations with another tag", manyRows, with(other.ID))
	w.trimmed(t, func(ctx context.Context, tx helpdesk.Tx) (bool, error) {
		return helpdesk.Nouns().Tags.Rows(tx).Trim(ctx, w.tag.ID, 2)
	})
	_, err := helpdesk.Nouns().Tags.Reader(w.in()).Get(t.Context(), w.tag.ID)
	ok(t, err)
	same(t, "conversations with another tag after trimming", manyRows, with(other.ID))
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return helpdesk.Nouns().Tags.Rows(tx).Delete(ctx, w.tag.ID)
	})
	same(t, "conversations with the deleted tag", 0, with(w.tag.ID))
	same(t, "conversations with another tag after deletion", manyRows, with(other.ID))
}

// Only tombstones are trimmed: other rows of the ledger must not be lost when the mailbox stays.
func testTrimMailbox(t *testing.T, b Backend) {
	w := newWorld(t, b)
	many := w.conversations(t, manyRows)
	mails := make([]*ledger.Mail, 0, len(many)+2)
	for i, id := range many {
		m := w.newMail(fmt.Sprint("many", i))
		m.MailboxID, m.State, m.ConversationID, m.InteractionID = w.empty.ID, ledger.Filed, id, 0
		mails = append(mails, &m)
	}
	waiting, filed := w.newMail("waiting"), w.newMail("moved")
	waiting.MailboxID, waiting.State, waiting.ConversationID, waiting.InteractionID = w.empty.ID, ledger.Received, 0, 0
	filed.MailboxID, filed.State, filed.ConversationID, filed.InteractionID = w.empty.ID, ledger.Filed, w.conversation.ID, 0 // moved to another mailbox since
	mails = append(mails, &waiting, &filed)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, tx.InsertInbound(ctx, mails))
		return tx.DeleteConversations(ctx, many)
	})
	w.trimmed(t, func(ctx context.Context, tx helpdesk.Tx) (bool, error) {
		return tx.Mailboxes().Trim(ctx, w.empty.ID, 2)
	})
	for _, m := range []*ledger.Mail{&waiting, &filed} {
		_, err := w.in().InboundMail(t.Context(), m.ID)
		ok(t, err)
	}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Mailboxes().Delete(ctx, w.empty.ID) })
	left, err := w.in().InboundMails(t.Context(), ledger.Filter{MailboxID: w.empty.ID}, all())
	ok(t, err)
	same(t, "mails of a deleted mailbox", 0, len(left))
}

func testTrimWebhook(t *testing.T, b Backend) {
	w := newWorld(t, b)
	second := w.newWebhook()
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, helpdesk.Nouns().Webhooks.Rows(tx).Insert(ctx, &second))
		for range manyRows {
			for _, id := range []int64{w.webhook.ID, second.ID} {
				d := w.newWebhookDelivery(id)
				ok(t, tx.WebhookDeliveries().Insert(ctx, &d))
			}
		}
		return nil
	})
	w.trimmed(t, func(ctx context.Context, tx helpdesk.Tx) (bool, error) {
		return helpdesk.Nouns().Webhooks.Rows(tx).Trim(ctx, second.ID, 2)
	})
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return helpdesk.Nouns().Webhooks.Rows(tx).Delete(ctx, second.ID)
	})
	for id, want := range map[int64]int{w.webhook.ID: manyRows + 1, second.ID: 0} {
		left, err := w.in().WebhookDeliveries().List(t.Context(), subscription.WebhookDeliveryFilter{WebhookID: id}, all())
		ok(t, err)
		same(t, "deliveries", want, len(left))
	}
}

func testTrimSite(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	site := w.shelf.site.ID
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error {
		for range manyRows {
			a := w.newArticle(1)
			ok(t, tx.Articles().Insert(ctx, &a))
		}
		return nil
	})
	for more := true; more; {
		w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) (err error) {
			more, err = tx.Sites().Trim(ctx, site, 2)
			return err
		})
	}
	_, err := w.inSite().Sites().Get(t.Context(), site)
	ok(t, err)
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error { return tx.Sites().Delete(ctx, site) })
	left, err := w.inSite().Articles().List(t.Context(), kb.ArticleFilter{}, all())
	if err != nil && !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	same(t, "articles of a deleted site", 0, len(left))
}

// An account whose deletion was interrupted is one that its members can delete again.
func testTrimAccount(t *testing.T, b Backend) {
	w, other := newWorld(t, b), newWorld(t, b)
	w.conversations(t, manyRows)
	before := other.content(t)
	w.trimmed(t, func(ctx context.Context, tx helpdesk.Tx) (bool, error) { return tx.TrimAccount(ctx, 2) })
	_, err := w.Store.Grant(t.Context(), w.user.ID, w.account.ID)
	ok(t, err)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.DeleteAccount(ctx) })
	got, _ := readAll(t.Context(), w.in(), "")
	same(t, "content of a deleted account, whose jobs outlive it", content{Buried: []storage.FailedJob{w.failedJob}}, got)
	same(t, "another account", before, other.content(t))
	err = w.try(t, func(ctx context.Context, tx helpdesk.Tx) error {
		_, err := tx.TrimAccount(ctx, 2)
		return err
	})
	fails(t, "trimming a deleted account", err, fault.NotFound)
}

func testMoveSome(t *testing.T, b Backend) {
	w := newWorld(t, b)
	into, third := w.newCustomer("into"), w.newCustomer("third")
	many := w.conversations(t, manyRows)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, tx.InsertCustomer(ctx, &into))
		ok(t, tx.InsertCustomer(ctx, &third))
		c, err := tx.Conversations().Lock(ctx, many[0])
		ok(t, err)
		c.CustomerID, c.CustomerEmailID = third.ID, third.Emails[0].ID
		return tx.Conversations().Update(ctx, &c)
	})
	w.trimmed(t, func(ctx context.Context, tx helpdesk.Tx) (bool, error) {
		return tx.MoveSome(ctx, w.customer.ID, into.ID, 2)
	})
	_, err := w.in().Customer(t.Context(), w.customer.ID)
	ok(t, err)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.MoveCustomer(ctx, w.customer.ID, into.ID) })
	for i, id := range append(many, w.conversation.ID) {
		c, err := w.in().Conversations().Get(t.Context(), id)
		ok(t, err)
		want := into.ID
		if i == 0 {
			want = third.ID
		}
		same(t, "customer of a conversation", want, c.CustomerID)
	}
	i, err := w.in().Interactions().Get(t.Context(), w.question.ID)
	ok(t, err)
	same(t, "customer of an interaction", into.ID, i.CustomerID)
}

func testForgetEmails(t *testing.T, b Backend) {
	w := newWorld(t, b)
	many, gone := w.conversations(t, manyRows), w.customer.Emails[0].ID
	forget := func(ctx context.Context, tx helpdesk.Tx) (bool, error) {
		return tx.ForgetEmails(ctx, w.customer.ID, []int64{gone}, 2)
	}
	w.trimmed(t, forget)
	c, err := w.in().Customer(t.Context(), w.customer.ID)
	ok(t, err)
	same(t, "customer", w.customer, c)
	c.Emails = c.Emails[1:]
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.UpdateCustomer(ctx, &c) })
	for _, id := range many {
		c, err := w.in().Conversations().Get(t.Context(), id)
		ok(t, err)
		same(t, "address of a conversation", int64(0), c.CustomerEmailID)
		same(t, "text of the address", w.customer.Emails[0].Email, c.CustomerEmail)
	}
}
