package dnscheck_test

import (
	"encoding/binary"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/helpwright/helpwright/helpdesk/dnscheck"
)

// reply makes an answer to a question.
type reply func(query dnsmessage.Message) []dnsmessage.Resource

// nameServer answers over UDP only with a truncation flag, and over TCP with the answer; pause is after each byte.
func nameServer(t *testing.T, answer reply, pause time.Duration) (addr string) {
	t.Helper()
	tcp, udp := bothPorts(t)
	respond := func(raw []byte, whole bool) []byte {
		var m dnsmessage.Message
		if err := m.Unpack(raw); err != nil {
			return nil
		}
		m.Response, m.Truncated, m.Additionals = true, !whole, nil
		if whole {
			m.Answers = answer(m)
		}
		out, err := m.Pack()
		if err != nil {
			t.Error(err)
		}
		return out
	}
	go func() {
		b := make([]byte, 4096)
		for {
			n, from, err := udp.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = udp.WriteTo(respond(b[:n], false), from)
		}
	}()
	go func() {
		for {
			conn, err := tcp.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				b := make([]byte, 4096)
				n, err := conn.Read(b)
				if err != nil || n < 2 {
					return
				}
				out := respond(b[2:n], true)
				out = append(binary.BigEndian.AppendUint16(nil, uint16(len(out))), out...)
				for len(out) > 0 {
					piece := len(out)
					if pause > 0 {
						piece = 1
						time.Sleep(pause)
					}
					if _, err := conn.Write(out[:piece]); err != nil {
						return
					}
					out = out[piece:]
				}
			}()
		}
	}()
	return tcp.Addr().String()
}

// bothPorts listens by TCP and UDP at one port: of those that are free for the one, some are taken for the other.
func bothPorts(t *testing.T) (tcp net.Listener, udp net.PacketConn) {
	t.Helper()
	for range 100 {
		tcp, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = tcp.Close() })
		if udp, err := net.ListenPacket("udp", tcp.Addr().String()); err == nil {
			t.Cleanup(func() { _ = udp.Close() })
			return tcp, udp
		}
	}
	t.Fatal("no port is free for both TCP and UDP")
	return nil, nil
}

func resource(name string, body dnsmessage.ResourceBody) dnsmessage.Resource {
	return dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(name), Class: dnsmessage.ClassINET, TTL: 1}, Body: body}
}

// Whatever a name server answers, a check ends, and shows little of it.
func TestHostileNameServers(t *testing.T) {
	t.Parallel()
	alias := func(from, to string) dnsmessage.Resource {
		return resource(from, &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName(to)})
	}
	for name, tc := range map[string]struct {
		answer reply
		pause  time.Duration
	}{
		"huge texts": {func(q dnsmessage.Message) []dnsmessage.Resource {
			long := &dnsmessage.TXTResource{}
			for range 240 {
				long.TXT = append(long.TXT, strings.Repeat("x", 255))
			}
			return []dnsmessage.Resource{resource(q.Questions[0].Name.String(), long)}
		}, 0},
		"many texts": {func(q dnsmessage.Message) []dnsmessage.Resource {
			var all []dnsmessage.Resource
			for range 2000 {
				all = append(all, resource(q.Questions[0].Name.String(), &dnsmessage.TXTResource{TXT: []string{"v=spf1 -all"}}))
			}
			return all
		}, 0},
		"an alias of itself": {func(q dnsmessage.Message) []dnsmessage.Resource {
			return []dnsmessage.Resource{alias(q.Questions[0].Name.String(), q.Questions[0].Name.String())}
		}, 0},
		"aliases in a circle": {func(q dnsmessage.Message) []dnsmessage.Resource {
			return []dnsmessage.Resource{alias(q.Questions[0].Name.String(), "b.example.net."), alias("b.example.net.", q.Questions[0].Name.String())}
		}, 0},
		"aliases without end": {func(q dnsmessage.Message) []dnsmessage.Resource {
			all := []dnsmessage.Resource{alias(q.Questions[0].Name.String(), "0.example.net.")}
			for n := range 1500 {
				all = append(all, alias(fmt.Sprintf("%d.example.net.", n), fmt.Sprintf("%d.example.net.", n+1)))
			}
			return all
		}, 0},
		"nothing": {func(dnsmessage.Message) []dnsmessage.Resource { return nil }, 0},
		"drop by drop": {func(q dnsmessage.Message) []dnsmessage.Resource {
			return []dnsmessage.Resource{resource(q.Questions[0].Name.String(), &dnsmessage.TXTResource{TXT: []string{wantSPF}})}
		}, 50 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dnscheck.Checker{Resolver: dnscheck.NewResolver(nameServer(t, tc.answer, tc.pause)), Timeout: 300 * time.Millisecond}
			records := []dnscheck.Record{{"TXT", "example.org", wantSPF}, {"TXT", "hw._domainkey.example.org", wantDKIM}, {"CNAME", "example.org", "mail.example.net"}}
			for i, one := range c.Check(t.Context(), records) {
				shown := len(strings.Join(one.Found, ""))
				if one.Verified || one.Problem == "" || shown > 10_100 {
					t.Errorf("%+v: %+v, %d bytes", records[i], one, shown)
				}
			}
		})
	}
}
