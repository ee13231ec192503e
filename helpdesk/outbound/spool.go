package outbound

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/sending"
)

// Spool is a [Transport] that writes every message to a file in a directory and reports it as sent. A file begins with the
// envelope, X-Envelope-From and X-Envelope-To with all recipients including Bcc, followed by the message.
//
// File names begin with the message's time and end with a hash of its Message-ID and envelope sender and ".eml": they sort
// by time, and the same message replaces its file. Messages with recipient-specific envelope senders, and encrypted copies
// for Bcc recipients, have separate files.
type Spool struct{ root *os.Root }

// NewSpool creates the directory if needed, readable only by its owner.
func NewSpool(dir string) (*Spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("outbound: spool: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("outbound: spool: %w", err)
	}
	return &Spool{root: root}, nil
}

// Close closes the directory.
func (s *Spool) Close() error { return s.root.Close() }

// Send writes the file atomically, so that it survives a crash or does not exist.
func (s *Spool) Send(ctx context.Context, from string, to []string, m *Mail) ([]Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if strings.ContainsAny(from+strings.Join(to, ""), "\r\n") {
		return nil, errors.New("outbound: spool: an address has a line break")
	}
	id := m.MessageID + "\x00" + from
	if m.Variant != "" {
		id += "\x00" + m.Variant
	}
	sum := sha256.Sum256([]byte(id))
	name := fmt.Sprintf("%s-%x.eml", m.Date.UTC().Format("20060102T150405.000000Z"), sum[:8])
	if err := s.write(name, from, to, m); err != nil {
		return nil, fmt.Errorf("outbound: spool: %w", err)
	}
	return all(len(to), Result{State: sending.Sent, Response: sending.Spooled}), nil
}

func (s *Spool) write(name, from string, to []string, m *Mail) (err error) {
	temporary := "." + name + ".tmp"
	file, err := s.root.OpenFile(temporary, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.root.Remove(temporary))
		}
	}()
	err = errors.Join(writeSpooled(file, from, to, m), file.Close())
	if err != nil {
		return err
	}
	if err := s.root.Rename(temporary, name); err != nil {
		return err
	}
	dir, err := s.root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

func writeSpooled(file *os.File, from string, to []string, m *Mail) error {
	w := bufio.NewWriter(file)
	fmt.Fprintf(w, "X-Envelope-From: %s\r\n", from)
	fmt.Fprintf(w, "X-Envelope-To: %s\r\n", strings.Join(to, ",\r\n "))
	if _, err := m.WriteTo(io.Writer(w)); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return file.Sync()
}
