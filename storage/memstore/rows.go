package memstore

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// noun declares how the rows of a noun are stored: S is the domain's scope, T the row, F the list filter.
type noun[S, T, F any] struct {
	storage.Noun[T]
	of func(db *data) *table[T]
	// sees reports whether a row is in the scope; nil: all of the account are.
	sees func(db *data, s S, t *T) bool
	// match reports whether a row matches a filter; nil: there is no filter.
	match func(db *data, s S, f F, t *T) bool
	// brief clears the fields that a filter leaves out; nil: none.
	brief func(f F, t *T)
	// key returns the sort key of a list, before the id; nil: by id.
	key func(f F, t *T) int64
	// refers refuses a row that refers to a missing row, or that breaks a rule beyond those of the noun.
	refers func(db *data, s S, t *T) error
	// strip clears the fields that are not stored.
	strip func(t *T)
	// show adds to a copy of a row the fields that come from other rows; nil: none.
	show func(db *data, t *T)
	// inserted applies the side effects of a new row.
	inserted func(db *data, s S, t *T)
	// remove deletes what depends on a row, or returns why the row must stay.
	remove func(db *data, s S, id int64) error
}

// rows implements [storage.RowReader].
type rows[S, T, F any] struct {
	src     source
	account int64
	site    int64 // of the rows, if they are in a site
	scope   S
	noun    *noun[S, T, F]
}

// stored implements [storage.Rows].
type stored[S, T, F any] struct{ rows[S, T, F] }

func rowsOf[S, T, F any](src source, account int64, scope S, n *noun[S, T, F]) storage.RowReader[T, F] {
	return rows[S, T, F]{src, account, 0, scope, n}
}

func storedOf[S, T, F any](src source, account int64, scope S, n *noun[S, T, F]) storage.Rows[T, F] {
	return stored[S, T, F]{rows[S, T, F]{src, account, 0, scope, n}}
}

// get returns the stored row, not a copy.
func (n *noun[S, T, F]) get(db *data, account int64, s S, id int64) (*T, error) {
	t, err := n.of(db).get(account, id)
	if err == nil && n.sees != nil && !n.sees(db, s, t) {
		err = n.of(db).missing(id)
	}
	return t, err
}

// check refuses a row that must not be stored under an id, 0 for a new one.
func (n *noun[S, T, F]) check(db *data, account int64, s S, t *T, id int64) error {
	if n.refers != nil {
		if err := n.refers(db, s, t); err != nil {
			return err
		}
	}
	for _, rule := range n.Unique {
		broken := func(o *T) bool { return rule.Broken(t, o) }
		for other := range n.of(db).rows {
			if (rule.Everywhere || other == account) && n.of(db).conflict(other, id, broken) {
				return unique(rule.Code, "This "+n.Name+" already exists.")
			}
		}
	}
	return nil
}

// row returns the value to store for a row.
func (r rows[S, T, F]) row(t *T) *T {
	row := *t
	r.place(&row)
	if r.noun.strip != nil {
		r.noun.strip(&row)
	}
	return &row
}

// place sets the account and the site of a row.
func (r rows[S, T, F]) place(t *T) {
	if r.noun.Account != nil {
		*r.noun.Account(t) = r.account
	}
	if r.noun.Site != nil {
		*r.noun.Site(t) = r.site
	}
}

// shown returns copies of rows with the fields that come from other rows.
func (r rows[S, T, F]) shown(db *data, copies []T) []T {
	if r.noun.show != nil {
		for i := range copies {
			r.noun.show(db, &copies[i])
		}
	}
	return copies
}

// Get implements [storage.RowReader].
func (r rows[S, T, F]) Get(ctx context.Context, id int64) (T, error) {
	return query(ctx, r.src, func(db *data) (T, error) {
		t, err := copyOf(r.noun.get(db, r.account, r.scope, id))
		if err == nil && r.noun.show != nil {
			r.noun.show(db, &t)
		}
		return t, err
	})
}

