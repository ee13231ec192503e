package bunstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
)

const liveSQL = `SELECT a.id, a.live, a.draft, a.published, a.collection_id, a.category_ids, a.sort_order, a.created_at, a.updated_at, a.views,
	r.status, r.source_locale, r.translations, r.views, r.positive, r.negative, r.created_at, r.updated_at
	FROM hw_articles AS a JOIN hw_article_revisions AS r ON r.account_id = a.account_id AND r.article_id = a.id AND r.number = a.live
	WHERE a.account_id = %[1]s1 AND a.site_id = %[1]s2 AND a.published = TRUE AND `

// BenchmarkArticles reads one of 100,000 published articles, and lists 100 of them from the middle; the baseline is the same
// query by hand, without decoding the JSON text.
func BenchmarkArticles(b *testing.B) {
	benchmarks(b, func(b *testing.B, s *bench) {
		scope := s.articles(b, 100_000)
		reader := s.db.KB().Within(scope)
		sign := "?"
		if s.postgres {
			sign = "$"
		}
		floor := func(where string, want int, args ...any) error {
			query := fmt.Sprintf(liveSQL+where, sign)
			rows, err := s.plain.QueryContext(b.Context(), query, append([]any{scope.AccountID, scope.SiteID}, args...)...)
			if err != nil {
				return err
			}
			defer rows.Close()
			n := 0
			for ; rows.Next(); n++ {
				var numbers [13]int64
				var published bool
				var texts [4]string
				err := rows.Scan(&numbers[0], &numbers[1], &numbers[2], &published, &numbers[3], &texts[0], &numbers[4], &numbers[5], &numbers[6],
					&numbers[7], &texts[1], &texts[2], &texts[3], &numbers[8], &numbers[9], &numbers[10], &numbers[11], &numbers[12])
				if err != nil {
					return err
				}
			}
			if n != want {
				return fmt.Errorf("%d articles, not %d", n, want)
			}
			return rows.Err()
		}
		b.Run("Read", func(b *testing.B) {
			ratio(b, func(n int) error { return floor("a.id = %[1]s3", 1, int64(1+n*7919%100_000)) }, func(n int) error {
				_, err := reader.PublishedArticle(b.Context(), int64(1+n*7919%100_000))
				return err
			})
		})
		b.Run("List100", func(b *testing.B) {
			from := storage.Position{Key: 50_000, ID: 50_000}
			ratio(b, func(int) error {
				return floor("(a.sort_order, a.id) > (%[1]s3, %[1]s4) ORDER BY a.sort_order, a.id LIMIT 100", 100, from.Key, from.ID)
			}, func(int) error {
				found, err := reader.PublishedArticles(b.Context(), kb.ArticleFilter{}, storage.Seek{From: &from, Limit: 100})
				if err == nil && len(found) != 100 {
					return fmt.Errorf("%d articles", len(found))
				}
				return err
			})
		})
	})
}

