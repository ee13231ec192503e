package sending

import (
	"crypto"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage"
	"golang.org/x/net/publicsuffix"
)

// Domain is a domain that replies are sent from, with the records that its owner should publish in DNS.
type Domain struct {
	ID        int64
	AccountID int64
	Name      string // lower case, in its ASCII form (RFC 5891); unique in the account
	Selector  string // of the DKIM keys (RFC 6376 section 3.1); new for each pair
	SealedKey []byte // private DKIM keys, PKCS #8, RSA then Ed25519; never leave the service
	Records   []DNSRecord
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Verified reports whether at least one record is verified.
func (d Domain) Verified() bool {
	for _, r := range d.Records {
		if r.Verified {
			return true
		}
	}
	return false
}

// Subdomain returns the part of the name before the registered domain, or "": "mail" for mail.example.co.uk.
func (d Domain) Subdomain() string {
	registered, err := publicsuffix.EffectiveTLDPlusOne(d.Name)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(strings.TrimSuffix(d.Name, registered), ".")
}

// Secrets returns the sealed fields of a domain. They are bound to its selector.
func (d *Domain) Secrets() []storage.Secret {
	return []storage.Secret{{Sealed: &d.SealedKey, Context: DKIMContext(d)}}
}

// UniqueDomain is the code of the Conflict fault for a second domain of the same account and name.
const UniqueDomain = "domain"

// DNSRecord is a record to be published.
type DNSRecord struct {
	Label    string
	Type     string // "TXT"
	Hostname string // absolute, without the final dot
	Value    string
	Verified bool   // at the last check
	Problem  string // result of the last check, a sentence; "": none, or not checked yet
}

// DNSResult is the result of looking up a [DNSRecord].
type DNSResult struct {
	Verified bool
	Unknown  bool   // the look-up failed
	Problem  string // a sentence; "": nothing
}

// Labels of the records of a domain.
const (
	LabelDKIM  = "DKIM"
	LabelSPF   = "SPF"
	LabelDMARC = "DMARC"
)

// DKIMKey signs mail for a domain (RFC 6376). Its key is an *rsa.PrivateKey or an ed25519.PrivateKey.
type DKIMKey struct {
	Domain   string
	Selector string
	Key      crypto.Signer
}

// String returns the key's DNS name and omits the key itself.
func (k DKIMKey) String() string { return k.Selector + "._domainkey." + k.Domain }

// DKIMContext binds a sealed key to its selector.
func DKIMContext(d *Domain) string { return "domain/" + d.Selector + "/dkim" }
