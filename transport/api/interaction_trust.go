package api

import (
	"github.com/helpwright/helpwright/helpdesk/ledger"
)

// mailSecurity describes how a mail was signed or encrypted.
type mailSecurity struct {
	Protocol    *string `json:"protocol" enum:"openpgp,smime" description:"Null if it is neither signed nor encrypted."`
	Encrypted   bool    `json:"encrypted" description:"The received message is attached; it cannot be decrypted here."`
	Signature   string  `json:"signature" enum:"none,valid,invalid,unknown_key,unusable_key,unreadable,unchecked" description:"valid: signed by a PGP key of the sender's address, over exactly this mail. More values may be added."`
	Fingerprint *string `json:"fingerprint" description:"Fingerprint of a valid signature's key."`
}

func showSecurity(s ledger.Security) *mailSecurity {
	if s.Signature == "" {
		return nil
	}
	return &mailSecurity{
		Protocol: textOrNull(s.Protocol), Encrypted: s.Encrypted, Signature: string(s.Signature), Fingerprint: textOrNull(s.Fingerprint),
	}
}

// mailAuthentication reports whether a mail comes from the domain in its From.
type mailAuthentication struct {
	Source      string      `json:"source" enum:"intake,header" description:"intake: evaluated while receiving the mail. header: read from a trusted server's Authentication-Results."`
	Server      *string     `json:"server" description:"Server that wrote the header."`
	SPF         authCheck   `json:"spf"`
	DKIM        []authCheck `json:"dkim" description:"Results per signature."`
	DMARC       authPolicy  `json:"dmarc"`
	FromAligned bool        `json:"from_aligned" description:"Whether the From domain authenticates the mail, by SPF or by a signature of the domain or its organization. Always false unless From is one field with one address."`
}

type authCheck struct {
	Result string  `json:"result" description:"Result as defined by RFC 8601, or unknown if only an earlier relay knew who delivered the mail." example:"pass"`
	Domain *string `json:"domain" description:"Domain it is about."`
}

type authPolicy struct {
	Result string  `json:"result" description:"Result as defined by RFC 8601, or unknown." example:"pass"`
	Domain *string `json:"domain" description:"Domain of From."`
	Policy *string `json:"policy" enum:"none,quarantine,reject" description:"Policy for mail that fails. Null if unknown."`
}

func showAuthentication(a ledger.Authentication) *mailAuthentication {
	if a.Source == "" {
		return nil
	}
	show := func(c ledger.AuthCheck) authCheck { return authCheck{Result: c.Result, Domain: textOrNull(c.Domain)} }
	out := &mailAuthentication{
		Source: a.Source, Server: textOrNull(a.Server), SPF: show(a.SPF), DKIM: []authCheck{}, FromAligned: a.FromAligned,
		DMARC: authPolicy{Result: a.DMARC.Result, Domain: textOrNull(a.DMARC.Domain), Policy: textOrNull(a.DMARC.Policy)},
	}
	for _, c := range a.DKIM {
		out.DKIM = append(out.DKIM, show(c))
	}
	return out
}
