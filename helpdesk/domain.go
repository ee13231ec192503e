package helpdesk

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"time"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Domain is a domain that answers are sent from, and the records its owner is
// asked to publish in DNS.
type Domain struct {
	ID        int64
	AccountID int64
	Name      string // lower case, in its ASCII form (RFC 5891); unique in the account
	Selector  string // names the DKIM keys (RFC 6376 section 3.1); another for each pair
	SealedKey []byte // private DKIM keys, PKCS #8, RSA then Ed25519; never leave the service
	Records   []DNSRecord
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Labels of the records of a domain.
const (
	LabelDKIM  = "DKIM"
	LabelSPF   = "SPF"
	LabelDMARC = "DMARC"
)

// DNSRecord is a record to be published.
type DNSRecord struct {
	Label    string
	Type     string // "TXT"
	Hostname string // absolute, without the final dot
	Value    string
	Verified bool   // at the last look
	Problem  string // what was wrong at the last look, a sentence; "": nothing, or no look yet
}

// DNSResult is what was found for a [DNSRecord].
type DNSResult struct {
	Verified bool
	Unknown  bool   // the look-up failed: nothing is known
	Problem  string // a sentence; "": nothing
}

// Verified reports whether at least one record is.
func (d Domain) Verified() bool {
	for _, r := range d.Records {
		if r.Verified {
			return true
		}
	}
	return false
}

// Subdomain is the part of the name before the domain that was registered, ""
// without one: "mail" of mail.example.co.uk.
func (d Domain) Subdomain() string {
	registered, err := publicsuffix.EffectiveTLDPlusOne(d.Name)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(strings.TrimSuffix(d.Name, registered), ".")
}

// domainProfile is that of names that are looked up, with the length limits of DNS.
var domainProfile = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(true), idna.VerifyDNSLength(true))

// domainName normalises what somebody took for a domain's name; problem says why
// it is none.
func domainName(text string) (name, problem string) {
	text = strings.TrimSuffix(cleanLine(text), ".")
	if text == "" {
		return "", "is required"
	}
	name, err := domainProfile.ToASCII(text)
	if err != nil || strings.Trim(name[strings.LastIndex(name, ".")+1:], "0123456789") == "" {
		return "", "is no domain name, such as example.org"
	}
	suffix, official := publicsuffix.PublicSuffix(name)
	if !strings.Contains(name, ".") || official && suffix == name {
		return "", "is no domain that can be registered, such as example.org"
	}
	return name, ""
}

// dkimBits is the length of DKIM keys: RFC 8301 section 3.2 asks for at least 1024
// and advises 2048.
const dkimBits = 2048

// newKey gives a domain its DKIM keys, and the records to publish: an RSA key that
// every receiver knows, and an Ed25519 key (RFC 8463), which signs besides for those
// who know it.
func (s *Service) newKey(d *Domain) error {
	key, err := rsa.GenerateKey(rand.Reader, dkimBits)
	if err != nil {
		return fault.Wrap(fault.Internal, "making a DKIM key", err)
	}
	small, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return fault.Wrap(fault.Internal, "making a DKIM key", err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return fault.Wrap(fault.Internal, "making a DKIM key", err)
	}
	sum := sha256.Sum256(public)
	d.Selector = "hw-" + hex.EncodeToString(sum[:5])
	if err := s.sealKeys(d, key, private); err != nil {
		return err
	}
	d.Records = []DNSRecord{
		{Label: LabelDKIM, Type: "TXT", Hostname: d.Selector + "._domainkey." + d.Name,
			Value: "v=DKIM1; k=rsa; p=" + base64.StdEncoding.EncodeToString(public)},
		{Label: LabelSPF, Type: "TXT", Hostname: d.Name, Value: "v=spf1 " + s.cfg.SPF + " ~all"},
		{Label: LabelDMARC, Type: "TXT", Hostname: "_dmarc." + d.Name, Value: "v=DMARC1; p=none"},
		{Label: LabelDKIM, Type: "TXT", Hostname: d.Selector + ed25519Suffix + "._domainkey." + d.Name,
			Value: "v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(small)},
	}
	return nil
}

// dkimContext binds a sealed key to its selector.
func dkimContext(d *Domain) string { return "domain/" + d.Selector + "/dkim" }

// sealed is what the caller sees of a domain.
func (d Domain) sealed() Domain {
	d.SealedKey = nil
	return d
}

// CreateDomain makes a domain with a DKIM key of its own. It needs domains.create.
// A name that cannot be registered, or that another domain of the account has, is
// an Invalid fault on domain.
func (d *Desk) CreateDomain(ctx context.Context, name string) (Domain, error) {
	begin, err := d.guard.Write(DomainsCreate)
	if err != nil {
		return Domain{}, err
	}
	if err := d.reachesAll(); err != nil {
		return Domain{}, err
	}
	ascii, problem := domainName(name)
	if problem != "" {
		return Domain{}, fault.Field("domain", problem)
	}
	now := d.svc.now()
	domain := Domain{AccountID: d.scope.AccountID, Name: ascii, CreatedAt: now, UpdatedAt: now}
	if err := d.svc.newKey(&domain); err != nil {
		return Domain{}, err
	}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.Domains().Insert(ctx, &domain); err != nil {
			return err
		}
		return d.emit(ctx, tx, "domain.created", domain.ID, 0)
	})
	if err != nil {
		return Domain{}, takenField(err, UniqueDomain, "domain")
	}
	return domain.sealed(), nil
}

