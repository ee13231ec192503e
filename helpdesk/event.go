package helpdesk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// eventAreas says which permission shows the events of an area, the part of their
// types before the dot. Events of other areas are for who holds all of these.
var eventAreas = map[string]Permission{
	"account": AccountsView, "portal_key": AccountsUpdate, "membership": MembershipsView, "invitation": MembershipsView, "role": RolesView,
	"mailbox": MailboxesView, "mail": MailboxesConnection, "customer": CustomersView, "suppression": CustomersView, "blocked_sender": CustomersView, "pgp_key": PGPKeysView,
	"conversation": ConversationsView, "interaction": InteractionsView, "attachment": InteractionsView, "saved_reply": InteractionsView,
	"notification": ConversationsView, "tag": TagsView, "team": MembershipsView, "view": ViewsView, "domain": DomainsView, "webhook": WebhooksView,
	// Of the knowledge base, which writes into the same log.
	"site": "sites.view", "collection": "collections.view", "category": "categories.view", "article": "articles.view",
	"feedback": "feedback.view", "file": "files.view", "theme": "themes.view",
}

// shownAreas are the areas whose events a caller may see, sorted; nil: all.
func shownAreas(holds func(Permission) bool) []string {
	areas, all := []string{}, true
	for _, area := range slices.Sorted(maps.Keys(eventAreas)) {
		if holds(eventAreas[area]) {
			areas = append(areas, area)
		} else {
			all = false
		}
	}
	if all {
		return nil
	}
	return areas
}

func areaOf(kind string) string {
	area, _, _ := strings.Cut(kind, ".")
	return area
}

var eventTypePattern = regexp.MustCompile(`^[a-z]+(_[a-z]+)*\.[a-z]+(_[a-z]+)*$`)

// maxEventTypes is how many types of events can be asked for.
const maxEventTypes = 50

// checkEventTypes notes what cannot be a type of events; later types are tolerated.
func checkEventTypes(problems *fault.Collector, field string, types []string) {
	problems.Check(len(types) <= maxEventTypes, field, fmt.Sprintf("has more than %d types", maxEventTypes))
	for i, kind := range types {
		_, known := eventAreas[areaOf(kind)]
		problems.Check(known && len(kind) <= 64 && eventTypePattern.MatchString(kind), fmt.Sprintf("%s[%d]", field, i),
			"is no type of events, such as conversation.created")
	}
}

// CloudEvent is an event as others see it: the JSON form of CloudEvents 1.0
// (section 3 of its JSON format), fit for json.Marshal. ID is the event's position in
// the log of its account, which is the source.
type CloudEvent struct {
	SpecVersion     string          `json:"specversion"`
	ID              string          `json:"id"`
	Source          string          `json:"source"`
	Type            string          `json:"type"`
	Subject         string          `json:"subject"`
	Time            string          `json:"time"`
	DataContentType string          `json:"datacontenttype"`
	Data            json.RawMessage `json:"data"`
}

// CloudEvent shows an event of an account. Its data holds ids: the resource's, and
// those of mailbox, conversation and acting user where there are any; readers fetch
// the resources with their own rights. The subject is "<area>/<id>".
func (s *Service) CloudEvent(accountID int64, e storage.Event) CloudEvent {
	data := map[string]any{}
	_ = json.Unmarshal(e.Data, &data) // what is no object is nothing that readers could use
	data["id"] = e.Subject
	for name, id := range map[string]int64{"mailbox_id": e.MailboxID, "conversation_id": e.ConversationID, "actor_id": e.ActorID} {
		if id != 0 && (name != "conversation_id" || areaOf(e.Type) != "conversation") {
			data[name] = id
		}
	}
	text, _ := json.Marshal(data) // came from JSON
	return CloudEvent{
		SpecVersion: "1.0", ID: strconv.FormatInt(e.Seq, 10), Source: fmt.Sprintf("%s/accounts/%d", s.cfg.EventSource, accountID),
		Type: e.Type, Subject: fmt.Sprintf("%s/%d", areaOf(e.Type), e.Subject),
		Time: e.Time.UTC().Format("2006-01-02T15:04:05.000000Z07:00"), DataContentType: "application/json", Data: text,
	}
}

// EventQuery narrows a list of events.
type EventQuery struct {
	Types          []string // any of these; empty: all; at most 50
	ConversationID int64    // 0: all
	After          int64    // only events that follow the one with this Seq
}

// viewsEvents is the permission to see some area's events, one that the member holds
// if there is one.
func (d *Desk) viewsEvents() Permission {
	for _, area := range slices.Sorted(maps.Keys(eventAreas)) {
		if p := eventAreas[area]; d.guard.Allows(p) {
			return p
		}
	}
	return ConversationsView
}

