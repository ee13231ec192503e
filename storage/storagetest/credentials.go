package storagetest

import (
	"context"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage/fault"
)

// credentials are what users sign in with, found by who holds them: identities or passkeys.
type credentials[T any] struct {
	noun           string
	of             func(s helpdesk.Store, ctx context.Context, userID int64) ([]T, error)  //nolint:revive // as method expressions have it
	find           func(ctx context.Context, of T) (T, error)                              // by what is unique
	insert, update func(tx helpdesk.SystemTx, ctx context.Context, one *T) error           //nolint:revive // likewise
	remove         func(tx helpdesk.SystemTx, ctx context.Context, userID, id int64) error //nolint:revive // likewise
	ids            func(one *T) (id, userID *int64)

	first, others T            // of w's user and of another's, which are there
	second        T            // of w's user
	unknown       []T          // which are not found
	alike         T            // of the other's user, as first
	unique        string       // code of the fault for it
	moved         func(one *T) // changes what Update sets
	ignored       func(one *T) // and what it does not
}

// test keeps them apart, and has them go with their user.
func (c credentials[T]) test(t *testing.T, b Backend, w *world) {
	t.Helper()
	system := func(fn func(ctx context.Context, tx helpdesk.SystemTx) error) error {
		return b.Store.InSystemTx(t.Context(), fn)
	}
	insert := func(one *T) error {
		return system(func(ctx context.Context, tx helpdesk.SystemTx) error { return c.insert(tx, ctx, one) })
	}
	update := func(one T) error {
		return system(func(ctx context.Context, tx helpdesk.SystemTx) error { return c.update(tx, ctx, &one) })
	}
	remove := func(user, id int64) error {
		return system(func(ctx context.Context, tx helpdesk.SystemTx) error { return c.remove(tx, ctx, user, id) })
	}
	list := func(want ...T) {
		t.Helper()
		got, err := c.of(b.Store, t.Context(), w.user.ID)
		ok(t, err)
		same(t, "of the user", append([]T{}, want...), got)
	}
	_, strangersID := c.ids(&c.others)
	stranger := *strangersID

	ok(t, insert(&c.second))
	list(c.first, c.second)
	for _, want := range []T{c.first, c.second, c.others} {
		got, err := c.find(t.Context(), want)
		ok(t, err)
		same(t, "found", want, got)
	}
	for _, one := range c.unknown {
		_, err := c.find(t.Context(), one)
		fails(t, "an unknown "+c.noun, err, fault.NotFound)
	}
	conflicts(t, "another's "+c.noun, insert(&c.alike), c.unique)
	orphan := c.second
	c.ignored(&orphan) // not as one that is there
	_, user := c.ids(&orphan)
	*user = nobody
	fails(t, "of nobody", insert(&orphan), fault.NotFound)

	c.moved(&c.first)
	changed := c.first
	c.ignored(&changed)
	ok(t, update(changed))
	list(c.first, c.second)
	_, user = c.ids(&changed)
	*user = stranger
	fails(t, "updating another's", update(changed), fault.NotFound)

	id, _ := c.ids(&c.second)
	fails(t, "deleting another's", remove(stranger, *id), fault.NotFound)
	ok(t, remove(w.user.ID, *id))
	fails(t, "deleting again", remove(w.user.ID, *id), fault.NotFound)
	list(c.first)

	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Memberships().Delete(ctx, w.member.ID) })
	ok(t, system(func(ctx context.Context, tx helpdesk.SystemTx) error { return tx.DeleteUser(ctx, w.user.ID) }))
	list()
}
