//go:build unix && !solaris && !aix

package filelock

import (
	"os"
	"syscall"
)

// New creates a file and locks it until it is closed or the process ends. An existing file is an error.
func New(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		var there os.FileInfo
		if there, err = os.Stat(path); err == nil { // it may have been removed before it was locked
			var mine os.FileInfo
			if mine, err = file.Stat(); err == nil && !os.SameFile(there, mine) {
				err = os.ErrNotExist
			}
		}
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// Seize locks an existing file that is not locked, otherwise it returns nil.
func Seize(path string) *os.File {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		_ = file.Close()
		return nil
	}
	return file
}
