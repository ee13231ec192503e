package pop3_test

import (
	"io/fs"
	"os"
	"syscall"
	"testing"
)

// own changes the owner of a file: if root runs the tests, Dovecot is an unprivileged user.
func own(t testing.TB, path string, as fs.FileInfo) {
	t.Helper()
	if sys, ok := as.Sys().(*syscall.Stat_t); ok && os.Getuid() == 0 {
		if err := os.Chown(path, int(sys.Uid), int(sys.Gid)); err != nil {
			t.Fatal(err)
		}
	}
}
