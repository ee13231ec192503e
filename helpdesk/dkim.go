package helpdesk

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"slices"
	"strings"

	"golang.org/x/net/idna"

	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// ed25519Suffix is appended to the selector of a domain's Ed25519 key.
const ed25519Suffix = "-ed"

// sealKeys seals a domain's private keys, one after the other.
func (s *Service) sealKeys(d *sending.Domain, keys ...crypto.Signer) error {
	var private []byte
	for _, key := range keys {
		one, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			return fault.Wrap(fault.Internal, "making a DKIM key", err)
		}
		private = append(private, one...)
	}
	var err error
	if d.SealedKey, err = s.cfg.Sealer.Seal(private, sending.DKIMContext(d)); err != nil {
		return fault.Wrap(fault.Internal, "sealing a DKIM key", err)
	}
	return nil
}

// openKeys returns the private keys of a domain whose records existed at the last check.
func (s *Service) openKeys(d sending.Domain) ([]sending.DKIMKey, error) {
	rest, err := s.cfg.Sealer.Open(d.SealedKey, sending.DKIMContext(&d))
	if err != nil {
		return nil, err
	}
	var keys []sending.DKIMKey
	for len(rest) > 0 {
		var one asn1.RawValue
		if rest, err = asn1.Unmarshal(rest, &one); err != nil {
			return nil, err
		}
		parsed, err := x509.ParsePKCS8PrivateKey(one.FullBytes)
		if err != nil {
			return nil, err
		}
		k := sending.DKIMKey{Domain: d.Name, Selector: d.Selector}
		switch key := parsed.(type) {
		case *rsa.PrivateKey:
			k.Key = key
		case ed25519.PrivateKey:
			k.Key, k.Selector = key, d.Selector+ed25519Suffix
		default:
			return nil, errors.New("helpdesk: an unknown kind of DKIM key")
		}
		published := func(r sending.DNSRecord) bool { return r.Verified && r.Hostname == k.String() }
		if slices.ContainsFunc(d.Records, published) {
			keys = append(keys, k)
		}
	}
	return keys, nil
}

// signers returns the keys that sign mail from an address: those of its domain, or of the nearest parent domain that the
// account has verified. A key that cannot be unsealed is logged and omitted, since unsigned mail is better than none.
func (s *Service) signers(ctx context.Context, r Reader, from string) ([]sending.DKIMKey, error) {
	_, host, _ := plain.CutLast(from, "@")
	host, err := idna.Lookup.ToASCII(host)
	if err != nil {
		return nil, nil //nolint:nilerr // no domain that could be verified
	}
	best := sending.Domain{}
	var after *storage.Position
	for {
		page, err := domainNoun().Reader(r).List(ctx, storage.NoFilter{}, storage.Seek{From: after, Limit: 100})
		if err != nil {
			return nil, err
		}
		for _, d := range page {
			above := d.Name == host || strings.HasSuffix(host, "."+d.Name)
			if above && len(d.Name) > len(best.Name) && signsFor(d) {
				best = d
			}
			after = &storage.Position{ID: d.ID}
		}
		if len(page) < 100 {
			break
		}
	}
	if best.ID == 0 {
		return nil, nil
	}
	keys, err := s.openKeys(best)
	if err != nil {
		s.cfg.Logger.ErrorContext(ctx, "a DKIM key cannot be read, mail leaves without its signature", "domain_id", best.ID, "error", err)
		return nil, nil
	}
	return keys, nil
}

// signs reports whether a DKIM key of the domain is published.
func signsFor(d sending.Domain) bool {
	return slices.ContainsFunc(d.Records, func(r sending.DNSRecord) bool { return r.Label == sending.LabelDKIM && r.Verified })
}
