package helpdesk_test

import (
	"errors"
	"fmt"
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

// tell runs the jobs that create notifications, each twice.
func (b *bundle) tell() {
	b.t.Helper()
	now := b.clock.Now()
	for _, job := range must(b.store.Claim(b.ctx, map[string]int{helpdesk.JobNotify: 1000}, now, now.Add(time.Minute)))(b.t) {
		for range 2 {
			if err := b.svc.Jobs().Notify(b.ctx, job); err != nil {
				b.t.Fatal(err)
			}
		}
		if err := b.store.Finish(b.ctx, job); err != nil {
			b.t.Fatal(err)
		}
	}
}

// told returns the kinds of a member's notifications in the desk, newest first.
func (b *bundle) told(d *helpdesk.Desk) []helpdesk.NotificationKind {
	b.t.Helper()
	b.tell()
	var kinds []helpdesk.NotificationKind
	for _, n := range must(d.Notifications().List(b.ctx, false, storage.PageRequest{}))(b.t).Items {
		kinds = append(kinds, n.Kind)
	}
	return kinds
}

func (b *bundle) jot(d *helpdesk.Desk, conversation int64, body string) helpdesk.Interaction {
	b.t.Helper()
	return must(d.Interactions().Create(b.ctx, conversation, helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: body}))(b.t)
}

func mention(d *helpdesk.Desk) string {
	return fmt.Sprintf(`<a href="mailto:member-%d@mention.invalid">@X</a>`, d.UserID())
}

func (b *bundle) assign(c int64, to *helpdesk.Desk) {
	b.t.Helper()
	must(b.desk.Conversations().Update(b.ctx, c, helpdesk.ConversationUpdate{UserID: storage.Some(to.UserID())}))(b.t)
}

// limit keeps a member to the second mailbox, which is made.
func (b *bundle) limit(d *helpdesk.Desk) {
	b.t.Helper()
	box := must(b.desk.Mailboxes().Create(b.ctx, helpdesk.MailboxInput{Name: storage.Some("Other"), Email: storage.Some("other@example.org")}))(b.t)
	m := membershipOf(b.t, b.ctx, d)
	must(b.desk.Members().Update(b.ctx, m.ID, identity.MembershipUpdate{RoleIDs: m.RoleIDs, MailboxIDs: storage.Some([]int64{box.ID})}))(b.t)
}

// again opens the desk of a member with their current permissions.
func (b *bundle) again(d *helpdesk.Desk) *helpdesk.Desk {
	b.t.Helper()
	return must(b.svc.Desk(b.ctx, b.svc.As(d.UserID()), b.account.ID))(b.t)
}

