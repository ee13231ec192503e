package desk

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// maxTemplateLine is the longest line of a template that people read and edit, in characters.
const maxTemplateLine = 200

// Templates of the desk, of the built-in theme and of the API's documentation are for people.
func TestTemplatesAreReadable(t *testing.T) {
	t.Parallel()
	files := 0
	for _, pattern := range []string{"templates/*.html", "../*.html", "../api/*.html", "../../kb/theme/builtin/templates/*.html", "../../kb/theme/builtin/templates/*/*.html"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatal(pattern, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files++
			for i, line := range strings.Split(string(text), "\n") {
				if n := len([]rune(line)); n > maxTemplateLine {
					t.Errorf("%s:%d has %d characters, and %d are the most", path, i+1, n, maxTemplateLine)
				}
			}
		}
	}
	if files < 40 {
		t.Errorf("%d files", files)
	}
}
