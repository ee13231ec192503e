//go:build !unix || solaris || aix

package filelock

import (
	"errors"
	"fmt"
	"os"
)

// New is not to be had: an error that is [errors.ErrUnsupported].
func New(string) (*os.File, error) {
	return nil, fmt.Errorf("files cannot be locked on this system: %w", errors.ErrUnsupported)
}

// Seize seizes nothing.
func Seize(string) *os.File { return nil }
