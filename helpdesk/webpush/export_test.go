package webpush

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/sha256"
)

// receiverKeys derives the keys as a browser does.
func receiverKeys(private *ecdh.PrivateKey, sender *ecdh.PublicKey, s Subscription, salt []byte) (open func(nonce, sealed []byte) ([]byte, error), nonce []byte, err error) {
	shared, err := private.ECDH(sender)
	if err != nil {
		return nil, nil, err
	}
	info := append(append([]byte("WebPush: info\x00"), s.PublicKey...), sender.Bytes()...)
	input, _ := hkdf.Key(sha256.New, shared, s.Auth, string(info), 32)
	key, _ := hkdf.Key(sha256.New, input, salt, "Content-Encoding: aes128gcm\x00", 16)
	nonce, _ = hkdf.Key(sha256.New, input, salt, "Content-Encoding: nonce\x00", 12)
	block, _ := aes.NewCipher(key)
	gcm, err := cipher.NewGCM(block)
	return func(nonce, sealed []byte) ([]byte, error) { return gcm.Open(nil, nonce, sealed, nil) }, nonce, err
}
