package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/testenv"
)

// documentation is a folder of Markdown in an npm package.
type documentation struct {
	pack, folder string
	dead         int // links that are dead where it was written too
}

var documentations = []documentation{
	{"fastify@5.6.1", "package/docs", 16}, // one of them a file that is left out
	{"npm@11.6.2", "package/docs/content", 2},
	{"undici@7.16.0", "package/docs", 9},
}

// Documentation from real repositories is imported unchanged, and every link of the resulting help centre works.
func TestDocumentationIsImported(t *testing.T) {
	t.Parallel()
	for _, doc := range documentations {
		t.Run(doc.pack, func(t *testing.T) {
			t.Parallel()
			folder := filepath.Join(unpacked(t, doc.pack), doc.folder)
			s := newServer(t)
			var made object[struct{ ID int64 }]
			s.ok("POST", "/sites", url.Values{"account_id": {"1"}, "name": {"Docs"}, "path": {"manual"}}, &made)
			code, out, remarks := command(t, s.dir, s.env, "kb", "import", "--site", fmt.Sprint(made.Data.ID), "--docs", folder)
			if code != exitDone {
				t.Fatalf("%d\n%s%s", code, out, remarks)
			}
			if dead := strings.Count(remarks, "\n"); dead != doc.dead {
				t.Errorf("there are %d remarks:\n%s", dead, remarks)
			}
			article := regexp.MustCompile(`/manual/en/articles/\d+-[^/.]+$`)
			articles := 0
			base := "http://" + s.http + "/"
			for page := range crawl(t, base, base+"manual/en", base+"manual/sitemap.xml") {
				if article.MatchString(page) {
					articles++
				}
			}
			if pages := markdownFiles(t, folder); articles != pages || pages < 30 {
				t.Errorf("there are %d articles of %d files", articles, pages)
			}
		})
	}
}

// markdownFiles counts those in a folder.
func markdownFiles(t *testing.T, dir string) int {
	t.Helper()
	n := 0
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, _ fs.DirEntry, err error) error {
		if path.Ext(name) == ".md" {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// unpacked is the folder of an npm package, which npm fetches.
func unpacked(t *testing.T, name string) string {
	t.Helper()
	npm, err := exec.LookPath("npm")
	if err != nil {
		testenv.Skip(t, "there is no npm")
	}
	dir := t.TempDir()
	fetch := exec.CommandContext(t.Context(), npm, "pack", "--silent", "--json", "--pack-destination", dir, name)
	fetch.Dir, fetch.Stderr = dir, t.Output()
	told, err := fetch.Output()
	if err != nil {
		testenv.Skip(t, "npm cannot fetch "+name+": "+err.Error())
	}
	var packs []struct{ Filename string }
	if err := json.Unmarshal(told, &packs); err != nil || len(packs) != 1 {
		t.Fatalf("npm says %q: %v", told, err)
	}
	if out, err := exec.CommandContext(t.Context(), "tar", "-xzf", filepath.Join(dir, packs[0].Filename), "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "package")); err != nil {
		t.Fatal(err)
	}
	return dir
}
