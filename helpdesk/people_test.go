package helpdesk_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func TestOnline(t *testing.T) {
	t.Parallel()
	day := func(d time.Weekday, from, to string) []identity.WorkingHours {
		return []identity.WorkingHours{{Day: d, From: from, To: to}}
	}
	scheduled := func(zone string, hours []identity.WorkingHours) identity.Availability {
		return identity.Availability{UseSchedule: true, Schedule: hours, Timezone: zone}
	}
	berlin := scheduled("Europe/Berlin", day(time.Sunday, "01:30", "03:30"))
	night := scheduled("", day(time.Saturday, "22:00", "06:00"))
	for _, tt := range []struct {
		name   string
		a      identity.Availability
		active time.Duration // ago; 0: never
		now    string
		want   bool
	}{
		{"nothing set", identity.Availability{}, time.Second, "2026-11-02T12:00:00Z", false},
		{"in the app", identity.Availability{WhileInApp: true}, 5*time.Minute - time.Second, "2026-11-02T12:00:00Z", true},
		{"left the app", identity.Availability{WhileInApp: true}, 5 * time.Minute, "2026-11-02T12:00:00Z", false},
		{"never there", identity.Availability{WhileInApp: true}, 0, "2026-11-02T12:00:00Z", false},
		{"forced offline in the app", identity.Availability{WhileInApp: true, ForceOffline: true}, time.Second, "2026-11-02T12:00:00Z", false},
		{"forced offline in working hours",
			identity.Availability{ForceOffline: true, UseSchedule: true, Schedule: day(time.Monday, "09:00", "17:00")}, 0, "2026-11-02T12:00:00Z", false},
		{"schedule not used", identity.Availability{Schedule: day(time.Monday, "09:00", "17:00")}, 0, "2026-11-02T12:00:00Z", false},
		{"not in the app, but in working hours",
			identity.Availability{WhileInApp: true, UseSchedule: true, Schedule: day(time.Monday, "09:00", "17:00")}, time.Hour, "2026-11-02T12:00:00Z", true},
		{"first minute", scheduled("", day(time.Monday, "09:00", "17:00")), 0, "2026-11-02T09:00:00Z", true},
		{"before", scheduled("", day(time.Monday, "09:00", "17:00")), 0, "2026-11-02T08:59:59Z", false},
		{"last second", scheduled("", day(time.Monday, "09:00", "17:00")), 0, "2026-11-02T16:59:59Z", true},
		{"after", scheduled("", day(time.Monday, "09:00", "17:00")), 0, "2026-11-02T17:00:00Z", false},
		{"another day", scheduled("", day(time.Monday, "09:00", "17:00")), 0, "2026-11-03T12:00:00Z", false},
		{"another zone, the next day there", scheduled("Asia/Tokyo", day(time.Tuesday, "01:00", "02:00")), 0, "2026-11-02T16:30:00Z", true},
		{"a zone of half hours", scheduled("Asia/Kolkata", day(time.Monday, "17:30", "17:31")), 0, "2026-11-02T12:00:30Z", true},
		{"before the night", night, 0, "2026-11-07T21:59:59Z", false},
		{"in the night", night, 0, "2026-11-07T23:00:00Z", true},
		{"after midnight, in the new week", night, 0, "2026-11-08T05:59:59Z", true},
		{"after the night", night, 0, "2026-11-08T06:00:00Z", false},
		{"the morning of the day itself", night, 0, "2026-11-07T05:00:00Z", false},
		{"until midnight", scheduled("", day(time.Monday, "12:00", "00:00")), 0, "2026-11-02T23:59:59Z", true},
		{"no longer than midnight", scheduled("", day(time.Monday, "12:00", "00:00")), 0, "2026-11-03T00:00:00Z", false},
		{"the whole day", scheduled("", day(time.Monday, "08:00", "08:00")), 0, "2026-11-03T07:59:00Z", true},
		{"the whole day is over", scheduled("", day(time.Monday, "08:00", "08:00")), 0, "2026-11-03T08:00:00Z", false},
		// 2026-03-29 in Berlin: after 01:59 (00:59Z) comes 03:00 (01:00Z).
		{"summer time begins: before the gap", berlin, 0, "2026-03-29T00:45:00Z", true},
		{"summer time begins: after the gap", berlin, 0, "2026-03-29T01:15:00Z", true},
		{"summer time begins: over an hour sooner", berlin, 0, "2026-03-29T01:30:00Z", false},
		// 2026-10-25 in Berlin: 02:00 to 02:59 comes twice, from 00:00Z and from 01:00Z.
		{"summer time ends: first time", berlin, 0, "2026-10-25T00:30:00Z", true},
		{"summer time ends: second time", berlin, 0, "2026-10-25T01:30:00Z", true},
		{"summer time ends: over an hour later", berlin, 0, "2026-10-25T02:30:00Z", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			b.clock.now = must(time.Parse(time.RFC3339, tt.now))(t)
			m := identity.Membership{Availability: tt.a}
			if tt.active > 0 {
				m.LastActivity = b.clock.now.Add(-tt.active)
			}
			if got := b.desk.Members().Online(m); got != tt.want {
				t.Errorf("online: %v", got)
			}
		})
	}
}

