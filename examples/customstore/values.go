package main

import (
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/helpwright/helpwright/storage/fault"
)

// kept returns a row as the store keeps it: a copy that shares nothing with the caller's, with times
// in UTC microseconds. It refuses text that other databases could not keep, so that an account can
// move between stores. A backend on a database converts its rows here.
func kept[T any](row T) (T, error) {
	v := reflect.ValueOf(&row).Elem()
	for i := range v.NumField() {
		if !own(v.Field(i)) {
			return row, fault.Field(strings.ToLower(v.Type().Field(i).Name), "is not valid UTF-8 or contains NUL")
		}
	}
	return row, nil
}

// given returns a row as callers get it: a copy, because the row is theirs to change.
func given[T any](row T) T {
	own(reflect.ValueOf(&row).Elem())
	return row
}

// own replaces all that v shares with another copy of it, and reports whether its text can be kept.
// The nouns of this store have no maps.
func own(v reflect.Value) (ok bool) {
	ok = true
	switch v.Kind() {
	case reflect.String:
		return utf8.ValidString(v.String()) && !strings.Contains(v.String(), "\x00")
	case reflect.Struct:
		if at, isTime := v.Interface().(time.Time); isTime {
			v.Set(reflect.ValueOf(moment(at)))
			return true
		}
		for i := range v.NumField() {
			ok = own(v.Field(i)) && ok
		}
	case reflect.Slice:
		v.Set(reflect.AppendSlice(reflect.Zero(v.Type()), v))
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return true
		}
		for i := range v.Len() {
			ok = own(v.Index(i)) && ok
		}
	case reflect.Pointer:
		if !v.IsNil() {
			copied := reflect.New(v.Type().Elem())
			copied.Elem().Set(v.Elem())
			ok = own(copied.Elem())
			v.Set(copied)
		}
	}
	return ok
}

// moment returns a time as all stores return it. The zero time means none and stays as it is.
func moment(at time.Time) time.Time {
	if at.IsZero() {
		return time.Time{}
	}
	return at.UTC().Truncate(time.Microsecond)
}
