package bunstore

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage/search"
)

// postingRow says that a document has a term.
type postingRow struct {
	bun.BaseModel `bun:"table:hw_article_postings,alias:p"`
	AccountID     int64
	SiteID        int64
	Published     bool
	Rank          kb.Rank
	Term          string
	Weight        int64
	DocumentID    int64
}

// Postings implements [kb.SearchReader].
func (r kbReader) Postings(ctx context.Context, q kb.PostingQuery) ([][]kb.Posting, error) {
	return r.postings(ctx, q, true, false)
}

// PublishedPostings implements [kb.PublicSearcher].
func (r kbReader) PublishedPostings(ctx context.Context, q kb.PostingQuery) ([][]kb.Posting, error) {
	return r.postings(ctx, q, true)
}

// postingRange is a range of the index: a term or a prefix, at a rank, of documents that are published or not.
type postingRange struct {
	place     int // of the term in the query
	published bool
	rank      kb.Rank
	first     string
	last      string
}

// maxRanges is how many ranges one statement reads. SQLite limits the parts of a statement to 500.
const maxRanges = 200

func (r kbReader) postings(ctx context.Context, q kb.PostingQuery, published ...bool) ([][]kb.Posting, error) {
	found := make([][]kb.Posting, len(q.Terms))
	if err := checkText(q.Terms); err != nil {
		return nil, err
	}
	if q.Limit <= 0 || len(q.Terms) == 0 {
		return found, r.state()
	}
	var ranges []postingRange
	for i, t := range q.Terms {
		for rank := kb.InTitle; rank <= q.Last; rank++ {
			for _, p := range published {
				ranges = append(ranges, postingRange{i, p, rank, t.Text, lastTerm(t)})
			}
		}
	}
	for some := range slices.Chunk(ranges, maxRanges) {
		if err := r.readRanges(ctx, q, some, found); err != nil {
			return nil, failure(ctx, err, "article", 0)
		}
	}
	for i, list := range found {
		slices.SortFunc(list, func(a, b kb.Posting) int {
			return cmp.Or(cmp.Compare(a.Rank, b.Rank), -cmp.Compare(a.Term, b.Term), -cmp.Compare(a.Weight, b.Weight), -cmp.Compare(a.DocumentID, b.DocumentID))
		})
		if len(published) > 1 {
			of := [kb.InContent + 1]int{}
			found[i] = slices.DeleteFunc(list, func(p kb.Posting) bool { of[p.Rank]++; return of[p.Rank] > q.Limit })
		}
	}
	return found, nil
}

// lastTerm returns the last term that matches a term or a prefix.
func lastTerm(t kb.SearchTerm) string {
	if t.Prefix {
		return t.Text + "\U0010ffff"
	}
	return t.Text
}

// readRanges reads ranges of the index, each from its end to its beginning.
func (r kbReader) readRanges(ctx context.Context, q kb.PostingQuery, ranges []postingRange, found [][]kb.Posting) error {
	var ofArticles any = bun.Safe("TRUE")
	if f := q.Filter; f.CollectionID != 0 || f.CategoryID != 0 || f.IDs != nil || f.Loose || f.Outdated || f.Drafts {
		only := r.db.NewSelect().TableExpr("hw_article_documents AS d").ColumnExpr("1").
			Where("d.account_id = p.account_id AND d.id = p.document_id").ApplyQueryBuilder(filtered(f))
		ofArticles = r.raw("EXISTS (?)", only)
	}
	const (
		from  = "SELECT p.rank, p.term, p.weight, p.document_id FROM hw_article_postings AS p WHERE p.account_id = ? AND p.site_id = ? AND "
		order = " AND ? ORDER BY p.term DESC, p.weight DESC, p.document_id DESC LIMIT ?"
	)
	parts, args := make([]string, len(ranges)), []any{}
	statement := ""
	if r.store.postgres { // a shorter statement, quicker to plan
		for i, g := range ranges {
			parts[i] = "(?, ?, ?, ?, ?)"
			args = append(args, g.place, g.published, int(g.rank), g.first, g.last)
		}
		statement = "SELECT g.place, f.* FROM (VALUES " + strings.Join(parts, ", ") + ") AS g (place, published, rank, first, last) CROSS JOIN LATERAL (" + from +
			`p.published = g.published AND p.rank = g.rank AND p.term >= g.first COLLATE "C" AND p.term <= g.last COLLATE "C"` + order + ") AS f"
		args = append(args, r.scope.AccountID, r.scope.SiteID, ofArticles, q.Limit)
	} else {
		for i, g := range ranges {
			parts[i] = "SELECT " + strconv.Itoa(g.place) + ", f.* FROM (" + from + "p.published = ? AND p.rank = ? AND p.term >= ? AND p.term <= ?" + order + ") AS f"
			args = append(args, r.scope.AccountID, r.scope.SiteID, g.published, int(g.rank), g.first, g.last, ofArticles, q.Limit)
		}
		statement = strings.Join(parts, " UNION ALL ")
	}
	return r.rows(ctx, func(rows *sql.Rows) error {
		var place int
		var p kb.Posting
		err := rows.Scan(&place, &p.Rank, &p.Term, &p.Weight, &p.DocumentID)
		found[place] = append(found[place], p)
		return err
	}, statement, args...)
}

