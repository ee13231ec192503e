//go:build !linux && !darwin && !freebsd

package backup

// free is not known here.
func free(string) (bytes int64, known bool) { return 0, false }