// Events lists the account's log, oldest first: what happened in the mailboxes that
// the member reaches and in no mailbox, to resources that the member may view. It
// needs the view permission of any area. A conversation out of reach is a NotFound
// fault. Where events that follow EventQuery.After are not kept any more, see [Retention],
// it is an Invalid fault on "after" with code events_lost: read anew what they told of.
func (d *Desk) Events(ctx context.Context, q EventQuery, req storage.PageRequest) (storage.Page[storage.Event], error) {
	var none storage.Page[storage.Event]
	r, err := d.guard.Read(d.viewsEvents())
	if err != nil {
		return none, err
	}
	var problems fault.Collector
	checkEventTypes(&problems, "types", q.Types)
	problems.Check(q.After >= 0, "after", "must be the id of an event")
	if err := problems.Err(); err != nil {
		return none, err
	}
	if err := d.reachesConversation(ctx, q.ConversationID); err != nil {
		return none, err
	}
	if err := d.missesNothing(ctx, q.After); err != nil {
		return none, err
	}
	filter := EventFilter{Types: q.Types, Areas: shownAreas(d.guard.Allows), ConversationID: q.ConversationID}
	position := func(e storage.Event) storage.Position { return storage.Position{ID: e.Seq} }
	return storage.List(req, false, position, func(seek storage.Seek) ([]storage.Event, error) {
		if seek.From == nil {
			seek.From = &storage.Position{ID: q.After}
		}
		found, err := r.Events(ctx, filter, seek)
		return slices.DeleteFunc(found, func(e storage.Event) bool { return e.Seq <= q.After }), err
	})
}

// EventsLost is the code of the Invalid fault about events that are not kept any more.
const EventsLost = "events_lost"

// missesNothing is an error where events that follow one are not kept any more.
func (d *Desk) missesNothing(ctx context.Context, after int64) error {
	if after <= 0 {
		return nil
	}
	last, err := d.LastEvent(ctx)
	if err != nil {
		return err
	}
	lost, err := d.svc.eventsLost(ctx, d.scope.AccountID, after, last)
	if err == nil && lost {
		err = &fault.Error{
			Kind: fault.Invalid, Code: EventsLost, Message: "Events that follow this one are not kept any more. Read anew what you keep, then follow from now on.",
			Fields: map[string][]string{"after": {"is older than the events that are kept"}},
		}
	}
	return err
}

func (d *Desk) reachesConversation(ctx context.Context, id int64) error {
	if id == 0 {
		return nil
	}
	r, err := d.guard.Read(ConversationsView)
	if err != nil {
		return err
	}
	_, err = r.Conversations().Get(ctx, id)
	return err
}

// sees reports whether an event is for the member.
func (d *Desk) sees(e storage.Event) bool {
	if e.MailboxID != 0 && d.scope.Mailboxes != nil && !slices.Contains(d.scope.Mailboxes, e.MailboxID) {
		return false
	}
	areas := shownAreas(d.guard.Allows)
	return areas == nil || slices.Contains(areas, areaOf(e.Type))
}

// recheck is how often a follower asks whether the member still may follow.
const recheck = 15 * time.Second

// FollowInput says what to follow.
type FollowInput struct {
	ConversationID int64 // 0: the whole account
	// After is the Seq of the last event that was seen; absent or null: begin with what
	// happens from now on. One that the log has not reached yet counts as absent.
	After storage.Opt[int64]
	// Reopen opens the desk of the member anew, with what they may do by now, or fails
	// when they may not any more. nil: for the same caller, who is trusted.
	Reopen func(ctx context.Context) (*Desk, error)
}

// EventFollower reads the log as it grows. It belongs to one goroutine.
type EventFollower struct {
	desk     *Desk
	in       FollowInput
	stream   storage.EventStream
	position int64
	reset    bool
	checked  time.Time
}

// Follow begins to read the log as it grows; what is seen and what is needed is as
// in [Desk.Events]. Without Config.Feed it is a Disabled fault. Close the follower.
func (d *Desk) Follow(ctx context.Context, in FollowInput) (*EventFollower, error) {
	r, err := d.guard.Read(d.viewsEvents())
	if err != nil {
		return nil, err
	}
	if d.svc.cfg.Feed == nil {
		return nil, fault.New(fault.Disabled, "Following events is not available here.")
	}
	if err := d.reachesConversation(ctx, in.ConversationID); err != nil {
		return nil, err
	}
	last, err := r.LastEvent(ctx)
	if err != nil {
		return nil, err
	}
	after, given := in.After.Get()
	if given && after < 0 {
		return nil, fault.Field("after", "must be the id of an event")
	}
	reset := given && after > last
	if given && !reset {
		if reset, err = d.svc.eventsLost(ctx, d.scope.AccountID, after, last); err != nil {
			return nil, err
		}
	}
	if !given || reset {
		after = last
	}
	if in.Reopen == nil {
		in.Reopen = func(ctx context.Context) (*Desk, error) { return d.svc.Desk(ctx, d.caller, d.scope.AccountID) }
	}
	return &EventFollower{
		desk: d, in: in, stream: d.svc.cfg.Feed.Follow(d.scope.AccountID, after), position: after, reset: reset, checked: d.svc.now(),
	}, nil
}

