package bunstore_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
)

// commonList is a list that desks and programs read often. Its index has the rows in the list's order.
type commonList struct {
	name, index string
	order       helpdesk.ConversationOrder
	ascending   bool
	in          []int64 // the mailboxes of a restricted member; nil: all
}

// commonLists returns the commonest lists of fillLists' conversations.
func commonLists() []commonList {
	type filter = helpdesk.ConversationFilter
	open, closed := []helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusPending}, []helpdesk.Status{helpdesk.StatusClosed}
	awake, genuine := storage.Some(false), storage.Some(false)
	nobody, me, team := storage.Null[int64](), storage.Some[int64](7), storage.Some[int64](1)
	by := func(sort helpdesk.ConversationSort, f filter) helpdesk.ConversationOrder {
		return helpdesk.ConversationOrder{ConversationFilter: f, Sort: sort}
	}
	const created, updated, awaiting = helpdesk.ByCreated, helpdesk.ByUpdated, helpdesk.ByAwaiting
	now, never := time.UnixMicro(1700000000006000), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	overdue, soon := helpdesk.DueRange{Before: now}, helpdesk.DueRange{From: now, Before: never, Soon: now}
	today := helpdesk.DueRange{From: now.Add(-time.Millisecond), Before: now.Add(12 * time.Hour)}
	return []commonList{
		{name: "all", index: "hw_conversations_created", order: by(created, filter{})},
		{name: "posted", index: "hw_conversations_shelf_created", order: by(created, filter{Statuses: []helpdesk.Status{helpdesk.StatusPosted}})},
		{name: "closed", index: "hw_conversations_shelf_created", order: by(created, filter{Statuses: closed})},
		{name: "closed, by change", index: "hw_conversations_shelf_updated", order: by(updated, filter{Statuses: closed, Spam: genuine})},
		{name: "open", index: "hw_conversations_shelf_updated", order: by(updated, filter{Statuses: open, Snoozed: awake, Spam: genuine})},
		{name: "waiting", index: "hw_conversations_shelf_awaiting", order: by(awaiting, filter{Statuses: open, Snoozed: awake, Spam: genuine, Awaiting: storage.Some(true)}), ascending: true},
		{name: "unassigned", index: "hw_conversations_holder_shelf_updated", order: by(updated, filter{Statuses: open, Snoozed: awake, Spam: genuine, UserID: nobody, TeamID: nobody})},
		{name: "unassigned, by creation", index: "hw_conversations_holder_shelf_created", order: by(created, filter{Statuses: open, UserID: nobody, TeamID: nobody})},
		{name: "mine", index: "hw_conversations_holder_shelf_updated", order: by(updated, filter{Statuses: open, Snoozed: awake, Spam: genuine, UserID: me})},
		{name: "mine, waiting", index: "hw_conversations_holder_shelf_awaiting", order: by(awaiting, filter{Statuses: open, Snoozed: awake, Spam: genuine, UserID: me, Awaiting: storage.Some(true)}), ascending: true},
		{name: "a team's", index: "hw_conversations_team_shelf_updated", order: by(updated, filter{Statuses: open, Snoozed: awake, Spam: genuine, TeamID: team})},
		{name: "a mailbox's", index: "hw_conversations_mailbox_shelf_updated", order: by(updated, filter{Statuses: open, Snoozed: awake, Spam: genuine, MailboxID: 2})},
		{name: "open, of a restricted member", index: "hw_conversations_mailbox_shelf_updated", order: by(updated, filter{Statuses: open, Snoozed: awake, Spam: genuine}), in: []int64{2}},
		{name: "a tag's", index: "hw_conversation_tags_created", order: by(created, filter{TagIDs: []int64{1}})},
		{name: "open with a tag", index: "hw_conversation_tags_shelf_updated", order: by(updated, filter{Statuses: open, Snoozed: awake, Spam: genuine, TagIDs: []int64{1}})},
		{name: "with a value", index: "hw_conversation_values_created", order: by(created, filter{Fields: []helpdesk.FieldMatch{{FieldID: 1, Keys: []string{"gold"}}}})},
		{name: "with a value, by change", index: "hw_conversation_values_updated", order: by(updated, filter{Fields: []helpdesk.FieldMatch{{FieldID: 1, Keys: []string{"gold"}}}})},
		{name: "open with a value", index: "hw_conversation_values_shelf_updated", order: by(updated, filter{Statuses: open, Snoozed: awake, Spam: genuine, Fields: []helpdesk.FieldMatch{{FieldID: 1, Keys: []string{"gold"}}}})},
		{name: "a customer's", index: "hw_conversations_customer_created", order: by(created, filter{CustomerID: 2})},
		{name: "spam", index: "hw_conversations_shelf_updated", order: by(updated, filter{Spam: storage.Some(true)})},
		{name: "due", index: "hw_conversations_due", order: by(helpdesk.ByDue, filter{}), ascending: true},
		{name: "overdue", index: "hw_conversations_due", order: by(helpdesk.ByDue, filter{Due: overdue}), ascending: true},
		{name: "due soon", index: "hw_conversations_due", order: by(helpdesk.ByDue, filter{Due: soon}), ascending: true},
		{name: "due today", index: "hw_conversations_due", order: by(helpdesk.ByDue, filter{Due: today}), ascending: true},
		{name: "due at any time", index: "hw_conversations_due", order: by(helpdesk.ByDue, filter{Due: helpdesk.DueRange{Before: never}}), ascending: true},
		{name: "snoozed", index: "hw_conversations_shelf_updated", order: by(updated, filter{Statuses: open, Snoozed: storage.Some(true), Spam: genuine})},
	}
}

