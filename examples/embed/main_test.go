package main

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRollbackTakesTheConversationAlong(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), "file::memory:?_pragma=foreign_keys(1)", &out); err != nil {
		t.Fatal(err)
	}
	want := "the second order: out of stock\n" +
		"conversation 1: Thank you for ordering a door.\n" +
		"orders: 1\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
