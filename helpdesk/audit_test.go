package helpdesk_test

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
)

// audit lists the log, oldest first, in words.
func (b *bundle) audit(filter helpdesk.AuditFilter) []string {
	b.t.Helper()
	var lines []string
	for _, e := range must(b.desk.Account().AuditLog(b.ctx, filter, storage.PageRequest{}))(b.t).Items {
		lines = append([]string{fmt.Sprintf("%s %d by %d from %q", e.Action, e.Subject, e.UserID, e.Address)}, lines...)
	}
	return lines
}

// Administrative changes are in the log of their account, with user and address; other changes are not.
func TestAuditLog(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	svc := b.svc.From(netip.MustParseAddr("::ffff:192.0.2.7"))
	desk := must(svc.Desk(b.ctx, svc.As(b.owner.ID), b.account.ID))(t)
	role := must(desk.Roles().Create(b.ctx, identity.RoleInput{Name: "Reader"}))(t)
	must(desk.Account().Update(b.ctx, identity.AccountUpdate{Name: "Acme Ltd"}))(t)
	must(desk.Mailboxes().Update(b.ctx, b.mailbox.ID, helpdesk.MailboxInput{Inbound: storage.Some(helpdesk.InboundInput{Type: ledger.InboundForward})}))(t)
	c := must(desk.Conversations().Create(b.ctx, helpdesk.ConversationInput{Channel: "email", To: "ada@example.com", Subject: "Not noted"}))(t)
	must(desk.Conversations().Update(b.ctx, c.ID, helpdesk.ConversationUpdate{Subject: storage.Some("Nor this")}))(t)
	must(desk.Customers().Export(b.ctx, c.CustomerID))(t)
	if err := desk.Conversations().Delete(b.ctx, c.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := desk.Roles().Create(b.ctx, identity.RoleInput{Name: "Reader"}); err == nil {
		t.Error("there is such a role already")
	}
	want := []string{
		fmt.Sprintf("account.created %d by %d from \"\"", b.account.ID, b.owner.ID),
		fmt.Sprintf("mailbox.created %d by %d from \"\"", b.mailbox.ID, b.owner.ID),
		fmt.Sprintf("role.created %d by %d from \"192.0.2.7\"", role.ID, b.owner.ID),
		fmt.Sprintf("account.updated %d by %d from \"192.0.2.7\"", b.account.ID, b.owner.ID),
		fmt.Sprintf("mailbox.connection_updated %d by %d from \"192.0.2.7\"", b.mailbox.ID, b.owner.ID),
		fmt.Sprintf("mailbox.updated %d by %d from \"192.0.2.7\"", b.mailbox.ID, b.owner.ID),
		fmt.Sprintf("customer.exported %d by %d from \"192.0.2.7\"", c.CustomerID, b.owner.ID),
		fmt.Sprintf("conversation.deleted %d by %d from \"192.0.2.7\"", c.ID, b.owner.ID),
	}
	if diff := cmp.Diff(want, b.audit(helpdesk.AuditFilter{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want[2:3], b.audit(helpdesk.AuditFilter{Action: "role.created", UserID: storage.Some(b.owner.ID)})); diff != "" {
		t.Error(diff)
	}
	if _, err := b.member(identity.RoleAgent).Account().AuditLog(b.ctx, helpdesk.AuditFilter{}, storage.PageRequest{}); !errors.Is(err, helpdesk.ErrForbidden) {
		t.Error(err)
	}
}

// Changes of a user's own credentials are in the logs of all their accounts, and in no other.
func TestAuditOfUsers(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	operator := b.svc.Operator()
	user := must(operator.CreateUser(b.ctx, identity.UserInput{Email: "alf@example.org", Password: "correct horse"}))(t)
	must(operator.AddMember(b.ctx, b.account.ID, user.ID, identity.RoleAgent))(t)
	stranger := must(operator.CreateUser(b.ctx, identity.UserInput{Email: "sam@example.org", Password: "correct horse"}))(t)
	must(operator.CreateAccount(b.ctx, identity.AccountInput{Name: "Other"}, stranger.ID))(t)
	b.clock.Add(time.Minute)
	since := b.clock.Now()
	svc := b.svc.From(netip.MustParseAddr("2001:db8::1"))
	for _, email := range []string{"alf@example.org", "sam@example.org", "nobody@example.org"} {
		if _, err := svc.SignIn().WithPassword(b.ctx, email, "wrong"); !errors.Is(err, helpdesk.ErrUnauthenticated) {
			t.Error(err)
		}
	}
	caller := must(svc.SignIn().WithPassword(b.ctx, "alf@example.org", "correct horse"))(t)
	session := must(svc.SignIn().StartSession(b.ctx, caller, ""))(t)
	caller = must(svc.Authenticate(b.ctx, session.Secret))(t)
	admin := must(svc.Admin(b.ctx, caller))(t)
	token, _, err := admin.CreateOwnToken(b.ctx, identity.TokenInput{Name: "Script"})
	if err != nil {
		t.Fatal(err)
	}
	must(admin.UpdateMe(b.ctx, identity.UserUpdate{Password: "better horse", CurrentPassword: "correct horse"}))(t)
	if err := admin.DeleteOwnToken(b.ctx, token.ID); err != nil {
		t.Error(err)
	}
	if err := svc.SignIn().EndSession(b.ctx, caller); err != nil {
		t.Error(err)
	}
	by := fmt.Sprintf(" by %d from \"2001:db8::1\"", user.ID)
	want := []string{
		fmt.Sprintf("user.login_failed %d", user.ID) + by, fmt.Sprintf("user.logged_in %d", user.ID) + by, fmt.Sprintf("token.created %d", token.ID) + by,
		fmt.Sprintf("user.password_changed %d", user.ID) + by, fmt.Sprintf("token.deleted %d", token.ID) + by, fmt.Sprintf("user.logged_out %d", user.ID) + by,
	}
	if diff := cmp.Diff(want, b.audit(helpdesk.AuditFilter{Since: since})); diff != "" {
		t.Error(diff)
	}
	for _, e := range must(b.desk.Account().AuditLog(b.ctx, helpdesk.AuditFilter{Action: "token.created"}, storage.PageRequest{}))(t).Items {
		if e.TokenID != caller.TokenID() {
			t.Errorf("made with %d, not the session", e.TokenID)
		}
	}
}

// A rehearsal finds problems and changes nothing.
func TestRehearsal(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	before := len(must(b.store.Events(b.ctx, b.account.ID, 0, 100))(t))
	desk := b.desk.Rehearsal()
	_, err := desk.Conversations().Create(b.ctx, helpdesk.ConversationInput{Channel: "email", To: "ada@example.com"})
	if err == nil || errors.Is(err, helpdesk.ErrInvalid) {
		t.Errorf("a conversation: %v", err)
	}
	if _, err := desk.Account().Update(b.ctx, identity.AccountUpdate{}); !errors.Is(err, helpdesk.ErrInvalid) {
		t.Errorf("an account without a name: %v", err)
	}
	if n := b.count(); n != 0 || len(must(b.store.Events(b.ctx, b.account.ID, 0, 100))(t)) != before {
		t.Errorf("%d conversations", n)
	}
}

func TestPasswordChange(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	user := must(b.svc.Operator().CreateUser(b.ctx, identity.UserInput{Email: "alf@example.org", Name: "Alf", Password: "correct horse"}))(t)
	secret := func() string { return must(b.svc.SignIn().StartSession(b.ctx, b.svc.As(user.ID), ""))(t).Secret }
	own, other := secret(), secret()
	admin := must(b.svc.Admin(b.ctx, must(b.svc.Authenticate(b.ctx, own))(t)))(t)
	for name, tt := range map[string]struct {
		in     identity.UserUpdate
		fields []string
	}{
		"nothing":          {identity.UserUpdate{}, []string{"name"}},
		"no current one":   {identity.UserUpdate{Password: "better horse"}, []string{"current_password"}},
		"wrong and short":  {identity.UserUpdate{Password: "short", CurrentPassword: "x"}, []string{"current_password", "password"}},
		"current one only": {identity.UserUpdate{Name: storage.Some("Alf"), CurrentPassword: "correct horse"}, []string{"password"}},
	} {
		_, err := admin.UpdateMe(b.ctx, tt.in)
		if diff := cmp.Diff(tt.fields, sortedFields(err)); diff != "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if u := must(admin.UpdateMe(b.ctx, identity.UserUpdate{Password: "better horse", CurrentPassword: "correct horse"}))(t); u.Name != "Alf" {
		t.Errorf("user %+v", u)
	}
	must(b.svc.SignIn().WithPassword(b.ctx, "alf@example.org", "better horse"))(t)
	must(b.svc.Authenticate(b.ctx, own))(t)
	for what, err := range map[string]error{
		"the other session": second(b.svc.Authenticate(b.ctx, other)), "the old password": second(b.svc.SignIn().WithPassword(b.ctx, "alf@example.org", "correct horse")),
	} {
		if !errors.Is(err, helpdesk.ErrUnauthenticated) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// The conversations of a user who has left become unassigned, however many they are.
func TestUnassign(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	agent := b.member(identity.RoleAgent)
	const many = 130
	for range many {
		in := helpdesk.ConversationInput{Channel: "email", To: "ada@example.com", UserID: storage.Some(agent.UserID())}
		must(b.desk.Conversations().Create(b.ctx, in))(t)
	}
	job := storage.ClaimedJob{Job: storage.Job{Kind: helpdesk.JobUnassign, AccountID: b.account.ID, Subject: agent.UserID()}}
	assigned := func() int { // of the first hundred
		q := helpdesk.ConversationQuery{UserID: storage.Null[int64]()}
		return 100 - len(must(b.desk.Conversations().List(b.ctx, q, storage.PageRequest{Limit: 100}))(t).Items)
	}
	if err := b.svc.Jobs().Unassign(b.ctx, job); err != nil || assigned() != 100 {
		t.Errorf("a member keeps what is assigned: %v", err)
	}
	member := must(agent.Membership(b.ctx))(t)
	if err := b.desk.Members().Remove(b.ctx, member.ID); err != nil {
		t.Fatal(err)
	}
	now := b.clock.Now()
	claimed := must(b.store.Claim(b.ctx, map[string]int{helpdesk.JobUnassign: 10}, now, now.Add(time.Minute)))(t)
	if len(claimed) != 1 || claimed[0].Job.Subject != agent.UserID() {
		t.Fatalf("jobs %+v", claimed)
	}
	for range 2 {
		if err := b.svc.Jobs().Unassign(b.ctx, claimed[0]); err != nil || assigned() != 0 {
			t.Errorf("%d of a hundred are assigned: %v", assigned(), err)
		}
	}
	updated := 0
	for _, e := range must(b.store.Events(b.ctx, b.account.ID, 0, 1000))(t) {
		if e.Type == "conversation.updated" {
			updated++
		}
	}
	if updated != many {
		t.Errorf("%d events", updated)
	}
}
