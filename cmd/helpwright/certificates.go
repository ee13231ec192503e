package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"syscall"

	"github.com/helpwright/helpwright/cmd/helpwright/internal/certs"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/server"
)

// checkCertificates validates the settings of TLS.
func (s *Settings) checkCertificates(problems *fault.Collector) {
	both := func(cert, key, name string) {
		problems.Check((cert == "") == (key == ""), name+"_CERT", "goes together with "+name+"_KEY: set both or neither")
	}
	both(s.IntakeTLSCert, s.IntakeTLSKey, "HELPWRIGHT_INTAKE_TLS")
	both(s.TLSCert, s.TLSKey, "HELPWRIGHT_TLS")
	if s.TLSListen == "" {
		problems.Check(s.TLSCert == "", "HELPWRIGHT_TLS_CERT", "is for HELPWRIGHT_TLS_LISTEN, which is not set")
	} else {
		_, _, err := net.SplitHostPort(s.TLSListen)
		problems.Check(err == nil, "HELPWRIGHT_TLS_LISTEN", "must be HOST:PORT, such as :443")
		problems.Check(s.TLSCert != "" || s.ACMEEmail != "", "HELPWRIGHT_TLS_LISTEN",
			"needs certificates: set HELPWRIGHT_TLS_CERT and HELPWRIGHT_TLS_KEY, or HELPWRIGHT_ACME_EMAIL to get them from an authority")
		problems.Check(!strings.HasPrefix(s.BaseURL, "http:"), "HELPWRIGHT_BASE_URL", "must begin with https, as HELPWRIGHT_TLS_LISTEN is set")
	}
	s.checkACME(problems)
}

func (s *Settings) checkACME(problems *fault.Collector) {
	if s.ACMEEmail == "" {
		for name, set := range map[string]bool{"HELPWRIGHT_ACME_HOSTS": len(s.ACMEHosts) > 0, "HELPWRIGHT_ACME_CA": s.ACMECA != ""} {
			problems.Check(!set, name, "needs HELPWRIGHT_ACME_EMAIL: the address for the authority's account")
		}
		return
	}
	local, domain, _ := strings.Cut(s.ACMEEmail, "@")
	problems.Check(local != "" && domain != "" && !strings.ContainsAny(s.ACMEEmail, " ,<>"), "HELPWRIGHT_ACME_EMAIL", "must be one mail address")
	u, err := url.Parse(s.ACMEURL)
	problems.Check(err == nil && u.Scheme == "https" && u.Host != "", "HELPWRIGHT_ACME_URL", "must be an https address")
	problems.Check(s.TLSListen == "" || s.BaseURL != "", "HELPWRIGHT_BASE_URL", "is required with HELPWRIGHT_ACME_EMAIL: the certificate is for its host")
	problems.Check(s.TLSListen != "" || len(s.ACMEHosts) > 0, "HELPWRIGHT_ACME_EMAIL",
		"has nothing to do: set HELPWRIGHT_TLS_LISTEN to serve HTTPS, or HELPWRIGHT_ACME_HOSTS for STARTTLS on the intake")
	for _, host := range s.acmeHosts() {
		problems.Check(certifiable(host), "HELPWRIGHT_ACME_EMAIL",
			fmt.Sprintf("is set, and no authority certifies %q: HELPWRIGHT_BASE_URL and HELPWRIGHT_ACME_HOSTS need names that are public, such as help.example.org", host))
	}
}

// certifiable reports whether an authority may issue a certificate for a host.
func certifiable(host string) bool {
	_, err := netip.ParseAddr(host)
	return err != nil && strings.Contains(strings.Trim(host, "."), ".") && !strings.ContainsAny(host, " /:*@")
}

// acmeHosts returns the hosts that have certificates from the start.
func (s *Settings) acmeHosts() []string {
	var hosts []string
	if u, err := url.Parse(s.BaseURL); err == nil && s.TLSListen != "" && u.Hostname() != "" {
		hosts = append(hosts, strings.ToLower(u.Hostname()))
	}
	for _, host := range s.ACMEHosts {
		hosts = append(hosts, strings.ToLower(strings.TrimSpace(host)))
	}
	return hosts
}

// certificates are the certificates of a server.
type certificates struct {
	web, mail *certs.Files // nil if there are none
	authority *certs.ACME  // nil if no authority is used
}

