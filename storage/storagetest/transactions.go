package storagetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

var errOnPurpose = errors.New("on purpose")

func transactionTests() []testCase {
	return []testCase{
		{"Rollback", testRollback},
		{"RollbackOfAccount", testRollbackOfAccount},
		{"Panic", testPanic},
		{"Outbox", testOutbox},
		{"FailedStatement", testFailedStatement},
		{"CancelledContext", testCancelled},
		{"AfterTheEnd", testAfterTheEnd},
		{"ReadYourWrites", testReadYourWrites},
		{"Numbers", testNumbers},
		{"LostUpdate", testLostUpdate},
		{"RowLocks", testRowLocks},
	}
}

// changeEverything calls every method that writes, and changes all data.
func (w *world) changeEverything(t *testing.T, ctx context.Context, tx helpdesk.Tx) {
	t.Helper()
	account, role, mailbox := w.account, w.role, w.mailbox
	account.Name, mailbox.Name = "changed", "changed"
	ok(t, tx.UpdateAccount(ctx, &account))
	_, err := tx.TakeNumber(ctx)
	ok(t, err)
	ok(t, helpdesk.Nouns().Roles.Rows(tx).Insert(ctx, &role))
	member := w.member
	member.RoleIDs, member.MailboxIDs = []int64{w.role.ID, role.ID}, nil
	ok(t, tx.Memberships().Update(ctx, &member))
	ok(t, tx.Memberships().Delete(ctx, w.member.ID))
	ok(t, tx.Memberships().Insert(ctx, &identity.Membership{UserID: w.user.ID, CreatedAt: base, UpdatedAt: base}))
	fresh := w.newMailbox("fresh")
	ok(t, tx.Mailboxes().Insert(ctx, &fresh))
	ok(t, tx.Mailboxes().Update(ctx, &mailbox))
	ok(t, tx.Mailboxes().Delete(ctx, w.empty.ID))
	ok(t, tx.SaveFetchStatus(ctx, ledger.FetchStatus{MailboxID: w.mailbox.ID}))
	ok(t, tx.SaveFetchCursor(ctx, w.mailbox.ID, "INBOX", mailserver.Cursor{UIDValidity: 8}))
	customer, fleeting := w.newCustomer("fresh"), w.newCustomer("fleeting")
	ok(t, tx.InsertCustomer(ctx, &customer))
	ok(t, tx.InsertCustomer(ctx, &fleeting))
	ok(t, tx.DeleteCustomer(ctx, fleeting.ID))
	changed := w.customer
	changed.Emails, changed.Phones, changed.Websites = nil, nil, []helpdesk.CustomerWebsite{{Website: "new"}}
	ok(t, tx.UpdateCustomer(ctx, &changed))
	c := w.conversation
	c.Status, c.CustomerEmailID = helpdesk.StatusClosed, 0
	ok(t, tx.Conversations().Update(ctx, &c))
	ok(t, tx.AddParticipants(ctx, c.ID, []string{"new"}))
	i := w.answer
	i.Body = "changed"
	ok(t, tx.Interactions().Update(ctx, &i))
	d := []sending.Delivery{w.delivery}
	d[0].State = sending.Failed
	ok(t, tx.Deliveries().Update(ctx, storage.Pointers(d)...))
	ok(t, tx.Deliveries().Insert(ctx, storage.Pointers([]sending.Delivery{w.newDelivery(w.answer)})...))
	ok(t, tx.DeleteDeliveries(ctx, w.answer.ID))
	ok(t, tx.Attachments().Delete(ctx, w.attachment.ID))
	a := w.newAttachment(w.answer, "new")
	ok(t, tx.Attachments().Insert(ctx, &a))
	m := w.mail
	m.State, m.Identity = ledger.Quarantined, nil
	ok(t, tx.UpdateInbound(ctx, &m))
	mail := w.newMail("fresh")
	ok(t, tx.InsertInbound(ctx, []*ledger.Mail{&mail}))
	next := helpdesk.Conversation{Number: 77777, MailboxID: fresh.ID, CustomerID: customer.ID, Status: helpdesk.StatusPosted, CreatedAt: base, UpdatedAt: base}
	ok(t, tx.Conversations().Insert(ctx, &next))
	question := helpdesk.Interaction{ConversationID: next.ID, Type: helpdesk.TypeNote, Status: helpdesk.StatusPosted, CreatedAt: base, UpdatedAt: base}
	ok(t, tx.Interactions().Insert(ctx, &question))
	ok(t, tx.Interactions().Delete(ctx, w.question.ID))
	ok(t, tx.DeleteConversations(ctx, []int64{w.conversation.ID}))
	ok(t, tx.Emit(ctx, storage.Event{Type: "test.done", Subject: 1, Data: []byte("{}"), Time: base}))
	ok(t, tx.Enqueue(ctx, storage.Job{Kind: w.kind(), Subject: 1, RunAt: base}))
}

