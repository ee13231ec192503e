package bunstore_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/testenv"
)

// heard counts the notifications about the events of each account.
type heard struct {
	mu       sync.Mutex
	accounts map[int64]int
}

func (h *heard) hear(account int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if account != 0 {
		h.accounts[account]++
	}
}

func (h *heard) times(account int64) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.accounts[account]
}

// Jobs and events that a process on PostgreSQL has committed reach the others, also when it closes its database at once, and
// when the transaction is its caller's. What was rolled back is not told, and a process does not hear itself.
func TestAnnouncements(t *testing.T) {
	t.Parallel()
	dsn := testenv.Postgres(t)
	db, other := open(t, dsn, bunstore.Config{}), open(t, dsn, bunstore.Config{})
	accounts := make([]int64, 4)
	for n := range accounts {
		account := identity.Account{Name: "Acme"}
		err := other.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error { return tx.InsertAccount(ctx, &account) })
		if err != nil {
			t.Fatal(err)
		}
		accounts[n] = account.ID
	}
	told := heard{accounts: map[int64]int{}}
	db.NotifyEvents(told.hear)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { _ = db.Run(ctx) }()
	woken(t, db) // it listens now
	db.Woken()

	write := func(store helpdesk.Store, account int64, fail error) {
		t.Helper()
		err := store.InTx(ctx, helpdesk.Scope{AccountID: account}, func(ctx context.Context, tx helpdesk.Tx) error {
			return errors.Join(
				tx.Enqueue(ctx, storage.Job{Kind: "some kind", AccountID: account}),
				tx.Emit(ctx, storage.Event{Type: "some.type", Data: []byte("{}"), Time: time.Now()}),
				fail,
			)
		})
		if !errors.Is(err, fail) {
			t.Fatal(err)
		}
	}
	hears := func(what string, account int64) {
		t.Helper()
		testenv.Eventually(t, what, func() bool { return told.times(account) > 0 })
		woken(t, db)
		if kinds, all := db.Woken(); all || cmp.Diff([]string{"some kind"}, kinds) != "" {
			t.Errorf("%s: woken for %v, any %v", what, kinds, all)
		}
	}
	write(other, accounts[3], errors.New("undone"))
	write(other, accounts[0], nil)
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	hears("the events of a process that has ended", accounts[0])

	tx, err := bun.NewDB(plainPostgres(t, dsn), pgdialect.New()).BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	write(open(t, dsn, bunstore.Config{}).Bind(tx), accounts[1], nil)
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	hears("the events of a caller's transaction", accounts[1])

	write(db, accounts[2], nil)
	hears("its own events", accounts[2])
	bunstore.Announced(db)
	more := open(t, dsn, bunstore.Config{})
	write(more, accounts[1], nil)
	testenv.Eventually(t, "events after its own", func() bool { return told.times(accounts[1]) == 2 })
	if n := told.times(accounts[2]); n != 1 {
		t.Errorf("it was told of its own events %d times", n)
	}
	if n := told.times(accounts[3]); n != 0 {
		t.Errorf("it was told %d times of events that do not exist", n)
	}
}
