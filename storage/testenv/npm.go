package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// NPM returns a folder of the module after installing the npm packages of its lock file. Only one test of a package may call
// it at a time.
func NPM(t testing.TB, folder string) string {
	t.Helper()
	root, ok := moduleRoot(t)
	if !ok {
		t.Fatal("the test is not part of a module")
	}
	dir := filepath.Join(root, filepath.FromSlash(folder))
	installing.Lock() // npm cannot install twice into one folder at once
	defer installing.Unlock()
	if installed(dir) {
		return dir
	}
	if _, err := exec.LookPath("npm"); err != nil {
		Skip(t, "no npm")
	}
	install := exec.CommandContext(t.Context(), "npm", "ci", "--no-progress")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("npm ci in %s: %v\n%s", folder, err, out)
	}
	return dir
}

var installing sync.Mutex

// installed reports whether the installed packages are at least as new as the lock file.
func installed(dir string) bool {
	lock, err := os.Stat(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return false
	}
	done, err := os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json"))
	return err == nil && !done.ModTime().Before(lock.ModTime())
}
