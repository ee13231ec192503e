package memstore

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/kb"
)

type exchangeKeyRow struct {
	SiteID int64
	kb.ExchangeKey
}

func (r kbReader) ExchangeKeys(ctx context.Context) ([]kb.ExchangeKey, error) {
	return query(ctx, r.src, func(db *data) ([]kb.ExchangeKey, error) {
		var keys []kb.ExchangeKey
		for _, k := range db.exchangeKeys.all(r.scope.AccountID) {
			if k.SiteID == r.scope.SiteID {
				keys = append(keys, k.ExchangeKey)
			}
		}
		return keys, nil
	})
}

func (t kbTx) SetExchangeKeys(ctx context.Context, keys []kb.ExchangeKey) error {
	return t.write(ctx, func(db *data) error {
		account := t.scope.AccountID
		if _, err := db.site(t.scope, t.scope.SiteID); err != nil {
			return err
		}
		db.exchangeKeys.removeIf(account, func(o *exchangeKeyRow) bool {
			return o.SiteID == t.scope.SiteID && slices.ContainsFunc(keys, func(k kb.ExchangeKey) bool {
				return k.Kind == o.Kind && (k.ID == o.ID || k.Key == o.Key)
			})
		})
		for _, k := range keys {
			var id int64
			if err := db.exchangeKeys.insert(account, &exchangeKeyRow{t.scope.SiteID, k}, &id); err != nil {
				return err
			}
		}
		return nil
	})
}
