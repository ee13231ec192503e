package testenv

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// PebbleServer is an ACME certificate authority for a single test.
type PebbleServer struct {
	Directory string // URL
	CAFile    string // PEM file that verifies the certificate of Directory

	management string
	client     *http.Client
	log        *Output
}

// Pebble starts an authority for this test alone. It resolves every host to 127.0.0.1, and uses these ports in place of 80
// and 443. Its certificates are valid for validity; 0 means 90 days.
func Pebble(t testing.TB, httpPort, tlsPort int, validity time.Duration) *PebbleServer {
	t.Helper()
	root, ok := moduleRoot(t)
	if !ok {
		Skip(t, "no Pebble: the test does not run inside the module, which has the script that makes one")
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(root, ".ci", "pebble"), "path").Output()
	program := strings.TrimSpace(string(out))
	if _, missing := os.Stat(program); err != nil || missing != nil {
		Skip(t, "no Pebble: run .ci/setup")
	}
	dir := t.TempDir()
	p := &PebbleServer{CAFile: filepath.Join(dir, "ca.pem"), log: &Output{}}
	cert, key := selfSigned(t)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	p.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}, Timeout: 30 * time.Second}
	listen, management := freePort(t), freePort(t)
	p.Directory, p.management = "https://"+listen+"/dir", "https://"+management
	if validity == 0 {
		validity = 90 * 24 * time.Hour
	}
	config, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": listen, "managementListenAddress": management, "certificate": p.CAFile, "privateKey": filepath.Join(dir, "key.pem"),
		"httpPort": httpPort, "tlsPort": tlsPort, "keyAlgorithm": "ecdsa", "domainBlocklist": []string{"refused.example"},
		"retryAfter": map[string]int{"authz": 1, "order": 1},
		"profiles":   map[string]any{"default": map[string]any{"description": "of tests", "validityPeriod": int(validity / time.Second)}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"ca.pem": cert, "key.pem": key, "config.json": config} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program, "-config", filepath.Join(dir, "config.json"), "-dnsserver", loopbackNames(t))
	cmd.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1", "PEBBLE_WFE_NONCEREJECT=5", "PEBBLE_AUTHZREUSE=0")
	cmd.Stdout, cmd.Stderr = p.log, p.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			text := p.log.String()
			t.Logf("the log of Pebble ends:\n%s", text[max(0, len(text)-4000):])
		}
	})
	Eventually(t, "Pebble answers", func() bool { return p.reach(t.Context()) })
	return p
}

func (p *PebbleServer) reach(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Directory, nil)
	if err != nil {
		return false
	}
	res, err := p.client.Do(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// Roots returns the roots that verify its certificates.
func (p *PebbleServer) Roots(t testing.TB) *x509.CertPool {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.management+"/roots/0", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := p.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	pool := x509.NewCertPool()
	if err != nil || !pool.AppendCertsFromPEM(text) {
		t.Fatalf("the roots of Pebble: %v %s", err, text)
	}
	return pool
}

// Orders returns how many orders it has received.
func (p *PebbleServer) Orders() int { return strings.Count(p.log.String(), " orders in the db") }

// AskedByHTTP returns how often a host was validated with http-01. Pebble does not log tls-alpn-01 validations.
func (p *PebbleServer) AskedByHTTP(host string) int {
	return strings.Count(p.log.String(), "Attempting to validate w/ HTTP: http://"+host+":")
}

// Log returns its output.
func (p *PebbleServer) Log() string { return p.log.String() }

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// selfSigned returns a certificate for 127.0.0.1 and its key, both PEM.
func selfSigned(t testing.TB) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

// loopbackNames starts a name server that resolves every host to 127.0.0.1.
func loopbackNames(t testing.TB) string {
	t.Helper()
	var udp net.PacketConn
	var tcp net.Listener
	var err error
	for range 20 { // a port free for one protocol may be taken for the other
		if udp, err = net.ListenPacket("udp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		if tcp, err = net.Listen("tcp", udp.LocalAddr().String()); err == nil {
			break
		}
		_ = udp.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(udp.Close(), tcp.Close()) })
	go func() {
		b := make([]byte, 4096)
		for {
			n, from, err := udp.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = udp.WriteTo(loopbackAnswer(b[:n]), from)
		}
	}()
	go func() {
		for {
			conn, err := tcp.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				for {
					var size [2]byte
					if _, err := io.ReadFull(conn, size[:]); err != nil {
						return
					}
					query := make([]byte, int(size[0])<<8|int(size[1]))
					if _, err := io.ReadFull(conn, query); err != nil {
						return
					}
					answer := loopbackAnswer(query)
					_, _ = conn.Write(append([]byte{byte(len(answer) >> 8), byte(len(answer))}, answer...))
				}
			}()
		}
	}()
	return udp.LocalAddr().String()
}

func loopbackAnswer(raw []byte) []byte {
	var m dnsmessage.Message
	if err := m.Unpack(raw); err != nil || len(m.Questions) != 1 {
		return nil
	}
	m.Response, m.Additionals = true, nil
	if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class}, Body: &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
		}}
	}
	out, err := m.Pack()
	if err != nil {
		panic(fmt.Sprint("an answer of our own: ", err))
	}
	return out
}
