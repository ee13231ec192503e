package outbound_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/storage"
)

// returning is a world in which a member's mail is to go back, and the job of that.
func returning(t *testing.T) (*world, storage.ClaimedJob) {
	t.Helper()
	w, ctx := newWorld(t), context.Background()
	intake := w.svc.Intake()
	auth := ledger.Authentication{Source: "intake", FromAligned: true, DMARC: ledger.AuthPolicy{Result: "pass", Domain: "example.org"}}
	if err := intake.Take(ctx, w.account, w.box.ID, "smtp", []ledger.Raw{{Raw: []byte("x"), Authentication: auth}}, nil); err != nil {
		t.Fatal(err)
	}
	waiting := must[[]ledger.Mail](t)(intake.Waiting(ctx, w.account, w.box.ID, 0, 1))
	must[ledger.Mail](t)(intake.File(ctx, w.account, waiting[0].ID, ledger.Incoming{
		Message: message.Message{
			MessageID: "one two", From: []mailaddr.Address{{Email: "ann@example.org"}}, Subject: "Fwd:\r\nBcc: x", Text: "@fwd\nBob says größer.",
		}, Identity: []byte("1"),
	}))
	claimed := must[[]storage.ClaimedJob](t)(w.store.Claim(ctx, map[string]int{helpdesk.JobReturnMail: 10}, w.clock(), w.clock().Add(time.Minute)))
	if len(claimed) != 1 {
		t.Fatalf("%d jobs", len(claimed))
	}
	return w, claimed[0]
}

// A returned mail is the same in every attempt, goes to the member only, and is not answered automatically.
func TestReturnedMail(t *testing.T) {
	t.Parallel()
	w, job := returning(t)
	transport := &taken{}
	r := w.mailer(transport)
	for range 2 {
		if err := r.Handle(context.Background(), job); err != nil {
			t.Fatal(err)
		}
	}
	if len(transport.mails) != 2 || transport.mails[0] != transport.mails[1] || len(transport.to[0]) != 1 || transport.to[0][0] != "ann@example.org" {
		t.Fatalf("sent to %q: %q", transport.to, transport.mails)
	}
	m := parse(t, transport.mails[0])
	if !m.AutoSubmitted || m.From[0].Email != "support@example.org" || len(m.ReplyTo) != 1 || !strings.Contains(m.ReplyTo[0].Email, "+a-") ||
		!strings.HasPrefix(m.Subject, "Not accepted: Fwd:") || !strings.Contains(m.Text, "Bob says größer.") || !strings.Contains(m.Text, "cannot be read") {
		t.Errorf("it is:\n%s", transport.mails[0])
	}
	w.advance(49 * time.Hour)
	if err := r.Handle(context.Background(), job); err != nil || len(transport.mails) != 2 {
		t.Errorf("after two days: %v, %d mails", err, len(transport.mails))
	}
}

// Only a passing matter is tried again.
func TestReturnedMailThatIsNotSent(t *testing.T) {
	t.Parallel()
	w, job := returning(t)
	for name, test := range map[string]struct {
		results []outbound.Result
		err     error
		again   bool
	}{
		"refused":  {[]outbound.Result{{State: failed, Code: 550}}, nil, false},
		"deferred": {[]outbound.Result{{State: deferred, Code: 450}}, nil, true},
		"away":     {nil, errors.New("nobody answers"), true},
		"nothing":  {nil, nil, true},
	} {
		transport := &taken{results: func([]string) ([]outbound.Result, error) { return test.results, test.err }}
		r := w.mailer(transport)
		if err := r.Handle(context.Background(), job); (err != nil) != test.again {
			t.Errorf("%s: %v", name, err)
		}
	}
}