// PostingsAmong implements [kb.PublicSearcher].
func (r kbReader) PostingsAmong(ctx context.Context, documents []int64, terms []kb.SearchTerm) ([]kb.Posting, error) {
	if err := checkText(terms); err != nil || len(documents) == 0 || len(terms) == 0 {
		return nil, cmp.Or(err, r.state())
	}
	exact := []string{}
	var parts []string
	var args []any
	const among = "SELECT p.rank, p.term, p.weight, p.document_id FROM hw_article_postings AS p WHERE p.account_id = ? AND p.site_id = ? AND p.document_id IN (?) AND "
	for _, t := range terms {
		if !t.Prefix {
			exact = append(exact, t.Text)
			continue
		}
		parts = append(parts, among+"p.term >= ? AND p.term <= ?")
		args = append(args, r.scope.AccountID, r.scope.SiteID, bun.List(documents), t.Text, lastTerm(t))
	}
	if len(exact) > 0 {
		parts = append(parts, among+"p.term IN (?)")
		args = append(args, r.scope.AccountID, r.scope.SiteID, bun.List(documents), bun.List(exact))
	}
	var found []kb.Posting
	err := r.rows(ctx, func(rows *sql.Rows) error {
		var p kb.Posting
		err := rows.Scan(&p.Rank, &p.Term, &p.Weight, &p.DocumentID)
		found = append(found, p)
		return err
	}, strings.Join(parts, " UNION ALL "), args...)
	slices.SortFunc(found, func(a, b kb.Posting) int {
		return cmp.Or(cmp.Compare(a.DocumentID, b.DocumentID), cmp.Compare(a.Term, b.Term))
	})
	return slices.Compact(found), failure(ctx, err, "article", 0) // prefixes may have words in common
}

// Frequencies implements [kb.PublicSearcher].
func (r kbReader) Frequencies(ctx context.Context, terms []string, limit int) (documents int64, each []int64, err error) {
	if err := checkText(terms); err != nil {
		return 0, nil, err
	}
	each = make([]int64, len(terms))
	parts := []string{"SELECT -1, COUNT(*) FROM (SELECT 1 FROM hw_article_documents WHERE account_id = ? AND site_id = ? AND published = TRUE ORDER BY locale LIMIT ?) AS c"}
	args := []any{r.scope.AccountID, r.scope.SiteID, 20 * limit}
	for i, t := range terms {
		for rank := kb.InTitle; rank <= kb.InContent; rank++ {
			parts = append(parts, `SELECT ?, COUNT(*) FROM (SELECT 1 FROM hw_article_postings
				WHERE account_id = ? AND site_id = ? AND published = TRUE AND rank = ? AND term = ? LIMIT ?) AS c`)
			args = append(args, i, r.scope.AccountID, r.scope.SiteID, int(rank), t, limit)
		}
	}
	err = r.rows(ctx, func(rows *sql.Rows) error {
		var place int
		var n int64
		if err := rows.Scan(&place, &n); err != nil || place < 0 {
			documents = max(documents, n)
			return err
		}
		each[place] = min(each[place]+n, int64(limit))
		return nil
	}, strings.Join(parts, " UNION ALL "), args...)
	return documents, each, failure(ctx, err, "site", r.scope.SiteID)
}

