package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// held reports whether a job is attempting the delivery.
func heldBack(d sending.Delivery, now time.Time) bool { return d.HeldBy != 0 && d.HeldUntil.After(now) }

// RetryDeliveries retries, with the unchanged message, all recipients of a posted user interaction whose delivery was
// deferred, failed, bounced or suppressed. Recipients that were sent it, await their first attempt or are being attempted
// stay unchanged. It returns all deliveries and needs interactions.create. If there is nobody to retry, it is a Conflict
// fault.
//
// A message older than Config.MaxSendTime is attempted once.
func (d Interactions) RetryDeliveries(ctx context.Context, conversationID, interactionID int64) ([]sending.Delivery, error) {
	begin, err := d.guard.Write(identity.InteractionsCreate)
	if err != nil {
		return nil, err
	}
	var all []sending.Delivery
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		c, i, err := d.postedIn(ctx, tx, conversationID, interactionID)
		if err != nil {
			return err
		}
		if all, err = tx.Deliveries().List(ctx, sending.DeliveryFilter{InteractionIDs: []int64{i.ID}}, storage.Seek{Limit: storage.NoLimit}); err != nil {
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
func again(all []sending.Delivery, now time.Time) []sending.Delivery {
	var changed []sending.Delivery
	for n := range all {
		d := &all[n]
		waits := d.State == sending.Deferred && d.NextAttemptAt.After(now)
		ended := d.State.Undelivered()
		if heldBack(*d, now) || !waits && !ended {
			continue
		}
		d.State, d.NextAttemptAt = sending.Queued, now
		changed = append(changed, *d)
	}
	return changed
}

// CancelSending turns a posted user interaction whose sending has not begun back into a draft, without Message-ID and
// deliveries. It needs interactions.create. Once sending has begun, it is a Conflict fault.
func (d Interactions) CancelSending(ctx context.Context, conversationID, interactionID int64) (Interaction, error) {
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
			return fault.New(fault.Conflict, "The mail is already being sent, so it can no longer be cancelled.")
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

// adopt makes the caller the creator of a reply whose creator has left. Otherwise nobody would find the draft.
func (d *desk) adopt(ctx context.Context, tx Tx, i *Interaction) error {
	members, err := tx.UsersByID(ctx, []int64{i.UserID})
	if err == nil && len(members) == 0 && d.userID != 0 {
		i.UserID = d.userID
	}
	return err
}

// postedIn is posted for an interaction of a conversation. One that is not a posted user interaction is a Conflict fault.
func (d *desk) postedIn(ctx context.Context, tx Tx, conversationID, id int64) (Conversation, Interaction, error) {
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

// unanswer undoes the effect of posting a reply on its conversation: the customer has been waiting since the first message
// after the last remaining reply.
func (d *desk) unanswer(ctx context.Context, tx Tx, c *Conversation, taken Interaction) error {
	if taken.IsForward {
		return nil
	}
	last, err := tx.Interactions().List(ctx, InteractionFilter{ConversationID: c.ID, Brief: true}, storage.Seek{Desc: true, Limit: 100})
	if err != nil {
		return err
	}
	c.AwaitingSince = time.Time{}
	for _, i := range last {
		if i.IsForward || i.Type == TypeNote || i.Status != StatusPosted || i.Scheduled() || i.Automatic() {
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
