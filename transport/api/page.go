package api

import (
	"cmp"
	"slices"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// pageOf returns the requested page of a list that is completely in memory, such as the rows that belong to one object, by
// id.
func pageOf[T any](p transport.Paging, all []T, id func(T) int64) (storage.Page[T], error) {
	return pageBy(p, all, func(one T) storage.Position { return storage.Position{ID: id(one)} })
}

// pageBy is pageOf for a list sorted by position.
func pageBy[T any](p transport.Paging, all []T, position func(T) storage.Position) (storage.Page[T], error) {
	return storage.List(p.Request(), false, position, func(seek storage.Seek) ([]T, error) {
		var found []T
		for _, one := range all {
			if seek.From == nil || !seek.Desc && beyond(position(one), *seek.From) || seek.Desc && beyond(*seek.From, position(one)) {
				found = append(found, one)
			}
		}
		if seek.Desc {
			slices.Reverse(found)
		}
		return found[:min(seek.Limit, len(found))], nil
	})
}

// beyond reports whether a position comes after another.
func beyond(p, other storage.Position) bool {
	return cmp.Or(cmp.Compare(p.Key, other.Key), cmp.Compare(p.ID, other.ID)) > 0
}
