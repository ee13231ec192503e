package transport

import (
	"errors"
	"io"
)

// stored is a file of a blob store as http.ServeContent wants it. Seeking costs
// nothing; the file is opened anew where it is read next.
type stored struct {
	size int64
	open func(offset int64) (io.ReadCloser, error)

	at   int64         // where the next read begins
	body io.ReadCloser // nil: not open
	from int64         // where body stands
}

// openStored opens the file at its start, so that a missing one is found out
// before the answer begins.
func openStored(size int64, open func(offset int64) (io.ReadCloser, error)) (*stored, error) {
	body, err := open(0)
	if err != nil {
		return nil, err
	}
	return &stored{size: size, open: open, body: body}, nil
}

// Read implements io.Reader.
func (s *stored) Read(p []byte) (int, error) {
	if s.at >= s.size {
		return 0, io.EOF
	}
	if s.body != nil && s.from != s.at {
		if err := s.Close(); err != nil {
			return 0, err
		}
	}
	if s.body == nil {
		body, err := s.open(s.at)
		if err != nil {
			return 0, err
		}
		s.body, s.from = body, s.at
	}
	n, err := s.body.Read(p)
	s.at += int64(n)
	s.from = s.at
	return n, err
}

// Seek implements io.Seeker.
func (s *stored) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += s.at
	case io.SeekEnd:
		offset += s.size
	}
	if offset < 0 {
		return 0, errors.New("transport: seek before the start")
	}
	s.at = offset
	return offset, nil
}

// Close implements io.Closer.
func (s *stored) Close() error {
	if s.body == nil {
		return nil
	}
	err := s.body.Close()
	s.body = nil
	return err
}
