// Package certs gets, keeps and renews TLS certificates: from files, and by ACME (RFC 8555) for the server's own hosts and,
// on demand, for those of help centres.
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

// LetsEncrypt is the directory of the usual authority.
const LetsEncrypt = certmagic.LetsEncryptProductionCA

const (
	checkInterval = 10 * time.Minute
	orderTime     = 90 * time.Second // of one order, for which a first visitor waits
	maxCached     = 10_000           // certificates in memory
	cleanInterval = 24 * time.Hour
	keptExpired   = 14 * 24 * time.Hour
)

// Config is what an [ACME] needs. Vault, Sealer, Email and Hosts are required, and HTTPAddr or TLSAddr.
type Config struct {
	Vault  storage.Vault  // shared by all processes that answer for the same hosts
	Sealer storage.Sealer // seals what is put there

	Email     string         // of the account with the authority, whose terms are agreed to
	Directory string         // of the authority; default LetsEncrypt
	Roots     *x509.CertPool // that the directory's own certificate is verified by; nil: the system's

	// Hosts get their certificates when Run begins, and keep them renewed. The first one's is shown to clients that name
	// no host.
	Hosts []string
	// Allowed reports whether a certificate may be asked for when a client asks for a host. nil: for none but Hosts.
	Allowed func(ctx context.Context, host string) (bool, error)
	// HTTPAddr and TLSAddr are where this process listens for what comes to ports 80 and 443: it answers the challenges
	// http-01 (with [ACME.Challenges]) and tls-alpn-01 (with [ACME.TLS]) there. "": it does not.
	HTTPAddr, TLSAddr string

	// Certificates are renewed when the authority says so (RFC 9773); with IgnoreHints, or where it does not, when a third of
	// their time is left.
	IgnoreHints   bool
	CheckInterval time.Duration    // how often what has to be renewed is looked for; default 10 min
	Now           func() time.Time // nil: time.Now
	Logger        *slog.Logger     // nil: discards
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

// ACME has certificates from an authority. Make it with [New].
type ACME struct {
	cfg     Config
	cache   *certmagic.Cache
	issuer  *certmagic.ACMEIssuer
	hosts   *certmagic.Config // of Config.Hosts
	demand  *certmagic.Config // of those that are allowed
	orders  singleflight.Group
	refused *refusals
}

// New makes an ACME, which asks nobody anything before [ACME.Run]. What is missing is an Invalid fault.
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
		OCSP: certmagic.OCSPConfig{DisableStapling: true}, // authorities have ended it
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

// issuerOf says how the authority is asked.
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

// Run gets the certificates of Config.Hosts, again and again until it has them, and renews what is in use until ctx ends.
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
				a.cfg.Logger.WarnContext(ctx, "expired certificates are not removed", "error", err)
			}
		}
	}
}

// Challenges answers what the authority asks over HTTP, and leaves all else to next.
func (a *ACME) Challenges(next http.Handler) http.Handler { return a.issuer.HTTPChallengeHandler(next) }

// errNoHost is what a client gets to see of a host that nobody here has.
var errNoHost = errors.New("no certificate for this host")

// GetCertificate is that of [tls.Config]: a certificate of one of the hosts, or one of a host that is allowed, which may have
// to be ordered first.
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
		first.ServerName = a.cfg.Hosts[0] // most mail servers do not look at the name
		hello = &first
	}
	return a.hosts.GetCertificate(hello)
}

// decide lets certmagic renew.
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

// plausible is a name that an authority may certify.
func plausible(host string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789-."
	return len(host) <= 253 && strings.Contains(host, ".") && net.ParseIP(host) == nil &&
		!strings.ContainsFunc(host, func(r rune) bool { return !strings.ContainsRune(letters, r) })
}

// order makes sure that there is a certificate of a host, which another process may have ordered. Clients that come
// meanwhile wait for the same order.
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
	ctx := context.WithoutCancel(hello.Context()) // a client that goes away must not waste the order
	_, err, _ := a.orders.Do(host, func() (any, error) {
		if err := a.refused.wait(host); err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, orderTime)
		defer cancel()
		err := a.demand.ObtainCertSync(ctx, host)
		a.refused.note(host, err)
		if err != nil {
			a.cfg.Logger.WarnContext(ctx, "the authority gives no certificate", "host", host, "error", err)
		}
		return nil, err
	})
	return err
}
