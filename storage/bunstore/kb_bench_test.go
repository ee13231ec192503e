package bunstore_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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

// BenchmarkArticleSearch asks the service for 25 of 100,000 published articles, with their highlights, in questions of words
// that are in all titles, in a fifth of the contents, in some, and in ten; "accounz" is misspelt. It reports the slowest of a
// hundred as p99.
func BenchmarkArticleSearch(b *testing.B) {
	benchmarks(b, func(b *testing.B, s *bench) {
		scope := s.articles(b, 100_000)
		s.documents(b, scope, 100_000)
		err := s.db.KB().InTx(b.Context(), scope, func(ctx context.Context, tx kb.Tx) error {
			return tx.AddSpellings(ctx, []string{"account", "cards", "more", "settings"})
		})
		if err != nil {
			b.Fatal(err)
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
		for _, query := range []string{
			"pay", "fifth3", "rare5", "nothing", "accounz", "pay fi", "how do I pay with fifth2 and rare77?",
			"why can I not pay for word12 and word77 with cards of my account?", "fifth1 fifth2 fifth3 fifth4 pay account cards settings",
		} {
			b.Run(strings.ReplaceAll(query, " ", "+"), func(b *testing.B) {
				var times []time.Duration
				for b.Loop() {
					began := time.Now()
					if _, err := visitor.Search(b.Context(), query, []string{"en"}, kb.ArticleFilter{}, storage.PageRequest{Limit: 25}); err != nil {
						b.Fatal(err)
					}
					times = append(times, time.Since(began))
				}
				slices.Sort(times)
				b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "p99-ms")
			})
		}
	})
}

// documents indexes the articles of a site, with 46 terms each.
func (s *bench) documents(b *testing.B, scope kb.Scope, total int) {
	b.Helper()
	numbers := fmt.Sprintf("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) ", total)
	statements := []string{fmt.Sprintf(`%sINSERT INTO hw_article_documents (account_id, site_id, article_id, locale, language, source, published)
		SELECT %d, %d, i, 'en', 'en', TRUE, TRUE FROM n`, numbers, scope.AccountID, scope.SiteID)}
	terms := map[string]int{"'pay'": 0, "'rare' || (i / 10)": 0, "'account'": 1, "'card'": 1, "'cards'": 1, "'setting'": 2, "'fifth' || (i % 5)": 2}
	for n := range 39 {
		terms[fmt.Sprintf("'word' || (i * %d %% 1000 + %d)", n+1, 1000*(n/20))] = 2
	}
	for term, rank := range terms {
		statements = append(statements, fmt.Sprintf(`%sINSERT INTO hw_article_postings (account_id, site_id, published, rank, term, weight, document_id)
			SELECT %d, %d, TRUE, %d, %s, 100 + i %% 400, i FROM n WHERE TRUE ON CONFLICT DO NOTHING`, numbers, scope.AccountID, scope.SiteID, rank, term))
	}
	for _, statement := range append(statements, "ANALYZE") {
		if _, err := s.plain.ExecContext(b.Context(), statement); err != nil {
			b.Fatal(err)
		}
	}
}
