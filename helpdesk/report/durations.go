package report

import (
	"time"

	"github.com/helpwright/helpwright/helpdesk/hours"
)

// durations measure between two times.
type durations struct{ hours *hours.Calendar } // nil: all hours count

// between returns seconds, or None if one of the times is zero.
func (d durations) between(from, to time.Time) int64 {
	if v := between(from, to); d.hours == nil || v == None {
		return v
	}
	return int64(d.hours.Between(from, to) / time.Second)
}
