package imap

import (
	"bytes"
	"context"
	"io"

	goimap "github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
)

// headerBytes limits a header that is fetched without the body.
const headerBytes = 1 << 20

// fetched is the result for one message.
type fetched struct {
	uid  uint32
	raw  []byte
	full bool // raw is complete
}

// bodies fetches complete messages. It returns only complete ones, and none after an error: until the server confirms that
// the command succeeded, a message may be truncated.
func (s *session) bodies(ctx context.Context, f folder, set goimap.NumSet, count int, size int64) (map[uint32][]byte, error) {
	section := &goimap.FetchItemBodySection{Peek: true}
	return s.fetch(ctx, f, set, section, count, size, s.cfg.MaxMessage)
}

// header fetches the header of one mail, or its first megabyte; nil if the server sends none.
func (s *session) header(ctx context.Context, f folder, uid uint32) ([]byte, error) {
	section := &goimap.FetchItemBodySection{
		Peek:      true,
		Specifier: goimap.PartSpecifierHeader,
		Partial:   &goimap.SectionPartial{Size: headerBytes},
	}
	got, err := s.fetch(ctx, f, uidSet([]uint32{uid}), section, 1, headerBytes, headerBytes)
	return got[uid], err
}

// fetch requests one section of messages and nothing else, since data that the client does not understand ends the
// connection. most limits the bytes of a single section.
func (s *session) fetch(ctx context.Context, f folder, set goimap.NumSet, section *goimap.FetchItemBodySection,
	count int, size, most int64) (map[uint32][]byte, error) {
	got := make(map[uint32][]byte, count)
	// Some servers only estimate sizes: allow for twice as much.
	limit := 2*size + smallAnswer + int64(count)<<10
	err := s.step(ctx, StepFetch+" "+f.name, limit, size, func() error {
		s.guard.most.Store(min(most, limit))
		defer s.guard.most.Store(0)
		cmd := s.client.Fetch(set, &goimap.FetchOptions{UID: true, BodySection: []*goimap.FetchItemBodySection{section}})
		for msg := cmd.Next(); msg != nil; msg = cmd.Next() {
			mail, err := readMail(msg)
			if err != nil {
				s.conn.Fail(err)
				<-s.client.Closed() // a literal is cut off, and the client reads on in it when it is closed
				_ = cmd.Close()
				return err
			}
			if mail.full && mail.uid != 0 {
				got[mail.uid] = mail.raw
			}
		}
		return cmd.Close()
	})
	if err != nil {
		return nil, err
	}
	return got, nil
}

// readMail reads one FETCH response. The UID may come before or after the body. The guard limits the size of a section.
func readMail(msg *imapclient.FetchMessageData) (fetched, error) {
	var mail fetched
	for item := msg.Next(); item != nil; item = msg.Next() {
		switch item := item.(type) {
		case imapclient.FetchItemDataUID:
			mail.uid = uint32(item.UID)
		case imapclient.FetchItemDataBodySection:
			if item.Literal == nil { // NIL: the server cannot read it
				continue
			}
			size := item.Literal.Size()
			var raw bytes.Buffer
			raw.Grow(int(size) + bytes.MinRead) // one mail at a time is ahead of its bytes
			n, err := raw.ReadFrom(item.Literal)
			if err != nil {
				return mail, err
			}
			if n != size { // the connection ended, which the client takes for the end of the message
				return mail, io.ErrUnexpectedEOF
			}
			mail.raw, mail.full = raw.Bytes(), true
		}
	}
	return mail, nil
}
