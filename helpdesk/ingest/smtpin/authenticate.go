package smtpin

import (
	"context"
	"net"
	"net/netip"

	"github.com/helpwright/helpwright/helpdesk"
)

// Delivery is what a server knows of a mail that is being delivered to it.
type Delivery struct {
	Peer  netip.Addr // of the client; invalid when it came by LMTP or no TCP
	Hello string     // what the client calls itself
	From  string     // MAIL FROM, without brackets; "" for a bounce
	Raw   []byte     // as it came, without the fields that are put in front
}

// authenticate finds out where a mail comes from. A panic of the evaluation, of
// which the sender chose every byte, is an error that is the mail's.
func (ss *session) authenticate(ctx context.Context, from string, body []byte) (a helpdesk.MailAuthentication) {
	if ss.srv.cfg.Authenticate == nil {
		return a
	}
	defer func() {
		if p := recover(); p != nil {
			ss.srv.cfg.Logger.ErrorContext(ctx, "smtp: panic while authenticating a mail", "panic", p)
			a = helpdesk.MailAuthentication{Source: helpdesk.AuthSourceIntake, DMARC: helpdesk.AuthPolicy{Result: helpdesk.AuthPermError}}
		}
	}()
	d := Delivery{Hello: ss.hello, From: from, Raw: body}
	// Who speaks LMTP is a server in front, not the sender.
	if tcp, ok := ss.raw.RemoteAddr().(*net.TCPAddr); ok && !ss.srv.cfg.LMTP {
		d.Peer = tcp.AddrPort().Addr().Unmap()
	}
	return ss.srv.cfg.Authenticate(ctx, d)
}
