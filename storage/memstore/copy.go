package memstore

import (
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/helpwright/helpwright/storage/fault"
)

var timeType = reflect.TypeFor[time.Time]()

// clone returns a deep copy of a value as a database would return it: times in UTC microseconds, empty slices nil.
func clone[T any](v *T) *T {
	out := *v
	normalise(reflect.ValueOf(&out).Elem())
	return &out
}

func normalise(v reflect.Value) {
	switch {
	case v.Type() == timeType:
		t := v.Interface().(time.Time) //nolint:forcetypeassert // its type was compared
		if !t.IsZero() {
			t = t.UTC().Truncate(time.Microsecond)
		}
		v.Set(reflect.ValueOf(t))
	case v.Kind() == reflect.Interface: // a value of a record
		own := reflect.New(v.Elem().Type()).Elem()
		own.Set(v.Elem())
		normalise(own)
		v.Set(own)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			normalise(v.Field(i))
		}
	case v.Kind() == reflect.Pointer:
		if !v.IsNil() {
			own := reflect.New(v.Type().Elem())
			own.Elem().Set(v.Elem())
			normalise(own.Elem())
			v.Set(own)
		}
	case v.Kind() == reflect.Map:
		if v.Len() == 0 {
			v.SetZero()
			return
		}
		c := reflect.MakeMap(v.Type())
		for key, value := range v.Seq2() {
			own := reflect.New(v.Type().Elem()).Elem()
			own.Set(value)
			normalise(own)
			c.SetMapIndex(key, own)
		}
		v.Set(c)
	case v.Kind() == reflect.Slice:
		if v.Len() == 0 {
			v.SetZero()
			return
		}
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(c, v)
		v.Set(c)
		if c.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for i := range c.Len() {
			normalise(c.Index(i))
		}
	}
}

// check refuses text that a database cannot store.
func check(v any) error {
	if field := badText(reflect.Indirect(reflect.ValueOf(v)), "text"); field != "" {
		return fault.Field(field, "is not valid UTF-8 or contains NUL")
	}
	return nil
}

func badText(v reflect.Value, name string) string {
	switch v.Kind() {
	case reflect.Interface: // a value of a record
		return badText(v.Elem(), name)
	case reflect.String:
		if s := v.String(); !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0 {
			return name
		}
	case reflect.Struct:
		if v.Type() == timeType {
			return ""
		}
		for i := range v.NumField() {
			if bad := badText(v.Field(i), strings.ToLower(v.Type().Field(i).Name)); bad != "" {
				return bad
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return ""
		}
		for i := range v.Len() {
			if bad := badText(v.Index(i), name); bad != "" {
				return bad
			}
		}
	}
	return ""
}
