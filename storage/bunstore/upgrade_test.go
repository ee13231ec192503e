package bunstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	desktransfer "github.com/helpwright/helpwright/helpdesk/transfer"
	kbtransfer "github.com/helpwright/helpwright/kb/transfer"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/transfer"
)

// A database that has lived through every schema, and got a row in every table of each, has all of them at the end, in the
// schema that a new database has, and they can be read.
func TestUpgradeFromEverySchema(t *testing.T) {
	t.Parallel()
	persistent(t, func(t *testing.T, url string) {
		old := newOldSchema(t, unmigrated(t, url))
		for n := 1; ; n++ {
			name, more, err := bunstore.MigrateTo(t.Context(), old.db, n)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if !more {
				break
			}
			old.fill(name)
		}
		if old.n < 60 {
			t.Fatalf("there are only %d schemas", old.n)
		}
		if err := old.db.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		fresh := newOldSchema(t, open(t, databaseOf(t, old.postgres), bunstore.Config{}))
		if diff := cmp.Diff(fresh.definitions(), old.definitions()); diff != "" {
			t.Errorf("the schema is another than that of a new database (-new +upgraded):\n%s", diff)
		}
		old.countRows()
		old.readAll()
	})
}

// databaseOf is the address of a new database of the same kind.
func databaseOf(t *testing.T, postgres bool) string {
	t.Helper()
	if postgres {
		return databases[2].url(t)
	}
	return databases[0].url(t)
}

// oldSchema fills the tables of a schema, whatever they are.
type oldSchema struct {
	t        *testing.T
	db       *bunstore.DB
	plain    *sql.DB
	postgres bool
	on       interface { // plain, or its transaction
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	}
	inserted map[string]int            // rows by table
	last     map[string]map[string]any // the row of a table in the present schema
	columns  map[string][]oldColumn    // by table
	parents  map[string]map[string]parent
	n        int // number of the schema
	name     string
}

func newOldSchema(t *testing.T, db *bunstore.DB) *oldSchema {
	t.Helper()
	plain, postgres := bunstore.Plain(db)
	return &oldSchema{t: t, db: db, plain: plain, on: plain, postgres: postgres, inserted: map[string]int{}}
}

type oldColumn struct {
	name, kind string
	given      bool // by the database, or left to its default
}

// parent is what a column refers to.
type parent struct{ table, column string }

// kept lists tables that triggers and steps of the program keep, and those of migrations.
func kept(table string) bool {
	return strings.HasPrefix(table, "hw_migration") || strings.Contains(table, "_search") || strings.Contains(table, "_terms") ||
		strings.HasSuffix(table, "_pending") || strings.HasSuffix(table, "_vocabulary") || table == "hw_conversation_counts" || table == "hw_marks"
}

// indexed lists tables that Migrate fills from the articles.
func indexed(table string) bool {
	return table == "hw_article_documents" || table == "hw_article_spellings"
}

// fill inserts a row into each table, but those of the articles' index.
func (o *oldSchema) fill(name string) {
	o.t.Helper()
	o.n++
	o.name, o.last = name, map[string]map[string]any{}
	o.describe()
	tx, err := o.plain.BeginTx(o.t.Context(), nil)
	if err != nil {
		o.t.Fatal(err)
	}
	o.on = tx
	for _, table := range slices.Sorted(maps.Keys(o.columns)) {
		if !indexed(table) {
			o.insert(table)
		}
	}
	o.on = o.plain
	if err := tx.Commit(); err != nil {
		o.t.Fatalf("%s: %v", name, err)
	}
}

// rows returns what a query finds.
func (o *oldSchema) rows(query string, args ...any) [][]any {
	o.t.Helper()
	rows, err := o.on.QueryContext(o.t.Context(), query, args...)
	if err != nil {
		o.t.Fatalf("%s: %v\n%s", o.name, err, query)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		o.t.Fatal(err)
	}
	var all [][]any
	for rows.Next() {
		row, into := make([]any, len(names)), make([]any, len(names))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			o.t.Fatal(err)
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		o.t.Fatalf("%s: %v\n%s", o.name, err, query)
	}
	return all
}

