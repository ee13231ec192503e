package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnchanged(t *testing.T) {
	t.Parallel()
	const maps = `00400000-02000000 r-xp 00000000 fe:00 1 /usr/bin/help wright
Size:               1000 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
02000000-03000000 r--p 01c00000 fe:00 1 /usr/bin/help wright
Anonymous:             4 kB
03000000-03001000 rw-p 02c00000 fe:00 1 /usr/bin/help wright
Anonymous:             0 kB
04000000-04001000 r--p 00000000 fe:00 2 /usr/lib/other
Anonymous:             0 kB
7f0000000000-7f0000001000 r--p 00000000 00:00 0
Anonymous:             0 kB
05000000-05002000 r--p 02d00000 fe:00 1 /usr/bin/help wright
Rss:                   8 kB
Anonymous:             0 kB
`
	found := unchanged([]byte(maps), "/usr/bin/help wright")
	want := []mapping{{0x400000, 0x2000000}, {0x5000000, 0x5002000}}
	if diff := cmp.Diff(want, found, cmp.AllowUnexported(mapping{})); diff != "" {
		t.Error(diff)
	}
}

// A program whose pages are given back goes on.
func TestReleaseProgram(t *testing.T) {
	t.Parallel()
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if len(unchanged(maps, path)) == 0 {
		t.Errorf("no part of %s is found in\n%s", path, maps)
	}
	for range 10 {
		if err := releaseProgram(); err != nil {
			t.Fatal(err)
		}
	}
}
