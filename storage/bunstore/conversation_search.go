package bunstore

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
)

// A search is read in one of three ways. Common words: the list's order is walked and the terms of each row are checked.
// Rare words: the index of the terms returns all hits, which are read and sorted. In between, and for words that are common
// in another part of the list, the index returns the hits while the order is walked.
//
// Both databases count hits up to a limit before they read them. SQLite counts the first at once. PostgreSQL's index returns
// all hits or none, and its planner's statistics cover all accounts and only some words: there the beginning of the list is
// read first, which shows how common the words are.
const (
	fewHits     = 4 * fewRows   // up to this many are read and sorted on SQLite
	someHits    = 8 * fewHits   // ... when the alternative is walking a list that has no index in its order, and on PostgreSQL
	manyHits    = 32 * fewHits  // from here on SQLite checks each row instead
	mostHits    = 4 * manyHits  // up to this many are read and sorted on PostgreSQL when the list does not begin with them
	firstRows   = 4 * fewRows   // of a list, whose terms PostgreSQL checks before it uses the index
	furtherRows = 8 * firstRows // of a list, whose terms are checked when the words are common
)

// termsBy is a way of finding the conversations that have some terms.
type termsBy int

const (
	byIndex   termsBy = iota // the index of the terms returns them
	byRow                    // the terms of each row are checked
	byBesides                // the index returns them while the list's order is walked
)

// searchConversations lists conversations that match terms.
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

// searchSet looks for terms in a whole set of conversations.
func (r reader) searchSet(ctx context.Context, q conversationQuery, set conversationSet) ([]helpdesk.Conversation, error) {
	q.walk, q.bound, q.index, q.termsBy, q.beside = false, nil, set.index, byRow, !set.tags
	return r.conversationPage(ctx, q)
}

func (r reader) searchPostgres(ctx context.Context, q conversationQuery, sets []conversationSet) ([]helpdesk.Conversation, error) {
	most := someHits
	for rows := firstRows; ; rows *= 8 {
		page, done, err := r.searchNext(ctx, q, rows, len(sets) > 0)
		if done || err != nil {
			return page, err
		}
		if rows > furtherRows {
			break
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
		hits, err := r.indexed(ctx, conversationSearch, q.Terms, most+1)
		if err != nil {
			return nil, err
		}
		if hits <= most {
			q.walk, q.index, q.termsBy = false, "", byIndex
			return r.conversationPage(ctx, q)
		}
		if rows == furtherRows && len(page) == 0 {
			small, err := r.small(ctx, q, 8*rows)
			if err != nil {
				return nil, err
			}
			if !small { // the hits are in another part of the list
				break
			}
		}
		most = mostHits
	}
	set, err := r.few(ctx, sets, 8*furtherRows)
	if err != nil {
		return nil, err
	}
	if set != nil {
		return r.searchSet(ctx, q, *set)
	}
	q.bound, q.termsBy = nil, byBesides
	return r.conversationPage(ctx, q)
}

// small reports whether an index has a list in its order and at most n rows from its position on. The terms of these are soon
// checked, while the index of the terms may return many of other lists.
func (r reader) small(ctx context.Context, q conversationQuery, n int) (bool, error) {
	if q.listed = r.keyed(q.ConversationOrder); !q.listed {
		return false, nil
	}
	end, err := r.near(ctx, q, n)
	return end == nil && err == nil, err
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
		set, err := r.few(ctx, sets, someHits)
		if err != nil {
			return nil, err
		}
		if set != nil {
			return r.searchSet(ctx, q, *set)
		}
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
	set, err := r.few(ctx, sets, manyHits)
	if err != nil {
		return nil, err
	}
	if set != nil {
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

// searchNext looks for terms in the next rows of a list, or of all conversations in its order when no index has those of the
// list. It reports whether the page is complete.
func (r reader) searchNext(ctx context.Context, q conversationQuery, rows int, unordered bool) (page []helpdesk.Conversation, done bool, err error) {
	q.termsBy = byRow
	q.listed = !unordered || r.keyed(q.ConversationOrder)
	if q.bound, err = r.near(ctx, q, rows); err != nil {
		return nil, false, err
	}
	page, err = r.conversationPage(ctx, q)
	return page, q.bound == nil || len(page) == q.seek.Limit, err
}

// withTerms restricts a query to the conversations that have all terms.
func (r reader) withTerms(ctx context.Context, q *bun.SelectQuery, f conversationQuery) (err error) {
	in := conversationSearch
	switch {
	case f.termsBy == byRow:
		q.ApplyQueryBuilder(r.hasTerms(in, f.Terms))
		return nil
	case r.store.postgres:
		q.ApplyQueryBuilder(r.named(in, f.Terms, f.termsBy == byBesides))
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
