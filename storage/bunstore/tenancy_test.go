package bunstore_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/testenv"
)

// shapes collects the statements of many tests, without their values.
type shapes struct {
	mu  sync.Mutex
	all map[string]string // the longest statement of each shape
}

func (*shapes) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (s *shapes) AfterQuery(_ context.Context, event *bun.QueryEvent) {
	shape := shapeOf(event.Query)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(event.Query) > len(s.all[shape]) {
		s.all[shape] = event.Query
	}
}

var (
	literal = regexp.MustCompile(`'(?:[^']|'')*'|\b\d+\b|\$\d+`)
	several = regexp.MustCompile(`(\(\?(?:, \?)*\))(?:, \(\?(?:, \?)*\))+|\?(?:, \?)+`)
)

func shapeOf(query string) string {
	return several.ReplaceAllString(literal.ReplaceAllString(strings.Join(strings.Fields(query), " "), "?"), "?")
}

// suiteShapes returns the statements of the conformance suite on SQLite.
func suiteShapes(t *testing.T) map[string]string {
	t.Helper()
	seen := &shapes{all: map[string]string{}}
	t.Run("suite", func(t *testing.T) { suiteEmbedded(t, embedded["SQLite"], seen) })
	return seen.all
}

// The statements of the conformance suite, which both tests below need and which take a while.
func TestStatements(t *testing.T) {
	t.Parallel()
	app := embedded["SQLite"](t)
	t.Cleanup(func() { _ = app.Close() })
	if err := bunstore.New(app, bunstore.Config{}).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := suiteShapes(t)
	t.Run("NameTheAccount", func(t *testing.T) { nameTheAccount(t, app, all) })
	t.Run("NameTheirColumns", func(t *testing.T) { nameTheirColumns(t, all) })
	t.Run("KeepKeys", func(t *testing.T) { keepKeys(t, all) })
	t.Run("FindListsByIndex", func(t *testing.T) { findListsByIndex(t, app, all) })
}

// setsKey matches an update that sets the account, which is part of the key that other rows refer to.
var setsKey = regexp.MustCompile(`(?s)^UPDATE .*?\bSET\b((?:[^']|'[^']*')*?)\b(WHERE|FROM)\b`)

// keepKeys checks that no update sets the account, not even to what it is: SQLite then reads all rows that refer to a row. None
// refer to hosts of sites.
func keepKeys(t *testing.T, all map[string]string) {
	updates := 0
	for shape := range all {
		if set := setsKey.FindStringSubmatch(shape); set != nil {
			if updates++; strings.Contains(set[1], "account_id") && !strings.HasPrefix(shape, "UPDATE hw_site_hosts ") {
				t.Errorf("%.300s", shape)
			}
		}
	}
	if updates < 50 {
		t.Errorf("%d updates", updates)
	}
}

// nameTheAccount checks that every statement on rows of an account names the account, so that the tables can be distributed
// by it. Those that look for work in all accounts are named below.
func nameTheAccount(t *testing.T, app *bun.DB, all map[string]string) {
	var owned []string
	if err := app.NewRaw(`SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c ON c.name = 'account_id' WHERE m.type = 'table'`).Scan(t.Context(), &owned); err != nil {
		t.Fatal(err)
	}
	var bad []string
	for shape := range all {
		if table := nameless(shape, owned); table != "" {
			bad = append(bad, table+": "+shape)
		}
	}
	slices.Sort(bad)
	for _, b := range bad {
		t.Error(b[:min(len(b), 600)])
	}
	if len(all) < 1000 || len(owned) < 60 {
		t.Errorf("%d statements on %d tables", len(all), len(owned))
	}
}

// nameTheirColumns checks that a table may have more columns than a server knows: servers of a later version add them during an
// update, while others still run.
func nameTheirColumns(t *testing.T, all map[string]string) {
	unnamed := regexp.MustCompile(`hw_\w+"?\.\*|\* FROM "?hw_|RETURNING \*|INTO "?hw_\w+"?( AS "?\w+"?)? (VALUES|SELECT|\?)`)
	for shape := range all {
		if unnamed.MatchString(shape) {
			t.Error(shape[:min(len(shape), 600)])
		}
	}
}

