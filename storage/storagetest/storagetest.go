// Package storagetest is the conformance suite of storage backends: what passes it
// keeps the promises that helpdesk.Store, storage.Jobs, storage.EventLog and
// storage.Blobs make in their comments.
//
//	func TestStore(t *testing.T) {
//		storagetest.Run(t, func(t *testing.T) storagetest.Backend {
//			s := mystore.Open(t.TempDir())
//			return storagetest.Backend{Store: s, Jobs: s, Events: s}
//		})
//	}
//
// Each group is a subtest of its own (go test -run 'TestStore/Isolation') and
// opens one backend; the tests in it run in parallel, each in its own account.
package storagetest

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Backend is what the suite tests: a store, and the queue and the log that its
// transactions fill.
type Backend struct {
	Store  helpdesk.Store
	Jobs   storage.Jobs
	Events storage.EventLog
}

// A test of one promise. It shares the backend with others and makes its own account.
type testCase struct {
	name string
	run  func(t *testing.T, b Backend)
}

type group struct {
	name  string
	tests []testCase
}

// Run tests a backend. open returns a new and empty one, which open's t closes; it
// is called once for each group, from parallel tests.
func Run(t *testing.T, open func(t *testing.T) Backend) {
	t.Helper()
	for _, g := range groups() {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
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
		{"Directory", directoryTests()},
		{"CRUD", crudTests()},
		{"Mail", mailTests()},
		{"Paging", pagingTests()},
		{"Unique", uniqueTests()},
		{"Transactions", transactionTests()},
		{"Isolation", isolationTests()},
		{"Values", valueTests()},
		{"Jobs", jobTests()},
		{"Events", eventTests()},
		{"Domains", domainTests()},
		{"PGPKeys", pgpKeyTests()},
		{"Idempotency", idempotencyTests()},
		{"Search", searchTests()},
		{"Tags", tagTests()},
		{"People", peopleTests()},
	}
}

// same compares what was stored with what was read: empty and nil slices are the same.
func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
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

// conflicts checks for a Conflict fault with a code.
func conflicts(t *testing.T, what string, err error, code string) {
	t.Helper()
	f, isFault := errors.AsType[*fault.Error](err)
	if !isFault || f.Kind != fault.Conflict || f.Code != code {
		t.Errorf("%s: got %#v, want a Conflict fault with code %q", what, err, code)
	}
}

// filled fails when a field of a sample is zero, so that no field added later is
// left out of the tests.
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

// all is the first page of a list that is not expected to be long.
func all() storage.Seek { return storage.Seek{Limit: 1000} }

// txFunc is the body of a transaction.
type txFunc = func(ctx context.Context, tx helpdesk.Tx) error
