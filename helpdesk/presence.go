package helpdesk

import (
	"context"
	"slices"
	"time"

	"github.com/helpwright/helpwright/storage/fault"
)

// Presence is who is at a conversation.
type Presence struct {
	ConversationID int64
	UserID         int64
	Doing          Doing
	SeenAt         time.Time // when the user was noted there last
}

// Doing is what somebody does at a conversation.
type Doing string

// What somebody does at a conversation.
const (
	Reading  Doing = "reading"
	Replying Doing = "replying"
	Gone     Doing = "gone" // nothing any more
)

// How long somebody is at a conversation without a word, and how soon a word is noted
// again.
const (
	PresenceTime  = 45 * time.Second
	presenceAgain = 15 * time.Second
)

// eventPresence tells that somebody came to a conversation, left it, or does something
// else there.
const eventPresence = "conversation.presence"

// maxPresence is how many conversations are asked for at a time.
const maxPresence = 100

// PresenceReader tells who is at conversations.
type PresenceReader interface {
	// Presence returns who was noted at conversations after a time, by conversation and
	// user.
	Presence(ctx context.Context, conversationIDs []int64, after time.Time) ([]Presence, error)
}

// PresenceWriter notes who is at conversations.
type PresenceWriter interface {
	// SavePresence notes what a user does at a conversation; Gone removes what was noted.
	// What was noted of the account until a time, in the scope or not, is removed too.
	SavePresence(ctx context.Context, p Presence, until time.Time) error
}

// Present notes what the caller does at a conversation, and returns who is there, the
// caller too. Who says nothing for [PresenceTime] is gone; a desk says it every 20
// seconds or so, and Gone when the conversation is left. Members learn of changes by the
// event conversation.presence. It needs conversations.view and is no change of the
// conversation.
func (d *Desk) Present(ctx context.Context, conversationID int64, doing Doing) ([]Presence, error) {
	begin, err := d.guard.Write(ConversationsView)
	if err != nil {
		return nil, err
	}
	r, err := d.guard.Read(ConversationsView)
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
	there, err := r.Presence(ctx, []int64{c.ID}, now.Add(-PresenceTime))
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
		if there, err = tx.Presence(ctx, []int64{c.ID}, now.Add(-PresenceTime)); err != nil {
			return err
		}
		if known && mine.Doing == doing {
			return nil
		}
		return d.emitIn(ctx, tx, eventPresence, c.ID, c)
	})
	return there, err
}

// presenceOf is what a user does among those who are there.
func presenceOf(there []Presence, userID int64) (Presence, bool) {
	for _, p := range there {
		if p.UserID == userID {
			return p, true
		}
	}
	return Presence{}, false
}

// PresenceOf returns who is at conversations, at most 100 of them, by conversation and
// user. It needs conversations.view.
func (d *Desk) PresenceOf(ctx context.Context, conversationIDs []int64) ([]Presence, error) {
	r, err := d.guard.Read(ConversationsView)
	if err != nil {
		return nil, err
	}
	var problems fault.Collector
	problems.Check(len(conversationIDs) <= maxPresence, "conversation_id", "has more than 100 ids")
	if err := problems.Err(); err != nil || len(conversationIDs) == 0 {
		return nil, err
	}
	return r.Presence(ctx, conversationIDs, d.svc.now().Add(-PresenceTime))
}
