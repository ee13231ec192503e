package bunstore

import (
	"context"

	"github.com/uptrace/bun"

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
}

func (r *eventRow) event() storage.Event {
	return storage.Event{
		Seq: r.Seq, Type: r.Type, Subject: r.Subject, MailboxID: r.MailboxID, ActorID: r.ActorID,
		Data: empty(r.Data), Time: timeOf(r.Time),
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
	return mapped(rows, (*eventRow).event), failure(ctx, err, "event", 0)
}

// insertEvents appends to the log of an account, whose row stays locked from here to the end of the transaction.
func (s *querier) insertEvents(ctx context.Context, account int64, events []storage.Event) error {
	var last int64
	err := s.raw("UPDATE hw_accounts SET last_event = last_event + ? WHERE id = ? RETURNING last_event",
		len(events), account).Scan(ctx, &last)
	if err != nil {
		return failure(ctx, err, "account", account)
	}
	rows := make([]eventRow, len(events))
	for i, e := range events {
		rows[i] = eventRow{
			AccountID: account, Seq: last - int64(len(events)-i-1), Type: e.Type, Subject: e.Subject,
			MailboxID: e.MailboxID, ActorID: e.ActorID, Data: empty(e.Data), Time: micros(e.Time),
		}
	}
	_, err = s.inserts(&rows).Exec(ctx)
	return failure(ctx, err, "event", 0)
}
