package outbound_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// invite makes an invitation and returns its token and its job.
func (w *world) invite(name string) (string, storage.ClaimedJob) {
	w.t.Helper()
	ctx := context.Background()
	roles := must[[]identity.Role](w.t)(w.desk.Roles().All(ctx))
	_, token, err := w.desk.Members().Invite(ctx, identity.InvitationInput{Email: "lise@example.net", Name: name, RoleIDs: []int64{roles[2].ID}})
	if err != nil {
		w.t.Fatal(err)
	}
	now := w.clock()
	claimed := must[[]storage.ClaimedJob](w.t)(w.store.Claim(ctx, map[string]int{helpdesk.JobInvite: 10}, now, now.Add(time.Minute)))
	if len(claimed) != 1 {
		w.t.Fatalf("%d jobs are due", len(claimed))
	}
	if strings.Contains(string(claimed[0].Payload), token) {
		w.t.Error("the job holds the token")
	}
	return token, claimed[0]
}

// mailer sends the system's mails by a transport.
func (w *world) mailer(transport outbound.Transport) *outbound.Mailer {
	w.t.Helper()
	return must[*outbound.Mailer](w.t)(outbound.NewMailer(outbound.MailerConfig{Outgoing: w.svc.Outgoing(), Transport: transport, Links: links}))
}

var links = sending.MailLinks{
	Invitation:   func(token string) string { return "https://desk.example/invitations/" + token },
	Conversation: func(account, id int64) string { return fmt.Sprintf("https://desk.example/a/%d/c/%d", account, id) },
	Mailbox: func(account, id int64) string {
		return fmt.Sprintf("https://desk.example/a/%d/mailboxes/%d", account, id)
	},
	Notifications: func(account int64) string { return fmt.Sprintf("https://desk.example/a/%d/notifications", account) },
	Password:      func(token string) string { return "https://desk.example/reset?token=" + token },
}

func TestInvitationMail(t *testing.T) {
	t.Parallel()
	w, sent := newWorld(t), &taken{}
	token, job := w.invite("Lise")
	for range 2 { // a second try sends the same
		if err := w.mailer(sent).Handle(context.Background(), job); err != nil {
			t.Fatal(err)
		}
	}
	if len(sent.mails) != 2 || sent.mails[0] != sent.mails[1] || sent.from[0] != "support@example.org" || sent.to[0][0] != "lise@example.net" {
		t.Fatalf("%d mails from %q to %q", len(sent.mails), sent.from, sent.to)
	}
	m := parse(t, sent.mails[0])
	// The mailed token is longer than the one its maker saw: only it proves that the mail arrived.
	link, _, _ := strings.Cut(strings.ReplaceAll(m.Text[strings.Index(m.Text, token):], "\r\n", "\n"), "\n")
	if len(link) <= len(token) {
		t.Errorf("the mail has the maker's token %q", link)
	}
	want := "Hello Lise,\n\nAnn Agent invited you to join the A help desk. To accept, open\n\nhttps://desk.example/invitations/" + link +
		"\n\nThe link works once and expires on 9 January 2026 03:04 UTC.\n\nIf you were not expecting this email, you can ignore it.\n"
	if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(strings.ReplaceAll(m.Text, "\r\n", "\n"))); diff != "" {
		t.Error(diff)
	}
	if m.Subject != "Invitation to the help desk of A" {
		t.Errorf("subject %q", m.Subject)
	}
}

func TestInvitationOutcomes(t *testing.T) {
	t.Parallel()
	state := func(s sending.State) func([]string) ([]outbound.Result, error) {
		return func([]string) ([]outbound.Result, error) { return []outbound.Result{{State: s, Code: 550}}, nil }
	}
	for name, tt := range map[string]struct {
		results func([]string) ([]outbound.Result, error)
		again   bool
	}{
		"deferred":   {state(sending.Deferred), true},
		"refused":    {state(sending.Failed), false},
		"no answer":  {func([]string) ([]outbound.Result, error) { return nil, nil }, true},
		"relay away": {func([]string) ([]outbound.Result, error) { return nil, fault.New(fault.Unavailable, "away") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			_, job := w.invite("")
			transport := &taken{results: tt.results}
			if err := w.mailer(transport).Handle(context.Background(), job); (err != nil) != tt.again {
				t.Errorf("%v", err)
			}
			w.advance(7 * 24 * time.Hour) // expired: there is nothing to send any more
			if err := w.mailer(transport).Handle(context.Background(), job); err != nil || len(transport.mails) != 1 {
				t.Errorf("after it expired: %v, %d mails", err, len(transport.mails))
			}
		})
	}
	if _, err := outbound.NewMailer(outbound.MailerConfig{}); !fault.Is(err, fault.Invalid) {
		t.Errorf("without anything: %v", err)
	}
}

// Mails of the system are signed as answers are.
func TestInvitationIsSigned(t *testing.T) {
	t.Parallel()
	w, sent := newWorld(t), &taken{}
	zone := w.publish("example.org")
	_, job := w.invite("Lise")
	if err := w.mailer(sent).Handle(context.Background(), job); err != nil {
		t.Fatal(err)
	}
	if got := verdicts(t, sent.mails[0], zone); len(got) != 2 {
		t.Errorf("good signatures: %q of\n%s", got, sent.mails[0])
	}
}
