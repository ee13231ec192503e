package pgp

import (
	"bytes"
	"errors"
	"io"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"
)

// Recipients are keys that one message is encrypted to. They can encrypt several messages, one after the other.
type Recipients struct {
	keys []*openpgp.Entity
	now  time.Time
	aead bool // all of them support authenticated encryption
}

// NewRecipients returns the keys to encrypt a message to at the time now, each as returned by [Parse] in Packets. Duplicates
// are allowed. An unusable key, or an empty list, is an [*Error]: no recipient is left out.
func NewRecipients(keys [][]byte, now time.Time) (*Recipients, error) {
	r := &Recipients{now: now, aead: true}
	seen := map[string]bool{}
	for _, content := range keys {
		key, err := Parse(content, now)
		if err != nil {
			return nil, err
		}
		if seen[key.Fingerprint] {
			continue
		}
		seen[key.Fingerprint] = true
		list, err := openpgp.ReadKeyRing(bytes.NewReader(key.Packets))
		if err != nil || len(list) != 1 {
			return nil, &Error{Reason: "is damaged, or of a kind that is not supported", Err: err}
		}
		sig, err := list[0].PrimarySelfSignature(now, nil)
		if err != nil {
			return nil, &Error{Reason: "has no valid signature of its owner", Err: err}
		}
		r.aead = r.aead && sig.SEIPDv2
		r.keys = append(r.keys, list[0])
	}
	if len(r.keys) == 0 {
		return nil, refuse("is missing")
	}
	return r, nil
}

// Encrypt returns a writer whose input is written to w as an armored message with CRLF line endings. The message is complete
// after Close. It uses each key's newest valid encryption subkey.
//
// The message is authenticated (AEAD, SEIPD version 2 of RFC 9580 section 5.13.2) if all keys declare support for that, and
// otherwise uses SEIPD version 1. It is not compressed, contains no file name and no time, and is not signed.
func (r *Recipients) Encrypt(w io.Writer) (io.WriteCloser, error) {
	// A checksum must not follow SEIPD version 2 (RFC 9580 section 6.1). Otherwise it is required for GnuPG 2.2, which without
	// one reads the last line as base64.
	outer, err := armor.EncodeWithChecksumOption(&newlines{w: w}, "PGP MESSAGE", nil, !r.aead)
	if err != nil {
		return nil, err
	}
	cfg := &packet.Config{
		Time: func() time.Time { return r.now }, DefaultCipher: packet.CipherAES256, DefaultCompressionAlgo: packet.CompressionNone,
	}
	inner, err := openpgp.Encrypt(outer, r.keys, nil, nil, nil, cfg)
	if err != nil {
		return nil, err
	}
	return &message{inner, outer, w}, nil
}

// message closes the encryption and the armor, in this order.
type message struct {
	io.WriteCloser

	armor io.Closer
	w     io.Writer
}

func (m *message) Close() error {
	if err := m.WriteCloser.Close(); err != nil {
		return err
	}
	if err := m.armor.Close(); err != nil {
		return err
	}
	_, err := io.WriteString(m.w, "\r\n") // the armor has no final line ending
	return err
}

// newlines converts LF to CRLF.
type newlines struct {
	w   io.Writer
	buf []byte
}

func (n *newlines) Write(b []byte) (int, error) {
	n.buf = n.buf[:0]
	for _, c := range b {
		if c == '\n' {
			n.buf = append(n.buf, '\r')
		}
		n.buf = append(n.buf, c)
	}
	written, err := n.w.Write(n.buf)
	if err == nil && written < len(n.buf) {
		err = errors.New("pgp: short write")
	}
	if err != nil {
		return 0, err
	}
	return len(b), nil
}
