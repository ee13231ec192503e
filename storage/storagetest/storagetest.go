// Package storagetest is the conformance suite for storage backends. A backend that passes keeps the promises in the
// comments of helpdesk.Store, kb.Store, storage.Jobs, storage.EventLog and storage.Blobs.
//
//	func TestStore(t *testing.T) {
//		storagetest.Run(t, func(t *testing.T) storagetest.Backend {
//			s := mystore.Open(t.TempDir())
//			return storagetest.Backend{Store: s, Jobs: s, Events: s, KB: s.KB()}
//		})
//	}
//
// Wrap a store that exists before you write one: most of what an application wants of its own (a log, a cache, another place
// for blobs) is a few methods around bunstore's, and the rest stays tested. Example customstore shows a store written anew.
//
// Each group is a subtest (go test -run 'TestStore/Isolation') and opens one backend. The tests in a group run in parallel,
// each in its own account.
package storagetest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Backend is what the suite tests: a store, and the queue and the event log that its transactions fill.
type Backend struct {
	Store  helpdesk.Store
	Jobs   storage.Jobs
	Events storage.EventLog
	KB     kb.Store // on the same data; nil: the knowledge base is not tested
	// SnapshotsBlock says that snapshots block writers, as with a single connection.
	SnapshotsBlock bool
}

// testCase tests one promise. It shares the backend with others and creates its own account.
type testCase struct {
	name string
	run  func(t *testing.T, b Backend)
}

type group struct {
	name  string
	tests []testCase
	kb    bool // whether it tests the knowledge base
}

// lacks skips a test of an optional part of a backend. With HELPWRIGHT_TEST_REQUIRE=1 it fails the test instead, so that
// parts cannot be lost unnoticed.
func lacks(t *testing.T, reason string) {
	t.Helper()
	if os.Getenv("HELPWRIGHT_TEST_REQUIRE") == "1" {
		t.Fatalf("%s (and HELPWRIGHT_TEST_REQUIRE=1)", reason)
	}
	t.Skip(reason)
}

// Run tests a backend. open returns a new, empty backend and closes it with the cleanup of its t. Run calls open once for
// each group, from parallel tests.
func Run(t *testing.T, open func(t *testing.T) Backend) {
	t.Helper()
	for _, g := range groups() {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			if g.kb && b.KB == nil {
				lacks(t, "the backend has no knowledge base")
			}
			testNew(t, b)
			for _, test := range g.tests {
				t.Run(test.name, func(t *testing.T) {
					t.Parallel()
					test.run(t, b)
				})
			}
		})
	}
}

func groups() []group {
	return []group{
		{name: "Directory", tests: directoryTests()},
		{name: "CRUD", tests: crudTests()},
		{name: "Mail", tests: mailTests()},
		{name: "Paging", tests: pagingTests()},
		{name: "Unique", tests: uniqueTests()},
		{name: "Transactions", tests: transactionTests()},
		{name: "Isolation", tests: isolationTests()},
		{name: "Values", tests: valueTests()},
		{name: "Jobs", tests: jobTests()},
		{name: "Events", tests: eventTests()},
		{name: "PGPKeys", tests: pgpKeyTests()},
		{name: "Idempotency", tests: idempotencyTests()},
		{name: "Units", tests: unitTests()},
		{name: "Search", tests: searchTests()},
		{name: "Trim", tests: trimTests()},
		{name: "Rows", tests: rowTests()},
		{name: "Tags", tests: tagTests()},
		{name: "Fields", tests: fieldTests()},
		{name: "People", tests: peopleTests()},
		{name: "Retention", tests: retentionTests()},
		{name: "Suppressions", tests: suppressionTests()},
		{name: "SiteRows", tests: testsOf(kbNouns()), kb: true},
		{name: "Sites", tests: siteTests(), kb: true},
		{name: "SiteFiles", tests: themeFileTests(), kb: true},
		{name: "Articles", tests: articleTests(), kb: true},
		{name: "Readers", tests: readerTests(), kb: true},
		{name: "KBIsolation", tests: kbIsolationTests(), kb: true},
		{name: "Portal", tests: portalTests()},
		{name: "Audit", tests: auditTests()},
		{name: "BlobRows", tests: blobRowTests()},
		{name: "Webhooks", tests: webhookTests()},
		{name: "Desk", tests: deskTests()},
		{name: "Lagging", tests: laggingTests()},
		{name: "Notified", tests: notificationTests()},
		{name: "Vault", tests: vaultTests()},
		{name: "Transfer", tests: transferTests()},
		{name: "KBTransfer", tests: kbTransferTests(), kb: true},
	}
}

// same compares stored values with those read back; empty and nil slices are equal.
func same(t *testing.T, what string, want, got any) {
	t.Helper()
	large := cmp.FilterValues(func(a, b []byte) bool { return len(a)+len(b) > 1<<16 }, cmp.Comparer(bytes.Equal)) // comparing single bytes takes seconds
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), large); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fails checks the kind of an error, which must be a fault.
func fails(t *testing.T, what string, err error, kind fault.Kind) {
	t.Helper()
	if !fault.Is(err, kind) {
		t.Errorf("%s: got %v, want a fault of kind %v", what, err, kind)
	}
}

// conflicts checks that an error is a Conflict fault with a code.
func conflicts(t *testing.T, what string, err error, code string) {
	t.Helper()
	f, isFault := errors.AsType[*fault.Error](err)
	if !isFault || f.Kind != fault.Conflict || f.Code != code {
		t.Errorf("%s: got %#v, want a Conflict fault with code %q", what, err, code)
	}
}

// filled fails when a field of a sample is zero, so that new fields are not left out of the tests.
func filled(t *testing.T, sample any, except ...string) {
	t.Helper()
	v := reflect.Indirect(reflect.ValueOf(sample))
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		skip := false
		for _, e := range except {
			skip = skip || e == name
		}
		if !skip && v.Field(i).IsZero() {
			t.Errorf("the suite's %s has nothing in %s", v.Type().Name(), name)
		}
	}
}

func ids[T any](items []T, id func(T) int64) []int64 {
	out := make([]int64, len(items))
	for i, item := range items {
		out[i] = id(item)
	}
	return out
}

// all returns the first page of a list that is expected to be short.
func all() storage.Seek { return storage.Seek{Limit: 1000} }

// txFunc is the body of a transaction.
type txFunc = func(ctx context.Context, tx helpdesk.Tx) error