// FindDocuments implements [kb.PublicSearcher].
func (r kbReader) FindDocuments(ctx context.Context, q kb.DocumentQuery) ([]kb.Hit, error) {
	if err := checkText(q.Locales); err != nil || len(q.IDs)+len(q.Articles) == 0 {
		return nil, cmp.Or(err, r.state())
	}
	s := r.db.NewSelect().Conn(r.conn()).Err(r.state()).TableExpr("hw_article_documents AS d").ColumnExpr("d.id, d.article_id, d.locale").
		Where("d.account_id = ? AND d.site_id = ?", r.scope.AccountID, r.scope.SiteID)
	if len(q.IDs) > 0 {
		s.Where("d.id IN (?)", bun.List(q.IDs))
	} else {
		s.Where("d.article_id IN (?) AND d.published = TRUE", bun.List(q.Articles))
	}
	var hits []kb.Hit
	err := s.ApplyQueryBuilder(shown(q.Locales)).Order("d.id").Scan(ctx, &hits)
	return hits, failure(ctx, err, "article", 0)
}

// shown restricts documents to the best language of each article.
func shown(locales []kb.LocaleChoice) filter {
	// preference returns the rank of a document's locale in the query's list; the source locale comes after the list, others
	// have no rank.
	preference := func(alias string) schema.QueryWithArgs {
		var b strings.Builder
		var args []any
		b.WriteString("CASE ")
		for i, c := range locales {
			if c.Locale != "" {
				b.WriteString("WHEN ?.locale = ? ")
				args = append(args, bun.Ident(alias), c.Locale)
			} else {
				b.WriteString("WHEN ?.language = ? ")
				args = append(args, bun.Ident(alias), c.Language)
			}
			b.WriteString("THEN " + strconv.Itoa(i) + " ")
		}
		b.WriteString("WHEN ?.source THEN " + strconv.Itoa(len(locales)) + " END")
		return bun.SafeQuery(b.String(), append(args, bun.Ident(alias))...)
	}
	return func(s bun.QueryBuilder) bun.QueryBuilder {
		return s.Where("? IS NOT NULL", preference("d")).
			Where(`NOT EXISTS (SELECT 1 FROM hw_article_documents AS o WHERE o.account_id = d.account_id AND o.article_id = d.article_id
				AND (?, o.locale) < (?, d.locale))`, preference("o"), preference("d"))
	}
}

// filtered restricts documents to those of some articles.
func filtered(f kb.ArticleFilter) filter {
	return func(s bun.QueryBuilder) bun.QueryBuilder {
		if f.IDs != nil {
			s = s.Where("d.article_id IN (?)", bun.List(append([]int64{0}, f.IDs...)))
		}
		if f.CollectionID != 0 {
			s = s.Where(`EXISTS (SELECT 1 FROM hw_articles AS a WHERE a.account_id = d.account_id AND a.id = d.article_id
				AND a.collection_id = ?)`, f.CollectionID)
		}
		if f.Outdated {
			s = s.Where(`EXISTS (SELECT 1 FROM hw_articles AS a WHERE a.account_id = d.account_id AND a.id = d.article_id AND a.outdated > 0)`)
		}
		if f.Drafts {
			s = s.Where(`EXISTS (SELECT 1 FROM hw_articles AS a WHERE a.account_id = d.account_id AND a.id = d.article_id AND a.draft > 0)`)
		}
		if f.Loose {
			s = s.Where(`EXISTS (SELECT 1 FROM hw_articles AS a WHERE a.account_id = d.account_id AND a.id = d.article_id
				AND a.category_ids = '[]')`)
		}
		if f.CategoryID != 0 {
			s = s.Where(`EXISTS (SELECT 1 FROM hw_article_categories AS c WHERE c.account_id = d.account_id AND c.article_id = d.article_id
				AND c.category_id = ?)`, f.CategoryID)
		}
		return s
	}
}

// Spellings implements [kb.PublicSearcher].
func (r kbReader) Spellings(ctx context.Context, variants []string) ([]string, error) {
	if len(variants) == 0 {
		return nil, r.state()
	}
	var words []string
	err := r.raw("SELECT DISTINCT word FROM hw_article_spellings WHERE account_id = ? AND site_id = ? AND variant IN (?) ORDER BY word LIMIT 500",
		r.scope.AccountID, r.scope.SiteID, bun.List(variants)).Scan(ctx, &words)
	return words, failure(ctx, err, "site", r.scope.SiteID)
}

