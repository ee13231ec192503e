package bunstore

import (
	"context"
	"database/sql"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
)

type eventRow struct {
	bun.BaseModel `bun:"table:hw_events,alias:hw_events"`
	AccountID     int64
	Seq           int64
	Type          string
	Subject       int64
	MailboxID     int64
	ActorID       int64
	Data          []byte
	Time          int64

	ConversationID int64
}

func (r *eventRow) event() storage.Event {
	return storage.Event{
		Seq: r.Seq, Type: r.Type, Subject: r.Subject, MailboxID: r.MailboxID, ActorID: r.ActorID,
		ConversationID: r.ConversationID, Data: empty(r.Data), Time: timeOf(r.Time),
	}
}

// Events implements [storage.EventLog].
func (db *DB) Events(ctx context.Context, accountID, after int64, limit int) ([]storage.Event, error) {
	if limit <= 0 {
		return nil, nil
	}
	var rows []eventRow
	err := db.selects(&rows).Where("account_id = ?", accountID).Where("seq > ?", after).
		Order("seq").Limit(int64(limit)).Scan(ctx)
	if len(rows) > 0 {
		db.replica.wrote(accountID) // who follows lists what the events are about
	}
	return mapped(rows, (*eventRow).event), failure(ctx, err, "event", 0)
}

// eventList restricts a list of events to a scope and a filter.
func (r reader) eventList(rows *[]eventRow, f subscription.EventFilter, seek storage.Seek) *bun.SelectQuery {
	order, beyond := "seq ASC", "seq > ?"
	if seek.Desc {
		order, beyond = "seq DESC", "seq < ?"
	}
	q := r.selects(rows).ApplyQueryBuilder(r.ofEvents).OrderExpr(order).Limit(int64(seek.Limit))
	if seek.From != nil {
		q.Where(beyond, seek.From.ID)
	}
	if f.ConversationIDs != nil { // stated twice, for the index of events with a conversation
		r.by(q, "hw_events_conversation").Where("conversation_id IN (?)", bun.List(f.ConversationIDs)).Where("conversation_id <> 0")
	}
	if f.Areas != nil {
		q.WhereGroup(" AND ", func(q *bun.SelectQuery) *bun.SelectQuery {
			q.Where("1 = 0")
			for _, area := range f.Areas {
				q.WhereOr("substr(type, 1, ?) = ?", len(area)+1, area+".")
			}
			return q
		})
	}
	return q
}

// ofEvents restricts a statement to the account, and to events of the mailboxes or of no mailbox.
func (r reader) ofEvents(q bun.QueryBuilder) bun.QueryBuilder {
	q = r.account(q)
	if r.scope.Mailboxes != nil {
		q = q.Where("?TableName.mailbox_id IN (?)", bun.List(append([]int64{0}, r.scope.Mailboxes...)))
	}
	return q
}

// Events implements [subscription.EventReader]. With several types it reads each in the order of its index.
func (r reader) Events(ctx context.Context, f subscription.EventFilter, seek storage.Seek) ([]storage.Event, error) {
	if err := checkText(f.Types, f.Areas); err != nil || seek.Limit <= 0 {
		return nil, err
	}
	types := slices.Compact(slices.Sorted(slices.Values(f.Types)))
	var rows []eventRow
	var err error
	switch {
	case len(types) == 0 || f.ConversationIDs != nil:
		q := r.eventList(&rows, f, seek)
		if len(types) > 0 {
			q.Where("type IN (?)", bun.List(types))
		}
		err = q.Scan(ctx)
	default:
		var all any = r.eventList(&rows, f, seek).Where("type = ?", types[0])
		all = r.raw("SELECT * FROM (?) AS t", all)
		for _, kind := range types[1:] {
			all = r.raw("? UNION ALL SELECT * FROM (?) AS t", all, r.eventList(&rows, f, seek).Where("type = ?", kind))
		}
		order := bun.Safe("ASC")
		if seek.Desc {
			order = "DESC"
		}
		err = r.raw("SELECT * FROM (?) AS e ORDER BY seq ? LIMIT ?", all, order, seek.Limit).Scan(ctx, &rows)
	}
	return mapped(rows, (*eventRow).event), failure(ctx, err, "event", 0)
}

// EventsBySeq implements [subscription.EventReader].
func (r reader) EventsBySeq(ctx context.Context, seqs []int64) ([]storage.Event, error) {
	if len(seqs) == 0 {
		return nil, r.state()
	}
	var rows []eventRow
	err := r.selects(&rows).ApplyQueryBuilder(r.ofEvents).Where("seq IN (?)", bun.List(seqs)).Order("seq").Scan(ctx)
	return mapped(rows, (*eventRow).event), failure(ctx, err, "event", 0)
}

