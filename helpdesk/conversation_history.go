package helpdesk

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/sla"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// HistoryType is the type of a [HistoryEntry].
type HistoryType string

// The types of entries.
const (
	HistoryChange      HistoryType = "change"      // events
	HistoryInteraction HistoryType = "interaction" // something was said
)

// HistoryEntry is one thing that happened in a conversation.
type HistoryEntry struct {
	Type HistoryType
	At   time.Time
	// Events are the types of the events of a change, in order: an operation often writes several. Seq is the first one's.
	Events []string
	Seq    int64
	// InteractionID is the interaction that was said, or that changed; 0: the conversation changed.
	InteractionID int64
	Interaction   Interaction // that was said, without its body; zero for changes
	Actor         subscription.Actor
	UserID        int64 // acting user, also of an access token; 0: none
	Changes       subscription.Changes
	Why           HistoryReason
}

// HistoryReason says why something happened, as far as it is not somebody's own decision. Fields that do not apply are empty.
type HistoryReason struct {
	Reason        string `json:"reason,omitempty"`         // one of the Returned constants, of a scheduled reply that was not sent
	Via           string `json:"via,omitempty"`            // "email": a member's mail to the desk did it
	InteractionID int64  `json:"interaction_id,omitempty"` // the interaction that caused it
	From          int64  `json:"from,omitempty"`           // conversation that was merged into this one, or that an interaction came from
	Number        int64  `json:"number,omitempty"`         // of the conversation that was merged into this one
	Into          int64  `json:"into,omitempty"`           // conversation that interactions of this one became
	RuleVersion   int    `json:"rule_version,omitempty"`   // of the rule that is the actor
	RuleRunID     int64  `json:"rule_run_id,omitempty"`    // its run, which has the conditions that held
	MacroID       int64  `json:"macro_id,omitempty"`       // the saved reply whose actions did it; it may be gone
	// Target is what the SLA that acted promised, of which the event tells what became.
	Target HistoryTarget `json:"target,omitzero"`
	// Assignment is why the team that acted gave the conversation to a member, or took it back.
	Assignment AssignmentReason `json:"assignment,omitzero"`
	// Verdict, Score and Scale are those of a rating that was given or changed.
	Verdict Verdict `json:"verdict,omitempty"`
	Score   int     `json:"score,omitempty"`
	Scale   int     `json:"scale,omitempty"`
}

// HistoryTarget is a target of an SLA.
type HistoryTarget struct {
	Kind  sla.Kind  `json:"kind"`
	DueAt time.Time `json:"due_at"`
}

// HistoryQuery narrows and orders a history.
type HistoryQuery struct {
	Type   HistoryType // "": all entries
	Newest bool        // newest first; otherwise oldest first
}

// maxHistory is how many events a history goes back.
const maxHistory = 2000

// eventPosition is added to the Seq of a change in its position: at the same time, it comes after what was said.
const eventPosition = 1 << 62

// History lists what happened in a conversation: who changed what from what to what, and why, and the interactions
// in between. It needs conversations.view, and shows interactions only to those who may view them. Changes are those of the
// newest 2,000 events in mailboxes that the member reaches. It goes back as far as the log of events does, 90 days by default,
// see Retention.Events; interactions go back to the beginning. What happened to a conversation before it was merged into
// this one is not in it.
func (d Conversations) History(ctx context.Context, id int64, q HistoryQuery, req storage.PageRequest) (storage.Page[HistoryEntry], error) {
	var none storage.Page[HistoryEntry]
	r, err := d.guard.Read(identity.ConversationsView)
	if err != nil {
		return none, err
	}
	if q.Type != "" && q.Type != HistoryChange && q.Type != HistoryInteraction {
		return none, fault.Field("type", "must be change or interaction")
	}
	if _, err := r.Conversations().Get(ctx, id); err != nil {
		return none, err
	}
	var changes []HistoryEntry
	if q.Type != HistoryInteraction {
		if changes, err = d.historyChanges(ctx, r, id); err != nil {
			return none, err
		}
	}
	return storage.List(req, q.Newest, HistoryEntry.position, func(seek storage.Seek) ([]HistoryEntry, error) {
		entries := beyondChanges(changes, seek)
		if q.Type != HistoryChange && d.guard.Allows(identity.InteractionsView) {
			said, err := historyInteractions(ctx, r, id, seek)
			if err != nil {
				return nil, err
			}
			entries = append(entries, said...)
		}
		slices.SortFunc(entries, func(a, b HistoryEntry) int { return compareHistory(a, b, seek.Desc) })
		return entries[:min(len(entries), seek.Limit)], nil
	})
}

func (e HistoryEntry) position() storage.Position {
	p := storage.Position{Key: e.At.UnixMicro(), ID: e.InteractionID}
	if e.Type == HistoryChange {
		p.ID = eventPosition + e.Seq
	}
	return p
}

