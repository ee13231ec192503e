package webpush

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// Subscription is where a browser can be reached, as its PushSubscription says.
type Subscription struct {
	Endpoint  string // https address at the browser's push service
	PublicKey []byte // "p256dh": an uncompressed point of P-256, 65 bytes
	Auth      []byte // "auth": 16 bytes
}

const (
	// MaxPayload is the most bytes of a message; push services take a body of 4096 bytes (RFC 8030 section 7.2).
	MaxPayload = 3993
	recordSize = 4096
	headerSize = 16 + 4 + 1 + 65
)

// ErrTooLong is the error for a message of more than [MaxPayload] bytes.
var ErrTooLong = errors.New("webpush: the message is too long")

// Encrypt encrypts a message for the browser of a subscription, as the body of a request with the content encoding
// aes128gcm (RFC 8188).
func Encrypt(s Subscription, message []byte) ([]byte, error) {
	sender, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("webpush: %w", err)
	}
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // it never fails
	return encrypt(s, message, sender, salt)
}

func encrypt(s Subscription, message []byte, sender *ecdh.PrivateKey, salt []byte) ([]byte, error) {
	if len(message) > MaxPayload {
		return nil, ErrTooLong
	}
	seal, nonce, err := keys(s, sender, salt)
	if err != nil {
		return nil, fmt.Errorf("webpush: %w", err)
	}
	body := make([]byte, 0, headerSize+len(message)+1+seal.Overhead())
	body = append(body, salt...)
	body = binary.BigEndian.AppendUint32(body, recordSize)
	body = append(body, 65)
	body = append(body, sender.PublicKey().Bytes()...)
	return seal.Seal(body, nonce, append(message[:len(message):len(message)], 2), nil), nil // 2 ends the last record
}

// keys derives the key and the nonce of a message (RFC 8291 section 3.4).
func keys(s Subscription, sender *ecdh.PrivateKey, salt []byte) (cipher.AEAD, []byte, error) {
	receiver, err := ecdh.P256().NewPublicKey(s.PublicKey)
	if err != nil {
		return nil, nil, err
	}
	shared, err := sender.ECDH(receiver)
	if err != nil {
		return nil, nil, err
	}
	info := append([]byte("WebPush: info\x00"), s.PublicKey...)
	input, err := hkdf.Key(sha256.New, shared, s.Auth, string(append(info, sender.PublicKey().Bytes()...)), 32)
	if err != nil {
		return nil, nil, err
	}
	key, err := hkdf.Key(sha256.New, input, salt, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return nil, nil, err
	}
	nonce, err := hkdf.Key(sha256.New, input, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, nil, err
	}
	seal, err := cipher.NewGCM(block)
	return seal, nonce, err
}

// Valid reports whether a browser can be reached at a subscription, as far as its fields tell.
func (s Subscription) Valid() bool {
	_, err := ecdh.P256().NewPublicKey(s.PublicKey)
	_, known := origin(s.Endpoint)
	return err == nil && len(s.Auth) == 16 && known
}
