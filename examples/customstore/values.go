package main

import (
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/helpwright/helpwright/storage/fault"
)

// kept returns the stored form of a row: a copy that shares nothing with the caller's, with times in UTC microseconds. It
// refuses text that other databases could not store, so that an account can move between stores. A backend for a database
// converts its rows here.
func kept[T any](row T) (T, error) {
	v := reflect.ValueOf(&row).Elem()
	for i := range v.NumField() {
		if !own(v.Field(i)) {
			return row, fault.Field(strings.ToLower(v.Type().Field(i).Name), "is not valid UTF-8 or contains NUL")
		}
	}
	return row, nil
}

// given returns a row for callers: a copy, because they may change it.
func given[T any](row T) T {
	own(reflect.ValueOf(&row).Elem())
	return row
}

// own replaces all data that v shares by a copy, and reports whether its text can be stored. The nouns of this store have no
// maps.
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
	case reflect.Interface: // a value of a record
		copied := reflect.New(v.Elem().Type()).Elem()
		copied.Set(v.Elem())
		ok = own(copied)
		v.Set(copied)
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

// moment returns a time as all stores return it. The zero time, which means none, is unchanged.
func moment(at time.Time) time.Time {
	if at.IsZero() {
		return time.Time{}
	}
	return at.UTC().Truncate(time.Microsecond)
}
