package helpdesk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// shownAreas returns the areas whose events a caller may view, sorted; nil: all. Events of areas that no domain announced
// are shown to those who may view all others.
func (s *Service) shownAreas(holds func(identity.Permission) bool) []string {
	areas, all := []string{}, true
	for _, area := range s.registry.Areas() {
		if p, _ := s.registry.Views(area); holds(p) {
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

// maxEventTypes limits the event types in a query.
const maxEventTypes = 50

// checkEventTypes adds problems for invalid event types. Unknown types are valid, since later versions may add them.
func checkEventTypes(r *identity.Registry, problems *fault.Collector, field string, types []string) {
	problems.Check(len(types) <= maxEventTypes, field, fmt.Sprintf("has more than %d types", maxEventTypes))
	for i, kind := range types {
		_, known := r.Views(areaOf(kind))
		problems.Check(known && len(kind) <= 64 && eventTypePattern.MatchString(kind), fmt.Sprintf("%s[%d]", field, i),
			"is not an event type, such as conversation.created")
	}
}

// CloudEvent converts an event of an account. Its data contains ids: of the resource, and of the mailbox, conversation and
// acting user if any. Events about conversations, interactions and customers also have what changed, and the actor, see
// [subscription.Changed]. Readers fetch the resources with their own permissions. The subject is "<area>/<id>".
func (s *Service) CloudEvent(accountID int64, e storage.Event) subscription.CloudEvent {
	data := map[string]any{}
	_ = json.Unmarshal(e.Data, &data) // other data than an object is dropped
	data["id"] = e.Subject
	for name, id := range map[string]int64{"mailbox_id": e.MailboxID, "conversation_id": e.ConversationID, "actor_id": e.ActorID} {
		if id != 0 && (name != "conversation_id" || areaOf(e.Type) != "conversation") {
			data[name] = id
		}
	}
	text, _ := json.Marshal(data) // came from JSON
	return subscription.CloudEvent{
		SpecVersion: "1.0", ID: strconv.FormatInt(e.Seq, 10), Source: fmt.Sprintf("%s/accounts/%d", s.cfg.EventSource, accountID),
		Type: e.Type, Subject: fmt.Sprintf("%s/%d", areaOf(e.Type), e.Subject),
		Time: e.Time.UTC().Format("2006-01-02T15:04:05.000000Z07:00"), DataContentType: "application/json", Data: text,
	}
}

// viewsEvents returns a permission to view some area's events, preferably one that the member holds.
func (d *desk) viewsEvents() identity.Permission {
	for _, area := range d.svc.registry.Areas() {
		if p, _ := d.svc.registry.Views(area); d.guard.Allows(p) {
			return p
		}
	}
	return identity.ConversationsView
}

// Events are the account's log of events.
type Events struct{ *desk }

// Events returns the handle of the log of events.
func (d *Desk) Events() Events { return Events{&d.desk} }

// List lists the account's log, oldest first: the events of mailboxes that the member reaches and those without a mailbox,
// about resources that the member may view. It needs the view permission of any area. A conversation out of reach is a
// NotFound fault. If events after EventQuery.After were pruned, see [Retention], it is an Invalid fault on "after" with code
// events_lost; the reader must then reload its resources.
func (d Events) List(ctx context.Context, q subscription.EventQuery, req storage.PageRequest) (storage.Page[storage.Event], error) {
	var none storage.Page[storage.Event]
	r, err := d.guard.Read(d.viewsEvents())
	if err != nil {
		return none, err
	}
	var problems fault.Collector
	checkEventTypes(d.svc.registry, &problems, "types", q.Types)
	problems.Check(q.After >= 0, "after", "must be the id of an event")
	if err := problems.Err(); err != nil {
		return none, err
	}
	if err := d.reachesConversation(ctx, q.ConversationID); err != nil {
		return none, err
	}
	filter := subscription.EventFilter{Types: q.Types, Areas: d.svc.shownAreas(d.guard.Allows)}
	if q.ConversationID != 0 {
		filter.ConversationIDs = []int64{q.ConversationID}
	}
	position := func(e storage.Event) storage.Position { return storage.Position{ID: e.Seq} }
	page, err := storage.List(req, false, position, func(seek storage.Seek) ([]storage.Event, error) {
		if seek.From == nil {
			seek.From = &storage.Position{ID: q.After}
		}
		found, err := r.Events(ctx, filter, seek)
		if next := len(found) > 0 && found[0].Seq == q.After+1; err == nil && q.After > 0 && !next {
			err = d.missesNothing(ctx, r, q.After)
		}
		return slices.DeleteFunc(found, func(e storage.Event) bool { return e.Seq <= q.After }), err
	})
	for n, e := range page.Items {
		page.Items[n] = withoutMailboxes(e, d.scope.Mailboxes)
	}
	return page, err
}

// missesNothing returns a fault if events after the given one were pruned.
func (d *desk) missesNothing(ctx context.Context, r subscription.EventReader, after int64) error {
	last, err := r.LastEvent(ctx)
	if err != nil {
		return err
	}
	lost, err := d.svc.eventsLost(ctx, d.scope.AccountID, after, last)
	if err == nil && lost {
		err = &fault.Error{
			Kind: fault.Invalid, Code: subscription.EventsLost, Message: "Events after this one have been deleted. Reload your data, then follow from the latest event.",
			Fields: map[string][]string{"after": {"is older than the events that are kept"}},
		}
	}
	return err
}

func (d *desk) reachesConversation(ctx context.Context, id int64) error {
	if id == 0 {
		return nil
	}
	r, err := d.guard.Read(identity.ConversationsView)
	if err != nil {
		return err
	}
	_, err = r.Conversations().Get(ctx, id)
	return err
}

// sees reports whether the member may view an event.
func (d *desk) sees(e storage.Event) bool {
	if e.MailboxID != 0 && d.scope.Mailboxes != nil && !slices.Contains(d.scope.Mailboxes, e.MailboxID) {
		return false
	}
	if p, known := d.svc.registry.Views(areaOf(e.Type)); known { // every follower asks for every event
		return d.guard.Allows(p)
	}
	return d.svc.shownAreas(d.guard.Allows) == nil
}

// recheck is the interval at which a follower's permissions are checked. Stores may remember them for a second, so that
// changes take effect within 15.
const recheck = 14 * time.Second

// FollowInput selects the events to follow.
type FollowInput struct {
	ConversationID int64 // 0: the whole account
	// After is the Seq of the last event seen. Absent or null starts with new events, as does one beyond the end of the log.
	After storage.Opt[int64]
	// Reopen opens the member's desk again with current permissions, or fails if they may no longer follow. If nil, the desk is
	// opened again for the same caller, without authenticating again.
	Reopen func(ctx context.Context) (*Desk, error)
}

// EventFollower reads the log as it grows. It is for use by one goroutine.
type EventFollower struct {
	desk     *desk
	in       FollowInput
	stream   storage.EventStream
	position int64
	reset    bool
	checked  time.Time
	wait     waiting
}

// waiting is a context that ends when the permissions are to be checked again. It serves many calls of Next: making one for
// each would cost a stream more than its events.
type waiting struct {
	ctx, of context.Context //nolint:containedctx // of one follower
	cancel  context.CancelFunc
}

// until returns a context that ends with ctx or after a while.
func (w *waiting) until(ctx context.Context, rest time.Duration) context.Context {
	if w.of != ctx || w.ctx.Err() != nil || rest <= 0 {
		w.end()
		w.of = ctx
		w.ctx, w.cancel = context.WithTimeout(ctx, max(rest, 0))
	}
	return w.ctx
}

func (w *waiting) end() {
	if w.cancel != nil {
		w.cancel()
	}
	*w = waiting{}
}

// Follow starts to read the log as it grows. Visibility and permissions are those of [Events.List]. Without Config.Feed it
// is a Disabled fault. The caller must close the follower.
func (d Events) Follow(ctx context.Context, in FollowInput) (*EventFollower, error) {
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
		desk: d.desk, in: in, stream: d.svc.cfg.Feed.Follow(d.scope.AccountID, after), position: after, reset: reset, checked: d.svc.now(),
	}, nil
}

// Last returns the Seq of the account's newest event, or 0 if there is none. Resources read afterwards can be followed
// from there, see FollowInput.After. It needs the permissions of Follow.
func (d Events) Last(ctx context.Context) (int64, error) {
	r, err := d.guard.Read(d.viewsEvents())
	if err != nil {
		return 0, err
	}
	return r.LastEvent(ctx)
}

// Position returns the Seq of the last event that Next has passed, visible or not.
func (f *EventFollower) Position() int64 { return f.position }

// Reset reports whether FollowInput.After was beyond the end of the log, as after restoring a backup, or before pruned
// events. The reader's data may then be outdated.
func (f *EventFollower) Reset() bool { return f.reset }

// Next waits for events and returns, in order, those that the member may view; the result may be empty, and is not to be
// changed. It returns the context's error, after which it can be called again, or a fault once the member may not follow any
// more. A removed membership or a changed role takes effect at once, other changes within 15 seconds of calling Next.
func (f *EventFollower) Next(ctx context.Context) ([]storage.Event, error) {
	now := f.desk.svc.now()
	events, err := f.stream.Next(f.wait.until(ctx, f.checked.Add(recheck).Sub(now)))
	if err != nil && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
		return nil, err
	}
	rights := func(e storage.Event) bool { return areaOf(e.Type) == "membership" || areaOf(e.Type) == "role" }
	if now = f.desk.svc.now(); err != nil || !now.Before(f.checked.Add(recheck)) || slices.ContainsFunc(events, rights) {
		if err := f.reopen(ctx, now); err != nil {
			return nil, err
		}
	}
	for i, e := range events {
		f.position = e.Seq
		if !f.shows(e) || leaksMailbox(e, f.desk.scope.Mailboxes) {
			return f.rest(events[:i:i], events[i:]), nil
		}
	}
	return events, nil
}

// rest adds those events to shown ones that the member may view.
func (f *EventFollower) rest(shown, events []storage.Event) []storage.Event {
	for _, e := range events {
		f.position = e.Seq
		if f.shows(e) {
			shown = append(shown, withoutMailboxes(e, f.desk.scope.Mailboxes))
		}
	}
	return shown
}

func (f *EventFollower) shows(e storage.Event) bool {
	return (f.in.ConversationID == 0 || e.ConversationID == f.in.ConversationID) && f.desk.sees(e)
}

// reopen refreshes the member's permissions.
func (f *EventFollower) reopen(ctx context.Context, now time.Time) error {
	d, err := f.in.Reopen(ctx)
	if err != nil {
		return err
	}
	if d.scope.AccountID != f.desk.scope.AccountID || d.userID != f.desk.userID {
		return fault.New(fault.Forbidden, "These events belong to another member.")
	}
	if _, err := d.guard.Read(d.viewsEvents()); err != nil {
		return err
	}
	f.desk, f.checked = &d.desk, now
	f.wait.end()
	return nil
}

// Close ends the follower.
func (f *EventFollower) Close() {
	f.wait.end()
	f.stream.Close()
}

// changedTo returns the event types of an update to a conversation, besides conversation.updated.
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

// assignedTo returns the event type of an assignment: to a user, to a team, or unassigned.
func assignedTo(old, c Conversation) string {
	switch {
	case c.UserID != old.UserID && c.UserID != 0, c.TeamID != old.TeamID && c.TeamID != 0:
		return "conversation.assigned"
	case c.UserID != old.UserID, c.TeamID != old.TeamID && c.UserID == 0:
		return "conversation.unassigned"
	}
	return ""
}

// updated returns the events of an updated conversation. Members of the mailbox that it left get one that reports this.
func (d *desk) updated(old, c Conversation) []storage.Event {
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