func TestNotifications(t *testing.T) {
	t.Parallel()
	const (
		assigned, unassigned = helpdesk.NotifyAssigned, helpdesk.NotifyUnassigned
		replied, mentioned   = helpdesk.NotifyReplied, helpdesk.NotifyMentioned
		failed               = helpdesk.NotifyFailed
	)
	type kinds = []helpdesk.NotificationKind
	reply := func(b *bundle) {
		m := opening()
		m.MessageID, m.InReplyTo, m.Text = "2@example.com", []string{"1@example.com"}, "Still stuck."
		b.receive(m)
	}
	mute := func(b *bundle, d *helpdesk.Desk, k helpdesk.NotificationKind) {
		must(d.Notifications().Choose(b.ctx, []helpdesk.NotifyChoice{{Kind: k}}))(b.t)
	}
	for name, tt := range map[string]struct {
		do            func(b *bundle, agent *helpdesk.Desk, c int64)
		agent, itself kinds // the notifications of the agent, and of the acting member
	}{
		"new":                     {func(*bundle, *helpdesk.Desk, int64) {}, kinds{unassigned}, kinds{unassigned}},
		"new, muted":              {func(b *bundle, a *helpdesk.Desk, _ int64) { mute(b, a, unassigned) }, nil, kinds{unassigned}},
		"new, limited":            {func(b *bundle, a *helpdesk.Desk, _ int64) { b.limit(a) }, nil, kinds{unassigned}},
		"new, somebody was quick": {func(b *bundle, a *helpdesk.Desk, c int64) { b.assign(c, b.desk) }, nil, nil},
		"assigned":                {func(b *bundle, a *helpdesk.Desk, c int64) { b.assign(c, a) }, kinds{assigned}, nil},
		"assigned to oneself": {func(b *bundle, a *helpdesk.Desk, c int64) {
			must(a.Conversations().Update(b.ctx, c, helpdesk.ConversationUpdate{UserID: storage.Some(a.UserID())}))(b.t)
		}, nil, nil},
		"assigned, and to another": {func(b *bundle, a *helpdesk.Desk, c int64) { b.assign(c, a); b.assign(c, b.desk) }, nil, nil},
		"assigned, and taken away": {func(b *bundle, a *helpdesk.Desk, c int64) { b.assign(c, a); b.limit(a) }, nil, nil},
		"replied to nobody":        {func(b *bundle, _ *helpdesk.Desk, _ int64) { b.tell(); reply(b) }, kinds{unassigned}, kinds{unassigned}},
		"replied to mine":          {func(b *bundle, a *helpdesk.Desk, c int64) { b.assign(c, a); reply(b) }, kinds{replied, assigned}, nil},
		"reopened": {func(b *bundle, a *helpdesk.Desk, c int64) {
			b.assign(c, a)
			must(b.desk.Conversations().Update(b.ctx, c, helpdesk.ConversationUpdate{Status: storage.Some(helpdesk.StatusClosed)}))(b.t)
			reply(b)
		}, kinds{replied, assigned}, nil},
		"replied, followed": {func(b *bundle, a *helpdesk.Desk, c int64) {
			b.assign(c, b.desk)
			must(a.Conversations().Follow(b.ctx, c, true))(b.t)
			reply(b)
		}, kinds{replied}, kinds{replied}},
		"replied, not followed any more": {func(b *bundle, a *helpdesk.Desk, c int64) {
			b.assign(c, b.desk)
			must(a.Conversations().Follow(b.ctx, c, true))(b.t)
			must(a.Conversations().Follow(b.ctx, c, false))(b.t)
			b.jot(b.desk, c, mention(a)) // does not follow for members who have unfollowed
			reply(b)
		}, kinds{mentioned}, kinds{replied}},
		"assigned to my team": {func(b *bundle, a *helpdesk.Desk, c int64) { b.assignTeam(c, b.team("Sales", a, b.desk)) }, kinds{assigned}, nil},
		"assigned to my team and to me": {func(b *bundle, a *helpdesk.Desk, c int64) {
			team := b.team("Sales", a, b.desk)
			must(b.desk.Conversations().Update(b.ctx, c, helpdesk.ConversationUpdate{UserID: storage.Some(a.UserID()), TeamID: storage.Some(team)}))(b.t)
		}, kinds{assigned}, nil},
		"assigned to a team without me": {func(b *bundle, a *helpdesk.Desk, c int64) { b.assignTeam(c, b.team("Sales")) }, nil, nil},
		"assigned to my team, limited":  {func(b *bundle, a *helpdesk.Desk, c int64) { b.assignTeam(c, b.team("Sales", a)); b.limit(a) }, nil, nil},
		"assigned to my team, and to another": {func(b *bundle, a *helpdesk.Desk, c int64) {
			b.assignTeam(c, b.team("Sales", a))
			b.assignTeam(c, b.team("Repairs"))
		}, nil, nil},
		"replied to my team": {func(b *bundle, a *helpdesk.Desk, c int64) {
			b.assignTeam(c, b.team("Sales", a, b.desk))
			reply(b)
		}, kinds{replied, assigned}, kinds{replied}},
		"replied to another of my team": {func(b *bundle, a *helpdesk.Desk, c int64) {
			b.assignTeam(c, b.team("Sales", a, b.desk))
			b.assign(c, b.desk)
			reply(b)
		}, kinds{assigned}, kinds{replied}},
		"begun in my team": {func(b *bundle, a *helpdesk.Desk, c int64) {
			b.assign(c, b.desk)
			must(b.desk.Conversations().Create(b.ctx, helpdesk.ConversationInput{
				Channel: "email", To: "bob@example.com", TeamID: storage.Some(b.team("Sales", a)),
				Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeCustomer, Body: "It is stuck."}},
			}))(b.t)
		}, kinds{assigned}, nil},
		"replied by a machine": {func(b *bundle, a *helpdesk.Desk, c int64) {
			b.assign(c, a)
			m := opening()
			m.MessageID, m.InReplyTo, m.AutoSubmitted = "2@example.com", []string{"1@example.com"}, true
			b.receive(m)
		}, kinds{assigned}, nil},
		"mentioned, and follows": {func(b *bundle, a *helpdesk.Desk, c int64) {
			b.assign(c, b.desk)
			b.jot(b.desk, c, "Look, "+mention(a))
			reply(b)
		}, kinds{replied, mentioned}, kinds{replied}},
		"mentioned once more": {func(b *bundle, a *helpdesk.Desk, c int64) {
			b.assign(c, b.desk)
			i := b.jot(b.desk, c, mention(a))
			must(b.desk.Interactions().Update(b.ctx, c, i.ID, helpdesk.InteractionUpdate{Body: storage.Some(mention(a) + " please")}))(b.t)
		}, kinds{mentioned}, nil},
		"mentioned later": {func(b *bundle, a *helpdesk.Desk, c int64) {
			b.assign(c, b.desk)
			i := b.jot(b.desk, c, "Who knows?")
			must(b.desk.Interactions().Update(b.ctx, c, i.ID, helpdesk.InteractionUpdate{Body: storage.Some(mention(a) + " knows")}))(b.t)
		}, kinds{mentioned}, nil},
		"mentioned, limited": {func(b *bundle, a *helpdesk.Desk, c int64) {
			b.assign(c, b.desk)
			b.limit(a)
			b.jot(b.desk, c, mention(a))
		}, nil, nil},
		"mentioned in an answer": {func(b *bundle, a *helpdesk.Desk, c int64) {
			b.assign(c, b.desk)
			b.answer(c, helpdesk.InteractionInput{Body: mention(a)})
		}, nil, nil},
		"failed": {func(b *bundle, a *helpdesk.Desk, c int64) {
			b.assign(c, b.desk)
			i := must(a.Interactions().Create(b.ctx, c, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "Pull."}))(b.t)
			report(b, begin(b, i.ID), sending.Failed)
		}, kinds{failed}, kinds{failed}},
		"deleted": {func(b *bundle, a *helpdesk.Desk, c int64) {
			b.assign(c, a)
			b.tell()
			if err := b.desk.Conversations().Delete(b.ctx, c); err != nil {
				b.t.Fatal(err)
			}
		}, nil, nil},
		"moved out of sight": {func(b *bundle, a *helpdesk.Desk, c int64) {
			b.assign(c, a)
			b.tell()
			b.limit(a)
		}, nil, nil},
		"merged": {func(b *bundle, a *helpdesk.Desk, c int64) {
			b.assign(c, a)
			b.tell()
			into := must(b.desk.Conversations().Create(b.ctx, helpdesk.ConversationInput{Channel: "email", To: "bob@example.com"}))(b.t)
			must(b.desk.Conversations().Merge(b.ctx, c, into.ID))(b.t)
		}, kinds{assigned}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			agent, stranger := b.member(identity.RoleAgent), b.member(identity.RoleEditor)
			c := b.receive(opening()).ConversationID
			tt.do(b, agent, c)
			for who, of := range map[string]struct {
				d    *helpdesk.Desk
				want kinds
			}{"agent": {b.again(agent), tt.agent}, "itself": {b.desk, tt.itself}} {
				if diff := cmp.Diff(of.want, b.told(of.d)); diff != "" {
					t.Errorf("%s is told (-want +got):\n%s", who, diff)
				}
			}
			if _, err := stranger.Notifications().List(b.ctx, false, storage.PageRequest{}); !errors.Is(err, helpdesk.ErrForbidden) {
				t.Errorf("who may see no conversations: %v", err)
			}
		})
	}
}