// LastEvent is the Seq of the newest event of the account, to follow from what is read
// after it was asked for: see FollowInput.After. 0: there is none. It needs what Follow
// needs.
func (d *Desk) LastEvent(ctx context.Context) (int64, error) {
	r, err := d.guard.Read(d.viewsEvents())
	if err != nil {
		return 0, err
	}
	return r.LastEvent(ctx)
}

// Position is the Seq of the last event that Next has passed, shown or not.
func (f *EventFollower) Position() int64 { return f.position }

// Reset reports whether FollowInput.After was beyond the end of the log, as after a
// restored backup, or before events that are not kept any more: what the reader knows may be
// of another past.
func (f *EventFollower) Reset() bool { return f.reset }

// Next waits for events and returns those that the member may see by now, in their
// order; there may be none of them. It fails with the context's error, after which
// it goes on where it was, and with a fault when the member may not follow any more:
// a lost membership or a changed role counts at once, all else within 15 seconds of
// calling Next.
func (f *EventFollower) Next(ctx context.Context) ([]storage.Event, error) {
	now := f.desk.svc.now()
	wait, cancel := context.WithTimeout(ctx, max(f.checked.Add(recheck).Sub(now), 0))
	defer cancel()
	events, err := f.stream.Next(wait)
	if err != nil && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
		return nil, err
	}
	rights := func(e storage.Event) bool { return areaOf(e.Type) == "membership" || areaOf(e.Type) == "role" }
	if now = f.desk.svc.now(); err != nil || !now.Before(f.checked.Add(recheck)) || slices.ContainsFunc(events, rights) {
		if err := f.reopen(ctx, now); err != nil {
			return nil, err
		}
	}
	var shown []storage.Event
	for _, e := range events {
		f.position = e.Seq
		if (f.in.ConversationID == 0 || e.ConversationID == f.in.ConversationID) && f.desk.sees(e) {
			shown = append(shown, e)
		}
	}
	return shown, nil
}

// reopen takes what the member may do now.
func (f *EventFollower) reopen(ctx context.Context, now time.Time) error {
	d, err := f.in.Reopen(ctx)
	if err != nil {
		return err
	}
	if d.scope.AccountID != f.desk.scope.AccountID || d.userID != f.desk.userID {
		return fault.New(fault.Forbidden, "The events are another member's.")
	}
	if _, err := d.guard.Read(d.viewsEvents()); err != nil {
		return err
	}
	f.desk, f.checked = d, now
	return nil
}

// Close ends the follower.
func (f *EventFollower) Close() { f.stream.Close() }

// changedTo names what an update made of a conversation, besides
// conversation.updated.
func changedTo(old, c Conversation) []string {
	var kinds []string
	if old.Status != c.Status {
		switch {
		case c.Status == StatusClosed:
			kinds = append(kinds, "conversation.closed")
		case c.Status == StatusPending:
			kinds = append(kinds, "conversation.paused")
		case c.Status == StatusPosted && (old.Status == StatusClosed || old.Status == StatusPending):
			kinds = append(kinds, "conversation.reopened")
		}
	}
	if old.SnoozedUntil.IsZero() && !c.SnoozedUntil.IsZero() {
		kinds = append(kinds, "conversation.snoozed")
	}
	if !old.SnoozedUntil.IsZero() && c.SnoozedUntil.IsZero() && c.Status.Open() {
		kinds = append(kinds, "conversation.woken")
	}
	if old.IsSpam() != c.IsSpam() {
		kind := "conversation.marked_spam"
		if !c.IsSpam() {
			kind = "conversation.cleared_spam"
		}
		kinds = append(kinds, kind)
	}
	if old.Priority != c.Priority {
		kinds = append(kinds, "conversation.prioritized")
	}
	if kind := assignedTo(old, c); kind != "" {
		kinds = append(kinds, kind)
	}
	return kinds
}

// assignedTo names the change of whose a conversation is: another user's or team's, or
// no user's any more; one that loses its team, to nobody.
func assignedTo(old, c Conversation) string {
	switch {
	case c.UserID != old.UserID && c.UserID != 0, c.TeamID != old.TeamID && c.TeamID != 0:
		return "conversation.assigned"
	case c.UserID != old.UserID, c.TeamID != old.TeamID && c.UserID == 0:
		return "conversation.unassigned"
	}
	return ""
}

// updated are the events of a conversation that became c. Members of the mailbox that
// it left get one that says so.
func (d *Desk) updated(old, c Conversation) []storage.Event {
	var events []storage.Event
	if old.MailboxID != c.MailboxID {
		events = append(events, d.event("conversation.moved", c.ID, old.MailboxID))
	}
	events = append(events, d.event("conversation.updated", c.ID, c.MailboxID))
	for _, kind := range changedTo(old, c) {
		events = append(events, d.event(kind, c.ID, c.MailboxID))
	}
	return events
}
