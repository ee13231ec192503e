package memstore

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/search"
)

// documentRow is an article's entry in the search index for one language.
type documentRow struct {
	ID, SiteID, ArticleID int64
	kb.Document
}

// spellingRow is a word of a site.
type spellingRow struct {
	SiteID int64
	Word   string
}

// terms returns the terms of the fields up to a rank.
func (d *documentRow) terms(rank kb.Rank) []string {
	terms := slices.Clone(d.Title)
	if rank >= kb.InSummary {
		terms = append(terms, d.Summary...)
	}
	if rank >= kb.InContent {
		terms = append(terms, d.Content...)
	}
	slices.Sort(terms)
	return terms
}

// has reports whether the fields up to a rank match each word.
func (d *documentRow) has(words [][]kb.SearchTerm, rank kb.Rank) bool {
	return search.Match(d.terms(rank), words)
}

// preference returns the rank of a document's locale in the query's list. The source locale comes after the list; others are
// not searched.
func (d *documentRow) preference(locales []kb.LocaleChoice) (int, bool) {
	if i := slices.IndexFunc(locales, func(c kb.LocaleChoice) bool { return c.Matches(d.Document) }); i >= 0 {
		return i, true
	}
	return len(locales), d.Source
}

func (r kbReader) find(ctx context.Context, q kb.SearchQuery, published bool, seek storage.Seek) ([]kb.Hit, error) {
	return query(ctx, r.src, func(db *data) ([]kb.Hit, error) { return r.hits(db, q, published, seek), nil })
}

func (r kbReader) hits(db *data, q kb.SearchQuery, published bool, seek storage.Seek) []kb.Hit {
	var hits []kb.Hit
	for _, d := range db.documents.list(r.scope.AccountID, seek, func(d *documentRow) bool {
		return d.SiteID == r.scope.SiteID && (d.Published || !published) && db.finds(r.scope.AccountID, d, q)
	}) {
		hits = append(hits, kb.Hit{ID: d.ID, ArticleID: d.ArticleID, Locale: d.Locale})
	}
	return hits
}

// finds reports whether a query matches a document.
func (db *data) finds(account int64, d *documentRow, q kb.SearchQuery) bool {
	if !d.has(q.Words, q.Rank) || q.Rank > kb.InTitle && d.has(q.Words, q.Rank-1) {
		return false
	}
	if a, err := db.articles.get(account, d.ArticleID); err != nil || !passes(a, q.Filter) {
		return false
	}
	own, searched := d.preference(q.Locales)
	return searched && !db.documents.conflict(account, d.ID, func(o *documentRow) bool {
		other, ok := o.preference(q.Locales)
		return o.ArticleID == d.ArticleID && ok && (other < own || other == own && o.Locale < d.Locale)
	})
}

func (r kbReader) FindArticles(ctx context.Context, q kb.SearchQuery, seek storage.Seek) ([]kb.Hit, error) {
	return r.find(ctx, q, false, seek)
}

func (r kbReader) FindPublished(ctx context.Context, q kb.SearchQuery, seek storage.Seek) ([]kb.Hit, error) {
	return r.find(ctx, q, true, seek)
}

func (r kbReader) FindPublishedEach(ctx context.Context, q kb.SearchQuery, words []kb.SearchTerm, limit int) ([][]kb.Hit, error) {
	return query(ctx, r.src, func(db *data) ([][]kb.Hit, error) {
		found := make([][]kb.Hit, len(words))
		for i, word := range words {
			q.Words = [][]kb.SearchTerm{{word}}
			if found[i] = r.hits(db, q, true, storage.Seek{Limit: limit}); len(found[i]) == limit {
				found[i] = nil
			}
		}
		return found, nil
	})
}

func (r kbReader) Spellings(ctx context.Context, variants []string) ([]string, error) {
	return query(ctx, r.src, func(db *data) ([]string, error) {
		var words []string
		for _, s := range db.spellings.all(r.scope.AccountID) {
			if s.SiteID == r.scope.SiteID && slices.ContainsFunc(search.Variants(s.Word), func(v string) bool { return slices.Contains(variants, v) }) {
				words = append(words, s.Word)
			}
		}
		slices.Sort(words)
		return words[:min(len(words), 100)], nil
	})
}

func (t kbTx) SetDocuments(ctx context.Context, articleID int64, documents []kb.Document) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.article(t.scope, articleID); err != nil {
			return err
		}
		account := t.scope.AccountID
		db.documents.removeIf(account, func(d *documentRow) bool {
			return d.ArticleID == articleID && !slices.ContainsFunc(documents, func(n kb.Document) bool { return n.Locale == d.Locale })
		})
		for _, d := range documents {
			row := documentRow{SiteID: t.scope.SiteID, ArticleID: articleID, Document: d}
			if old, err := db.documents.first(account, func(o *documentRow) bool { return o.ArticleID == articleID && o.Locale == d.Locale }); err == nil {
				row.ID = old.ID
				if err := db.documents.update(account, row.ID, &row); err != nil {
					return err
				}
			} else if err := db.documents.insert(account, &row, &row.ID); err != nil {
				return err
			} else {
				db.documents.set(account, row.ID, clone(&row)) // including its id
			}
		}
		return nil
	})
}

func (t kbTx) AddSpellings(ctx context.Context, words []string) error {
	return t.write(ctx, func(db *data) error {
		account := t.scope.AccountID
		if _, err := db.site(t.scope, t.scope.SiteID); err != nil {
			return err
		}
		for _, w := range words {
			known := db.spellings.conflict(account, 0, func(s *spellingRow) bool { return s.SiteID == t.scope.SiteID && s.Word == w })
			if known || search.Variants(w) == nil {
				continue
			}
			var id int64
			if err := db.spellings.insert(account, &spellingRow{SiteID: t.scope.SiteID, Word: w}, &id); err != nil {
				return err
			}
		}
		return nil
	})
}

// forgetArticle deletes what is stored alongside an article and its revisions.
func (db *data) forgetArticle(account, articleID int64) {
	db.documents.removeIf(account, func(d *documentRow) bool { return d.ArticleID == articleID })
	db.feedback.removeIf(account, func(f *kb.Feedback) bool { return f.ArticleID == articleID })
	db.reactions.removeIf(account, func(r *kb.VisitorReaction) bool { return r.ArticleID == articleID })
}
