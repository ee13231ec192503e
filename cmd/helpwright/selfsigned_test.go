package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"testing"
	"time"
)

// selfSigned writes a certificate for a host, or an address, and its key to files atomically, and returns a pool that trusts
// it.
func selfSigned(t *testing.T, cert, key, host string, validity time.Duration) *x509.CertPool {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(validity),
		BasicConstraintsValid: true, IsCA: true,
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []struct {
		path  string
		block pem.Block
	}{{key, pem.Block{Type: "PRIVATE KEY", Bytes: secret}}, {cert, pem.Block{Type: "CERTIFICATE", Bytes: der}}} {
		if err := os.WriteFile(file.path+".new", pem.EncodeToMemory(&file.block), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file.path+".new", file.path); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return pool
}
