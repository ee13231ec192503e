package kb_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

// bare is a store without categories.
type bare struct{ kb.Store }

func (b bare) Within(s kb.Scope) kb.Reader { return bareReader{b.Store.Within(s)} }

type bareReader struct{ kb.Reader }

func (bareReader) Categories() storage.RowReader[kb.Category, kb.CategoryFilter] { return nil }

// A store that lacks the rows of a noun is refused at once.
func TestStoreWithoutRows(t *testing.T) {
	t.Parallel()
	member := func(context.Context, kb.Caller, int64) (kb.Membership, error) { return kb.Membership{}, nil }
	_, err := kb.New(kb.Config{Store: bare{memstore.New().KB()}, Blobs: memblob.New(), Membership: member})
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || !slices.Equal(f.Fields["Store"], []string{"has no rows of Categories"}) {
		t.Errorf("answered %v", err)
	}
}