func TestAvailabilityInput(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	own := must(b.desk.Membership(b.ctx))(t)
	if !own.Availability.WhileInApp {
		t.Error("a new member is not online in the app")
	}
	no := storage.Some(false)
	in := identity.AvailabilityInput{ForceOffline: no, WhileInApp: no, UseSchedule: storage.Some(true)}
	in.Schedule = storage.Some([]identity.WorkingHours{{Day: time.Monday, From: "09:00", To: "17:00"}})
	in.Timezone = storage.Some("America/New_York")
	set := must(b.desk.Members().SetAvailability(b.ctx, own.ID, in))(t)
	later := identity.AvailabilityInput{ForceOffline: no, WhileInApp: no, UseSchedule: no}
	if kept := must(b.desk.Members().SetAvailability(b.ctx, own.ID, later))(t); kept.Availability.Timezone != "America/New_York" ||
		!slices.Equal(kept.Availability.Schedule, set.Availability.Schedule) {
		t.Errorf("what was left out changed: %+v", kept.Availability)
	}
	for name, tt := range map[string]struct {
		change func(*identity.AvailabilityInput)
		fields fault.Fields
	}{
		"no schedule":    {func(in *identity.AvailabilityInput) { in.Schedule = storage.Opt[[]identity.WorkingHours]{} }, fault.Fields{"schedule": {"is required"}}},
		"empty schedule": {func(in *identity.AvailabilityInput) { in.Schedule = storage.Some([]identity.WorkingHours{}) }, fault.Fields{"schedule": {"is required"}}},
		"a day twice": {func(in *identity.AvailabilityInput) {
			in.Schedule = storage.Some(append(in.Schedule.Or(nil), in.Schedule.Or(nil)...))
		}, fault.Fields{"schedule": {"names an unknown day, or the same day twice"}}},
		"no such day": {func(in *identity.AvailabilityInput) {
			in.Schedule = storage.Some([]identity.WorkingHours{{Day: 7, From: "1", To: "2"}})
		}, fault.Fields{"schedule": {"names an unknown day, or the same day twice"}}},
		"the machine's zone": {func(in *identity.AvailabilityInput) { in.Timezone = storage.Some("Local") },
			fault.Fields{"timezone": {"is not a time zone (use an IANA name, such as Europe/Berlin)"}}},
		"a path as zone": {func(in *identity.AvailabilityInput) { in.Timezone = storage.Some("../passwd") },
			fault.Fields{"timezone": {"is not a time zone (use an IANA name, such as Europe/Berlin)"}}},
	} {
		bad := in
		tt.change(&bad)
		_, err := b.desk.Members().SetAvailability(b.ctx, own.ID, bad)
		if diff := cmp.Diff(tt.fields, fieldsOf(err)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// ids of the account's roles by their keys.
func (b *bundle) roles() map[string]int64 {
	out := map[string]int64{}
	for _, r := range must(b.desk.Roles().All(b.ctx))(b.t) {
		out[r.Key] = r.ID
	}
	return out
}

func membershipOf(t *testing.T, ctx context.Context, d *helpdesk.Desk) identity.Membership {
	t.Helper()
	return must(d.Membership(ctx))(t)
}

// An admin is not an owner, and a member of one mailbox is no member of all.
func TestGrantsAreLimitedToOwnPermissions(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	roles := b.roles()
	other := must(b.desk.Mailboxes().Create(b.ctx, helpdesk.MailboxInput{Name: storage.Some("Other")}))(t)
	admin, limited, agent := b.member(identity.RoleAdmin), b.member(identity.RoleAdmin), b.member(identity.RoleAgent)
	owner, a, l, g := membershipOf(t, b.ctx, b.desk), membershipOf(t, b.ctx, admin), membershipOf(t, b.ctx, limited), membershipOf(t, b.ctx, agent)
	one := identity.MembershipUpdate{RoleIDs: l.RoleIDs, MailboxIDs: storage.Some([]int64{b.mailbox.ID})}
	must(b.desk.Members().Update(b.ctx, l.ID, one))(t)
	limited = must(b.svc.Desk(b.ctx, b.svc.As(limited.UserID()), b.account.ID))(t)
	update := func(d *helpdesk.Desk, id int64, role string, mailboxes ...int64) error {
		_, err := d.Members().Update(b.ctx, id, identity.MembershipUpdate{RoleIDs: []int64{roles[role]}, MailboxIDs: storage.Some(mailboxes)})
		return err
	}
	invite := func(d *helpdesk.Desk, role string, mailboxes ...int64) error {
		_, _, err := d.Members().Invite(b.ctx, identity.InvitationInput{Email: "x@example.org", RoleIDs: []int64{roles[role]}, MailboxIDs: mailboxes})
		return err
	}
	for _, tt := range []struct {
		name string
		err  error
		want error
	}{
		{"an admin makes itself an owner", update(admin, a.ID, identity.RoleOwner), helpdesk.ErrForbidden},
		{"an admin changes the owner", update(admin, owner.ID, identity.RoleAgent), helpdesk.ErrForbidden},
		{"an admin removes the owner", admin.Members().Remove(b.ctx, owner.ID), helpdesk.ErrForbidden},
		{"an admin invites an owner", invite(admin, identity.RoleOwner), helpdesk.ErrForbidden},
		{"an admin invites an admin", invite(admin, identity.RoleAdmin), nil},
		{"an admin promotes an agent", update(admin, g.ID, identity.RoleAdmin), nil},
		{"and demotes it", update(admin, g.ID, identity.RoleAgent, b.mailbox.ID), nil},
		{"a limited admin gives its mailbox", update(limited, g.ID, identity.RoleCollaborator, b.mailbox.ID), nil},
		{"a limited admin gives all mailboxes", update(limited, g.ID, identity.RoleAgent), helpdesk.ErrForbidden},
		{"a limited admin gives another mailbox", update(limited, g.ID, identity.RoleAgent, other.ID), helpdesk.ErrNotFound},
		{"a limited admin frees itself", update(limited, l.ID, identity.RoleAdmin), helpdesk.ErrForbidden},
		{"a limited admin limits another", update(limited, a.ID, identity.RoleAdmin, b.mailbox.ID), helpdesk.ErrForbidden},
		{"a limited admin invites to all mailboxes", invite(limited, identity.RoleAgent), helpdesk.ErrForbidden},
		{"an agent changes anybody", update(agent, g.ID, identity.RoleCollaborator), helpdesk.ErrForbidden},
		{"the last owner steps down", update(b.desk, owner.ID, identity.RoleAdmin), helpdesk.ErrConflict},
		{"a second owner is made", update(b.desk, a.ID, identity.RoleOwner), nil},
		{"the first owner steps down", update(b.desk, owner.ID, identity.RoleAdmin), nil},
	} {
		if !errors.Is(tt.err, tt.want) {
			t.Errorf("%s: %v", tt.name, tt.err)
		}
	}
}

// The inviter sees the token, so it is not sufficient for an existing user. mailedToken returns the token in the mail of an
// invitation.
func (b *bundle) mailedToken(id int64) (token string) {
	b.t.Helper()
	job := storage.ClaimedJob{Job: storage.Job{Kind: helpdesk.JobInvite, AccountID: b.account.ID, Subject: id}}
	must(b.svc.Outgoing().SystemMail(b.ctx, job, sending.MailLinks{Invitation: func(t string) string { token = t; return "link" }}))(b.t)
	return token
}

func TestAcceptInvitation(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	roles := b.roles()
	invite := func(email string) string {
		_, token, err := b.desk.Members().Invite(b.ctx, identity.InvitationInput{Email: email, Name: "Proposed", RoleIDs: []int64{roles[identity.RoleAgent]}})
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	user := must(b.svc.Operator().CreateUser(b.ctx, identity.UserInput{Email: "Grace@example.org", Password: "password one"}))(t)
	_, narrow, err := b.svc.Operator().CreateToken(b.ctx, user.ID, identity.TokenInput{Name: "n", Scopes: []identity.Permission{identity.TagsView}})
	if err != nil {
		t.Fatal(err)
	}
	nobody, self, other := helpdesk.Caller{}, b.svc.As(user.ID), b.svc.As(b.owner.ID)
	scoped := must(b.svc.Authenticate(b.ctx, narrow))(t)
	token := invite("grace@EXAMPLE.org")
	accept := func(c helpdesk.Caller, token, password string) error {
		_, err := b.svc.SignIn().AcceptInvitation(b.ctx, c, token, identity.AcceptInput{Name: "Thief", Password: password})
		return err
	}
	fresh := invite("new@example.org")
	old := invite("old@example.org")
	for _, tt := range []struct {
		name string
		err  error
		want error
	}{
		{"no token", accept(nobody, "", "password one"), helpdesk.ErrNotFound},
		{"the user's address, without password", accept(nobody, token, ""), helpdesk.ErrUnauthenticated},
		{"the user's address, with a new password", accept(nobody, token, "password two"), helpdesk.ErrUnauthenticated},
		{"another user", accept(other, token, "password one"), helpdesk.ErrForbidden},
		{"a token with scopes", accept(scoped, token, "password one"), helpdesk.ErrForbidden},
		{"the user", accept(self, token, ""), nil},
		{"the user again", accept(self, token, ""), helpdesk.ErrNotFound},
		{"another user, where there is none", accept(other, fresh, "password two"), helpdesk.ErrForbidden},
		{"a new user", accept(nobody, fresh, "password two"), nil},
	} {
		if !errors.Is(tt.err, tt.want) {
			t.Errorf("%s: %v", tt.name, tt.err)
		}
	}
	if u := must(b.svc.Operator().UserByEmail(b.ctx, "new@example.org"))(t); u.Name != "Thief" {
		t.Errorf("the new user is %q", u.Name)
	}
	must(b.svc.SignIn().WithPassword(b.ctx, "new@example.org", "password two"))(t)
	must(b.svc.SignIn().WithPassword(b.ctx, "grace@example.org", "password one"))(t)
	b.clock.Add(7 * 24 * time.Hour)
	if err := accept(nobody, old, "password two"); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("an expired invitation: %v", err)
	}
	again := invite("old@example.org") // takes the place of the expired one
	page := must(b.desk.Members().Invitations(b.ctx, storage.PageRequest{}))(t)
	if len(page.Items) != 1 || strings.Contains(string(page.Items[0].Nonce)+string(page.Items[0].Hash), again) {
		t.Errorf("%d invitations", len(page.Items))
	}
	// The mailed token contains a part that its inviter does not see.
	mailed := b.mailedToken(page.Items[0].ID)
	if !strings.HasPrefix(mailed, again) || mailed == again {
		t.Error("the mail has another token")
	}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	self := b.svc.As(b.owner.ID)
	first := must(b.svc.SignIn().StartSession(b.ctx, self, ""))(t)
	caller := must(b.svc.Authenticate(b.ctx, first.Secret))(t)
	if _, err := b.svc.SignIn().StartSession(b.ctx, caller, ""); !errors.Is(err, helpdesk.ErrForbidden) {
		t.Errorf("a session of a session: %v", err)
	}
	if _, err := b.svc.SignIn().StartSession(b.ctx, helpdesk.Caller{}, ""); !errors.Is(err, helpdesk.ErrUnauthenticated) {
		t.Errorf("a session of nobody: %v", err)
	}
	admin := must(b.svc.Admin(b.ctx, caller))(t)
	token, secret, err := admin.CreateOwnToken(b.ctx, identity.TokenInput{Name: "for ever", Secret: "chosen by the caller"})
	if err != nil || secret == "chosen by the caller" || !token.ExpiresAt.IsZero() {
		t.Errorf("a token made in a session: %+v %v", token, err)
	}
	if listed := must(admin.Tokens(b.ctx, storage.PageRequest{}))(t).Items; len(listed) != 1 || listed[0].ID != token.ID {
		t.Errorf("tokens: %+v", listed)
	}
	for range 2 { // the second time it has ended already
		if err := b.svc.SignIn().EndSession(b.ctx, caller); err != nil {
			t.Error(err)
		}
	}
	if _, err := b.svc.Authenticate(b.ctx, first.Secret); !errors.Is(err, helpdesk.ErrUnauthenticated) {
		t.Errorf("after the end: %v", err)
	}
	second := must(b.svc.SignIn().StartSession(b.ctx, self, ""))(t)
	b.clock.Add(14 * 24 * time.Hour)
	if _, err := b.svc.Authenticate(b.ctx, second.Secret); !errors.Is(err, helpdesk.ErrUnauthenticated) {
		t.Errorf("after 14 days: %v", err)
	}
	kept := must(b.svc.Authenticate(b.ctx, secret))(t)
	if err := b.svc.SignIn().EndSession(b.ctx, kept); err != nil {
		t.Error(err)
	}
	must(b.svc.Authenticate(b.ctx, secret))(t)
}

// A member sees where they are signed in, and signs out elsewhere, which a token with scopes cannot.
func TestOwnSessions(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	self := b.svc.As(b.owner.ID)
	start := func(device string) helpdesk.Caller {
		return must(b.svc.Authenticate(b.ctx, must(b.svc.SignIn().StartSession(b.ctx, self, device))(t).Secret))(t)
	}
	start("expired")
	b.clock.Add(10 * 24 * time.Hour)
	here := start("Firefox,\u202e Linux\n")
	start(strings.Repeat("x", 300))
	b.clock.Add(5 * 24 * time.Hour)
	admin := must(b.svc.Admin(b.ctx, here))(t)
	listed := func() (names []string) {
		for _, s := range must(admin.Sessions(b.ctx, storage.PageRequest{}))(t).Items {
			if names = append(names, s.Name); (s.ID == here.TokenID()) != (s.Name == "Firefox, Linux") {
				t.Errorf("%q is the caller's own", s.Name)
			}
		}
		return names
	}
	if diff := cmp.Diff([]string{strings.Repeat("x", 200), "Firefox, Linux"}, listed()); diff != "" {
		t.Error(diff)
	}
	_, secret, err := admin.CreateOwnToken(b.ctx, identity.TokenInput{Name: "narrow", Scopes: []identity.Permission{identity.TagsView}})
	if err != nil {
		t.Fatal(err)
	}
	narrow := must(b.svc.Admin(b.ctx, must(b.svc.Authenticate(b.ctx, secret))(t)))(t)
	if err := narrow.EndOtherSessions(b.ctx); !errors.Is(err, helpdesk.ErrForbidden) {
		t.Errorf("with a token for tags: %v", err)
	}
	if err := admin.EndOtherSessions(b.ctx); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Firefox, Linux"}, listed()); diff != "" {
		t.Error(diff)
	}
}

// An invitation is shown to the holder of a token while it can be accepted.
func TestInvited(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(b *bundle, i identity.Invitation, token string) string
		known  bool
	}{
		"the token":      {func(_ *bundle, _ identity.Invitation, token string) string { return token }, true},
		"the mailed one": {func(b *bundle, i identity.Invitation, _ string) string { return b.mailedToken(i.ID) }, true},
		"a forged proof": {func(b *bundle, i identity.Invitation, _ string) string { return strings.ToLower(b.mailedToken(i.ID)) }, false},
		"another":        {func(*bundle, identity.Invitation, string) string { return "hwi_x" }, false},
		"none":           {func(*bundle, identity.Invitation, string) string { return "" }, false},
		"an expired one": {func(b *bundle, _ identity.Invitation, token string) string {
			b.clock.Add(8 * 24 * time.Hour)
			return token
		}, false},
		"a withdrawn one": {func(b *bundle, i identity.Invitation, token string) string {
			must(0, b.desk.Members().DeleteInvitation(b.ctx, i.ID))(b.t)
			return token
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			i, token, err := b.desk.Members().Invite(b.ctx, identity.InvitationInput{Email: "lise@example.org", Name: "Lise", RoleIDs: []int64{b.roles()[identity.RoleAgent]}})
			if err != nil {
				t.Fatal(err)
			}
			got, err := b.svc.SignIn().Invited(b.ctx, tt.change(b, i, token))
			if !tt.known {
				if !errors.Is(err, helpdesk.ErrNotFound) {
					t.Errorf("%+v %v", got, err)
				}
				return
			}
			if diff := cmp.Diff(identity.Invited{Account: "Acme", Email: "lise@example.org", Name: "Lise"}, got); diff != "" || err != nil {
				t.Error(diff, err)
			}
		})
	}
}