// Mails already in a mailbox that is fetched for the first time cause no notifications.
func TestBacklogNotifiesNoMembers(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.source = "imap"
	m := opening()
	m.Date, m.LastHop = b.clock.Now().AddDate(0, -1, 0), b.clock.Now().AddDate(0, -1, 0)
	b.receive(m)
	if got := b.told(b.desk); got != nil {
		t.Errorf("told of old mail: %v", got)
	}
}

func TestReadNotifications(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	agent := b.member(identity.RoleAgent)
	var ids []int64
	for n := range 3 {
		m := opening()
		m.MessageID = fmt.Sprint(n, "@example.com")
		ids = append(ids, b.receive(m).ConversationID)
	}
	b.tell()
	unread := func(what string, want int) {
		t.Helper()
		if got := must(agent.Notifications().Unread(b.ctx))(t); got != want {
			t.Errorf("%s: %d are unread, not %d", what, got, want)
		}
	}
	all := must(agent.Notifications().List(b.ctx, true, storage.PageRequest{}))(t).Items
	unread("at first", 3)
	must(agent.Conversations().MarkRead(b.ctx, ids[0]))(t)
	unread("a conversation was read", 2)
	must(agent.Notifications().MarkRead(b.ctx, all[0].ID))(t)
	must(agent.Notifications().MarkRead(b.ctx, all[0].ID))(t)
	unread("one was read", 1)
	if _, err := b.desk.Notifications().MarkRead(b.ctx, all[1].ID); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("another's: %v", err)
	}
	if err := agent.Notifications().MarkAllRead(b.ctx, 0, all[2].ID); err != nil { // the oldest, which is read
		t.Fatal(err)
	}
	unread("no newer ones", 1)
	if err := agent.Notifications().MarkAllRead(b.ctx, 0, 0); err != nil {
		t.Fatal(err)
	}
	unread("all", 0)
	if got := must(b.desk.Notifications().Unread(b.ctx))(t); got != 3 {
		t.Errorf("of another %d are unread", got)
	}
}

