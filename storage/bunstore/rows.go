package bunstore

import (
	"context"
	"database/sql"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// place is where rows are read and written: the writer of a domain, which defines the scope. A reader uses only the reading
// half.
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

// siteID implements [place]: the help desk's rows belong to no site.
func (w writer) siteID() int64 { return 0 }

// table declares how the rows of a noun are stored: P is the domain's writer, T the domain type, F the list filter, R the
// row type of the table.
type table[P place, T, F, R any] struct {
	storage.Noun[T]
	row  func(account int64, t *T) R
	item func(*R) T
	// scope restricts a statement to the scope; nil: to the account.
	scope func(p P, q bun.QueryBuilder) bun.QueryBuilder
	// match applies a filter to a list; errNone means that nothing matches. nil: there is no filter.
	match func(ctx context.Context, p P, q *bun.SelectQuery, f F) error
	// belongs returns a column and those of its values that a list is of; without values nothing matches. Such a list is short:
	// it is read by the column's index and sorted. nil: a list is of the whole scope.
	belongs func(f F) (column string, ids []int64)
	// with adds to a query the parts of a row that are not its columns. nil: nothing.
	with func(q *bun.SelectQuery) *bun.SelectQuery
	// order returns the column that a list is ordered by, before the id; nil: by id.
	order func(f F) string
	// read reads the values that a query for rows selects, by id; nil: a row is the whole value.
	read func(ctx context.Context, s *querier, selected *bun.SelectQuery, desc bool) ([]T, error)
	// refers names the row that a row refers to, for the fault when that is missing; nil: the fault names none.
	refers func(p P, t *T) (resource string, id int64)
	// admit refuses rows that the database would accept, before they are inserted or updated.
	admit func(ctx context.Context, p P, rows []*T) error
	// inserted and updated write the parts of a row that are in other tables.
	inserted, updated func(ctx context.Context, p P, t *T) error
	// replaced is updated with the old row, which is read and locked first.
	replaced func(ctx context.Context, p P, old, t *T) error
	// sparse has an update write only the columns that differ from the old row, which costs a read. SQLite would otherwise
	// write the entries of all indexes again. PostgreSQL compares by itself.
	sparse bool
	// stays says that a lock may let others add references to the row: only transactions that are alone delete such rows.
	stays bool
	// remove runs before a row, which exists and is locked, is deleted.
	remove func(ctx context.Context, p P, id int64) error
	// dependents are deleted with a row, and may be trimmed before, in this order.
	dependents []dependent
}

// errNone is the error of a filter that matches nothing.
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

// placed returns the reader as a place to read rows from.
func (r reader) placed() writer { return writer{r, outbox{r.querier, r.scope.AccountID}} }

func (s rows[P, T, F, R]) within(q bun.QueryBuilder) bun.QueryBuilder {
	if s.of.scope == nil {
		return s.place.account(q)
	}
	return s.of.scope(s.place, q)
}

// whole selects rows with everything that is read of them.
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
	q := s.whole((*R)(nil)).Where("?TableName.id = ?", id)
	if lock {
		q = s.locking(q)
	}
	found := scanInto(s.db, func(row *R) { item = s.of.item(row) })
	err = locked(ctx, q).Scan(ctx, found)
	if err == nil && found.n == 0 {
		err = sql.ErrNoRows
	}
	return item, failure(ctx, err, s.of.Name, id)
}

// getWhole is get for values that are read from several tables.
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

// locking locks the selected rows.
func (s rows[P, T, F, R]) locking(q *bun.SelectQuery) *bun.SelectQuery {
	if s.of.stays {
		return s.forChange(q)
	}
	return s.forUpdate(q)
}

// lock locks a row if it exists.
func (s rows[P, T, F, R]) lock(ctx context.Context, id int64) error {
	var found int64
	q := s.selects((*R)(nil)).Column("id").ApplyQueryBuilder(s.within).Where("id = ?", id)
	return failure(ctx, s.locking(q).Scan(ctx, &found), s.of.Name, id)
}

// scan reads the values that q selects, about most: the rows themselves or, with table.read, the values they identify.
func (s rows[P, T, F, R]) scan(ctx context.Context, desc bool, most int, narrow func(q *bun.SelectQuery) error) ([]T, error) {
	q := s.whole((*R)(nil))
	switch err := narrow(q); {
	case errors.Is(err, errNone):
		return nil, s.state()
	case err != nil:
		return nil, err
	}
	if s.of.read != nil {
		return s.of.read(ctx, s.querier, q, desc)
	}
	var all []T
	err := q.Scan(ctx, scanInto(s.db, func(row *R) {
		if all == nil && most <= storage.MaxLimit {
			all = make([]T, 0, min(most, storage.DefaultLimit))
		}
		all = append(all, s.of.item(row))
	}))
	return all, failure(ctx, err, s.of.Name, 0)
}

// Get implements [storage.RowReader].
func (s rows[P, T, F, R]) Get(ctx context.Context, id int64) (T, error) { return s.get(ctx, id, false) }

