//go:build !linux

package main

// releaseProgram does nothing: on this system it is not known how.
func releaseProgram() error { return nil }
