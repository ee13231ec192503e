package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/smtp"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/testenv"
)

// httpsClient resolves every host to the address, and trusts the authorities in roots.
func httpsClient(address string, roots *x509.CertPool) *http.Client {
	return &http.Client{
		Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "tcp", address)
			},
			TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true, DisableKeepAlives: true,
		},
	}
}

func portOf(address string) int {
	_, text, _ := net.SplitHostPort(address)
	n, _ := strconv.Atoi(text)
	return n
}

// TestCertificates runs two servers on one database that get their certificates from Pebble: for their own host, for a help
// centre's at its first visitor, and for mail. Each order is made once, whichever server the authority then contacts.
func TestCertificates(t *testing.T) {
	t.Parallel()
	plain, secure := freeAddress(t), freeAddress(t)
	pebble := testenv.Pebble(t, portOf(plain), portOf(secure), 0)
	shared := sharing(t, testenv.Postgres(t), "HELPWRIGHT_BASE_URL=https://desk.example", "HELPWRIGHT_ACME_HOSTS=mx.desk.example",
		"HELPWRIGHT_ACME_EMAIL=ops@desk.example", "HELPWRIGHT_ACME_URL="+pebble.Directory, "HELPWRIGHT_ACME_CA="+pebble.CAFile)
	s := newServer(t, append([]string{"HELPWRIGHT_LISTEN=" + plain, "HELPWRIGHT_TLS_LISTEN=" + secure}, shared...)...)
	otherSecure := freeAddress(t)
	other := newServer(t, append([]string{"HELPWRIGHT_TLS_LISTEN=" + otherSecure}, shared...)...)
	client, otherClient := httpsClient(secure, pebble.Roots(t)), httpsClient(otherSecure, pebble.Roots(t))
	get := func(c *http.Client, address string) (status int, serial string, err error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := c.Do(req)
		if err != nil {
			return 0, "", err
		}
		_ = res.Body.Close()
		if res.TLS != nil {
			serial = res.TLS.PeerCertificates[0].SerialNumber.String()
		}
		return res.StatusCode, serial, nil
	}
	testenv.Eventually(t, "both are there by HTTPS", func() bool {
		status, serial, err := get(client, "https://desk.example/readyz")
		_, same, otherErr := get(otherClient, "https://desk.example/readyz")
		return err == nil && otherErr == nil && status == 200 && serial == same
	})
	// HTTP requests are redirected to HTTPS, and health checks are answered.
	if status, _, err := get(http.DefaultClient, "http://"+plain+"/readyz"); status != 200 {
		t.Error(status, err)
	}
	res, err := httpsClient(plain, nil).Get("http://desk.example/desk?a=b") // the client has a time limit
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if to := res.Header.Get("Location"); res.StatusCode != 308 || to != "https://desk.example/desk?a=b" {
		t.Error(res.StatusCode, to)
	}

	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://desk.example"+apiBase+"/sites",
		strings.NewReader(url.Values{"account_id": {"1"}, "name": {"Help"}, "path": {"docs"}, "custom_domain": {"help.shop.example"}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if res, err = client.Do(req); err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != 201 || res.ProtoMajor != 2 {
		t.Fatal(res.Status, res.Proto)
	}
	status, serial, err := get(otherClient, "https://help.shop.example/docs") // the authority contacts the first server
	if err != nil || status != 302 {                                          // to the page of a language
		t.Fatal(status, err)
	}
	if status, same, err := get(client, "https://help.shop.example/docs"); err != nil || status != 302 || same != serial {
		t.Error(status, err, serial, same)
	}
	orders := pebble.Orders()
	for _, host := range []string{"unknown.example", "www.help.shop.example", "shop.example"} {
		if status, _, err := get(client, "https://"+host+"/"); err == nil {
			t.Errorf("%s answers: %d", host, status)
		}
	}
	if n := pebble.Orders(); n != orders || n != 3 {
		t.Errorf("%d orders of 3 hosts, and then %d", orders, n)
	}
	for _, intake := range []string{s.intake, other.intake} {
		testenv.Eventually(t, "mail is taken over TLS", func() bool { return startTLS(t, intake, "mx.desk.example", pebble.Roots(t)) == nil })
	}
	s.stop()
	other.stop()
}

// startTLS hands nothing in, over TLS, to a server that has to show a certificate for a host.
func startTLS(t *testing.T, address, host string, roots *x509.CertPool) error {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	c, err := smtp.NewClient(conn, host)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.StartTLS(&tls.Config{ServerName: host, RootCAs: roots, MinVersion: tls.VersionTLS12}); err != nil {
		return err
	}
	return c.Quit()
}

// Behind a proxy that serves HTTPS, only mail has a certificate of the authority, which verifies by HTTP.
func TestCertificateOfMailAlone(t *testing.T) {
	t.Parallel()
	plain := freeAddress(t)
	pebble := testenv.Pebble(t, portOf(plain), 1, 0)
	s := newServer(t, "HELPWRIGHT_LISTEN="+plain, "HELPWRIGHT_ACME_HOSTS=mx.desk.example", "HELPWRIGHT_ACME_EMAIL=ops@desk.example",
		"HELPWRIGHT_ACME_URL="+pebble.Directory, "HELPWRIGHT_ACME_CA="+pebble.CAFile)
	testenv.Eventually(t, "mail is taken over TLS", func() bool { return startTLS(t, s.intake, "mx.desk.example", pebble.Roots(t)) == nil })
	if pebble.AskedByHTTP("mx.desk.example") == 0 {
		t.Error("not asked by HTTP")
	}
	s.stop()
}

// Own certificates are served as they are in their files, without a restart.
func TestOwnCertificates(t *testing.T) {
	t.Parallel()
	dir, secure := t.TempDir(), freeAddress(t)
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	first := selfSigned(t, cert, key, "desk.example", time.Hour)
	s := newServer(t, "HELPWRIGHT_BASE_URL=https://desk.example:"+strconv.Itoa(portOf(secure)), "HELPWRIGHT_TLS_LISTEN="+secure,
		"HELPWRIGHT_TLS_CERT="+cert, "HELPWRIGHT_TLS_KEY="+key, "HELPWRIGHT_INTAKE_TLS_CERT="+cert, "HELPWRIGHT_INTAKE_TLS_KEY="+key)
	serves := func(roots *x509.CertPool) bool {
		res, err := httpsClient(secure, roots).Get("https://desk.example/readyz") // the client has a time limit
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == 200 && startTLS(t, s.intake, "desk.example", roots) == nil
	}
	testenv.Eventually(t, "the certificate is shown", func() bool { return serves(first) })
	second := selfSigned(t, cert, key, "desk.example", time.Hour)
	testenv.Eventually(t, "the new certificate is shown", func() bool { return serves(second) && !serves(first) })
	res, err := httpsClient(s.http, nil).Get("http://desk.example/") // the client has a time limit
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if want := fmt.Sprintf("https://desk.example:%d/", portOf(secure)); res.Header.Get("Location") != want {
		t.Error(res.Header)
	}
	s.stop()
}

// Settings that cannot work with certificates are reported at the start.
func TestWrongCertificates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	selfSigned(t, cert, key, "desk.example", time.Hour)
	if err := os.WriteFile(filepath.Join(dir, "broken.pem"), []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	busy := newSink(t, 0).address
	own := []string{"HELPWRIGHT_TLS_CERT=" + cert, "HELPWRIGHT_TLS_KEY=" + key}
	acme := []string{"HELPWRIGHT_ACME_EMAIL=ops@desk.example", "HELPWRIGHT_TLS_LISTEN=127.0.0.1:0"}
	for name, tt := range map[string]struct {
		env  []string
		says string
	}{
		"no certificates":       {[]string{"HELPWRIGHT_TLS_LISTEN=:443"}, "HELPWRIGHT_TLS_LISTEN: needs certificates: set HELPWRIGHT_TLS_CERT and HELPWRIGHT_TLS_KEY, or HELPWRIGHT_ACME_EMAIL"},
		"a key alone":           {[]string{"HELPWRIGHT_TLS_LISTEN=:443", "HELPWRIGHT_TLS_KEY=" + key}, "HELPWRIGHT_TLS_CERT: goes together with HELPWRIGHT_TLS_KEY"},
		"not listening":         {own, "HELPWRIGHT_TLS_CERT: is for HELPWRIGHT_TLS_LISTEN, which is not set"},
		"http in base URL":      {append([]string{"HELPWRIGHT_TLS_LISTEN=:443", "HELPWRIGHT_BASE_URL=http://desk.example"}, own...), "HELPWRIGHT_BASE_URL: must begin with https"},
		"no file":               {[]string{"HELPWRIGHT_TLS_LISTEN=127.0.0.1:0", "HELPWRIGHT_TLS_CERT=none.pem", "HELPWRIGHT_TLS_KEY=" + key}, "none.pem: no such file"},
		"no certificate in it":  {[]string{"HELPWRIGHT_TLS_LISTEN=127.0.0.1:0", "HELPWRIGHT_TLS_CERT=" + filepath.Join(dir, "broken.pem"), "HELPWRIGHT_TLS_KEY=" + key}, "HELPWRIGHT_TLS_CERT and _KEY: "},
		"port taken":            {append([]string{"HELPWRIGHT_TLS_LISTEN=" + busy}, own...), "stop what listens there, or choose another address"},
		"hosts without address": {[]string{"HELPWRIGHT_ACME_HOSTS=mx.desk.example"}, "HELPWRIGHT_ACME_HOSTS: needs HELPWRIGHT_ACME_EMAIL"},
		"no base URL":           {acme, "HELPWRIGHT_BASE_URL: is required with HELPWRIGHT_ACME_EMAIL"},
		"no public host":        {append([]string{"HELPWRIGHT_BASE_URL=https://10.0.0.1"}, acme...), `no authority certifies "10.0.0.1"`},
		"nothing to do":         {[]string{"HELPWRIGHT_ACME_EMAIL=ops@desk.example"}, "has nothing to do: set HELPWRIGHT_TLS_LISTEN"},
		"no address":            {append(acme[1:], "HELPWRIGHT_BASE_URL=https://desk.example", "HELPWRIGHT_ACME_EMAIL=ops"), "HELPWRIGHT_ACME_EMAIL: must be one mail address"},
		"authority by http":     {append([]string{"HELPWRIGHT_BASE_URL=https://desk.example", "HELPWRIGHT_ACME_URL=http://ca.example"}, acme...), "HELPWRIGHT_ACME_URL: must be an https address"},
		"no roots":              {append([]string{"HELPWRIGHT_BASE_URL=https://desk.example", "HELPWRIGHT_ACME_CA=" + filepath.Join(dir, "broken.pem")}, acme...), "broken.pem has no certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := append([]string{"HELPWRIGHT_LISTEN=127.0.0.1:0", "HELPWRIGHT_INTAKE_LISTEN="}, tt.env...)
			if code, out, stderr := command(t, t.TempDir(), env, "serve"); code != exitUsage || !strings.Contains(stderr, tt.says) {
				t.Errorf("%d %s%s", code, out, stderr)
			}
		})
	}
}
