package mail

import (
	"bytes"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/message"
)

// Protocols of a [Protection].
const (
	OpenPGP = "openpgp"
	SMIME   = "smime"
)

// Protection describes how a mail is signed or encrypted, as far as its form shows.
type Protection struct {
	Protocol  string // OpenPGP, SMIME, or "" for neither
	Encrypted bool
	Signed    bool // the whole mail, or its text; an encrypted mail may also be signed inside

	// Content is the signed part of a multipart/signed mail with OpenPGP, byte for byte, with CR LF newlines (RFC 3156 section
	// 5); Signature is the detached signature, armored or as packets. Otherwise both are nil.
	Content, Signature []byte
}

// protection determines how the mail is protected. Signatures of single parts, such as those left behind by mailing lists,
// do not count.
func (p *parser) protection(root *entity) Protection {
	protocol := strings.ToLower(root.params["protocol"])
	switch root.ctype {
	case "multipart/encrypted":
		return Protection{Protocol: OpenPGP, Encrypted: true}
	case "multipart/signed":
		if strings.Contains(protocol, "pkcs7") {
			return Protection{Protocol: SMIME, Signed: true}
		}
		return p.signed(root)
	case "application/pkcs7-mime", "application/x-pkcs7-mime":
		switch kind := strings.ToLower(root.params["smime-type"]); {
		case kind == "signed-data", kind == "" && signedCMS(p.msg.Attachments):
			return Protection{Protocol: SMIME, Signed: true}
		case kind == "certs-only", kind == "compressed-data":
			return Protection{}
		}
		return Protection{Protocol: SMIME, Encrypted: true}
	}
	// Some servers rewrite multipart/encrypted as multipart/mixed in transit.
	for _, a := range p.msg.Attachments {
		if a.ContentType == "application/pgp-encrypted" && root.ctype == "multipart/mixed" {
			return Protection{Protocol: OpenPGP, Encrypted: true}
		}
	}
	return p.inlinePGP()
}

// signed reads a multipart/signed: the exact bytes of its first part, and the second part.
func (p *parser) signed(root *entity) Protection {
	out := Protection{Protocol: OpenPGP, Signed: true}
	boundary := root.params["boundary"]
	if boundary == "" {
		return out
	}
	parts, _ := p.split(root.body, boundary)
	if len(parts) != 2 {
		return out
	}
	sub := &parser{limits: p.limits, msg: &Message{}}
	h, body, err := sub.splitHeader(parts[1])
	if err != nil {
		return out
	}
	e := sub.newEntity(h, body, "text/plain")
	if e.ctype != "application/pgp-signature" {
		return out
	}
	out.Signature, _ = decodeTransfer(body, bounded(h.Get("Content-Transfer-Encoding")))
	out.Content = canonical(parts[0])
	return out
}

// canonical converts newlines in a text to CR LF. A mail received by SMTP or IMAP has them already.
func canonical(b []byte) []byte {
	lone := bytes.Count(b, []byte("\n")) - bytes.Count(b, []byte("\r\n"))
	if lone == 0 {
		return b
	}
	out := make([]byte, 0, len(b)+lone)
	for i, c := range b {
		if c == '\n' && (i == 0 || b[i-1] != '\r') {
			out = append(out, '\r')
		}
		out = append(out, c)
	}
	return out
}

// signedData is the object identifier of CMS signed-data (RFC 5652 section 5.1), in DER.
var signedData = []byte("\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02")

// signedCMS reports whether a CMS part without a declared type begins as a signed message.
func signedCMS(parts []message.Part) bool {
	for _, p := range parts {
		if isCMS(p.ContentType) {
			return bytes.Contains(p.Body[:min(len(p.Body), 32)], signedData)
		}
	}
	return false
}

// inlinePGP recognises a body that is one OpenPGP message, the form used before MIME.
func (p *parser) inlinePGP() Protection {
	for _, b := range p.blocks {
		text := b.text
		if text == "" {
			text = plainOf(b.html)
		}
		text = strings.TrimLeft(text, " \t\r\n\u00a0")
		switch {
		case text == "":
			continue
		case strings.HasPrefix(text, "-----BEGIN PGP MESSAGE-----") && strings.Contains(text, "-----END PGP MESSAGE-----"):
			return Protection{Protocol: OpenPGP, Encrypted: true}
		case strings.HasPrefix(text, "-----BEGIN PGP SIGNED MESSAGE-----") && strings.Contains(text, "-----END PGP SIGNATURE-----"):
			return Protection{Protocol: OpenPGP, Signed: true}
		}
		return Protection{}
	}
	return Protection{}
}
