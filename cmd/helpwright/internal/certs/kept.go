package certs

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage"
)

// Kept is a certificate of an authority that the servers on a store share.
type Kept struct {
	Host    string
	Expires time.Time
	Err     error // it cannot be read
}

// List are all certificates of authorities in a vault.
func List(ctx context.Context, of storage.Vault, sealer storage.Sealer) ([]Kept, error) {
	items, err := of.Items(ctx, vaultPrefix+"certificates")
	if err != nil {
		return nil, err
	}
	var all []Kept
	for _, item := range items {
		if !strings.HasSuffix(item.Key, ".crt") {
			continue
		}
		name := strings.TrimSuffix(item.Key[strings.LastIndexByte(item.Key, '/')+1:], ".crt")
		one := Kept{Host: name}
		full, err := of.Item(ctx, item.Key)
		if err != nil {
			return nil, err
		}
		if text, err := sealer.Open(full.Value, item.Key); err != nil {
			one.Err = errors.New("it was sealed with another secret key")
		} else if leaf, err := first(text); err != nil {
			one.Err = err
		} else {
			one.Expires = leaf.NotAfter
		}
		all = append(all, one)
	}
	return all, nil
}

// first is the first certificate of a chain.
func first(text []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("it is no certificate")
	}
	return x509.ParseCertificate(block.Bytes)
}
