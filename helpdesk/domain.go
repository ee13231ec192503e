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

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// domainNoun declares the rows of sending domains.
func domainNoun() storage.Declared[sending.Domain, storage.NoFilter] {
	return storage.Declared[sending.Domain, storage.NoFilter]{
		Noun: storage.Noun[sending.Domain]{
			Name:    "domain",
			ID:      func(d *sending.Domain) *int64 { return &d.ID },
			Account: func(d *sending.Domain) *int64 { return &d.AccountID },
			Unique: []storage.Unique[sending.Domain]{
				{Code: sending.UniqueDomain, Index: "name", Fields: func(d *sending.Domain) []any { return []any{&d.Name} }},
			},
		},
		Key: "domain", Plural: "domains",
		Columns: []storage.Column[sending.Domain]{
			{Name: "name", Field: func(d *sending.Domain) any { return &d.Name }},
			{Name: "selector", Field: func(d *sending.Domain) any { return &d.Selector }},
			{Name: "sealed_key", Field: func(d *sending.Domain) any { return &d.SealedKey }},
			{Name: "records", Field: func(d *sending.Domain) any {
				return storage.Objects(&d.Records, func(r sending.DNSRecord) []string { return []string{r.Label, r.Type, r.Hostname, r.Value, r.Problem} })
			}},
			{Name: "created_at", Field: func(d *sending.Domain) any { return &d.CreatedAt }},
			{Name: "updated_at", Field: func(d *sending.Domain) any { return &d.UpdatedAt }},
		},
	}
}

// domainProfile is the profile for looked-up names, with the length limits of DNS.
var domainProfile = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(true), idna.VerifyDNSLength(true))

// domainName normalises a domain name entered by a user; problem is the reason why it is invalid.
func domainName(text string) (name, problem string) {
	text = strings.TrimSuffix(plain.Line(text), ".")
	if text == "" {
		return "", "is required"
	}
	name, err := domainProfile.ToASCII(text)
	if err != nil || strings.Trim(name[strings.LastIndex(name, ".")+1:], "0123456789") == "" {
		return "", "is not a domain name, such as example.org"
	}
	suffix, official := publicsuffix.PublicSuffix(name)
	if !strings.Contains(name, ".") || official && suffix == name {
		return "", "is not a domain that can be registered, such as example.org"
	}
	return name, ""
}

// dkimBits is the length of DKIM keys: RFC 8301 section 3.2 requires at least 1024 and recommends 2048.
const dkimBits = 2048

// newKey generates a domain's DKIM keys and the records to publish: an RSA key, which every receiver supports, and an
// Ed25519 key (RFC 8463), which signs in addition.
func (s *Service) newKey(d *sending.Domain) error {
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
	d.Records = []sending.DNSRecord{
		{Label: sending.LabelDKIM, Type: "TXT", Hostname: d.Selector + "._domainkey." + d.Name,
			Value: "v=DKIM1; k=rsa; p=" + base64.StdEncoding.EncodeToString(public)},
		{Label: sending.LabelSPF, Type: "TXT", Hostname: d.Name, Value: "v=spf1 " + s.cfg.SPF + " ~all"},
		{Label: sending.LabelDMARC, Type: "TXT", Hostname: "_dmarc." + d.Name, Value: "v=DMARC1; p=none"},
		{Label: sending.LabelDKIM, Type: "TXT", Hostname: d.Selector + ed25519Suffix + "._domainkey." + d.Name,
			Value: "v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(small)},
	}
	return nil
}

// sealed returns the domain without its keys.
func sealDomain(d sending.Domain) sending.Domain {
	d.SealedKey = nil
	return d
}

// Domains are the domains that the account sends from.
type Domains struct{ *desk }

// Domains returns the handle of the domains that the account sends from.
func (d *Desk) Domains() Domains { return Domains{&d.desk} }

// Create creates a domain with its own DKIM keys. It needs domains.create. A name that cannot be registered, or that
// another domain of the account has, is an Invalid fault on domain.
func (d Domains) Create(ctx context.Context, name string) (sending.Domain, error) {
	begin, err := d.guard.Write(identity.DomainsCreate)
	if err != nil {
		return sending.Domain{}, err
	}
	if err := d.reachesAll(); err != nil {
		return sending.Domain{}, err
	}
	ascii, problem := domainName(name)
	if problem != "" {
		return sending.Domain{}, fault.Field("domain", problem)
	}
	now := d.svc.now()
	domain := sending.Domain{AccountID: d.scope.AccountID, Name: ascii, CreatedAt: now, UpdatedAt: now}
	if err := d.svc.newKey(&domain); err != nil {
		return sending.Domain{}, err
	}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := domainNoun().Rows(tx).Insert(ctx, &domain); err != nil {
			return err
		}
		return d.emit(ctx, tx, "domain.created", domain.ID, 0)
	})
	if err != nil {
		return sending.Domain{}, takenField(err, sending.UniqueDomain, "domain")
	}
	return sealDomain(domain), nil
}

