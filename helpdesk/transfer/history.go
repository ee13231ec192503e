package transfer

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// happening is an event of a conversation's history. The rest of the log is for followers of its server.
type happening struct {
	Type           string
	Subject        int64
	MailboxID      int64
	ConversationID int64
	UserID         int64
	Time           time.Time
	Actor          subscription.Actor
	Changes        subscription.Changes
	Why            helpdesk.HistoryReason
}

// history writes the history of all conversations, in the order of the log. It leaves out what is about conversations,
// interactions and mailboxes that are gone.
func (e *export) history(ctx context.Context) error {
	boxes, err := listed(ctx, e.r.Mailboxes(), storage.NoFilter{})
	if err != nil {
		return err
	}
	here := idsOf(boxes, func(m helpdesk.Mailbox) int64 { return m.ID })
	filter := subscription.EventFilter{Types: helpdesk.HistoryEvents()}
	list := func(ctx context.Context, seek storage.Seek) ([]storage.Event, error) {
		return e.r.Events(ctx, filter, seek)
	}
	at := func(e storage.Event) storage.Position { return storage.Position{ID: e.Seq} }
	return pages(ctx, pageSize, list, at, func(some []storage.Event) error {
		there, err := e.existing(ctx, some)
		if err != nil {
			return err
		}
		var all []happening
		for _, event := range some {
			if !there[event.Seq] || !slices.Contains(here, event.MailboxID) {
				continue
			}
			told := subscription.ChangedBy(event)
			one := happening{
				Type: event.Type, Subject: event.Subject, MailboxID: event.MailboxID, ConversationID: event.ConversationID, UserID: event.ActorID,
				Time: event.Time, Actor: told.Actor, Changes: told.Changes,
			}
			_ = json.Unmarshal(event.Data, &one.Why) // came from JSON
			all = append(all, one)
		}
		return put(ctx, e, e.nouns.history, all)
	})
}

// existing returns the Seqs of those events whose conversation and interaction exist.
func (e *export) existing(ctx context.Context, some []storage.Event) (map[int64]bool, error) {
	area := func(e storage.Event) string { before, _, _ := strings.Cut(e.Type, "."); return before }
	var conversations, interactions []int64
	for _, event := range some {
		conversations = append(conversations, event.ConversationID)
		if area(event) == "interaction" {
			interactions = append(interactions, event.Subject)
		}
	}
	found, err := e.r.Conversations().ByIDs(ctx, conversations)
	if err != nil {
		return nil, err
	}
	said, err := e.r.Interactions().ByIDs(ctx, interactions)
	talks, parts := idsOf(found, func(c helpdesk.Conversation) int64 { return c.ID }), idsOf(said, func(i helpdesk.Interaction) int64 { return i.ID })
	there := map[int64]bool{}
	for _, event := range some {
		there[event.Seq] = slices.Contains(talks, event.ConversationID) && (area(event) != "interaction" || slices.Contains(parts, event.Subject))
	}
	return there, err
}

// actorNouns are the nouns of actors. Others, such as rules, are gone on the other server.
var actorNouns = map[subscription.ActorType]string{
	subscription.ActorUser: "user", subscription.ActorCustomer: "customer", subscription.ActorTeam: "team", subscription.ActorMail: "mail",
	subscription.ActorToken: "token", subscription.ActorRule: "rule", subscription.ActorSLA: "sla", subscription.ActorRetention: "retention_policy",
}

// changedNouns are the nouns of fields that are ids.
var changedNouns = map[string]string{
	"user_id": "user", "posted_by_id": "user", "team_id": "team", "mailbox_id": "mailbox", "customer_id": "customer", "conversation_id": "conversation",
	"sla_id": "sla",
}

func walkHistory(v visit, h *happening) {
	area, _, _ := strings.Cut(h.Type, ".")
	v.Loose(area, &h.Subject)
	v.Loose("mailbox", &h.MailboxID)
	v.Loose("conversation", &h.ConversationID)
	v.To("user", &h.UserID)
	if noun := actorNouns[h.Actor.Type]; noun == "user" {
		v.To(noun, &h.Actor.ID)
	} else if noun != "" {
		v.Loose(noun, &h.Actor.ID)
	}
	v.Loose("interaction", &h.Why.InteractionID)
	v.Loose("conversation", &h.Why.From)
	v.Loose("conversation", &h.Why.Into)
	v.Loose("rule_run", &h.Why.RuleRunID) // which stays behind
	v.Loose("saved_reply", &h.Why.MacroID)
	for field, c := range h.Changes {
		noun := changedNouns[field]
		if noun == "" && field != "tags" {
			continue
		}
		v.LooseEach("tag", &c.Added)
		v.LooseEach("tag", &c.Removed)
		c.From, c.To = walkValue(v, noun, c.From), walkValue(v, noun, c.To)
		h.Changes[field] = c
	}
}

// walkValue walks the id that a field changed from or to. What is gone is not told.
func walkValue(v visit, noun string, value storage.Opt[any]) storage.Opt[any] {
	was, given := value.Get()
	id, isID := was.(int64)
	if !given || !isID {
		return value
	}
	if noun == "user" {
		v.To(noun, &id)
	} else {
		v.Loose(noun, &id)
	}
	if id == 0 {
		return storage.Opt[any]{}
	}
	return storage.Some[any](id)
}

func validHappening(h *happening) error {
	for _, kind := range helpdesk.HistoryEvents() {
		if kind == h.Type {
			return nil
		}
	}
	return fault.Field("Type", "must be an event of a conversation's history")
}

// insertHistory writes what is about conversations that are here. What happened to one that was merged meanwhile is left out, as
// is all of conversations that are gone.
func insertHistory(ctx context.Context, x *target, all []*happening) error {
	var events []storage.Event
	for _, h := range all {
		if h.ConversationID == 0 || h.Subject == 0 || h.MailboxID == 0 {
			continue
		}
		data := map[string]json.RawMessage{}
		for _, part := range []any{h.Why, subscription.Changed{Changes: h.Changes, Actor: h.Actor}} {
			text, err := json.Marshal(part)
			if err == nil {
				err = json.Unmarshal(text, &data)
			}
			if err != nil {
				return fault.Wrap(fault.Internal, "encoding an event", err)
			}
		}
		data["id"] = json.RawMessage(strconv.FormatInt(h.Subject, 10))
		text, err := json.Marshal(data)
		if err != nil {
			return fault.Wrap(fault.Internal, "encoding an event", err)
		}
		events = append(events, storage.Event{
			Type: h.Type, Subject: h.Subject, MailboxID: h.MailboxID, ConversationID: h.ConversationID, ActorID: h.UserID, Data: text, Time: h.Time,
		})
	}
	if len(events) == 0 {
		return nil
	}
	return x.Emit(ctx, events...)
}