func compareHistory(a, b HistoryEntry, desc bool) int {
	p, q := a.position(), b.position()
	if desc {
		p, q = q, p
	}
	return cmp.Or(cmp.Compare(p.Key, q.Key), cmp.Compare(p.ID, q.ID))
}

// beyondChanges returns the changes that a page begins with.
func beyondChanges(all []HistoryEntry, seek storage.Seek) []HistoryEntry {
	if seek.From == nil {
		return slices.Clone(all)
	}
	return slices.DeleteFunc(slices.Clone(all), func(e HistoryEntry) bool {
		p := e.position()
		order := cmp.Or(cmp.Compare(p.Key, seek.From.Key), cmp.Compare(p.ID, seek.From.ID))
		return seek.Desc && order >= 0 || !seek.Desc && order <= 0
	})
}

// historyInteractions reads a page of interactions.
func historyInteractions(ctx context.Context, r Reader, id int64, seek storage.Seek) ([]HistoryEntry, error) {
	if seek.From != nil && seek.From.ID >= eventPosition { // all interactions of that time come before it
		seek.From = &storage.Position{Key: seek.From.Key, ID: math.MaxInt64}
	}
	found, err := r.Interactions().List(ctx, InteractionFilter{ConversationID: id, Brief: true}, seek)
	entries := make([]HistoryEntry, len(found))
	for n, i := range found {
		entries[n] = HistoryEntry{Type: HistoryInteraction, At: i.At, InteractionID: i.ID, Interaction: i}
		e := &entries[n]
		switch {
		case i.Type == TypeCustomer && i.CustomerID != 0:
			e.Actor = subscription.Actor{Type: subscription.ActorCustomer, ID: i.CustomerID}
		case cmp.Or(i.PostedByID, i.UserID) != 0:
			e.UserID = cmp.Or(i.PostedByID, i.UserID)
			e.Actor = subscription.Actor{Type: subscription.ActorUser, ID: e.UserID}
		default:
			e.Actor = subscription.Actor{Type: subscription.ActorSystem}
		}
	}
	return entries, err
}

// HistoryEvents are the types of the events that make the histories of conversations. Interactions are in a history themselves;
// who looks at a conversation or follows it changes nothing.
func HistoryEvents() []string {
	var kinds []string
	for _, t := range EventTypes() {
		left := []string{"conversation.presence", "conversation.followed", "interaction.created"}
		if area := areaOf(t.Name); (area == "conversation" || area == "interaction" || area == "rating" || SLAOutcomeEvent(t.Name)) && !slices.Contains(left, t.Name) {
			kinds = append(kinds, t.Name)
		}
	}
	return kinds
}

// historyChanges returns the changes of a conversation and its interactions, oldest first.
func (d *desk) historyChanges(ctx context.Context, r Reader, id int64) ([]HistoryEntry, error) {
	filter := subscription.EventFilter{Types: HistoryEvents(), Areas: d.svc.shownAreas(d.guard.Allows), ConversationIDs: []int64{id}}
	events, err := r.Events(ctx, filter, storage.Seek{Desc: true, Limit: maxHistory})
	var entries []HistoryEntry
	for _, e := range slices.Backward(events) {
		entry := historyEntry(withoutMailboxes(e, d.scope.Mailboxes))
		if status, ok := entry.Changes["status"]; ok && entry.InteractionID != 0 && status.From.IsNull() {
			continue // it was created, and is in the history itself
		}
		if n := len(entries) - 1; n >= 0 && entries[n].sameOperation(entry) {
			entries[n].Events = append(entries[n].Events, e.Type)
			if entries[n].Why == (HistoryReason{}) {
				entries[n].Why = entry.Why
			}
			continue
		}
		entries = append(entries, entry)
	}
	return entries, err
}

func historyEntry(e storage.Event) HistoryEntry {
	told := subscription.ChangedBy(e)
	entry := HistoryEntry{
		Type: HistoryChange, At: e.Time, Events: []string{e.Type}, Seq: e.Seq, Actor: actorOf(e, told.Actor), UserID: e.ActorID, Changes: told.Changes,
	}
	if areaOf(e.Type) == "interaction" {
		entry.InteractionID = e.Subject
	}
	_ = json.Unmarshal(e.Data, &entry.Why) // came from JSON
	return entry
}

// sameOperation reports whether an event tells the same changes as those before it: an operation writes several, such as
// conversation.updated and conversation.closed.
func (e HistoryEntry) sameOperation(next HistoryEntry) bool {
	reason := e.Why == next.Why || e.Why == (HistoryReason{}) || next.Why == (HistoryReason{})
	return reason && e.At.Equal(next.At) && e.InteractionID == next.InteractionID && e.Actor == next.Actor &&
		reflect.DeepEqual(e.Changes, next.Changes)
}
