// Package filelock tells by a locked file whether the process that made it still lives.
package filelock
