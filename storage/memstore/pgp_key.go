package memstore

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func (r reader) PGPKey(ctx context.Context, id int64) (helpdesk.PGPKey, error) {
	return query(ctx, r.src, func(db *data) (helpdesk.PGPKey, error) { return copyOf(db.pgpKeys.get(r.scope.AccountID, id)) })
}

func (r reader) PGPKeys(ctx context.Context, emailIDs []int64, seek storage.Seek) ([]helpdesk.PGPKey, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.PGPKey, error) {
		return db.pgpKeys.list(r.scope.AccountID, seek, func(k *helpdesk.PGPKey) bool {
			return slices.Contains(emailIDs, k.CustomerEmailID)
		}), nil
	})
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

func (t tx) InsertPGPKey(ctx context.Context, k *helpdesk.PGPKey) error {
	return t.write(ctx, func(db *data) error {
		if err := t.checkPGPKey(db, k, 0); err != nil {
			return err
		}
		return db.pgpKeys.insert(t.scope.AccountID, k, &k.ID)
	})
}

func (t tx) UpdatePGPKey(ctx context.Context, k *helpdesk.PGPKey) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.pgpKeys.get(t.scope.AccountID, k.ID); err != nil {
			return err
		}
		if err := t.checkPGPKey(db, k, k.ID); err != nil {
			return err
		}
		return db.pgpKeys.update(t.scope.AccountID, k.ID, k)
	})
}

// checkPGPKey looks for the address of a key, and for another key like it.
func (t tx) checkPGPKey(db *data, k *helpdesk.PGPKey, id int64) error {
	if k.CustomerEmailID == 0 {
		return fault.Missing("email", 0)
	}
	if err := db.customerRefs(t.scope.AccountID, 0, k.CustomerEmailID); err != nil {
		return err
	}
	twin := func(o *helpdesk.PGPKey) bool {
		return o.CustomerEmailID == k.CustomerEmailID && o.Fingerprint == k.Fingerprint
	}
	if db.pgpKeys.conflict(t.scope.AccountID, id, twin) {
		return unique(helpdesk.UniquePGPKey, "The address has this key already.")
	}
	return nil
}

func (t tx) DeletePGPKey(ctx context.Context, id int64) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.pgpKeys.get(t.scope.AccountID, id); err != nil {
			return err
		}
		db.pgpKeys.set(t.scope.AccountID, id, nil)
		return nil
	})
}
