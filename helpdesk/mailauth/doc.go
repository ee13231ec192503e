// Package mailauth finds out whether a mail comes from the domain that its From
// names: by SPF (RFC 7208), DKIM (RFC 6376) and DMARC (RFC 7489), evaluated where the
// mail is received ([Checker]), or as a server that is trusted found out before and
// wrote into Authentication-Results (RFC 8601, [ReadResults]). It knows no help desk.
package mailauth
