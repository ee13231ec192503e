//go:build unix && !solaris && !aix

package filelock

import (
	"os"
	"syscall"
)

// New makes a file and locks it until it is closed, or the process ends. A file that is
// there is an error.
func New(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		var there os.FileInfo
		if there, err = os.Stat(path); err == nil { // others may have removed it before it was locked
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

// Seize locks a file that is there and that nobody has locked; nil for any other.
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
