package bunstore

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"
)

// noTime is the zero time in microseconds since 1970. In columns it means "no time": it decodes to the zero time, sorts
// before all other times, and leaves 1970 and earlier years usable.
const noTime int64 = -62135596800000000

// micros returns a time as stored in a column, truncated to microseconds.
func micros(t time.Time) int64 { return t.UnixMicro() }

// timeOf is the inverse of micros.
func timeOf(us int64) time.Time { return time.UnixMicro(us).UTC() }

// list is a column with a JSON array of strings. It is encoded here because bun's JSON escaping corrupts strings with a
// backslash before "u0000". An empty list decodes to nil.
type list[S ~string] []S

// Value implements [driver.Valuer].
func (l list[S]) Value() (driver.Value, error) {
	if len(l) == 0 {
		return "[]", nil
	}
	text, err := json.Marshal([]S(l))
	return string(text), err
}

// Scan implements [sql.Scanner].
func (l *list[S]) Scan(src any) error {
	*l = nil
	if err := scanJSON(src, (*[]S)(l)); err != nil {
		return err
	}
	if len(*l) == 0 {
		*l = nil
	}
	return nil
}

// object is a column with a value as a JSON object; the zero value is an empty object.
type object[T any] struct{ Of T }

// Value implements [driver.Valuer].
func (o object[T]) Value() (driver.Value, error) {
	text, err := json.Marshal(o.Of)
	return string(text), err
}

// Scan implements [sql.Scanner].
func (o *object[T]) Scan(src any) error {
	*o = object[T]{}
	return scanJSON(src, &o.Of)
}

// scanJSON decodes what a driver returns for a JSON column.
func scanJSON(src, dst any) error {
	switch text := src.(type) {
	case string:
		if text == "[]" || text == "{}" {
			return nil
		}
		return json.Unmarshal([]byte(text), dst)
	case []byte:
		return json.Unmarshal(text, dst)
	default:
		return fmt.Errorf("a JSON column holds a %T", src)
	}
}
