package bunstore

import "time"

// noTime is the zero time in microseconds since 1970. In columns it means "no time": it decodes to the zero time, sorts
// before all other times, and leaves 1970 and earlier years usable.
const noTime int64 = -62135596800000000

// micros returns a time as stored in a column, truncated to microseconds.
func micros(t time.Time) int64 { return t.UnixMicro() }

// timeOf is the inverse of micros.
func timeOf(us int64) time.Time { return time.UnixMicro(us).UTC() }
