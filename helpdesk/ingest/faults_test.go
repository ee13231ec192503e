package ingest_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/ingest"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/testenv"
)

// badNetwork is between us and a server, and disturbs the first connections.
type badNetwork struct {
	to     string
	faults []string // kinds that are chosen from
	random *rand.Rand
	left   atomic.Int32 // connections that are still spoiled
	total  atomic.Int32
}

func (n *badNetwork) start(t testing.TB) (addr string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			n.total.Add(1)
			kind, at := "", int64(0)
			if n.left.Add(-1) >= 0 {
				kind, at = n.faults[n.random.IntN(len(n.faults))], n.random.Int64N(20_000)
			}
			running.Go(func() { n.pass(ctx, conn, kind, at) })
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		running.Wait()
	})
	return listener.Addr().String()
}

// pass connects a client with the server and disturbs the server's output after some bytes.
func (n *badNetwork) pass(ctx context.Context, client net.Conn, kind string, at int64) {
	defer client.Close()
	server, err := net.Dial("tcp", n.to)
	if err != nil {
		return
	}
	defer server.Close()
	stop := context.AfterFunc(ctx, func() {
		_ = client.Close()
		_ = server.Close()
	})
	defer stop()
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	if kind == "" {
		_, _ = io.Copy(client, server)
		return
	}
	if _, err := io.CopyN(client, server, at); err != nil {
		return
	}
	switch kind {
	case "drop": // both ends learn of it
	case "reset": // data in transit is lost
		_ = client.(*net.TCPConn).SetLinger(0)
	case "delay": // and then drop
		piece := make([]byte, 512)
		for range 20 {
			m, err := server.Read(piece)
			if err != nil {
				return
			}
			if _, err := client.Write(piece[:m]); err != nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	case "silence": // until we give up
		_, _ = io.Copy(io.Discard, server)
	case "corrupt":
		one := make([]byte, 1)
		if _, err := io.ReadFull(server, one); err != nil {
			return
		}
		one[0] ^= 0x10
		if _, err := client.Write(one); err != nil {
			return
		}
		_, _ = io.Copy(client, server)
	}
}

// Whatever the network does, in the end every mail is in the ledger exactly once: whole, or with the reason why not. TLS
// detects garbled data; without it, no protocol could.
func TestBadNetwork(t *testing.T) {
	t.Parallel()
	dovecot := testenv.POP3(t)
	const mails = 400
	cuts := []string{"drop", "reset", "delay", "silence"}
	tests := []struct {
		kind       ledger.InboundType
		addr       string
		encryption mailserver.Encryption
		faults     []string
	}{
		{ledger.InboundIMAP, dovecot.Addr, mailserver.None, cuts},
		{ledger.InboundIMAP, dovecot.Addr, mailserver.STARTTLS, append(slices.Clone(cuts), "corrupt", "corrupt")},
		{ledger.InboundIMAP, dovecot.TLSAddr, mailserver.TLS, []string{"corrupt"}},
		{ledger.InboundPOP3, dovecot.POP3Addr, mailserver.None, cuts},
		{ledger.InboundPOP3, dovecot.POP3TLSAddr, mailserver.TLS, append(slices.Clone(cuts), "corrupt", "corrupt")},
	}
	for i, test := range tests {
		t.Run(fmt.Sprintf("%s %s %d", test.kind, test.encryption, i), func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, memblob.New())
			user := testenv.Name("faults")
			raws := letters("faults", mails)
			for i := range raws {
				for range i % 10 {
					raws[i] += "A line of some length that makes the mail a little larger.\r\n"
				}
			}
			maildir(t, dovecot, user, raws...)
			network := &badNetwork{to: test.addr, faults: test.faults, random: rand.New(rand.NewPCG(1, uint64(i)))}
			network.left.Store(30)
			in := inbound(t, test.kind, network.start(t), user, dovecot.Password)
			in.Encryption = test.encryption
			id := b.fetched("faults@example.org", in)
			servers := ingest.NewServers(ingest.ServersConfig{
				AllowPrivateHosts: true, PollInterval: 20 * time.Millisecond, StepTimeout: time.Second,
				BackoffMin: time.Millisecond, BackoffMax: 10 * time.Millisecond,
			})
			f := check(ingest.NewFetcher(ingest.FetcherConfig{Intake: b.intake, Servers: servers}))(t)
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan struct{})
			go func() {
				defer close(done)
				_ = f.Run(ctx)
			}()
			testenv.Eventually(t, "all mails are in the ledger", func() bool { return len(b.rows(id)) >= mails })
			cancel()
			<-done
			if n := network.total.Load(); n < 4 {
				t.Errorf("%d connections: the network was not bad enough", n)
			}
			var got []string
			named := 0
			for _, row := range b.rows(id) {
				if row.State == ledger.Quarantined {
					named++
					if row.Reason == "" || !row.Partial {
						t.Errorf("quarantined without a reason: %+v", row)
					}
					if err := b.again().Refetch(t.Context(), refetchJob(b, row)); err != nil {
						t.Error(err)
					}
					row = check(b.intake.Mail(t.Context(), b.desk.AccountID(), row.ID))(t)
				}
				got = append(got, string(check(b.intake.Raw(t.Context(), b.desk.AccountID(), row))(t)))
			}
			slices.Sort(got)
			want := slices.Sorted(slices.Values(raws))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%d mails in the ledger: %.2000s", len(got), diff)
			}
			t.Logf("%d connections; %d mails were cut too often, and fetched again", network.total.Load(), named)
		})
	}
}
