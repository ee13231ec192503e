package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memstore"
)

var errUndone = errors.New("undone")

// account creates an account and returns its scope.
func account(t *testing.T, store helpdesk.Store) helpdesk.Scope {
	t.Helper()
	a := identity.Account{Name: "Navy", NextNumber: 1}
	err := store.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error { return tx.InsertAccount(ctx, &a) })
	if err != nil {
		t.Fatal(err)
	}
	return helpdesk.Scope{AccountID: a.ID}
}

// write writes to both nouns in maps, and to one in memstore.
func write(ctx context.Context, tx helpdesk.Tx, n int) error {
	return errors.Join(
		helpdesk.Nouns().Domains.Rows(tx).Insert(ctx, &sending.Domain{Name: fmt.Sprint(n)}),
		helpdesk.Nouns().Signatures.Rows(tx).Insert(ctx, &helpdesk.Signature{UserID: int64(n), Body: "Grace"}),
		helpdesk.Nouns().Tags.Rows(tx).Insert(ctx, &helpdesk.Tag{Key: fmt.Sprint(n)}),
	)
}

// written returns the rows that write has written.
func written(ctx context.Context, r helpdesk.Reader) (domains, tags int, err error) {
	everything := storage.Seek{Limit: storage.NoLimit}
	d, errD := helpdesk.Nouns().Domains.Reader(r).List(ctx, storage.NoFilter{}, everything)
	g, errG := helpdesk.Nouns().Tags.Reader(r).List(ctx, storage.NoFilter{}, everything)
	return len(d), len(g), errors.Join(errD, errG)
}

// However a transaction comes to nothing, it leaves nothing behind, and the store goes on.
func TestNothingLeft(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(cancel func()) error{
		"error":   func(func()) error { return errUndone },
		"panic":   func(func()) error { panic("on purpose") },
		"killed":  func(func()) error { runtime.Goexit(); return nil },
		"timeout": func(cancel func()) error { cancel(); return nil }, // between the function and the commit
	} {
		for kind, begin := range map[string]func(*mapStore, context.Context, helpdesk.Scope, func(context.Context, helpdesk.Tx) error) error{
			"transaction":        (*mapStore).InTx,
			"system transaction": inSystem,
			"unit":               inUnit,
		} {
			t.Run(name+" in a "+kind, func(t *testing.T) {
				t.Parallel()
				store := newMapStore()
				scope := account(t, store)
				before := store.rows
				var gone sync.WaitGroup
				gone.Go(func() {
					defer func() { _ = recover() }()
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					if err := begin(store, ctx, scope, func(ctx context.Context, tx helpdesk.Tx) error {
						return errors.Join(write(ctx, tx, 1), end(cancel))
					}); err == nil {
						t.Error("it was committed")
					}
				})
				gone.Wait()
				if diff := cmp.Diff(before, store.rows, cmp.AllowUnexported(state{}, table[sending.Domain]{}, table[storage.Record]{})); diff != "" {
					t.Error(diff)
				}
				has(t, store, scope, 0)
				if err := begin(store, t.Context(), scope, func(ctx context.Context, tx helpdesk.Tx) error { return write(ctx, tx, 1) }); err != nil {
					t.Fatal(err)
				}
				has(t, store, scope, 1)
			})
		}
	}
}

func inSystem(s *mapStore, ctx context.Context, scope helpdesk.Scope, fn func(context.Context, helpdesk.Tx) error) error {
	return s.InSystemTx(ctx, func(ctx context.Context, tx helpdesk.SystemTx) error { return fn(ctx, tx.Within(scope)) })
}

func inUnit(s *mapStore, ctx context.Context, scope helpdesk.Scope, fn func(context.Context, helpdesk.Tx) error) error {
	return storage.Together(ctx, s, nil, func(ctx context.Context) error { return s.InTx(ctx, scope, fn) })
}

func has(t *testing.T, store helpdesk.Store, scope helpdesk.Scope, want int) {
	t.Helper()
	domains, tags, err := written(t.Context(), store.Within(scope))
	if err != nil || domains != want || tags != want {
		t.Errorf("%d domains, %d tags, %v; want %d of each", domains, tags, err, want)
	}
}

