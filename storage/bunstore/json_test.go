package bunstore

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzList reads a column as package json does, whatever it contains.
func FuzzList(f *testing.F) {
	for _, seed := range []string{
		`[]`, `[""]`, `["a"]`, `["a@example.org","b@example.org"]`, `["a", "b"]`, ` ["a"]`, `["a"`, `["]`, `["a"b"]`, `["a","]`, `["a",""]`,
		`["\"a\""]`, `["a\\"]`, `["é😀"]`, "[\"\xff\"]", "[\"\n\"]", "[\"\x7f\"]", `["a",1,"b"]`, `["a",null,"b"]`, `[["a"],["b"]]`, `null`, ``,
		`["\u003ca\u003e"]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var got list[string]
		err := got.Scan(text)
		var want []string
		if wantErr := json.Unmarshal([]byte(text), &want); (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: %v, want %v", text, err, wantErr)
		}
		if len(want) == 0 {
			want = nil
		}
		if diff := cmp.Diff(want, []string(got)); err == nil && diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	})
}
