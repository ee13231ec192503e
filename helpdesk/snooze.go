package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// maxSnooze is how long a conversation can be snoozed.
const maxSnooze = 5 * 366 * 24 * time.Hour

// snooze snoozes a conversation, with a job to wake it, or wakes it. A conversation that is not open cannot be snoozed.
func (d *desk) snooze(ctx context.Context, tx Tx, c *Conversation, in storage.Opt[time.Time]) error {
	until, given := in.Get()
	until = until.UTC().Truncate(time.Microsecond)
	if given && !c.Status.Open() {
		return fault.Field("snoozed_until", "is only allowed for posted or pending conversations")
	}
	if !given && (in.IsNull() || !c.Status.Open()) {
		c.SnoozedUntil = time.Time{}
	}
	if !given || until.Equal(c.SnoozedUntil) {
		return nil
	}
	if now := d.svc.now(); !until.After(now) || until.After(now.Add(maxSnooze)) {
		return fault.Field("snoozed_until", "must be in the future, and at most five years ahead")
	}
	c.SnoozedUntil = until
	return tx.Enqueue(ctx, storage.Job{Kind: JobWake, AccountID: d.scope.AccountID, Subject: c.ID, RunAt: until})
}

// Wake runs a [JobWake] job: it ends a conversation's snooze if that is due. A conversation that was woken before, or
// snoozed further, is unchanged.
func (j Jobs) Wake(ctx context.Context, job storage.ClaimedJob) error {
	err := j.svc.cfg.Store.InTx(ctx, Scope{AccountID: job.AccountID}, func(ctx context.Context, tx Tx) error {
		c, err := tx.Conversations().Lock(ctx, job.Subject)
		if err != nil {
			return err
		}
		now := j.svc.now()
		if c.SnoozedUntil.IsZero() || c.SnoozedUntil.After(now) {
			return nil
		}
		c.SnoozedUntil, c.UpdatedAt = time.Time{}, now
		if err := tx.Conversations().Update(ctx, &c); err != nil {
			return err
		}
		var events []storage.Event
		for _, kind := range []string{"conversation.updated", "conversation.woken"} {
			events = append(events, storage.Event{
				Type: kind, Subject: c.ID, MailboxID: c.MailboxID, ConversationID: c.ID, Data: eventData(c.ID), Time: now,
			})
		}
		return tx.Emit(ctx, events...)
	})
	if fault.Is(err, fault.NotFound) {
		return nil // deleted
	}
	return err
}
