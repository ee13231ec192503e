package smtpin_test

import (
	"net"
	"net/netip"
	"testing"

	"github.com/helpwright/helpwright/helpdesk/ingest/smtpin"
)

// TestIdleConnectionsDoNotShutTheIntake checks that a client with the maximum number of connections keeps no others out, and
// that transfers continue.
func TestIdleConnectionsDoNotShutTheIntake(t *testing.T) {
	t.Parallel()
	eachProtocol(t, func(t *testing.T, lmtp bool) {
		everybody := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		w := newWorld(t)
		addr, _ := w.start(t, smtpin.Config{LMTP: lmtp, MaxConnections: 30, Relays: everybody})
		busy := dialProtocol(t, addr, lmtp)
		busy.begin(w.address(0))
		busy.do("DATA", "354")
		var idle []*client
		for range 100 {
			idle = append(idle, dialProtocol(t, addr, lmtp))
		}
		idle[0].expect("421 4.3.2") // the one that has waited longest made room
		c := dialProtocol(t, addr, lmtp)
		c.send(simple+".\r\n", "250 2.6.0", w.address(0))
		busy.write(simple + ".\r\n")
		busy.expect("250 2.6.0")
		if n := len(w.raws(t, 0)); n != 2 {
			t.Errorf("%d mails", n)
		}
	})
}

// TestConnectionsPerPeer bounds those of one client that is no relay.
func TestConnectionsPerPeer(t *testing.T) {
	t.Parallel()
	eachProtocol(t, func(t *testing.T, lmtp bool) {
		w := newWorld(t)
		addr, _ := w.start(t, smtpin.Config{LMTP: lmtp, MaxPerPeer: 3, Relays: []netip.Prefix{netip.MustParsePrefix("127.0.0.9/32")}})
		from := func(ip string) *client {
			t.Helper()
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
			conn, err := d.DialContext(t.Context(), "tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
			c := newClient(t, conn)
			c.lmtp = lmtp
			return c
		}
		var held []*client
		for range 3 {
			c := from("127.0.0.1")
			c.expect("220 ")
			held = append(held, c)
		}
		from("127.0.0.1").expect("421 4.3.2")
		other := from("127.0.0.2") // another client
		other.expect("220 ")
		for range 10 { // a relay
			from("127.0.0.9").expect("220 ")
		}
		held[0].do("QUIT", "221")
		held[0].closed()
		again := from("127.0.0.1")
		again.expect("220 ")
		again.send(simple+".\r\n", "250 2.6.0", w.address(0))
	})
}
