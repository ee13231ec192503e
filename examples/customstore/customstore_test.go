package main

import (
	"fmt"
	"testing"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/storage/storagetest"
)

func backend() storagetest.Backend {
	s := newMapStore()
	return storagetest.Backend{Store: s, Jobs: s, Events: s, KB: s.KB()}
}

func TestStore(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, func(*testing.T) storagetest.Backend { return backend() })
}

// The same random operations have the same effects as on memstore alone.
func TestCompare(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			model := memstore.New()
			storagetest.Compare(t, seed, 300, storagetest.Backend{Store: model, Jobs: model, Events: model, KB: model.KB()}, backend())
		})
	}
}

func TestBlobs(t *testing.T) {
	t.Parallel()
	storagetest.Blobs(t, func(*testing.T) storage.Blobs { return &mapBlobs{} })
}

func Example() {
	main()
	// Output:
	// together: changed my mind
	// signature: ""
	// together: <nil>
	// signature: "Grace, {{mailbox.name}}"
	// in Navy help: "<div>Grace, Navy help</div>"
}
