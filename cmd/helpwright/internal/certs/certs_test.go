package certs_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/cmd/helpwright/internal/certs"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/storage/testenv"
)

// authority is a Pebble, with processes that share a vault. Pebble contacts the first of them.
type authority struct {
	t      *testing.T
	host   string // certmagic keeps challenges by host for the whole process, so that each test has its own
	pebble *testenv.PebbleServer
	vault  storage.Vault
	key    []byte
	http   net.Listener // of the first
	https  net.Listener
	files  *certs.Files // own ones, or nil
	log    testenv.Output
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func port(l net.Listener) int {
	_, text, _ := net.SplitHostPort(l.Addr().String())
	n, _ := strconv.Atoi(text)
	return n
}

func newAuthority(t *testing.T, validity time.Duration) *authority {
	t.Helper()
	a := &authority{t: t, host: strings.ToLower(rand.Text()) + ".example", vault: memstore.New(), key: storage.NewSecretKey(), http: listen(t), https: listen(t)}
	a.pebble = testenv.Pebble(t, port(a.http), port(a.https), validity)
	return a
}

// shop is a host of a help centre.
func (a *authority) shop(name string) string {
	return name + "-" + strings.TrimSuffix(a.host, ".example") + ".shop.example"
}

// process runs one that has the hosts, and help centres at those that end in ".shop.example".
func (a *authority) process(plain, secure net.Listener, change func(*certs.Config)) {
	a.t.Helper()
	sealer, err := storage.NewSealer(a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	pem, err := os.ReadFile(a.pebble.CAFile)
	if err != nil {
		a.t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	cfg := certs.Config{
		Vault: a.vault, Sealer: sealer, Email: "olga@shop.example", Directory: a.pebble.Directory, Roots: roots, Hosts: []string{a.host},
		Allowed: func(_ context.Context, host string) (bool, error) {
			return strings.HasSuffix(host, ".shop.example") || host == "refused.example", nil
		},
		HTTPAddr: plain.Addr().String(), TLSAddr: secure.Addr().String(), CheckInterval: 100 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(&a.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&cfg)
	}
	m, err := certs.New(cfg)
	if err != nil {
		a.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	a.t.Cleanup(func() {
		stop()
		wait.Wait()
		if text := a.log.String(); a.t.Failed() {
			a.t.Logf("%s", text[max(0, len(text)-4000):])
		}
	})
	wait.Go(func() {
		if err := m.Run(ctx); err != nil {
			a.t.Error(err)
		}
	})
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) })
	quiet := slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	for _, s := range []struct {
		l net.Listener
		h http.Handler
	}{{plain, m.Challenges(hello)}, {tls.NewListener(secure, certs.HTTPS(a.files, m)), hello}} {
		server := &http.Server{Handler: s.h, ReadHeaderTimeout: 10 * time.Second, ErrorLog: quiet}
		wait.Go(func() { _ = server.Serve(s.l) })
		a.t.Cleanup(func() { _ = server.Close() })
	}
}

// shown is the certificate that a client of a host gets, which has to be good for it.
func (a *authority) shown(l net.Listener, host string) (*x509.Certificate, error) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), 60*time.Second)
	defer cancel()
	d := tls.Dialer{Config: &tls.Config{ServerName: host, RootCAs: a.pebble.Roots(a.t), MinVersion: tls.VersionTLS12}}
	conn, err := d.DialContext(ctx, "tcp", l.Addr().String())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0], nil
}

// soon is less than the time after which a failed order is tried again, and a dead process's lease ends.
const soon = 50 * time.Second

// The server's own host has a certificate from the start, a help centre's host with its first visit, and others have none:
// the authority is not contacted. Another process serves the same certificates.
func TestCertificates(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, 0)
	a.process(a.http, a.https, nil)
	testenv.Within(t, soon, "the own certificate", func() bool { _, err := a.shown(a.https, a.host); return err == nil })
	if n := a.pebble.Orders(); n != 1 {
		t.Errorf("%d orders", n)
	}
	var wait sync.WaitGroup
	serials := make([]string, 5)
	for i := range serials { // at the same time
		wait.Go(func() {
			cert, err := a.shown(a.https, a.shop("help"))
			if err != nil {
				t.Error(err)
				return
			}
			serials[i] = cert.SerialNumber.String()
		})
	}
	wait.Wait()
	slices.Sort(serials)
	if n := a.pebble.Orders(); n != 2 || len(slices.Compact(serials)) != 1 {
		t.Errorf("%d orders, certificates %v", n, serials)
	}
	for _, host := range []string{"other.example", "shop.example", "x.shop.example.org", "nothing", "127.0.0.1", strings.Repeat("a.", 130) + "shop.example"} {
		if cert, err := a.shown(a.https, host); err == nil {
			t.Errorf("%s has a certificate: %v", host, cert.DNSNames)
		}
	}
	if n := a.pebble.Orders(); n != 2 {
		t.Errorf("hosts that nobody has were ordered: %d orders", n)
	}

	otherHTTP, otherHTTPS := listen(t), listen(t)
	a.process(otherHTTP, otherHTTPS, nil)
	for _, host := range []string{a.host, a.shop("help")} {
		one, err := a.shown(a.https, host)
		if err != nil {
			t.Fatal(err)
		}
		testenv.Within(t, soon, "the same certificate of "+host+" there", func() bool {
			other, err := a.shown(otherHTTPS, host)
			return err == nil && other.SerialNumber.Cmp(one.SerialNumber) == 0
		})
	}
	if n := a.pebble.Orders(); n != 2 {
		t.Errorf("another process has ordered: %d", n)
	}
	// An order of the second process is proven by the first, which the authority contacts.
	if _, err := a.shown(otherHTTPS, a.shop("docs")); err != nil {
		t.Error(err)
	}
	if cert, err := a.shown(a.https, a.shop("docs")); err != nil || a.pebble.Orders() != 3 {
		t.Errorf("%v %v, %d orders", cert, err, a.pebble.Orders())
	}
	secretsAreSealed(t, a)
}

