//go:build !unix || solaris || aix

package filelock

import (
	"errors"
	"fmt"
	"os"
)

// New is not supported on this system: it returns [errors.ErrUnsupported].
func New(string) (*os.File, error) {
	return nil, fmt.Errorf("files cannot be locked on this system: %w", errors.ErrUnsupported)
}

// Seize returns nil.
func Seize(string) *os.File { return nil }