// The browser shows new notifications, once, to members who want them.
func TestBrowserNotifications(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	agent := b.member(identity.RoleAgent)
	muted := b.member(identity.RoleAgent)
	must(muted.Notifications().Choose(b.ctx, []helpdesk.NotifyChoice{{Kind: helpdesk.NotifyUnassigned, Channels: []helpdesk.NotificationChannel{helpdesk.ChannelDesk}}}))(t)
	for n := range 7 {
		m := opening()
		m.MessageID = fmt.Sprint(n, "@example.com")
		b.receive(m)
	}
	b.tell()
	told := func(d *helpdesk.Desk, after int64) []int64 {
		t.Helper()
		var ids []int64
		for _, n := range must(d.Notifications().ForBrowser(b.ctx, after))(t) {
			ids = append(ids, n.ID)
		}
		return ids
	}
	newest := told(agent, 0)
	if len(newest) != 5 || !slices.IsSortedFunc(newest, func(a, b int64) int { return int(b - a) }) {
		t.Fatalf("told of %d", newest)
	}
	if diff := cmp.Diff(newest[:2], told(agent, newest[2])); diff != "" {
		t.Errorf("newer than one: %s", diff)
	}
	must(agent.Notifications().MarkRead(b.ctx, newest[0]))(t)
	if diff := cmp.Diff([]int64{newest[1]}, told(agent, newest[2])); diff != "" {
		t.Errorf("one was read: %s", diff)
	}
	if got := told(muted, 0); got != nil {
		t.Errorf("who does not want it is told of %d", got)
	}
	b.clock.Add(6 * time.Minute)
	if got := told(agent, 0); got != nil {
		t.Errorf("told of what is old: %d", got)
	}
}

// Many acts in one go make one notification each, and one event each.
func TestBulkNotifications(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	agent := b.member(identity.RoleAgent)
	var ids []int64
	for range helpdesk.MaxBulk {
		ids = append(ids, must(b.desk.Conversations().Create(b.ctx, helpdesk.ConversationInput{Channel: "email", To: "ada@example.com"}))(t).ID)
	}
	must(b.desk.Conversations().UpdateAll(b.ctx, ids, helpdesk.BulkUpdate{UserID: storage.Some(agent.UserID())}))(t)
	b.tell()
	if n := must(agent.Notifications().Unread(b.ctx))(t); n != helpdesk.MaxBulk {
		t.Errorf("%d notifications", n)
	}
	if n := len(b.kinds("notification.")); n != helpdesk.MaxBulk {
		t.Errorf("%d events", n)
	}
}

