package smtpin

import (
	"bufio"
	"errors"
	"io"
	"os"
)

// inMemory is how much of a mail that comes in is kept in memory; what has more is kept in a file. Slow clients that
// send much would take the memory otherwise, and each mail needs room again when it is stored.
const inMemory = 1 << 20

// spool is a file without a name, where the system has such.
type spool struct {
	*bufio.Writer
	file    *os.File
	unnamed bool
}

func newSpool(dir string) (*spool, error) {
	file, err := os.CreateTemp(dir, "helpwright-intake-*")
	if err != nil {
		return nil, err
	}
	unnamed := os.Remove(file.Name()) == nil // a process that dies leaves nothing
	return &spool{Writer: bufio.NewWriterSize(file, bufferSize), file: file, unnamed: unnamed}, nil
}

// join reads all of it, behind room for so many bytes more.
func (s *spool) join(room int) ([]byte, error) {
	if err := s.Flush(); err != nil {
		return nil, err
	}
	size, err := s.file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	buffer := make([]byte, int64(room)+size)
	_, err = s.file.ReadAt(buffer[room:], 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return buffer, err
}

func (s *spool) remove() {
	_ = s.file.Close() // nobody wants it any more
	if !s.unnamed {
		_ = os.Remove(s.file.Name())
	}
}
