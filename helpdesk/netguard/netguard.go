// Package netguard connects to servers named by others, such as those of mailboxes, webhooks and images, without giving
// access to the network that the program runs in.
package netguard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// ErrPrivateHost rejects a host that is not on the public internet, so that a mailbox's settings cannot probe the server's
// own network. A name that cannot be resolved gets the same error, which must not reveal which internal names exist.
var ErrPrivateHost = errors.New("the host has no public address: set HELPWRIGHT_ALLOW_PRIVATE_HOSTS=true if the server is in your own network")

// DialFunc connects to an address, as [net.Dialer.DialContext] does.
type DialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// Dialer returns a function that connects within timeout. Unless allowPrivate is set, it rejects addresses that are not
// public. It checks the address that it connects to, so that a second DNS answer cannot bypass the check.
func Dialer(allowPrivate bool, timeout time.Duration) DialFunc {
	d := &net.Dialer{Timeout: timeout}
	if allowPrivate {
		return d.DialContext
	}
	d.Control = func(_, address string, _ syscall.RawConn) error {
		ap, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("netguard: %w", err)
		}
		if !public(ap.Addr()) {
			return ErrPrivateHost
		}
		return nil
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := d.DialContext(ctx, network, address)
		if errors.Is(err, ErrPrivateHost) || ctx.Err() == nil && errors.As(err, new(*net.DNSError)) {
			return nil, ErrPrivateHost // the wrapping error contains the address
		}
		return conn, err
	}
}

// notPublic are non-public ranges for which netip has no method: carrier-grade NAT, protocol assignments, benchmarking,
// reserved, documentation, former site-local addresses, tunnels, and IPv4 inside IPv6 in all its forms.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("::/96"), netip.MustParsePrefix("::ffff:0:0:0/96"), netip.MustParsePrefix("fec0::/10"),
	netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("100::/64"), netip.MustParsePrefix("3fff::/20"), netip.MustParsePrefix("5f00::/16"),
	netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("2002::/16"),
}

func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	for _, p := range notPublic {
		if p.Contains(a) {
			return false
		}
	}
	return true
}
