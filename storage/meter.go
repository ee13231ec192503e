package storage

import (
	"context"

	"github.com/helpwright/helpwright/storage/fault"
)

// Meter counts what is read from a database for somebody, as the rows come in: a few rows
// may be larger than a machine's memory, and nobody knows before they are there.
type Meter struct {
	// Take counts n bytes more, before they are kept; with a negative n, that so many were
	// given up. Its error ends the statement, and is the statement's.
	Take func(n int) error
	// Page is how many bytes one statement may read that has more than one row: beyond it,
	// the statement ends with ErrPageTooLarge, and [List] asks for fewer rows. 0: no limit.
	Page int
}

// ErrPageTooLarge is the error of a statement that reads more than [Meter].Page.
var ErrPageTooLarge = fault.New(fault.TooLarge, "This is too much for one answer. Ask for less.")

type meterKey struct{}

// WithMeter lets stores that know meters count what they read under the context.
func WithMeter(ctx context.Context, m *Meter) context.Context {
	return context.WithValue(ctx, meterKey{}, m)
}

// MeterOf returns the meter of a context, nil when there is none.
func MeterOf(ctx context.Context) *Meter {
	m, _ := ctx.Value(meterKey{}).(*Meter)
	return m
}
