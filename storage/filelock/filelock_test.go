package filelock_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/helpwright/helpwright/storage/filelock"
	"github.com/helpwright/helpwright/storage/testenv"
)

// After its creator has released a file, one caller at a time can seize it.
func TestLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	if filelock.Seize(path) != nil {
		t.Error("a file that is not there was seized")
	}
	file, err := filelock.New(path)
	if errors.Is(err, errors.ErrUnsupported) {
		testenv.Skip(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := filelock.New(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("a file that is there: %v", err)
	}
	if filelock.Seize(path) != nil {
		t.Error("a locked file was seized")
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	seized := filelock.Seize(path)
	if seized == nil || filelock.Seize(path) != nil {
		t.Error("a file without its maker is seized by one")
	}
	_ = seized.Close()
}
