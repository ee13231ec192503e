package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// DeliveryState is the state of delivering a reply to one recipient.
type DeliveryState string

// The states of a delivery.
const (
	DeliveryQueued     DeliveryState = "queued"     // not attempted yet
	DeliverySent       DeliveryState = "sent"       // accepted by the relay
	DeliveryDeferred   DeliveryState = "deferred"   // rejected temporarily, to be retried
	DeliveryFailed     DeliveryState = "failed"     // rejected permanently, or given up
	DeliveryBounced    DeliveryState = "bounced"    // accepted by the relay and returned later
	DeliverySuppressed DeliveryState = "suppressed" // not attempted: the address is suppressed
)

// Undelivered reports whether the message did not reach the recipient and is not retried
// automatically.
func (s DeliveryState) Undelivered() bool {
	return s == DeliveryFailed || s == DeliveryBounced || s == DeliverySuppressed
}

// Delivery is the state of one recipient of a posted user interaction.
type Delivery struct {
	ID            int64
	InteractionID int64
	Address       string
	AddressKey    string // its EmailKey
	Field         string // "to", "cc" or "bcc"
	State         DeliveryState
	Attempts      int
	Code          int       // SMTP reply code of the last attempt, RFC 5321 section 4.2; 0: none
	EnhancedCode  string    // RFC 3463, such as "5.1.1"; "": none
	Response      string    // text of the last reply, at most 500 bytes
	NextAttemptAt time.Time // earliest next attempt; zero: none
	HeldBy        int64     // ID of the job that is attempting it; 0: none
	HeldUntil     time.Time // deadline of that job
	CreatedAt     time.Time
	UpdatedAt     time.Time // time of the last reply
}

// held reports whether a job is attempting the delivery.
func heldBack(d Delivery, now time.Time) bool { return d.HeldBy != 0 && d.HeldUntil.After(now) }

// RetryDeliveries retries, with the unchanged message, all recipients of a posted user interaction
// whose delivery was deferred, failed, bounced or suppressed. Recipients that were sent it, await
// their first attempt or are being attempted stay unchanged. It returns all deliveries and needs
// interactions.create. If there is nobody to retry, it is a Conflict fault.
//
// A message older than Config.MaxSendTime is attempted once.
func (d *Desk) RetryDeliveries(ctx context.Context, conversationID, interactionID int64) ([]Delivery, error) {
	begin, err := d.guard.Write(identity.InteractionsCreate)
	if err != nil {
		return nil, err
	}
	var all []Delivery
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		c, i, err := d.postedIn(ctx, tx, conversationID, interactionID)
		if err != nil {
			return err
		}
		if all, err = tx.Deliveries().List(ctx, DeliveryFilter{InteractionIDs: []int64{i.ID}}, storage.Seek{Limit: storage.NoLimit}); err != nil {
			return err
		}
		changed := again(all, d.svc.now())
		if len(changed) == 0 {
			return fault.New(fault.Conflict, "No recipient is waiting for a retry.")
		}
		if err := tx.Deliveries().Update(ctx, storage.Pointers(changed)...); err != nil {
			return err
		}
		job := storage.Job{Kind: JobSendMail, AccountID: d.scope.AccountID, Subject: i.ID, RunAt: d.svc.now()}
		if err := tx.Enqueue(ctx, job); err != nil {
			return err
		}
		return d.emitIn(ctx, tx, "interaction.delivery_queued", i.ID, c)
	})
	return all, err
}

// again queues the deliveries that can be retried, and returns them.
func again(all []Delivery, now time.Time) []Delivery {
	var changed []Delivery
	for n := range all {
		d := &all[n]
		waits := d.State == DeliveryDeferred && d.NextAttemptAt.After(now)
		ended := d.State.Undelivered()
		if heldBack(*d, now) || !waits && !ended {
			continue
		}
		d.State, d.NextAttemptAt = DeliveryQueued, now
		changed = append(changed, *d)
	}
	return changed
}

// CancelSending turns a posted user interaction whose sending has not begun back into a draft,
// without Message-ID and deliveries. It needs interactions.create. Once sending has begun, it is a
// Conflict fault.
func (d *Desk) CancelSending(ctx context.Context, conversationID, interactionID int64) (Interaction, error) {
	begin, err := d.guard.Write(identity.InteractionsCreate)
	if err != nil {
		return Interaction{}, err
	}
	var i Interaction
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		var c Conversation
		if c, i, err = d.postedIn(ctx, tx, conversationID, interactionID); err != nil {
			return err
		}
		if !i.SendStartedAt.IsZero() {
			return fault.New(fault.Conflict, "Sending has begun, so the mail can no longer be cancelled.")
		}
		scheduled := i.Scheduled()
		if err := d.adopt(ctx, tx, &i); err != nil {
			return err
		}
		if err := d.svc.unpost(ctx, tx, &i); err != nil {
			return err
		}
		if !scheduled { // a scheduled one has not answered anything yet
			if err := d.unanswer(ctx, tx, &c, i); err != nil {
				return err
			}
		}
		c.UpdatedAt = i.UpdatedAt
		if err := tx.Conversations().Update(ctx, &c); err != nil {
			return err
		}
		return d.emitIn(ctx, tx, "interaction.canceled", i.ID, c)
	})
	return i, err
}

// adopt makes the caller the creator of a reply whose creator has left. Otherwise nobody would find
// the draft.
func (d *Desk) adopt(ctx context.Context, tx Tx, i *Interaction) error {
	members, err := tx.UsersByID(ctx, []int64{i.UserID})
	if err == nil && len(members) == 0 && d.userID != 0 {
		i.UserID = d.userID
	}
	return err
}

// postedIn is posted for an interaction of a conversation. One that is not a posted user
// interaction is a Conflict fault.
func (d *Desk) postedIn(ctx context.Context, tx Tx, conversationID, id int64) (Conversation, Interaction, error) {
	c, err := tx.Conversations().Lock(ctx, conversationID)
	if err != nil {
		return c, Interaction{}, err
	}
	i, err := tx.Interactions().Lock(ctx, id)
	if i, err = inConversation(i, conversationID, err); err != nil {
		return c, i, err
	}
	if i.Type != TypeUser || i.Status != StatusPosted {
		return c, i, fault.New(fault.Conflict, "The interaction is not a posted mail.")
	}
	return c, i, nil
}

// unanswer undoes the effect of posting a reply on its conversation: the customer has been waiting
// since the first message after the last remaining reply.
func (d *Desk) unanswer(ctx context.Context, tx Tx, c *Conversation, taken Interaction) error {
	if taken.IsForward {
		return nil
	}
	last, err := tx.Interactions().List(ctx, InteractionFilter{ConversationID: c.ID}, storage.Seek{Desc: true, Limit: 100})
	if err != nil {
		return err
	}
	c.AwaitingSince = time.Time{}
	for _, i := range last {
		if i.IsForward || i.Type == TypeNote || i.Status != StatusPosted || i.Scheduled() {
			continue
		}
		if i.Type == TypeUser {
			break
		}
		if !i.AutoSubmitted {
			c.AwaitingSince = i.At
		}
	}
	return refreshPreview(ctx, tx, c)
}

// DeliveryFilter names the interactions whose deliveries are listed.
type DeliveryFilter struct{ InteractionIDs []int64 }
