package storage_test

import (
	"path"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage"
)

func TestValidBlobKey(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]bool{
		"a": true, "raw/1/2026-01.eml": true, "a_b-c.d/0": true, "...": true, "a..b": true, ".hidden": true, strings.Repeat("a", 512): true,
		"": false, "/": false, "/a": false, "a/": false, "a//b": false, ".": false, "..": false, "a/..": false, "./a": false, "a/./b": false,
		"A": false, "ü": false, "a b": false, `a\b`: false, "a\x00": false, "a\n": false, "a:b": false, "a~": false, "a+b": false, "%2e": false,
		strings.Repeat("a", 513): false,
	} {
		if got := storage.ValidBlobKey(key); got != want {
			t.Errorf("ValidBlobKey(%.30q) = %v", key, got)
		}
	}
}

// A valid key is a clean relative path that stays below its root.
func FuzzValidBlobKey(f *testing.F) {
	for _, key := range []string{"a/b", "../a", "a/../../b", "a//b", "A/b", "...", "a/.b/..c"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if storage.ValidBlobKey(key) && (path.Clean(key) != key || path.IsAbs(key) || strings.HasPrefix(key, "..") && (len(key) == 2 || key[2] == '/')) {
			t.Errorf("%q is valid", key)
		}
	})
}
