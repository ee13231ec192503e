package bunstore_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
)

// bigConversations is the number of conversations of TestBigPlans.
const bigConversations = 300_000

// The reads for filing a mail, and the lists of a desk, use the index for what they look for, on tables where walking all
// rows in order would take seconds: with statistics and without.
func TestBigPlans(t *testing.T) {
	t.Parallel()
	eachEmbedded(t, func(t *testing.T, app *bun.DB, _ *bunstore.DB) {
		fillBig(t, app, bigConversations)
		seen := &recorder{}
		db := bunstore.New(app.WithQueryHook(seen), bunstore.Config{})
		r := db.Within(helpdesk.Scope{AccountID: 1})
		pressing := helpdesk.ConversationFilter{Priorities: []helpdesk.Priority{helpdesk.PriorityUrgent, helpdesk.PriorityHigh}}
		reads := map[string]bigRead{
			"one message": {index: regexp.MustCompile(`(?s)hw_interactions_message.*hw_deliveries_message`), run: func(ctx context.Context) error {
				_, err := r.Messages(ctx, 1, []string{"150000"})
				return err
			}},
			"several messages": {index: regexp.MustCompile(`(?s)hw_interactions_message.*hw_deliveries_message`), run: func(ctx context.Context) error {
				_, err := r.Messages(ctx, 1, []string{"none", "150000", "7", "299999@example.org"})
				return err
			}},
			"urgent": {index: regexp.MustCompile(`hw_conversations_priority`), run: func(ctx context.Context) error {
				_, err := r.Conversations().List(ctx, helpdesk.ConversationOrder{ConversationFilter: pressing}, storage.Seek{Limit: 50, Desc: true})
				return err
			}},
			"urgent, by change": {index: regexp.MustCompile(`hw_conversations_priority`), run: func(ctx context.Context) error {
				_, err := r.Conversations().List(ctx, helpdesk.ConversationOrder{ConversationFilter: pressing, Sort: helpdesk.ByUpdated}, storage.Seek{Limit: 50, Desc: true})
				return err
			}},
			"quarantined mails": {index: regexp.MustCompile(`hw_inbound_mails_quarantined`), run: func(ctx context.Context) error {
				_, err := r.InboundMails(ctx, ledger.Filter{MailboxID: 1, States: []ledger.State{ledger.Quarantined}}, storage.Seek{Limit: 50, Desc: true})
				return err
			}},
			"ignored mails": {index: regexp.MustCompile(`hw_inbound_mails_ignored`), run: func(ctx context.Context) error {
				_, err := r.InboundMails(ctx, ledger.Filter{MailboxID: 1, States: []ledger.State{ledger.Ignored}}, storage.Seek{Limit: 50, Desc: true})
				return err
			}},
			"mails aside": {index: regexp.MustCompile(`(?s)hw_inbound_mails_(ignored|aside).*hw_inbound_mails_(quarantined|aside)`), run: func(ctx context.Context) error {
				_, err := r.InboundMails(ctx, ledger.Filter{MailboxID: 1, States: []ledger.State{ledger.Quarantined, ledger.Ignored}}, storage.Seek{Limit: 50, Desc: true})
				return err
			}},
			"mails aside, of all mailboxes": {index: regexp.MustCompile(`hw_inbound_mails_aside`), run: func(ctx context.Context) error {
				_, err := r.InboundMails(ctx, ledger.Filter{States: []ledger.State{ledger.Quarantined, ledger.Ignored}}, storage.Seek{Limit: 50, Desc: true})
				return err
			}},
			"mails counted": {index: regexp.MustCompile(`(?s)hw_inbound_mails_waiting.*hw_inbound_mails_quarantined.*hw_inbound_mails_ignored`), run: func(ctx context.Context) error {
				_, err := r.InboundCounts(ctx, 1)
				return err
			}},
			"who waits longest, from the middle": {index: regexp.MustCompile(`\bid ?< ?['?$\d]`), run: func(ctx context.Context) error {
				_, err := r.Conversations().List(ctx, helpdesk.ConversationOrder{Sort: helpdesk.ByAwaiting}, storage.Seek{
					Limit: 50, Desc: true, From: &storage.Position{ID: bigConversations / 2},
				})
				return err
			}},
			"waiting mails": {index: regexp.MustCompile(`hw_inbound_mails_waiting`), run: func(ctx context.Context) error {
				_, err := r.InboundMails(ctx, ledger.Filter{MailboxID: 1, States: []ledger.State{ledger.Received}}, storage.Seek{Limit: 50})
				return err
			}},
		}
		for _, list := range bigLists() {
			reads[list.name] = list.read(t, app, db)
		}
		for _, made := range bigStatistics(app) {
			for _, statement := range made {
				if _, err := app.DB.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			app.DB.SetMaxIdleConns(0) // new connections read the settings
			app.DB.SetMaxIdleConns(4)
			statistics := len(made) > 0
			for name, read := range reads {
				seen.take()
				if err := read.run(t.Context()); err != nil {
					t.Fatal(err)
				}
				queries := seen.take()
				if read.last {
					queries = queries[len(queries)-1:]
				}
				if read.last && !read.blind && !statistics && strings.Contains(app.String(), "pg") {
					continue // it has none for a minute at most, and takes all sets for a few rows
				}
				for _, query := range queries {
					plans := plansOf(t, app, query)
					for i, plan := range plans {
						if i > 0 && cost(t, plan) > 10*cost(t, plans[0]) {
							continue // the server sees that planning for the values pays off
						}
						if !read.index.MatchString(plan) || read.last && !read.sorts && sorted.MatchString(plan) {
							t.Errorf("%s, statistics %t, plan %d:\n%s\n%s", name, statistics, i, query, plan)
						}
					}
				}
			}
		}
		t.Run("Pages", func(t *testing.T) { pagesBig(t, app, db) })
		t.Run("Mixed", func(t *testing.T) { mixedBig(t, app, db) })
		t.Run("Searches", func(t *testing.T) { searchBig(t, app) })
		t.Run("Trims", func(t *testing.T) { trimBig(t, app) })
	})
}

// bigStatistics returns the ways to compute the statistics under which plans are checked: none, of all rows, or on SQLite of
// a hundred, as the store does, and outdated ones from when there were few rows.
func bigStatistics(app *bun.DB) [][]string {
	if strings.Contains(app.String(), "pg") {
		return [][]string{nil, {"ANALYZE"}}
	}
	return [][]string{
		nil, {"PRAGMA analysis_limit = 100; ANALYZE"},
		{"UPDATE sqlite_stat1 SET stat = '40 20 10 2 1' WHERE stat LIKE '% % % %'", "UPDATE sqlite_stat1 SET stat = '40 20 1' WHERE tbl LIKE 'hw_conversation%' AND stat LIKE '300000%'"},
	}
}

// bigRead is a read whose plans are checked: of all its queries, or of the last.
type bigRead struct {
	index *regexp.Regexp
	run   func(ctx context.Context) error
	last  bool
	sorts bool
	blind bool // the plan is also right without PostgreSQL's statistics
}

// bigList is a list of conversations whose last query uses an index; lists that sort match few.
type bigList struct {
	name, where, index string
	sorts              bool
	sort               helpdesk.ConversationSort
	filter             helpdesk.ConversationFilter
	in                 []int64 // the mailboxes of a restricted member; nil: all
}

// bigLists returns lists of fillBig's conversations, with their conditions in SQL.
func bigLists() []bigList {
	const open, words = "status IN ('posted', 'pending')", "VIRTUAL TABLE|hw_conversation_search"
	term := func(word string) []helpdesk.SearchTerm { return []helpdesk.SearchTerm{{Text: word}} }
	atWork, closed := []helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusPending}, []helpdesk.Status{helpdesk.StatusClosed}
	urgent := []helpdesk.Priority{helpdesk.PriorityUrgent}
	byCreated, byUpdated, byNumber, byAwaiting := helpdesk.ByCreated, helpdesk.ByUpdated, helpdesk.ByNumber, helpdesk.ByAwaiting
	user, team, nobody := storage.Some[int64](7), storage.Some[int64](1), storage.Null[int64]()
	return []bigList{
		{"a user's", "user_id = 7", "_user_created", false, byCreated, helpdesk.ConversationFilter{UserID: user}, nil},
		{"a user's, by number", "user_id = 7", "_user_number", false, byNumber, helpdesk.ConversationFilter{UserID: user}, nil},
		{"a user's, by change", "user_id = 7", "_user\\b", false, byUpdated, helpdesk.ConversationFilter{UserID: user}, nil},
		{"a former user's", "user_id = 60", "_user_created", false, byCreated, helpdesk.ConversationFilter{UserID: storage.Some[int64](60)}, nil},
		{"a mailbox's", "mailbox_id = 2", "_mailbox_created", false, byCreated, helpdesk.ConversationFilter{MailboxID: 2}, nil},
		{"a mailbox's, by number", "mailbox_id = 2", "_mailbox_number", false, byNumber, helpdesk.ConversationFilter{MailboxID: 2}, nil},
		{"a team's", "team_id = 1", "_team_created", false, byCreated, helpdesk.ConversationFilter{TeamID: team}, nil},
		{"a customer's", "customer_id = 2", "_customer\\b", false, byCreated, helpdesk.ConversationFilter{CustomerID: 2}, nil},
		{"a customer's, by change", "customer_id = 2", "_customer\\b", true, byUpdated, helpdesk.ConversationFilter{CustomerID: 2}, nil},
		{"a customer's, closed", "customer_id = 2 AND status = 'closed'", "_customer\\b", true, byCreated, helpdesk.ConversationFilter{CustomerID: 2, Statuses: closed}, nil},
		{"a customer's, closed, by change", "customer_id = 2 AND status = 'closed'", "_customer\\b", true, byUpdated, helpdesk.ConversationFilter{CustomerID: 2, Statuses: closed}, nil},
		{"a customer's, closed, by number", "customer_id = 2 AND status = 'closed'", "_customer\\b", true, byNumber, helpdesk.ConversationFilter{CustomerID: 2, Statuses: closed}, nil},
		{"a customer's, at work", "customer_id = 2 AND " + open, "_customer\\b", true, byCreated, helpdesk.ConversationFilter{CustomerID: 2, Statuses: atWork}, nil},
		{"a customer's with a tag", "customer_id = 2 AND id % 2 = 0", "_customer\\b", true, byCreated, helpdesk.ConversationFilter{CustomerID: 2, TagIDs: []int64{2}}, nil},
		{"a customer's of a user", "customer_id = 2 AND user_id = 6", "_customer\\b", true, byCreated, helpdesk.ConversationFilter{CustomerID: 2, UserID: storage.Some[int64](6)}, nil},
		{"a common customer's, closed", "customer_id = 1 AND status = 'closed'", "_created|_customer\\b", true, byCreated, helpdesk.ConversationFilter{CustomerID: 1, Statuses: closed}, nil},
		{"a former user's of a mailbox", "user_id = 60 AND mailbox_id = 1", "_user_created", false, byCreated, helpdesk.ConversationFilter{UserID: storage.Some[int64](60), MailboxID: 1}, nil},
		{"a former user's of a mailbox, by change", "user_id = 60 AND mailbox_id = 1", "_user\\b", false, byUpdated, helpdesk.ConversationFilter{UserID: storage.Some[int64](60), MailboxID: 1}, nil},
		{"a former user's of a mailbox, by number", "user_id = 60 AND mailbox_id = 1", "_user_number", false, byNumber, helpdesk.ConversationFilter{UserID: storage.Some[int64](60), MailboxID: 1}, nil},
		{"a former user's of a mailbox, closed", "user_id = 60 AND mailbox_id = 1 AND status = 'closed'", "_user_created", false, byCreated, helpdesk.ConversationFilter{UserID: storage.Some[int64](60), MailboxID: 1, Statuses: closed}, nil},
		{"a team's of a mailbox", "team_id = 1 AND mailbox_id = 1", "_team_created", false, byCreated, helpdesk.ConversationFilter{TeamID: team, MailboxID: 1}, nil},
		{"a team's of a mailbox, by number", "team_id = 1 AND mailbox_id = 1", "_team_number", false, byNumber, helpdesk.ConversationFilter{TeamID: team, MailboxID: 1}, nil},
		{"a customer's of a mailbox", "customer_id = 2 AND mailbox_id = 1", "_customer\\b", true, byCreated, helpdesk.ConversationFilter{CustomerID: 2, MailboxID: 1}, nil},
		{"at work", open, "_open_created", false, byCreated, helpdesk.ConversationFilter{Statuses: atWork}, nil},
		{"at work, by number", open, "_open_number", false, byNumber, helpdesk.ConversationFilter{Statuses: atWork}, nil},
		{"at work, who waits longest", open, "_open_awaiting", false, byAwaiting, helpdesk.ConversationFilter{Statuses: atWork, Awaiting: storage.Null[bool]()}, nil},
		{"a user's at work", "user_id = 7 AND " + open, "_open_user", true, byCreated, helpdesk.ConversationFilter{Statuses: atWork, UserID: user}, nil},
		{"a user's at work, by change", "user_id = 7 AND " + open, "_open_user", false, byUpdated, helpdesk.ConversationFilter{Statuses: atWork, UserID: user}, nil},
		{"nobody's at work, by change", "user_id = 0 AND team_id = 0 AND " + open, "_open_assignee", false, byUpdated, helpdesk.ConversationFilter{Statuses: atWork, UserID: nobody, TeamID: nobody}, nil},
		{"nobody's at work", "user_id = 0 AND team_id = 0 AND " + open, "_open_created|_open_assignee", true, byCreated, helpdesk.ConversationFilter{Statuses: atWork, UserID: nobody, TeamID: nobody}, nil},
		{"pending", "status = 'pending'", "_open_created|_status", true, byCreated, helpdesk.ConversationFilter{Statuses: atWork[1:]}, nil},
		{"closed", "status = 'closed'", "_created", false, byCreated, helpdesk.ConversationFilter{Statuses: []helpdesk.Status{helpdesk.StatusClosed}}, nil},
		{"drafts", "status = 'draft'", "_status", true, byCreated, helpdesk.ConversationFilter{Statuses: []helpdesk.Status{helpdesk.StatusDraft}}, nil},
		{"a tag few have", "id % 50000 = 3", "_tags_tag", true, byUpdated, helpdesk.ConversationFilter{TagIDs: []int64{1}}, nil},
		{"two tags few have", "id % 50000 IN (3, 4)", "_tags_tag", true, byCreated, helpdesk.ConversationFilter{TagIDs: []int64{1, 4}}, nil},
		{"a tag many have", "id % 2 = 0", "Backward using hw_conversation_tags_tag|COVERING INDEX hw_conversation_tags_tag", true, byCreated, helpdesk.ConversationFilter{TagIDs: []int64{2}}, nil},
		{"a tag some have", "id % 3 = 1 AND id <= 1000", "_tags_tag", true, byCreated, helpdesk.ConversationFilter{TagIDs: []int64{5}}, nil},
		{"a tag old ones have, by creation", "id <= 3000", "Backward using hw_conversation_tags_tag|COVERING INDEX hw_conversation_tags_tag", true, byCreated, helpdesk.ConversationFilter{TagIDs: []int64{3}}, nil},
		{"two tags many have", "id % 2 = 0 OR id <= 3000", "Backward using hw_conversation_tags_tag|COVERING INDEX hw_conversation_tags_tag", true, byCreated, helpdesk.ConversationFilter{TagIDs: []int64{2, 3}}, nil},
		{"closed with a tag", "id % 2 = 0 AND status = 'closed'", "Backward using hw_conversation_tags_tag|COVERING INDEX hw_conversation_tags_tag", true, byCreated, helpdesk.ConversationFilter{TagIDs: []int64{2}, Statuses: []helpdesk.Status{helpdesk.StatusClosed}}, nil},
		{"a mailbox's with a tag", "id % 2 = 0 AND mailbox_id = 2", "_mailbox", true, byCreated, helpdesk.ConversationFilter{TagIDs: []int64{2}, MailboxID: 2}, nil},
		{"no spam with a tag", "id % 2 = 0 AND spam_at <= 0", "Backward using hw_conversation_tags_tag|COVERING INDEX hw_conversation_tags_tag", true, byCreated, helpdesk.ConversationFilter{TagIDs: []int64{2}, Spam: storage.Some(false)}, nil},
		{"a tag old ones have", "id <= 3000", "_tags_tag", true, byUpdated, helpdesk.ConversationFilter{TagIDs: []int64{3}}, nil},
		{"undelivered, of none sent", "1 = 0", "SubPlan|CORRELATED SCALAR", true, byCreated, helpdesk.ConversationFilter{Undelivered: true}, nil},
		{"a restricted member's with a tag old ones have", "id <= 3000 AND mailbox_id = 1", "_tags_tag", true, byCreated, helpdesk.ConversationFilter{TagIDs: []int64{3}}, []int64{1}},
		{"a restricted member's with a tag old ones have, by change", "id <= 3000 AND mailbox_id = 1", "_tags_tag", true, byUpdated, helpdesk.ConversationFilter{TagIDs: []int64{3}}, []int64{1}},
		{"a restricted member's of a customer", "customer_id = 2 AND mailbox_id = 1", "_customer\\b", true, byCreated, helpdesk.ConversationFilter{CustomerID: 2}, []int64{1}},
		{"a member's of two mailboxes, of a customer", "customer_id = 2", "_customer\\b", true, byCreated, helpdesk.ConversationFilter{CustomerID: 2}, []int64{1, 2}},
		{"a restricted member's with a word many others have", "FALSE", "_mailbox_created", false, byCreated, helpdesk.ConversationFilter{Terms: term("common")}, []int64{2}},
		{"a restricted member's closed with a word many others have", "FALSE", "_mailbox_created", false, byCreated, helpdesk.ConversationFilter{Terms: term("common"), Statuses: closed}, []int64{2}},
		{"a restricted member's with a word many others have, by change", "FALSE", "_mailbox\\b", false, byUpdated, helpdesk.ConversationFilter{Terms: term("common")}, []int64{2}},
		{"a restricted member's spam", "spam_at > 0 AND mailbox_id = 1", "_spam_created", false, byCreated, helpdesk.ConversationFilter{Spam: storage.Some(true)}, []int64{1}},
		{"a restricted member's spam, by change", "spam_at > 0 AND mailbox_id = 1", "_spam\\b", false, byUpdated, helpdesk.ConversationFilter{Spam: storage.Some(true)}, []int64{1}},
		{"spam, by number", "spam_at > 0", "_spam", true, byNumber, helpdesk.ConversationFilter{Spam: storage.Some(true)}, nil},
		{"urgent, by number", "priority = 'urgent'", "_priority", true, byNumber, helpdesk.ConversationFilter{Priorities: urgent}, nil},
		{"urgent, who waits longest", "priority = 'urgent'", "_priority", true, byAwaiting, helpdesk.ConversationFilter{Priorities: urgent}, nil},
		{"urgent and closed", "priority = 'urgent' AND status = 'closed'", "_priority_created", false, byCreated, helpdesk.ConversationFilter{Priorities: urgent, Statuses: closed}, nil},
		{"urgent with a tag many have", "priority = 'urgent' AND id % 2 = 0", "_priority_created", false, byCreated, helpdesk.ConversationFilter{Priorities: urgent, TagIDs: []int64{2}}, nil},
		{"a restricted member's urgent", "priority = 'urgent' AND mailbox_id = 1", "_priority_created", false, byCreated, helpdesk.ConversationFilter{Priorities: urgent}, []int64{1}},
		{"a member's of two mailboxes, urgent, by change", "priority = 'urgent'", "_priority\\b", false, byUpdated, helpdesk.ConversationFilter{Priorities: urgent}, []int64{1, 2}},
		{"a member's of two mailboxes, changed lately", "updated_at >= 1700000000299000", "_updated", false, byUpdated, helpdesk.ConversationFilter{UpdatedSince: time.UnixMicro(1700000000299000)}, []int64{1, 2}},
		{"nobody's of a small mailbox", "user_id = 0 AND mailbox_id = 2", "_(user|mailbox)_created", false, byCreated, helpdesk.ConversationFilter{UserID: nobody, MailboxID: 2}, nil},
		{"closed spam", "spam_at > 0 AND status = 'closed'", "_spam_created", false, byCreated, helpdesk.ConversationFilter{Spam: storage.Some(true), Statuses: closed}, nil},
		{"spam", "spam_at > 0", "_spam_created", false, byCreated, helpdesk.ConversationFilter{Spam: storage.Some(true)}, nil},
		{"who waits", "awaiting_key > 0", "_awaiting", true, byCreated, helpdesk.ConversationFilter{Awaiting: storage.Some(true)}, nil},
		{"a word none has", "FALSE", words, true, byCreated, helpdesk.ConversationFilter{Terms: term("none")}, nil},
		{"a word few have", "id % 50000 = 3", words, true, byCreated, helpdesk.ConversationFilter{Terms: term("rare")}, nil},
		{"a word few have, by change", "id % 50000 = 3", words, true, byUpdated, helpdesk.ConversationFilter{Terms: term("rare")}, nil},
		{"a word few have, who waits longest", "id % 50000 = 3", words, true, byAwaiting, helpdesk.ConversationFilter{Terms: term("rare")}, nil},
		{"a word few of a user have", "id % 50000 = 3 AND user_id = 3", words, true, byCreated, helpdesk.ConversationFilter{Terms: term("rare"), UserID: storage.Some[int64](3)}, nil},
		{"a word others have", "id % 60000 = 7", words, true, byCreated, helpdesk.ConversationFilter{Terms: term("alien")}, nil},
		{"a word one in a hundred has", "id % 100 = 4", "_created", false, byCreated, helpdesk.ConversationFilter{Terms: term("percent")}, nil},
		{"a word many have", "id % 10 <> 0", "_created", false, byCreated, helpdesk.ConversationFilter{Terms: term("common")}, nil},
		{"a word many have, by change", "id % 10 <> 0", "_updated", false, byUpdated, helpdesk.ConversationFilter{Terms: term("common")}, nil},
		{"a word many of a user have", "id % 10 <> 0 AND user_id = 7", "_user_created", false, byCreated, helpdesk.ConversationFilter{Terms: term("common"), UserID: user}, nil},
		{"two words", "id % 10 <> 0 AND id % 2 = 0", "_created", false, byCreated, helpdesk.ConversationFilter{Terms: append(term("common"), term("half")...)}, nil},
		{"a word many old ones have", "id <= 100000", "hashed SubPlan|LIST SUBQUERY", false, byCreated, helpdesk.ConversationFilter{Terms: term("past")}, nil},
		{"a word many of those changed lately have, by number", "updated_at >= 1700000000250000 AND id % 10 <> 0", "_number", false, byNumber, helpdesk.ConversationFilter{Terms: term("common"), UpdatedSince: time.UnixMicro(1700000000250000)}, nil},
		{"a word others than a team's have", "FALSE", "_team_created", false, byCreated, helpdesk.ConversationFilter{Terms: term("half"), TeamID: team}, nil},
		{"a word others than a team's have, who waits longest", "FALSE", "_team", true, byAwaiting, helpdesk.ConversationFilter{Terms: term("half"), TeamID: team}, nil},
		{"spam of a mailbox with a word, by number", "spam_at > 0 AND mailbox_id = 1 AND id % 2 = 0", "_spam", true, byNumber, helpdesk.ConversationFilter{Terms: term("half"), Spam: storage.Some(true), MailboxID: 1}, nil},
		{"who waits longest", "TRUE", "_awaiting", false, byAwaiting, helpdesk.ConversationFilter{}, nil},
		{"a word many with a rare tag have", "id % 50000 = 3", "_tags_tag", true, byCreated, helpdesk.ConversationFilter{Terms: term("common"), TagIDs: []int64{1}}, nil},
		{"changed lately", "updated_at >= 1700000000299980", "_updated", true, byNumber, helpdesk.ConversationFilter{UpdatedSince: time.UnixMicro(1700000000299980)}, nil},
		{"changed lately, enough for a page among the first rows", "updated_at >= 1700000000299950", "InitPlan|SCALAR SUBQUERY", true, byNumber, helpdesk.ConversationFilter{UpdatedSince: time.UnixMicro(1700000000299950)}, nil},
	}
}

