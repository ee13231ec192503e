// Package filelock detects by a locked file whether the process that created it is still alive.
package filelock
