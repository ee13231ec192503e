package certs_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/cmd/helpwright/internal/certs"
	"github.com/helpwright/helpwright/storage/testenv"
)

// written puts a certificate for a host into files, as programs that renew do: into others first.
func written(t *testing.T, cert, key, host string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{host}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path+".new", pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
}

// A certificate in files is read again when it has changed, and stays in use if the new content is invalid.
func TestFiles(t *testing.T) {
	t.Parallel()
	cert, key := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	if _, err := certs.NewFiles(cert, key, nil); err == nil {
		t.Error("files that are not there are read")
	}
	written(t, cert, key, "one.example")
	var log bytes.Buffer
	f, err := certs.NewFiles(cert, key, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	cfg := certs.HTTPS(f, nil)
	is := func(host string) bool {
		got, err := cfg.GetCertificate(&tls.ClientHelloInfo{ServerName: "x"})
		return err == nil && got.Leaf.DNSNames[0] == host
	}
	if !is("one.example") {
		t.Error("another certificate")
	}
	written(t, cert, key, "two.example")
	testenv.Within(t, soon, "the new certificate", func() bool { return is("two.example") })
	if err := os.WriteFile(cert, []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	testenv.Within(t, soon, "a word about it", func() bool {
		return is("two.example") && strings.Contains(log.String(), "cannot read the changed certificate")
	})
	if err := os.Remove(cert); err != nil || !is("two.example") {
		t.Error("no certificate", err)
	}
	written(t, cert, key, "three.example")
	testenv.Within(t, soon, "the next certificate", func() bool { return is("three.example") })
}

// A certificate in files is for its names; others are the authority's.
func TestFilesWithAuthority(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, 0)
	cert, key := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	written(t, cert, key, "own.example")
	f, err := certs.NewFiles(cert, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	a.files = f
	a.process(a.http, a.https, nil)
	testenv.Within(t, soon, "the authority's", func() bool { _, err := a.shown(a.https, a.host); return err == nil })
	conn, err := (&tls.Dialer{
		NetDialer: &net.Dialer{Timeout: 30 * time.Second},
		Config:    &tls.Config{ServerName: "own.example", InsecureSkipVerify: true}, // it is looked at below
	}).DialContext(t.Context(), "tcp", a.https.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got := conn.(*tls.Conn).ConnectionState().PeerCertificates[0].DNSNames[0]; got != "own.example" {
		t.Error(got)
	}
}
