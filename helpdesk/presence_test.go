package helpdesk_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
)

// Two agents see each other at a conversation while they report their presence.
func TestPresence(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	agent := b.member(identity.RoleAgent)
	id := b.receive(opening()).ConversationID
	seen := func() map[int64]helpdesk.Doing {
		out := map[int64]helpdesk.Doing{}
		for _, p := range must(agent.Conversations().PresenceOf(b.ctx, []int64{id}))(t) {
			out[p.UserID] = p.Doing
		}
		return out
	}
	owner := b.owner.ID
	for _, tt := range []struct {
		name   string
		after  time.Duration
		desk   *helpdesk.Desk
		doing  helpdesk.Doing
		want   map[int64]helpdesk.Doing
		events int // so far
	}{
		{"who was never there leaves", 0, b.desk, helpdesk.Gone, map[int64]helpdesk.Doing{}, 0},
		{"one comes", 0, b.desk, helpdesk.Reading, map[int64]helpdesk.Doing{owner: helpdesk.Reading}, 1},
		{"says it again", 20 * time.Second, b.desk, helpdesk.Reading, map[int64]helpdesk.Doing{owner: helpdesk.Reading}, 1},
		{"another comes", 40 * time.Second, agent, helpdesk.Reading, map[int64]helpdesk.Doing{owner: helpdesk.Reading, agent.UserID(): helpdesk.Reading}, 2},
		{"and writes", time.Second, agent, helpdesk.Replying, map[int64]helpdesk.Doing{owner: helpdesk.Reading, agent.UserID(): helpdesk.Replying}, 3},
		{"the first said nothing for long", 5 * time.Second, agent, helpdesk.Replying, map[int64]helpdesk.Doing{agent.UserID(): helpdesk.Replying}, 3},
		{"comes back", time.Second, b.desk, helpdesk.Replying, map[int64]helpdesk.Doing{owner: helpdesk.Replying, agent.UserID(): helpdesk.Replying}, 4},
		{"leaves", time.Second, agent, helpdesk.Gone, map[int64]helpdesk.Doing{owner: helpdesk.Replying}, 5},
	} {
		b.clock.Add(tt.after)
		must(tt.desk.Conversations().Present(b.ctx, id, tt.doing))(t)
		if diff := cmp.Diff(tt.want, seen()); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
		if n := len(slices.DeleteFunc(b.kinds("conversation."), func(kind string) bool { return kind != "conversation.presence" })); n != tt.events {
			t.Errorf("%s: %d events, not %d", tt.name, n, tt.events)
		}
	}
	if _, err := b.desk.Conversations().Present(b.ctx, id, "sleeping"); !errors.Is(err, helpdesk.ErrInvalid) {
		t.Errorf("sleeping: %v", err)
	}
	if _, err := b.desk.Conversations().PresenceOf(b.ctx, make([]int64, 101)); !errors.Is(err, helpdesk.ErrInvalid) {
		t.Errorf("101 ids: %v", err)
	}
	if _, err := b.desk.Conversations().Present(b.ctx, id+1, helpdesk.Reading); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("nowhere: %v", err)
	}
}
