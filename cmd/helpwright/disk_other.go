//go:build !linux && !darwin && !freebsd

package main

// diskOf is not supported on this system.
func diskOf(string) (d disk, known bool) { return disk{}, false }