// Changes in maps are never visible without those in memstore, or vice versa.
func TestSeenTogether(t *testing.T) {
	t.Parallel()
	store := newMapStore()
	scope := account(t, store)
	const last = 200
	var group sync.WaitGroup
	group.Go(func() {
		for n := range last {
			for _, end := range []error{errUndone, nil} {
				err := store.InTx(t.Context(), scope, func(ctx context.Context, tx helpdesk.Tx) error {
					return errors.Join(write(ctx, tx, n+1), end)
				})
				if !errors.Is(err, end) {
					t.Error(err)
				}
			}
		}
	})
	group.Go(func() { // each call has its own snapshot: the second may be newer, never older
		for seen := 0; seen < last; {
			domains, tags, err := written(t.Context(), store.Within(scope))
			if err != nil || tags < domains || domains < seen {
				t.Errorf("%d tags after %d domains after %d, %v", tags, domains, seen, err)
				return
			}
			seen = tags
		}
	})
	group.Go(func() {
		for domains := 0; domains < last; {
			if err := store.InSnapshot(t.Context(), scope, func(ctx context.Context, r helpdesk.Reader) error {
				var tags int
				var err error
				if domains, tags, err = written(ctx, r); domains != tags {
					t.Errorf("a snapshot has %d domains, %d tags", domains, tags)
				}
				return err
			}); err != nil {
				t.Error(err)
				return
			}
		}
	})
	group.Wait()
}

// Memstore publishes events before the changes in maps. Readers and the next transaction wait for them.
func TestToldEarly(t *testing.T) {
	t.Parallel()
	store := newMapStore()
	scope := account(t, store)
	seen := make(chan int, 2)
	read := func(ctx context.Context, r helpdesk.Reader) error {
		domains, _, err := written(ctx, r)
		seen <- domains
		return err
	}
	var group sync.WaitGroup
	defer store.NotifyEvents(func(int64) {
		group.Go(func() {
			if err := read(t.Context(), store.Within(scope)); err != nil {
				t.Error(err)
			}
		})
		group.Go(func() {
			if err := store.InTx(t.Context(), scope, func(ctx context.Context, tx helpdesk.Tx) error { return read(ctx, tx.Reader()) }); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(20 * time.Millisecond) // they have read by now, unless they wait
	})()
	err := store.InTx(t.Context(), scope, func(ctx context.Context, tx helpdesk.Tx) error {
		return errors.Join(write(ctx, tx, 1), tx.Emit(ctx, storage.Event{Type: "test.done", Data: []byte("{}")}))
	})
	if err != nil {
		t.Fatal(err)
	}
	group.Wait()
	if first, second := <-seen, <-seen; first != 1 || second != 1 {
		t.Errorf("%d and %d domains, want 1", first, second)
	}
}

// A unit of work treats rows in maps like rows in memstore, whatever fails when.
func TestUnits(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		model, subject := memstore.New(), newMapStore()
		want := units(t, seed, model, model, model.KB())
		got := units(t, seed, subject, subject, subject.KB())
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d (-memstore +mapStore):\n%s", seed, diff)
		}
	}
}

// units runs random units of work and returns the visible rows.
func units(t *testing.T, seed uint64, store helpdesk.Store, begin storage.Units, library kb.Store) (log []string) {
	t.Helper()
	random, scope, n := rand.New(rand.NewPCG(seed, 1)), account(t, store), 0
	note := func(what string, ctx context.Context, err error) {
		domains, tags, errRead := written(ctx, store.Within(scope))
		log = append(log, fmt.Sprint(what, ": ", err, ", then ", domains, " ", tags, " ", errRead))
	}
	sometimes := func() error {
		if random.IntN(3) == 0 {
			return errUndone
		}
		return nil
	}
	part := func(ctx context.Context) error {
		if random.IntN(4) == 0 {
			return library.InTx(ctx, kb.Scope{AccountID: scope.AccountID}, func(context.Context, kb.Tx) error { return sometimes() })
		}
		return store.InTx(ctx, scope, func(ctx context.Context, tx helpdesk.Tx) error {
			n++
			if random.IntN(9) == 0 { // the store must not be used here, which changes nothing
				err := store.InTx(ctx, scope, func(context.Context, helpdesk.Tx) error { return nil })
				note("inside", ctx, err)
			}
			return errors.Join(write(ctx, tx, n), sometimes())
		})
	}
	parts := func(ctx context.Context) error {
		for range random.IntN(3) {
			err := part(ctx)
			note("part", ctx, err)
		}
		return sometimes()
	}
	for range 5 {
		ctx, unit := begin.Begin(t.Context(), parts)
		_ = parts(ctx)
		switch random.IntN(3) {
		case 0:
			note("commit", ctx, unit.Commit(ctx, nil))
		case 1:
			note("commit with more", ctx, unit.Commit(t.Context(), parts))
		}
		unit.Rollback()
		note("end", t.Context(), part(ctx)) // a unit that has ended has no effect
	}
	return log
}

