package api

import (
	"encoding/base64"
	"encoding/json"
)

// nullable is a field of an answer that is absent (the zero value), null or a value. Fields have it with `omitzero`.
type nullable[T any] struct {
	value *T
	shown bool
}

// shownOrNull shows v, and null for nil.
func shownOrNull[T any](v *T) nullable[T] { return nullable[T]{value: v, shown: true} }

// MarshalJSON implements json.Marshaler.
func (n nullable[T]) MarshalJSON() ([]byte, error) { return json.Marshal(n.value) }

// SetNull and Target describe the field to the document's generator, as the methods of storage.Opt do for inputs.
func (n *nullable[T]) SetNull() { *n = nullable[T]{shown: true} }

// Target returns a pointer to the value.
func (n *nullable[T]) Target() any {
	*n = nullable[T]{value: new(T), shown: true}
	return n.value
}

// idOrNull returns null for 0, which means no object.
func idOrNull(id int64) *int64 {
	if id == 0 {
		return nil
	}
	return &id
}

// textOrNull returns null for "".
func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// listed is a list that is also shown when it is empty.
func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// ids collects the ids to which rows refer, each once, without 0.
func ids[T any](rows []T, refs func(T) []int64) []int64 {
	var all []int64
	seen := map[int64]bool{0: true}
	for _, row := range rows {
		for _, id := range refs(row) {
			if !seen[id] {
				seen[id] = true
				all = append(all, id)
			}
		}
	}
	return all
}

// byID indexes rows.
func byID[T any](rows []T, id func(T) int64) map[int64]T {
	index := make(map[int64]T, len(rows))
	for _, row := range rows {
		index[id(row)] = row
	}
	return index
}

// base64OrNull returns null for no bytes.
func base64OrNull(b []byte) *string { return textOrNull(base64.StdEncoding.EncodeToString(b)) }