// Stored values cannot be read without the key, and with another one everything is ordered again.
func secretsAreSealed(t *testing.T, a *authority) {
	t.Helper()
	items, err := a.vault.Items(t.Context(), "")
	if err != nil || len(items) < 7 {
		t.Fatal(items, err)
	}
	for _, item := range items {
		full, err := a.vault.Item(t.Context(), item.Key)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(full.Value, []byte("-----BEGIN")) || bytes.Contains(full.Value, []byte("olga")) {
			t.Errorf("%s is not sealed", item.Key)
		}
	}
	a.key = storage.NewSecretKey()
	plain, secure, before := listen(t), listen(t), a.pebble.Orders()
	a.process(plain, secure, nil)
	testenv.Within(t, soon, "a certificate with another key", func() bool { _, err := a.shown(secure, a.host); return err == nil })
	if a.pebble.Orders() == before {
		t.Error("certificates are opened with another key")
	}
}

// Each of the two challenges is enough.
func TestChallenges(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*certs.Config){
		"http-01":     func(c *certs.Config) { c.TLSAddr = "" },
		"tls-alpn-01": func(c *certs.Config) { c.HTTPAddr = "" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAuthority(t, 0)
			a.process(a.http, a.https, change)
			testenv.Within(t, soon, "a certificate", func() bool { _, err := a.shown(a.https, a.host); return err == nil })
			if asked := a.pebble.AskedByHTTP(a.host) > 0; asked != (name == "http-01") {
				t.Errorf("asked by HTTP: %v", asked)
			}
		})
	}
}

// Certificates are renewed before they end: the own one by itself, those of help centres when somebody comes.
func TestRenewal(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, 15*time.Second)
	a.process(a.http, a.https, func(c *certs.Config) { c.IgnoreHints = true }) // Pebble's are of days
	for _, host := range []string{a.host, a.shop("help")} {
		var first *x509.Certificate
		testenv.Within(t, soon, "a certificate of "+host, func() (ok bool) {
			var err error
			first, err = a.shown(a.https, host)
			return err == nil
		})
		testenv.Within(t, soon, "another certificate of "+host, func() bool {
			now, err := a.shown(a.https, host)
			return err == nil && now.SerialNumber.Cmp(first.SerialNumber) != 0
		})
	}
}

// An order that failed is not made again with every visit.
func TestRefused(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, 0)
	a.process(a.http, a.https, nil)
	testenv.Within(t, soon, "the own certificate", func() bool { _, err := a.shown(a.https, a.host); return err == nil })
	asked := func() int { return strings.Count(a.pebble.Log(), "POST /order-plz") }
	before := asked()
	for range 8 {
		if _, err := a.shown(a.https, "refused.example"); err == nil {
			t.Error("a refused host has a certificate")
		}
	}
	if n := asked() - before; n < 1 || n > 4 { // now and then Pebble refuses a nonce
		t.Errorf("asked %d times", n)
	}
}

// A mail server that names another host, or none, gets the server's own certificate, and causes no order.
func TestMail(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, 0)
	l := listen(t)
	a.process(a.http, a.https, func(c *certs.Config) {
		m, err := certs.New(*c)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		var wait sync.WaitGroup
		wait.Go(func() { _ = m.Run(ctx) })
		server := &http.Server{ReadHeaderTimeout: time.Second, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
		wait.Go(func() { _ = server.Serve(tls.NewListener(l, certs.Mail(nil, m))) })
		t.Cleanup(func() { _ = server.Close(); stop(); wait.Wait() })
	})
	testenv.Within(t, soon, "the own certificate", func() bool { _, err := a.shown(l, a.host); return err == nil })
	for _, host := range []string{"", a.shop("help"), "other.example"} {
		d := tls.Dialer{Config: &tls.Config{ServerName: host, InsecureSkipVerify: true}} // the name is another
		conn, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Errorf("%q: %v", host, err)
			continue
		}
		if names := conn.(*tls.Conn).ConnectionState().PeerCertificates[0].DNSNames; !slices.Equal(names, []string{a.host}) {
			t.Errorf("%q: %v", host, names)
		}
		_ = conn.Close()
	}
	if n := a.pebble.Orders(); n != 1 {
		t.Errorf("%d orders", n)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	_, err := certs.New(certs.Config{})
	if !fault.Is(err, fault.Invalid) {
		t.Fatal(err)
	}
	for _, name := range []string{"Vault", "Sealer", "Email", "Hosts", "TLSAddr"} {
		if !strings.Contains(err.(*fault.Error).Fields.String(), name) { //nolint:errorlint,forcetypeassert // as above
			t.Errorf("%s is not named: %v", name, err)
		}
	}
}
