package memstore

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

var pgpKeys = noun[helpdesk.Scope, helpdesk.PGPKey, helpdesk.PGPKeyFilter]{
	Noun: nouns.PGPKeys, of: func(db *data) *table[helpdesk.PGPKey] { return &db.pgpKeys },
	match: func(_ *data, _ helpdesk.Scope, f helpdesk.PGPKeyFilter, k *helpdesk.PGPKey) bool {
		return slices.Contains(f.CustomerEmailIDs, k.CustomerEmailID)
	},
	refers: func(db *data, s helpdesk.Scope, k *helpdesk.PGPKey) error {
		if k.CustomerEmailID == 0 {
			return fault.Missing("email", 0)
		}
		return db.customerRefs(s.AccountID, 0, k.CustomerEmailID)
	},
}

// PGPKeys implements [helpdesk.Reader].
func (r reader) PGPKeys() storage.RowReader[helpdesk.PGPKey, helpdesk.PGPKeyFilter] {
	return rowsOf(r.src, r.scope.AccountID, r.scope, &pgpKeys)
}

// PGPKeys implements [helpdesk.Rows].
func (t tx) PGPKeys() storage.Rows[helpdesk.PGPKey, helpdesk.PGPKeyFilter] {
	return storedOf(t.src, t.scope.AccountID, t.scope, &pgpKeys)
}

func (r reader) PGPKeysByAddress(ctx context.Context, keys []string) ([]helpdesk.KeyOfAddress, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.KeyOfAddress, error) {
		emails := map[int64]string{}
		for _, c := range db.customers.all(r.scope.AccountID) {
			for _, e := range c.Emails {
				if slices.Contains(keys, e.Key) {
					emails[e.ID] = e.Key
				}
			}
		}
		found := db.pgpKeys.where(r.scope.AccountID, func(k *helpdesk.PGPKey) bool { return emails[k.CustomerEmailID] != "" })
		out := make([]helpdesk.KeyOfAddress, len(found))
		for i, k := range found {
			out[i] = helpdesk.KeyOfAddress{PGPKey: k, EmailKey: emails[k.CustomerEmailID]}
		}
		return out, nil
	})
}
