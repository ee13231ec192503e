package helpdesk_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// New messages since those that the author has seen keep an answer back.
func TestCrossing(t *testing.T) {
	t.Parallel()
	draft := helpdesk.InteractionInput{Type: helpdesk.TypeUser, Status: helpdesk.StatusDraft, Body: "Soon."}
	say := func(b *bundle, d *helpdesk.Desk, id int64, in helpdesk.InteractionInput) int64 {
		b.t.Helper()
		b.clock.Add(time.Second)
		return must(d.Interactions().Create(b.ctx, id, in))(b.t).ID
	}
	for name, tt := range map[string]struct {
		meanwhile func(b *bundle, other *helpdesk.Desk, id int64) int64 // returns the crossing message, 0 for none
	}{
		"nothing": {func(*bundle, *helpdesk.Desk, int64) int64 { return 0 }},
		"the customer": {func(b *bundle, _ *helpdesk.Desk, id int64) int64 {
			m := opening()
			m.MessageID, m.References = "2@example.com", []string{"1@example.com"}
			return b.receive(m).InteractionID
		}},
		"another agent": {func(b *bundle, other *helpdesk.Desk, id int64) int64 {
			return say(b, other, id, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "Pull."})
		}},
		"a note": {func(b *bundle, other *helpdesk.Desk, id int64) int64 {
			say(b, other, id, helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: "Hm."})
			return 0
		}},
		"another agent's draft": {func(b *bundle, other *helpdesk.Desk, id int64) int64 { say(b, other, id, draft); return 0 }},
		"an answer of one's own": {func(b *bundle, _ *helpdesk.Desk, id int64) int64 {
			say(b, b.desk, id, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "Push."})
			return 0
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			id := b.receive(opening()).ConversationID
			other := b.member(identity.RoleAgent)
			seen := helpdesk.NewestSeen(b.interactions(id))
			mine := say(b, b.desk, id, draft)
			want := tt.meanwhile(b, other, id)
			post := func(seen storage.Opt[helpdesk.Seen]) error {
				_, err := b.desk.Interactions().Update(b.ctx, id, mine, helpdesk.InteractionUpdate{Status: storage.Some(helpdesk.StatusPosted), Seen: seen})
				return err
			}
			_, created := b.desk.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "Now.", Seen: storage.Some(seen)})
			posted := post(storage.Some(seen))
			for what, err := range map[string]error{"new": created, "a draft": posted} {
				if want == 0 && err != nil {
					t.Errorf("%s: %v", what, err)
				}
				if f, _ := errors.AsType[*fault.Error](err); want != 0 && (f == nil || f.Kind != fault.Conflict || f.Code != helpdesk.CodeCrossed || f.ID != want) {
					t.Errorf("%s: %v, want it crossed by %d", what, err, want)
				}
			}
			if want == 0 {
				return
			}
			if i := must(b.desk.Interactions().Get(b.ctx, id, mine))(t); i.Status != helpdesk.StatusDraft {
				t.Errorf("the draft was sent: %+v", i)
			}
			if err := post(storage.Some(helpdesk.Seen{ID: want})); err != nil {
				t.Errorf("after it was seen: %v", err)
			}
		})
	}
}