// The rows of a deleted account are removed, those of others are not.
func TestDeletedAccount(t *testing.T) {
	t.Parallel()
	store := newMapStore()
	first, second := account(t, store), account(t, store)
	for _, scope := range []helpdesk.Scope{first, second} {
		if err := store.InTx(t.Context(), scope, func(ctx context.Context, tx helpdesk.Tx) error { return write(ctx, tx, 1) }); err != nil {
			t.Fatal(err)
		}
	}
	err := store.InTx(t.Context(), first, func(ctx context.Context, tx helpdesk.Tx) error { return tx.DeleteAccount(ctx) })
	if err != nil {
		t.Fatal(err)
	}
	for noun, counts := range map[string][2]int{
		"domains":    {len(store.rows.domains.rows[first.AccountID]), len(store.rows.domains.rows[second.AccountID])},
		"signatures": {len(store.rows.signatures.rows[first.AccountID]), len(store.rows.signatures.rows[second.AccountID])},
	} {
		if counts != [2]int{0, 1} {
			t.Errorf("%s of the two accounts: %d", noun, counts)
		}
	}
}

// A snapshot, like a transaction, ends with its function; and inside a transaction the store itself is not to be used,
// because it does not have the transaction's rows.
func TestAfterTheEnd(t *testing.T) {
	t.Parallel()
	store := newMapStore()
	scope := account(t, store)
	var kept helpdesk.Reader
	err := store.InSnapshot(t.Context(), scope, func(_ context.Context, r helpdesk.Reader) error {
		kept = r
		return nil
	})
	_, late := helpdesk.Nouns().Signatures.Reader(kept).Get(t.Context(), 1)
	var inside error
	err = errors.Join(err, store.InTx(t.Context(), scope, func(ctx context.Context, _ helpdesk.Tx) error {
		_, inside = helpdesk.Nouns().Signatures.Reader(store.Within(scope)).Get(ctx, 1)
		return nil
	}))
	if err != nil || !fault.Is(late, fault.Internal) || !fault.Is(inside, fault.Internal) {
		t.Errorf("%v, %v, %v; want two Internal faults", err, late, inside)
	}
}

// No noun of this store has counters that Update keeps, or is unique beyond its account. Those of another noun would work.
func TestDeclaration(t *testing.T) {
	t.Parallel()
	var rowsOf table[sending.Domain]
	counted := noun[sending.Domain, storage.NoFilter]{
		Noun: storage.Noun[sending.Domain]{
			Name: "domain",
			ID:   func(d *sending.Domain) *int64 { return &d.ID },
			Kept: func(d, old *sending.Domain) { d.Selector = old.Selector },
			Unique: []storage.Unique[sending.Domain]{
				{Code: "everywhere", Fields: func(d *sending.Domain) []any { return []any{&d.Name} }, Everywhere: true},
			},
		},
		table: func(*state) *table[sending.Domain] { return &rowsOf },
	}
	ctx, own := t.Context(), &session{rows: &state{}}
	in := func(account int64) storage.Rows[sending.Domain, storage.NoFilter] {
		return stored[sending.Domain, storage.NoFilter]{
			rows[sending.Domain, storage.NoFilter]{&counted, own, account}, own, func(context.Context) error { return nil },
		}
	}
	d := sending.Domain{Name: "a", Selector: "old"}
	if err := in(1).Insert(ctx, &d); err != nil {
		t.Fatal(err)
	}
	if err := in(1).Update(ctx, &sending.Domain{ID: d.ID, Name: "b", Selector: "new"}); err != nil {
		t.Fatal(err)
	}
	got, err := in(1).Get(ctx, d.ID)
	if diff := cmp.Diff(sending.Domain{ID: d.ID, Name: "b", Selector: "old"}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if err := in(2).Insert(ctx, &sending.Domain{Name: "b"}); !fault.Is(err, fault.Conflict) {
		t.Errorf("got %v, want a Conflict fault", err)
	}
}
