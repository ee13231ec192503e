package bunstore

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// Most conversations tie in the order of waiting: nobody waits in them, so only their ids order them. Neither database limits
// a scan of an index by (key, id) >= (?, ?) when the ids decide: SQLite seeks to the key alone, because id is the table's
// rowid, and PostgreSQL stops only at another key. Both would walk all ties. So such a list is read in spans: the ties of its
// position, the keys between position and bound, the ties of the bound.

// tied reports whether a list is read in spans.
func (q conversationQuery) tied() bool {
	return q.walk && q.Sort == helpdesk.ByAwaiting && (q.seek.From != nil || q.bound != nil || q.within > 0)
}

// tiedPage reads a page in spans.
func (r reader) tiedPage(ctx context.Context, q conversationQuery) (all []helpdesk.Conversation, err error) {
	if q.within > 0 {
		if q.bound, err = r.near(ctx, q, q.within); q.bound == nil || err != nil {
			return nil, err
		}
	}
	limit, marks := q.seek.Limit, q.marks
	if marks != nil {
		*marks = marksAlong{unreadBy: marks.unreadBy, done: true} // without those of an earlier try
	}
	for _, span := range spans(q) {
		if q.seek.Limit = limit - len(all); q.seek.Limit <= 0 {
			break
		}
		if marks != nil {
			q.marks = &marksAlong{unreadBy: marks.unreadBy}
		}
		s, err := r.conversationStatement(ctx, q, storage.Seek{Desc: q.seek.Desc, Limit: q.seek.Limit})
		if err != nil {
			return nil, err
		}
		found, err := r.scanPage(ctx, s.ApplyQueryBuilder(span), q)
		if err != nil {
			return nil, err
		}
		if all = append(all, found...); marks != nil {
			marks.found = append(marks.found, q.marks.found...)
		}
	}
	return all, nil
}

// tiedNear is near for a list that is read in spans.
func (r reader) tiedNear(ctx context.Context, q conversationQuery, n int) (*storage.Position, error) {
	q.bound = nil
	parts := spans(q)
	q.seek.From = nil
	for i, span := range parts {
		var at []struct{ Key, ID int64 }
		err := r.further(q, n).ApplyQueryBuilder(span).Scan(ctx, &at)
		if err != nil || len(at) > 0 || i == len(parts)-1 {
			return positionOf(ctx, at, err)
		}
		var passed int
		rows := r.further(q, 0).ApplyQueryBuilder(span).Limit(int64(n))
		if err := r.db.NewSelect().Conn(r.conn()).ColumnExpr("COUNT(*)").TableExpr("(?) AS c", rows).Scan(ctx, &passed); err != nil {
			return nil, failure(ctx, err, "conversation", 0)
		}
		n -= passed
	}
	return nil, nil //nolint:nilnil // there are fewer rows
}

// spans returns the conditions of the spans between the position of a list and its bound, in the order of the list.
func spans(q conversationQuery) []filter {
	from, bound, column := q.seek.From, q.bound, bun.Ident(q.column)
	beyond, before := bun.Safe(">"), bun.Safe("<")
	if q.seek.Desc {
		beyond, before = before, beyond
	}
	after := func(b bun.QueryBuilder) bun.QueryBuilder { return b.Where("?TableName.id ? ?", beyond, from.ID) }
	upTo := func(b bun.QueryBuilder) bun.QueryBuilder {
		return b.Where("?TableName.id ? ?", until(q.seek), bound.ID)
	}
	at := func(key int64) filter {
		return func(b bun.QueryBuilder) bun.QueryBuilder { return b.Where("?TableName.? = ?", column, key) }
	}
	if from != nil && bound != nil && from.Key == bound.Key {
		return []filter{func(b bun.QueryBuilder) bun.QueryBuilder { return upTo(after(at(from.Key)(b))) }}
	}
	var all []filter
	if from != nil {
		all = append(all, func(b bun.QueryBuilder) bun.QueryBuilder { return after(at(from.Key)(b)) })
	}
	all = append(all, func(b bun.QueryBuilder) bun.QueryBuilder {
		if from != nil {
			b = b.Where("?TableName.? ? ?", column, beyond, from.Key)
		}
		if bound != nil {
			b = b.Where("?TableName.? ? ?", column, before, bound.Key)
		}
		return b
	})
	if bound != nil {
		all = append(all, func(b bun.QueryBuilder) bun.QueryBuilder { return upTo(at(bound.Key)(b)) })
	}
	return all
}
