package main

import (
	"context"
	"sync"

	"github.com/helpwright/helpwright/storage/fault"
)

// draft is the state as changed by a running transaction, parallel to the changes in memstore.
type draft struct {
	store  *mapStore
	rows   state
	from   int  // the version with which it began
	sealed bool // mu is locked
}

// begin copies the committed rows. It is called inside memstore's transaction, so that no other transaction can commit
// before this one has ended.
func (d *draft) begin() {
	d.end(false) // if a transaction runs again
	d.store.mu.RLock()
	defer d.store.mu.RUnlock()
	d.rows, d.from = d.store.rows, d.store.rows.version
}

// seal is called last before memstore commits. If rows have changed, readers wait from here on until the changes are
// published.
func (d *draft) seal() {
	if d.rows.version != d.from {
		d.store.mu.Lock()
		d.sealed = true
	}
}

// end publishes the changes if memstore has committed. Otherwise they are dropped; nobody has seen them.
func (d *draft) end(committed bool) {
	if !d.sealed {
		return
	}
	if committed {
		d.store.rows = d.rows
	}
	d.sealed = false
	d.store.mu.Unlock()
}

// half is this store's part in one call of memstore's InTx, InSystemTx or KB().InTx.
type half struct {
	draft  *draft
	unit   *unit // nil if the call is a transaction of its own
	before state
	ran    bool // memstore has called the function
	ok     bool
}

func (s *mapStore) half(ctx context.Context) *half {
	if u := s.unit(ctx); u != nil {
		return &half{draft: &u.draft, unit: u}
	}
	return &half{draft: &draft{store: s}}
}

// inside marks the contexts of a store's running transactions.
type inside struct{ *mapStore }

// run runs a transaction's function inside memstore's transaction.
func (h *half) run(ctx context.Context, fn func(ctx context.Context, own *session) error) error {
	if h.unit == nil {
		h.draft.begin()
	}
	h.before, h.ran = h.draft.rows, true
	own := &session{rows: &h.draft.rows}
	defer own.close()
	if err := fn(context.WithValue(ctx, inside{h.draft.store}, true), own); err != nil {
		return err
	}
	if h.unit == nil {
		h.draft.seal()
	}
	return nil
}

// outcome records how memstore's transaction ended.
func (h *half) outcome(err error) error {
	h.ok = err == nil
	return err
}

// end commits or rolls back this store's rows as memstore has done with its own.
func (h *half) end() {
	switch {
	case h.unit == nil:
		h.draft.end(h.ok)
	case !h.ran:
		// nothing has changed
	case h.ok:
		h.unit.parts++
	case h.unit.parts == 0:
		h.unit.open = false // memstore has rolled back all of the unit
	default:
		h.draft.rows = h.before
	}
}

// session gives the methods of a Tx, or of a snapshot's reader, access to rows until it is closed. Using a Tx afterwards
// returns a fault, rather than rows that may never be committed.
type session struct {
	mu    sync.Mutex // a Tx may be used from several goroutines
	rows  *state
	ended bool
}

func (o *session) read(ctx context.Context) (state, error) {
	if err := ctx.Err(); err != nil {
		return state{}, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.usable(); err != nil {
		return state{}, err
	}
	return *o.rows, nil
}

// edit changes the rows by fn, or not at all if fn fails.
func (o *session) edit(fn func(next *state) error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.usable(); err != nil {
		return err
	}
	next := *o.rows
	next.version++
	if err := fn(&next); err != nil {
		return err
	}
	*o.rows = next
	return nil
}

func (o *session) usable() error {
	if o.ended {
		return fault.New(fault.Internal, "The transaction has ended.")
	}
	return nil
}

func (o *session) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
}
