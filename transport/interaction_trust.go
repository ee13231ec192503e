package transport

import "github.com/helpwright/helpwright/helpdesk"

// mailSecurity says how a mail was signed or encrypted.
type mailSecurity struct {
	Protocol    *string `json:"protocol" enum:"openpgp,smime" description:"Null when it is neither signed nor encrypted."`
	Encrypted   bool    `json:"encrypted" description:"What came is attached; it cannot be read here."`
	Signature   string  `json:"signature" enum:"none,valid,invalid,unknown_key,unusable_key,unreadable,unchecked" description:"Valid: by a PGP key of the sender's address, over exactly this mail. More may be added."`
	Fingerprint *string `json:"fingerprint" description:"Of the key of a valid signature."`
}

func showSecurity(s helpdesk.MailSecurity) *mailSecurity {
	if s.Signature == "" {
		return nil
	}
	return &mailSecurity{
		Protocol: textOrNull(s.Protocol), Encrypted: s.Encrypted, Signature: string(s.Signature), Fingerprint: textOrNull(s.Fingerprint),
	}
}

// mailAuthentication says whether a mail comes from the domain that its From names.
type mailAuthentication struct {
	Source      string      `json:"source" enum:"intake,header" description:"Intake: evaluated while it was received. Header: read from what a trusted server wrote into it."`
	Server      *string     `json:"server" description:"That wrote the header."`
	SPF         authCheck   `json:"spf"`
	DKIM        []authCheck `json:"dkim" description:"Of each signature."`
	DMARC       authPolicy  `json:"dmarc"`
	FromAligned bool        `json:"from_aligned" description:"The domain of From stands behind the mail, by SPF or by a signature of it or of its organization; never where From is not one field with one address."`
}

type authCheck struct {
	Result string  `json:"result" description:"As RFC 8601 has it, or unknown: the mail came through a relay that alone knew who delivered it." example:"pass"`
	Domain *string `json:"domain" description:"That it speaks for."`
}

type authPolicy struct {
	Result string  `json:"result" description:"As RFC 8601 has it, or unknown." example:"pass"`
	Domain *string `json:"domain" description:"Of From."`
	Policy *string `json:"policy" enum:"none,quarantine,reject" description:"For mail that fails; null when it is not known."`
}

func showAuthentication(a helpdesk.MailAuthentication) *mailAuthentication {
	if a.Source == "" {
		return nil
	}
	show := func(c helpdesk.AuthCheck) authCheck { return authCheck{Result: c.Result, Domain: textOrNull(c.Domain)} }
	out := &mailAuthentication{
		Source: a.Source, Server: textOrNull(a.Server), SPF: show(a.SPF), DKIM: []authCheck{}, FromAligned: a.FromAligned,
		DMARC: authPolicy{Result: a.DMARC.Result, Domain: textOrNull(a.DMARC.Domain), Policy: textOrNull(a.DMARC.Policy)},
	}
	for _, c := range a.DKIM {
		out.DKIM = append(out.DKIM, show(c))
	}
	return out
}
