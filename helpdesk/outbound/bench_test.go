package outbound_test

import (
	"context"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/emersion/go-smtp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
)

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// quiet takes every mail.
type quiet struct{}

func (quiet) Reset()                               {}
func (quiet) Logout() error                        { return nil }
func (quiet) Mail(string, *smtp.MailOptions) error { return nil }
func (quiet) Rcpt(string, *smtp.RcptOptions) error { return nil }
func (quiet) Data(r io.Reader) error               { _, err := io.Copy(io.Discard, r); return err }

func goSMTP(t testing.TB) *net.TCPAddr {
	t.Helper()
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return quiet{}, nil }))
	server.EnableSMTPUTF8 = true
	l := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { server.Close() })
	return l.Addr().(*net.TCPAddr)
}

// BenchmarkSend takes, composes, sends and reports one answer; floor is the bare client of go-smtp with the same mail over
// one connection.
func BenchmarkSend(b *testing.B) {
	addr := goSMTP(b)
	w := newWorld(b)
	body := strings.Repeat("<p>Eine Antwort, wie man sie so schreibt.</p>\n", 30)
	b.Run("floor", func(b *testing.B) {
		transport := &taken{}
		w.answer(helpdesk.InteractionInput{Body: body})
		if err := w.handle(w.sender(transport)); err != nil {
			b.Fatal(err)
		}
		client := must[*smtp.Client](b)(smtp.Dial(addr.String()))
		defer client.Close()
		for b.Loop() {
			if err := client.SendMail("d@example.org", []string{"a@example.com"}, strings.NewReader(transport.mails[0])); err != nil {
				b.Fatal(err)
			}
		}
	})
	relay := newRelay(b, outbound.RelayConfig{Host: "127.0.0.1", Port: addr.Port, Encryption: mailserver.None})
	i := w.answer(helpdesk.InteractionInput{Body: body})
	out := must[helpdesk.OutgoingMail](b)(w.svc.Outgoing().Begin(context.Background(), w.box.AccountID, i.ID, 1))
	again := func(b *testing.B) { // the effect of Report is undone
		outcome := []helpdesk.Outcome{{DeliveryID: out.Due[0].ID, State: sending.Queued}}
		if _, err := w.svc.Outgoing().Report(context.Background(), w.box.AccountID, i.ID, outcome); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("sender", func(b *testing.B) {
		sender := w.sender(relay)
		job := storage.ClaimedJob{Job: storage.Job{Kind: helpdesk.JobSendMail, AccountID: w.box.AccountID, Subject: i.ID}}
		for b.Loop() {
			again(b)
			if err := sender.Handle(context.Background(), job); err != nil {
				b.Fatal(err)
			}
		}
	})
}
