package ingest_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ingest"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/storage/testenv"
)

// TestNewMailboxIsFetchedAtOnce checks that a fetcher that reads the settings once an hour is woken by the event of a
// mailbox, and reports that it is at work before the server has answered.
func TestNewMailboxIsFetchedAtOnce(t *testing.T) {
	t.Parallel()
	store := memstore.New()
	b := newBundle(t, memblob.New(), func(c *helpdesk.Config) { c.Store = store })
	listener := check(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { listener.Close() })
	calls := make(chan struct{}, 10)
	go func() { // a server that accepts connections but is silent
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			calls <- struct{}{}
		}
	}()
	f := check(ingest.NewFetcher(ingest.FetcherConfig{
		Intake: b.intake, Servers: ingest.NewServers(ingest.ServersConfig{AllowPrivateHosts: true}), Refresh: time.Hour, Events: store,
	}))(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = f.Run(t.Context())
	}()
	t.Cleanup(func() { <-done })
	port := listener.Addr().(*net.TCPAddr).Port
	inbound := helpdesk.InboundInput{
		Type: ledger.InboundIMAP, Host: "127.0.0.1", Port: port, Username: "ada", Password: storage.Some("secret"),
		Encryption: mailserver.None, ValidateCertificate: storage.Some(false),
	}
	m := check(b.desk.Mailboxes().Create(t.Context(), helpdesk.MailboxInput{
		Email: storage.Some("new@example.org"), Inbound: storage.Some(inbound),
	}))(t)
	select {
	case <-calls:
	case <-time.After(testenv.Patience):
		t.Fatal("nobody called the server")
	}
	if s := check(b.desk.Mailboxes().FetchStatus(t.Context(), m.ID))(t); s.State() != ledger.FetchConnecting {
		t.Errorf("the status is %s: %+v", s.State(), s)
	}
}

// TestFailuresSaySubjectAndSender: the list of failures names mails that nothing could parse.
func TestFailuresSaySubjectAndSender(t *testing.T) {
	t.Parallel()
	b := newBundle(t, memblob.New())
	raw := "From: =?utf-8?q?J=C3=B6rg?= <joerg@example.org>\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\nContent-Type: multipart/mixed; boundary=b\n\n" + strings.Repeat("--b\n\nx\n", 200)
	b.take(raw)
	if err := b.filer.Handle(t.Context(), b.job()); err != nil {
		t.Fatal(err)
	}
	want := ledger.Head{Subject: "Grüße", From: mailaddr.Address{Name: "Jörg", Email: "joerg@example.org"}}
	if m := b.ledger()[0]; m.State != ledger.Quarantined || m.Head != want {
		t.Errorf("%+v", m)
	}
}
