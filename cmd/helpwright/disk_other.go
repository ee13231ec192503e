//go:build !linux && !darwin && !freebsd

package main

// diskOf is not known here.
func diskOf(string) (d disk, known bool) { return disk{}, false }
