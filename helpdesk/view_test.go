package helpdesk_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// found are the subjects that a query finds.
func found(b *bundle, d *helpdesk.Desk, q helpdesk.ConversationQuery) []string {
	b.t.Helper()
	subjects := []string{}
	for _, c := range must(d.Conversations().List(b.ctx, q, storage.PageRequest{}))(b.t).Items {
		subjects = append(subjects, c.Subject)
	}
	return subjects
}

func (b *bundle) begin(subject string, status helpdesk.Status, user storage.Opt[int64]) int64 {
	b.t.Helper()
	b.clock.Add(1e9)
	return must(b.desk.Conversations().Create(b.ctx, helpdesk.ConversationInput{
		Channel: "email", To: "ada@example.com", Subject: subject, Status: status, UserID: user,
	}))(b.t).ID
}

func TestViewFilters(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	agent := b.member(identity.RoleAgent)
	b.begin("free", helpdesk.StatusPosted, storage.Opt[int64]{})
	tagged := b.begin("owner's", helpdesk.StatusPosted, storage.Some(b.owner.ID))
	b.begin("agent's", helpdesk.StatusPending, storage.Some(agent.UserID()))
	b.begin("done", helpdesk.StatusClosed, storage.Some(agent.UserID()))
	tag := b.tag("x")
	must(b.desk.Conversations().SetTags(b.ctx, tagged, []int64{tag}))(t)
	view := func(f helpdesk.ViewFilter) int64 {
		return must(b.desk.Views().Create(b.ctx, helpdesk.ViewInput{Name: "V", Filter: f}))(t).ID
	}
	mine := view(helpdesk.ViewFilter{Agent: helpdesk.AgentMe, Sort: helpdesk.ByNumber, Ascending: true})
	for _, tt := range []struct {
		name  string
		desk  *helpdesk.Desk
		query helpdesk.ConversationQuery
		want  []string
	}{
		{"everything", b.desk, helpdesk.ConversationQuery{ViewID: view(helpdesk.ViewFilter{})}, []string{"done", "agent's", "owner's", "free"}},
		{"mine, of the owner", b.desk, helpdesk.ConversationQuery{ViewID: mine}, []string{"owner's"}},
		{"mine, of the agent", agent, helpdesk.ConversationQuery{ViewID: mine}, []string{"agent's", "done"}},
		{"another order", agent, helpdesk.ConversationQuery{ViewID: mine, Sort: helpdesk.ByNumber}, []string{"done", "agent's"}},
		{"one more filter", agent, helpdesk.ConversationQuery{ViewID: mine, Statuses: []helpdesk.Status{helpdesk.StatusClosed}}, []string{"done"}},
		{"another user", agent, helpdesk.ConversationQuery{ViewID: mine, UserID: storage.Null[int64]()}, []string{"free"}},
		{"unassigned", agent, helpdesk.ConversationQuery{ViewID: view(helpdesk.ViewFilter{Agent: helpdesk.AgentUnassigned})}, []string{"free"}},
		{"statuses", agent, helpdesk.ConversationQuery{ViewID: view(helpdesk.ViewFilter{
			Statuses: []helpdesk.Status{helpdesk.StatusPending, helpdesk.StatusClosed}})}, []string{"done", "agent's"}},
		{"a tag", b.desk, helpdesk.ConversationQuery{ViewID: view(helpdesk.ViewFilter{TagIDs: []int64{tag}})}, []string{"owner's"}},
		{"an id", b.desk, helpdesk.ConversationQuery{ViewID: view(helpdesk.ViewFilter{Agent: "1"})}, []string{"owner's"}},
	} {
		if diff := cmp.Diff(tt.want, found(b, tt.desk, tt.query)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	of := view(helpdesk.ViewFilter{TagIDs: []int64{tag}})
	if err := b.desk.Tags().Delete(b.ctx, tag); err != nil {
		t.Fatal(err)
	}
	if got := found(b, b.desk, helpdesk.ConversationQuery{ViewID: of}); len(got) > 0 {
		t.Errorf("a view of a deleted tag finds %v", got)
	}
}

func TestViewProblems(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	_, err := b.desk.Views().Create(b.ctx, helpdesk.ViewInput{Filter: helpdesk.ViewFilter{
		Agent: "you", Statuses: []helpdesk.Status{"posted", "open"}, Sort: "size", TagIDs: make([]int64, 1),
	}})
	want := fault.Fields{
		"name": {"is required"}, "filter[agent]": {"must be me, unassigned or a user's id"},
		"filter[status][1]": {"must be posted, draft, pending or closed"},
		"filter[sort_by]":   {"must be updated_at, created_at, number, customer_awaiting_reply_since or due_at"},
	}
	if diff := cmp.Diff(want, fieldsOf(err)); diff != "" {
		t.Error(diff)
	}
	for name, f := range map[string]helpdesk.ViewFilter{
		"mailbox": {MailboxID: 99}, "customer": {CustomerID: 99}, "tag": {TagIDs: []int64{99}}, "user": {Agent: "99"},
	} {
		if _, err := b.desk.Views().Create(b.ctx, helpdesk.ViewInput{Name: "V", Filter: f}); !errors.Is(err, helpdesk.ErrNotFound) {
			t.Errorf("an absent %s: %v", name, err)
		}
	}
	for name, q := range map[string]helpdesk.ConversationQuery{"view": {ViewID: 99}, "tag": {TagIDs: []int64{99}}} {
		if _, err := b.desk.Conversations().List(b.ctx, q, storage.PageRequest{}); !errors.Is(err, helpdesk.ErrNotFound) {
			t.Errorf("an absent %s in a list: %v", name, err)
		}
	}
}

// A view can be saved with its own filter after what the filter names is gone; what is new in it still has to be there.
func TestViewOutlivesItsNames(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	gone, kept := b.tag("gone"), b.tag("kept")
	team := must(b.desk.Teams().Create(b.ctx, helpdesk.TeamInput{Name: "T"}))(t).ID
	f := helpdesk.ViewFilter{TagIDs: []int64{gone, kept}, TeamID: team}
	v := must(b.desk.Views().Create(b.ctx, helpdesk.ViewInput{Name: "V", Filter: f}))(t)
	for _, err := range []error{b.desk.Tags().Delete(b.ctx, gone), b.desk.Teams().Delete(b.ctx, team)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	v = must(b.desk.Views().Get(b.ctx, v.ID))(t)
	saved := must(b.desk.Views().Update(b.ctx, v.ID, helpdesk.ViewInput{Name: "Renamed", Filter: v.Filter}))(t)
	if diff := cmp.Diff(v.Filter, saved.Filter); diff != "" {
		t.Error(diff)
	}
	if _, err := b.desk.Conversations().List(b.ctx, helpdesk.ConversationQuery{ViewID: v.ID}, storage.PageRequest{}); err != nil {
		t.Error(err)
	}
	for name, f := range map[string]helpdesk.ViewFilter{
		"mailbox": {MailboxID: 99}, "customer": {CustomerID: 99}, "tag": {TagIDs: []int64{gone, 99}}, "user": {Agent: "99"}, "team": {TeamID: 99},
	} {
		if _, err := b.desk.Views().Update(b.ctx, v.ID, helpdesk.ViewInput{Name: "V", Filter: f}); !errors.Is(err, helpdesk.ErrNotFound) {
			t.Errorf("a new %s that is not there: %v", name, err)
		}
	}
}

// Who sees a view, and who may change it.
func TestViewVisibility(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	maker, inTeam, other := b.member(identity.RoleAgent), b.member(identity.RoleAgent), b.member(identity.RoleAgent)
	team := must(b.desk.Teams().Create(b.ctx, helpdesk.TeamInput{Name: "T", MemberIDs: storage.Some([]int64{inTeam.UserID()})}))(t).ID
	create := func(name string, seen helpdesk.ViewVisibility, team int64) helpdesk.View {
		return must(maker.Views().Create(b.ctx, helpdesk.ViewInput{Name: name, Visibility: storage.Some(seen), TeamID: team}))(t)
	}
	views := []helpdesk.View{create("mine", helpdesk.ViewPrivate, 0), create("ours", helpdesk.ViewOfTeam, team), create("everybody's", helpdesk.ViewShared, 0)}
	views = append(views, must(maker.Views().Create(b.ctx, helpdesk.ViewInput{Name: "as before"}))(t))
	names := func(d *helpdesk.Desk) []string {
		seen := []string{}
		for _, v := range must(d.Views().List(b.ctx, storage.PageRequest{}))(t).Items {
			seen = append(seen, v.Name)
		}
		return seen
	}
	for _, tt := range []struct {
		name string
		desk *helpdesk.Desk
		want []string
	}{
		{"its creator", maker, []string{"mine", "ours", "everybody's", "as before"}},
		{"one of the team", inTeam, []string{"ours", "everybody's", "as before"}},
		{"a colleague", other, []string{"everybody's", "as before"}},
		{"the owner", b.desk, []string{"everybody's", "as before"}},
	} {
		if diff := cmp.Diff(tt.want, names(tt.desk)); diff != "" {
			t.Errorf("%s sees: %s", tt.name, diff)
		}
		for _, v := range views {
			sees := false
			for _, name := range tt.want {
				sees = sees || name == v.Name
			}
			_, one := tt.desk.Views().Get(b.ctx, v.ID)
			_, list := tt.desk.Conversations().List(b.ctx, helpdesk.ConversationQuery{ViewID: v.ID}, storage.PageRequest{})
			_, change := tt.desk.Views().Update(b.ctx, v.ID, helpdesk.ViewInput{Name: v.Name})
			for what, err := range map[string]error{"View": one, "Conversations": list, "UpdateView": change} {
				if sees != (err == nil) || !sees && !errors.Is(err, helpdesk.ErrNotFound) {
					t.Errorf("%s, %s of %q: %v", tt.name, what, v.Name, err)
				}
			}
			if !sees {
				if err := tt.desk.Views().Delete(b.ctx, v.ID); !errors.Is(err, helpdesk.ErrNotFound) {
					t.Errorf("%s deletes %q: %v", tt.name, v.Name, err)
				}
			}
		}
	}
}

// A view can change hands, but is not taken from others or left to nobody.
func TestViewChangesHands(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	maker, inTeam := b.member(identity.RoleAgent), b.member(identity.RoleAgent)
	team := must(b.desk.Teams().Create(b.ctx, helpdesk.TeamInput{Name: "T", MemberIDs: storage.Some([]int64{inTeam.UserID()})}))(t).ID
	shown := func(seen helpdesk.ViewVisibility, team int64) helpdesk.ViewInput {
		return helpdesk.ViewInput{Name: "V", Visibility: storage.Some(seen), TeamID: team}
	}
	v := must(maker.Views().Create(b.ctx, shown(helpdesk.ViewShared, 0)))(t)
	if _, err := inTeam.Views().Update(b.ctx, v.ID, shown(helpdesk.ViewPrivate, 0)); !fault.Is(err, fault.Forbidden) {
		t.Errorf("somebody else makes a view private: %v", err)
	}
	if _, err := maker.Views().Update(b.ctx, v.ID, shown(helpdesk.ViewOfTeam, 99)); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("a view of an absent team: %v", err)
	}
	for _, in := range []helpdesk.ViewInput{shown(helpdesk.ViewOfTeam, 0), shown(helpdesk.ViewShared, team), shown("all", 0)} {
		if _, err := maker.Views().Update(b.ctx, v.ID, in); !fault.Is(err, fault.Invalid) {
			t.Errorf("%+v: %v", in, err)
		}
	}
	v = must(inTeam.Views().Update(b.ctx, v.ID, shown(helpdesk.ViewOfTeam, team)))(t)
	if v.Visibility != helpdesk.ViewOfTeam || v.TeamID != team {
		t.Errorf("%+v", v)
	}
	if err := b.desk.Teams().Delete(b.ctx, team); err != nil {
		t.Fatal(err)
	}
	if v = must(maker.Views().Get(b.ctx, v.ID))(t); v.Visibility != helpdesk.ViewPrivate || v.TeamID != 0 {
		t.Errorf("after its team was deleted: %+v", v)
	}
}
