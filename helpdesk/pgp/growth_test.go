package pgp_test

import (
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk/pgp"
	"github.com/helpwright/helpwright/storage/testenv"
)

// TestGrowth checks that the cost of hostile keys and signatures is linear in their size, below the limit.
func TestGrowth(t *testing.T) { //nolint:paralleltest // it measures
	const armor = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n"
	for name, piece := range map[string][2]string{
		"user ids": {"", "\xcd\x01x"}, "keys": {"", "\xc6\x01\x04"}, "signatures": {"", "\xc2\x02\x04\x10"}, "empty": {"", "\xcd\x00"}, "zeros": {"", "\x00"},
		"armored": {armor, "zQF4zQF4\n"}, "armor's header": {armor[:len(armor)-1], "A: b\n"}, "blocks": {"", armor}, "dashes": {"", "-----"},
	} {
		t.Run(name, func(t *testing.T) {
			testenv.Growth(t, pgp.MaxSize/8, func(n int) func() {
				b := []byte(piece[0] + strings.Repeat(piece[1], n/len(piece[1])))
				return func() {
					_, _ = pgp.Parse(b, time.Unix(1e9, 0))
					pgp.Verify(nil, b, b, time.Unix(1e9, 0))
				}
			})
		})
	}
}
