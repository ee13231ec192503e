package memstore

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/kb"
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

// preference returns the rank of a document's locale in the query's list. The source locale comes after the list; others are
// not searched.
func (d *documentRow) preference(locales []kb.LocaleChoice) (int, bool) {
	if i := slices.IndexFunc(locales, func(c kb.LocaleChoice) bool { return c.Matches(d.Document) }); i >= 0 {
		return i, true
	}
	return len(locales), d.Source
}

func (r kbReader) Postings(ctx context.Context, q kb.PostingQuery) ([][]kb.Posting, error) {
	return r.postings(ctx, q, false)
}

func (r kbReader) PublishedPostings(ctx context.Context, q kb.PostingQuery) ([][]kb.Posting, error) {
	return r.postings(ctx, q, true)
}

func (r kbReader) postings(ctx context.Context, q kb.PostingQuery, published bool) ([][]kb.Posting, error) {
	return query(ctx, r.src, func(db *data) ([][]kb.Posting, error) {
		found := make([][]kb.Posting, len(q.Terms))
		if q.Limit <= 0 {
			return found, nil
		}
		for _, d := range r.documents(db) {
			if published && !d.Published {
				continue
			}
			if a, err := db.articles.get(r.scope.AccountID, d.ArticleID); err != nil || !passes(a, q.Filter) {
				continue
			}
			for i, t := range q.Terms {
				for _, w := range matching(d.Terms, t) {
					if w.Rank <= q.Last {
						found[i] = append(found[i], kb.Posting{DocumentID: d.ID, WeightedTerm: w})
					}
				}
			}
		}
		for i, list := range found {
			slices.SortFunc(list, func(a, b kb.Posting) int {
				return cmp.Or(cmp.Compare(a.Rank, b.Rank), -cmp.Compare(a.Term, b.Term), -cmp.Compare(a.Weight, b.Weight), -cmp.Compare(a.DocumentID, b.DocumentID))
			})
			of := map[kb.Rank]int{}
			found[i] = slices.DeleteFunc(list, func(p kb.Posting) bool { of[p.Rank]++; return of[p.Rank] > q.Limit })
		}
		return found, nil
	})
}

// documents lists the documents of the site.
func (r kbReader) documents(db *data) (all []*documentRow) {
	for _, d := range db.documents.all(r.scope.AccountID) {
		if d.SiteID == r.scope.SiteID {
			all = append(all, d)
		}
	}
	return all
}

// matching returns those of sorted terms that match one.
func matching(terms []kb.WeightedTerm, t kb.SearchTerm) []kb.WeightedTerm {
	begin, _ := slices.BinarySearchFunc(terms, t.Text, func(w kb.WeightedTerm, text string) int { return cmp.Compare(w.Term, text) })
	end := begin
	for end < len(terms) && (terms[end].Term == t.Text || t.Prefix && strings.HasPrefix(terms[end].Term, t.Text)) {
		end++
	}
	return terms[begin:end]
}

func (r kbReader) PostingsAmong(ctx context.Context, documents []int64, terms []kb.SearchTerm) ([]kb.Posting, error) {
	return query(ctx, r.src, func(db *data) ([]kb.Posting, error) {
		var found []kb.Posting
		for _, d := range r.documents(db) {
			if slices.Contains(documents, d.ID) {
				for _, t := range terms {
					for _, w := range matching(d.Terms, t) {
						found = append(found, kb.Posting{DocumentID: d.ID, WeightedTerm: w})
					}
				}
			}
		}
		slices.SortFunc(found, func(a, b kb.Posting) int {
			return cmp.Or(cmp.Compare(a.DocumentID, b.DocumentID), cmp.Compare(a.Term, b.Term))
		})
		return slices.Compact(found), nil
	})
}

func (r kbReader) Frequencies(ctx context.Context, terms []string, limit int) (documents int64, each []int64, err error) {
	each = make([]int64, len(terms))
	_, err = query(ctx, r.src, func(db *data) (bool, error) {
		for _, d := range r.documents(db) {
			if !d.Published {
				continue
			}
			documents++
			for i, t := range terms {
				each[i] += int64(len(matching(d.Terms, kb.SearchTerm{Text: t})))
			}
		}
		return true, nil
	})
	for i := range each {
		each[i] = min(each[i], int64(limit))
	}
	return min(documents, 20*int64(limit)), each, err
}

func (r kbReader) FindDocuments(ctx context.Context, q kb.DocumentQuery) ([]kb.Hit, error) {
	return query(ctx, r.src, func(db *data) ([]kb.Hit, error) {
		var hits []kb.Hit
		for _, d := range r.documents(db) {
			asked := slices.Contains(q.IDs, d.ID) || len(q.IDs) == 0 && d.Published && slices.Contains(q.Articles, d.ArticleID)
			if asked && db.shown(r.scope.AccountID, d, q.Locales) {
				hits = append(hits, kb.Hit{ID: d.ID, ArticleID: d.ArticleID, Locale: d.Locale})
			}
		}
		slices.SortFunc(hits, func(a, b kb.Hit) int { return cmp.Compare(a.ID, b.ID) })
		return hits, nil
	})
}

// shown reports whether a document is in the language in which its article is shown.
func (db *data) shown(account int64, d *documentRow, locales []kb.LocaleChoice) bool {
	own, searched := d.preference(locales)
	return searched && !db.documents.conflict(account, d.ID, func(o *documentRow) bool {
		other, ok := o.preference(locales)
		return o.ArticleID == d.ArticleID && ok && (other < own || other == own && o.Locale < d.Locale)
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
		return words[:min(len(words), 500)], nil
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
