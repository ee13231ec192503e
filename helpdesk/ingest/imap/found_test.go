package imap

import (
	"slices"
	"strings"
	"testing"

	goimap "github.com/emersion/go-imap/v2"
	"github.com/google/go-cmp/cmp"
)

// A search with more results than are kept is repeated after the last of them: none is left out, and memory is bounded,
// however many results the server sends and in whatever order.
func TestFoundIsBounded(t *testing.T) {
	t.Parallel()
	const all = 3*foundRanges + 1000
	for name, order := range map[string]func(i uint32) uint32{
		"up":   func(i uint32) uint32 { return i },
		"down": func(i uint32) uint32 { return all - 1 - i },
		"both": func(i uint32) uint32 {
			if i%2 == 0 {
				return i / 2
			}
			return all - 1 - i/2
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []uint32
			rounds := 0
			for after, more := uint32(0), true; more; rounds++ {
				f := &found{first: after + 1}
				for i := range uint32(all) {
					n := 2*order(i) + 1 // no two make a range
					f.add(n, n)
					if len(f.ranges) > 2*foundRanges {
						t.Fatalf("%d ranges are kept", len(f.ranges))
					}
				}
				next := ascending(f.set(), after)
				for uids := next(1000); len(uids) > 0; uids = next(1000) {
					got = append(got, uids...)
					after = uids[len(uids)-1]
				}
				more = f.last > 0
			}
			if len(got) != all || !slices.IsSorted(got) || got[len(got)-1] != 2*all-1 {
				t.Errorf("%d numbers, want %d", len(got), all)
			}
			if rounds < 3 || rounds > 6 {
				t.Errorf("%d searches", rounds)
			}
		})
	}
}

// The answer to a search comes in parts, cut anywhere.
func TestSearchResultsInParts(t *testing.T) {
	t.Parallel()
	want := goimap.UIDSet{{Start: 7, Stop: 7}, {Start: 1000, Stop: 1003}, {Start: 4294967295, Stop: 4294967295}}
	for _, c := range []struct {
		text string
		read func() func(*found, []byte) error
	}{
		{"1001 7 1000 1002 4294967295 1003 (MODSEQ 12)\r\n", func() func(*found, []byte) error { return new(searchResult).read }},
		{`(TAG "ALL 5") UID COUNT 9 ALL 1002:1003,7,4294967295,1000:1001 MODSEQ 5` + "\r\n", func() func(*found, []byte) error { return new(esearchResult).read }},
	} {
		for size := 1; size <= len(c.text); size++ {
			f, read := new(found), c.read()
			for part := range slices.Chunk([]byte(c.text), size) {
				if err := read(f, part); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(want, f.set()); diff != "" {
				t.Fatalf("parts of %d: %s", size, diff)
			}
		}
	}
	for _, bad := range []string{"4294967296 ", "1 x ", "-1 ", "1,2 ", "1:2 "} {
		if err := new(searchResult).read(new(found), []byte(bad)); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	for _, bad := range []string{"ALL 4294967296 ", "ALL 1:* ", "ALL 1: ", "ALL 1:2:3 ", "ALL (1) ", "ALL " + strings.Repeat("9", 100)} {
		if err := new(esearchResult).read(new(found), []byte(bad)); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
