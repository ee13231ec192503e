// Package authenticator is a WebAuthn authenticator with its browser, in software: for tests that sign in with passkeys, and
// try to with wrong ones.
package authenticator

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
)

// Flags of authenticator data: WebAuthn Level 3, section 6.1.
const (
	Present        = 1
	Verified       = 4
	BackupEligible = 8
	BackedUp       = 16
	attested       = 64
)

// Authenticator has passkeys with ES256 keys. Its fields may be changed between calls, to make it lie.
type Authenticator struct {
	Origin string // of the page that asks
	RPID   string // whose passkeys it uses; "": what the page names
	Flags  byte   // of what it signs; 0: present and verified
	Count  uint32 // of signatures; the next one has one more, unless Still
	Still  bool   // does not count
	// Challenge is what it answers; "": what the page has sent.
	Challenge string
	Handle    []byte // of the user; nil: what it was given

	credentials []*credential
}

type credential struct {
	id, handle []byte
	rpID       string
	key        *ecdsa.PrivateKey
}

type options struct {
	Challenge string `json:"challenge"`
	RPID      string `json:"rpId"` // of a sign-in
	RP        struct {
		ID string `json:"id"`
	} `json:"rp"` // of a registration
	User struct {
		ID string `json:"id"`
	} `json:"user"`
	Exclude []struct {
		ID string `json:"id"`
	} `json:"excludeCredentials"`
}

func text(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// ErrExcluded is the answer to a page that excludes a passkey that is there.
var ErrExcluded = errors.New("authenticator: there is a passkey already")

// Create makes a passkey by the options of a page, in JSON, and returns the answer.
func (a *Authenticator) Create(wanted []byte) ([]byte, error) {
	var o options
	if err := json.Unmarshal(wanted, &o); err != nil {
		return nil, err
	}
	for _, e := range o.Exclude {
		for _, c := range a.credentials {
			if text(c.id) == e.ID {
				return nil, ErrExcluded
			}
		}
	}
	handle, err := base64.RawURLEncoding.DecodeString(o.User.ID)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	c := &credential{id: make([]byte, 16), handle: handle, rpID: o.RP.ID, key: key}
	_, _ = rand.Read(c.id)
	a.credentials = append(a.credentials, c)
	point, err := key.PublicKey.Bytes()
	if err != nil {
		return nil, err
	}
	data := a.data(c, attested)
	data = append(data, make([]byte, 16)...) // AAGUID
	data = binary.BigEndian.AppendUint16(data, uint16(len(c.id)))
	data = append(data, c.id...)
	// COSE: {1: 2 (EC2), 3: -7 (ES256), -1: 1 (P-256), -2: x, -3: y}
	data = append(data, 0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32)
	data = append(append(append(data, point[1:33]...), 0x22, 0x58, 32), point[33:]...)
	// CBOR: {"fmt": "none", "attStmt": {}, "authData": data}
	object := append([]byte{0xa3, 0x63}, "fmt\x64none\x67attStmt\xa0\x68authData\x59"...)
	object = append(binary.BigEndian.AppendUint16(object, uint16(len(data))), data...)
	return json.Marshal(map[string]any{
		"id": text(c.id), "rawId": text(c.id), "type": "public-key", "clientExtensionResults": map[string]any{}, "authenticatorAttachment": "platform",
		"response": map[string]any{
			"clientDataJSON": text(a.client("webauthn.create", o.Challenge)), "attestationObject": text(object), "transports": []string{"internal"},
		},
	})
}

// Get answers a sign-in with the last passkey that was made, and returns the answer.
func (a *Authenticator) Get(wanted []byte) ([]byte, error) {
	var o options
	if err := json.Unmarshal(wanted, &o); err != nil {
		return nil, err
	}
	if len(a.credentials) == 0 {
		return nil, errors.New("authenticator: there is no passkey")
	}
	c := a.credentials[len(a.credentials)-1]
	data, client := a.data(c, 0), a.client("webauthn.get", o.Challenge)
	hash := sha256.Sum256(client)
	sum := sha256.Sum256(append(data[:len(data):len(data)], hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, c.key, sum[:])
	if err != nil {
		return nil, err
	}
	handle := c.handle
	if a.Handle != nil {
		handle = a.Handle
	}
	return json.Marshal(map[string]any{
		"id": text(c.id), "rawId": text(c.id), "type": "public-key", "clientExtensionResults": map[string]any{}, "authenticatorAttachment": "platform",
		"response": map[string]any{
			"clientDataJSON": text(client), "authenticatorData": text(data), "signature": text(signature), "userHandle": text(handle),
		},
	})
}

// data is authenticator data, but for an attested credential.
func (a *Authenticator) data(c *credential, more byte) []byte {
	flags, rpID := a.Flags, a.RPID
	if flags == 0 {
		flags = Present | Verified
	}
	if rpID == "" {
		rpID = c.rpID
	}
	if !a.Still {
		a.Count++
	}
	hash := sha256.Sum256([]byte(rpID))
	return binary.BigEndian.AppendUint32(append(hash[:], flags|more), a.Count)
}

func (a *Authenticator) client(kind, challenge string) []byte {
	if a.Challenge != "" {
		challenge = a.Challenge
	}
	text, _ := json.Marshal(map[string]any{"type": kind, "challenge": challenge, "origin": a.Origin, "crossOrigin": false})
	return text
}
