//go:build linux || darwin || freebsd

package main

import "syscall"

// diskOf returns the disk of a folder.
func diskOf(dir string) (d disk, known bool) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return disk{}, false
	}
	size := int64(fs.Bsize)                                                                                                               //nolint:unconvert // the types differ between systems, here and below
	return disk{free: int64(fs.Bavail) * size, all: int64(fs.Blocks) * size, freeFiles: int64(fs.Ffree), allFiles: int64(fs.Files)}, true //nolint:unconvert // as above
}