// describe reads the columns of all tables, and what they refer to.
func (o *oldSchema) describe() {
	o.t.Helper()
	columns := `SELECT m.name, c.name, lower(c.type), c.hidden > 0 OR c.dflt_value IS NOT NULL OR c."notnull" = 0
		FROM sqlite_master m, pragma_table_xinfo(m.name) c WHERE m.type = 'table' ORDER BY m.name, c.cid`
	parents := `SELECT m.name, f."from", f."table", f."to" FROM sqlite_master m, pragma_foreign_key_list(m.name) f WHERE m.type = 'table'`
	if o.postgres {
		columns = `SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attidentity <> '' OR a.atthasdef OR NOT a.attnotnull
			FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
			WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND a.attnum > 0 AND NOT a.attisdropped ORDER BY c.relname, a.attnum`
		parents = `SELECT c.conrelid::regclass::text, own.attname, c.confrelid::regclass::text, theirs.attname
			FROM pg_constraint c, unnest(c.conkey, c.confkey) AS k (own, theirs), pg_attribute own, pg_attribute theirs
			WHERE c.contype = 'f' AND own.attrelid = c.conrelid AND own.attnum = k.own AND theirs.attrelid = c.confrelid AND theirs.attnum = k.theirs`
	}
	o.columns, o.parents = map[string][]oldColumn{}, map[string]map[string]parent{}
	for _, row := range o.rows(columns) {
		table := fmt.Sprint(row[0])
		if given := row[3] == true || row[3] == int64(1); strings.HasPrefix(table, "hw_") && !kept(table) {
			o.columns[table] = append(o.columns[table], oldColumn{fmt.Sprint(row[1]), fmt.Sprint(row[2]), given})
			o.parents[table] = map[string]parent{}
		}
	}
	for _, row := range o.rows(parents) {
		if of := o.parents[fmt.Sprint(row[0])]; of != nil {
			of[fmt.Sprint(row[1])] = parent{fmt.Sprint(row[2]), fmt.Sprint(row[3])}
		}
	}
}

// insert adds a row to a table, and before it those that it refers to.
func (o *oldSchema) insert(table string) map[string]any {
	o.t.Helper()
	if row, done := o.last[table]; done {
		return row
	}
	o.last[table] = nil // it may refer to itself
	var names, marks []string
	var values []any
	for _, c := range o.columns[table] {
		if c.given {
			continue
		}
		names = append(names, c.name)
		values = append(values, o.value(table, c))
		marks = append(marks, "?")
		if o.postgres {
			marks[len(marks)-1] = fmt.Sprintf("$%d", len(marks))
		}
	}
	query := fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s) RETURNING *", table, strings.Join(names, ", "), strings.Join(marks, ", "))
	found := o.rows(query, values...)
	row := map[string]any{}
	for i, c := range o.columns[table] {
		row[c.name] = found[0][i]
	}
	o.inserted[table]++
	o.last[table] = row
	return row
}

// value is one that a column may have.
func (o *oldSchema) value(table string, c oldColumn) any {
	o.t.Helper()
	if p, refers := o.parents[table][c.name]; refers {
		return o.insert(p.table)[p.column]
	}
	if of, refers := referredTo[c.name]; refers && o.columns[of] != nil && of != table {
		return o.insert(of)["id"]
	}
	if value, known := oldValues[table+"."+c.name]; known {
		return value
	}
	if value, known := oldValues[c.name]; known {
		return value
	}
	if strings.HasSuffix(c.name, "blob_key") || c.name == "raw_key" {
		return fmt.Sprintf("upgrade/%04d/%s", o.n, table)
	}
	text := fmt.Sprintf("%s %d", c.name, o.n)
	switch c.kind {
	case "integer", "bigint", "smallint":
		if strings.HasSuffix(c.name, "_at") || strings.HasSuffix(c.name, "_until") || c.name == "time" {
			return time.Date(2026, 1, 1, 0, o.n, 0, 0, time.UTC).UnixMicro()
		}
		return int64(o.n)
	case "boolean":
		return true
	case "blob", "bytea":
		return []byte(text)
	}
	return text
}

// referredTo are the tables that columns refer to without saying so.
var referredTo = map[string]string{
	"account_id": "hw_accounts", "user_id": "hw_users", "mailbox_id": "hw_mailboxes", "customer_id": "hw_customers",
	"conversation_id": "hw_conversations", "interaction_id": "hw_interactions", "site_id": "hw_sites", "article_id": "hw_articles",
}

