// Package certs obtains, stores and renews TLS certificates: from files, and by ACME (RFC 8555) for the server's own hosts
// and, on demand, for those of help centres.
package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caddyserver/certmagic"
	"golang.org/x/sync/singleflight"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// LetsEncrypt is the directory of the default authority.
const LetsEncrypt = certmagic.LetsEncryptProductionCA

const (
	checkInterval = 10 * time.Minute
	orderTime     = 90 * time.Second // of one order, for which a first visitor waits
	maxCached     = 10_000           // certificates in memory
	cleanInterval = 24 * time.Hour
	keptExpired   = 14 * 24 * time.Hour
)

// Config configures an [ACME]. Vault, Sealer, Email and Hosts are required, and HTTPAddr or TLSAddr.
type Config struct {
	Vault  storage.Vault  // shared by all processes that serve the same hosts
	Sealer storage.Sealer // seals the values in the vault

	Email     string         // of the account with the authority, whose terms are accepted
	Directory string         // of the authority; default LetsEncrypt
	Roots     *x509.CertPool // to verify the directory's own certificate; nil: the system's

	// Hosts get their certificates when Run begins, and keep them renewed. Clients that name no host get the certificate of the
	// first one.
	Hosts []string
	// Allowed reports whether to order a certificate when a client requests a host. nil: only for Hosts.
	Allowed func(ctx context.Context, host string) (bool, error)
	// HTTPAddr and TLSAddr are the addresses of this process that receive the connections to ports 80 and 443: it answers the
	// challenges http-01 (with [ACME.Challenges]) and tls-alpn-01 (with [ACME.TLS]) there. "": not answered.
	HTTPAddr, TLSAddr string

	// Certificates are renewed when the authority suggests it (RFC 9773); with IgnoreHints, or without a suggestion, when a
	// third of their lifetime is left.
	IgnoreHints   bool
	CheckInterval time.Duration    // interval of the check for certificates to renew; default 10 min
	Now           func() time.Time // nil: time.Now
	Logger        *slog.Logger     // default: discarded
}

func (c *Config) check() error {
	var problems fault.Collector
	problems.Check(c.Vault != nil, "Vault", "is required")
	problems.Check(c.Sealer != nil, "Sealer", "is required")
	problems.Check(c.Email != "", "Email", "is required")
	problems.Check(len(c.Hosts) > 0, "Hosts", "is required")
	problems.Check(c.HTTPAddr != "" || c.TLSAddr != "", "TLSAddr", "is required without an HTTPAddr")
	return problems.Err()
}

// ACME provides certificates from an authority. Make it with [New].
type ACME struct {
	cfg     Config
	cache   *certmagic.Cache
	issuer  *certmagic.ACMEIssuer
	hosts   *certmagic.Config // of Config.Hosts
	demand  *certmagic.Config // of allowed hosts
	orders  singleflight.Group
	refused *refusals
}

// New makes an ACME, which sends no request before [ACME.Run]. Missing settings are an Invalid fault.
func New(cfg Config) (*ACME, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Directory == "" {
		cfg.Directory = LetsEncrypt
	}
	if cfg.CheckInterval <= 0 {
		cfg.CheckInterval = checkInterval
	}
	a := &ACME{cfg: cfg, refused: newRefusals(cfg.Now)}
	logger := logTo(cfg.Logger)
	a.cache = certmagic.NewCache(certmagic.CacheOptions{
		GetConfigForCert: func(cert certmagic.Certificate) (*certmagic.Config, error) {
			if len(cert.Names) > 0 && slices.Contains(cfg.Hosts, cert.Names[0]) {
				return a.hosts, nil
			}
			return a.demand, nil
		},
		RenewCheckInterval: cfg.CheckInterval, Capacity: maxCached, Logger: logger,
	})
	template := certmagic.Config{
		Storage: newVault(cfg.Vault, cfg.Sealer, cfg.Now), DefaultServerName: cfg.Hosts[0], DisableARI: cfg.IgnoreHints, Logger: logger,
		OCSP: certmagic.OCSPConfig{DisableStapling: true}, // authorities have discontinued it
	}
	a.hosts = certmagic.New(a.cache, template)
	template.OnDemand = &certmagic.OnDemandConfig{DecisionFunc: a.decide}
	a.demand = certmagic.New(a.cache, template)
	of, err := issuerOf(cfg)
	if err != nil {
		return nil, err
	}
	of.Logger = logger
	a.issuer = certmagic.NewACMEIssuer(a.hosts, of)
	a.hosts.Issuers = []certmagic.Issuer{a.issuer}
	a.demand.Issuers = []certmagic.Issuer{certmagic.NewACMEIssuer(a.demand, of)}
	return a, nil
}

