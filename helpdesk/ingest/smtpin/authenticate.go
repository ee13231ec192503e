package smtpin

import (
	"context"
	"net"
	"net/netip"

	"github.com/helpwright/helpwright/helpdesk/ledger"
)

// Delivery is a message being delivered, with its SMTP envelope.
type Delivery struct {
	Peer  netip.Addr // client address; invalid for LMTP or without TCP
	Hello string     // the client's HELO or EHLO name
	From  string     // MAIL FROM, without brackets; "" for a bounce
	Raw   []byte     // as received, without the prepended header fields
}

// authenticate checks the sender of a message. A panic of the checks, whose input the sender controls, is an error of the
// message.
func (ss *session) authenticate(ctx context.Context, from string, body []byte) (a ledger.Authentication) {
	if ss.srv.cfg.Authenticate == nil {
		return a
	}
	defer func() {
		if p := recover(); p != nil {
			ss.srv.cfg.Logger.ErrorContext(ctx, "smtp: panic while authenticating a mail", "panic", p)
			a = ledger.Authentication{Source: ledger.AuthSourceIntake, DMARC: ledger.AuthPolicy{Result: ledger.AuthPermError}}
		}
	}()
	d := Delivery{Hello: ss.hello, From: from, Raw: body}
	// An LMTP client is a mail server in front, not the sender.
	if tcp, ok := ss.raw.RemoteAddr().(*net.TCPAddr); ok && !ss.srv.cfg.LMTP {
		d.Peer = tcp.AddrPort().Addr().Unmap()
	}
	return ss.srv.cfg.Authenticate(ctx, d)
}
