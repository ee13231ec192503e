package bunstore_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/bunstore"
)

// Columns are scanned into fields of their type from what the drivers return. NULL is the zero value, and bytes are copied.
func TestScanTargets(t *testing.T) {
	t.Parallel()
	at, shared := time.Unix(0, 0), []byte("ab")
	for _, tt := range []struct {
		field  any
		src    any
		want   any
		refuse bool
	}{
		{field: new(int64(7)), src: int64(-3), want: new(int64(-3))},
		{field: new(int64(7)), src: nil, want: new(int64)},
		{field: new(int64), src: "3", refuse: true},
		{field: new(7), src: int64(3), want: new(3)},
		{field: new(int), src: at, refuse: true},
		{field: new("old"), src: "é", want: new("é")},
		{field: new("old"), src: []byte("é"), want: new("é")},
		{field: new("old"), src: nil, want: new(string)},
		{field: new(string), src: int64(1), refuse: true},
		{field: new(false), src: true, want: new(true)},
		{field: new(false), src: int64(1), want: new(true)},
		{field: new(true), src: nil, want: new(bool)},
		{field: new(bool), src: "true", refuse: true},
		{field: new([]byte("old")), src: shared, want: new([]byte("ab"))},
		{field: new([]byte("old")), src: nil, want: new([]byte)},
		{field: new([]byte), src: at, refuse: true},
	} {
		target, ok := bunstore.Target(tt.field).(sql.Scanner)
		if !ok {
			t.Errorf("%T cannot be scanned", tt.field)
			continue
		}
		err := target.Scan(tt.src)
		switch {
		case tt.refuse && err == nil:
			t.Errorf("a %T takes the %T %v", tt.field, tt.src, tt.src)
		case tt.refuse:
		case err != nil:
			t.Errorf("a %T refuses the %T %v: %v", tt.field, tt.src, tt.src, err)
		default:
			shared[0] = 'x' // a driver uses its memory again
			if diff := cmp.Diff(tt.want, tt.field); diff != "" {
				t.Errorf("a %T from the %T %v: (-want +got)\n%s", tt.field, tt.src, tt.src, diff)
			}
			shared[0] = 'a'
		}
	}
	if bunstore.Target(new(float32)) != nil {
		t.Error("a field of a type that no row has can be scanned")
	}
}
