package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// Flags that do not fit together are refused before anything is created.
func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--conversations=99"}, {"--accounts=0"}, {"--conversations=100", "--accounts=11"}, {"--readers=501"}, {"--time=0s"}, {"--quick", "--conversations=4000"},
	} {
		if err := run(t.Context(), args, io.Discard, io.Discard); !errors.Is(err, errUsage) {
			t.Errorf("%v: %v", args, err)
		}
	}
	if err := run(t.Context(), []string{"--no-such-flag"}, io.Discard, io.Discard); err == nil {
		t.Error("a flag that does not exist is taken")
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	var stdout bytes.Buffer
	if err := run(t.Context(), []string{"--conversations=100", "--articles=0", "--accounts=1", "--time=1ms", "--only=bulk"}, &stdout, io.Discard); err != nil {
		t.Fatal(err)
	}
	if text := stdout.String(); !strings.Contains(text, "| bulk update of 100 |") {
		t.Error(text)
	}
}
