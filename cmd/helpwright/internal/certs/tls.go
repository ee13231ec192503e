package certs

import "crypto/tls"

// challengeProtocol is the protocol of tls-alpn-01 (RFC 8737 section 6.2).
const challengeProtocol = "acme-tls/1"

// HTTPS returns the configuration for HTTPS with a certificate from files, from an authority, or both: hosts of the
// certificate in files get that, and all others too if there is no authority. One of the two may be nil.
func HTTPS(files *Files, authority *ACME) *tls.Config {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if authority != nil {
		cfg.NextProtos = append(cfg.NextProtos, challengeProtocol)
	}
	cfg.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if files == nil {
			return authority.GetCertificate(hello)
		}
		challenge := len(hello.SupportedProtos) == 1 && hello.SupportedProtos[0] == challengeProtocol
		own := files.Certificate()
		if authority == nil || !challenge && hello.SupportsCertificate(own) == nil {
			return own, nil
		}
		return authority.GetCertificate(hello)
	}
	return cfg
}

// Mail returns the configuration for receiving mail over TLS: with the certificate from files, or else the authority's.
// Clients cannot cause an order. One of the two may be nil.
func Mail(files *Files, authority *ACME) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if files != nil {
			return files.Certificate(), nil
		}
		return authority.known(hello)
	}}
}