// Update renames a domain. A new name gets new DKIM keys and new, unverified records; the same name changes nothing.
// It needs domains.update.
func (d Domains) Update(ctx context.Context, id int64, name string) (sending.Domain, error) {
	begin, err := d.guard.Write(identity.DomainsUpdate)
	if err != nil {
		return sending.Domain{}, err
	}
	if err := d.reachesAll(); err != nil {
		return sending.Domain{}, err
	}
	r, err := d.guard.Read(identity.DomainsUpdate)
	if err != nil {
		return sending.Domain{}, err
	}
	ascii, problem := domainName(name)
	if problem != "" {
		return sending.Domain{}, fault.Field("domain", problem)
	}
	old, err := domainNoun().Reader(r).Get(ctx, id) // do not generate keys for an absent domain
	if err != nil {
		return sending.Domain{}, err
	}
	if old.Name == ascii {
		return sealDomain(old), nil
	}
	renamed := sending.Domain{AccountID: d.scope.AccountID, Name: ascii}
	if err := d.svc.newKey(&renamed); err != nil {
		return sending.Domain{}, err
	}
	var domain sending.Domain
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if domain, err = domainNoun().Rows(tx).Lock(ctx, id); err != nil {
			return err
		}
		domain.Name, domain.Selector = renamed.Name, renamed.Selector
		domain.SealedKey, domain.Records, domain.UpdatedAt = renamed.SealedKey, renamed.Records, d.svc.now()
		if err := domainNoun().Rows(tx).Update(ctx, &domain); err != nil {
			return err
		}
		return d.emit(ctx, tx, "domain.updated", domain.ID, 0)
	})
	if err != nil {
		return sending.Domain{}, takenField(err, sending.UniqueDomain, "domain")
	}
	return sealDomain(domain), nil
}

// Verify looks up a domain's records and records which exist. It needs domains.update. Without Config.DNS it is a
// Disabled fault. A record whose look-up fails keeps its state and gets a Problem that reports the failure. If the domain
// was renamed in the meantime, it is a Conflict fault.
//
// Only the owner can have published the DKIM key, while any domain may have an SPF and a DMARC record; these count only
// together with the key.
func (d Domains) Verify(ctx context.Context, id int64) (sending.Domain, error) {
	begin, err := d.guard.Write(identity.DomainsUpdate)
	if err != nil {
		return sending.Domain{}, err
	}
	r, err := d.guard.Read(identity.DomainsUpdate)
	if err != nil {
		return sending.Domain{}, err
	}
	asked, err := domainNoun().Reader(r).Get(ctx, id)
	if err != nil {
		return sending.Domain{}, err
	}
	if d.svc.cfg.DNS == nil {
		return sending.Domain{}, fault.New(fault.Disabled, "This server does not look up DNS records.")
	}
	results, err := d.svc.cfg.DNS(ctx, asked.Records)
	if err != nil {
		return sending.Domain{}, err
	}
	var domain sending.Domain
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if domain, err = domainNoun().Rows(tx).Lock(ctx, id); err != nil {
			return err
		}
		if domain.Selector != asked.Selector {
			return fault.New(fault.Conflict, "The domain was renamed while its records were being looked up. Try again.")
		}
		was := domain.Verified()
		if !noteResults(&domain, results) {
			return nil
		}
		domain.UpdatedAt = d.svc.now()
		if err := domainNoun().Rows(tx).Update(ctx, &domain); err != nil {
			return err
		}
		kind := "domain.updated"
		if domain.Verified() && !was {
			kind = "domain.verified"
		}
		return d.emit(ctx, tx, kind, domain.ID, 0)
	})
	if err != nil {
		return sending.Domain{}, err
	}
	return sealDomain(domain), nil
}

// note copies look-up results, in the order of the records, into the domain and reports whether anything changed.
func noteResults(d *sending.Domain, results []sending.DNSResult) bool {
	records := append([]sending.DNSRecord(nil), d.Records...)
	proven := false
	for i := range records {
		r := &records[i]
		result := sending.DNSResult{Unknown: true, Problem: "The record was not looked up."}
		if i < len(results) {
			result = results[i]
		}
		if !result.Unknown {
			r.Verified = result.Verified
		}
		r.Problem = plain.Cut(plain.Line(result.Problem), 500)
		proven = proven || r.Label == sending.LabelDKIM && r.Verified
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

// Get returns a domain. It needs domains.view.
func (d Domains) Get(ctx context.Context, id int64) (sending.Domain, error) {
	r, err := d.guard.Read(identity.DomainsView)
	if err != nil {
		return sending.Domain{}, err
	}
	domain, err := domainNoun().Reader(r).Get(ctx, id)
	return sealDomain(domain), err
}

// List lists the domains of the account, by id. It needs domains.view.
func (d Domains) List(ctx context.Context, req storage.PageRequest) (storage.Page[sending.Domain], error) {
	r, err := d.guard.Read(identity.DomainsView)
	if err != nil {
		return storage.Page[sending.Domain]{}, err
	}
	return storage.List(req, false, func(domain sending.Domain) storage.Position { return storage.Position{ID: domain.ID} },
		func(seek storage.Seek) ([]sending.Domain, error) {
			all, err := domainNoun().Reader(r).List(ctx, storage.NoFilter{}, seek)
			for i := range all {
				all[i] = sealDomain(all[i])
			}
			return all, err
		})
}

// Delete removes a domain and its keys. It needs domains.delete.
func (d Domains) Delete(ctx context.Context, id int64) error {
	begin, err := d.guard.Write(identity.DomainsDelete)
	if err != nil {
		return err
	}
	if err := d.reachesAll(); err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := domainNoun().Rows(tx).Delete(ctx, id); err != nil {
			return err
		}
		return d.emit(ctx, tx, "domain.deleted", id, 0)
	})
}
