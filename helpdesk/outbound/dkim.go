package outbound

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/emersion/go-msgauth/dkim"

	"github.com/helpwright/helpwright/helpdesk/sending"
)

// signedFields are the header fields that a signature covers if present (RFC 6376 section 5.4.1): all that our messages
// have.
var signedFields = []string{
	"From", "Sender", "Reply-To", "To", "Cc", "Subject", "Date", "Message-ID", "In-Reply-To", "References", "Auto-Submitted",
	"MIME-Version", "Content-Type", "Content-Transfer-Encoding",
}

// Sign prepends a DKIM signature of each key to the message and its Plain form: relaxed/relaxed, over the whole body, with
// From signed twice, so that no second one can be added (RFC 6376 section 8.15). After an error the message is unchanged.
func (m *Mail) Sign(keys []sending.DKIMKey) error {
	if len(keys) == 0 {
		return nil
	}
	signatures, err := m.signatures(keys)
	if err != nil {
		return err
	}
	if m.Plain != nil {
		if err := m.Plain.Sign(keys); err != nil {
			return err
		}
	}
	m.seals, m.Size = signatures, m.Size+int64(len(signatures))
	return nil
}

// signatures returns the DKIM-Signature header fields of keys.
func (m *Mail) signatures(keys []sending.DKIMKey) ([]byte, error) {
	fields, err := m.fieldNames()
	if err != nil {
		return nil, err
	}
	signed := []string{"From"}
	for _, name := range signedFields {
		if slices.ContainsFunc(fields, func(f string) bool { return strings.EqualFold(f, name) }) {
			signed = append(signed, name)
		}
	}
	var signers []*dkim.Signer
	var writers []io.Writer
	defer func() {
		for _, s := range signers {
			_ = s.Close() // no effect after success
		}
	}()
	for _, key := range keys {
		s, err := dkim.NewSigner(&dkim.SignOptions{
			Domain: key.Domain, Selector: key.Selector, Signer: key.Key, HeaderKeys: signed,
			HeaderCanonicalization: dkim.CanonicalizationRelaxed, BodyCanonicalization: dkim.CanonicalizationRelaxed,
		})
		if err != nil {
			return nil, err
		}
		signers, writers = append(signers, s), append(writers, s)
	}
	if _, err := m.WriteTo(io.MultiWriter(writers...)); err != nil {
		return nil, err
	}
	var all []byte
	for _, s := range signers {
		if err := s.Close(); err != nil {
			return nil, err
		}
		all = append(all, s.Signature()...)
	}
	return all, nil
}

// maxHeader is how many bytes are searched for the end of the header.
const maxHeader = 1 << 20

// headReader keeps what is written to it, up to the empty line.
type headReader struct {
	head bytes.Buffer
	done bool
}

var errHeadRead = errors.New("outbound: the header was read")

func (h *headReader) Write(b []byte) (int, error) {
	h.head.Write(b)
	if bytes.Contains(h.head.Bytes(), []byte("\r\n\r\n")) || h.head.Len() > maxHeader {
		h.done = true
		return 0, errHeadRead // stop composing
	}
	return len(b), nil
}

// fieldNames returns the names of the message's header fields.
func (m *Mail) fieldNames() ([]string, error) {
	var head headReader
	if _, err := m.WriteTo(&head); err != nil && !head.done {
		return nil, err
	}
	header, _, _ := bytes.Cut(head.head.Bytes(), []byte("\r\n\r\n"))
	var names []string
	for line := range bytes.SplitSeq(header, []byte("\r\n")) {
		if name, _, found := bytes.Cut(line, []byte(":")); found && len(name) > 0 && name[0] != ' ' && name[0] != '\t' {
			names = append(names, strings.TrimSpace(string(name)))
		}
	}
	return names, nil
}
