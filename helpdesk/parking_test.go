package helpdesk_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
)

// processes has living processes, one of which calls.
type processes struct {
	own  string
	live map[string]bool
}

func (p *processes) Process(context.Context) (string, error) { return p.own, nil }

func (p *processes) Lives(_ context.Context, name string) (bool, error) { return p.live[name], nil }

// restart is a new process; the one before it has died.
func (p *processes) restart() {
	p.own += "+"
	p.live = map[string]bool{p.own: true}
}

// answering are mail servers that answer a test.
type answering struct{ err error }

func (a *answering) Test(context.Context, ledger.FetchSource) error { return a.err }

func (a *answering) List(context.Context, ledger.FetchSource, time.Time, func(context.Context, ledger.ServerMails) error) error {
	return a.err
}

// A mailbox at which processes die is parked; whatever else ends a process parks nothing.
func TestParking(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		steps string // see below
		want  string // the state of the last look
	}{
		{"deaths in a row", "work die work die work die", "parked"},
		{"two of them", "work die work die", "suspect"},
		{"while nothing is done", strings.Repeat("work done die ", 9), "free"},
		{"a failure is no death", strings.Repeat("work failed die ", 9), "free"},
		{"work done in between", strings.Repeat("work die work die work done ", 3), "free"},
		{"mails fetched in between", strings.Repeat("work die work die work mail ", 3) + "done", "free"},
		{"failures in between", "work die work failed die work die work die", "parked"},
		{"over and over again within an hour", strings.Repeat("work die work done ", 10), "parked"},
		{"over and over again, once an hour", strings.Repeat("work die work done hour ", 20), "free"},
		{"another process lives", strings.Repeat("work other work done ", 9), "free"},
		{"parked, and a minute later", "work die work die work die look minute work die look", "parked"},
		{"parked, and another try is due", "work die work die work die look minute", "suspect"},
		{"the second rest is longer", "work die work die work die look minute work die look minute", "parked"},
		{"the second try is due", "work die work die work die look minute work die look minute minute", "suspect"},
		{"the second try works", "work die work die work die look minute work done", "free"},
		{"the second try brings a mail", "work die work die work die look minute work mail", "free"},
		{"parked and tested", "work die work die work die look tested", "free"},
		{"parked and tested in vain", "work die work die work die look refused", "parked"},
		{"parked and compared", "work die work die work die look listed", "parked"},
		{"parked and changed", "work die work die work die look changed", "free"},
		{"changed before anybody looked", "work die work die work die changed", "free"},
		{"parked and renamed", "work die work die work die look renamed", "parked"},
		{"parked and restarted", "work die work die work die die die", "parked"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, servers := &processes{}, &answering{}
			p.restart()
			b := newBundle(t).with(func(cfg *helpdesk.Config) { cfg.Processes, cfg.MailServers = p, servers })
			box := must(b.desk.Mailboxes().Create(b.ctx, helpdesk.MailboxInput{Inbound: storage.Some(oauthInbound())}))(t)
			in := b.svc.Intake()
			steps := map[string]func() error{
				"work": func() error {
					_, err := in.BeginFetch(b.ctx, b.account.ID, box.ID, true)
					return err
				},
				"look": func() error {
					_, err := in.BeginFetch(b.ctx, b.account.ID, box.ID, false)
					return err
				},
				"die":    func() error { p.restart(); return nil },
				"other":  func() error { p.own += "*"; p.live[p.own] = true; return nil },
				"done":   func() error { return in.EndFetch(b.ctx, b.account.ID, box.ID, true) },
				"failed": func() error { return in.EndFetch(b.ctx, b.account.ID, box.ID, false) },
				"mail": func() error {
					mail := ledger.Raw{Position: fmt.Sprint(len(p.own)), Raw: []byte("From: a@example.com\n\nText.")}
					return in.Take(b.ctx, b.account.ID, box.ID, "imap", []ledger.Raw{mail}, nil)
				},
				"minute": func() error { b.clock.Add(time.Minute); return nil },
				"hour":   func() error { b.clock.Add(time.Hour); return nil },
				"tested": func() error {
					_, err := b.desk.Mailboxes().Test(b.ctx, box.ID)
					return err
				},
				"refused": func() error {
					servers.err = fmt.Errorf("refused")
					_, err := b.desk.Mailboxes().Test(b.ctx, box.ID)
					return err
				},
				"listed": func() error {
					_, err := b.desk.Mailboxes().Reconcile(b.ctx, box.ID)
					return err
				},
				"changed": func() error {
					_, err := b.desk.Mailboxes().Update(b.ctx, box.ID, helpdesk.MailboxInput{Inbound: storage.Some(oauthInbound())})
					return err
				},
				"renamed": func() error {
					_, err := b.desk.Mailboxes().Update(b.ctx, box.ID, helpdesk.MailboxInput{Name: storage.Some("Other")})
					return err
				},
			}
			for _, step := range strings.Fields(tt.steps) {
				if err := steps[step](); err != nil {
					t.Fatalf("%s: %v", step, err)
				}
			}
			leave := must(in.BeginFetch(b.ctx, b.account.ID, box.ID, false))(t)
			got := map[ledger.FetchLeave]string{{}: "free", {Suspect: true}: "suspect", {Parked: true, Suspect: true}: "parked", {Parked: true}: "parked"}[leave]
			status := must(b.desk.Mailboxes().FetchStatus(b.ctx, box.ID))(t)
			parked := status.State() == ledger.FetchParked
			stays := got == "parked" || got == "suspect" && strings.Contains(tt.steps, "minute") // until a try works
			if got != tt.want || parked != stays || parked != strings.Contains(status.LastError, "Test the connection") {
				t.Errorf("%s, and the status is %+v; want %s", got, status, tt.want)
			}
			events := map[string]int{}
			for _, e := range must(b.desk.Events().List(b.ctx, subscription.EventQuery{Types: []string{"mailbox.parked"}}, storage.PageRequest{Limit: 100}))(t).Items {
				events[e.Type]++
			}
			want := map[string]int{}
			if tt.want == "parked" || strings.Contains(tt.steps, "look") {
				want["mailbox.parked"] = 1
			}
			if !maps.Equal(events, want) {
				t.Error(cmp.Diff(want, events))
			}
		})
	}
}
