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
	scope, done := Scope{AccountID: job.AccountID}, false
	for !done {
		err := s.cfg.Store.InTx(ctx, scope, func(ctx context.Context, tx Tx) error {
			members, err := tx.UsersByID(ctx, []int64{job.Subject})
			if done = len(members) > 0; err != nil || done {
				return err
			}
			done, err = s.unassign(ctx, tx, job.Subject)
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

// unassign takes a batch of conversations from a user, and reports whether there are
// no more.
func (s *Service) unassign(ctx context.Context, tx Tx, userID int64) (done bool, err error) {
	batch, err := tx.Conversations().List(ctx, ConversationOrder{ConversationFilter: ConversationFilter{UserID: storage.Some(userID)}, Sort: ByCreated}, storage.Seek{Limit: unassignBatch})
	if err != nil || len(batch) == 0 {
		return true, err
	}
	slices.SortFunc(batch, func(a, b Conversation) int { return cmp.Compare(a.ID, b.ID) }) // locked in one order, whoever locks several
	now := s.now()
	for _, found := range batch {
		c, err := tx.Conversations().Lock(ctx, found.ID)
		if fault.Is(err, fault.NotFound) || err == nil && c.UserID != userID {
			continue // somebody was faster
		}
		if err != nil {
			return false, err
		}
		c.UserID, c.UpdatedAt = 0, now
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
