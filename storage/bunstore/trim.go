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
	table, those := s.some(d.table, cmp.Or(d.key, "id"), d.which(s, account, id), d.limit(n))
	_, err := s.raw("DELETE FROM ? WHERE account_id = ? AND ? AND +? = ?", table, account, those, bun.Ident(d.of), id).Exec(ctx)
	if err == nil && d.index != "" {
		err = s.mergeSome(ctx, d.index)
	}
	return failure(ctx, err, "row", id)
}

// some returns a table, and the condition of n of its rows that meet another one, for a statement that looks each of them up by
// its key: neither planner may read all rows to find these.
func (s *querier) some(table, key string, which *bun.RawQuery, n int) (in, those *bun.RawQuery) {
	in, by := s.raw("?", bun.Ident(table)), bun.Ident(key)
	those = s.raw("? ?", by, s.oneOf(s.raw("SELECT ? FROM ? WHERE ? LIMIT ?", by, in, which, n)))
	if key == "id" && !s.store.postgres {
		in = s.raw("? NOT INDEXED", in) // see byID
	}
	return in, those
}
