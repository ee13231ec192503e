package fault_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/fault"
)

func TestKinds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		err  error
		want fault.Kind
	}{
		{"a fault", fault.Missing("mailbox", 7), fault.NotFound},
		{"a wrapped fault", fmt.Errorf("reading: %w", fault.New(fault.Conflict, "in use")), fault.Conflict},
		{"anything else", io.ErrUnexpectedEOF, fault.Internal},
		{"field problems", fault.Field("email", "is taken"), fault.Invalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := fault.Of(tt.err); got != tt.want {
				t.Errorf("Of = %v, want %v", got, tt.want)
			}
		})
	}
	if fault.Is(nil, fault.Internal) {
		t.Error("nil is no fault")
	}
}

func TestErrorsIsComparesKinds(t *testing.T) {
	t.Parallel()
	notFound := &fault.Error{Kind: fault.NotFound}
	err := fmt.Errorf("op: %w", fault.Missing("customer", 3))
	if !errors.Is(err, notFound) {
		t.Error("a missing customer must match the bare kind")
	}
	if errors.Is(err, &fault.Error{Kind: fault.Conflict}) || errors.Is(err, fault.Missing("mailbox", 3)) {
		t.Error("another kind or a particular fault must not match")
	}
	cause := fault.Wrap(fault.Unavailable, "Store.InTx", io.EOF)
	if !errors.Is(cause, io.EOF) {
		t.Error("the cause must stay reachable")
	}
}

func TestCollectorReportsAllAtOnce(t *testing.T) {
	t.Parallel()
	var c fault.Collector
	if c.Err() != nil {
		t.Fatal("nothing was noted")
	}
	c.Check(false, "name", "is required")
	c.Check(true, "email", "is required")
	c.Add("emails[0][email]", "is not an email address")
	c.Add("name", "is required")
	e, ok := errors.AsType[*fault.Error](c.Err())
	if !ok {
		t.Fatal("no fault")
	}
	want := fault.Fields{"name": {"is required"}, "emails[0][email]": {"is not an email address"}}
	if diff := cmp.Diff(want, e.Fields); diff != "" {
		t.Error(diff)
	}
}

func ExampleCollector() {
	var c fault.Collector
	c.Check(false, "name", "is required")
	c.Check(len("x") > 3, "password", "is shorter than 4 characters")
	fmt.Println(c.Err())
	// Output: Some fields are invalid. (name: is required; password: is shorter than 4 characters)
}
