//go:build !linux && !darwin && !freebsd

package backup

// free is unknown on this system.
func free(string) (bytes int64, known bool) { return 0, false }
