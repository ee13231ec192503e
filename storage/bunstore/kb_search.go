package bunstore

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/schema"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/search"
)

// The tokens of all documents of a site, and of its published ones, so that a search reads no others.
func siteToken(siteID int64) string      { return "_" + strconv.FormatInt(siteID, 10) }
func publishedToken(siteID int64) string { return "_p" + strconv.FormatInt(siteID, 10) }

// documentFields are PostgreSQL's columns with the terms of documents up to a rank. SQLite has all terms in one index, each
// prefixed with its rank.
var documentFields = [...]string{kb.InTitle: "title", kb.InSummary: "head", kb.InContent: "whole"}

// FindArticles implements [kb.SearchReader].
func (r kbReader) FindArticles(ctx context.Context, q kb.SearchQuery, seek storage.Seek) ([]kb.Hit, error) {
	return r.find(ctx, q, siteToken(r.scope.SiteID), seek)
}

// FindPublished implements [kb.PublicSearcher].
func (r kbReader) FindPublished(ctx context.Context, q kb.SearchQuery, seek storage.Seek) ([]kb.Hit, error) {
	return r.find(ctx, q, publishedToken(r.scope.SiteID), seek)
}

// probed is how many documents PostgreSQL checks one by one before it uses the index. For a word so common that the index
// would take longer, a page fills within them.
const probed = 300

// find reads documents in id order, the order of SQLite's index, so that a page costs the same however many hits there are.
// PostgreSQL's index has no order, and its planner cannot know which words are common.
func (r kbReader) find(ctx context.Context, q kb.SearchQuery, token string, seek storage.Seek) ([]kb.Hit, error) {
	for _, word := range q.Words {
		if err := checkText(word); err != nil {
			return nil, err
		}
	}
	for _, c := range q.Locales {
		if err := checkText(c.Locale, c.Language); err != nil {
			return nil, err
		}
	}
	if seek.Limit <= 0 {
		return nil, r.state()
	}
	if r.store.postgres {
		hits, err := r.findAmong(ctx, q, token, seek, probed)
		if err != nil || len(hits) == seek.Limit {
			return hits, err
		}
	}
	return r.findAmong(ctx, q, token, seek, 0)
}

// FindPublishedEach implements [kb.PublicSearcher] with one statement for all words, or one per search method on PostgreSQL.
func (r kbReader) FindPublishedEach(ctx context.Context, q kb.SearchQuery, words []kb.SearchTerm, limit int) ([][]kb.Hit, error) {
	found := make([][]kb.Hit, len(words))
	if err := checkText(words, q.Locales); err != nil {
		return nil, err
	}
	if limit <= 0 || len(words) == 0 {
		return found, r.state()
	}
	if r.store.postgres {
		all, err := r.findEach(ctx, q, words, limit, probed, found)
		if err != nil || all {
			return dropCommon(found, limit), err
		}
	}
	_, err := r.findEach(ctx, q, words, limit, 0, found)
	return dropCommon(found, limit), err
}

// dropCommon drops the hits of words that have as many as limit.
func dropCommon(found [][]kb.Hit, limit int) [][]kb.Hit {
	for i, hits := range found {
		if len(hits) == limit {
			found[i] = nil
		}
	}
	return found
}

