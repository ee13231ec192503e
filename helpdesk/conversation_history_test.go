package helpdesk_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// lineOf is an entry as a line.
func lineOf(e helpdesk.HistoryEntry) string {
	var fields []string
	for field := range e.Changes {
		fields = append(fields, field)
	}
	slices.Sort(fields)
	line := fmt.Sprintf("%s %d: %s %s", e.Actor.Type, e.Actor.ID, strings.Join(e.Events, "+"), strings.Join(fields, ","))
	if e.Type == helpdesk.HistoryInteraction {
		line = fmt.Sprintf("%s %d: said %d", e.Actor.Type, e.Actor.ID, e.InteractionID)
	}
	if e.Why != (helpdesk.HistoryReason{}) {
		line += fmt.Sprintf(" because %+v", e.Why)
	}
	return line
}

func TestConversationHistory(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.receive(opening()).ConversationID
	b.clock.Add(time.Minute)
	must(b.desk.Conversations().Update(b.ctx, id, helpdesk.ConversationUpdate{Subject: storage.Some("Door"), Priority: storage.Some(helpdesk.PriorityHigh)}))(t)
	b.clock.Add(time.Minute)
	b.answer(id, helpdesk.InteractionInput{})
	b.clock.Add(time.Minute)
	must(b.desk.Conversations().UpdateAll(b.ctx, []int64{id}, helpdesk.BulkUpdate{Status: storage.Some(helpdesk.StatusClosed)}))(t)
	b.clock.Add(time.Minute)
	again := opening()
	again.MessageID, again.References, again.Text = "2@example.com", []string{"1@example.com"}, "Still stuck."
	b.receive(again)
	want := []string{
		"customer 1: said 1",
		"customer 1: conversation.created customer_id,mailbox_id,priority,status,subject",
		"user 1: conversation.updated+conversation.prioritized priority,subject",
		"user 1: said 2",
		"user 1: conversation.updated+conversation.closed status",
		"customer 1: said 3",
		"customer 1: conversation.reopened status because {Reason: Via: InteractionID:3 From:0 Number:0 Into:0 RuleVersion:0 RuleRunID:0 MacroID:0 Target:{Kind: DueAt:0001-01-01 00:00:00 +0000 UTC} Assignment:{Reason: Strategy: Who: Capacity:0 Load:0 Free:0 Of:0 Hours:0} Verdict: Score:0 Scale:0}",
	}
	for _, newest := range []bool{false, true} {
		for limit := 1; limit <= 8; limit++ {
			var got []string
			for req := (storage.PageRequest{Limit: limit}); ; {
				page := must(b.desk.Conversations().History(b.ctx, id, helpdesk.HistoryQuery{Newest: newest}, req))(t)
				for _, e := range page.Items {
					got = append(got, lineOf(e))
				}
				if req.Cursor = page.Next; req.Cursor == "" {
					break
				}
			}
			if newest {
				slices.Reverse(got)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("in pages of %d, newest first: %v: %s", limit, newest, diff)
			}
		}
	}
	changes := must(b.desk.Conversations().History(b.ctx, id, helpdesk.HistoryQuery{Type: helpdesk.HistoryChange}, storage.PageRequest{}))(t).Items
	said := must(b.desk.Conversations().History(b.ctx, id, helpdesk.HistoryQuery{Type: helpdesk.HistoryInteraction}, storage.PageRequest{}))(t).Items
	if len(changes) != 4 || len(said) != 3 {
		t.Errorf("%d changes and %d interactions", len(changes), len(said))
	}
}

// A merged conversation's history tells of the merge; the interactions are there.
func TestHistoryOfMerge(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	adas, bobs := b.pair()
	must(b.desk.Conversations().Merge(b.ctx, adas, bobs))(t)
	var got []string
	for _, e := range must(b.desk.Conversations().History(b.ctx, bobs, helpdesk.HistoryQuery{Type: helpdesk.HistoryChange}, storage.PageRequest{}))(t).Items {
		got = append(got, lineOf(e))
	}
	want := fmt.Sprintf("From:%d Number:1", adas)
	if !slices.ContainsFunc(got, func(line string) bool {
		return strings.Contains(line, "conversation.absorbed") && strings.Contains(line, want)
	}) {
		t.Errorf("%q", got)
	}
}

// Who changed what in a conversation, from what to what.
func ExampleConversations_History() {
	ctx := context.Background()
	_, desk, _ := exampleDesk(ctx)
	c, _ := desk.Conversations().Create(ctx, helpdesk.ConversationInput{Channel: "email", To: "ada@example.com", Subject: "The door is stuck"})
	_, _ = desk.Conversations().UpdateAll(ctx, []int64{c.ID}, helpdesk.BulkUpdate{
		Priority: storage.Some(helpdesk.PriorityUrgent), Status: storage.Some(helpdesk.StatusPending),
	})
	page, err := desk.Conversations().History(ctx, c.ID, helpdesk.HistoryQuery{Type: helpdesk.HistoryChange, Newest: true}, storage.PageRequest{Limit: 1})
	if err != nil {
		panic(err)
	}
	last := page.Items[0]
	fmt.Println(last.Actor.Type, last.Actor.ID, last.Events)
	for _, field := range []string{"priority", "status"} {
		from, _ := last.Changes[field].From.Get()
		to, _ := last.Changes[field].To.Get()
		fmt.Printf("%s: %v → %v\n", field, from, to)
	}
	// Output:
	// user 1 [conversation.updated conversation.paused conversation.prioritized]
	// priority: normal → urgent
	// status: posted → pending
}
