package mailauth_test

import (
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk/mailauth"
	"github.com/helpwright/helpwright/storage/testenv"
)

// TestGrowth checks that the cost of hostile results is linear in their size, field by field and within one.
func TestGrowth(t *testing.T) { //nolint:paralleltest // it measures
	for _, piece := range []string{"; dmarc=pass header.from=example.com", "(", "(x)", `\`, `"`, ";", "=", " ", "; dkim=pass (", `"a`, "; x=y z.w="} {
		t.Run(piece, func(t *testing.T) {
			testenv.Growth(t, 4<<10, func(n int) func() {
				fields := []string{"mx.example.org" + strings.Repeat(piece, n/len(piece))}
				for range n / 512 {
					fields = append(fields, "mx.evil.example"+strings.Repeat(piece, 512/len(piece)))
				}
				return func() { mailauth.ReadResults(fields, []string{"mx.other.example"}, "example.com") }
			})
		})
	}
}
