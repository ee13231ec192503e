// Package metered counts the rows that drivers read.
package metered

import (
	"context"
	"database/sql/driver"

	"github.com/helpwright/helpwright/storage"
)

// metered are rows counted by a [storage.Meter]. Counting in the driver misses nothing.
type metered struct {
	driver.Rows
	meter       *storage.Meter
	rows, bytes int
}

// Rows counts the rows of a statement if its context has a meter.
func Rows(ctx context.Context, rows driver.Rows, err error) (driver.Rows, error) {
	m := storage.MeterOf(ctx)
	if err != nil || m == nil {
		return rows, err
	}
	return &metered{Rows: rows, meter: m}, nil
}

// Next implements [driver.Rows].
func (r *metered) Next(dest []driver.Value) error {
	if err := r.Rows.Next(dest); err != nil {
		return err
	}
	n := 0
	for _, value := range dest {
		switch v := value.(type) {
		case string:
			n += len(v)
		case []byte:
			n += len(v)
		default:
			n += 8
		}
	}
	r.rows++
	if r.rows > 1 && r.meter.Page > 0 && r.bytes+n > r.meter.Page {
		_ = r.meter.Take(-r.bytes) // releasing never fails
		return storage.ErrPageTooLarge
	}
	r.bytes += n
	return r.meter.Take(n)
}
