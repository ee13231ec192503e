package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// Invalid flags are usage errors, reported before anything is created; and bench is not among the commands in the help.
func TestBenchUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--conversations=99"}, {"--accounts=0"}, {"--conversations=100", "--accounts=11"}, {"--readers=501"}, {"--time=0s"}, {"--quick", "--conversations=4000"},
	} {
		var stderr bytes.Buffer
		if code := run(t.Context(), append([]string{"bench"}, args...), io.Discard, &stderr); code != exitUsage || !strings.Contains(stderr.String(), "100 conversations") {
			t.Errorf("%v: %d, %s", args, code, stderr.String())
		}
	}
	var stdout bytes.Buffer
	if code := run(t.Context(), []string{"--help"}, &stdout, io.Discard); code != exitDone || strings.Contains(stdout.String(), "bench") {
		t.Errorf("%d\n%s", code, stdout.String())
	}
}
