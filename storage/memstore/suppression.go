package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/sending"
)

func (r reader) Received(ctx context.Context, customerEmailID int64, since time.Time, limit int) (int, error) {
	return query(ctx, r.src, func(db *data) (int, error) {
		n := 0
		for _, i := range db.interactions.all(r.scope.AccountID) {
			if n < limit && i.CustomerEmailID == customerEmailID && customerEmailID != 0 && !i.CreatedAt.Before(since) && db.within(r.scope, i) {
				n++
			}
		}
		return n, nil
	})
}

func (r reader) SentTo(ctx context.Context, keys []string, since time.Time) (map[string]int, error) {
	return query(ctx, r.src, func(db *data) (map[string]int, error) {
		sent := map[string]int{}
		for _, d := range db.deliveries.all(r.scope.AccountID) {
			left := d.State.Accepted() || d.State == sending.Bounced
			if !left || !slices.Contains(keys, d.AddressKey) || d.UpdatedAt.Before(since) {
				continue
			}
			if _, err := db.interaction(r.scope, d.InteractionID); err == nil {
				sent[d.AddressKey]++
			}
		}
		return sent, nil
	})
}
