package helpdesk

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
)

// differences collects what differs between two states of a resource.
type differences subscription.Changes

// between notes a value that differs. A zero value is none.
func between[T comparable](d differences, field string, from, to T) {
	if from != to {
		d[field] = subscription.Change{From: valueOrNone(from), To: valueOrNone(to)}
	}
}

func valueOrNone[T comparable](value T) storage.Opt[any] {
	var none T
	if value == none {
		return storage.Null[any]()
	}
	return storage.Some[any](value)
}

// flag notes a boolean that differs.
func (d differences) flag(field string, from, to bool) {
	if from != to {
		d[field] = subscription.Change{From: storage.Some[any](from), To: storage.Some[any](to)}
	}
}

// moment notes a time that differs.
func (d differences) moment(field string, from, to time.Time) {
	of := func(t time.Time) storage.Opt[any] {
		if t.IsZero() {
			return storage.Null[any]()
		}
		return storage.Some[any](t.UTC().Format(time.RFC3339))
	}
	if !from.Equal(to) {
		d[field] = subscription.Change{From: of(from), To: of(to)}
	}
}

// untold notes that a field differs, without its values.
func (d differences) untold(field string, differs bool) {
	if differs {
		d[field] = subscription.Change{}
	}
}

// tags notes added and removed tags.
func (d differences) tags(from, to []int64) {
	without := func(of, others []int64) []int64 {
		return sortedSet(slices.DeleteFunc(slices.Clone(of), func(id int64) bool { return slices.Contains(others, id) }))
	}
	added, removed := without(to, from), without(from, to)
	if len(added)+len(removed) > 0 {
		d["tags"] = subscription.Change{Added: added, Removed: removed}
	}
}

// conversationChanges compares two states of a conversation. The zero value is a state before its creation. A subject is the
// customer's text: events outlive its erasure, so they only say that it changed.
func conversationChanges(old, c Conversation) differences {
	d := differences{}
	between(d, "status", string(old.Status), string(c.Status))
	between(d, "priority", string(old.Priority), string(c.Priority))
	between(d, "user_id", old.UserID, c.UserID)
	between(d, "team_id", old.TeamID, c.TeamID)
	between(d, "mailbox_id", old.MailboxID, c.MailboxID)
	between(d, "customer_id", old.CustomerID, c.CustomerID)
	between(d, "sla_id", old.SLAID, c.SLAID)
	d.moment("snoozed_until", old.SnoozedUntil, c.SnoozedUntil)
	d.flag("spam", old.IsSpam(), c.IsSpam())
	d.flag("held", old.IsHeld(), c.IsHeld())
	d.untold("subject", old.Subject != c.Subject)
	return d
}

// interactionState is what is compared of an interaction. Texts and recipients are hashes, since many interactions may be
// read in a transaction.
type interactionState struct {
	ConversationID, UserID, PostedByID, CustomerID int64
	Status                                         Status
	SendAt                                         time.Time
	IsForward                                      bool

	Body, To, Cc, Bcc, Source uint64
}

func stateOfInteraction(i *Interaction, seed maphash.Seed) interactionState {
	hashed := func(texts ...string) uint64 {
		if text := strings.Join(texts, "\n"); text != "" {
			return maphash.String(seed, text)
		}
		return 0
	}
	return interactionState{
		ConversationID: i.ConversationID, UserID: i.UserID, PostedByID: i.PostedByID, CustomerID: i.CustomerID,
		Status: i.Status, SendAt: i.SendAt, IsForward: i.IsForward,
		Body: hashed(i.Body), To: hashed(i.To...), Cc: hashed(i.Cc...), Bcc: hashed(i.Bcc...), Source: hashed(i.Source),
	}
}

// changesOfInteraction compares two states of an interaction. Its conversation and SeenAt change by methods of the store, see
// record.
func changesOfInteraction(old, i interactionState) differences {
	d := differences{}
	between(d, "status", string(old.Status), string(i.Status))
	between(d, "user_id", old.UserID, i.UserID)
	between(d, "posted_by_id", old.PostedByID, i.PostedByID)
	between(d, "customer_id", old.CustomerID, i.CustomerID)
	d.moment("send_at", old.SendAt, i.SendAt)
	d.flag("is_forward", old.IsForward, i.IsForward)
	d.untold("body", old.Body != i.Body)
	d.untold("to", old.To != i.To)
	d.untold("cc", old.Cc != i.Cc)
	d.untold("bcc", old.Bcc != i.Bcc)
	d.untold("source", old.Source != i.Source)
	return d
}

// customerChanges compares two states of a customer. All of it is personal, so that only the fields are told.
func customerChanges(old, c Customer) differences {
	d := differences{}
	d.untold("first_name", old.FirstName != c.FirstName)
	d.untold("last_name", old.LastName != c.LastName)
	d.untold("company", old.Company != c.Company)
	d.untold("note", old.Note != c.Note)
	d.untold("external_id", old.ExternalID != c.ExternalID)
	d.untold("emails", !slices.Equal(old.Emails, c.Emails))
	d.untold("phones", !slices.Equal(old.Phones, c.Phones))
	d.untold("websites", !slices.Equal(old.Websites, c.Websites))
	return d
}

// withChanges adds changes and their actor to the data of an event, a JSON object.
func withChanges(e storage.Event, d differences, by subscription.Actor) storage.Event {
	data := map[string]json.RawMessage{}
	if json.Unmarshal(e.Data, &data) != nil || len(data) == 0 {
		data = map[string]json.RawMessage{"id": json.RawMessage(strconv.FormatInt(e.Subject, 10))}
	}
	data["changes"], _ = json.Marshal(subscription.Changes(d)) // texts, numbers and booleans always encode
	data["actor"], _ = json.Marshal(by)                        // likewise
	e.Data, _ = json.Marshal(data)                             // came from JSON
	return e
}

// leaksMailbox reports whether an event may name a mailbox that members limited to some must not see.
func leaksMailbox(e storage.Event, mailboxes []int64) bool {
	return mailboxes != nil && bytes.Contains(e.Data, []byte(`"mailbox_id":{`)) // every follower asks for every event
}

// withoutMailboxes returns the event as members limited to some mailboxes may see it: without the ids of others that a
// conversation came from or went to. nil: all mailboxes.
func withoutMailboxes(e storage.Event, mailboxes []int64) storage.Event {
	if !leaksMailbox(e, mailboxes) {
		return e
	}
	told := subscription.ChangedBy(e)
	c, ok := told.Changes["mailbox_id"]
	if !ok {
		return e
	}
	hides := func(side storage.Opt[any]) bool {
		value, given := side.Get()
		id, isID := value.(int64)
		return given && isID && !slices.Contains(mailboxes, id)
	}
	from, to := hides(c.From), hides(c.To)
	if !from && !to {
		return e
	}
	if from {
		c.From = storage.Opt[any]{}
	}
	if to {
		c.To = storage.Opt[any]{}
	}
	told.Changes["mailbox_id"] = c
	return withChanges(e, differences(told.Changes), told.Actor)
}
