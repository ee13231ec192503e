package transport

import (
	"fmt"
	"time"
)

// timeLayout is RFC 3339 with a numeric offset even for UTC, which time.RFC3339 writes as Z.
const timeLayout = "2006-01-02T15:04:05-07:00"

// Time is a timestamp in an answer: whole seconds, UTC, numeric offset.
type Time time.Time

// TimePtr returns nil for nil and for the zero time, which answers show as null.
func TimePtr(t *time.Time) *Time {
	if t == nil || t.IsZero() {
		return nil
	}
	at := Time(*t)
	return &at
}

// String returns the timestamp as answers show it.
func (t Time) String() string { return time.Time(t).UTC().Format(timeLayout) }

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) { return []byte(`"` + t.String() + `"`), nil }

// UnmarshalJSON implements json.Unmarshaler, for clients and tests.
func (t *Time) UnmarshalJSON(b []byte) error {
	at, err := time.Parse(`"`+time.RFC3339+`"`, string(b))
	if err != nil {
		return fmt.Errorf("timestamp: %w", err)
	}
	*t = Time(at.UTC())
	return nil
}