// acrossAccounts are the statements whose work is in all accounts, or finds one: jobs are claimed and reported over all of
// them; a host, a sign-in domain, an address for incoming mail and the secret of an invitation find their account; blobs are
// kept while any account refers to them.
var acrossAccounts = regexp.MustCompile(`hw_jobs|hw_invitations WHERE TRUE AND "hash" = |hw_join_rules WHERE TRUE AND "domain" = |hw_mailboxes" WHERE \((internal_local = |inbound_type <> )|` +
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
	if ok && strings.Contains(after, "account_id") {
		return ""
	}
	for _, table := range owned {
		if regexp.MustCompile(`\b` + table + `\b`).MatchString(shape) {
			return table
		}
	}
	return ""
}

// foundByAll are the unique indexes on rows of accounts that hold for all accounts: they find the account, or a job of any.
var foundByAll = []string{
	"hw_invitations_hash", "hw_jobs_pkey", "hw_jobs_unique_key", "hw_mailboxes_local", "hw_site_hosts_pkey", "hw_sites_address",
	"hw_sites_pkey",
}

// Keys contain the account, so that the tables can be distributed by it on PostgreSQL.
func TestKeys(t *testing.T) {
	t.Parallel()
	dsn := testenv.Postgres(t)
	open(t, dsn, bunstore.Config{})
	rows, err := plainPostgres(t, dsn).Query(`SELECT i.indexrelid::regclass::text FROM pg_index AS i
		JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attname = 'account_id'
		WHERE i.indisunique AND NOT a.attnum = ANY(i.indkey) AND i.indrelid::regclass::text LIKE 'hw_%' ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	var without []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(`^hw_audit_\w+_pkey$`).MatchString(name) { // partitions, whose ids come from one sequence
			without = append(without, name)
		}
	}
	if diff := cmp.Diff(foundByAll, without); diff != "" || rows.Err() != nil {
		t.Error(diff, rows.Err())
	}
}

var (
	idList = regexp.MustCompile(`(\w+"?) IN \((-?\d+|X?'(?:[^']|'')*')(, (-?\d+|X?'(?:[^']|'')*'))*\)`)
	// what a list may be restricted to while it walks its order: few mailboxes, tags, values, verdicts, states or kinds have many rows
	walked = regexp.MustCompile(`^(mailbox_id|tag_id|value_key|verdict|status|state|type|kind|priority)"? `)
	// the account and nothing else; a table's whole key is (account_id, id)
	wholeAccount = regexp.MustCompile(`SEARCH \w+ USING (COVERING )?INDEX \w+ \(account_id=\?\)`)
)

// findListsByIndex checks that SQLite looks up the values of a list by their index. Without statistics, and with those of few
// rows, it takes an account for about as small as a short list, and would read all rows of the account for a long one.
func findListsByIndex(t *testing.T, app *bun.DB, all map[string]string) {
	explained := 0
	var bad []string
	for shape, query := range all {
		lists := 0
		long := idList.ReplaceAllStringFunc(query, func(list string) string {
			if walked.MatchString(list) {
				return list
			}
			lists++
			return idList.ReplaceAllString(list, "$1 IN ($2"+strings.Repeat(", $2", 30)+")")
		})
		if lists == 0 {
			continue
		}
		rows, err := app.DB.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+long)
		if err != nil {
			t.Errorf("%v: %s", err, long)
			continue
		}
		explained++
		if plan := read(t, rows); wholeAccount.MatchString(plan) {
			bad = append(bad, fmt.Sprintf("%.900s\n%s", shape, plan))
		}
	}
	slices.Sort(bad)
	for _, b := range bad {
		t.Error(b)
	}
	if explained < 100 {
		t.Errorf("%d statements with lists", explained)
	}
}
