package bunstore_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// searched is the number of conversations of BenchmarkSearch.
const searched = 100_000

// BenchmarkSearch finds a page of 50 among 100,000 conversations; bare queries the database's own index by hand for as many
// ids.
func BenchmarkSearch(b *testing.B) {
	benchmarks(b, func(b *testing.B, s *bench) {
		fillSearch(b, s)
		for _, query := range []struct {
			name     string
			hits     int
			terms    []helpdesk.SearchTerm
			fts, vec string
		}{
			{"rare", 10, []helpdesk.SearchTerm{{Text: "rare"}}, `"rare"`, `'rare'`},
			{"middling", 51, []helpdesk.SearchTerm{{Text: "middling"}}, `"middling"`, `'middling'`},
			{"common", 51, []helpdesk.SearchTerm{{Text: "common"}}, `"common"`, `'common'`},
			{"two", 51, []helpdesk.SearchTerm{{Text: "common"}, {Text: "half"}}, `"common" AND "half"`, `'common' & 'half'`},
			{"apart", 0, []helpdesk.SearchTerm{{Text: "even"}, {Text: "odd"}}, `"even" AND "odd"`, `'even' & 'odd'`},
			{"prefix", 51, []helpdesk.SearchTerm{{Text: "w1", Prefix: true}}, `"w1"*`, `'w1':*`},
		} {
			b.Run(query.name, func(b *testing.B) {
				statement, arg := "SELECT rowid FROM hw_conversation_search WHERE hw_conversation_search MATCH $1 ORDER BY rowid DESC LIMIT 51", query.fts
				if s.postgres {
					statement = `SELECT conversation_id FROM hw_conversation_search
						WHERE (terms || array_to_tsvector(ARRAY['_' || account_id::text])) @@ (SELECT $1::tsquery) LIMIT 51`
					arg = query.vec
				}
				ratio(b, func(int) error {
					if n := count(b, s.plain, statement, arg); n != query.hits {
						return fmt.Errorf("%d hits by hand, not %d", n, query.hits)
					}
					return nil
				}, func(int) error {
					found, err := s.db.Within(s.scope).Conversations().List(b.Context(), helpdesk.ConversationOrder{
						ConversationFilter: helpdesk.ConversationFilter{Terms: query.terms}, Sort: helpdesk.ByCreated,
					}, storage.Seek{Desc: true, Limit: 51})
					if err == nil && len(found) != query.hits {
						err = fmt.Errorf("%d hits, not %d", len(found), query.hits)
					}
					return err
				})
			})
		}
	})
}

func count(b *testing.B, db *sql.DB, statement string, args ...any) (n int) {
	b.Helper()
	rows, err := db.QueryContext(b.Context(), statement, args...)
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		n++
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	return n
}

// fillSearch creates conversations with 60 different words each, distributed as in natural language.
func fillSearch(b *testing.B, s *bench) {
	b.Helper()
	tx, err := s.plain.BeginTx(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	exec := func(statement string, args ...any) {
		if _, err := tx.ExecContext(b.Context(), statement, args...); err != nil {
			b.Fatal(err)
		}
	}
	var first int64
	if err := tx.QueryRowContext(b.Context(), "SELECT COALESCE(max(id), 0) + 1 FROM hw_conversations").Scan(&first); err != nil {
		b.Fatal(err)
	}
	exec(fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT CAST(1 AS bigint) UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO hw_conversations (account_id, number, channel, mailbox_id, customer_id, customer_email, user_id, status,
			subject, preview, awaiting_since, created_at, updated_at)
		SELECT %d, 1000000 + i, 'email', %d, %d, 'a@example.org', 0, 'posted', 'Subject', 'Preview', 0,
			1700000000000000 + i * 1000000, 1700000000000000 FROM n`, searched, s.scope.AccountID, s.mailbox.ID, s.customer.ID))
	if !s.postgres {
		exec("DELETE FROM hw_conversation_search WHERE rowid >= $1", first)
	}
	random := rand.New(rand.NewPCG(1, 2)) // the same words each time
	zipf := rand.NewZipf(random, 1.1, 4, 30_000)
	for from := 0; from < searched; from += 500 {
		var values []string
		for i := from; i < from+500; i++ {
			terms := strings.Join(someTerms(zipf, i), " ")
			if s.postgres {
				values = append(values, fmt.Sprintf("(%d, %d, '', array_to_tsvector(string_to_array('%s', ' ')))", s.scope.AccountID, first+int64(i), terms))
			} else {
				values = append(values, fmt.Sprintf("(%d, '_%d', '', '%s')", first+int64(i), s.scope.AccountID, terms))
			}
		}
		into := "hw_conversation_search (rowid, account, customer, own)"
		if s.postgres {
			into = "hw_conversation_search (account_id, conversation_id, customer, own)"
		}
		exec("INSERT INTO " + into + " VALUES " + strings.Join(values, ", "))
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
	for _, statement := range map[bool][]string{true: {"VACUUM ANALYZE hw_conversations", "VACUUM ANALYZE hw_conversation_search"}, false: {"ANALYZE"}}[s.postgres] {
		if _, err := s.plain.ExecContext(b.Context(), statement); err != nil {
			b.Fatal(err)
		}
	}
}

// someTerms returns the words of conversation i.
func someTerms(zipf *rand.Zipf, i int) []string {
	terms := []string{"even"}
	if i%2 == 1 {
		terms = []string{"odd"}
	}
	for word, every := range map[string]int{"rare": searched / 10, "middling": 500, "half": 2} {
		if i%every == 0 {
			terms = append(terms, word)
		}
	}
	if i%100 < 93 {
		terms = append(terms, "common")
	}
	for len(terms) < 60 {
		terms = append(terms, fmt.Sprint("w", zipf.Uint64()))
	}
	return terms
}
