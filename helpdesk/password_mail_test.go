package helpdesk_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage/fault"
)

// A user who has forgotten a password gets a link that is valid once, and no one learns which users exist.
func TestForgotPassword(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	agent := b.member(identity.RoleAgent)
	email := b.emailOf(agent)
	from := func(address string) *helpdesk.Service { return b.svc.From(netip.MustParseAddr(address)) }
	mail := func(email string) (sending.SystemMail, error) {
		t.Helper()
		if err := b.svc.SignIn().ForgotPassword(b.ctx, email); err != nil {
			t.Fatal(err)
		}
		jobs := b.jobs(helpdesk.JobPasswordMail) // the same work for whoever it is
		if len(jobs) != 1 || jobs[0].AccountID != 0 {
			t.Fatalf("jobs: %+v", jobs)
		}
		again, _ := b.svc.Outgoing().SystemMail(b.ctx, jobs[0], pages)
		m, err := b.svc.Outgoing().SystemMail(b.ctx, jobs[0], pages)
		if m.MessageID != again.MessageID || m.Text != again.Text {
			t.Error("another mail the second time")
		}
		return m, err
	}
	token := func(m sending.SystemMail) string {
		_, text, _ := strings.Cut(m.Text, "token=")
		token, _, _ := strings.Cut(text, "\n")
		return token
	}
	if m, err := mail("nobody@example.org"); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("to nobody goes %+v, %v", m, err)
	}
	first, err := mail(strings.ToUpper(email))
	if err != nil || first.To.Email != email || first.From.Email != "support@example.org" {
		t.Fatalf("%+v, %v", first, err)
	}
	second, err := mail(email)
	if err != nil {
		t.Fatal(err)
	}
	choice := identity.PasswordChoice{Password: "correct horse"}
	if c, err := b.svc.SignIn().ChoosePassword(b.ctx, token(first), choice); err != nil || c.UserID() != agent.UserID() {
		t.Errorf("chosen: %v, %v", c, err)
	}
	for name, used := range map[string]string{"used": token(first), "made for the password before": token(second)} {
		if _, err := b.svc.SignIn().ChoosePassword(b.ctx, used, choice); !errors.Is(err, helpdesk.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	third, err := mail(email)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.svc.SignIn().ForgotPassword(b.ctx, email); err != nil || len(b.jobs(helpdesk.JobPasswordMail)) != 0 {
		t.Errorf("a fourth mail within the hour: %v", err)
	}
	b.clock.Add(time.Hour)
	if _, err := b.svc.SignIn().ChoosePassword(b.ctx, token(third), choice); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("after an hour: %v", err)
	}
	for _, hostile := range []string{"", "x", "a@b\r\nBcc: eve@example.net", "<script>", strings.Repeat("a", 5000) + "@example.org"} {
		if err := b.svc.SignIn().ForgotPassword(b.ctx, hostile); !errors.Is(err, helpdesk.ErrInvalid) {
			t.Errorf("%.30q: %v", hostile, err)
		}
	}
	var refused error
	for n := range 21 {
		refused = from("192.0.2.1").SignIn().ForgotPassword(b.ctx, fmt.Sprintf("%d@example.org", n))
	}
	if !fault.Is(refused, fault.RateLimited) {
		t.Errorf("from one address without end: %v", refused)
	}
	if err := from("192.0.2.2").SignIn().ForgotPassword(b.ctx, email); err != nil {
		t.Errorf("from another: %v", err)
	}
}
