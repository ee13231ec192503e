package bench

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// atATime is how many conversations or articles a transaction copies.
const atATime = 20_000

// firstLot is added to the number of a copy in its word, so that no word is a prefix of another.
const firstLot = 1_000_000

// copies defines how the rows of a table are copied: the originals, and the columns that differ in copy n.i. n.t is its
// number in texts.
type copies struct {
	table string
	from  string            // table and joins of the originals, as o; "": the table
	where string            // the originals
	set   map[string]string // columns that differ, or all columns if from is set
}

// copier copies the originals of one database.
type copier struct {
	*world
	conn     *sql.Conn
	postgres bool
	most     map[string]int64 // the highest id among the originals, by table
}

// copyAll copies the originals of all accounts and of the site.
func (w *world) copyAll(ctx context.Context, accounts []portion, articles int) error {
	conn, err := w.plain.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	c := &copier{world: w, conn: conn, postgres: w.kind == "PostgreSQL", most: map[string]int64{}}
	settings := []string{"PRAGMA synchronous = OFF", "PRAGMA cache_size = -400000", "PRAGMA foreign_keys = OFF"}
	// All connections of a process share SQLite's page cache. What filled it must leave room for the pages that are measured.
	after := []string{"PRAGMA foreign_keys = ON", "PRAGMA cache_size = -2000", "PRAGMA shrink_memory", "PRAGMA synchronous = FULL", "PRAGMA analysis_limit = 100", "PRAGMA optimize = 0x10002", "PRAGMA wal_checkpoint(TRUNCATE)"}
	if c.postgres {
		settings, after = []string{"SET synchronous_commit = off"}, []string{"RESET synchronous_commit", "VACUUM ANALYZE"}
	}
	if err := c.run(ctx, settings...); err != nil {
		return err
	}
	for _, table := range []string{"hw_customers", "hw_customer_emails", "hw_conversations", "hw_interactions", "hw_deliveries", "hw_inbound_mails", "hw_articles", "hw_article_documents"} {
		var most sql.NullInt64
		if err := conn.QueryRowContext(ctx, "SELECT max(id) FROM "+table).Scan(&most); err != nil {
			return err
		}
		c.most[table] = most.Int64
	}
	w.site.stride = c.most["hw_articles"]
	for i, a := range accounts {
		step := yearBack / time.Duration(a.all/a.originals)
		name := fmt.Sprintf("%s: copying account %d of %d", w.kind, i+1, len(accounts))
		if err := c.repeat(ctx, name, a.originals, a.all, c.help(a, step)); err != nil {
			return err
		}
		if err := c.run(ctx, fmt.Sprintf("UPDATE hw_accounts SET next_number = (SELECT max(number) + 1 FROM hw_conversations WHERE account_id = %d) WHERE id = %[1]d", a.account)); err != nil {
			return err
		}
	}
	if articles > 0 {
		if err := c.repeat(ctx, w.kind+": copying articles", articles, w.cfg.Articles, c.library(articles)); err != nil {
			return err
		}
		after = append([]string{`UPDATE hw_collections SET articles = (SELECT count(*) FROM hw_articles AS a WHERE a.account_id = hw_collections.account_id AND a.collection_id = hw_collections.id),
			published_articles = (SELECT count(*) FROM hw_articles AS a WHERE a.account_id = hw_collections.account_id AND a.collection_id = hw_collections.id AND a.published = TRUE)`}, after...)
	}
	if c.postgres {
		for table := range c.most {
			after = append(after, fmt.Sprintf("SELECT setval(pg_get_serial_sequence('%s', 'id'), (SELECT coalesce(max(id), 1) FROM %[1]s))", table))
		}
	}
	if !c.postgres {
		if err := c.merge(ctx, "hw_customer_search", "hw_conversation_search"); err != nil {
			return err
		}
	}
	return c.run(ctx, after...)
}

