package storage_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/helpwright/helpwright/storage"
)

func TestOpt(t *testing.T) {
	t.Parallel()
	var absent, null, decoded, cleared storage.Opt[string]
	null.SetNull()
	target, ok := decoded.Target().(*string)
	if !ok {
		t.Fatal("Target is no *string")
	}
	*target = "decoded"
	cleared.SetNull()
	*cleared.Target().(*string) = "" // given again, and empty
	for name, test := range map[string]struct {
		opt       storage.Opt[string]
		set, null bool
		value, or string
		given     bool
	}{
		"absent":  {absent, false, false, "", "old", false},
		"null":    {null, true, true, "", "", false},
		"Null":    {storage.Null[string](), true, true, "", "", false},
		"some":    {storage.Some("new"), true, false, "new", "new", true},
		"zero":    {storage.Some(""), true, false, "", "", true},
		"decoded": {decoded, true, false, "decoded", "decoded", true},
		"cleared": {cleared, true, false, "", "", true},
	} {
		value, given := test.opt.Get()
		if test.opt.IsSet() != test.set || test.opt.IsNull() != test.null || value != test.value || given != test.given || test.opt.Or("old") != test.or {
			t.Errorf("%s: %+v: set %v, null %v, %q, given %v, or %q", name, test.opt, test.opt.IsSet(), test.opt.IsNull(), value, given, test.opt.Or("old"))
		}
	}
}

func ExampleOpt() {
	user := int64(7) // assigned now
	for _, input := range []storage.Opt[int64]{{}, storage.Null[int64](), storage.Some[int64](9)} {
		fmt.Println(input.Or(user))
	}
	var o storage.Opt[int64]
	_ = json.Unmarshal([]byte("12"), o.Target()) // what a decoder does
	fmt.Println(o.Get())
	// Output:
	// 7
	// 0
	// 9
	// 12 true
}
