// Package dnscheck tells which of the DNS records that somebody was asked to
// publish are there, and what is wrong with the others. It knows DKIM keys
// (RFC 6376 section 3.6.1), SPF (RFC 7208) and DMARC (RFC 7489) records, and
// compares other TXT records as text and CNAME records by their target. It knows
// no help desk.
package dnscheck
