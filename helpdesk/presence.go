package helpdesk

import (
	"context"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
)

// Presence is a user's presence at a conversation.
type Presence struct {
	ConversationID int64
	UserID         int64
	Doing          Doing
	SeenAt         time.Time // last report
}

// Doing is a user's activity at a conversation.
type Doing string

// The activities of a user at a conversation.
const (
	Reading  Doing = "reading"
	Replying Doing = "replying"
	Gone     Doing = "gone" // left
)

// How long a user counts as present without a report, and after what time a report is saved again.
const (
	PresenceTime  = 45 * time.Second
	presenceAgain = 15 * time.Second
)

// eventPresence is the event of a user arriving at a conversation, leaving it, or changing activity.
const eventPresence = "conversation.presence"

// maxPresence limits the conversations in one query.
const maxPresence = 100

// PresenceWriter records who is present at conversations.
type PresenceWriter interface {
	// SavePresence records a user's activity at a conversation; Gone removes it. It also removes the account's records up to
	// the time until, even outside the scope.
	SavePresence(ctx context.Context, p Presence, until time.Time) error
}

// Present records the caller's activity at a conversation, and returns who is present, including the caller. A user is gone
// after [PresenceTime] without a report; a desk reports about every 20 seconds, and Gone when leaving the conversation. The
// event conversation.presence reports changes to members. It needs conversations.view and does not change the conversation.
func (d Conversations) Present(ctx context.Context, conversationID int64, doing Doing) ([]Presence, error) {
	begin, err := d.guard.Write(identity.ConversationsView)
	if err != nil {
		return nil, err
	}
	r, err := d.guard.Read(identity.ConversationsView)
	if err != nil {
		return nil, err
	}
	if !slices.Contains([]Doing{Reading, Replying, Gone}, doing) {
		return nil, fault.Field("doing", "must be reading, replying or gone")
	}
	c, err := r.Conversations().Get(ctx, conversationID)
	if err != nil {
		return nil, err
	}
	now := d.svc.now()
	there, err := d.presenceAt(ctx, r, c.ID)
	if err != nil {
		return nil, err
	}
	mine, known := presenceOf(there, d.userID)
	if !known && doing == Gone || known && mine.Doing == doing && now.Sub(mine.SeenAt) < presenceAgain {
		return there, nil
	}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		p := Presence{ConversationID: c.ID, UserID: d.userID, Doing: doing, SeenAt: now}
		if err := tx.SavePresence(ctx, p, now.Add(-PresenceTime)); err != nil {
			return err
		}
		if there, err = d.presenceAt(ctx, tx, c.ID); err != nil {
			return err
		}
		if known && mine.Doing == doing {
			return nil
		}
		return d.emitIn(ctx, tx, eventPresence, c.ID, c)
	})
	return there, err
}

// presenceOf returns a user's presence among those given.
func presenceOf(there []Presence, userID int64) (Presence, bool) {
	for _, p := range there {
		if p.UserID == userID {
			return p, true
		}
	}
	return Presence{}, false
}

// PresenceOf returns who is present at conversations, at most 100 of them, by conversation and user. It needs
// conversations.view.
func (d Conversations) PresenceOf(ctx context.Context, conversationIDs []int64) ([]Presence, error) {
	r, err := d.guard.Read(identity.ConversationsView)
	if err != nil {
		return nil, err
	}
	var problems fault.Collector
	problems.Check(len(conversationIDs) <= maxPresence, "conversation_id", "has more than 100 ids")
	if err := problems.Err(); err != nil || len(conversationIDs) == 0 {
		return nil, err
	}
	found, err := r.Marks(ctx, MarksQuery{ConversationIDs: conversationIDs, PresentAfter: d.presentAfter()})
	var there []Presence
	for _, m := range found {
		there = append(there, m.Presence...)
	}
	return there, err
}

// presenceAt returns who is present at a conversation, by user.
func (d *desk) presenceAt(ctx context.Context, r MarksReader, conversationID int64) ([]Presence, error) {
	found, err := r.Marks(ctx, MarksQuery{ConversationIDs: []int64{conversationID}, PresentAfter: d.presentAfter()})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0].Presence, nil
}

// presentAfter is the time after which a report makes a user present.
func (d *desk) presentAfter() time.Time { return d.svc.now().Add(-PresenceTime) }
