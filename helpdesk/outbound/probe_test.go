package outbound_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/storage"
)

// works are mail servers whose connections work.
type works struct{}

func (works) Test(context.Context, ledger.FetchSource) error { return nil }

func (works) List(context.Context, ledger.FetchSource, time.Time, func(context.Context, ledger.ServerMails) error) error {
	return nil
}

// probing is a world whose mailbox is fetched and was tested, and the job of that.
func probing(t *testing.T) (*world, storage.ClaimedJob) {
	t.Helper()
	w, ctx := newWorld(t), context.Background()
	w.configure(func(cfg *helpdesk.Config) { cfg.MailServers = works{} })
	must[helpdesk.Mailbox](t)(w.desk.Mailboxes().Update(ctx, w.box.ID, helpdesk.MailboxInput{Inbound: storage.Some(helpdesk.InboundInput{
		Type: ledger.InboundIMAP, Host: "imap.example.org", Port: 993, Username: "u", Password: storage.Some("p"),
		Encryption: mailserver.TLS, ValidateCertificate: storage.Some(true),
	})}))
	must[ledger.ConnectionTest](t)(w.desk.Mailboxes().Test(ctx, w.box.ID))
	claimed := must[[]storage.ClaimedJob](t)(w.store.Claim(ctx, map[string]int{helpdesk.JobProbe: 10}, w.clock(), w.clock().Add(time.Minute)))
	if len(claimed) != 1 {
		t.Fatalf("%d jobs", len(claimed))
	}
	return w, claimed[0]
}

// A probe is a mail to the tagged address from the plain one, the same in every try, which no program answers.
func TestProbeMail(t *testing.T) {
	t.Parallel()
	w, job := probing(t)
	transport := &taken{}
	for range 2 {
		if err := w.mailer(transport).Handle(context.Background(), job); err != nil {
			t.Fatal(err)
		}
	}
	if len(transport.mails) != 2 || transport.mails[0] != transport.mails[1] || transport.from[0] != "support@example.org" {
		t.Fatalf("sent from %q: %q", transport.from, transport.mails)
	}
	to := transport.to[0][0]
	m := parse(t, transport.mails[0])
	if !strings.HasPrefix(to, "support+p-") || len(m.To) != 1 || m.To[0].Email != to || !m.AutoSubmitted || m.From[0].Email != "support@example.org" || !strings.Contains(m.Text, "may be deleted") {
		t.Errorf("to %s:\n%s", to, transport.mails[0])
	}
	w.advance(time.Hour)
	if err := w.mailer(transport).Handle(context.Background(), job); err != nil || len(transport.mails) != 2 {
		t.Errorf("after its time: %v, %d mails", err, len(transport.mails))
	}
}

// The reason against a probe is reported on the mailbox; only temporary failures are retried.
func TestProbeThatIsNotSent(t *testing.T) {
	t.Parallel()
	spool := must[*outbound.Spool](t)(outbound.NewSpool(filepath.Join(t.TempDir(), "spool")))
	t.Cleanup(func() { spool.Close() })
	for name, test := range map[string]struct {
		transport outbound.Transport
		state     ledger.ProbeState
		text      string
		again     bool
	}{
		"no relay": {spool, ledger.ProbeRefused, "No mail relay is set", false},
		"refused": {&taken{results: func([]string) ([]outbound.Result, error) {
			return []outbound.Result{{State: failed, Code: 550, EnhancedCode: "5.1.1", Response: "User unknown"}}, nil
		}}, ledger.ProbeRefused, "5.1.1 User unknown", false},
		"deferred": {&taken{results: func([]string) ([]outbound.Result, error) {
			return []outbound.Result{{State: deferred, Code: 450, EnhancedCode: "4.7.1", Response: "Greylisted"}}, nil
		}}, ledger.ProbePending, "4.7.1 Greylisted", true},
		"away": {&taken{results: func([]string) ([]outbound.Result, error) { return nil, errors.New("nobody answers") }}, ledger.ProbePending, "nobody answers", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, job := probing(t)
			if err := w.mailer(test.transport).Handle(context.Background(), job); (err != nil) != test.again {
				t.Errorf("the job ends with %v", err)
			}
			got := must[ledger.TaggedAddress](t)(w.desk.Mailboxes().TaggedAddress(context.Background(), w.box.ID))
			if got.State != test.state || !strings.Contains(got.Text, test.text) {
				t.Errorf("told is %+v", got)
			}
		})
	}
}