// findEach looks for the words of which there may be more than what was found, as findAmong does, and reports whether it has
// looked at all documents that there are.
func (r kbReader) findEach(ctx context.Context, q kb.SearchQuery, words []kb.SearchTerm, limit, n int, found [][]kb.Hit) (all bool, err error) {
	var parts []string
	var args []any
	for i, word := range words {
		if len(found[i]) == limit {
			continue
		}
		found[i], q.Words = nil, [][]kb.SearchTerm{{word}}
		if r.store.postgres {
			parts, args = append(parts, "(?, ?::tsquery)"), append(args, i, r.tsquery(q, publishedToken(r.scope.SiteID)))
			continue
		}
		s, err := r.among(ctx, q, publishedToken(r.scope.SiteID), storage.Seek{Limit: limit}, n)
		if err != nil {
			return false, err
		}
		parts, args = append(parts, "SELECT ? AS place, f.* FROM (?) AS f"), append(args, i, s)
	}
	if len(parts) == 0 {
		return true, nil
	}
	statement := strings.Join(parts, " UNION ALL ")
	if r.store.postgres { // a shorter statement, quicker to build and to parse
		args = append(args, r.amongPostgres(q, bun.Safe("w.words"), bun.Safe("w.words"), storage.Seek{Limit: limit}, n, false))
		statement = "SELECT w.place, f.* FROM (VALUES " + strings.Join(parts, ", ") + ") AS w (place, words) CROSS JOIN LATERAL (?) AS f"
		if n > 0 { // and how many documents that were
			args = append(args, r.scope.AccountID, r.scope.SiteID, n)
			statement += ` UNION ALL SELECT -1, COUNT(*), 0, '' FROM (SELECT 1 FROM hw_article_documents AS n
				WHERE n.account_id = ? AND n.site_id = ? LIMIT ?) AS c`
		}
	}
	err = r.rows(ctx, func(rows *sql.Rows) error {
		var place int
		var hit kb.Hit
		if err := rows.Scan(&place, &hit.ID, &hit.ArticleID, &hit.Locale); err != nil {
			return err
		}
		if place < 0 {
			all = hit.ID < int64(n)
			return nil
		}
		found[place] = append(found[place], hit)
		return nil
	}, statement, args...)
	for _, hits := range found {
		slices.SortFunc(hits, func(a, b kb.Hit) int { return cmp.Compare(a.ID, b.ID) })
	}
	return all || n == 0, failure(ctx, err, "article", 0)
}

// findAmong searches only the next n documents, or all hits of the index when n is 0.
func (r kbReader) findAmong(ctx context.Context, q kb.SearchQuery, token string, seek storage.Seek, n int) ([]kb.Hit, error) {
	s, err := r.among(ctx, q, token, seek, n)
	if err != nil {
		return nil, err
	}
	var hits []kb.Hit
	err = s.Scan(ctx, &hits)
	return hits, failure(ctx, err, "article", 0)
}

// among returns the statement of findAmong.
func (r kbReader) among(ctx context.Context, q kb.SearchQuery, token string, seek storage.Seek, n int) (*bun.SelectQuery, error) {
	if r.store.postgres {
		words := bun.SafeQuery("?::tsquery", r.tsquery(q, token))
		rare := bun.SafeQuery("(SELECT ?)", words) // as the planner assumes
		return r.amongPostgres(q, rare, words, seek, n, true), nil
	}
	match, err := r.matchOfWords(ctx, q.Words, q.Rank)
	if err != nil {
		return nil, failure(ctx, err, "article", 0)
	}
	match = `("` + token + `" AND ` + match + ")"
	if q.Rank > kb.InTitle {
		better, err := r.matchOfWords(ctx, q.Words, q.Rank-1)
		if err != nil {
			return nil, failure(ctx, err, "article", 0)
		}
		match += " NOT (" + better + ")"
	}
	s := r.found().TableExpr("hw_article_terms AS s").Join("CROSS JOIN hw_article_documents AS d").
		Where("d.id = s.rowid AND s.hw_article_terms MATCH ?", match)
	return pageBy(s, "s.rowid", seek).ApplyQueryBuilder(searched(q)), nil
}

// found selects hits of the site.
func (r kbReader) found() *bun.SelectQuery {
	return r.db.NewSelect().Conn(r.conn()).Err(r.state()).ColumnExpr("d.id, d.article_id, d.locale").
		Where("d.account_id = ? AND d.site_id = ?", r.scope.AccountID, r.scope.SiteID)
}

// tsquery returns the tsquery for PostgreSQL.
func (r kbReader) tsquery(q kb.SearchQuery, token string) string {
	return "'" + token + "' & " + tsqueryOfWords(q.Words)
}

