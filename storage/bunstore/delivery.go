package bunstore

import (
	"cmp"
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
)

type deliveryRow struct {
	bun.BaseModel `bun:"table:hw_deliveries,alias:hw_deliveries"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	InteractionID int64
	Address       string
	AddressKey    string
	Field         string
	State         string
	Attempts      int
	Code          int
	EnhancedCode  string
	Response      string
	MessageID     string
	NextAttemptAt int64
	HeldBy        int64
	HeldUntil     int64
	CreatedAt     int64
	UpdatedAt     int64
}

func (r *deliveryRow) delivery() sending.Delivery {
	return sending.Delivery{
		ID: r.ID, InteractionID: r.InteractionID, Address: r.Address, AddressKey: r.AddressKey, Field: r.Field,
		State: sending.State(r.State), Attempts: r.Attempts, Code: r.Code, EnhancedCode: r.EnhancedCode,
		Response: r.Response, MessageID: r.MessageID, NextAttemptAt: timeOf(r.NextAttemptAt), HeldBy: r.HeldBy, HeldUntil: timeOf(r.HeldUntil),
		CreatedAt: timeOf(r.CreatedAt), UpdatedAt: timeOf(r.UpdatedAt),
	}
}

func deliveryRowOf(account int64, d *sending.Delivery) deliveryRow {
	return deliveryRow{
		ID: d.ID, AccountID: account, InteractionID: d.InteractionID, Address: d.Address, AddressKey: d.AddressKey, Field: d.Field,
		State: string(d.State), Attempts: d.Attempts, Code: d.Code, EnhancedCode: d.EnhancedCode,
		Response: d.Response, MessageID: d.MessageID, NextAttemptAt: micros(d.NextAttemptAt), HeldBy: d.HeldBy, HeldUntil: micros(d.HeldUntil),
		CreatedAt: micros(d.CreatedAt), UpdatedAt: micros(d.UpdatedAt),
	}
}

var deliveries = table[writer, sending.Delivery, sending.DeliveryFilter, deliveryRow]{
	sparse: true,
	Noun:   nouns.Deliveries, row: deliveryRowOf, item: (*deliveryRow).delivery,
	scope:   func(w writer, q bun.QueryBuilder) bun.QueryBuilder { return w.ofInteraction(q) },
	belongs: func(f sending.DeliveryFilter) (string, []int64) { return "interaction_id", f.InteractionIDs },
	refers:  func(_ writer, d *sending.Delivery) (string, int64) { return "interaction", d.InteractionID },
	admit: func(ctx context.Context, w writer, all []*sending.Delivery) error {
		if w.scope.Mailboxes == nil {
			return nil // a foreign key checks them
		}
		interactions := make([]int64, len(all))
		for i, d := range all {
			interactions[i] = d.InteractionID
		}
		return w.requireInteractions(ctx, interactions...)
	},
}

// Deliveries implements [helpdesk.Reader].
func (r reader) Deliveries() storage.RowReader[sending.Delivery, sending.DeliveryFilter] {
	return rowsOf(r.placed(), &deliveries)
}

// Deliveries implements [helpdesk.Rows].
func (w writer) Deliveries() storage.Rows[sending.Delivery, sending.DeliveryFilter] {
	return storedOf(w, &deliveries)
}

// DeleteDeliveries implements [helpdesk.InteractionWriter].
func (w writer) DeleteDeliveries(ctx context.Context, interactionID int64) error {
	if err := w.requireInteractions(ctx, interactionID); err != nil {
		return err
	}
	_, err := w.deletes((*deliveryRow)(nil)).ApplyQueryBuilder(w.account).
		Where("interaction_id = ?", interactionID).Exec(ctx)
	return failure(ctx, err, "delivery", 0)
}

// SentTo implements [helpdesk.TrafficReader].
func (r reader) SentTo(ctx context.Context, keys []string, since time.Time) (map[string]int, error) {
	sent := make(map[string]int, len(keys))
	if err := checkText(keys); err != nil || len(keys) == 0 {
		return sent, cmp.Or(err, r.state())
	}
	var found []struct {
		Key string
		N   int
	}
	err := r.selects((*deliveryRow)(nil)).ColumnExpr("address_key AS key, count(*) AS n").ApplyQueryBuilder(r.ofInteraction).
		Where("address_key IN (?)", bun.List(keys)).Where("updated_at >= ?", micros(since)).
		Where("state IN (?)", bun.List([]sending.State{sending.Sent, sending.Delivered, sending.Bounced})).Group("address_key").Scan(ctx, &found)
	for _, f := range found {
		sent[f.Key] = f.N
	}
	return sent, failure(ctx, err, "delivery", 0)
}

// Received implements [helpdesk.TrafficReader].
func (r reader) Received(ctx context.Context, customerEmailID int64, since time.Time, limit int) (int, error) {
	return r.count(ctx, r.selects((*interactionRow)(nil)).ApplyQueryBuilder(r.ofConversation).
		Where("customer_email_id = ?", customerEmailID).Where("created_at >= ?", micros(since)), limit)
}

// count counts the rows that a query selects, up to limit.
func (r reader) count(ctx context.Context, q *bun.SelectQuery, limit int) (int, error) {
	if limit <= 0 {
		return 0, r.state()
	}
	var n int
	err := r.raw("SELECT count(*) FROM (?) AS counted", q.ColumnExpr("1").Limit(int64(limit))).Scan(ctx, &n)
	return n, failure(ctx, err, "delivery", 0)
}