// oldValues are values of columns that have a form, by their names or those of their tables and theirs.
var oldValues = map[string]any{
	"hw_article_revisions.translations": `[{"l":"en","n":1,"t":"A title","c":"<p>An article.</p>","u":1767225600000000}]`,
	"translations":                      `[{"l":"en","n":1,"t":"A title","u":1767225600000000}]`, "source_locale": "en", "default_locale": "en", "locale": "en",
	"languages": `["en"]`, "scopes": `[]`, "permissions": `[]`, "folders": `["INBOX"]`, "folder": "INBOX", "events": `[]`, "records": `[]`, "filter": `{}`, "threading": `{}`,
	"role_ids": `[]`, "mailbox_ids": `[]`, "category_ids": `[]`, "member_ids": `[]`, "transports": `[]`, "choices": `{}`,
	"to_addresses": `[]`, "cc_addresses": `[]`, "bcc_addresses": `[]`, "message_refs": `[]`,
	"published": true, "inbound_type": "IMAP", "hw_conversations.status": "posted", "hw_interactions.status": "posted", "hw_interactions.type": "customer",
}

// definitions describe the schema: the columns, indexes and triggers of its tables.
func (o *oldSchema) definitions() map[string][]string {
	o.t.Helper()
	all := map[string][]string{}
	o.describe()
	for table, columns := range o.columns {
		for _, c := range columns {
			all[table] = append(all[table], fmt.Sprint(c, o.parents[table][c.name]))
		}
	}
	query := `SELECT tbl_name, coalesce(sql, name) FROM sqlite_master WHERE type IN ('index', 'trigger') ORDER BY name`
	if o.postgres {
		query = `SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = current_schema()
			UNION ALL SELECT tgrelid::regclass::text, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2`
	}
	for _, row := range o.rows(query) {
		table := fmt.Sprint(row[0])
		all[table] = append(all[table], fmt.Sprint(row[1]))
	}
	return all
}

// countRows expects as many rows as were inserted.
func (o *oldSchema) countRows() {
	o.t.Helper()
	for _, table := range slices.Sorted(maps.Keys(o.inserted)) {
		if got := o.rows("SELECT count(*) FROM " + table)[0][0]; got != int64(o.inserted[table]) {
			o.t.Errorf("%s has %v rows, %d were inserted", table, got, o.inserted[table])
		}
	}
	if got := o.rows("SELECT CAST(sum(n) AS BIGINT) FROM hw_conversation_counts WHERE tag_id = 0")[0][0]; got != int64(o.n) {
		o.t.Errorf("the maintained counts say that there are %v conversations, not %d", got, o.n)
	}
	if o.postgres {
		return
	}
	if broken := o.rows("SELECT * FROM pragma_foreign_key_check"); len(broken) > 0 {
		o.t.Errorf("rows refer to what is not there: %v", broken)
	}
}

// readAll reads all rows of all accounts, as an export does.
func (o *oldSchema) readAll() {
	o.t.Helper()
	sealer, err := storage.NewSealer(storage.NewSecretKey())
	if err != nil {
		o.t.Fatal(err)
	}
	read := map[string]int64{}
	for _, row := range o.rows("SELECT id FROM hw_accounts ORDER BY id") {
		id, _ := row[0].(int64)
		w, err := transfer.NewWriter(io.Discard, transfer.WriterConfig{Blobs: memblob.New()})
		if err != nil {
			o.t.Fatal(err)
		}
		sites := func(ctx context.Context) error { return kbtransfer.Export(ctx, o.db.KB(), id, w) }
		err = desktransfer.Export(o.t.Context(), desktransfer.Config{Store: o.db, Sealer: sealer}, id, w, sites)
		if err == nil {
			err = w.Close(o.t.Context())
		}
		if err != nil {
			o.t.Errorf("account %d: %v", id, err)
			continue
		}
		for noun, n := range w.End().Rows {
			read[noun] += n
		}
	}
	for _, tables := range []map[string]string{desktransfer.Tables(), kbtransfer.Tables()} {
		for table, noun := range tables {
			if read[noun] < int64(o.inserted[table]) {
				o.t.Errorf("%d rows of %s were read, and %s has %d", read[noun], noun, table, o.inserted[table])
			}
		}
	}
}
