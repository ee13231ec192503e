package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/helpwright/helpwright/cmd/helpwright/internal/certs"
	"github.com/helpwright/helpwright/storage"
)

const (
	ownTerm       = 14 * 24 * time.Hour // within which the operator should renew a certificate
	authorityTerm = 7 * 24 * time.Hour  // within which a server should have renewed one long ago
)

// certificateFiles checks the certificates in files.
func (d *doctor) certificateFiles() {
	set := d.settings
	web := ""
	if u, err := url.Parse(set.baseURL()); err == nil {
		web = u.Hostname()
	}
	for _, one := range []struct{ name, cert, key, host string }{
		{"HELPWRIGHT_TLS", set.TLSCert, set.TLSKey, web}, {"HELPWRIGHT_INTAKE_TLS", set.IntakeTLSCert, set.IntakeTLSKey, ""},
	} {
		if one.cert == "" {
			continue
		}
		what := fmt.Sprintf("certificate (%s_CERT)", one.name)
		pair, err := tls.LoadX509KeyPair(one.cert, one.key)
		if err != nil {
			d.check(what, err, fmt.Sprintf("let this user read %s and %s, which have to be a chain and its key, both PEM", one.cert, one.key))
			continue
		}
		if one.host != "" {
			d.check(what+", its names", pair.Leaf.VerifyHostname(one.host), "use one for the host of HELPWRIGHT_BASE_URL, or correct that")
		}
		d.check(what, expiry(d.clock(), pair.Leaf.NotBefore, pair.Leaf.NotAfter, ownTerm), "renew it; the server reads the new one by itself")
	}
}

// expiry returns an error for a certificate that is not valid now, or not for a term from now.
func expiry(now, begins, ends time.Time, term time.Duration) error {
	const layout = "2006-01-02 15:04 MST"
	switch {
	case now.Before(begins):
		return fmt.Errorf("it is valid from %s", begins.UTC().Format(layout))
	case !now.Before(ends):
		return fmt.Errorf("it has expired at %s", ends.UTC().Format(layout))
	case ends.Sub(now) < term:
		return fmt.Errorf("it expires at %s", ends.UTC().Format(layout))
	}
	return nil
}

// authority checks the certificates that servers have obtained from an authority.
func (d *doctor) authority(ctx context.Context, vault storage.Vault, sealer storage.Sealer) {
	if d.settings.ACMEEmail == "" {
		return
	}
	const advice = "see that ports 80 and 443 of the host reach HELPWRIGHT_LISTEN and HELPWRIGHT_TLS_LISTEN, and what the server's log says of it"
	kept, err := certs.List(ctx, vault, sealer)
	if !d.check("certificates of the authority", err, "see the database's own log") {
		return
	}
	for _, host := range d.settings.acmeHosts() {
		if !slices.ContainsFunc(kept, func(k certs.Kept) bool { return k.Host == host }) {
			d.note("certificate of "+host, "there is none yet: the server gets it after its start. If it runs: "+advice)
		}
	}
	good, now := 0, d.clock()
	for _, one := range kept {
		err := one.Err
		if err == nil {
			err = expiry(now, time.Time{}, one.Expires, authorityTerm)
		}
		own := slices.Contains(d.settings.acmeHosts(), one.Host)
		switch {
		case err == nil:
			good++
		case own:
			d.check("certificate of "+one.Host, err, advice)
		default: // of a help centre, renewed at the next visit
			d.note("certificate of "+one.Host, err.Error()+": it is renewed when somebody comes, if a site still has the host")
		}
	}
	d.note("certificates of the authority", fmt.Sprintf("%d are good", good))
}

var errNoAnswer = errors.New("something else listens there")
