package bunstore

import (
	"context"
	"slices"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/kb"
)

type exchangeKeyRow struct {
	bun.BaseModel `bun:"table:hw_exchange_keys,alias:hw_exchange_keys"`
	AccountID     int64
	SiteID        int64
	Kind          string
	ResourceID    int64
	Key           string
}

func (r *exchangeKeyRow) key() kb.ExchangeKey {
	return kb.ExchangeKey{Kind: kb.KeyKind(r.Kind), ID: r.ResourceID, Key: r.Key}
}

// ExchangeKeys implements [kb.ExchangeKeyReader].
func (r kbReader) ExchangeKeys(ctx context.Context) ([]kb.ExchangeKey, error) {
	var rows []exchangeKeyRow
	err := r.selects(&rows).ApplyQueryBuilder(r.site).Scan(ctx)
	return mapped(rows, (*exchangeKeyRow).key), failure(ctx, err, "site", r.scope.SiteID)
}

// SetExchangeKeys implements [kb.ExchangeKeyWriter].
func (w kbWriter) SetExchangeKeys(ctx context.Context, keys []kb.ExchangeKey) error {
	if _, err := w.Sites().Lock(ctx, w.scope.SiteID); err != nil { // one at a time
		return err
	}
	for batch := range slices.Chunk(keys, 500) {
		var rows []exchangeKeyRow
		ids, names := map[string][]int64{}, map[string][]string{}
		for _, k := range batch {
			kind := string(k.Kind)
			rows = append(rows, exchangeKeyRow{AccountID: w.scope.AccountID, SiteID: w.scope.SiteID, Kind: kind, ResourceID: k.ID, Key: k.Key})
			ids[kind], names[kind] = append(ids[kind], k.ID), append(names[kind], k.Key)
		}
		for kind := range ids {
			if err := checkText(names[kind]); err != nil {
				return err
			}
			_, err := w.deletes((*exchangeKeyRow)(nil)).ApplyQueryBuilder(w.site).Where("kind = ?", kind).
				Where("resource_id IN (?) OR key IN (?)", bun.List(ids[kind]), bun.List(names[kind])).Exec(ctx)
			if err != nil {
				return failure(ctx, err, "site", w.scope.SiteID)
			}
		}
		if _, err := w.inserts(&rows).Exec(ctx); err != nil {
			return failure(ctx, err, "site", w.scope.SiteID)
		}
	}
	return nil
}
