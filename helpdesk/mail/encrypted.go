package mail

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"

	"github.com/emersion/go-message/textproto"
)

// hiddenSubject replaces the subject outside an encrypted mail.
const hiddenSubject = "..."

// writeEncrypted writes the message as multipart/encrypted (RFC 3156 section 4). The encrypted part is a whole entity with
// the header fields that readers show, including the subject: the form that mailers support as protected headers,
// protected-headers="v1".
func (o *Outgoing) writeEncrypted(w io.Writer, root node) error {
	sum := sha256.Sum256([]byte("encrypted\x00" + strings.Trim(o.MessageID, "<>")))
	boundary := "=_" + hex.EncodeToString(sum[:16])
	visible := *o
	visible.Subject = hiddenSubject
	outer := append(visible.header(), field("Content-Type", paramTokens("multipart/encrypted",
		[]string{`protocol="application/pgp-encrypted"`, `boundary="` + boundary + `"`})))
	if err := textproto.WriteHeader(w, rawHeader(outer)); err != nil {
		return err
	}
	mw := textproto.NewMultipartWriter(w)
	if err := mw.SetBoundary(boundary); err != nil {
		return err
	}
	pw, err := mw.CreatePart(rawHeader([]string{
		field("Content-Type", []string{"application/pgp-encrypted"}),
		field("Content-Description", []string{"PGP/MIME version identification"}),
	}))
	if err != nil {
		return err
	}
	if _, err := io.WriteString(pw, "Version: 1\r\n"); err != nil {
		return err
	}
	pw, err = mw.CreatePart(rawHeader([]string{
		field("Content-Type", paramTokens("application/octet-stream", []string{`name="encrypted.asc"`})),
		field("Content-Description", []string{"OpenPGP encrypted message"}),
		field("Content-Disposition", paramTokens("inline", []string{`filename="encrypted.asc"`})),
	}))
	if err != nil {
		return err
	}
	if err := o.encryptInto(pw, root); err != nil {
		return err
	}
	return mw.Close()
}

// encryptInto writes the inner entity.
func (o *Outgoing) encryptInto(w io.Writer, root node) error {
	plain, err := o.Encrypt(w)
	if err != nil {
		return err
	}
	inner := append(o.header(), protected(root.header)...)
	if err := textproto.WriteHeader(plain, rawHeader(inner)); err != nil {
		return err
	}
	if err := root.write(plain); err != nil {
		return err
	}
	return plain.Close()
}

// protected marks the fields of an entity as a protected header.
func protected(fields []string) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		if strings.HasPrefix(f, "Content-Type:") {
			f = strings.TrimSuffix(f, "\r\n") + ";\r\n protected-headers=\"v1\"\r\n"
		}
		out[i] = f
	}
	return out
}
