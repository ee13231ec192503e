package transport

import (
	"fmt"
	"time"
)

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
func (t Time) String() string { return string(t.text()) }

// MarshalText implements [encoding.TextMarshaler].
func (t Time) MarshalText() ([]byte, error) { return t.text(), nil }

// text returns the timestamp in RFC 3339 with a numeric offset, although it is UTC.
func (t Time) text() []byte {
	b := time.Time(t).UTC().AppendFormat(make([]byte, 0, len("2006-01-02T15:04:05+00:00")), time.RFC3339) // ends in Z
	return append(b[:len(b)-1], "+00:00"...)
}

// UnmarshalText implements [encoding.TextUnmarshaler], for clients and tests.
func (t *Time) UnmarshalText(b []byte) error {
	at, err := time.Parse(time.RFC3339, string(b))
	if err != nil {
		return fmt.Errorf("timestamp: %w", err)
	}
	*t = Time(at.UTC())
	return nil
}
