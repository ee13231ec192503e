package demo

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/helpwright/helpwright/storage/filelock"
)

const (
	folderPattern = "helpwright-demo-*"
	lockName      = "lock"
)

// Folder is the temporary folder of a running demo.
type Folder struct {
	Path string
	lock *os.File // locked until the process ends; nil if locks are not supported
}

// NewFolder creates a folder for temporary files, and removes those of demos that were killed.
func NewFolder() (*Folder, error) {
	sweep()
	path, err := os.MkdirTemp("", folderPattern)
	if err != nil {
		return nil, err
	}
	lock, err := filelock.New(filepath.Join(path, lockName))
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return &Folder{Path: path, lock: lock}, nil
}

// Remove removes the folder with its content.
func (f *Folder) Remove() error {
	err := os.RemoveAll(f.Path)
	_ = f.lock.Close() // nothing was written to it
	return err
}

// sweep removes the folders of demos that have ended. A folder without a lock is just being created.
func sweep() {
	found, _ := filepath.Glob(filepath.Join(os.TempDir(), folderPattern)) // the pattern is valid
	for _, path := range found {
		lock := filelock.Seize(filepath.Join(path, lockName))
		if lock == nil {
			continue
		}
		_ = os.RemoveAll(path) // another user's stays
		_ = lock.Close()
	}
}
