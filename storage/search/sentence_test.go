package search_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/search"
)

func TestSentences(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                                   nil,
		"One":                                {"One"},
		"One. Two! Three? Four":              {"One.", "Two!", "Three?", "Four"},
		"Version 3.5 is out. Get it.":        {"Version 3.5 is out.", "Get it."},
		"Use a pump, e.g. Halden's. Or two.": {"Use a pump, e.g. Halden's.", "Or two."},
		"Das gilt z. B. Für Kaffee.":         {"Das gilt z. B. Für Kaffee."},
		"Mr. Smith said “Go.” He went.":      {"Mr. Smith said “Go.”", "He went."},
		"Wait ... and see. Done":             {"Wait ... and see.", "Done"},
		"Open app.yaml now. Save":            {"Open app.yaml now.", "Save"},
		"設定を開きます。次に保存します。":                  {"設定を開きます。", "次に保存します。"},
		"هل نسيت كلمة المرور؟ افتح الصفحة.": {"هل نسيت كلمة المرور؟", "افتح الصفحة."},
		"Turn to page 5. Read it.":          {"Turn to page 5. Read it."},
		"... ":                              {"..."},
	} {
		if diff := cmp.Diff(want, search.Sentences(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}
