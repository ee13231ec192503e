package backup

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage/filelock"
)

// A backup is made in a work folder next to it until it is complete.
const (
	workPrefix = ".helpwright-backup-"
	workLock   = "lock"
	workAge    = 24 * time.Hour // older folders with files but no lock come from a system without locks
)

// FileName returns the name of an archive made at a time.
func FileName(at time.Time) string {
	return "helpwright-" + at.UTC().Format("20060102T150405Z") + ".tar.zst"
}

// Create creates a file with the output of write, readable by its owner only. The file appears under its name only once it
// is complete and on disk, however the program ends. An existing file is an error and is kept. write may use the folder work
// next to the file, which is removed at the end, or by the next Create there after a crash.
func Create(path string, write func(w io.Writer, work string) error) error {
	dir := filepath.Dir(path)
	if _, err := os.Lstat(path); err == nil {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	return InFolder(dir, func(work string) error {
		made := filepath.Join(work, "archive")
		if err := fill(made, func(w io.Writer) error { return write(w, work) }); err != nil {
			return err
		}
		if err := publish(made, path); err != nil {
			return err
		}
		return syncDir(dir)
	})
}

// InFolder runs fn with a temporary folder in dir, which is removed at the end, or by the next call after a crash.
func InFolder(dir string, fn func(work string) error) (err error) {
	removeDead(dir)
	work, lock, err := newWork(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, removeWork(work)) }()
	if lock != nil {
		defer func() { _ = lock.Close() }()
	}
	return fn(work)
}

// newWork creates a work folder and locks it where the system supports locks.
func newWork(dir string) (work string, lock *os.File, err error) {
	for range 10 {
		work = filepath.Join(dir, workPrefix+strings.ToLower(rand.Text()))
		if err = os.Mkdir(work, 0o700); err != nil {
			return "", nil, err
		}
		lock, err = filelock.New(filepath.Join(work, workLock))
		if err == nil || errors.Is(err, errors.ErrUnsupported) {
			return work, lock, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		// another process has removed the folder while it was empty, see removeDead
	}
	return "", nil, errors.Join(err, os.RemoveAll(work))
}

// removeWork removes a work folder, its lock last: if it is interrupted, the next call can finish.
func removeWork(work string) error {
	found, err := os.ReadDir(work)
	for _, entry := range found {
		if entry.Name() != workLock {
			err = errors.Join(err, os.RemoveAll(filepath.Join(work, entry.Name())))
		}
	}
	return errors.Join(err, os.RemoveAll(work))
}

// removeDead removes the work folders that crashes left in dir, where possible.
func removeDead(dir string) {
	found, _ := os.ReadDir(dir)
	for _, entry := range found {
		if !strings.HasPrefix(entry.Name(), workPrefix) {
			continue
		}
		work := filepath.Join(dir, entry.Name())
		lock := filelock.Seize(filepath.Join(work, workLock))
		if lock == nil {
			if _, err := os.Lstat(filepath.Join(work, workLock)); err == nil {
				continue // its process is alive
			}
			if os.Remove(work) == nil {
				continue // empty: its process died before it took the lock, or at the very end
			}
			if info, err := os.Lstat(work); err != nil || time.Since(info.ModTime()) < workAge {
				continue
			}
		}
		_ = removeWork(work)
		if lock != nil {
			_ = lock.Close()
		}
	}
}

// fill writes a file that survives a crash.
func fill(path string, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(file, 1<<20)
	err = write(buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// publish renames a file, unless the name is taken.
func publish(made, path string) error {
	err := os.Link(made, path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// a file system without links
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s: %w", path, fs.ErrExist)
	}
	return os.Rename(made, path)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