// pagesBig reads some pages of each list, in both directions.
func pagesBig(t *testing.T, app *bun.DB, db *bunstore.DB) {
	t.Helper()
	const limit, pages = 50, 3
	for _, l := range bigLists() {
		for _, desc := range []bool{true, false} {
			want := l.firsts(t, app, desc, pages*limit)
			var got []int64
			seek := storage.Seek{Limit: limit, Desc: desc}
			for range pages {
				page, err := db.Within(helpdesk.Scope{AccountID: 1, Mailboxes: l.in}).Conversations().List(t.Context(), helpdesk.ConversationOrder{ConversationFilter: l.filter, Sort: l.sort}, seek)
				if err != nil {
					t.Fatalf("%s: %v", l.name, err)
				}
				for _, c := range page {
					got = append(got, c.ID)
					seek.From = &storage.Position{Key: c.SortKey(l.sort), ID: c.ID}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, descending %t: (-want +got)\n%s", l.name, desc, diff)
			}
		}
	}
}

// firsts returns the first conversations of the list that the database finds without indexes.
func (l bigList) firsts(t *testing.T, app *bun.DB, desc bool, n int) (ids []int64) {
	t.Helper()
	column := map[helpdesk.ConversationSort]string{
		helpdesk.ByCreated: "created_at", helpdesk.ByUpdated: "updated_at", helpdesk.ByNumber: "number", helpdesk.ByAwaiting: "awaiting_key",
	}[l.sort]
	order := map[bool]string{true: "DESC", false: "ASC"}[desc]
	query := fmt.Sprintf("SELECT id FROM hw_conversations WHERE account_id = 1 AND %s ORDER BY +%s %s, id %s LIMIT %d", l.where, column, order, order, n)
	if err := app.NewRaw(query).Scan(t.Context(), &ids); err != nil {
		t.Fatal(err)
	}
	return ids
}

// read returns a list whose page is compared with what the database finds without indexes.
func (l bigList) read(t *testing.T, app *bun.DB, db *bunstore.DB) bigRead {
	t.Helper()
	want := l.firsts(t, app, true, 26)
	return bigRead{regexp.MustCompile(l.index), func(ctx context.Context) error {
		r := db.Within(helpdesk.Scope{AccountID: 1, Mailboxes: l.in})
		page, err := r.Conversations().List(ctx, helpdesk.ConversationOrder{ConversationFilter: l.filter, Sort: l.sort}, storage.Seek{Limit: 26, Desc: true})
		var got []int64
		for _, c := range page {
			got = append(got, c.ID)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", l.name, diff)
		}
		return err
	}, true, l.sorts, len(l.filter.Terms) > 0 && !l.filter.Spam.IsSet()}
}

// bigWords maps the words of fillBig's conversations to the conversations that have them.
var bigWords = map[string]func(i int) bool{
	"none": func(int) bool { return false }, "rare": func(i int) bool { return i%50_000 == 3 }, "alien": func(i int) bool { return i%60_000 == 7 },
	"percent": func(i int) bool { return i%100 == 4 }, "thousandth": func(i int) bool { return i%1000 == 0 }, "half": func(i int) bool { return i%2 == 0 },
	"common": func(i int) bool { return i%10 != 0 }, "old": func(i int) bool { return i <= 30_000 }, "past": func(i int) bool { return i <= 100_000 },
}

// searchBig searches for rare, less rare and common words, in several orders, in all mailboxes and in one, two pages each:
// all ways of searching find the right rows.
func searchBig(t *testing.T, app *bun.DB) {
	t.Helper()
	db := bunstore.New(app, bunstore.Config{})
	scopes := map[*helpdesk.Scope]func(i int) bool{
		{AccountID: 1}:                           func(int) bool { return true },
		{AccountID: 1, Mailboxes: []int64{2, 9}}: func(i int) bool { return i%100 == 0 && i < 100_000 },
	}
	waits := func(i int) bool { return i%3000 == 1 }
	for scope, sees := range scopes {
		for word, has := range bigWords {
			for _, order := range []helpdesk.ConversationSort{helpdesk.ByUpdated, helpdesk.ByAwaiting} {
				for _, desc := range []bool{false, true} {
					var all []int64 // in id order; in a descending list waiting conversations come first
					for _, waiting := range []bool{desc, !desc} {
						for n := range bigConversations {
							i := n + 1
							if desc {
								i = bigConversations - n
							}
							in := order != helpdesk.ByAwaiting && waiting || order == helpdesk.ByAwaiting && waits(i) == waiting
							if in && has(i) && sees(i) && len(all) < 52 {
								all = append(all, int64(i))
							}
						}
					}
					seek := storage.Seek{Desc: desc, Limit: 26}
					for from := 0; from < 52; from += seek.Limit {
						want := all[from:min(from+seek.Limit, len(all))]
						terms := []helpdesk.SearchTerm{{Text: word[:len(word)-from/26], Prefix: from > 0}}
						page, err := db.Within(*scope).Conversations().List(t.Context(), helpdesk.ConversationOrder{
							ConversationFilter: helpdesk.ConversationFilter{Terms: terms}, Sort: order,
						}, seek)
						if err != nil {
							t.Fatal(err)
						}
						got := []int64{}
						for _, c := range page {
							got = append(got, c.ID)
							seek.From = &storage.Position{Key: c.SortKey(order), ID: c.ID}
						}
						if diff := cmp.Diff(append([]int64{}, want...), got); diff != "" {
							t.Errorf("%s by %s, descending %t, from %d, within %v: (-want +got)\n%s", word, order, desc, from, scope.Mailboxes, diff)
						}
						if len(want) < seek.Limit {
							break
						}
					}
				}
			}
		}
	}
}

// plansOf returns how the database would run a query.
func plansOf(t *testing.T, app *bun.DB, query string) []string {
	t.Helper()
	conn, err := app.DB.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return (&planner{t: t, conn: conn, postgres: strings.Contains(app.String(), "pg")}).plans(query)
}

// bigText is the text with the bigWords of a conversation.
const bigText = `'x' || CASE WHEN n.i % 10 <> 0 THEN ' common' ELSE '' END || CASE WHEN n.i % 2 = 0 THEN ' half' ELSE '' END
	|| CASE WHEN n.i % 100 = 4 THEN ' percent' ELSE '' END || CASE WHEN n.i % 1000 = 0 THEN ' thousandth' ELSE '' END
	|| CASE WHEN n.i <= 30000 THEN ' old' ELSE '' END || CASE WHEN n.i <= 100000 THEN ' past' ELSE '' END || CASE WHEN n.i % 50000 = 3 THEN ' rare' ELSE '' END || CASE WHEN n.i % 60000 = 7 THEN ' alien' ELSE '' END`

// fillBig creates conversations, each with a mail that is in the ledger.
func fillBig(t *testing.T, app *bun.DB, n int) {
	t.Helper()
	conn, err := app.DB.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// The rows are known to be valid: skip checks, and build indexes in memory.
	settings := []string{"PRAGMA cache_size = -400000", "PRAGMA foreign_keys = 0"}
	into, words := "(rowid, account, customer, own) SELECT n.i, '_' || %d, '', %s", bigText
	if strings.Contains(app.String(), "pg") {
		into, words = "(account_id, conversation_id, customer, own) SELECT %d, n.i, '', %s", "array_to_tsvector(string_to_array("+bigText+", ' '))"
		settings = []string{"SET synchronous_commit = off", "SET session_replication_role = replica"}
	}
	for _, statement := range append(settings,
		`INSERT INTO hw_accounts (name, next_number, default_locale, languages, created_at, updated_at) VALUES ('a', 1, 'en', '[]', 0, 0)`,
		`INSERT INTO hw_mailboxes (account_id, name, email, email_key, from_name, internal_local, inbound_type, host, port,
			username, encryption, validate_certificate, folders, created_at, updated_at)
			VALUES (1, 'm', 'm', 'm', '', 'm', 'FWD', '', 0, '', '', TRUE, '[]', 0, 0)`,
		`INSERT INTO hw_customers (account_id, first_name, last_name, company, created_at, updated_at) VALUES (1, 'a', 'b', 'c', 0, 0), (1, 'd', 'e', 'f', 0, 0)`,
		`INSERT INTO hw_mailboxes (account_id, name, email, email_key, from_name, internal_local, inbound_type, host, port,
			username, encryption, validate_certificate, folders, created_at, updated_at)
			VALUES (1, 'n', 'n', 'n', '', 'n', 'FWD', '', 0, '', '', TRUE, '[]', 0, 0)`,
		`INSERT INTO hw_conversations (account_id, number, channel, mailbox_id, customer_id, customer_email, user_id, team_id, status,
			subject, preview, awaiting_since, priority, spam_at, created_at, updated_at)
			SELECT 1, n.i, 'email', CASE WHEN n.i % 100 = 0 AND n.i < 100000 THEN 2 ELSE 1 END, CASE WHEN n.i % 1000 = 6 THEN 2 ELSE 1 END, '',
				CASE WHEN n.i < 3000 AND n.i % 3 = 0 THEN 60 WHEN n.i % 3 = 0 THEN 0 ELSE n.i % 50 END, CASE WHEN n.i % 40 = 1 THEN 1 ELSE 0 END,
				CASE WHEN n.i % 50 = 1 THEN 'posted' WHEN n.i % 30000 = 5 THEN 'pending' ELSE 'closed' END, '', '',
				CASE WHEN n.i % 3000 = 1 THEN 1700000000000000 + n.i ELSE -62135596800000000 END,
				CASE WHEN n.i % 50000 = 0 THEN 'urgent' ELSE 'normal' END, CASE WHEN n.i % 100 = 9 AND n.i < 50000 THEN 1 ELSE -62135596800000000 END,
				1700000000000000 + n.i, 1700000000000000 + n.i FROM n`,
		`INSERT INTO hw_tags (account_id, name, name_key, color, created_at, updated_at) VALUES (1, 'a', 'a', '', 0, 0), (1, 'b', 'b', '', 0, 0), (1, 'c', 'c', '', 0, 0), (1, 'd', 'd', '', 0, 0), (1, 'e', 'e', '', 0, 0)`,
		`INSERT INTO hw_conversation_tags (account_id, conversation_id, tag_id, created_at) SELECT 1, n.i, 2, 1700000000000000 + n.i FROM n WHERE n.i % 2 = 0`,
		`INSERT INTO hw_conversation_tags (account_id, conversation_id, tag_id, created_at) SELECT 1, n.i, 3, 1700000000000000 + n.i FROM n WHERE n.i <= 3000`,
		`INSERT INTO hw_conversation_tags (account_id, conversation_id, tag_id, created_at) SELECT 1, n.i, 5, 1700000000000000 + n.i FROM n WHERE n.i % 3 = 1 AND n.i <= 1000`,
		`INSERT INTO hw_conversation_tags (account_id, conversation_id, tag_id, created_at) SELECT 1, n.i, CASE WHEN n.i % 50000 = 3 THEN 1 ELSE 4 END, 1700000000000000 + n.i FROM n WHERE n.i % 50000 IN (3, 4)`,
		`INSERT INTO hw_interactions (account_id, conversation_id, type, status, body, subject, user_id, posted_by_id,
			customer_email, to_addresses, cc_addresses, bcc_addresses, source, is_starter, is_forward, auto_submitted, seen_at,
			posted_at, send_started_at, message_id, message_refs, threading, at, created_at, updated_at)
			SELECT 1, n.i, 'customer', 'posted', '', '', 0, 0, '', '[]', '[]', '[]', '', FALSE, FALSE, FALSE, 0, 0, 0, n.n,
			'[]', '{}', n.i, 0, 0 FROM n`,
		`INSERT INTO hw_deliveries (account_id, interaction_id, address, field, state, attempts, code, enhanced_code, response, message_id,
			next_attempt_at, created_at, updated_at) SELECT 1, n.i, '', 'to', 'sent', 1, 250, '', '', 's' || n.n, 0, 0, 0 FROM n`,
		"INSERT INTO hw_conversation_search "+fmt.Sprintf(into, 1, words)+" FROM n",
		"INSERT INTO hw_conversation_search "+fmt.Sprintf(strings.Replace(into, "n.i", fmt.Sprint(n, " + n.i"), 1), 2, "'alien'")+" FROM n WHERE n.i % 4 = 0",
		`INSERT INTO hw_inbound_mails (account_id, mailbox_id, source, position, state, reason, raw_key, size, message_id,
			received_at, updated_at) SELECT 1, 1, 'imap', n.n, CASE WHEN n.i % 100000 = 0 THEN 'received' ELSE 'filed' END, '', n.n, 1, '', 0, 0 FROM n`,
	) {
		if strings.Contains(statement, "FROM n") {
			statement = `WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < ?),
				n AS (SELECT i, CAST(i AS TEXT) AS n FROM s) ` + statement
			if _, err := conn.ExecContext(t.Context(), strings.ReplaceAll(statement, "i < ?", fmt.Sprintf("i < %d", n))); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if _, err := conn.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}