// amongPostgres returns the statement of findAmong on PostgreSQL. It matches a tsquery, but skips documents that match the
// same at a better rank. Unless the hits of the index are sorted, it reads no more of them than it needs.
func (r kbReader) amongPostgres(q kb.SearchQuery, words, better schema.QueryAppender, seek storage.Seek, n int, sorted bool) *bun.SelectQuery {
	next := r.db.NewSelect().TableExpr("hw_article_documents AS n").Where("n.account_id = ? AND n.site_id = ?", r.scope.AccountID, r.scope.SiteID)
	matching := func(s *bun.SelectQuery, alias bun.Safe) {
		s.Where("?.? @@ ?", alias, bun.Ident(documentFields[q.Rank]), words)
		if q.Rank > kb.InTitle {
			s.Where("NOT ?.? @@ ?", alias, bun.Ident(documentFields[q.Rank-1]), better)
		}
	}
	s := r.found()
	if n > 0 {
		pageBy(next, "n.id", storage.Seek{Desc: seek.Desc, From: seek.From, Limit: n})
		matching(s, "d")
		return pageBy(s.TableExpr("(?) AS d", next), "d.id", seek).ApplyQueryBuilder(searched(q))
	}
	// Sorted first, then filtered by language as far as the page needs.
	next.ColumnExpr("n.id, n.article_id, n.account_id, n.site_id, n.locale, n.language, n.source, n.id + 0 AS place")
	matching(next, "n")
	if !sorted {
		next.Limit(math.MaxInt32) // the planner then takes the index for all hits, as the words may be rare
		return s.TableExpr("(?) AS d", next).Limit(int64(seek.Limit)).ApplyQueryBuilder(searched(q))
	}
	pageBy(next, "n.id + 0", storage.Seek{Desc: seek.Desc, From: seek.From, Limit: math.MaxInt32}) // the limit preserves the sort
	return pageBy(s.TableExpr("(?) AS d", next), "d.place", seek).ApplyQueryBuilder(searched(q))
}

// searched restricts a search to the best language of each article, and to the articles of the query.
func searched(q kb.SearchQuery) filter {
	// preference returns the rank of a document's locale in the query's list; the source locale comes after the list, others
	// have no rank.
	preference := func(alias string) schema.QueryWithArgs {
		var b strings.Builder
		var args []any
		b.WriteString("CASE ")
		for i, c := range q.Locales {
			if c.Locale != "" {
				b.WriteString("WHEN ?.locale = ? ")
				args = append(args, bun.Ident(alias), c.Locale)
			} else {
				b.WriteString("WHEN ?.language = ? ")
				args = append(args, bun.Ident(alias), c.Language)
			}
			b.WriteString("THEN " + strconv.Itoa(i) + " ")
		}
		b.WriteString("WHEN ?.source THEN " + strconv.Itoa(len(q.Locales)) + " END")
		return bun.SafeQuery(b.String(), append(args, bun.Ident(alias))...)
	}
	return func(s bun.QueryBuilder) bun.QueryBuilder {
		s = s.Where("? IS NOT NULL", preference("d")).
			Where(`NOT EXISTS (SELECT 1 FROM hw_article_documents AS o WHERE o.account_id = d.account_id AND o.article_id = d.article_id
				AND (?, o.locale) < (?, d.locale))`, preference("o"), preference("d"))
		if q.Filter.IDs != nil {
			s = s.Where("d.article_id IN (?)", bun.List(append([]int64{0}, q.Filter.IDs...)))
		}
		if q.Filter.CollectionID != 0 {
			s = s.Where(`EXISTS (SELECT 1 FROM hw_articles AS a WHERE a.account_id = d.account_id AND a.id = d.article_id
				AND a.collection_id = ?)`, q.Filter.CollectionID)
		}
		if q.Filter.Outdated {
			s = s.Where(`EXISTS (SELECT 1 FROM hw_articles AS a WHERE a.account_id = d.account_id AND a.id = d.article_id AND a.outdated > 0)`)
		}
		if q.Filter.Drafts {
			s = s.Where(`EXISTS (SELECT 1 FROM hw_articles AS a WHERE a.account_id = d.account_id AND a.id = d.article_id AND a.draft > 0)`)
		}
		if q.Filter.Loose {
			s = s.Where(`EXISTS (SELECT 1 FROM hw_articles AS a WHERE a.account_id = d.account_id AND a.id = d.article_id
				AND a.category_ids = '[]')`)
		}
		if q.Filter.CategoryID != 0 {
			s = s.Where(`EXISTS (SELECT 1 FROM hw_article_categories AS c WHERE c.account_id = d.account_id AND c.article_id = d.article_id
				AND c.category_id = ?)`, q.Filter.CategoryID)
		}
		return s
	}
}

// tsqueryOfWords is tsquery with alternative terms for each word.
func tsqueryOfWords(words [][]kb.SearchTerm) string {
	all := make([]string, len(words))
	for i, word := range words {
		all[i] = tsword(word)
	}
	return strings.Join(all, " & ")
}

// matchOfWords is match for words that are all found at a rank or better.
func (r kbReader) matchOfWords(ctx context.Context, words [][]kb.SearchTerm, rank kb.Rank) (string, error) {
	return r.matchWords(ctx, "hw_article_vocabulary", words, rankMark(rank))
}