// merge merges SQLite's full-text indexes as a server does that is up while they grow.
func (c *copier) merge(ctx context.Context, indexes ...string) error {
	for _, index := range indexes {
		for before, after := int64(0), int64(2); after-before >= 2; {
			before = after
			if err := c.run(ctx, "INSERT INTO "+index+" ("+index+", rank) VALUES ('merge', 1000)"); err != nil {
				return err
			}
			if err := c.conn.QueryRowContext(ctx, "SELECT total_changes()").Scan(&after); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *copier) run(ctx context.Context, statements ...string) error {
	for _, statement := range statements {
		if _, err := c.conn.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%.200s: %w", statement, err)
		}
	}
	return nil
}

// repeat copies originals until the target number is reached.
func (c *copier) repeat(ctx context.Context, name string, originals, all int, tables []copies) error {
	copies := all/originals - 1
	chunk := max(1, atATime/originals)
	for from := 1; from <= copies; from += chunk {
		c.cfg.Progress(fmt.Sprintf("%s: %d %%", name, 100*from/copies))
		to := min(from+chunk-1, copies)
		tx, err := c.conn.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		for _, t := range tables {
			statement, err := c.statement(ctx, tx, t, from, to)
			if err == nil {
				_, err = tx.ExecContext(ctx, statement)
			}
			if err != nil {
				_ = tx.Rollback()
				return fmt.Errorf("%s: %w", t.table, err)
			}
		}
		if err := tx.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// statement copies the rows of a table from one copy to another. Columns without a rule stay the same.
func (c *copier) statement(ctx context.Context, tx *sql.Tx, t copies, from, to int) (string, error) {
	columns := slices.Sorted(maps.Keys(t.set))
	source := t.from
	if source == "" {
		var err error
		if columns, err = c.columns(ctx, tx, t.table); err != nil {
			return "", err
		}
		source = t.table + " AS o"
	}
	values := make([]string, len(columns))
	for i, column := range columns {
		values[i] = "o." + column
		if text, ok := t.set[column]; ok {
			values[i] = text
		}
	}
	return fmt.Sprintf("WITH RECURSIVE s (i) AS (SELECT CAST(%d AS BIGINT) UNION ALL SELECT i + 1 FROM s WHERE i < %d), n AS (SELECT i, CAST(%d + i AS TEXT) AS t FROM s)\n"+
		"INSERT INTO %s (%s) SELECT %s FROM n CROSS JOIN %s WHERE %s ORDER BY n.i", from, to, firstLot, t.table, strings.Join(columns, ", "), strings.Join(values, ", "), source, t.where), nil
}

// columns returns the columns of a table that are not generated.
func (c *copier) columns(ctx context.Context, tx *sql.Tx, table string) (all []string, err error) {
	query := "SELECT name FROM pragma_table_xinfo('" + table + "') WHERE hidden = 0"
	if c.postgres {
		query = "SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() AND is_generated = 'NEVER' AND table_name = '" + table + "'"
	}
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		all = append(all, name)
	}
	return all, rows.Err()
}

// of returns the id, in a copy, of a row of a table to which a column refers.
func (c *copier) of(column, table string) string {
	return fmt.Sprintf("o.%s + n.i * %d", column, c.most[table])
}

// own returns an address or a Message-ID of a copy.
func own(column string) string {
	return fmt.Sprintf("CASE WHEN o.%s = '' THEN '' ELSE 'x' || n.t || '.' || o.%[1]s END", column)
}

// list returns a JSON list of addresses or Message-IDs of a copy.
func (c *copier) list(column string) string {
	text := fmt.Sprintf(`replace(replace(replace(CAST(o.%s AS TEXT), '", "', '","'), '","', '","x' || n.t || '.'), '["', '["x' || n.t || '.')`, column)
	if c.postgres {
		return "CAST(" + text + " AS JSONB)"
	}
	return text
}

// words returns the terms of an original with those of its copy.
func (c *copier) words(column string, prefixes ...string) string {
	if c.postgres {
		return "o." + column + " || array_to_tsvector(ARRAY['lot' || n.t])"
	}
	text := "o." + column
	for _, prefix := range prefixes {
		text += " || ' " + prefix + "lot' || n.t"
	}
	return text
}

// help are the tables of customers and conversations.
func (c *copier) help(a portion, step time.Duration) []copies {
	later := func(column string) string {
		return fmt.Sprintf("CASE WHEN o.%s > 0 THEN o.%[1]s + n.i * %[2]d ELSE o.%[1]s END", column, step.Microseconds())
	}
	identity := "CASE WHEN o.identity IS NULL THEN NULL ELSE CAST(hex(o.identity) || n.t AS BLOB) END"
	if c.postgres {
		identity = "o.identity || convert_to(n.t, 'UTF8')"
	}
	with := func(changes map[string]string, times ...string) map[string]string {
		for _, column := range times {
			changes[column] = later(column)
		}
		return changes
	}
	among := func(column, table string) string {
		return fmt.Sprintf("o.account_id = %d AND o.%s <= %d", a.account, column, c.most[table])
	}
	inConversation := among("conversation_id", "hw_conversations")
	conversation, interaction := c.of("conversation_id", "hw_conversations"), c.of("interaction_id", "hw_interactions")
	customer, email := c.of("customer_id", "hw_customers"), c.of("customer_email_id", "hw_customer_emails")
	to := c.list("to_addresses")
	return append([]copies{
		{table: "hw_customers", where: among("id", "hw_customers"), set: with(map[string]string{"id": c.of("id", "hw_customers")}, "created_at", "updated_at")},
		{table: "hw_customer_emails", where: among("id", "hw_customer_emails"), set: map[string]string{
			"id": c.of("id", "hw_customer_emails"), "customer_id": customer, "email": own("email"), "email_key": own("email_key")}},
		{table: "hw_conversations", where: among("id", "hw_conversations"), set: with(map[string]string{
			"id": c.of("id", "hw_conversations"), "number": fmt.Sprintf("o.number + n.i * %d", a.originals), "customer_id": customer, "customer_email_id": email,
			"customer_email": own("customer_email"), "subject": "'lot' || n.t || ' ' || o.subject"}, "awaiting_since", "created_at", "updated_at")},
		{table: "hw_participants", where: inConversation, set: map[string]string{"conversation_id": conversation, "address_key": own("address_key")}},
		{table: "hw_conversation_tags", where: inConversation, set: with(map[string]string{"conversation_id": conversation}, "created_at")},
		{table: "hw_followers", where: inConversation, set: map[string]string{"conversation_id": conversation}},
		{table: "hw_interactions", where: among("id", "hw_interactions"), set: with(map[string]string{
			"id": c.of("id", "hw_interactions"), "conversation_id": conversation, "customer_id": customer, "customer_email_id": email, "customer_email": own("customer_email"),
			"message_id": own("message_id"), "message_refs": c.list("message_refs"), "to_addresses": "CASE WHEN o.type = 'user' THEN " + to + " ELSE o.to_addresses END"},
			"at", "received_at", "posted_at", "send_started_at", "created_at", "updated_at")},
		{table: "hw_read_marks", where: inConversation, set: map[string]string{"conversation_id": conversation, "interaction_id": interaction}},
		{table: "hw_deliveries", where: among("id", "hw_deliveries"), set: with(map[string]string{
			"id": c.of("id", "hw_deliveries"), "interaction_id": interaction, "address": own("address"), "address_key": own("address_key")}, "created_at", "updated_at")},
		{table: "hw_inbound_mails", where: among("id", "hw_inbound_mails"), set: with(map[string]string{
			"id": c.of("id", "hw_inbound_mails"), "conversation_id": conversation, "interaction_id": interaction, "position": own("position"),
			"message_id": own("message_id"), "identity": identity, "from_email": own("from_email")}, "received_at", "delivered_at", "updated_at")},
	}, c.indexes(a)...)
}

// indexes are the tables for finding customers and conversations.
func (c *copier) indexes(a portion) []copies {
	if c.postgres {
		return []copies{
			{table: "hw_customer_search", where: fmt.Sprintf("o.account_id = %d AND o.customer_id <= %d", a.account, c.most["hw_customers"]),
				set: map[string]string{"customer_id": c.of("customer_id", "hw_customers"), "terms": c.words("terms")}},
			{table: "hw_conversation_search", where: fmt.Sprintf("o.account_id = %d AND o.conversation_id <= %d", a.account, c.most["hw_conversations"]),
				set: map[string]string{"conversation_id": c.of("conversation_id", "hw_conversations"), "own": c.words("own")}},
		}
	}
	found := func(table string) string { // SQLite finds the rows of an account through the rows of the noun
		return fmt.Sprintf("p.account_id = %d AND p.id <= %d AND o.rowid = p.id", a.account, c.most[table])
	}
	return []copies{
		{table: "hw_customer_search", from: "hw_customers AS p CROSS JOIN hw_customer_search AS o", where: found("hw_customers"),
			set: map[string]string{"rowid": c.of("rowid", "hw_customers"), "account": "o.account", "terms": c.words("terms", "")}},
		{table: "hw_conversation_search", from: "hw_conversations AS p CROSS JOIN hw_conversation_search AS o", where: found("hw_conversations"),
			set: map[string]string{"rowid": c.of("rowid", "hw_conversations"), "account": "o.account", "customer": "o.customer", "own": c.words("own", "")}},
	}
}

// library are the tables of articles.
func (c *copier) library(originals int) []copies {
	among := func(column, table string) string {
		return fmt.Sprintf("o.site_id = %d AND o.%s <= %d", c.site.site.ID, column, c.most[table])
	}
	order := fmt.Sprintf("o.sort_order + n.i * (SELECT max(sort_order) FROM hw_articles WHERE id <= %d)", c.most["hw_articles"])
	article := c.of("article_id", "hw_articles")
	tables := []copies{
		{table: "hw_articles", where: among("id", "hw_articles"), set: map[string]string{"id": c.of("id", "hw_articles"), "sort_order": order}},
		{table: "hw_article_revisions", where: among("article_id", "hw_articles"), set: map[string]string{
			"article_id": article, "sort_order": order, "translations": `replace(o.translations, '"t":"', '"t":"lot' || n.t || ' ')`}},
		{table: "hw_article_documents", where: among("id", "hw_article_documents"), set: map[string]string{"id": c.of("id", "hw_article_documents"), "article_id": article}},
	}
	return append(tables, copies{table: "hw_article_postings", where: among("document_id", "hw_article_documents"),
		set: map[string]string{"document_id": c.of("document_id", "hw_article_documents")}})
}
