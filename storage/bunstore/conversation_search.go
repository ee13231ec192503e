package bunstore

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
)

// A search is read in one of three ways. Words that many conversations have are soon met in the order of the list, where
// each row is asked for its terms. What few have is named by the index of the terms, read and sorted. SQLite's index can
// also name more than are to be sorted, and the order is walked for those.
//
// SQLite counts hits as far as it is asked, so it knows which way is the shortest, and of words that many have the page is
// often among the first rows. The index of PostgreSQL gives all hits
// or none, and what its planner knows of words is of all accounts and of some words only: there the beginning of the list
// is looked at first, and it shows how common the words are.
const (
	fewHits     = 4 * fewRows   // of SQLite's index: as many are read and sorted
	someHits    = 8 * fewHits   // ... rather than that a list is walked that has no index in its order
	manyHits    = 32 * fewHits  // each row is asked before so many are named
	firstRows   = 4 * fewRows   // of a list, whose terms PostgreSQL looks at before it asks the index
	furtherRows = 8 * firstRows // of a list, whose terms are looked at when the words are common
)

// termsBy is how the conversations that have some terms are found.
type termsBy int

const (
	byIndex   termsBy = iota // the index of the terms names them
	byRow                    // each row is asked
	byBesides                // the index names them while the order of the list is walked: SQLite only
)

// searchConversations is listConversations with terms.
func (r reader) searchConversations(ctx context.Context, q conversationQuery) ([]helpdesk.Conversation, error) {
	if err := checkText(q.Terms); err != nil {
		return nil, err
	}
	sets := r.unordered(q.ConversationOrder)
	set, err := r.few(ctx, sets, fewRows)
	if err != nil {
		return nil, err
	}
	if set != nil {
		return r.searchSet(ctx, q, *set)
	}
	if r.store.postgres {
		return r.searchPostgres(ctx, q, sets)
	}
	return r.searchSQLite(ctx, q, sets)
}

// searchSet looks for terms in all conversations of a set.
func (r reader) searchSet(ctx context.Context, q conversationQuery, set conversationSet) ([]helpdesk.Conversation, error) {
	q.walk, q.bound, q.index, q.termsBy = false, nil, set.index, byRow
	return r.conversationPage(ctx, q)
}

func (r reader) searchPostgres(ctx context.Context, q conversationQuery, sets []conversationSet) ([]helpdesk.Conversation, error) {
	last := furtherRows
	for rows := firstRows; rows <= last; rows *= 8 {
		page, done, err := r.searchNext(ctx, q, rows, len(sets) > 0)
		if done || err != nil {
			return page, err
		}
		set, err := r.few(ctx, sets, nearBy*rows)
		if err != nil {
			return nil, err
		}
		if set != nil {
			return r.searchSet(ctx, q, *set)
		}
		if len(page)*8 >= q.seek.Limit { // the next rows may fill it
			continue
		}
		common, err := r.common(ctx, q, sets)
		if err != nil {
			return nil, err
		}
		if !common {
			break
		}
		last = 8 * furtherRows
	}
	q.walk, q.index, q.bound, q.termsBy = false, "", nil, byIndex
	return r.conversationPage(ctx, q)
}

// common reports whether conversations have the terms of a list so often that it is the list's other filters which leave
// out most of its order.
func (r reader) common(ctx context.Context, q conversationQuery, sets []conversationSet) (bool, error) {
	if len(sets) == 0 {
		return false, nil
	}
	all := conversationQuery{column: q.column, seek: q.seek, walk: true, termsBy: byRow}
	all.Terms, all.Sort, all.seek.Limit = q.Terms, q.Sort, 8
	found, _, err := r.searchNext(ctx, all, firstRows, true)
	return len(found) == all.seek.Limit, err
}

func (r reader) searchSQLite(ctx context.Context, q conversationQuery, sets []conversationSet) ([]helpdesk.Conversation, error) {
	var err error
	if q.match, err = r.match(ctx, conversationSearch, q.Terms); err != nil {
		return nil, err
	}
	hits, err := r.hits(ctx, conversationSearch, q.match, fewHits+1)
	if err != nil || hits == 0 {
		return nil, err
	}
	if hits > fewHits {
		page, done, err := r.searchNext(ctx, q, fewRows, len(sets) > 0)
		if done || err != nil {
			return page, err
		}
		if hits, err = r.hits(ctx, conversationSearch, q.match, manyHits); err != nil {
			return nil, err
		}
	}
	if hits <= fewHits || len(sets) > 0 && hits <= someHits {
		q.walk, q.index, q.termsBy = false, "", byIndex
		return r.conversationPage(ctx, q)
	}
	if set, err := r.few(ctx, sets, someHits); set != nil || err != nil {
		if err != nil {
			return nil, err
		}
		return r.searchSet(ctx, q, *set)
	}
	if hits == manyHits {
		page, done, err := r.searchNext(ctx, q, furtherRows, len(sets) > 0)
		if done || err != nil {
			return page, err
		}
	}
	q.bound, q.termsBy = nil, byBesides
	return r.conversationPage(ctx, q)
}

// searchNext looks for terms in the next rows of a list, or of all conversations in its order where no index has those of
// the list. It reports whether the page is complete.
func (r reader) searchNext(ctx context.Context, q conversationQuery, rows int, unordered bool) (page []helpdesk.Conversation, done bool, err error) {
	q.termsBy, q.listed = byRow, !unordered || r.keyed(q.ConversationOrder)
	if q.bound, err = r.near(ctx, q, rows); err != nil {
		return nil, false, err
	}
	page, err = r.conversationPage(ctx, q)
	return page, q.bound == nil || len(page) == q.seek.Limit, err
}

// withTerms keeps a query to the conversations that have all terms.
func (r reader) withTerms(ctx context.Context, q *bun.SelectQuery, f conversationQuery) (err error) {
	in := conversationSearch
	switch {
	case f.termsBy == byRow:
		q.ApplyQueryBuilder(r.hasTerms(in, f.Terms))
		return nil
	case r.store.postgres:
		q.ApplyQueryBuilder(r.named(in, f.Terms))
		return nil
	}
	if f.match == "" {
		if f.match, err = r.match(ctx, in, f.Terms); err != nil {
			return err
		}
	}
	if f.termsBy == byBesides {
		q.Where("+?TableName.id IN (SELECT s.rowid FROM ? AS s WHERE s.? MATCH ?)", bun.Ident(in.name), bun.Ident(in.name), f.match)
		return nil
	}
	q.ModelTableExpr("? AS s CROSS JOIN ?TableName", bun.Ident(in.name)).Where("s.? MATCH ? AND ?TableName.id = s.rowid", bun.Ident(in.name), f.match)
	return nil
}
