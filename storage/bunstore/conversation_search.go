package bunstore

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// A search is read in one of three ways. Common words: the list's order is walked and the terms of each row are checked.
// Rare words: the index of the terms returns all hits, which are read and sorted. In between, and for words that are common
// in another part of the list, the index returns the hits while the order is walked.
//
// Measured with 800,000 conversations of a hundred words: SQLite's index returns a hit in 0.25 microseconds, and it checks the
// terms of a row in 5. PostgreSQL's index returns a hit in 1.5, because their rows are read, and it checks those of a row in 3.
// So SQLite counts hits first, and PostgreSQL begins with rows, and takes a sample of all before it counts.
const (
	fewHits  = 4 * fewRows  // up to this many are read and sorted on SQLite
	someHits = 8 * fewHits  // ... when no index has the list in its order, and on PostgreSQL when the list does not begin with them
	manyHits = 32 * fewHits // ... on PostgreSQL when further rows do not fill the page; from here on words are common
	mostHits = 4 * manyHits // ... on PostgreSQL when even the last rows do not

	firstRows   = 4 * fewRows    // of a list, whose terms PostgreSQL checks before it uses the index
	furtherRows = 8 * firstRows  // ... for words that are not rare; SQLite checks as many for common words
	mostRows    = 64 * firstRows // ... for common words; of a set, SQLite checks as many
)

// termsBy is a way of finding the conversations that have some terms.
type termsBy int

const (
	byIndex   termsBy = iota // the index of the terms returns them
	byRow                    // the terms of each row are checked
	byBesides                // the index returns them all, and each row of the list or set is looked up among them
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
	const unknown = -1
	hits := unknown
	for rows := firstRows; ; rows *= 8 {
		page, end, err := r.searchNext(ctx, q, rows, len(sets) > 0)
		if end == nil || err != nil {
			return page, err
		}
		set, err := r.few(ctx, sets, min(nearBy*rows, mostRows))
		if err != nil {
			return nil, err
		}
		if set != nil {
			return r.searchSet(ctx, q, *set)
		}
		if rows > mostRows {
			break
		}
		if rows == mostRows {
			further, err := r.dropped(ctx, q, end)
			if err != nil {
				return nil, err
			}
			if !further {
				break
			}
			continue
		}
		if len(page)*8 >= q.seek.Limit { // the next rows may fill it
			continue
		}
		if hits == unknown {
			if hits, err = r.rareHits(ctx, q.Terms); err != nil {
				return nil, err
			}
		}
		if hits <= someHits || hits <= manyHits && rows == furtherRows {
			return r.searchHits(ctx, q)
		}
	}
	hits, err := r.indexed(ctx, conversationSearch, q.Terms, mostHits+1)
	if err != nil {
		return nil, err
	}
	if hits <= mostHits {
		return r.searchHits(ctx, q)
	}
	q.bound, q.termsBy = nil, byBesides
	return r.conversationPage(ctx, q)
}

// rareHits counts the hits of terms, up to one more than manyHits. It returns that many at once when a sample shows that the
// terms are common.
func (r reader) rareHits(ctx context.Context, terms []helpdesk.SearchTerm) (int, error) {
	common, err := r.common(ctx, conversationSearch, terms)
	if common || err != nil {
		return manyHits + 1, err
	}
	return r.indexed(ctx, conversationSearch, terms, manyHits+1)
}

// dropped reports whether the list's other filters drop nearly all rows up to a position. Dropping a row costs less than
// checking its terms, and the hits may be anywhere.
func (r reader) dropped(ctx context.Context, q conversationQuery, end *storage.Position) (bool, error) {
	q.Terms, q.marks, q.bound, q.seek.Limit = nil, nil, end, samples
	passed, err := r.conversationPage(ctx, q)
	return len(passed) < samples, err
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
	if hits <= fewHits {
		return r.searchHits(ctx, q)
	}
	set, err := r.few(ctx, sets, furtherRows)
	if err != nil {
		return nil, err
	}
	if set != nil {
		return r.searchSet(ctx, q, *set)
	}
	page, end, err := r.searchNext(ctx, q, fewRows, len(sets) > 0)
	if end == nil || err != nil {
		return page, err
	}
	if hits, err = r.hits(ctx, conversationSearch, q.match, manyHits); err != nil {
		return nil, err
	}
	if len(sets) > 0 && hits <= someHits {
		return r.searchHits(ctx, q)
	}
	if hits == manyHits {
		page, end, err := r.searchNext(ctx, q, furtherRows, len(sets) > 0)
		if end == nil || err != nil {
			return page, err
		}
		if set, err = r.few(ctx, sets, mostRows); err != nil {
			return nil, err
		}
		if set != nil {
			return r.searchSet(ctx, q, *set)
		}
	}
	if set, err = r.few(ctx, sets, mostHits); err != nil {
		return nil, err
	}
	q.bound, q.termsBy = nil, byBesides
	if set != nil {
		q.walk, q.index, q.beside = false, set.index, !set.tags
	}
	return r.conversationPage(ctx, q)
}

// searchHits reads the hits of the index of terms and sorts them.
func (r reader) searchHits(ctx context.Context, q conversationQuery) ([]helpdesk.Conversation, error) {
	q.walk, q.index, q.bound, q.termsBy = false, "", nil, byIndex
	return r.conversationPage(ctx, q)
}

// searchNext looks for terms in the next rows of a list, or of all conversations in its order when no index has those of the
// list. It returns where it ended; nil when the page is complete.
func (r reader) searchNext(ctx context.Context, q conversationQuery, rows int, unordered bool) (page []helpdesk.Conversation, end *storage.Position, err error) {
	q.termsBy = byRow
	q.listed = !unordered || r.keyed(q.ConversationOrder)
	if q.bound, err = r.near(ctx, q, rows); err != nil {
		return nil, nil, err
	}
	page, err = r.conversationPage(ctx, q)
	if len(page) == q.seek.Limit {
		return page, nil, err
	}
	return page, q.bound, err
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