func TestNotifyChoices(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	chosen := must(b.desk.Notifications().Choices(b.ctx))(t)
	for _, k := range helpdesk.NotificationKinds() {
		for _, in := range helpdesk.NotificationChannels() {
			want := in != helpdesk.ChannelMail || k != helpdesk.NotifyUnassigned
			if chosen.Tells(k, in) != want {
				t.Errorf("%s by %s: %t by default", k, in, !want)
			}
		}
	}
	mail := []helpdesk.NotificationChannel{helpdesk.ChannelMail}
	must(b.desk.Notifications().Choose(b.ctx, []helpdesk.NotifyChoice{{Kind: helpdesk.NotifyReplied, Channels: append(mail, mail...)}}))(t)
	must(b.desk.Notifications().Choose(b.ctx, []helpdesk.NotifyChoice{{Kind: helpdesk.NotifyFailed}}))(t)
	chosen = must(b.desk.Notifications().Choices(b.ctx))(t)
	for _, c := range chosen.Choices {
		if c.Kind == helpdesk.NotifyReplied && !slices.Equal(c.Channels, mail) || c.Kind == helpdesk.NotifyFailed && len(c.Channels) > 0 {
			t.Errorf("chosen: %v", c)
		}
	}
	_, err := b.desk.Notifications().Choose(b.ctx, []helpdesk.NotifyChoice{{Kind: "nonsense"}, {Kind: helpdesk.NotifyFailed, Channels: []helpdesk.NotificationChannel{"pigeon"}}})
	want := fault.Fields{"choices[0][kind]": {"must be assigned, unassigned, replied, mentioned, failed or mailbox"}, "failed[0]": {"must be desk, browser or mail"}}
	if diff := cmp.Diff(want, fieldsOf(err)); diff != "" {
		t.Error(diff)
	}
}

func TestMentions(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	agent := b.member(identity.RoleAgent)
	agentMail := must(b.desk.Members().Users(b.ctx, []int64{agent.UserID()}))(t)[0].Email
	c := b.receive(opening()).ConversationID
	link := func(id int64, name string) string {
		return fmt.Sprintf(`<a href="mailto:member-%d@mention.invalid" rel="noopener noreferrer nofollow" target="_blank">@%s</a>`, id, name)
	}
	name, _, _ := strings.Cut(agentMail, "@")
	for what, tt := range map[string]struct{ body, want string }{
		"typed":               {"Hello @" + agentMail + ", look.", "Hello " + link(agent.UserID(), name) + ", look."},
		"typed in HTML":       {"<p>Hello @" + agentMail + "</p>", "<p>Hello " + link(agent.UserID(), name) + "</p>"},
		"an address":          {"Write to " + agentMail, "Write to " + agentMail},
		"a stranger":          {"Hello @nobody@example.net", "Hello @nobody@example.net"},
		"of no account":       {"<p>" + link(1<<40, "Eve &lt;b&gt;") + "</p>", "<p>@Eve &lt;b&gt;</p>"},
		"no number":           {`<p><a href="mailto:member-x@mention.invalid">x</a></p>`, `<p><a href="mailto:member-x@mention.invalid" rel="noopener noreferrer nofollow" target="_blank">x</a></p>`},
		"in another link":     {`<p><a href="https://example.org/">@` + agentMail + `</a></p>`, `<p><a href="https://example.org/" rel="noopener noreferrer nofollow" target="_blank">@` + agentMail + `</a></p>`},
		"with a name made up": {"<p>" + link(agent.UserID(), "The boss") + "</p>", "<p>" + link(agent.UserID(), name) + "</p>"},
	} {
		i := b.jot(b.desk, c, tt.body)
		shown := must(b.desk.Interactions().Show(b.ctx, []helpdesk.Interaction{i}, helpdesk.BodyView{}))(t)
		if diff := cmp.Diff(tt.want, shown[0].HTML); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	var many strings.Builder
	for n := range 10_000 {
		fmt.Fprintf(&many, "@a%d@example.org ", n)
	}
	_, err := b.desk.Interactions().Create(b.ctx, c, helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: many.String()})
	if diff := cmp.Diff(fault.Fields{"body": {"mentions more than 50 members"}}, fieldsOf(err)); diff != "" {
		t.Error(diff)
	}
}

func ExampleNotifications_List() {
	fmt.Println(helpdesk.NotificationKinds())
	// Output: [assigned unassigned replied mentioned failed mailbox rule]
}