// A draft counts from the time it was posted; deleted messages count by their id.
func TestCrossingOfOldDrafts(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.receive(opening()).ConversationID
	other := b.member(identity.RoleAgent)
	draft := must(other.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Status: helpdesk.StatusDraft, Body: "Pull."}))(t)
	b.clock.Add(time.Second)
	m := opening()
	m.MessageID, m.References = "2@example.com", []string{"1@example.com"}
	reply := b.receive(m).InteractionID
	b.clock.Add(time.Second)
	must(other.Interactions().Update(b.ctx, id, draft.ID, helpdesk.InteractionUpdate{Status: storage.Some(helpdesk.StatusPosted)}))(t)
	post := func(seen storage.Opt[helpdesk.Seen]) error {
		b.clock.Add(time.Second)
		_, err := b.desk.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "Now.", Seen: seen})
		return err
	}
	newest := helpdesk.NewestSeen(b.interactions(id))
	if newest.ID != draft.ID {
		t.Errorf("%d was said last, want the draft %d", newest.ID, draft.ID)
	}
	for _, tt := range []struct {
		name    string
		seen    storage.Opt[helpdesk.Seen]
		crossed bool
	}{
		{"the draft when it was posted", storage.Some(newest), false},
		{"the draft before it was posted again", storage.Some(helpdesk.Seen{ID: draft.ID, At: newest.At.Add(-time.Second)}), true},
		{"the reply that has a higher id", storage.Some(helpdesk.Seen{ID: reply}), true},
		{"the draft that was posted after it", storage.Some(helpdesk.Seen{ID: draft.ID}), false},
		{"nothing", storage.Some(helpdesk.Seen{}), true},
		{"what is not in the conversation", storage.Some(helpdesk.Seen{ID: reply + 1000}), false},
		{"not said", storage.Opt[helpdesk.Seen]{}, false},
		{"null", storage.Null[helpdesk.Seen](), false},
	} {
		if err := post(tt.seen); (err != nil) != tt.crossed || tt.crossed && !errors.Is(err, helpdesk.ErrConflict) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// Two agents work on one conversation. Whatever the order in which they open it, draft, send, call back and send again: an
// answer goes out unnoticed only if its author had seen the other's.
func TestCrossingOrders(t *testing.T) {
	t.Parallel()
	steps := []string{"A opens", "A drafts", "B drafts", "B sends", "B calls back", "B sends again"}
	var try func(done, left []string)
	try = func(done, left []string) {
		if len(left) == 0 {
			t.Run(strings.Join(done, ", "), func(t *testing.T) {
				t.Parallel()
				crossingOrder(t, done)
			})
			return
		}
		for n, step := range left {
			before := slices.DeleteFunc(slices.Clone(left), func(s string) bool { return s == step })
			ordered := !slices.ContainsFunc(left[:n], func(s string) bool { return s[0] == step[0] && step != "A opens" }) // each agent's own order
			if step == "A opens" || ordered {
				try(append(slices.Clone(done), step), before)
			}
		}
	}
	try(nil, steps)
}

func crossingOrder(t *testing.T, steps []string) {
	t.Helper()
	b := newBundle(t)
	id := b.receive(opening()).ConversationID
	b.hold(30 * time.Second)
	other := b.member(identity.RoleAgent)
	var seen helpdesk.Seen
	var mine, theirs int64
	sawLast, opened := false, false
	update := func(d *helpdesk.Desk, id, interaction int64, in helpdesk.InteractionUpdate) error {
		_, err := d.Interactions().Update(b.ctx, id, interaction, in)
		return err
	}
	draft := func(d *helpdesk.Desk) int64 {
		return must(d.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Status: helpdesk.StatusDraft, Body: "Soon."}))(t).ID
	}
	for _, step := range steps {
		b.clock.Add(time.Second)
		var err error
		switch step {
		case "A opens":
			seen, sawLast, opened = helpdesk.NewestSeen(b.interactions(id)), true, true
		case "A drafts":
			mine = draft(b.desk)
		case "B drafts":
			theirs = draft(other)
		case "B sends", "B sends again":
			err = update(other, id, theirs, helpdesk.InteractionUpdate{Status: storage.Some(helpdesk.StatusPosted)})
			sawLast = false
		case "B calls back":
			_, err = other.Interactions().CancelSending(b.ctx, id, theirs)
		}
		if err != nil {
			t.Fatalf("%s: %v", step, err)
		}
	}
	if !opened {
		t.Fatal("A has not opened it")
	}
	b.clock.Add(time.Second)
	err := update(b.desk, id, mine, helpdesk.InteractionUpdate{Status: storage.Some(helpdesk.StatusPosted), Seen: storage.Some(seen)})
	f, _ := errors.AsType[*fault.Error](err)
	if crossed := f != nil && f.Code == helpdesk.CodeCrossed && f.ID == theirs; crossed == sawLast || crossed != (err != nil) {
		t.Errorf("A's answer: %v; saw the last answer of B: %v", err, sawLast)
	}
}
