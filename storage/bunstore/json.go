package bunstore

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

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
	if text, ok := src.(string); ok {
		if plain, ok := plainList[S](text); ok {
			*l = plain
			return nil
		}
	}
	if err := scanJSON(src, (*[]S)(l)); err != nil {
		return err
	}
	if len(*l) == 0 {
		*l = nil
	}
	return nil
}

// plainList decodes an array of strings without escapes as Value writes it; most lists are that simple.
func plainList[S ~string](text string) (list []S, ok bool) {
	text, begins := strings.CutPrefix(text, `["`)
	text, ends := strings.CutSuffix(text, `"]`)
	if !begins || !ends || strings.ContainsRune(text, '\\') || !utf8.ValidString(text) {
		return nil, false
	}
	for item := range strings.SplitSeq(text, `","`) {
		if strings.ContainsFunc(item, func(r rune) bool { return r == '"' || r < ' ' }) {
			return nil, false
		}
		list = append(list, S(item))
	}
	return list, true
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
