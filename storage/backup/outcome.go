package backup

import (
	"context"
	"encoding/json"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Outcome is what is remembered of backups.
type Outcome struct {
	At        time.Time `json:"at"`         // when the last one ended
	Failed    bool      `json:"failed"`     // it did
	Size      int64     `json:"size"`       // bytes of the last archive that was written
	Written   time.Time `json:"written"`    // when the last archive was complete; zero: never
	Created   time.Time `json:"created"`    // as of when it is: Info.Created
	RowsApart bool      `json:"rows_apart"` // it has files only: the database is backed up by other means
	Verified  time.Time `json:"verified"`   // when that archive was last found to be whole; zero: never
}

// outcomeItem is the key of the outcome in the vault.
const outcomeItem = "backup/outcome"

// Last returns the outcome of the last backup, a NotFound fault if there was none.
func Last(ctx context.Context, vault storage.Vault) (Outcome, error) {
	var o Outcome
	item, err := vault.Item(ctx, outcomeItem)
	if err != nil {
		return o, err
	}
	if err := json.Unmarshal(item.Value, &o); err != nil {
		return o, fault.Wrap(fault.Internal, "reading the outcome of the last backup", err)
	}
	return o, nil
}

// Remember replaces the outcome of the last backup. After a failure it keeps what was written before.
func Remember(ctx context.Context, vault storage.Vault, o Outcome) error {
	last, err := Last(ctx, vault)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	if o.Failed {
		last.At, last.Failed = o.At, true
		o = last
	}
	return storeOutcome(ctx, vault, o)
}

// RememberVerified notes that the archive of a time was found to be whole. It does nothing if that is not the last one.
func RememberVerified(ctx context.Context, vault storage.Vault, created, now time.Time) error {
	last, err := Last(ctx, vault)
	if fault.Is(err, fault.NotFound) || err == nil && !last.Created.Equal(created) {
		return nil
	}
	if err != nil {
		return err
	}
	last.Verified = now
	return storeOutcome(ctx, vault, last)
}

func storeOutcome(ctx context.Context, vault storage.Vault, o Outcome) error {
	raw, err := json.Marshal(o)
	if err != nil {
		return fault.Wrap(fault.Internal, "writing the outcome of a backup", err)
	}
	return vault.SetItem(ctx, storage.VaultItem{Key: outcomeItem, Value: raw, Modified: o.At})
}
