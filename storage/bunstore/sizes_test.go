package bunstore_test

import (
	"slices"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/storage/bunstore"
)

func TestSizes(t *testing.T) {
	t.Parallel()
	eachEmbedded(t, func(t *testing.T, _ *bun.DB, db *bunstore.DB) {
		sizes, err := db.Sizes(t.Context())
		if err != nil || len(sizes) < 8 {
			t.Fatal(sizes, err)
		}
		if !slices.ContainsFunc(sizes, func(s bunstore.TableSize) bool { return s.Name == "hw_events" && s.Rows <= 0 }) {
			t.Error(sizes)
		}
		clock, err := db.Clock(t.Context())
		if off := time.Since(clock).Abs(); err != nil || !clock.IsZero() && off > time.Minute {
			t.Error(clock, err)
		}
	})
}
