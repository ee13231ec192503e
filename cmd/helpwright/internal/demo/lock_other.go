//go:build !unix || solaris || aix

package demo

import "os"

// lockFile makes a file. Nothing tells here whether its process lives.
func lockFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
}

// seizeLock seizes nothing: what a killed demo leaves behind is the system's to remove.
func seizeLock(string) *os.File { return nil }
