package main

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// noun keeps the rows of one noun: T is the row, F the filter of its lists.
//
// It does all that domains and signatures need. A noun that is InMailboxes or in a Site also needs a function for the rows
// in a scope; a list that is not sorted by id needs one for the sort key.
type noun[T, F any] struct {
	storage.Noun[T] // the id, unique fields and so on: the same for all stores
	table           func(*state) *table[T]
	match           func(filter F, row *T) bool // nil if the list has no filter
	// broken reports the code of a rule of uniqueness that two rows violate, beside those of the noun; nil: there is none.
	broken func(a, b *T) (code string, broken bool)
}

// source is the origin of rows: the store, or a transaction.
type source interface {
	read(ctx context.Context) (state, error)
}

// rows implements [storage.RowReader]. It reads only the map of its account, which is all that separates accounts.
type rows[T, F any] struct {
	*noun[T, F]
	from    source
	account int64
}

// all returns the account's rows, which must not be changed.
func (r rows[T, F]) all(ctx context.Context) (map[int64]T, error) {
	s, err := r.from.read(ctx)
	return r.table(&s).rows[r.account], err
}

// Get implements [storage.RowReader].
func (r rows[T, F]) Get(ctx context.Context, id int64) (T, error) {
	all, err := r.all(ctx)
	row, found := all[id]
	if err == nil && !found {
		err = fault.Missing(r.Name, id)
	}
	return given(row), err
}

// List implements [storage.RowReader]. A page begins after a row, not after a number of rows: rows inserted or deleted
// meanwhile neither shift it nor appear twice. The row itself may have been deleted.
func (r rows[T, F]) List(ctx context.Context, filter F, seek storage.Seek) ([]T, error) {
	all, err := r.all(ctx)
	var ids []int64
	for id, row := range all {
		if beyond(id, seek) && (r.match == nil || r.match(filter, &row)) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	if seek.Desc {
		slices.Reverse(ids)
	}
	return r.pick(all, ids[:min(len(ids), seek.Limit)]), err
}

// beyond reports whether an id comes after the start of a page, in its direction. In a list by id, the key of a position is
// not used.
func beyond(id int64, seek storage.Seek) bool {
	switch {
	case seek.From == nil:
		return true
	case seek.Desc:
		return id < seek.From.ID
	default:
		return id > seek.From.ID
	}
}

// ByIDs implements [storage.RowReader].
func (r rows[T, F]) ByIDs(ctx context.Context, ids []int64) ([]T, error) {
	all, err := r.all(ctx)
	return r.pick(all, slices.Compact(slices.Sorted(slices.Values(ids)))), err
}

// pick returns the rows with these ids that exist.
func (r rows[T, F]) pick(all map[int64]T, ids []int64) []T {
	var found []T
	for _, id := range ids {
		if row, there := all[id]; there {
			found = append(found, given(row))
		}
	}
	return found
}

// stored implements [storage.Rows].
type stored[T, F any] struct {
	rows[T, F]
	in *session
	// exists returns the fault for an account that does not exist: it may be deleted while one of its handles is in use.
	exists func(ctx context.Context) error
}

// Lock has nothing to lock: memstore runs one transaction at a time. A store that runs several needs SELECT FOR UPDATE, or
// the like.
func (s stored[T, F]) Lock(ctx context.Context, id int64) (T, error) { return s.Get(ctx, id) }

// LockAll implements [storage.Rows].
func (s stored[T, F]) LockAll(ctx context.Context, ids []int64) ([]T, error) {
	return s.ByIDs(ctx, ids) // which sorts them
}

// write runs fn on a copy of the table, which replaces the transaction's table if fn succeeds. So a method that fails has
// changed nothing, even after several rows.
func (s stored[T, F]) write(ctx context.Context, fn func(t *table[T], own map[int64]T) error) error {
	if err := s.exists(ctx); err != nil {
		return err
	}
	return s.in.edit(func(next *state) error {
		t := s.table(next)
		*t = t.editable(s.account)
		return fn(t, t.rows[s.account])
	})
}

// Insert implements [storage.Rows].
func (s stored[T, F]) Insert(ctx context.Context, items ...*T) error {
	return s.write(ctx, func(t *table[T], own map[int64]T) error {
		for _, item := range items {
			t.last++
			*s.ID(item) = t.last
			if s.Account != nil {
				*s.Account(item) = s.account
			}
			row, err := s.kept(item)
			if err != nil {
				return err
			}
			if err := s.unique(t, &row); err != nil {
				return err
			}
			own[t.last] = row
		}
		return nil
	})
}

// Update implements [storage.Rows].
func (s stored[T, F]) Update(ctx context.Context, items ...*T) error {
	return s.write(ctx, func(t *table[T], own map[int64]T) error {
		for _, item := range items {
			id := *s.ID(item)
			old, found := own[id]
			if !found {
				return fault.Missing(s.Name, id)
			}
			row, err := s.kept(item)
			if err != nil {
				return err
			}
			if s.Kept != nil { // such as counters, which change without the caller's knowledge
				s.Kept(&row, &old)
			}
			if err := s.unique(t, &row); err != nil {
				return err
			}
			own[id] = row
		}
		return nil
	})
}

// Delete implements [storage.Rows]. No other row refers to a domain or a signature.
func (s stored[T, F]) Delete(ctx context.Context, id int64) error {
	return s.write(ctx, func(_ *table[T], own map[int64]T) error {
		if _, found := own[id]; !found {
			return fault.Missing(s.Name, id)
		}
		delete(own, id)
		return nil
	})
}

// Trim implements [storage.Rows]. It has nothing to do where Delete is always short; a store in which a row has many others, such
// as the conversations of a tag, deletes some of them.
func (s stored[T, F]) Trim(ctx context.Context, id int64, _ int) (trimmed bool, err error) {
	_, err = s.Get(ctx, id)
	return false, err
}

// kept returns the stored form of a row. Its account is that of the scope, whatever the row has.
func (s stored[T, F]) kept(item *T) (T, error) {
	row, err := kept(*item)
	if s.Account != nil {
		*s.Account(&row) = s.account
	}
	return row, err
}

// unique refuses a row that conflicts with another row. A database has an index for each rule, and translates violations
// into this fault.
func (s stored[T, F]) unique(t *table[T], row *T) error {
	for _, rule := range s.Unique {
		for account, others := range t.rows {
			if account != s.account && !rule.Everywhere {
				continue
			}
			for id, other := range others {
				if id != *s.ID(row) && rule.Broken(row, &other) {
					return s.taken(rule.Code)
				}
			}
		}
	}
	if s.broken == nil {
		return nil
	}
	for id, other := range t.rows[s.account] {
		if id == *s.ID(row) {
			continue
		}
		if code, broken := s.broken(row, &other); broken {
			return s.taken(code)
		}
	}
	return nil
}

func (s stored[T, F]) taken(code string) error {
	return &fault.Error{Kind: fault.Conflict, Code: code, Message: "This " + s.Name + " already exists."}
}
