package helpdesk

import (
	"cmp"
	"context"
	"slices"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// unassignBatch is how many conversations one transaction takes.
const unassignBatch = 100

// Unassign does a job of kind [JobUnassign]: the conversations that are assigned to a
// user who is no member any more become unassigned, a hundred at a time. Doing it
// again is harmless. Who has come back meanwhile keeps what is left.
func (s *Service) Unassign(ctx context.Context, job storage.ClaimedJob) error {
	back := func(ctx context.Context, tx Tx) (bool, error) {
		members, err := tx.UsersByID(ctx, []int64{job.Subject})
		return len(members) > 0, err
	}
	return s.takeAllBack(ctx, job.AccountID, back, ConversationFilter{UserID: storage.Some(job.Subject)}, func(c *Conversation) bool {
		was := c.UserID == job.Subject
		if was {
			c.UserID = 0
		}
		return was
	})
}

// takeAllBack changes all conversations that a filter finds, a batch in a transaction, unless
// who had them is back. change reports whether there was anything to do.
func (s *Service) takeAllBack(ctx context.Context, accountID int64, back func(context.Context, Tx) (bool, error), filter ConversationFilter, change func(*Conversation) bool) error {
	for done := false; !done; {
		err := s.cfg.Store.InTx(ctx, Scope{AccountID: accountID}, func(ctx context.Context, tx Tx) (err error) {
			if done, err = back(ctx, tx); err != nil || done {
				return err
			}
			done, err = s.takeBack(ctx, tx, filter, change)
			return err
		})
		if fault.Is(err, fault.NotFound) {
			return nil // the account is gone
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// takeBack changes one batch, and reports whether it was the last.
func (s *Service) takeBack(ctx context.Context, tx Tx, filter ConversationFilter, change func(*Conversation) bool) (done bool, err error) {
	batch, err := tx.Conversations().List(ctx, ConversationOrder{ConversationFilter: filter, Sort: ByUpdated}, storage.Seek{Limit: unassignBatch})
	if err != nil || len(batch) == 0 {
		return true, err
	}
	slices.SortFunc(batch, func(a, b Conversation) int { return cmp.Compare(a.ID, b.ID) }) // locked in one order, whoever locks several
	now := s.now()
	for _, found := range batch {
		c, err := tx.Conversations().Lock(ctx, found.ID)
		if fault.Is(err, fault.NotFound) || err == nil && !change(&c) {
			continue // somebody was faster
		}
		if err != nil {
			return false, err
		}
		c.UpdatedAt = now
		if err := tx.Conversations().Update(ctx, &c); err != nil {
			return false, err
		}
		event := storage.Event{Type: "conversation.updated", Subject: c.ID, MailboxID: c.MailboxID, ConversationID: c.ID, Data: eventData(c.ID), Time: now}
		if err := tx.Emit(ctx, event); err != nil {
			return false, err
		}
	}
	return len(batch) < unassignBatch, nil
}
