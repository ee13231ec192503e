package helpdesk

import (
	"cmp"
	"context"
	"slices"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// unassignBatch is the number of conversations per transaction.
const unassignBatch = 100

// Unassign runs a [JobUnassign] job: it unassigns the conversations of a former member, a hundred at a time. It is
// idempotent. A user who has rejoined in the meantime keeps the rest.
func (j Jobs) Unassign(ctx context.Context, job storage.ClaimedJob) error {
	back := func(ctx context.Context, tx Tx) (bool, error) {
		members, err := tx.UsersByID(ctx, []int64{job.Subject})
		return len(members) > 0, err
	}
	return j.svc.takeAllBack(ctx, job.AccountID, back, ConversationFilter{UserID: storage.Some(job.Subject)}, func(c *Conversation) bool {
		was := c.UserID == job.Subject
		if was {
			c.UserID = 0
		}
		return was
	})
}

// takeAllBack changes all conversations that match a filter, in batches, unless back reports that their owner is back.
// change reports whether it changed anything.
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
			return nil // the account was deleted
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
			continue // changed by a concurrent request
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
