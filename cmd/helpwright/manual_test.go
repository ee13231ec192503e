package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/kb/exchange"
)

// TestManual reads the whole manual as a help centre: each page and link of it is there.
func TestManual(t *testing.T) {
	t.Parallel()
	pages, problems, err := exchange.ReadDocs(os.DirFS("manual"), exchange.DocsOptions{})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	articles := 0
	for _, c := range pages.Collections {
		articles += len(c.Articles)
	}
	path := program(t)
	cmd := exec.CommandContext(t.Context(), path, "manual", "--listen", freeAddress(t))
	cmd.Env = []string{"TMPDIR=" + t.TempDir(), "HELPWRIGHT_PUBLIC_RATE_LIMIT=0"}
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	lines.Scan()
	site, ok := strings.CutPrefix(lines.Text(), "The manual is at ")
	if !ok {
		t.Fatalf("it says %q", lines.Text())
	}
	article := regexp.MustCompile("^" + regexp.QuoteMeta(site+"/en/articles/") + `\d+-[^/.]+$`)
	n := 0
	for address := range crawl(t, site, site+"/en", site+"/sitemap.xml") {
		if article.MatchString(address) {
			n++
		}
	}
	if n != articles || n == 0 {
		t.Errorf("%d of %d pages were found", n, articles)
	}
}

// TestReadme keeps the README short and its links alive.
func TestReadme(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 8<<10 {
		t.Errorf("it has %d bytes: what does not help to decide, start, embed or test belongs into the manual", len(text))
	}
	linked := map[string]bool{}
	for _, link := range regexp.MustCompile(`\]\(([^)#]+)`).FindAllStringSubmatch(string(text), -1) {
		linked[link[1]] = true
		if _, err := os.Stat(filepath.Join("../..", link[1])); err != nil && !strings.HasPrefix(link[1], "https:") {
			t.Error(err)
		}
	}
	pages, err := filepath.Glob("manual/*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if !linked["cmd/helpwright/"+page] {
			t.Errorf("it does not link to %s", page)
		}
	}
}
