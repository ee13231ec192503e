package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

func (r reader) Suppression(ctx context.Context, id int64) (helpdesk.Suppression, error) {
	return query(ctx, r.src, func(db *data) (helpdesk.Suppression, error) {
		return copyOf(db.suppressions.get(r.scope.AccountID, id))
	})
}

func (r reader) Suppressions(ctx context.Context, seek storage.Seek) ([]helpdesk.Suppression, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.Suppression, error) {
		return db.suppressions.list(r.scope.AccountID, seek, every), nil
	})
}

func (r reader) SuppressionsByKey(ctx context.Context, keys []string) ([]helpdesk.Suppression, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.Suppression, error) {
		return db.suppressions.where(r.scope.AccountID, func(s *helpdesk.Suppression) bool { return slices.Contains(keys, s.Key) }), nil
	})
}

func (t tx) InsertSuppression(ctx context.Context, s *helpdesk.Suppression) error {
	return t.write(ctx, func(db *data) error {
		if db.suppressions.conflict(t.scope.AccountID, 0, func(o *helpdesk.Suppression) bool { return o.Key == s.Key }) {
			return unique(helpdesk.UniqueSuppression, "There is such a suppression already.")
		}
		return db.suppressions.insert(t.scope.AccountID, s, &s.ID)
	})
}

func (t tx) DeleteSuppression(ctx context.Context, id int64) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.suppressions.get(t.scope.AccountID, id); err != nil {
			return err
		}
		db.suppressions.set(t.scope.AccountID, id, nil)
		return nil
	})
}

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

func (r reader) SentTo(ctx context.Context, key string, since time.Time, limit int) (int, error) {
	return query(ctx, r.src, func(db *data) (int, error) {
		n := 0
		for _, d := range db.deliveries.all(r.scope.AccountID) {
			left := d.State == helpdesk.DeliverySent || d.State == helpdesk.DeliveryBounced
			if n >= limit || !left || d.AddressKey != key || d.UpdatedAt.Before(since) {
				continue
			}
			if _, err := db.interaction(r.scope, d.InteractionID); err == nil {
				n++
			}
		}
		return n, nil
	})
}
