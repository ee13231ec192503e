package imap

import (
	"fmt"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/testenv"
)

// TestGrowth checks that the cost of a server's search results is linear in their size, in whatever order and pieces they
// arrive.
func TestGrowth(t *testing.T) {
	t.Parallel()
	// The ranges are sorted only now and then, so small inputs are not significant.
	for name, number := range map[string]func(i, n int) string{
		"rising":         func(i, _ int) string { return fmt.Sprint(2*i + 1) },
		"falling":        func(i, n int) string { return fmt.Sprint(2*(n-i) + 1) },
		"from both ends": func(i, n int) string { return fmt.Sprint(1 + 2*max(i*(1-i%2), (n-i)*(i%2))) },
	} {
		t.Run(name, func(t *testing.T) {
			testenv.Growth(t, 100_000, func(n int) func() {
				all := make([]string, n)
				for i := range all {
					all[i] = number(i, n)
				}
				extended := []byte("ALL " + strings.Join(all, ",") + "\r\n")
				plain := []byte(strings.ReplaceAll(strings.Join(all, " "), ":", " ") + "\r\n")
				return func() {
					to, s := &found{first: 1}, &esearchResult{}
					for at := 0; at < len(extended); at += 100 {
						if err := s.read(to, extended[at:min(at+100, len(extended))]); err != nil {
							t.Fatal(err)
						}
					}
					to.normalizeRanges()
					if err := (&searchResult{}).read(&found{first: 1}, plain); err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
}
