package openelements_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/openelements"
)

// balanced writes tags as a caller does: "p" starts an element, "/p" ends it.
func balanced(t *testing.T, tags string) string {
	t.Helper()
	var out []string
	s := openelements.Stack{End: func(tag string) { out = append(out, "/"+tag) }}
	for _, tag := range strings.Fields(tags) {
		if end, ok := strings.CutPrefix(tag, "/"); ok {
			s.Close(end)
			continue
		}
		s.Before(tag)
		out = append(out, tag)
		s.Push(tag)
	}
	length := 0
	closed := len(out)
	want, depth := s.EndLen(), s.Depth()
	s.CloseAll()
	for _, end := range out[closed:] {
		length += len("<>") + len(end)
	}
	if length != want || len(out)-closed != depth {
		t.Errorf("%s: %d end tags of %d bytes, announced were %d of %d", tags, len(out)-closed, length, depth, want)
	}
	return strings.Join(out, " ")
}

func TestStack(t *testing.T) {
	t.Parallel()
	for tags, want := range map[string]string{
		"p":                            "p /p",
		"p p":                          "p /p p /p",
		"p b p":                        "p b /b /p p /p",
		"p div":                        "p /p div /div",
		"p button p":                   "p button p /p /button /p",
		"h1 h2":                        "h1 /h1 h2 /h2",
		"ul li li":                     "ul li /li li /li /ul",
		"ul li ul li /ul li":           "ul li ul li /li /ul /li li /li /ul",
		"dl dt dd dt":                  "dl dt /dt dd /dd dt /dt /dl",
		"table tr td td tr th":         "table tr td /td td /td /tr tr th /th /tr /table",
		"table thead tr tbody tr":      "table thead tr /tr /thead tbody tr /tr /tbody /table",
		"b i /b u":                     "b i /i /b u /u",
		"/b":                           "",
		"b table tr td /b /td":         "b table tr td /td /tr /table /b",
		"table tr td table /tr /table": "table tr td table /table /td /tr /table",
		"br img hr":                    "br img hr",
		"p br p":                       "p br /p p /p",
	} {
		if diff := cmp.Diff(want, balanced(t, tags)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", tags, diff)
		}
	}
}
