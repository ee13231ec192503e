package outbound

import (
	"bytes"
	"errors"
	"io"
	"os"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/pgp"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage/fault"
)

// letter is a message for one group of recipients: the whole reply, or one of its encrypted copies.
type letter struct {
	due     []sending.Delivery
	encrypt bool
	keys    [][]byte
}

// letters returns the messages to send in one attempt.
func letters(out helpdesk.OutgoingMail) []letter {
	var all []letter
	if len(out.Due) > 0 {
		all = append(all, letter{due: out.Due})
	}
	for _, e := range out.Encrypted {
		all = append(all, letter{due: e.Due, encrypt: true, keys: e.Keys})
	}
	return all
}

// variant distinguishes copies with the same Message-ID: those for one Bcc recipient.
func (l letter) variant() string {
	if l.encrypt && len(l.due) == 1 && l.due[0].Field == "bcc" {
		return mailaddr.Key(l.due[0].Address)
	}
	return ""
}

// source returns a letter's contents, the same for every reader. It must be closed.
func (s *Sender) source(m *mail.Outgoing, l letter) (interface {
	io.WriterTo
	io.Closer
}, error,
) {
	if !l.encrypt {
		return plainSource{m}, nil
	}
	recipients, err := pgp.NewRecipients(l.keys, s.cfg.Now())
	if err != nil {
		return nil, err
	}
	m.Encrypt = recipients.Encrypt
	return &frozen{source: m, dir: s.cfg.TempDir}, nil
}

// plainSource composes again for every reader.
type plainSource struct{ io.WriterTo }

func (plainSource) Close() error { return nil }

// frozen keeps the first output of its source, since encrypting again gives another result: in memory while it is small,
// else in a file that only this process can open.
type frozen struct {
	source io.WriterTo
	dir    string
	done   bool
	memory bytes.Buffer
	file   *os.File
}

// WriteTo composes the message on the first call.
func (f *frozen) WriteTo(w io.Writer) (int64, error) {
	if !f.done {
		if _, err := f.source.WriteTo(writer(f.appendBytes)); err != nil {
			return 0, err
		}
		f.done = true
	}
	if f.file == nil {
		n, err := w.Write(f.memory.Bytes())
		return int64(n), err
	}
	if _, err := f.file.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	return io.Copy(w, f.file)
}

// writer is a function that implements [io.Writer].
type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

// appendBytes returns an Unavailable fault when the disk is full, so that the message waits.
func (f *frozen) appendBytes(b []byte) (int, error) {
	if f.file == nil && f.memory.Len()+len(b) <= inMemory {
		return f.memory.Write(b)
	}
	if f.file == nil {
		file, err := os.CreateTemp(f.dir, "helpwright-*.eml")
		if err != nil {
			return 0, fault.Wrap(fault.Unavailable, "outbound: keeping an encrypted mail", err)
		}
		f.file = file
		if _, err := f.memory.WriteTo(file); err != nil {
			return 0, fault.Wrap(fault.Unavailable, "outbound: keeping an encrypted mail", err)
		}
		f.memory = bytes.Buffer{}
	}
	n, err := f.file.Write(b)
	if err != nil {
		err = fault.Wrap(fault.Unavailable, "outbound: keeping an encrypted mail", err)
	}
	return n, err
}

// Close removes the file.
func (f *frozen) Close() error {
	if f.file == nil {
		return nil
	}
	return errors.Join(f.file.Close(), os.Remove(f.file.Name()))
}