// articles creates a site with published articles of a page each, whose ids and sort orders count from 1.
func (s *bench) articles(b *testing.B, total int) kb.Scope {
	b.Helper()
	scope := kb.Scope{AccountID: s.scope.AccountID}
	err := s.db.KB().InTx(b.Context(), scope, func(ctx context.Context, tx kb.Tx) error {
		site := kb.Site{Name: "bench", HostKey: kb.SharedHost, Path: "bench", Visibility: kb.Public}
		err := tx.Sites().Insert(ctx, &site)
		scope.SiteID = site.ID
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	err = s.db.KB().InTx(b.Context(), scope, func(ctx context.Context, tx kb.Tx) error {
		return tx.Collections().Insert(ctx, &kb.Collection{})
	})
	if err != nil {
		b.Fatal(err)
	}
	text := `[{"l":"en","n":1,"t":"How to pay","s":"Cards and more","c":"<p>` + strings.Repeat("some words ", 200) + `</p>","u":0}]`
	numbers := fmt.Sprintf("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) ", total)
	for _, statement := range []string{
		fmt.Sprintf(`%sINSERT INTO hw_articles (account_id, site_id, live, draft, last_revision, published, collection_id, category_ids, sort_order, created_at, updated_at)
			SELECT %d, %d, 1, 0, 1, TRUE, 1, '[]', i, 0, 0 FROM n`, numbers, scope.AccountID, scope.SiteID),
		fmt.Sprintf(`%sINSERT INTO hw_article_revisions (account_id, site_id, article_id, number, status, collection_id, category_ids, sort_order, source_locale, translations, created_at, updated_at)
			SELECT %d, %d, i, 1, 'published', 1, '[]', i, 'en', '%s', 0, 0 FROM n`, numbers, scope.AccountID, scope.SiteID, text),
		"ANALYZE",
	} {
		if _, err := s.plain.ExecContext(b.Context(), statement); err != nil {
			b.Fatal(err)
		}
	}
	return scope
}

// foundSQL is the store's search in English as SQL.
const foundSQL = `SELECT d.id, d.article_id, d.locale FROM %[2]s
	WHERE d.account_id = %[1]s1 AND d.site_id = %[1]s2 AND %[3]s
	AND CASE WHEN d.locale = 'en' THEN 0 WHEN d.language = 'en' THEN 1 WHEN d.source THEN 2 END IS NOT NULL
	AND NOT EXISTS (SELECT 1 FROM hw_article_documents AS o WHERE o.account_id = d.account_id AND o.article_id = d.article_id AND
		(CASE WHEN o.locale = 'en' THEN 0 WHEN o.language = 'en' THEN 1 WHEN o.source THEN 2 END, o.locale) <
		(CASE WHEN d.locale = 'en' THEN 0 WHEN d.language = 'en' THEN 1 WHEN d.source THEN 2 END, d.locale))
	ORDER BY %[4]s LIMIT 25`

// BenchmarkArticleSearch finds 25 of 100,000 published articles by a word in all titles, by one in half of the contents, and
// by one in 10 titles; the baseline is the same query by hand. Service is a complete search, with the articles and their
// highlights; "cardz" is misspelt.
func BenchmarkArticleSearch(b *testing.B) {
	benchmarks(b, func(b *testing.B, s *bench) {
		scope := s.articles(b, 100_000)
		s.documents(b, scope, 100_000)
		err := s.db.KB().InTx(b.Context(), scope, func(ctx context.Context, tx kb.Tx) error {
			return tx.AddSpellings(ctx, []string{"cards", "how", "more", "pay"})
		})
		if err != nil {
			b.Fatal(err)
		}
		reader := s.db.KB().Within(scope)
		for _, test := range []struct {
			name, word string
			rank       kb.Rank
			want       int
		}{{"Common", "pay", kb.InTitle, 25}, {"Content", "half", kb.InContent, 25}, {"Rare", "rare5", kb.InTitle, 10}, {"None", "nothing", kb.InContent, 0}} {
			query := s.foundSQL(scope, test.word, test.rank)
			b.Run(test.name, func(b *testing.B) {
				ratio(b, func(int) error {
					rows, err := s.plain.QueryContext(b.Context(), query, scope.AccountID, scope.SiteID)
					if err != nil {
						return err
					}
					defer rows.Close()
					n := 0
					for ; rows.Next(); n++ {
						var hit kb.Hit
						if err := rows.Scan(&hit.ID, &hit.ArticleID, &hit.Locale); err != nil {
							return err
						}
					}
					if n != test.want {
						return fmt.Errorf("%d articles by hand", n)
					}
					return rows.Err()
				}, func(int) error {
					found, err := reader.FindPublished(b.Context(), kb.SearchQuery{
						Rank: test.rank, Words: [][]kb.SearchTerm{{{Text: test.word}}}, Locales: []kb.LocaleChoice{{Locale: "en"}, {Language: "en"}},
					}, storage.Seek{Limit: 25})
					if err == nil && len(found) != test.want {
						return fmt.Errorf("%d articles", len(found))
					}
					return err
				})
			})
		}
		svc, err := kb.New(kb.Config{Store: s.db.KB(), Blobs: memblob.New(), Membership: func(context.Context, kb.Caller, int64) (kb.Membership, error) {
			return kb.Membership{}, nil
		}})
		if err != nil {
			b.Fatal(err)
		}
		visitor, err := svc.Visitor(b.Context(), nil, scope.SiteID)
		if err != nil {
			b.Fatal(err)
		}
		for _, query := range []string{"pay", "half", "rare5", "nothing", "cardz", "pay ha", "how to pay half some rare5"} {
			b.Run("Service/"+strings.ReplaceAll(query, " ", "+"), func(b *testing.B) {
				for b.Loop() {
					if _, err := visitor.Search(b.Context(), query, []string{"en"}, kb.ArticleFilter{}, storage.PageRequest{Limit: 25}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	})
}

// foundSQL is the search for a word by hand.
func (s *bench) foundSQL(scope kb.Scope, word string, rank kb.Rank) string {
	token := fmt.Sprintf("_p%d", scope.SiteID)
	if s.postgres {
		field := [...]string{"d.title", "d.head", "d.whole"}
		words := fmt.Sprintf("'''%s'' & (''%s'')'::tsquery", token, word)
		where := field[rank] + " @@ " + words
		if rank > kb.InTitle {
			where += " AND NOT " + field[rank-1] + " @@ " + words
		}
		return fmt.Sprintf(foundSQL, "$", "hw_article_documents AS d", where, "d.id")
	}
	match := fmt.Sprintf(`("%s" AND "%d%s")`, token, rank, word)
	if rank > kb.InTitle {
		match += fmt.Sprintf(` NOT "%d%s"`, rank-1, word)
	}
	return fmt.Sprintf(foundSQL, "?", "hw_article_terms AS s CROSS JOIN hw_article_documents AS d",
		"d.id = s.rowid AND s.hw_article_terms MATCH '"+match+"'", "s.rowid")
}

// documents indexes the articles of a site: each in English, every tenth in German too.
func (s *bench) documents(b *testing.B, scope kb.Scope, total int) {
	b.Helper()
	tokens := fmt.Sprintf("_%[1]d _p%[1]d", scope.SiteID)
	numbers := fmt.Sprintf("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) ", total)
	const columns = "account_id, site_id, article_id, locale, language, source, published"
	var statements []string
	for locale, from := range map[string]string{"en": "FROM n", "de": "FROM n WHERE i % 10 = 0"} {
		values := fmt.Sprintf("%d, %d, i, '%[3]s', '%[3]s', %[4]t, TRUE", scope.AccountID, scope.SiteID, locale, locale == "en")
		if !s.postgres {
			statements = append(statements, fmt.Sprintf("%sINSERT INTO hw_article_documents (%s) SELECT %s %s", numbers, columns, values, from))
			continue
		}
		title := fmt.Sprintf("'%s how to pay rare' || (i / 10)", tokens)
		content := " || ' cards more some words word' || (i % 1000) || CASE WHEN i % 2 = 0 THEN ' half' ELSE '' END"
		vector := func(text string) string { return "array_to_tsvector(string_to_array(" + text + ", ' '))" }
		statements = append(statements, fmt.Sprintf("%sINSERT INTO hw_article_documents (%s, title, head, whole) SELECT %s, %s, %s, %s %s",
			numbers, columns, values, vector(title), vector(title+" || ' cards more'"), vector(title+content), from))
	}
	if !s.postgres {
		at := func(rank int, text string) string {
			return fmt.Sprintf("replace(' ' || %s, ' ', ' %d')", text, rank)
		}
		title, head := "'how pay rare' || (article_id / 10) || ' to'", " || ' cards more'"
		content := " || ' some word' || (article_id % 1000) || ' words' || CASE WHEN article_id % 2 = 0 THEN ' half' ELSE '' END"
		statements = append(statements, fmt.Sprintf(`INSERT INTO hw_article_terms (rowid, scope, terms) SELECT id, '%s', %s || %s || %s FROM hw_article_documents`,
			tokens, at(0, title), at(1, title+head), at(2, title+head+content)))
	}
	for _, statement := range append(statements, "ANALYZE") {
		if _, err := s.plain.ExecContext(b.Context(), statement); err != nil {
			b.Fatal(err)
		}
	}
}