// kind returns a kind of jobs that only this world's tests enqueue.
func (w *world) kind() string { return "test." + w.mark }

func (w *world) claim(t *testing.T, n int, now, lease time.Time) []storage.ClaimedJob {
	t.Helper()
	jobs, err := w.Jobs.Claim(t.Context(), map[string]int{w.kind(): n}, now, lease)
	ok(t, err)
	return jobs
}

func testRollback(t *testing.T, b Backend) {
	w := newWorld(t, b)
	before := w.content(t)
	err := w.try(t, func(ctx context.Context, tx helpdesk.Tx) error {
		w.changeEverything(t, ctx, tx)
		return errOnPurpose
	})
	if err != errOnPurpose { //nolint:errorlint // the function's error must come back as it is
		t.Errorf("got %v, want the error of the function itself", err)
	}
	same(t, "content after the rollback", before, w.content(t))
	same(t, "events after the rollback", 0, len(w.log(t)))
	same(t, "jobs after the rollback", 0, len(w.claim(t, 10, at(1), at(2))))
	// the number was given back
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		number, err := tx.TakeNumber(ctx)
		same(t, "number", w.account.NextNumber, number)
		return err
	})
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		w.changeEverything(t, ctx, tx)
		return nil
	})
	same(t, "jobs after the commit", 1, len(w.claim(t, 10, at(1), at(2))))
	same(t, "events after the commit", 1, len(w.log(t)))
}

func testRollbackOfAccount(t *testing.T, b Backend) {
	w := newWorld(t, b)
	before := w.content(t)
	err := w.try(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, tx.DeleteAccount(ctx))
		_, err := tx.Account(ctx)
		fails(t, "account in the transaction that deleted it", err, fault.NotFound)
		return errOnPurpose
	})
	same(t, "error", true, errors.Is(err, errOnPurpose))
	same(t, "content after the rollback", before, w.content(t))
}

func testPanic(t *testing.T, b Backend) {
	w := newWorld(t, b)
	before := w.content(t)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = w.try(t, func(ctx context.Context, tx helpdesk.Tx) error {
			w.changeEverything(t, ctx, tx)
			panic("on purpose")
		})
	}()
	same(t, "content after the panic", before, w.content(t)) // and the store still works
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.AddParticipants(ctx, w.conversation.ID, []string{"x"})
	})
}

// Jobs and events become visible with the commit, not before.
func testOutbox(t *testing.T, b Backend) {
	w := newAccount(t, b)
	job := storage.Job{Kind: w.kind(), AccountID: w.account.ID, Subject: 7, Payload: []byte(`{"a":"ö"}`), RunAt: base}
	event := storage.Event{Type: "conversation.created", Subject: 8, MailboxID: w.mailbox.ID, ActorID: w.user.ID, Data: []byte(`{"n":1}`), Time: at(3)}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, tx.Enqueue(ctx, job))
		return tx.Emit(ctx, event, event)
	})
	claimed := w.claim(t, 10, at(1), at(2))
	if len(claimed) != 1 || claimed[0].ID == 0 {
		t.Fatalf("claimed %+v, want one job", claimed)
	}
	claimed[0].ID = 0
	same(t, "job", storage.ClaimedJob{Job: job, Attempt: 1}, claimed[0])
	first, second := event, event
	first.Seq, second.Seq = 1, 2
	same(t, "events", []storage.Event{first, second}, w.log(t))
}

// A method that fails changes nothing, whatever the transaction does afterwards.
func testFailedStatement(t *testing.T, b Backend) {
	w := newWorld(t, b)
	before := w.content(t)
	good, bad := w.newDelivery(w.answer), w.newDelivery(w.answer)
	bad.InteractionID = nobody
	err := w.try(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.Deliveries().Insert(ctx, storage.Pointers([]sending.Delivery{good, bad})...)
	})
	fails(t, "a delivery of an absent interaction", err, fault.NotFound)
	update := []sending.Delivery{w.delivery, w.delivery}
	update[0].State, update[1].ID = sending.Bounced, nobody
	err = w.try(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.Deliveries().Update(ctx, storage.Pointers(update)...)
	})
	fails(t, "updating an absent delivery", err, fault.NotFound)
	same(t, "content", before, w.content(t))
}