// Spellings implements [kb.PublicSearcher].
func (r kbReader) Spellings(ctx context.Context, variants []string) ([]string, error) {
	if len(variants) == 0 {
		return nil, r.state()
	}
	var words []string
	err := r.raw("SELECT DISTINCT word FROM hw_article_spellings WHERE account_id = ? AND site_id = ? AND variant IN (?) ORDER BY word LIMIT 100",
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
		for _, terms := range [][]string{d.Title, d.Summary, d.Content} {
			if err := checkText(terms); err != nil {
				return err
			}
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
	tokens := []string{siteToken(w.scope.SiteID)}
	if d.Published {
		tokens = append(tokens, publishedToken(w.scope.SiteID))
	}
	if w.store.postgres {
		vector := func(parts ...[]string) any {
			all := append([]string{}, tokens...)
			for _, p := range parts {
				all = append(all, p...)
			}
			return pgdialect.Array(all)
		}
		_, err := w.raw(`INSERT INTO hw_article_documents (account_id, site_id, article_id, locale, language, source, published, title, head, whole)
			VALUES (?, ?, ?, ?, ?, ?, ?, array_to_tsvector(?::text[]), array_to_tsvector(?::text[]), array_to_tsvector(?::text[]))
			ON CONFLICT (account_id, article_id, locale) DO UPDATE SET language = excluded.language, source = excluded.source, published = excluded.published,
			title = excluded.title, head = excluded.head, whole = excluded.whole`,
			w.scope.AccountID, w.scope.SiteID, articleID, d.Locale, d.Language, d.Source, d.Published,
			vector(d.Title), vector(d.Title, d.Summary), vector(d.Title, d.Summary, d.Content)).Exec(ctx)
		return err
	}
	var id int64
	err := w.raw(`INSERT INTO hw_article_documents (account_id, site_id, article_id, locale, language, source, published)
		VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (account_id, article_id, locale) DO UPDATE SET language = excluded.language, source = excluded.source, published = excluded.published RETURNING id`,
		w.scope.AccountID, w.scope.SiteID, articleID, d.Locale, d.Language, d.Source, d.Published).Scan(ctx, &id)
	if err != nil {
		return err
	}
	w.store.unmerged.Store(true)
	_, err = w.raw("INSERT OR REPLACE INTO hw_article_terms (rowid, scope, terms) VALUES (?, ?, ?)",
		id, strings.Join(tokens, " "), rankedTerms(d)).Exec(ctx)
	return err
}

// rankMark returns the prefix of terms found at a rank in SQLite's index.
func rankMark(rank kb.Rank) string { return strconv.Itoa(int(rank)) }

// rankedTerms returns the terms of a document, once for each rank at which they are found.
func rankedTerms(d kb.Document) string {
	var b strings.Builder
	add := func(rank kb.Rank, parts ...[]string) {
		for _, part := range parts {
			for _, term := range part {
				b.WriteString(rankMark(rank) + term + " ")
			}
		}
	}
	add(kb.InTitle, d.Title)
	add(kb.InSummary, d.Title, d.Summary)
	add(kb.InContent, d.Title, d.Summary, d.Content)
	return b.String()
}

type spellingRow struct {
	bun.BaseModel `bun:"table:hw_article_spellings"`
	AccountID     int64
	SiteID        int64
	Variant       string
	Word          string
}

// spellingBatch is how many rows a single statement writes.
const spellingBatch = 500

// AddSpellings implements [kb.SearchWriter].
func (w kbWriter) AddSpellings(ctx context.Context, words []string) error {
	if _, err := w.Sites().Get(ctx, w.scope.SiteID); err != nil {
		return err
	}
	var rows []spellingRow
	flush := func() error {
		if len(rows) == 0 {
			return nil
		}
		_, err := w.inserts(&rows).On("CONFLICT DO NOTHING").Exec(ctx)
		rows = rows[:0]
		return failure(ctx, err, "site", w.scope.SiteID)
	}
	for _, word := range words { // sorted, so that transactions do not deadlock
		for _, v := range search.Variants(word) {
			rows = append(rows, spellingRow{AccountID: w.scope.AccountID, SiteID: w.scope.SiteID, Variant: v, Word: word})
		}
		if len(rows) >= spellingBatch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}
