package exchange_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/helpwright/helpwright/kb/exchange"
	"github.com/helpwright/helpwright/storage/testenv"
)

// TestReadGrows doubles the input of a folder, both the files' contents and their number.
func TestReadGrows(t *testing.T) {
	t.Parallel()
	for name, folder := range map[string]func(n int) fstest.MapFS{
		"keys of a front matter":  front(func(n int) string { return numbered("k%d: v\n", n/8) }),
		"the same key":            front(func(n int) string { return strings.Repeat("title: v\n", n/9) }),
		"lists in lists":          front(func(n int) string { return "title: " + strings.Repeat("[", n) }),
		"lists in lists, closed":  front(func(n int) string { return "title: " + strings.Repeat("[", n/2) + strings.Repeat("]", n/2) }),
		"maps in maps":            front(func(n int) string { return "title: " + strings.Repeat("{a: ", n/4) }),
		"blocks in blocks":        front(func(n int) string { return "title: " + strings.Repeat("- ", n/2) + "x" }),
		"anchors and aliases":     front(func(n int) string { return numbered("a%d: &b%[1]d [x]\nc%[1]d: *b%[1]d\n", n/24) }),
		"aliases of one anchor":   front(func(n int) string { return "a: &a [x, x]\nb: [" + strings.Repeat("*a, ", n/4) + "]\n" }),
		"lines of one text":       front(func(n int) string { return "title: |\n" + strings.Repeat("  x\n", n/4) }),
		"quoted text":             front(func(n int) string { return `title: "` + strings.Repeat(`\"`, n/2) + `"` }),
		"comments":                front(func(n int) string { return strings.Repeat("#\n", n/2) }),
		"ends of a front matter":  front(func(n int) string { return strings.Repeat("--- \n", n/5) }),
		"a text of one paragraph": text(func(n int) string { return strings.Repeat("x ", n/2) }),
		"a text of many lines":    text(func(n int) string { return strings.Repeat("x\r\n", n/3) }),
		"a text of many links":    text(func(n int) string { return strings.Repeat("[a](b.en.md) ", n/13) }),
		"many articles":           many(func(i int) string { return fmt.Sprintf("collections/c/articles/a%d.en.md", i) }),
		"many languages":          many(func(i int) string { return fmt.Sprintf("collections/c/articles/a.%c%c.md", 'a'+i%26, 'a'+i/26%26) }),
		"many names of one key":   many(func(i int) string { return "collections/c/articles/" + strings.Repeat("a", i%100+1) + ".en.md" }),
		"many collections":        many(func(i int) string { return fmt.Sprintf("collections/c%d/index.en.md", i) }),
		"many files":              many(func(i int) string { return fmt.Sprintf("files/f%d.txt", i) }),
		"many folders in folders": many(func(i int) string { return "collections/" + strings.Repeat("d/", i%50) + fmt.Sprint(i) }),
	} {
		testenv.Growth(t, 8<<10, func(n int) func() {
			files := folder(n)
			return func() { _, _ = exchange.Read(files) }
		})
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func site(article string) fstest.MapFS {
	return fstest.MapFS{
		"site.yaml": {Data: []byte("name: x\n")}, "collections/c/articles/a.en.md": {Data: []byte(article)},
		"collections/c/index.en.md": {Data: []byte("---\nname: C\nsource: true\n---\n")},
	}
}

func front(text func(n int) string) func(n int) fstest.MapFS {
	return func(n int) fstest.MapFS { return site("---\n" + text(n) + "\n---\n") }
}

func text(text func(n int) string) func(n int) fstest.MapFS {
	return func(n int) fstest.MapFS { return site("---\ntitle: x\nsource: true\n---\n" + text(n)) }
}

func many(name func(i int) string) func(n int) fstest.MapFS {
	return func(n int) fstest.MapFS {
		files := site("---\ntitle: x\nsource: true\n---\nx")
		for i := range n / 40 {
			files[name(i)] = &fstest.MapFile{Data: []byte("---\ntitle: x\nname: x\nsource: true\n---\nx")}
		}
		return files
	}
}
