//go:build linux || darwin || freebsd

package backup

import "syscall"

// free returns how many bytes can be written to the disk of a folder.
func free(dir string) (bytes int64, known bool) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return 0, false
	}
	return int64(fs.Bavail) * int64(fs.Bsize), true //nolint:unconvert // the types differ between systems
}
