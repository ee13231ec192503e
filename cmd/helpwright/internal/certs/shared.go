package certs

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Kept is a certificate from an authority that the servers on a store share.
type Kept struct {
	Host    string
	Expires time.Time
	Err     error // why it cannot be read
}

// List returns all certificates from authorities in a vault.
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

// CountSealed counts the sealed values of ACME in a vault by the ids of their keys.
func CountSealed(ctx context.Context, of storage.Vault, sealer storage.KeyedSealer) (map[string]int, error) {
	found := map[string]int{}
	return found, eachSealed(ctx, of, func(item storage.VaultItem) error {
		found[sealer.KeyOf(item.Value)]++
		return nil
	})
}

// Reseal seals with the first key all values in a vault that are sealed with other keys, and returns their number. Values
// that no key opens are left alone. After an interruption, it continues when called again.
func Reseal(ctx context.Context, of storage.Vault, sealer storage.KeyedSealer) (done int, err error) {
	return done, eachSealed(ctx, of, func(item storage.VaultItem) error {
		if sealer.KeyOf(item.Value) == sealer.KeyIDs()[0] {
			return nil
		}
		text, err := sealer.Open(item.Value, item.Key)
		if err != nil {
			return nil //nolint:nilerr // as good as gone, see Load
		}
		sealed, err := sealer.Seal(text, item.Key)
		if err != nil {
			return err
		}
		replaced, err := of.ReplaceValue(ctx, item.Key, item.Value, sealed)
		if replaced {
			done++
		}
		return err
	})
}

// eachSealed calls fn with each sealed value in a vault.
func eachSealed(ctx context.Context, of storage.Vault, fn func(storage.VaultItem) error) error {
	items, err := of.Items(ctx, strings.TrimSuffix(vaultPrefix, "/"))
	if err != nil {
		return err
	}
	for _, item := range items {
		full, err := of.Item(ctx, item.Key)
		if fault.Is(err, fault.NotFound) {
			continue // removed meanwhile
		}
		if err == nil {
			err = fn(full)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// first returns the first certificate of a chain.
func first(text []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("it is not a certificate")
	}
	return x509.ParseCertificate(block.Bytes)
}
