package desk

import (
	"context"
	"net"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/mailserver"
)

// mailServer is the server from which a mailbox's mail is fetched.
type mailServer struct {
	host       string
	port       int
	encryption mailserver.Encryption
}

func imaps(host string) mailServer { return mailServer{host, 993, mailserver.TLS} }

// wellKnown are the servers of providers, by the domains of addresses and of mail exchangers.
var wellKnown = map[string]string{
	"gmail.com": "imap.gmail.com", "googlemail.com": "imap.gmail.com", "google.com": "imap.gmail.com",
	"outlook.com": "outlook.office365.com", "hotmail.com": "outlook.office365.com", "live.com": "outlook.office365.com",
	"icloud.com": "imap.mail.me.com", "me.com": "imap.mail.me.com", "yahoo.com": "imap.mail.yahoo.com", "yahoodns.net": "imap.mail.yahoo.com",
	"aol.com": "imap.aol.com", "gmx.net": "imap.gmx.net", "gmx.de": "imap.gmx.net", "gmx.com": "imap.gmx.com", "web.de": "imap.web.de",
	"t-online.de": "secureimap.t-online.de", "fastmail.com": "imap.fastmail.com", "messagingengine.com": "imap.fastmail.com",
	"mailbox.org": "imap.mailbox.org", "posteo.de": "posteo.de", "zoho.com": "imap.zoho.com", "zoho.eu": "imap.zoho.eu",
	"ionos.com": "imap.ionos.com", "ionos.de": "imap.ionos.de", "kundenserver.de": "imap.ionos.de", "ovh.net": "ssl0.ovh.net",
	"migadu.com": "imap.migadu.com", "yandex.net": "imap.yandex.com", "yandex.ru": "imap.yandex.com", "secureserver.net": "imap.secureserver.net",
}

// known finds the server of a domain or of one of its parent domains.
func known(name string) (mailServer, bool) {
	for name = strings.ToLower(strings.TrimSuffix(name, ".")); name != ""; {
		if host, ok := wellKnown[name]; ok {
			return imaps(host), true
		}
		_, rest, found := strings.Cut(name, ".")
		if !found {
			break
		}
		name = rest
	}
	return mailServer{}, false
}

// guess guesses the server from which an address's mail is fetched: from the table of providers, from the domain's own
// records (RFC 6186), from its mail exchangers, or else by convention. It takes 3 seconds at most.
func (h *Handler) guess(ctx context.Context, email string) mailServer {
	_, domain, _ := strings.Cut(email, "@")
	if s, ok := known(domain); ok {
		return s
	}
	custom := imaps("imap." + domain)
	if h.cfg.Resolver == nil {
		return custom
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if _, found, err := h.cfg.Resolver.LookupSRV(ctx, "imaps", "tcp", domain); err == nil && len(found) > 0 && found[0].Target != "." {
		return mailServer{strings.TrimSuffix(found[0].Target, "."), int(found[0].Port), mailserver.TLS}
	}
	exchangers, err := h.cfg.Resolver.LookupMX(ctx, domain)
	if err != nil {
		return custom
	}
	for _, mx := range exchangers {
		if s, ok := known(mx.Host); ok {
			return s
		}
	}
	return custom
}

// Resolver looks up a domain's mail records. [net.Resolver] is one.
type Resolver interface {
	LookupSRV(ctx context.Context, service, proto, name string) (cname string, addrs []*net.SRV, err error)
	LookupMX(ctx context.Context, name string) ([]*net.MX, error)
}