// UpdateDomain gives a domain another name. Its records are made anew then, with
// another DKIM key, and none is verified; with the name that it has, it stays as it
// is. It needs domains.update.
func (d *Desk) UpdateDomain(ctx context.Context, id int64, name string) (Domain, error) {
	begin, err := d.guard.Write(DomainsUpdate)
	if err != nil {
		return Domain{}, err
	}
	if err := d.reachesAll(); err != nil {
		return Domain{}, err
	}
	r, err := d.guard.Read(DomainsUpdate)
	if err != nil {
		return Domain{}, err
	}
	ascii, problem := domainName(name)
	if problem != "" {
		return Domain{}, fault.Field("domain", problem)
	}
	old, err := r.Domains().Get(ctx, id) // one that is not there is worth no key
	if err != nil {
		return Domain{}, err
	}
	if old.Name == ascii {
		return old.sealed(), nil
	}
	renamed := Domain{AccountID: d.scope.AccountID, Name: ascii}
	if err := d.svc.newKey(&renamed); err != nil {
		return Domain{}, err
	}
	var domain Domain
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if domain, err = tx.Domains().Lock(ctx, id); err != nil {
			return err
		}
		domain.Name, domain.Selector = renamed.Name, renamed.Selector
		domain.SealedKey, domain.Records, domain.UpdatedAt = renamed.SealedKey, renamed.Records, d.svc.now()
		if err := tx.Domains().Update(ctx, &domain); err != nil {
			return err
		}
		return d.emit(ctx, tx, "domain.updated", domain.ID, 0)
	})
	if err != nil {
		return Domain{}, takenField(err, UniqueDomain, "domain")
	}
	return domain.sealed(), nil
}

// VerifyDomain looks up the records of a domain and notes which are there. It needs
// domains.update, and Config.DNS: without it, it is a Disabled fault. A record whose
// look-up fails stays as it was, with a Problem that says so. A domain that got
// another name meanwhile is a Conflict fault.
//
// Only the owner can have published the DKIM key, while every other domain in the
// world has an SPF and a DMARC record: these count together with the key only.
func (d *Desk) VerifyDomain(ctx context.Context, id int64) (Domain, error) {
	begin, err := d.guard.Write(DomainsUpdate)
	if err != nil {
		return Domain{}, err
	}
	r, err := d.guard.Read(DomainsUpdate)
	if err != nil {
		return Domain{}, err
	}
	asked, err := r.Domains().Get(ctx, id)
	if err != nil {
		return Domain{}, err
	}
	if d.svc.cfg.DNS == nil {
		return Domain{}, fault.New(fault.Disabled, "This server does not look up DNS records.")
	}
	results, err := d.svc.cfg.DNS(ctx, asked.Records)
	if err != nil {
		return Domain{}, err
	}
	var domain Domain
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if domain, err = tx.Domains().Lock(ctx, id); err != nil {
			return err
		}
		if domain.Selector != asked.Selector {
			return fault.New(fault.Conflict, "The domain got another name while its records were looked up.")
		}
		was := domain.Verified()
		if !domain.note(results) {
			return nil
		}
		domain.UpdatedAt = d.svc.now()
		if err := tx.Domains().Update(ctx, &domain); err != nil {
			return err
		}
		kind := "domain.updated"
		if domain.Verified() && !was {
			kind = "domain.verified"
		}
		return d.emit(ctx, tx, kind, domain.ID, 0)
	})
	if err != nil {
		return Domain{}, err
	}
	return domain.sealed(), nil
}

// note puts the results of a look-up, in the order of the records, into the domain
// and reports whether anything is new.
func (d *Domain) note(results []DNSResult) bool {
	records := append([]DNSRecord(nil), d.Records...)
	proven := false
	for i := range records {
		r := &records[i]
		result := DNSResult{Unknown: true, Problem: "The record was not looked up."}
		if i < len(results) {
			result = results[i]
		}
		if !result.Unknown {
			r.Verified = result.Verified
		}
		r.Problem = cut(cleanLine(result.Problem), 500)
		proven = proven || r.Label == LabelDKIM && r.Verified
	}
	changed := false
	for i := range records {
		r := &records[i]
		if r.Verified && !proven {
			r.Verified, r.Problem = false, "The record is right; it counts as soon as the DKIM record is there."
		}
		changed = changed || *r != d.Records[i]
	}
	d.Records = records
	return changed
}

// Domain returns a domain. It needs domains.view.
func (d *Desk) Domain(ctx context.Context, id int64) (Domain, error) {
	r, err := d.guard.Read(DomainsView)
	if err != nil {
		return Domain{}, err
	}
	domain, err := r.Domains().Get(ctx, id)
	return domain.sealed(), err
}

// Domains lists the domains of the account, by id. It needs domains.view.
func (d *Desk) Domains(ctx context.Context, req storage.PageRequest) (storage.Page[Domain], error) {
	r, err := d.guard.Read(DomainsView)
	if err != nil {
		return storage.Page[Domain]{}, err
	}
	return storage.List(req, false, func(domain Domain) storage.Position { return storage.Position{ID: domain.ID} },
		func(seek storage.Seek) ([]Domain, error) {
			all, err := r.Domains().List(ctx, storage.NoFilter{}, seek)
			for i := range all {
				all[i] = all[i].sealed()
			}
			return all, err
		})
}

// DeleteDomain removes a domain and its key. It needs domains.delete.
func (d *Desk) DeleteDomain(ctx context.Context, id int64) error {
	begin, err := d.guard.Write(DomainsDelete)
	if err != nil {
		return err
	}
	if err := d.reachesAll(); err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.Domains().Delete(ctx, id); err != nil {
			return err
		}
		return d.emit(ctx, tx, "domain.deleted", id, 0)
	})
}
