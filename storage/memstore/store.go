// Package memstore stores the help desk's data in memory. One [Store] implements helpdesk.Store, storage.Jobs,
// storage.EventLog and storage.Idempotency, for the tests of applications that embed the help desk. It is also the model
// that the SQL stores are compared with (see storagetest.Compare). Its method KB returns the knowledge base's store. All
// data is lost when the process ends.
//
// A transaction has the whole store to itself: others wait until it ends. Inside the function given to InTx use only the
// transaction. Calling the store with that function's context is an Internal fault; with another context the call waits
// forever, as it would with a single SQLite connection.
//
// Lists walk through all rows of an account, which is fine for thousands of rows, but not for millions.
package memstore

import (
	"context"
	"slices"
	"sync"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/internal/notify"
)

// Store holds the data of all accounts, the job queue and the event logs. Create it with [New]. It is safe for concurrent
// use.
type Store struct{ everything }

// everything is what a [Store] does. The interface hides the generic tables: the compiler repeats all methods of a table in
// every package that sees its type, which takes seconds.
type everything interface {
	helpdesk.Store
	storage.Jobs
	storage.EventLog
	storage.EventNotifier
	storage.Idempotency
	storage.BlobRows
	storage.Marks
	storage.Vault
	storage.Units
	KB() kb.Store // the knowledge base's, with the same data
}

// New returns an empty store.
//
//go:noinline // inlining would reveal the tables
func New() *Store {
	s := &store{db: newData(), wake: make(chan struct{}, 1)}
	s.directory = directory{s}
	return &Store{s}
}

type store struct {
	directory
	mu       sync.RWMutex
	db       *data
	wake     chan struct{}
	watchers notify.Watchers
}

// Within returns the readers of a scope. Each call reads its own snapshot.
func (s *store) Within(scope helpdesk.Scope) helpdesk.Reader {
	return reader{s, cloneScope(scope)}
}

// InTx runs fn in one transaction, once. An error of fn is returned unchanged and a panic passes through; both roll back.
func (s *store) InTx(ctx context.Context, scope helpdesk.Scope, fn func(ctx context.Context, tx helpdesk.Tx) error) error {
	return s.transact(ctx, func(ctx context.Context, open *session) error {
		return fn(ctx, newTx(open, scope))
	})
}

// InSystemTx is InTx for data that belongs to no account yet.
func (s *store) InSystemTx(ctx context.Context, fn func(ctx context.Context, tx helpdesk.SystemTx) error) error {
	return s.transact(ctx, func(ctx context.Context, open *session) error {
		return fn(ctx, systemTx{directory{open}, open})
	})
}

// inside marks the contexts of a store's running transactions.
type inside struct{ *store }

func (s *store) transact(ctx context.Context, fn func(context.Context, *session) error) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	if u := s.unit(ctx); u != nil {
		return u.part(ctx, fn)
	}
	grown, err := s.attempt(ctx, fn)
	s.notifyWatchers(grown)
	return err
}

// attempt runs fn in a transaction of its own and returns the accounts whose logs have grown.
func (s *store) attempt(ctx context.Context, fn func(context.Context, *session) error) (grown []int64, err error) {
	s.mu.Lock()
	open := &session{db: s.db}
	committed := false
	s.db.recording = true
	defer func() { // also when fn panics
		open.close()
		if !committed {
			s.db.rollback(0)
		}
		grown = s.leave()
	}()
	if err := fn(context.WithValue(ctx, inside{s}, true), open); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	committed = true
	return nil, nil
}

// leave commits the changes of a transaction, releases the lock and returns the accounts whose logs have grown.
func (s *store) leave() []int64 {
	grown, enqueued := s.db.emitted, s.db.enqueued
	s.db.undo, s.db.recording, s.db.emitted, s.db.enqueued = nil, false, nil, false
	s.mu.Unlock()
	if enqueued {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
	return grown
}

// notifyWatchers notifies the watchers of the accounts' logs, once others can read again.
func (s *store) notifyWatchers(accounts []int64) {
	for _, account := range accounts {
		s.watchers.Notify(account)
	}
}

func (s *store) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if ctx.Value(inside{s}) != nil {
		return fault.New(fault.Internal, "The store was used inside its own transaction.")
	}
	return nil
}

// source gives access to the data for one call.
type source interface {
	begin(ctx context.Context) (db *data, end func(), err error)
}

func (s *store) begin(ctx context.Context) (*data, func(), error) {
	if err := s.usable(ctx); err != nil {
		return nil, nil, err
	}
	if u := s.unit(ctx); u != nil && u.open != nil {
		return u.open.begin(ctx)
	}
	s.mu.RLock()
	return s.db, s.mu.RUnlock, nil
}

// session is the data of a running transaction, which holds the store's lock.
type session struct {
	mu    sync.Mutex
	db    *data
	ended bool
}

func (o *session) begin(ctx context.Context) (*data, func(), error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	o.mu.Lock()
	if o.ended {
		o.mu.Unlock()
		return nil, nil, fault.New(fault.Internal, "The transaction has ended.")
	}
	return o.db, o.mu.Unlock, nil
}

func (o *session) close() {
	o.mu.Lock()
	o.ended = true
	o.mu.Unlock()
}

// query runs fn on the data of src.
func query[T any](ctx context.Context, src source, fn func(db *data) (T, error)) (T, error) {
	db, end, err := src.begin(ctx)
	if err != nil {
		var none T
		return none, err
	}
	defer end()
	return fn(db)
}

// reader reads within a scope, from the store or in a transaction.
type reader struct {
	src   source
	scope helpdesk.Scope
}

// tx reads and writes within a scope.
type tx struct {
	reader
	outbox
}

func newTx(open *session, scope helpdesk.Scope) tx {
	return tx{reader{open, cloneScope(scope)}, outbox{open, scope.AccountID}}
}

// write runs fn in the transaction; a failure leaves nothing behind. The account must exist.
func (t tx) write(ctx context.Context, fn func(db *data) error) error {
	return inAccount(ctx, t.src, t.scope.AccountID, fn)
}

// inAccount is change for an account that must exist.
func inAccount(ctx context.Context, src source, account int64, fn func(db *data) error) error {
	return change(ctx, src, func(db *data) error {
		if _, err := db.accounts.get(global, account); err != nil {
			return err
		}
		return fn(db)
	})
}

func change(ctx context.Context, src source, fn func(db *data) error) error {
	db, end, err := src.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	mark := len(db.undo)
	if err := fn(db); err != nil {
		db.rollback(mark)
		return err
	}
	return nil
}

func cloneScope(s helpdesk.Scope) helpdesk.Scope {
	s.Mailboxes = slices.Clone(s.Mailboxes)
	return s
}