// List implements [storage.RowReader].
func (s rows[P, T, F, R]) List(ctx context.Context, f F, seek storage.Seek) ([]T, error) {
	return s.scan(ctx, seek.Desc, seek.Limit, func(q *bun.SelectQuery) error {
		if s.of.match != nil {
			if err := s.of.match(ctx, s.place, q, f); err != nil {
				return err
			}
		}
		order := "id"
		switch {
		case s.of.belongs != nil:
			column, ids := s.of.belongs(f)
			if len(ids) == 0 {
				return errNone
			}
			q.Where("?TableName.? IN (?)", bun.Ident(column), bun.List(ids))
			order = "+id" // SQLite takes an account for small, and would walk it in order
		case s.of.order != nil:
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
	return s.scan(ctx, false, len(ids), func(q *bun.SelectQuery) error {
		s.byID(q).Where("?TableName.id IN (?)", bun.List(ids)).OrderExpr("?TableName.id")
		return nil
	})
}

// Lock implements [storage.Rows].
func (s stored[P, T, F, R]) Lock(ctx context.Context, id int64) (T, error) {
	item, err := s.get(ctx, id, true)
	if err == nil {
		s.place.foundAccount()
	}
	return item, err
}

// LockAll implements [storage.Rows].
func (s stored[P, T, F, R]) LockAll(ctx context.Context, ids []int64) ([]T, error) {
	if len(ids) == 0 {
		return nil, s.state()
	}
	if s.of.read != nil { // locks first, as values of several tables are read
		if err := s.lockRows(ctx, ids); err != nil {
			return nil, err
		}
	}
	found, err := s.scan(ctx, false, len(ids), func(q *bun.SelectQuery) error {
		s.byID(q).Where("?TableName.id IN (?)", bun.List(ids)).OrderExpr("?TableName.id")
		if s.of.read == nil {
			s.locking(q)
		}
		return nil
	})
	if err == nil && len(found) > 0 {
		s.place.foundAccount()
	}
	return found, err
}

// lockRows locks those rows that exist, by id.
func (s rows[P, T, F, R]) lockRows(ctx context.Context, ids []int64) error {
	if !s.store.postgres {
		return nil
	}
	var found []int64
	q := s.selects((*R)(nil)).Column("id").ApplyQueryBuilder(s.within).Where("id IN (?)", bun.List(ids)).Order("id")
	return failure(ctx, s.locking(q).Scan(ctx, &found), s.of.Name, 0)
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

// put sets the account and the site of a row.
func (s stored[P, T, F, R]) put(t *T) {
	if s.of.Account != nil {
		*s.of.Account(t) = s.place.accountID()
	}
	if s.of.Site != nil {
		*s.of.Site(t) = s.place.siteID()
	}
}

// row returns the row to store for a copy of a value.
func (s stored[P, T, F, R]) row(t *T) R {
	s.put(t)
	return s.of.row(s.place.accountID(), t)
}

// lacks adds to a fault the row that the single written row refers to.
func (s stored[P, T, F, R]) lacks(err error, items []*T) error {
	if s.of.refers == nil || len(items) != 1 || !foreignKeyViolation(err) {
		return err
	}
	return fault.Missing(s.of.refers(s.place, items[0]))
}

// olds reads and locks the old rows where they are needed.
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
	if all := s.atOnce(items); all != nil {
		return s.writeAll(ctx, all)
	}
	there, err := s.there(ctx, items)
	if err != nil {
		return err
	}
	if s.alike(there, items) {
		return s.writeAlike(ctx, there, items)
	}
	for i, item := range items {
		fresh, id := *item, *s.of.ID(item)
		row := s.row(&fresh)
		if err := s.write(ctx, id, there[id], &row); err != nil {
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

// maxAtOnce is how many rows a statement updates.
const maxAtOnce = 100

// atOnce returns the rows of an update that PostgreSQL does in one statement for many; nil: each row has its own.
func (s stored[P, T, F, R]) atOnce(items []*T) []R {
	if !s.store.postgres || len(items) < 2 || s.of.updated != nil || s.of.replaced != nil {
		return nil
	}
	all, known := make([]R, len(items)), make(map[int64]bool, len(items))
	for i, item := range items {
		fresh := *item
		all[i] = s.row(&fresh)
		known[*s.of.ID(item)] = true
	}
	if len(known) < len(items) {
		return nil
	}
	return all
}

// writeAll updates all columns of different rows.
func (s stored[P, T, F, R]) writeAll(ctx context.Context, all []R) error {
	for some := range slices.Chunk(all, maxAtOnce) {
		res, err := s.updates(&some).Bulk().ApplyQueryBuilder(s.within).Exec(ctx)
		if err != nil {
			return failure(ctx, err, s.of.Name, 0)
		}
		n, err := res.RowsAffected()
		if err != nil {
			return failure(ctx, err, s.of.Name, 0)
		}
		if int(n) < len(some) {
			return s.absent(ctx, some)
		}
	}
	s.place.foundAccount()
	return nil
}

// absent returns the fault about the first row that does not exist.
func (s stored[P, T, F, R]) absent(ctx context.Context, all []R) error {
	for i := range all {
		item := s.of.item(&all[i])
		if _, err := s.get(ctx, *s.of.ID(&item), false); err != nil {
			return err
		}
	}
	return fault.Missing(s.of.Name, 0)
}

// there returns the rows that a sparse update of different rows changes, by id.
func (s stored[P, T, F, R]) there(ctx context.Context, items []*T) (map[int64]*R, error) {
	if !s.of.sparse || s.store.postgres || len(items) == 0 {
		return nil, nil //nolint:nilnil // every column is written
	}
	ids := make([]int64, len(items))
	for i, item := range items {
		ids[i] = *s.of.ID(item)
	}
	found := make(map[int64]*R, len(ids))
	err := s.selects((*R)(nil)).ApplyQueryBuilder(s.within).Where("?TableName.id IN (?)", bun.List(ids)).
		Scan(ctx, scanInto(s.db, func(row *R) { found[*s.of.ID(new(s.of.item(row)))] = new(*row) }))
	return found, failure(ctx, err, s.of.Name, 0)
}

// write updates the columns of a row: all, or those that differ from the old row if there is one.
func (s stored[P, T, F, R]) write(ctx context.Context, id int64, old, row *R) error {
	columns := s.columns()
	if old != nil {
		if columns, _ = s.differing(old, row); len(columns) == 0 {
			return checkText(row)
		}
		*old = *row // for the same row once more
	}
	res, err := s.updates(row).Column(columns...).ApplyQueryBuilder(s.within).Where("id = ?", id).Exec(ctx)
	return changed(ctx, res, err, s.of.Name, id)
}

// columns returns the columns that an update writes. The keys that other rows refer to cannot change; SQLite would read all of
// these rows when a statement names them.
func (s stored[P, T, F, R]) columns() []string {
	var all []string
	for _, f := range s.db.Table(reflect.TypeFor[R]()).DataFields {
		if f.Name != "account_id" && (f.Name != "site_id" || s.of.Site == nil) {
			all = append(all, f.Name)
		}
	}
	return all
}

// alike reports whether items may be updated by what differs from their old rows, those that differ in the same way at once.
func (s stored[P, T, F, R]) alike(old map[int64]*R, items []*T) bool {
	return len(items) > 1 && len(old) == len(items) && s.of.updated == nil && s.of.replaced == nil
}

// writeAlike updates rows that differ in the same way from the old ones in one statement.
func (s stored[P, T, F, R]) writeAlike(ctx context.Context, old map[int64]*R, items []*T) error {
	var order []string
	rows, columns, ids := map[string]*R{}, map[string][]string{}, map[string][]int64{}
	for _, item := range items {
		fresh, id := *item, *s.of.ID(item)
		row := s.row(&fresh)
		names, values := s.differing(old[id], &row)
		if len(names) == 0 {
			if err := checkText(&row); err != nil {
				return err
			}
			continue
		}
		way := strings.Join(append(names, values...), ",")
		if rows[way] == nil {
			order, rows[way], columns[way] = append(order, way), &row, slices.Clip(names)
		}
		ids[way] = append(ids[way], id)
	}
	for _, way := range order {
		for some := range slices.Chunk(ids[way], maxAtOnce) {
			res, err := s.updates(rows[way]).Column(columns[way]...).ApplyQueryBuilder(s.within).Where("id IN (?)", bun.List(some)).Exec(ctx)
			if err := s.changedAll(ctx, res, err, some); err != nil {
				return err
			}
		}
	}
	s.place.foundAccount()
	return nil
}

// changedAll is changed for a statement on several rows.
func (s stored[P, T, F, R]) changedAll(ctx context.Context, res sql.Result, err error, ids []int64) error {
	if err := changed(ctx, res, err, s.of.Name, ids[0]); err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || int(n) == len(ids) {
		return failure(ctx, err, s.of.Name, ids[0])
	}
	for _, id := range ids {
		if _, err := s.get(ctx, id, false); err != nil {
			return err
		}
	}
	return fault.Missing(s.of.Name, 0)
}

// differing returns the columns in which two rows differ, with their values in b as SQL.
func (s stored[P, T, F, R]) differing(a, b *R) (columns, values []string) {
	va, vb := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for _, f := range s.db.Table(va.Type()).DataFields {
		if !reflect.DeepEqual(f.Value(va).Interface(), f.Value(vb).Interface()) {
			columns = append(columns, f.Name)
			values = append(values, string(f.AppendValue(s.db.QueryGen(), nil, vb)))
		}
	}
	return columns, values
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

// Trim implements [storage.Rows].
func (s stored[P, T, F, R]) Trim(ctx context.Context, id int64, n int) (trimmed bool, err error) {
	if err := s.lock(ctx, id); err != nil {
		return false, err
	}
	return s.trim(ctx, s.place.accountID(), id, n, s.of.dependents)
}

// Reader implements [helpdesk.Tx].
func (w writer) Reader() helpdesk.Reader { return w.reader }

// nouns are the noun declarations shared with other stores.
var nouns = helpdesk.Nouns()
