package helpdesk_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

// bare is a store without memberships.
type bare struct{ helpdesk.Store }

func (b bare) Within(s helpdesk.Scope) helpdesk.Reader { return bareReader{b.Store.Within(s)} }

type bareReader struct{ helpdesk.Reader }

func (bareReader) Memberships() storage.RowReader[identity.Membership, storage.NoFilter] { return nil }

// A store without the rows of a noun is refused before any is used.
func TestStoreWithoutRows(t *testing.T) {
	t.Parallel()
	key := storage.NewSecretKey()
	sealer := must(storage.NewSealer(key))(t)
	_, err := helpdesk.New(helpdesk.Config{Store: bare{memstore.New()}, Blobs: memblob.New(), Sealer: sealer, SigningKey: key})
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || !slices.Equal(f.Fields["Store"], []string{"has no rows of Memberships"}) {
		t.Errorf("answered %v", err)
	}
}
