package form_test

import (
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/transport/form"
)

// TestFormsGrow doubles bodies in each of the three forms; bodies beyond a limit are refused no later than they are read.
func TestFormsGrow(t *testing.T) {
	t.Parallel()
	limits := form.Limits{}.WithDefaults()
	for name, c := range map[string]struct{ first, unit string }{
		"pairs": {"", "a=b&"}, "lists": {"", "a[]=b&"}, "keys": {"", "a[b][c]=d&"}, "brackets": {"a", "["}, "percent": {"a=", "%41"}, "one key": {"", "a"},
		"JSON numbers": {`{"a":[`, "1,"}, "JSON text": {`{"a":"`, `\u0041`}, "JSON depth": {`{"a":`, "["}, "JSON objects": {"", `{"a":`}, "JSON keys": {"{", `"a":1,`}, "blanks": {"{", " "},
		"multipart parts": {"--b\r\n", "Content-Disposition: form-data; name=a\r\n\r\nx\r\n--b\r\n"}, "multipart header": {"--b\r\nA: ", "x"}, "multipart lines": {"--b\r\nContent-Disposition: form-data; name=a\r\n\r\n", "\r\n--"},
	} {
		testenv.Growth(t, 16<<10, func(n int) func() {
			text := c.first + strings.Repeat(c.unit, n/len(c.unit))
			return func() {
				_, _ = form.Parse(text, limits)
				_, _ = form.ParseJSON([]byte(text), limits)
				if _, cleanup, err := form.ParseMultipart(strings.NewReader(text+"\r\n--b--\r\n"), "b", limits); err == nil {
					cleanup()
				}
			}
		})
		if t.Failed() {
			t.Fatal(name)
		}
	}
}
