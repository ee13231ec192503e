package bunstore

import (
	"context"
	"errors"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// place is where rows are read and written: the writer of a domain, which says what is in the scope. Of a reader only
// the reading half is used.
type place interface {
	base() *querier
	accountID() int64
	siteID() int64
	account(q bun.QueryBuilder) bun.QueryBuilder
	requireAccount(ctx context.Context) error
	foundAccount()
}

// base implements [place].
func (s *querier) base() *querier { return s }

// accountID implements [place].
func (o outbox) accountID() int64 { return o.of }

// siteID implements [place]: the rows of the help desk are in no site.
func (w writer) siteID() int64 { return 0 }

// table declares how the rows of a noun are kept: P is the domain's writer, T what the domain knows, F narrows a list, R
// is a row of the table.
type table[P place, T, F, R any] struct {
	storage.Noun[T]
	row  func(account int64, t *T) R
	item func(*R) T
	// scope keeps a statement within the scope; nil: within the account.
	scope func(p P, q bun.QueryBuilder) bun.QueryBuilder
	// match keeps a list to what a filter asks for; errNone says that this is nothing. nil: there is no filter.
	match func(ctx context.Context, p P, q *bun.SelectQuery, f F) error
	// with adds to a query what a row has beside its columns. nil: nothing.
	with func(q *bun.SelectQuery) *bun.SelectQuery
	// order is the column that a list is ordered by, before the id; nil: by id.
	order func(f F) string
	// read reads what a query for rows selects, by id; nil: the rows are all there is.
	read func(ctx context.Context, s *querier, selected *bun.SelectQuery, desc bool) ([]T, error)
	// refers names what a row refers to, for the fault when it is not there; nil: the fault names nothing.
	refers func(p P, t *T) (resource string, id int64)
	// admit refuses what the database would let pass. It is asked before rows are inserted and updated.
	admit func(ctx context.Context, p P, rows []*T) error
	// inserted and updated write what a row has in other tables.
	inserted, updated func(ctx context.Context, p P, t *T) error
	// replaced is updated that is told what the row was, which is read and locked before.
	replaced func(ctx context.Context, p P, old, t *T) error
	// remove does what comes before the removal of a row, which is there and locked.
	remove func(ctx context.Context, p P, id int64) error
}

// errNone is the answer of a filter that nothing matches.
var errNone = errors.New("bunstore: nothing matches")

// rows implements [storage.RowReader].
type rows[P place, T, F, R any] struct {
	*querier
	place P
	of    *table[P, T, F, R]
}

// stored implements [storage.Rows].
type stored[P place, T, F, R any] struct{ rows[P, T, F, R] }

func rowsOf[P place, T, F, R any](p P, of *table[P, T, F, R]) storage.RowReader[T, F] {
	return rows[P, T, F, R]{p.base(), p, of}
}

func storedOf[P place, T, F, R any](p P, of *table[P, T, F, R]) storage.Rows[T, F] {
	return stored[P, T, F, R]{rows[P, T, F, R]{p.base(), p, of}}
}

// placed is a reader as the place that rows are read from.
func (r reader) placed() writer { return writer{r, outbox{r.querier, r.scope.AccountID}} }

func (s rows[P, T, F, R]) within(q bun.QueryBuilder) bun.QueryBuilder {
	if s.of.scope == nil {
		return s.place.account(q)
	}
	return s.of.scope(s.place, q)
}

// whole selects rows as they are read.
func (s rows[P, T, F, R]) whole(model any) *bun.SelectQuery {
	q := s.selects(model)
	if s.of.with != nil {
		q = s.of.with(q)
	}
	return q.ApplyQueryBuilder(s.within)
}

func (s rows[P, T, F, R]) get(ctx context.Context, id int64, lock bool) (item T, err error) {
	if s.of.read != nil {
		return s.getWhole(ctx, id, lock)
	}
	var row R
	q := s.whole(&row).Where("?TableName.id = ?", id)
	if lock {
		q = s.forUpdate(q)
	}
	if err := one(ctx, q, s.of.Name, id); err != nil {
		return item, err
	}
	return s.of.item(&row), nil
}

// getWhole is get for what is read from several tables.
func (s rows[P, T, F, R]) getWhole(ctx context.Context, id int64, lock bool) (item T, err error) {
	if lock && s.store.postgres {
		if err := s.lock(ctx, id); err != nil {
			return item, err
		}
	}
	q := s.selects((*R)(nil)).ApplyQueryBuilder(s.within).Where("id = ?", id)
	all, err := s.of.read(ctx, s.querier, locked(ctx, q), false)
	if err == nil && len(all) == 0 {
		err = fault.Missing(s.of.Name, id)
	}
	if err != nil {
		return item, err
	}
	return all[0], nil
}

// lock locks a row that is there.
func (s rows[P, T, F, R]) lock(ctx context.Context, id int64) error {
	var found int64
	q := s.selects((*R)(nil)).Column("id").ApplyQueryBuilder(s.within).Where("id = ?", id)
	return failure(ctx, s.forUpdate(q).Scan(ctx, &found), s.of.Name, id)
}

// scan reads what q selects: the query for rows, or, where they are not all there is, for what the rows are read by.
func (s rows[P, T, F, R]) scan(ctx context.Context, desc bool, narrow func(q *bun.SelectQuery) error) ([]T, error) {
	var all []R
	q := s.whole(&all)
	if s.of.read != nil {
		q = s.whole((*R)(nil))
	}
	switch err := narrow(q); {
	case errors.Is(err, errNone):
		return nil, s.state()
	case err != nil:
		return nil, err
	}
	if s.of.read != nil {
		return s.of.read(ctx, s.querier, q, desc)
	}
	err := q.Scan(ctx)
	return mapped(all, s.of.item), failure(ctx, err, s.of.Name, 0)
}

// Get implements [storage.RowReader].
func (s rows[P, T, F, R]) Get(ctx context.Context, id int64) (T, error) { return s.get(ctx, id, false) }

// List implements [storage.RowReader].
func (s rows[P, T, F, R]) List(ctx context.Context, f F, seek storage.Seek) ([]T, error) {
	return s.scan(ctx, seek.Desc, func(q *bun.SelectQuery) error {
		if s.of.match != nil {
			if err := s.of.match(ctx, s.place, q, f); err != nil {
				return err
			}
		}
		order := "id"
		if s.of.order != nil {
			order = s.of.order(f)
		}
		page(q, order, seek)
		return nil
	})
}

// ByIDs implements [storage.RowReader].
func (s rows[P, T, F, R]) ByIDs(ctx context.Context, ids []int64) ([]T, error) {
	if len(ids) == 0 {
		return nil, s.state()
	}
	return s.scan(ctx, false, func(q *bun.SelectQuery) error {
		q.Where("?TableName.id IN (?)", bun.List(ids)).OrderExpr("?TableName.id")
		return nil
	})
}

// Lock implements [storage.Rows].
func (s stored[P, T, F, R]) Lock(ctx context.Context, id int64) (T, error) {
	return s.get(ctx, id, true)
}

// Insert implements [storage.Rows].
func (s stored[P, T, F, R]) Insert(ctx context.Context, items ...*T) error {
	if len(items) == 0 {
		return s.place.requireAccount(ctx)
	}
	if s.of.admit != nil {
		if err := s.of.admit(ctx, s.place, items); err != nil {
			return err
		}
	}
	all, ids := make([]R, len(items)), make([]*int64, len(items))
	for i, item := range items {
		fresh := *item
		ids[i] = s.of.ID(item)
		*s.of.ID(&fresh) = 0
		all[i] = s.row(&fresh)
	}
	if err := insertAll(ctx, s.querier, all, ids, s.of.Name); err != nil {
		return s.lacks(err, items)
	}
	for _, item := range items {
		s.put(item)
		if s.of.inserted == nil {
			continue
		}
		if err := s.of.inserted(ctx, s.place, item); err != nil {
			return err
		}
	}
	s.place.foundAccount()
	return nil
}

// put gives a row the account and the site that it is in.
func (s stored[P, T, F, R]) put(t *T) {
	if s.of.Account != nil {
		*s.of.Account(t) = s.place.accountID()
	}
	if s.of.Site != nil {
		*s.of.Site(t) = s.place.siteID()
	}
}

// row is what is stored of a copy of a row.
func (s stored[P, T, F, R]) row(t *T) R {
	s.put(t)
	return s.of.row(s.place.accountID(), t)
}

// lacks names in a fault what the one row refers to that was written.
func (s stored[P, T, F, R]) lacks(err error, items []*T) error {
	if s.of.refers == nil || len(items) != 1 || !foreignKeyViolation(err) {
		return err
	}
	return fault.Missing(s.of.refers(s.place, items[0]))
}

// olds reads and locks what rows were, where that matters.
func (s stored[P, T, F, R]) olds(ctx context.Context, items []*T) ([]T, error) {
	if s.of.replaced == nil {
		return nil, nil
	}
	olds := make([]T, len(items))
	for i, item := range items {
		var err error
		if olds[i], err = s.get(ctx, *s.of.ID(item), true); err != nil {
			return nil, err
		}
		s.place.foundAccount()
	}
	return olds, nil
}

// Update implements [storage.Rows].
func (s stored[P, T, F, R]) Update(ctx context.Context, items ...*T) error {
	olds, err := s.olds(ctx, items)
	if err != nil {
		return err
	}
	if s.of.admit != nil {
		if err := s.of.admit(ctx, s.place, items); err != nil {
			return err
		}
	}
	for i, item := range items {
		fresh, id := *item, *s.of.ID(item)
		row := s.row(&fresh)
		res, err := s.updates(&row).ApplyQueryBuilder(s.within).Where("id = ?", id).Exec(ctx)
		if err := changed(ctx, res, err, s.of.Name, id); err != nil {
			return s.lacks(err, items[i:i+1])
		}
		if s.of.updated != nil {
			if err := s.of.updated(ctx, s.place, item); err != nil {
				return err
			}
		}
		if s.of.replaced != nil {
			if err := s.of.replaced(ctx, s.place, &olds[i], item); err != nil {
				return err
			}
		}
	}
	if len(items) == 0 {
		return s.state()
	}
	s.place.foundAccount()
	return nil
}

// Delete implements [storage.Rows].
func (s stored[P, T, F, R]) Delete(ctx context.Context, id int64) error {
	if s.of.remove != nil {
		if err := s.lock(ctx, id); err != nil {
			return err
		}
		if err := s.of.remove(ctx, s.place, id); err != nil {
			return err
		}
	}
	res, err := s.deletes((*R)(nil)).ApplyQueryBuilder(s.within).Where("id = ?", id).Exec(ctx)
	return removed(ctx, res, err, s.of.Name, id)
}

// Reader implements [helpdesk.Tx].
func (w writer) Reader() helpdesk.Reader { return w.reader }

// nouns are the declarations that the tables share with other stores.
var nouns = helpdesk.Nouns()