// issuerOf configures the requests to the authority.
func issuerOf(cfg Config) (certmagic.ACMEIssuer, error) {
	of := certmagic.ACMEIssuer{
		CA: cfg.Directory, Email: cfg.Email, Agreed: true, TrustedRoots: cfg.Roots, CertObtainTimeout: orderTime,
		DisableHTTPChallenge: cfg.HTTPAddr == "", DisableTLSALPNChallenge: cfg.TLSAddr == "",
	}
	for addr, port := range map[string]*int{cfg.HTTPAddr: &of.AltHTTPPort, cfg.TLSAddr: &of.AltTLSALPNPort} {
		if addr == "" {
			continue
		}
		host, text, err := net.SplitHostPort(addr)
		if err != nil {
			return of, fault.Field("TLSAddr", "must be HOST:PORT")
		}
		if *port, err = strconv.Atoi(text); err != nil {
			return of, fault.Field("TLSAddr", "must have a port")
		}
		if of.ListenHost == "" {
			of.ListenHost = host
		}
	}
	return of, nil
}

// Run obtains the certificates of Config.Hosts, retrying until it has them, and renews all certificates in use until ctx
// ends.
func (a *ACME) Run(ctx context.Context) error {
	defer a.cache.Stop()
	if err := a.hosts.ManageAsync(ctx, a.cfg.Hosts); err != nil {
		return fmt.Errorf("certificates: %w", err)
	}
	clean := time.NewTicker(cleanInterval)
	defer clean.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-clean.C:
			err := certmagic.CleanStorage(ctx, a.hosts.Storage, certmagic.CleanStorageOptions{
				Logger: logTo(a.cfg.Logger), ExpiredCerts: true, ExpiredCertGracePeriod: keptExpired,
			})
			if err != nil && ctx.Err() == nil {
				a.cfg.Logger.WarnContext(ctx, "cannot remove expired certificates", "error", err)
			}
		}
	}
}

// Challenges answers the authority's requests over HTTP, and passes all others to next.
func (a *ACME) Challenges(next http.Handler) http.Handler { return a.issuer.HTTPChallengeHandler(next) }

// errNoHost is the error for clients that request an unknown host.
var errNoHost = errors.New("no certificate for this host")

// GetCertificate is for [tls.Config]: it returns a certificate of one of the hosts, or of an allowed host, which may have to
// be ordered first.
func (a *ACME) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	host := strings.TrimSuffix(strings.ToLower(hello.ServerName), ".")
	challenge := len(hello.SupportedProtos) == 1 && hello.SupportedProtos[0] == challengeProtocol
	if challenge || host == "" || slices.Contains(a.cfg.Hosts, host) {
		return a.hosts.GetCertificate(hello)
	}
	if len(a.cache.AllMatchingCertificates(host)) == 0 {
		if err := a.order(hello, host); err != nil {
			return nil, err
		}
	}
	return a.demand.GetCertificate(hello)
}

// known is GetCertificate for clients that may not cause an order.
func (a *ACME) known(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if !slices.Contains(a.cfg.Hosts, strings.TrimSuffix(strings.ToLower(hello.ServerName), ".")) {
		first := *hello
		first.ServerName = a.cfg.Hosts[0] // most mail servers do not verify the name
		hello = &first
	}
	return a.hosts.GetCertificate(hello)
}

// decide allows certmagic to renew a certificate.
func (a *ACME) decide(ctx context.Context, host string) error {
	switch allowed, err := a.allowed(ctx, host); {
	case err != nil:
		return err
	case !allowed:
		return errNoHost
	}
	return nil
}

func (a *ACME) allowed(ctx context.Context, host string) (bool, error) {
	if a.cfg.Allowed == nil || !plausible(host) {
		return false, nil
	}
	return a.cfg.Allowed(ctx, host)
}

// plausible reports whether an authority may issue a certificate for a name.
func plausible(host string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789-."
	return len(host) <= 253 && strings.Contains(host, ".") && net.ParseIP(host) == nil &&
		!strings.ContainsFunc(host, func(r rune) bool { return !strings.ContainsRune(letters, r) })
}

// order ensures that there is a certificate of a host, which another process may have ordered. Concurrent clients wait for
// the same order.
func (a *ACME) order(hello *tls.ClientHelloInfo, host string) error {
	if err := a.decide(hello.Context(), host); err != nil {
		return err
	}
	if err := a.refused.wait(host); err != nil {
		return err
	}
	if hello.Conn != nil { // the time for a handshake is too short for an order
		if err := hello.Conn.SetDeadline(time.Now().Add(orderTime)); err != nil {
			return err
		}
	}
	ctx := context.WithoutCancel(hello.Context()) // a client that disconnects must not abort the order
	_, err, _ := a.orders.Do(host, func() (any, error) {
		if err := a.refused.wait(host); err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, orderTime)
		defer cancel()
		err := a.demand.ObtainCertSync(ctx, host)
		a.refused.note(host, err)
		if err != nil {
			a.cfg.Logger.WarnContext(ctx, "the authority issued no certificate", "host", host, "error", err)
		}
		return nil, err
	})
	return err
}
