package filetype_test

import (
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/filetype"
	"github.com/helpwright/helpwright/storage/testenv"
)

func TestFileTypesGrow(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"a", ".", "/", "\x00", "PK\x03\x04", "%PDF-", "<svg ", "\xff\xd8\xff", "..", "ä"} {
		testenv.Growth(t, 64<<10, func(n int) func() {
			text := strings.Repeat(unit, n/len(unit))
			return func() {
				filetype.SafeName(text)
				filetype.MediaType(text, []byte(text))
				filetype.Check("a.txt", []byte(text), filetype.Documents())
			}
		})
		if t.Failed() {
			t.Fatalf("%q", unit)
		}
	}
}
