// Package folder writes files into folders so that a crash leaves each file whole, as it was or as it is to be.
package folder

import (
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path"
	"strings"
)

// Replace writes a file under a temporary name, which begins with a dot, and renames it. Its folder must exist.
func Replace(root *os.Root, name string, content io.Reader) error {
	temporary := path.Join(path.Dir(name), ".new-"+strings.ToLower(rand.Text()))
	f, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(temporary, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(temporary))
	}
	return nil
}
