package bunstore

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

type erasureRow struct {
	bun.BaseModel `bun:"table:hw_erasures,alias:hw_erasures"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	CustomerID    int64
	Digest        []byte
	UserID        int64
	ErasedAt      int64
}

func (r *erasureRow) erasure() helpdesk.Erasure {
	return helpdesk.Erasure{ID: r.ID, CustomerID: r.CustomerID, Digest: r.Digest, UserID: r.UserID, ErasedAt: timeOf(r.ErasedAt)}
}

func erasureRowOf(account int64, e *helpdesk.Erasure) erasureRow {
	return erasureRow{ID: e.ID, AccountID: account, CustomerID: e.CustomerID, Digest: e.Digest, UserID: e.UserID, ErasedAt: micros(e.ErasedAt)}
}

var erasures = table[writer, helpdesk.Erasure, helpdesk.ErasureFilter, erasureRow]{
	Noun: nouns.Erasures, row: erasureRowOf, item: (*erasureRow).erasure,
	match: func(_ context.Context, _ writer, q *bun.SelectQuery, f helpdesk.ErasureFilter) error {
		if len(f.Digests) > 0 {
			q.Where("digest IN (?)", bun.List(f.Digests))
		}
		return nil
	},
	order: func(f helpdesk.ErasureFilter) string {
		if len(f.Digests) > 0 {
			return "+id" // these filters match few rows
		}
		return "id"
	},
}

// Erasures implements [helpdesk.Reader].
func (r reader) Erasures() storage.RowReader[helpdesk.Erasure, helpdesk.ErasureFilter] {
	return rowsOf(r.placed(), &erasures)
}

// Erasures implements [helpdesk.Rows].
func (w writer) Erasures() storage.Rows[helpdesk.Erasure, helpdesk.ErasureFilter] {
	return storedOf(w, &erasures)
}
