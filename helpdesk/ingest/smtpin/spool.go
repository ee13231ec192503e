package smtpin

import (
	"bufio"
	"errors"
	"io"
	"os"
)

// inMemory is how much of an incoming message is kept in memory; a larger one is kept in a file. Otherwise slow clients with
// large messages would use up the memory, which is needed again for storing.
const inMemory = 1 << 20

// spool is a file, unnamed where the system supports that.
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
	unnamed := os.Remove(file.Name()) == nil // a crash leaves nothing behind
	return &spool{Writer: bufio.NewWriterSize(file, bufferSize), file: file, unnamed: unnamed}, nil
}

// join reads the whole file, after room for more bytes.
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
	_ = s.file.Close() // no longer needed
	if !s.unnamed {
		_ = os.Remove(s.file.Name())
	}
}
