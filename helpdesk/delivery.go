package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// DeliveryState is how far an answer got on its way to one recipient.
type DeliveryState string

// The states of a delivery.
const (
	DeliveryQueued     DeliveryState = "queued"     // not tried yet
	DeliverySent       DeliveryState = "sent"       // the relay has taken it
	DeliveryDeferred   DeliveryState = "deferred"   // refused for now, tried again
	DeliveryFailed     DeliveryState = "failed"     // refused for good, or given up
	DeliveryBounced    DeliveryState = "bounced"    // taken by the relay and returned later
	DeliverySuppressed DeliveryState = "suppressed" // not tried: the address is on the list of suppressions
)

// Undelivered reports whether the mail did not reach the recipient and is not tried again by itself.
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
	Code          int       // SMTP reply code of the last try, RFC 5321 section 4.2; 0: none
	EnhancedCode  string    // RFC 3463, such as "5.1.1"; "": none
	Response      string    // text of the last answer, at most 500 bytes
	NextAttemptAt time.Time // not before; zero: no try is to come
	HeldBy        int64     // id of the job that tries it now; 0: none
	HeldUntil     time.Time // when that job must have given up
	CreatedAt     time.Time
	UpdatedAt     time.Time // of the last answer
}

// held reports whether a job tries the delivery now.
func (d Delivery) held(now time.Time) bool { return d.HeldBy != 0 && d.HeldUntil.After(now) }

// RetryDeliveries tries all recipients of a posted user interaction now whose
// mail was deferred, failed, came back or was suppressed, with the mail as it was.
// Those who were sent it, who wait for their first try or are being tried now are
// left alone. It returns all deliveries and needs interactions.create. When nobody
// is to be tried again it is a Conflict fault.
//
// A mail older than Config.MaxSendTime is tried once.
func (d *Desk) RetryDeliveries(ctx context.Context, conversationID, interactionID int64) ([]Delivery, error) {
	begin, err := d.guard.Write(InteractionsCreate)
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
			return fault.New(fault.Conflict, "No recipient waits for another try.")
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

// again queues those of all that can be tried once more, and returns them.
func again(all []Delivery, now time.Time) []Delivery {
	var changed []Delivery
	for n := range all {
		d := &all[n]
		waits := d.State == DeliveryDeferred && d.NextAttemptAt.After(now)
		ended := d.State.Undelivered()
		if d.held(now) || !waits && !ended {
			continue
		}
		d.State, d.NextAttemptAt = DeliveryQueued, now
		changed = append(changed, *d)
	}
	return changed
}

// CancelSending makes a posted user interaction whose sending has not begun a
// draft again: it is not sent, and has no Message-ID and no deliveries. It needs
// interactions.create. One whose sending has begun is a Conflict fault.
func (d *Desk) CancelSending(ctx context.Context, conversationID, interactionID int64) (Interaction, error) {
	begin, err := d.guard.Write(InteractionsCreate)
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
			return fault.New(fault.Conflict, "The sending of the mail has begun: it cannot be called back.")
		}
		scheduled := i.Scheduled()
		if err := d.adopt(ctx, tx, &i); err != nil {
			return err
		}
		if err := d.svc.unpost(ctx, tx, &i); err != nil {
			return err
		}
		if !scheduled { // else it has answered nothing yet
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

// adopt makes an answer the caller's whose creator has left: nobody would find the draft.
func (d *Desk) adopt(ctx context.Context, tx Tx, i *Interaction) error {
	members, err := tx.UsersByID(ctx, []int64{i.UserID})
	if err == nil && len(members) == 0 && d.userID != 0 {
		i.UserID = d.userID
	}
	return err
}

// postedIn is posted for an interaction of a conversation; one that is no posted
// user's is a Conflict fault.
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
		return c, i, fault.New(fault.Conflict, "The interaction is no mail that was posted.")
	}
	return c, i, nil
}

// unanswer takes back what posting an answer did to its conversation: the customer
// waits again since the first message after the last answer that is left.
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

// DeliveryFilter says of which interactions deliveries are listed.
type DeliveryFilter struct{ InteractionIDs []int64 }
