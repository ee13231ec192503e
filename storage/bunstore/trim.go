package bunstore

import (
	"cmp"
	"context"

	"github.com/uptrace/bun"
)

// dependent declares rows that are deleted with the row they belong to, and that can be too many for one transaction.
type dependent struct {
	table string
	of    string // column that has the id of the row they belong to
	key   string // column that identifies them; "": id
	only  string // condition of those that may be deleted before the others; "": all
	cost  int    // number of rows that are deleted with one, about; 0: one
	index string // SQLite's full-text index that has them; "": none
}

// limit returns how many of the rows a transaction deletes that may delete n rows.
func (d dependent) limit(n int) int { return max(1, n/max(1, d.cost)) }

// which selects the rows of an account that belong to a row.
func (d dependent) which(s *querier, account, id int64) *bun.RawQuery {
	return s.raw("account_id = ? AND ? = ? AND ?", account, bun.Ident(d.of), id, bun.Safe(cmp.Or(d.only, "TRUE")))
}

// trim deletes about n rows of the first dependents that have more, and reports whether there were any.
func (s *querier) trim(ctx context.Context, account, id int64, n int, all []dependent) (trimmed bool, err error) {
	many, err := s.excess(ctx, account, id, n, all)
	if err != nil || many == nil {
		return false, err
	}
	return true, s.cut(ctx, *many, account, id, n)
}

// excess returns the first dependents of which there are more than one transaction may delete, or nil.
func (s *querier) excess(ctx context.Context, account, id int64, n int, all []dependent) (*dependent, error) {
	for i, d := range all {
		more, err := s.moreThan(ctx, d.limit(n), d.table, d.which(s, account, id))
		if err != nil || more {
			return &all[i], err
		}
	}
	return nil, nil //nolint:nilnil // there are none
}

// moreThan reports whether more than n rows of a table meet a condition.
func (s *querier) moreThan(ctx context.Context, n int, table string, which *bun.RawQuery) (bool, error) {
	var found int
	err := s.raw("SELECT count(*) FROM (SELECT 1 FROM ? WHERE ? LIMIT ?) AS found", bun.Ident(table), which, n+1).Scan(ctx, &found)
	return found > n, failure(ctx, err, "row", 0)
}

// cut deletes about n rows, some of which are dependent ones.
func (s *querier) cut(ctx context.Context, d dependent, account, id int64, n int) error {
	err := s.some(ctx, d.table, cmp.Or(d.key, "id"), d.which(s, account, id), d.limit(n), func(those *bun.RawQuery) *bun.RawQuery {
		return s.raw("DELETE FROM ? WHERE account_id = ? AND ? AND +? = ?", bun.Ident(d.table), account, those, bun.Ident(d.of), id)
	})
	if err == nil && d.index != "" {
		err = s.mergeSome(ctx, d.index)
	}
	return failure(ctx, err, "row", id)
}

// some changes n of the rows of a table that meet a condition. do returns the statement for rows that are selected by their keys:
// on PostgreSQL one for all, on SQLite one for each. With outdated statistics SQLite would read the whole table for a list.
func (s *querier) some(ctx context.Context, table, key string, which *bun.RawQuery, n int, do func(those *bun.RawQuery) *bun.RawQuery) error {
	by := bun.Ident(key)
	keys := s.raw("SELECT ? FROM ? WHERE ? LIMIT ?", by, bun.Ident(table), which, n)
	if s.store.postgres {
		_, err := do(s.raw("? ?", by, s.oneOf(keys))).Exec(ctx)
		return err
	}
	var found []int64
	if err := keys.Scan(ctx, &found); err != nil {
		return err
	}
	for _, one := range found {
		if _, err := do(s.raw("? = ?", by, one)).Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}
