package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// OnHold is the code of a Conflict fault for what would remove something of a conversation on hold.
const OnHold = "on_hold"

// maxHoldReason is the maximum length of the reason of a hold, in characters.
const maxHoldReason = 200

// IsHeld reports whether the conversation is on hold, see [Conversations.Hold].
func (c Conversation) IsHeld() bool { return c.HeldAt.UnixMicro() > 0 }

// HoldInput puts a conversation on hold, or releases it.
type HoldInput struct {
	Held   bool
	Reason string // plain text for members, at most 200 characters; "": none
}

// Hold puts a conversation on hold, for example because of a legal dispute, or releases it. While it is on hold, no retention
// policy touches it, nobody can delete it, its messages or its mailbox, and its customer is neither deleted with it nor erased: these
// are Conflict faults with the code [OnHold]. Reading, answering, closing, merging and splitting go on; what it is merged into or
// split from it is on hold, too. Doing it again changes the reason. A release counts as activity, so that the time of a policy begins
// anew. It needs conversations.update, and to release it conversations.delete.
func (d Conversations) Hold(ctx context.Context, id int64, in HoldInput) (Conversation, error) {
	begin, err := d.guard.Write(identity.ConversationsUpdate)
	if err != nil {
		return Conversation{}, err
	}
	if !in.Held {
		if begin, err = d.guard.Write(identity.ConversationsDelete); err != nil {
			return Conversation{}, err
		}
	}
	in.Reason = plain.Line(in.Reason)
	var problems fault.Collector
	bounded(&problems, "reason", in.Reason, maxHoldReason)
	problems.Check(in.Held || in.Reason == "", "reason", "is only for a hold")
	if err := problems.Err(); err != nil {
		return Conversation{}, err
	}
	var c Conversation
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if c, err = tx.Conversations().Lock(ctx, id); err != nil {
			return err
		}
		now := d.svc.now()
		switch {
		case in.Held && c.IsHeld():
			c.HoldReason = in.Reason
		case in.Held:
			c.HeldAt, c.HeldByID, c.HoldReason = now, d.userID, in.Reason
		default:
			c.HeldAt, c.HeldByID, c.HoldReason = time.Time{}, 0, ""
		}
		c.UpdatedAt = now
		if err := tx.Conversations().Update(ctx, &c); err != nil {
			return err
		}
		return d.emitIn(ctx, tx, "conversation.updated", c.ID, c)
	})
	return c, err
}

// heldAs puts the conversation on hold if another one is, whose messages it gets.
func (c *Conversation) heldAs(other Conversation) {
	if !c.IsHeld() && other.IsHeld() {
		c.HeldAt, c.HeldByID, c.HoldReason = other.HeldAt, other.HeldByID, other.HoldReason
	}
}

// noneHeld returns a Conflict fault if one of some conversations is on hold.
func noneHeld(all ...Conversation) error {
	for _, c := range all {
		if c.IsHeld() {
			return &fault.Error{Kind: fault.Conflict, Resource: "conversation", ID: c.ID, Code: OnHold, Message: "A conversation is on hold. Nothing of it can be removed until it is released."}
		}
	}
	return nil
}
