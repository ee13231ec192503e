package bunstore_test

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/storagetest"
)

// shapes collects the statements of many tests, without their values.
type shapes struct {
	mu  sync.Mutex
	all map[string]bool
}

func (*shapes) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (s *shapes) AfterQuery(_ context.Context, event *bun.QueryEvent) {
	shape := shapeOf(event.Query)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[shape] = true
}

var (
	literal = regexp.MustCompile(`'(?:[^']|'')*'|\b\d+\b|\$\d+`)
	several = regexp.MustCompile(`(\(\?(?:, \?)*\))(?:, \(\?(?:, \?)*\))+|\?(?:, \?)+`)
)

func shapeOf(query string) string {
	return several.ReplaceAllString(literal.ReplaceAllString(strings.Join(strings.Fields(query), " "), "?"), "?")
}

// Every statement on rows of an account names the account, so that the tables can be distributed by it. Those that look for
// work in all accounts are named here.
func TestStatementsNameTheAccount(t *testing.T) {
	t.Parallel()
	app := embedded["SQLite"](t)
	t.Cleanup(func() { _ = app.Close() })
	if err := bunstore.New(app, bunstore.Config{}).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	var owned []string
	if err := app.NewRaw(`SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c ON c.name = 'account_id' WHERE m.type = 'table'`).Scan(t.Context(), &owned); err != nil {
		t.Fatal(err)
	}
	seen := &shapes{all: map[string]bool{}}
	t.Run("suite", func(t *testing.T) {
		storagetest.Run(t, func(t *testing.T) storagetest.Backend {
			app := embedded["SQLite"](t)
			t.Cleanup(func() { _ = app.Close() })
			if err := bunstore.New(app, bunstore.Config{}).Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			db := bunstore.New(app.WithQueryHook(seen), bunstore.Config{})
			return storagetest.Backend{Store: db, Jobs: db, Events: db, KB: db.KB()}
		})
	})
	var bad []string
	for shape := range seen.all {
		if table := nameless(shape, owned); table != "" {
			bad = append(bad, table+": "+shape)
		}
	}
	slices.Sort(bad)
	for _, b := range bad {
		t.Error(b[:min(len(b), 600)])
	}
	if len(seen.all) < 1000 || len(owned) < 60 {
		t.Errorf("%d statements on %d tables", len(seen.all), len(owned))
	}
}

// acrossAccounts are the statements whose work is in all accounts, or finds one: jobs are claimed and reported over all of
// them; a host, a sign-in domain, an address for incoming mail and the secret of an invitation find their account; blobs are
// kept while any account refers to them.
var acrossAccounts = regexp.MustCompile(`hw_jobs|WHERE \(hash = |hw_join_rules" WHERE \(domain = |hw_mailboxes" WHERE \((internal_local = |inbound_type <> )|` +
	`host_key|hw_sites.*\(hw_sites\.id = |SELECT (DISTINCT )?(blob_key|raw_key|k) |SELECT \? FROM`)

// nameless returns a table of accounts' rows that a statement uses without naming the account; "": none.
func nameless(shape string, owned []string) string {
	if acrossAccounts.MatchString(shape) {
		return ""
	}
	_, after, ok := strings.Cut(shape, " WHERE ")
	if strings.HasPrefix(shape, "INSERT") {
		after, ok = shape, true
	}
	for _, table := range owned {
		if regexp.MustCompile(`"`+table+`"|\b`+table+`\b`).MatchString(shape) && (!ok || !strings.Contains(after, "account_id")) {
			return table
		}
	}
	return ""
}