type documentRow struct {
	bun.BaseModel `bun:"table:hw_article_documents,alias:d"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	SiteID        int64
	ArticleID     int64
	Locale        string
	Language      string
	Source        bool
	Published     bool
}

// SetDocuments implements [kb.SearchWriter].
func (w kbWriter) SetDocuments(ctx context.Context, articleID int64, documents []kb.Document) error {
	if _, err := w.Articles().Lock(ctx, articleID); err != nil {
		return err
	}
	keep := []string{""}
	for _, d := range documents {
		keep = append(keep, d.Locale)
		if err := checkText(d.Terms); err != nil {
			return err
		}
	}
	_, err := w.deletes((*documentRow)(nil)).Where("d.account_id = ? AND d.article_id = ? AND d.locale NOT IN (?)",
		w.scope.AccountID, articleID, bun.List(keep)).Exec(ctx)
	if err != nil {
		return failure(ctx, err, "article", articleID)
	}
	for _, d := range documents {
		if err := w.setDocument(ctx, articleID, d); err != nil {
			return failure(ctx, err, "article", articleID)
		}
	}
	return nil
}

func (w kbWriter) setDocument(ctx context.Context, articleID int64, d kb.Document) error {
	var id int64
	err := w.raw(`INSERT INTO hw_article_documents (account_id, site_id, article_id, locale, language, source, published)
		VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (account_id, article_id, locale) DO UPDATE SET language = excluded.language, source = excluded.source, published = excluded.published RETURNING id`,
		w.scope.AccountID, w.scope.SiteID, articleID, d.Locale, d.Language, d.Source, d.Published).Scan(ctx, &id)
	if err != nil {
		return err
	}
	if _, err := w.deletes((*postingRow)(nil)).Where("p.account_id = ? AND p.document_id = ?", w.scope.AccountID, id).Exec(ctx); err != nil {
		return err
	}
	var rows []postingRow
	for _, t := range d.Terms {
		rows = append(rows, postingRow{
			AccountID: w.scope.AccountID, SiteID: w.scope.SiteID, Published: d.Published, Rank: t.Rank, Term: t.Term, Weight: t.Weight, DocumentID: id,
		})
	}
	for some := range slices.Chunk(rows, searchBatch) {
		if _, err := w.inserts(&some).Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

type spellingRow struct {
	bun.BaseModel `bun:"table:hw_article_spellings"`
	AccountID     int64
	SiteID        int64
	Variant       string
	Word          string
}

// searchBatch is how many rows of the search index a single statement writes.
const searchBatch = 500

// AddSpellings implements [kb.SearchWriter].
func (w kbWriter) AddSpellings(ctx context.Context, words []string) error {
	if _, err := w.Sites().Get(ctx, w.scope.SiteID); err != nil {
		return err
	}
	var rows []spellingRow
	for some := range slices.Chunk(words, searchBatch) { // sorted, so that transactions do not deadlock
		known, err := w.spelled(ctx, some)
		if err != nil {
			return failure(ctx, err, "site", w.scope.SiteID)
		}
		for _, word := range some {
			if known[word] {
				continue
			}
			for _, v := range search.Variants(word) {
				rows = append(rows, spellingRow{AccountID: w.scope.AccountID, SiteID: w.scope.SiteID, Variant: v, Word: word})
			}
		}
	}
	for some := range slices.Chunk(rows, searchBatch) {
		if _, err := w.inserts(&some).On("CONFLICT DO NOTHING").Exec(ctx); err != nil {
			return failure(ctx, err, "site", w.scope.SiteID)
		}
	}
	return nil
}

// spelled returns which words are known, as most words of an article are.
func (w kbWriter) spelled(ctx context.Context, words []string) (map[string]bool, error) {
	var pairs []string
	var args []any
	for _, word := range words {
		if v := search.Variants(word); v != nil {
			pairs, args = append(pairs, "(?, ?)"), append(args, search.Beginning(word), word)
		}
	}
	known := map[string]bool{}
	if len(pairs) == 0 {
		return known, checkText(words)
	}
	var found []string
	// PostgreSQL would read the whole site for a list of pairs; a subquery looks each of them up.
	err := w.raw("SELECT v.column2 FROM (VALUES "+strings.Join(pairs, ", ")+`) AS v WHERE (SELECT 1 FROM hw_article_spellings AS s
		WHERE s.account_id = ? AND s.site_id = ? AND s.variant = v.column1 AND s.word = v.column2) = 1`,
		append(args, w.scope.AccountID, w.scope.SiteID)...).Scan(ctx, &found)
	for _, word := range found {
		known[word] = true
	}
	return known, err
}