func testCancelled(t *testing.T, b Backend) {
	w := newWorld(t, b)
	before := w.content(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := w.Store.InTx(ctx, w.scope, func(ctx context.Context, tx helpdesk.Tx) error {
		w.changeEverything(t, ctx, tx)
		cancel()
		return nil
	})
	if err == nil {
		t.Error("a transaction whose context ended was committed without a word")
	}
	same(t, "content", before, w.content(t))
	if err := w.Store.InTx(ctx, w.scope, func(context.Context, helpdesk.Tx) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("beginning with an ended context: %v", err)
	}
}

func testAfterTheEnd(t *testing.T, b Backend) {
	w := newWorld(t, b)
	var kept helpdesk.Tx
	w.tx(t, func(_ context.Context, tx helpdesk.Tx) error {
		kept = tx
		return nil
	})
	_, err := kept.Conversations().Get(t.Context(), w.conversation.ID)
	fails(t, "reading after the end", err, fault.Internal)
	fails(t, "writing after the end", kept.DeleteConversations(t.Context(), []int64{w.conversation.ID}), fault.Internal)
	_, err = w.in().Conversations().Get(t.Context(), w.conversation.ID)
	ok(t, err)
}

func testReadYourWrites(t *testing.T, b Backend) {
	w := newWorld(t, b)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		c := w.conversation
		c.Subject = "changed"
		ok(t, tx.Conversations().Update(ctx, &c))
		got, err := tx.Conversations().Get(ctx, c.ID)
		ok(t, err)
		same(t, "in the transaction", c, got)
		list, err := tx.Conversations().List(ctx, helpdesk.ConversationOrder{ConversationFilter: helpdesk.ConversationFilter{}, Sort: helpdesk.ByNumber}, all())
		ok(t, err)
		same(t, "list in the transaction", []helpdesk.Conversation{c}, list)
		ok(t, tx.DeleteConversations(ctx, []int64{c.ID}))
		_, err = tx.Interactions().Get(ctx, w.question.ID)
		fails(t, "deleted in the transaction", err, fault.NotFound)
		return nil
	})
}

// Numbers and events taken concurrently, partly in transactions that roll back, have neither gaps nor duplicates.
func testNumbers(t *testing.T, b Backend) {
	const workers, each = 8, 25
	w := newAccount(t, b)
	var mu sync.Mutex
	var numbers []int64
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for n := range each {
				var number int64
				giveUp := (worker+n)%5 == 0
				err := w.Store.InTx(t.Context(), w.scope, func(ctx context.Context, tx helpdesk.Tx) error {
					var err error
					if number, err = tx.TakeNumber(ctx); err != nil {
						return err
					}
					if err := tx.Emit(ctx, storage.Event{Type: "test.number", Subject: number, Data: []byte("{}"), Time: base}); err != nil {
						return err
					}
					if giveUp {
						return errOnPurpose
					}
					return nil
				})
				switch {
				case giveUp && !errors.Is(err, errOnPurpose), !giveUp && err != nil:
					t.Errorf("transaction: %v", err)
				case !giveUp:
					mu.Lock()
					numbers = append(numbers, number)
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	slices.Sort(numbers)
	want := make([]int64, len(numbers))
	for i := range want {
		want[i] = int64(i + 1)
	}
	same(t, "numbers", want, numbers)
	events := w.log(t)
	same(t, "number of events", len(numbers), len(events))
	for i, e := range events {
		if e.Seq != int64(i+1) {
			t.Fatalf("event %d has Seq %d", i+1, e.Seq)
		}
	}
}

// ConversationForUpdate makes transactions that read and then write wait for each other.
func testLostUpdate(t *testing.T, b Backend) {
	const workers, each = 4, 10
	w := newWorld(t, b)
	start := w.conversation.UserID
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for range each {
				err := w.Store.InTx(t.Context(), w.scope, func(ctx context.Context, tx helpdesk.Tx) error {
					c, err := tx.Conversations().Lock(ctx, w.conversation.ID)
					if err != nil {
						return err
					}
					c.UserID++ // users are not looked up
					return tx.Conversations().Update(ctx, &c)
				})
				if err != nil {
					t.Errorf("transaction: %v", err)
				}
			}
		})
	}
	group.Wait()
	c, err := w.in().Conversations().Get(t.Context(), w.conversation.ID)
	ok(t, err)
	same(t, "count", start+workers*each, c.UserID)
}