// fillLists creates conversations in ten states of the same size, and some tags. Those of one state lie together in time, or
// each state is everywhere.
func fillLists(tb testing.TB, app *bun.DB, total int, together bool) {
	tb.Helper()
	conn, err := app.DB.Conn(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close()
	state := "i % 10"
	if together {
		state = fmt.Sprintf("i * 10 / %d", total)
	}
	settings := []string{"PRAGMA cache_size = -400000", "PRAGMA foreign_keys = 0"}
	if strings.Contains(app.String(), "pg") {
		settings = []string{"SET synchronous_commit = off"}
	}
	rows := fmt.Sprintf(`WITH RECURSIVE s (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < %d), n AS (SELECT i, %s AS state FROM s) `, total-1, state)
	const never = "-62135596800000000"
	for _, statement := range append(settings,
		`INSERT INTO hw_accounts (name, next_number, default_locale, languages, created_at, updated_at) VALUES ('a', 1, 'en', '[]', 0, 0)`,
		`INSERT INTO hw_mailboxes (account_id, name, email, email_key, from_name, internal_local, inbound_type, host, port,
			username, encryption, validate_certificate, folders, created_at, updated_at)
			VALUES (1, 'm', 'm', 'm', '', 'm', 'FWD', '', 0, '', '', TRUE, '[]', 0, 0), (1, 'n', 'n', 'n', '', 'n', 'FWD', '', 0, '', '', TRUE, '[]', 0, 0)`,
		`INSERT INTO hw_customers (account_id, first_name, last_name, company, created_at, updated_at) VALUES (1, 'a', 'b', 'c', 0, 0), (1, 'd', 'e', 'f', 0, 0)`,
		`INSERT INTO hw_tags (account_id, name, name_key, color, created_at, updated_at) VALUES (1, 'a', 'a', '', 0, 0), (1, 'b', 'b', '', 0, 0)`,
		rows+`INSERT INTO hw_conversations (account_id, number, channel, mailbox_id, customer_id, customer_email, user_id, team_id, status,
			subject, preview, awaiting_since, snoozed_until, priority, spam_at, due_at, soon_at, created_at, updated_at)
			SELECT 1, i + 1, 'email', CASE WHEN state = 6 THEN 2 ELSE 1 END, CASE WHEN state IN (2, 3) THEN 2 ELSE 1 END, '',
			CASE state WHEN 0 THEN 0 WHEN 1 THEN 7 WHEN 2 THEN 8 ELSE 9 END, CASE WHEN state = 2 THEN 1 ELSE 0 END,
			CASE WHEN state IN (0, 1, 5, 6) THEN 'posted' WHEN state = 2 THEN 'pending' ELSE 'closed' END, '', '',
			CASE WHEN state IN (0, 1) AND i / 10 % 2 = 0 THEN 1700000000000000 + i ELSE `+never+` END,
			CASE WHEN state = 5 THEN 1800000000000000 ELSE `+never+` END, 'normal', CASE WHEN state = 4 THEN 1 ELSE `+never+` END,
			CASE WHEN state IN (0, 1) THEN 1700000000000000 + i ELSE `+never+` END, CASE WHEN state IN (0, 1) THEN 1699999999000000 + i ELSE `+never+` END,
			1700000000000000 + i, 1700000000000000 + i FROM n`,
		rows+`INSERT INTO hw_conversation_tags (account_id, conversation_id, tag_id) SELECT 1, i + 1, 1 FROM n WHERE state = 2 OR state = 8`,
		rows+`INSERT INTO hw_conversation_tags (account_id, conversation_id, tag_id) SELECT 1, i + 1, 2 FROM n WHERE state >= 8 OR i % 1000 = 0`,
		`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) INSERT INTO hw_fields (account_id, applies_to, field_key, label, type, options,
			required_to_close, customer_visible, sort_order, created_at, updated_at) SELECT 1, 'conversation', 'f' || i, '', 'text', '[]', FALSE, FALSE, 0, 0, 0 FROM n`,
		rows+`INSERT INTO hw_conversation_values (account_id, subject_id, field_id, value_key, value) SELECT 1, i + 1, 1, CASE WHEN state IN (2, 8) THEN 'gold' ELSE 'silver' END, '' FROM n`,
		rows+`INSERT INTO hw_conversation_values (account_id, subject_id, field_id, value_key, value, number) SELECT 1, i + 1, 2 + i % 99, CAST(i AS TEXT), '', i FROM n`,
		"ANALYZE",
	) {
		if _, err := conn.ExecContext(tb.Context(), statement); err != nil {
			tb.Fatalf("%v: %s", err, statement)
		}
	}
}

// Each common list is one statement, which reads its page from an index in the list's order and little else: whether the
// conversations of a state lie together or everywhere, whatever the statistics say; so does the next page.
func TestCommonLists(t *testing.T) {
	t.Parallel()
	const total, limit = 60_000, 26
	for _, together := range []bool{false, true} {
		t.Run(fmt.Sprintf("together=%t", together), func(t *testing.T) {
			t.Parallel()
			eachEmbedded(t, func(t *testing.T, app *bun.DB, _ *bunstore.DB) {
				fillLists(t, app, total, together)
				seen := &recorder{}
				db := bunstore.New(app.WithQueryHook(seen), bunstore.Config{})
				for _, made := range bigStatistics(app) {
					for _, statement := range made {
						if _, err := app.Exec(statement); err != nil {
							t.Fatal(err)
						}
					}
					for _, l := range commonLists() {
						seek := storage.Seek{Limit: limit, Desc: !l.ascending}
						for range 2 {
							seen.take()
							page, err := db.Within(helpdesk.Scope{AccountID: 1, Mailboxes: l.in}).Conversations().List(t.Context(), l.order, seek)
							if err != nil {
								t.Fatal(err)
							}
							if len(page) != limit {
								t.Fatalf("%s: %d conversations, %d are expected", l.name, len(page), limit)
							}
							checkWork(t, app, l, seen.take())
							middle := page[limit-1]
							seek.From = &storage.Position{Key: middle.SortKey(l.order.Sort), ID: middle.ID}
						}
					}
				}
			})
		})
	}
}

// checkWork checks the index that the statement of a list is read from and, on PostgreSQL, how many pages of the database it
// reads.
func checkWork(t *testing.T, app *bun.DB, l commonList, queries []string) {
	t.Helper()
	const most = 600 // pages: four for the way down in an index, for each of some ranges and of 26 rows
	if len(queries) != 1 {
		t.Errorf("%s: %d statements: %s", l.name, len(queries), queries)
		return
	}
	if plan := planOf(t, app, queries[0]); !regexp.MustCompile(l.index + `\b`).MatchString(plan) {
		t.Errorf("%s is not read from %s:\n%s\n%s", l.name, l.index, queries[0], plan)
	}
	if !strings.Contains(app.String(), "pg") {
		return
	}
	var lines []string
	if err := app.NewRaw("EXPLAIN (ANALYZE, BUFFERS, TIMING OFF) ?", bun.Safe(queries[0])).Scan(t.Context(), &lines); err != nil {
		t.Fatal(err)
	}
	plan, pages := strings.Join(lines, "\n"), 0
	found := regexp.MustCompile(`Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?`).FindStringSubmatch(plan) // of the whole statement
	for _, some := range found[min(1, len(found)):] {
		n, _ := strconv.Atoi(some) // "": none
		pages += n
	}
	if pages == 0 || pages > most {
		t.Errorf("%s reads %d pages, at most %d are expected:\n%s", l.name, pages, most, plan)
	}
}
