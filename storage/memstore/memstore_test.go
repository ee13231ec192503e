package memstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/storage/storagetest"
)

func open(*testing.T) storagetest.Backend {
	s := memstore.New()
	return storagetest.Backend{Store: s, Jobs: s, Events: s, KB: s.KB()}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, open)
}

// used returns a new store whose ids do not begin at 1.
func used(t *testing.T) storagetest.Backend {
	b := open(t)
	undone := errors.New("undone")
	err := b.Store.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error {
		for n := range 7 {
			a := identity.Account{Name: "Undone"}
			u := identity.User{EmailKey: fmt.Sprint(n)}
			if err := errors.Join(tx.InsertAccount(ctx, &a), tx.InsertUser(ctx, &u)); err != nil {
				return err
			}
			in := tx.Within(helpdesk.Scope{AccountID: a.ID})
			m := helpdesk.Mailbox{InternalLocal: fmt.Sprint(n)}
			c := helpdesk.Customer{Emails: []helpdesk.CustomerEmail{{Key: fmt.Sprint(n)}}}
			err := errors.Join(in.Mailboxes().Insert(ctx, &m), in.InsertCustomer(ctx, &c), in.Enqueue(ctx, storage.Job{Kind: "a"}),
				helpdesk.Nouns().Roles.Rows(in).Insert(ctx, &identity.Role{}), in.InsertInbound(ctx, []*ledger.Mail{{MailboxID: m.ID}}),
				in.Conversations().Insert(ctx, &helpdesk.Conversation{MailboxID: m.ID, CustomerID: c.ID}))
			if err != nil {
				return err
			}
		}
		return undone
	})
	if !errors.Is(err, undone) {
		t.Fatal(err)
	}
	return b
}

// Two stores with the same operations compare as equal.
func TestCompare(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			storagetest.Compare(t, seed, 400, open(t), used(t))
		})
	}
}

// Used inside its own transaction, the store returns an error instead of waiting forever.
func TestUseInsideTransaction(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	nothing := func(context.Context, helpdesk.Tx) error { return nil }
	err := s.InTx(t.Context(), helpdesk.Scope{}, func(ctx context.Context, _ helpdesk.Tx) error {
		_, read := s.Within(helpdesk.Scope{AccountID: 1}).Account(ctx)
		_, found := s.User(ctx, 1)
		_, claimed := s.Claim(ctx, map[string]int{"a": 1}, time.Now(), time.Now())
		for what, err := range map[string]error{
			"InTx": s.InTx(ctx, helpdesk.Scope{}, nothing), "Within": read, "Directory": found, "Claim": claimed,
			"Enqueue": s.InSystemTx(ctx, func(context.Context, helpdesk.SystemTx) error { return nil }),
		} {
			if !fault.Is(err, fault.Internal) {
				t.Errorf("%s: got %v, want Internal", what, err)
			}
		}
		// another store may be used
		return memstore.New().InTx(ctx, helpdesk.Scope{}, nothing)
	})
	if err != nil {
		t.Error(err)
	}
}

// The changes of a failed method are undone at once; the transaction may continue.
func TestGoingOnAfterAFailure(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	err := s.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error {
		a := identity.Account{NextNumber: 1}
		if err := tx.InsertAccount(ctx, &a); err != nil {
			return err
		}
		in := tx.Within(helpdesk.Scope{AccountID: a.ID})
		m := helpdesk.Mailbox{InternalLocal: "a"}
		if err := in.Mailboxes().Insert(ctx, &m); err != nil {
			return err
		}
		mails := []*ledger.Mail{{MailboxID: m.ID}, {MailboxID: 99}}
		if err := in.InsertInbound(ctx, mails); !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v, want NotFound", err)
		}
		got, err := in.InboundMails(ctx, ledger.Filter{}, storage.Seek{Limit: 9})
		if len(got) != 0 {
			t.Errorf("half of it stayed: %v", got)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A commit wakes the workers; a rollback does not.
func TestWake(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	enqueue := func(end error) {
		_ = s.InTx(t.Context(), helpdesk.Scope{}, func(ctx context.Context, tx helpdesk.Tx) error {
			return errors.Join(tx.Enqueue(ctx, storage.Job{Kind: "a"}), end)
		})
	}
	woken := func() bool {
		select {
		case <-s.Wake():
			return true
		default:
			return false
		}
	}
	enqueue(errors.New("undone"))
	if woken() {
		t.Error("woken by a rollback")
	}
	enqueue(nil)
	enqueue(nil) // nobody receives: it must not block
	if !woken() || woken() {
		t.Error("want one value in the channel")
	}
}

func ExampleNew() {
	ctx := context.Background()
	store := memstore.New()
	account := identity.Account{Name: "Navy", NextNumber: 1}
	err := store.InSystemTx(ctx, func(ctx context.Context, tx helpdesk.SystemTx) error {
		return tx.InsertAccount(ctx, &account)
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	scope := helpdesk.Scope{AccountID: account.ID}
	_ = store.InTx(ctx, scope, func(ctx context.Context, tx helpdesk.Tx) error {
		number, err := tx.TakeNumber(ctx)
		fmt.Println("took", number)
		return errors.Join(err, errors.New("something went wrong"))
	})
	account, err = store.Within(scope).Account(ctx)
	fmt.Println(account.Name, account.NextNumber, err)
	// Output:
	// took 1
	// Navy 1 <nil>
}
