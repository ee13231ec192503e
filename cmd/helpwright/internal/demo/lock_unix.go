//go:build unix && !solaris && !aix

package demo

import (
	"os"
	"syscall"
)

// lockFile makes a file and locks it until it is closed, or the process ends.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// seizeLock locks a file that is there and that nobody has locked; nil for any other.
func seizeLock(path string) *os.File {
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