// LastEvent implements [subscription.EventReader].
func (r reader) LastEvent(ctx context.Context) (int64, error) {
	var last int64
	err := r.raw("SELECT last_event FROM hw_accounts WHERE id = ?", r.scope.AccountID).Scan(ctx, &last)
	return last, failure(ctx, err, "account", r.scope.AccountID)
}

// insertEvents appends to an account's log on SQLite, and returns what events the account listens to.
func (s *querier) insertEvents(ctx context.Context, account int64, events []storage.Event) (listens list[string], err error) {
	var last int64
	err = s.raw("UPDATE hw_accounts SET last_event = last_event + ? WHERE id = ? RETURNING last_event, listens", len(events), account).Scan(ctx, &last, &listens)
	if err != nil {
		return nil, failure(ctx, err, "account", account)
	}
	rows := make([]eventRow, len(events))
	for i, e := range events {
		rows[i] = eventRow{
			AccountID: account, Seq: last - int64(len(events)-i-1), Type: e.Type, Subject: e.Subject,
			MailboxID: e.MailboxID, ConversationID: e.ConversationID, ActorID: e.ActorID, Data: empty(e.Data), Time: micros(e.Time),
		}
	}
	_, err = s.inserts(&rows).Exec(ctx)
	return listens, failure(ctx, err, "event", 0)
}

// insertOutbox queues jobs on PostgreSQL and appends to an account's log, whose row stays locked until the transaction ends.
// It is one statement, in which the row is locked after the jobs have taken their keys, so that transactions do not
// deadlock. The commit of a caller's transaction wakes workers and readers of events in all processes. It reports whether any
// job may be new, and what events the account listens to.
func (s *querier) insertOutbox(ctx context.Context, jobs []jobRow, account int64, events []storage.Event) (queued bool, listens list[string], err error) {
	var text strings.Builder
	var args []any
	write := func(part string, values ...any) {
		text.WriteString(part)
		args = append(args, values...)
	}
	woken, told := "count(*)", "1" // for notifications of the commit, if it is not ours
	if s.notifies() {
		woken = "count(pg_notify('" + jobChannel + "', '" + jobNotice("", "") + "' || kind))"
		told = "pg_notify('" + eventChannel + "', CAST(id AS TEXT))::text"
	}
	write("WITH ")
	after, waking := "", "0"
	if len(jobs) > 0 {
		write("queued AS (?), woken AS (SELECT "+woken+" AS n FROM (SELECT DISTINCT kind FROM queued) AS kinds), ", s.jobs(&jobs))
		after, waking = " AND (SELECT n FROM woken) >= 0", "(SELECT n FROM woken)"
	}
	write("counted AS (UPDATE hw_accounts SET last_event = last_event + ? WHERE id = ?"+after+
		" RETURNING last_event, listens, "+told+" AS told), ", len(events), account)
	write(`logged AS (INSERT INTO hw_events (account_id, seq, type, subject, mailbox_id, conversation_id, actor_id, data, time)
		SELECT ?, c.last_event - ? + e.place, e.type, e.subject, e.mailbox, e.conversation, e.actor, e.data, e.at
		FROM counted AS c, `, account, len(events))
	all := columnsOf(events)
	write(`unnest(?::text[], ?::int8[], ?::int8[], ?::int8[], ?::int8[], ?::bytea[], ?::int8[]) WITH ORDINALITY
		AS e (type, subject, mailbox, conversation, actor, data, at, place)) SELECT `+waking+`, count(told), COALESCE(min(listens::text), '[]') FROM counted`,
		pgdialect.Array(all.types), pgdialect.Array(all.subjects), pgdialect.Array(all.mailboxes), pgdialect.Array(all.conversations),
		pgdialect.Array(all.actors), pgdialect.Array(all.data), pgdialect.Array(all.times))
	var jobsQueued, counted int
	err = s.raw(text.String(), args...).Scan(ctx, &jobsQueued, &counted, &listens)
	if err == nil && counted == 0 {
		err = sql.ErrNoRows
	}
	return jobsQueued > 0, listens, failure(ctx, err, "account", account)
}

// eventColumns are events by column: arrays, so that the statement has the same text for any number of events.
type eventColumns struct {
	types, data                                       []string // data as PostgreSQL writes bytes
	subjects, mailboxes, conversations, actors, times []int64
}

func columnsOf(events []storage.Event) (c eventColumns) {
	for _, e := range events {
		c.types, c.data = append(c.types, e.Type), append(c.data, `\x`+hex.EncodeToString(e.Data))
		c.subjects, c.mailboxes = append(c.subjects, e.Subject), append(c.mailboxes, e.MailboxID)
		c.conversations, c.actors = append(c.conversations, e.ConversationID), append(c.actors, e.ActorID)
		c.times = append(c.times, micros(e.Time))
	}
	return c
}
