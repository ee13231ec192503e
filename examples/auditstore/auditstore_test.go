package main

import (
	"io"
	"testing"

	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/storage/storagetest"
)

// The suite checks that the store keeps its promises with the audit in between.
func TestStore(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, func(*testing.T) storagetest.Backend {
		s := memstore.New()
		return storagetest.Backend{Store: auditedStore{s, io.Discard}, Jobs: s, Events: s, KB: s.KB()}
	})
}

// The same random operations have the same effects with and without the audit.
func TestCompare(t *testing.T) {
	t.Parallel()
	plain, audited := memstore.New(), memstore.New()
	storagetest.Compare(t, 1, 300,
		storagetest.Backend{Store: plain, Jobs: plain, Events: plain, KB: plain.KB()},
		storagetest.Backend{Store: auditedStore{audited, io.Discard}, Jobs: audited, Events: audited, KB: audited.KB()})
}

func Example() {
	main()
	// Output:
	// account 1: committed
	// account 1: rolled back
	// account 1: committed
	// account 1: committed
	// account 1: conversation 1 is gone
}
