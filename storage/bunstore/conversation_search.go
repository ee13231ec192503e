package bunstore

import (
	"context"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"

	"github.com/helpwright/helpwright/helpdesk"
)

// A search reads the hits of the index of terms and sorts them when the terms are rare. For common terms it checks the terms of
// the next rows of the list, which soon fill a page. Counting hits shows which: SQLite's index returns them one by one, so it
// counts first. PostgreSQL's collects all before the first, so it counts after some rows have been checked.
const (
	fewHits  = 4 * firstWalk  // SQLite reads and sorts as many at once
	manyHits = 32 * firstWalk // both do when the next rows do not fill the page
)

// searchConversations lists conversations that match terms.
func (r reader) searchConversations(ctx context.Context, q conversationQuery) ([]helpdesk.Conversation, error) {
	if err := checkText(q.Terms); err != nil {
		return nil, err
	}
	if q.DraftBy != 0 || q.Undelivered {
		return r.setPage(ctx, q, nil)
	}
	hits, err := r.hitsOf(ctx, q.Terms)
	if err != nil {
		return nil, err
	}
	if !r.store.postgres {
		if few, err := r.atMost(ctx, hits, fewHits); few || err != nil {
			return r.searchHits(ctx, q, hits, err)
		}
	}
	sources := r.listSources(q.ConversationOrder)
	for rows := firstWalk; rows <= 8*firstWalk; rows *= 8 {
		page, err := r.walkPage(ctx, q, sources[0], rows)
		if err != nil || len(page) == q.seek.Limit {
			return page, err
		}
	}
	if set, err := r.smallSet(ctx, q.ConversationOrder, mostSet); err != nil || set != nil {
		if err != nil {
			return nil, err
		}
		return r.setPage(ctx, q, set)
	}
	if few, err := r.atMost(ctx, hits, manyHits); few || err != nil {
		return r.searchHits(ctx, q, hits, err)
	}
	page, err := r.walkPage(ctx, q, sources[0], mostWalk)
	if err != nil || len(page) == q.seek.Limit {
		return page, err
	}
	return r.searchHits(ctx, q, hits, nil)
}

// hitsOf selects the ids that the index of terms returns.
func (r reader) hitsOf(ctx context.Context, terms []helpdesk.SearchTerm) (schema.QueryWithArgs, error) {
	in := conversationSearch
	if r.store.postgres {
		return bun.SafeQuery("SELECT s.? FROM ? AS s WHERE ?", bun.Ident(in.id), bun.Ident(in.name), r.matching(terms)), nil
	}
	match, err := r.match(ctx, in, terms)
	return bun.SafeQuery("SELECT s.rowid FROM ?0 AS s WHERE s.?0 MATCH ?1", bun.Ident(in.name), match), err
}

// atMost reports whether a query returns at most n rows.
func (r reader) atMost(ctx context.Context, ids schema.QueryWithArgs, n int) (bool, error) {
	var found int
	err := r.raw("SELECT COUNT(*) FROM (? LIMIT ?) AS c", ids, n+1).Scan(ctx, &found)
	return found <= n, failure(ctx, err, "search", 0)
}

// searchHits reads the hits of the index of terms and sorts them.
func (r reader) searchHits(ctx context.Context, q conversationQuery, hits schema.QueryWithArgs, err error) ([]helpdesk.Conversation, error) {
	if err != nil {
		return nil, err
	}
	q.Terms = nil
	return r.setPage(ctx, q, &hits)
}
