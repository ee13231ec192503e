package storage

import "context"

// IDMap remembers, for an account whose rows come from another store, which ids they have here. What was noted is part of
// the transaction that brought the rows, so that an import goes on where it was ended, and does nothing twice.
type IDMap interface {
	// NewIDs returns the new ids of those of the old ones that were noted, by old id.
	NewIDs(ctx context.Context, noun string, old []int64) (map[int64]int64, error)
	// SaveNewIDs notes new ids by old ones. An old id of the noun that was noted before is a Conflict fault.
	SaveNewIDs(ctx context.Context, noun string, ids map[int64]int64) error
	// ForgetNewIDs removes at most n of the account's notes, whatever their noun, and returns how many.
	ForgetNewIDs(ctx context.Context, n int) (int, error)
}
