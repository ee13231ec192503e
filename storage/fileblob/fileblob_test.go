package fileblob_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/fileblob"
	"github.com/helpwright/helpwright/storage/storagetest"
	"github.com/helpwright/helpwright/storage/testenv"
)

func open(t testing.TB, dir string) *fileblob.Blobs {
	t.Helper()
	b, err := fileblob.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storagetest.Blobs(t, func(t *testing.T) storage.Blobs { return open(t, filepath.Join(t.TempDir(), "new", "blobs")) })
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, path); err == nil && rel != "." {
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestNothingIsLeftOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := open(t, dir)
	if _, err := b.Put(t.Context(), "a/b/c", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(files(t, dir)), "[=tmp a+ a+/b+ a+/b+/c]"; got != want {
		t.Errorf("files %s, want %s", got, want)
	}
	if err := b.Delete(t.Context(), "a/b/c"); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(files(t, dir)); got != "[=tmp]" {
		t.Errorf("files %s after all blobs are gone", got)
	}
}

// A file and a directory of the same name can coexist, and a directory may be removed with its last blob while another
// process walks through it.
func TestWalkWhileRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := open(t, dir)
	const blobs = 1100
	for i := range blobs {
		if _, err := b.Put(t.Context(), fmt.Sprintf("a/b/%04d", i), strings.NewReader("x")); err != nil {
			t.Fatal(err)
		}
	}
	found := 0
	err := b.Walk(t.Context(), "", func(page []storage.BlobInfo) error {
		if found += len(page); found == len(page) {
			return os.RemoveAll(filepath.Join(dir, "a+"))
		}
		return nil
	})
	if err != nil || found == 0 || found == blobs {
		t.Errorf("%d blobs, %v", found, err)
	}
}

func TestKeyBelowAnotherKey(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir())
	for _, key := range []string{"a", "a/b", "a/b/c", "a/b/c/d"} {
		if _, err := b.Put(t.Context(), key, strings.NewReader(key)); err != nil {
			t.Fatal(err)
		}
	}
	infos, err := b.List(t.Context(), "a", "", 10)
	if err != nil || len(infos) != 4 {
		t.Errorf("%v %v", infos, err)
	}
}

// Open removes what a crash left behind, unless it may be in use.
func TestSweep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open(t, dir)
	for name, age := range map[string]time.Duration{"OLD": 25 * time.Hour, "YOUNG": 23 * time.Hour} {
		path := filepath.Join(dir, "=tmp", name)
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
	b := open(t, dir)
	if got := fmt.Sprint(files(t, dir)); got != "[=tmp =tmp/YOUNG]" {
		t.Errorf("files %s", got)
	}
	infos, err := b.List(t.Context(), "", "", 10)
	if err != nil || len(infos) != 0 {
		t.Errorf("files of no blob are listed: %v %v", infos, err)
	}
}

// Tidy does at any time what Open does, and only counts on request.
func TestTidy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := open(t, dir)
	names := []string{"=tmp"}
	for n := range 1200 {
		path := filepath.Join(dir, "=tmp", fmt.Sprint(n))
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-time.Duration(n) * time.Minute)
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
	for _, dry := range []bool{true, false} {
		if n, err := b.Tidy(t.Context(), time.Now().Add(-30*time.Second-9*time.Minute), dry); n != 1190 || err != nil {
			t.Errorf("tidied %d files, %v", n, err)
		}
	}
	for n := range 10 {
		names = append(names, fmt.Sprint("=tmp/", n))
	}
	if got := files(t, dir); fmt.Sprint(got) != fmt.Sprint(names) {
		t.Errorf("files %s", got)
	}
}

// The directory may be emptied, or replaced by a mount: the current one is used for reading and writing.
func TestAnotherDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "blobs")
	b := open(t, dir)
	put := func(key string) {
		t.Helper()
		if _, err := b.Put(t.Context(), key, strings.NewReader("text")); err != nil {
			t.Fatal(err)
		}
	}
	put("a/b")
	if err := os.Rename(dir, dir+"-away"); err != nil {
		t.Fatal(err)
	}
	other := open(t, dir)
	found := func(key string, want bool) {
		t.Helper()
		testenv.Eventually(t, fmt.Sprint(key, " is there: ", want), func() bool {
			_, err := b.Stat(t.Context(), key)
			return (err == nil) == want
		})
	}
	found("a/b", false)
	put("a/c")
	if _, err := other.Stat(t.Context(), "a/c"); err != nil {
		t.Errorf("what was put is not in the directory of that name: %v", err)
	}
	for _, name := range []string{"a+", "=tmp"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	put("a/d")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir+"-away", dir); err != nil {
		t.Fatal(err)
	}
	found("a/b", true)
}

// A symbolic link out of the directory is not followed.
func TestLinkOutside(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	b := open(t, dir)
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link+")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Get(t.Context(), "link/secret"); err == nil {
		t.Error("read a file outside")
	}
	if _, err := b.Put(t.Context(), "link/new", strings.NewReader("x")); !fault.Is(err, fault.Unavailable) {
		t.Errorf("wrote a file outside: %v", err)
	}
	if got := fmt.Sprint(files(t, outside)); got != "[secret]" {
		t.Errorf("files outside: %s", got)
	}
}

func TestLongSegment(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir())
	_, err := b.Put(t.Context(), strings.Repeat("a", 251), strings.NewReader("x"))
	if !fault.Is(err, fault.Invalid) {
		t.Errorf("got %v, want Invalid", err)
	}
	if _, err = b.Put(t.Context(), strings.Repeat("a", 250)+"/"+strings.Repeat("b", 250), strings.NewReader("x")); err != nil {
		t.Error(err)
	}
}

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "blobs")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	blobs, err := fileblob.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer blobs.Close()
	ctx := context.Background()
	n, err := blobs.Put(ctx, "raw/1/7.eml", strings.NewReader("Subject: hello\r\n"))
	fmt.Println(n, err)
	r, err := blobs.Get(ctx, "raw/1/7.eml")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	data, _ := io.ReadAll(r)
	fmt.Printf("%q\n", data)
	// Output:
	// 16 <nil>
	// "Subject: hello\r\n"
}

// BenchmarkPut compares Put with the minimum for durability: write, fsync and rename; and with that plus the fsync of the
// directory, which Put also needs.
func BenchmarkPut(b *testing.B) {
	body := bytes.Repeat([]byte("0123456789abcdef"), 512) // 8 KiB, a typical mail
	b.Run("Put", func(b *testing.B) {
		blobs := open(b, b.TempDir())
		for n := 0; b.Loop(); n++ {
			if _, err := blobs.Put(b.Context(), fmt.Sprintf("raw/1/%d", n), bytes.NewReader(body)); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, syncDir := range []bool{false, true} {
		b.Run(fmt.Sprintf("Floor/syncDir=%v", syncDir), func(b *testing.B) {
			dir := b.TempDir()
			for n := 0; b.Loop(); n++ {
				if err := bare(dir, n, body, syncDir); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func bare(dir string, n int, body []byte, syncDir bool) error {
	tmp := filepath.Join(dir, "tmp")
	f, err := os.Create(tmp)
	if err != nil {
		return err
	}
	if _, err := f.Write(body); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(tmp, filepath.Join(dir, fmt.Sprint(n))); err != nil || !syncDir {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
