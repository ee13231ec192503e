// Package dnscheck checks which requested DNS records are published, and what is wrong with the others. It interprets DKIM
// keys (RFC 6376 section 3.6.1), SPF (RFC 7208) and DMARC (RFC 7489) records, and compares other TXT records as text and
// CNAME records by their target. It does not depend on the help desk.
package dnscheck