// List implements [storage.RowReader].
func (r rows[S, T, F]) List(ctx context.Context, f F, seek storage.Seek) ([]T, error) {
	return query(ctx, r.src, func(db *data) ([]T, error) {
		var found []row
		position := func(t *T) storage.Position {
			if r.noun.key == nil {
				return storage.Position{ID: *r.noun.ID(t)}
			}
			return storage.Position{Key: r.noun.key(f, t), ID: *r.noun.ID(t)}
		}
		if r.noun.key == nil && seek.From != nil {
			seek.From = &storage.Position{ID: seek.From.ID}
		}
		for id, t := range r.noun.of(db).all(r.account) {
			if r.sees(db, t) && (r.noun.match == nil || r.noun.match(db, r.scope, f, t)) && beyond(position(t), seek) {
				found = append(found, row{id, t})
			}
		}
		all := r.shown(db, sorted(found, seek, position))
		if r.noun.brief != nil {
			for i := range all {
				r.noun.brief(f, &all[i])
			}
		}
		return all, nil
	})
}

func (r rows[S, T, F]) sees(db *data, t *T) bool {
	return r.noun.sees == nil || r.noun.sees(db, r.scope, t)
}

// ByIDs implements [storage.RowReader].
func (r rows[S, T, F]) ByIDs(ctx context.Context, ids []int64) ([]T, error) {
	return query(ctx, r.src, func(db *data) ([]T, error) {
		return r.shown(db, r.noun.of(db).where(r.account, func(t *T) bool {
			return slices.Contains(ids, *r.noun.ID(t)) && r.sees(db, t)
		})), nil
	})
}

// Lock needs no lock: a transaction has the whole store to itself.
func (s stored[S, T, F]) Lock(ctx context.Context, id int64) (T, error) { return s.Get(ctx, id) }

// LockAll implements [storage.Rows].
func (s stored[S, T, F]) LockAll(ctx context.Context, ids []int64) ([]T, error) {
	return s.ByIDs(ctx, ids) // which are sorted
}

// Insert implements [storage.Rows].
func (s stored[S, T, F]) Insert(ctx context.Context, items ...*T) error {
	return inAccount(ctx, s.src, s.account, func(db *data) error {
		for _, item := range items {
			row := s.row(item)
			*s.noun.ID(row) = 0
			if err := s.noun.check(db, s.account, s.scope, row, 0); err != nil {
				return err
			}
			if err := s.noun.of(db).insert(s.account, row, s.noun.ID(row)); err != nil {
				return err
			}
			*s.noun.ID(item) = *s.noun.ID(row)
			s.place(item)
			if s.noun.inserted != nil {
				s.noun.inserted(db, s.scope, row)
			}
		}
		return nil
	})
}

// Update implements [storage.Rows].
func (s stored[S, T, F]) Update(ctx context.Context, items ...*T) error {
	return inAccount(ctx, s.src, s.account, func(db *data) error {
		for _, item := range items {
			row, id := s.row(item), *s.noun.ID(item)
			old, err := s.noun.get(db, s.account, s.scope, id)
			if err != nil {
				return err
			}
			if s.noun.Kept != nil {
				s.noun.Kept(row, old)
			}
			if err := s.noun.check(db, s.account, s.scope, row, id); err != nil {
				return err
			}
			if err := s.noun.of(db).update(s.account, id, row); err != nil {
				return err
			}
		}
		return nil
	})
}

// Delete implements [storage.Rows].
func (s stored[S, T, F]) Delete(ctx context.Context, id int64) error {
	return inAccount(ctx, s.src, s.account, func(db *data) error {
		if _, err := s.noun.get(db, s.account, s.scope, id); err != nil {
			return err
		}
		if s.noun.remove != nil {
			if err := s.noun.remove(db, s.scope, id); err != nil {
				return err
			}
		}
		s.noun.of(db).set(s.account, id, nil)
		return nil
	})
}

// Trim does nothing: there is no other transaction that would have to wait.
func (s stored[S, T, F]) Trim(ctx context.Context, id int64, _ int) (trimmed bool, err error) {
	_, err = s.Get(ctx, id)
	return false, err
}

// Reader implements [helpdesk.Tx].
func (t tx) Reader() helpdesk.Reader { return t.reader }

// nouns are the noun declarations shared with other stores.
var nouns = helpdesk.Nouns()