// certificates reads the certificate files and prepares the ACME client. allowed decides on other hosts.
func (s *session) certificates(vault storage.Vault, sealer storage.Sealer, allowed func(context.Context, string) (bool, error)) (c certificates, err error) {
	set := s.settings
	if set.TLSCert != "" {
		if c.web, err = certs.NewFiles(set.TLSCert, set.TLSKey, s.log); err != nil {
			return c, usageError{fmt.Errorf("HELPWRIGHT_TLS_CERT and _KEY: %w", err)}
		}
	}
	if set.IntakeTLSCert != "" {
		if c.mail, err = certs.NewFiles(set.IntakeTLSCert, set.IntakeTLSKey, s.log); err != nil {
			return c, usageError{fmt.Errorf("HELPWRIGHT_INTAKE_TLS_CERT and _KEY: %w", err)}
		}
	}
	if set.ACMEEmail == "" {
		return c, nil
	}
	cfg := certs.Config{
		Vault: vault, Sealer: sealer, Email: set.ACMEEmail, Directory: set.ACMEURL, Hosts: set.acmeHosts(),
		HTTPAddr: set.Listen, TLSAddr: set.TLSListen, Now: s.now, Logger: s.log,
	}
	if set.TLSListen != "" {
		cfg.Allowed = allowed
	}
	if cfg.Roots, err = roots(set.ACMECA); err != nil {
		return c, usageError{fmt.Errorf("HELPWRIGHT_ACME_CA: %w", err)}
	}
	c.authority, err = certs.New(cfg)
	return c, err
}

// roots reads certificates of authorities; nil means the system's.
func roots(path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // as x509 has it
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate", path)
	}
	return pool, nil
}

// listenAt listens for HTTP; its errors suggest a remedy.
func listenAt(name, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EACCES):
		err = usageError{fmt.Errorf("%s: %w: ports below 1024 need the capability CAP_NET_BIND_SERVICE (setcap, or AmbientCapabilities of systemd)", name, err)}
	case err != nil:
		err = usageError{fmt.Errorf("%s: %w: stop what listens there, or choose another address", name, err)}
	}
	return l, err
}

// secure serves HTTPS as configured, and provides certificates for SMTP. running returns the server, once it runs.
func (s *session) secure(running func() *server.Server) change {
	return func(cfg *server.Config) error {
		sealer, err := storage.NewSealer(cfg.Keys...)
		if err != nil {
			return err
		}
		vault, _ := cfg.Store.(storage.Vault)
		c, err := s.certificates(vault, sealer, func(ctx context.Context, host string) (bool, error) { return running().KB().OwnsHost(ctx, host) })
		if err != nil {
			return err
		}
		if c.mail != nil || c.authority != nil {
			cfg.Intake.TLS = certs.Mail(c.mail, c.authority)
		}
		if c.authority != nil {
			addDoor(cfg, "certificates", c.authority.Run)
		}
		if s.settings.TLSListen == "" {
			if c.authority != nil {
				cfg.Handlers = map[string]http.Handler{"GET /.well-known/acme-challenge/": c.authority.Challenges(http.NotFoundHandler())}
			}
			return nil
		}
		plain := cfg.Listener
		l, err := listenAt("HELPWRIGHT_TLS_LISTEN", s.settings.TLSListen)
		if err != nil {
			return err
		}
		cfg.Listener = listeners{tls.NewListener(l, certs.HTTPS(c.web, c.authority)), plain}
		base, err := url.Parse(s.settings.baseURL())
		if err != nil {
			return err
		}
		addDoor(cfg, "http that leads to https", func(ctx context.Context) error {
			var h http.Handler = toHTTPS{running().Handler(), base.Port()}
			if c.authority != nil {
				h = c.authority.Challenges(h)
			}
			if err := server.Serve(ctx, plain, h); !errors.Is(err, net.ErrClosed) { // the other listener closes this one, too
				return err
			}
			return nil
		})
		return nil
	}
}

// addDoor adds a part of a server that receives work from outside.
func addDoor(cfg *server.Config, name string, run func(context.Context) error) {
	if cfg.Doors == nil {
		cfg.Doors = map[string]func(context.Context) error{}
	}
	cfg.Doors[name] = run
}

// listeners closes another listener together with its own, as nobody else does if Run is never called.
type listeners struct {
	net.Listener
	other net.Listener
}

// Close implements [net.Listener].
func (b listeners) Close() error {
	err := b.Listener.Close()
	if other := b.other.Close(); !errors.Is(other, net.ErrClosed) {
		err = errors.Join(err, other)
	}
	return err
}

// toHTTPS redirects HTTP clients to HTTPS at a port, "" for the default one, and answers health checks.
type toHTTPS struct {
	health http.Handler
	port   string
}

// ServeHTTP implements [http.Handler].
func (h toHTTPS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/healthz" || r.URL.Path == "/readyz" {
		h.health.ServeHTTP(w, r)
		return
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
		host = "[" + host + "]"
	}
	if h.port != "" {
		host += ":" + h.port
	}
	http.Redirect(w, r, "https://"+host+r.URL.RequestURI(), http.StatusPermanentRedirect)
}
