package storage

import (
	"context"

	"github.com/helpwright/helpwright/storage/fault"
)

// Meter limits how many bytes a caller reads from a database. It counts rows as they arrive, because a few rows may exceed
// the machine's memory and their size is not known in advance.
type Meter struct {
	// Take counts n more bytes before they are kept; a negative n releases bytes. An error of Take ends the statement and
	// becomes its error.
	Take func(n int) error
	// Page is the most bytes that a statement returning several rows may read. Beyond it the statement fails with
	// ErrPageTooLarge, and [List] asks for fewer rows. 0: no limit.
	Page int
}

// ErrPageTooLarge is the error of a statement that reads more than [Meter].Page.
var ErrPageTooLarge = fault.New(fault.TooLarge, "The response would be too large. Request less at once.")

type meterKey struct{}

// WithMeter returns a context under which stores that support meters count what they read.
func WithMeter(ctx context.Context, m *Meter) context.Context {
	return context.WithValue(ctx, meterKey{}, m)
}

// MeterOf returns the meter of a context, or nil when there is none.
func MeterOf(ctx context.Context) *Meter {
	m, _ := ctx.Value(meterKey{}).(*Meter)
	return m
}
