package ingest

import (
	"bytes"
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/ingest/smtpin"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailauth"
)

// AuthenticatorConfig configures the authentication of messages at the intake.
type AuthenticatorConfig struct {
	Resolver mailauth.Resolver // nil: the system's
	Timeout  time.Duration     // of all look-ups for one message; 0 means 10 s
	// Relays are networks of hosts that relay mail: SPF is not evaluated for them, and results that trusted servers added to
	// the header count. nil: [DefaultRelays]; empty: none.
	Relays []netip.Prefix
}

// DefaultRelays returns loopback and private networks. Strangers' mail arrives from there only through a server in front.
func DefaultRelays() []netip.Prefix {
	var all []netip.Prefix
	for _, network := range []string{"127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fe80::/10"} {
		all = append(all, netip.MustParsePrefix(network))
	}
	return all
}

// Authenticator returns a function for smtpin.Config that evaluates SPF, DKIM and DMARC. An unresponsive name server is a
// temporary error of a result, never of the message.
func Authenticator(cfg AuthenticatorConfig) func(ctx context.Context, d smtpin.Delivery) ledger.Authentication {
	if cfg.Relays == nil {
		cfg.Relays = DefaultRelays()
	}
	checker := mailauth.Checker{Resolver: cfg.Resolver, Timeout: cfg.Timeout}
	return func(ctx context.Context, d smtpin.Delivery) ledger.Authentication {
		m := mailauth.Mail{Hello: d.Hello, From: d.From, FromDomain: authorDomain(d.Raw), Raw: d.Raw}
		relayed := !d.Peer.IsValid() || slices.ContainsFunc(cfg.Relays, func(p netip.Prefix) bool { return p.Contains(d.Peer) })
		if !relayed {
			m.Peer = d.Peer
		}
		out := authentication(ledger.AuthSourceIntake, checker.Check(ctx, m))
		out.Relayed = relayed
		return out
	}
}

// authentication converts a report for the help desk.
func authentication(source string, r mailauth.Report) ledger.Authentication {
	out := ledger.Authentication{
		Source: source, Server: r.Server, FromAligned: r.Aligned,
		SPF:   ledger.AuthCheck{Result: string(r.SPF.Result), Domain: r.SPF.Domain},
		DMARC: ledger.AuthPolicy{Result: string(r.DMARC.Result), Domain: r.DMARC.Domain, Policy: r.DMARC.Policy},
	}
	for _, s := range r.DKIM {
		out.DKIM = append(out.DKIM, ledger.AuthCheck{Result: string(s.Result), Domain: s.Domain})
	}
	return out
}

// authorDomain returns the domain of a message's author, "" if that is ambiguous.
func authorDomain(raw []byte) string {
	head := raw
	for _, end := range []string{"\r\n\r\n", "\n\n"} {
		if i := bytes.Index(head, []byte(end)); i >= 0 {
			head = head[:i+len(end)]
		}
	}
	m, err := mail.Parse(head, mail.Limits{})
	if err != nil {
		return ""
	}
	return domainOf(m.Author())
}

func domainOf(author mailaddr.Address, ok bool) string {
	if !ok {
		return ""
	}
	return author.Email[strings.LastIndexByte(author.Email, '@')+1:]
}

// fromHeader reads the results that trusted servers added to the header.
func (f *Filer) fromHeader(m *mail.Message) ledger.Authentication {
	if len(f.cfg.TrustedServers) == 0 {
		return ledger.Authentication{}
	}
	r, ok := mailauth.ReadResults(m.Header.RawValues("Authentication-Results"), f.cfg.TrustedServers, domainOf(m.Author()))
	if !ok {
		return ledger.Authentication{}
	}
	return authentication(ledger.AuthSourceHeader, r)
}
