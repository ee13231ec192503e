package exchange_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/kb/exchange"
)

func openRoot(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}

// onDisk returns the files of a folder.
func onDisk(t *testing.T, root *os.Root) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := root.ReadFile(name)
		all[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A folder contains what the site has, and nothing that it no longer has.
func TestSave(t *testing.T) {
	t.Parallel()
	root := openRoot(t, t.TempDir())
	site, own := full(), map[string]string{"README.md": "ours", ".git": "git", "collections/leer/notes.txt": "mine"}
	for range 2 {
		if err := exchange.Save(site, root); err != nil {
			t.Fatal(err)
		}
		want := contents(written(t, site))
		for name, text := range own {
			if err := root.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			want[name] = text
		}
		if diff := cmp.Diff(want, onDisk(t, root)); diff != "" {
			t.Errorf("on disk (-want +got):\n%s", diff)
		}
		site.Collections[0].Articles = site.Collections[0].Articles[1:]
		site.Collections[0].Categories, site.Files = nil, nil
	}
	for _, gone := range []string{"files", "collections/erste-schritte/categories"} {
		if _, err := root.Stat(gone); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", gone, err)
		}
	}
}

// Save overwrites no other data, and does not write through links.
func TestSaveRefuses(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(t *testing.T, root *os.Root){
		"another folder": func(t *testing.T, root *os.Root) {
			if err := root.WriteFile("main.go", nil, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"a link to elsewhere": func(t *testing.T, root *os.Root) {
			if err := errors.Join(root.WriteFile("site.yaml", nil, 0o600), root.Symlink(t.TempDir(), "collections")); err != nil {
				t.Fatal(err)
			}
		},
		"a link within": func(t *testing.T, root *os.Root) {
			if err := errors.Join(root.WriteFile("x", nil, 0o600), root.Symlink("x", "site.yaml")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := openRoot(t, t.TempDir())
			prepare(t, root)
			before := names(t, root)
			var problems exchange.Problems
			if err := exchange.Save(full(), root); !errors.As(err, &problems) {
				t.Errorf("answered %v", err)
			}
			if diff := cmp.Diff(before, names(t, root)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func names(t *testing.T, root *os.Root) []string {
	t.Helper()
	var all []string
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// A folder on disk is read without following links.
func TestReadDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root := openRoot(t, dir)
	if err := exchange.Save(full(), root); err != nil {
		t.Fatal(err)
	}
	site, err := exchange.Read(root.FS())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(contents(written(t, full())), contents(written(t, site))); diff != "" {
		t.Error(diff)
	}
	outside := filepath.Join(t.TempDir(), "secret.md")
	if err := os.WriteFile(outside, []byte("---\ntitle: x\nsource: true\n---\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	links := []string{"collections/leer/articles", "collections/leer/articles2.en.md", "files/link.png"}
	for i, to := range []string{filepath.Dir(outside), outside, "../site.yaml"} {
		if err := os.Symlink(to, filepath.Join(dir, links[i])); err != nil {
			t.Fatal(err)
		}
	}
	_, err = exchange.Read(root.FS())
	var problems exchange.Problems
	if !errors.As(err, &problems) {
		t.Fatal(err)
	}
	var got []string
	for _, p := range problems {
		got = append(got, p.Path)
	}
	if diff := cmp.Diff(links, got); diff != "" || !slices.IsSorted(got) {
		t.Errorf("%v\n%s", err, diff)
	}
}

// brokenReader fails in the middle of a file.
type brokenReader struct{ left int }

func (r *brokenReader) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n := min(r.left, len(p))
	r.left -= n
	return n, nil
}

// An interrupted write leaves the old file in place.
func TestSaveBroken(t *testing.T) {
	t.Parallel()
	root := openRoot(t, t.TempDir())
	if err := exchange.Save(full(), root); err != nil {
		t.Fatal(err)
	}
	before, site := onDisk(t, root), full()
	site.Files[0].Open = func() (io.ReadCloser, error) { return io.NopCloser(&brokenReader{10}), nil }
	if err := exchange.Save(site, root); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("answered %v", err)
	}
	if diff := cmp.Diff(before, onDisk(t, root)); diff != "" {
		t.Error(diff)
	}
}
