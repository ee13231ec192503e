package helpdesk

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// MaxSendLater is how far ahead an answer can be told to leave.
const MaxSendLater = 366 * 24 * time.Hour

// ScheduleReader finds answers that wait for their time.
type ScheduleReader interface {
	// Scheduled returns the interactions of conversations whose SendAt is after 1970, by
	// conversation and id.
	Scheduled(ctx context.Context, conversationIDs []int64) ([]Interaction, error)
}

// Scheduled reports whether an answer waits for the time that it was told to leave at.
// Until then the conversation is not answered: the customer waits, neither preview nor
// order change, and the answer has no Message-ID. When it leaves, it is posted at that
// moment, at the end of the conversation.
func (i Interaction) Scheduled() bool { return !i.SendAt.IsZero() }

// sendAt validates the time that an answer is told to leave at.
func (d *Desk) sendAt(problems *fault.Collector, field string, at time.Time) time.Time {
	if at.IsZero() {
		return at
	}
	at = at.UTC().Truncate(time.Microsecond)
	now := d.svc.now()
	problems.Check(at.After(now) && !at.After(now.Add(MaxSendLater)), field, "must be in the future, and at most a year ahead")
	return at
}

// ScheduledOf returns the answers in conversations, at most 100 of them, that wait for
// the time they were told to leave at. It needs interactions.view.
func (d *Desk) ScheduledOf(ctx context.Context, conversationIDs []int64) ([]Interaction, error) {
	r, err := d.guard.Read(InteractionsView)
	if err != nil {
		return nil, err
	}
	var problems fault.Collector
	problems.Check(len(conversationIDs) <= MaxBulk, "conversation_id", "has more than 100 ids")
	if err := problems.Err(); err != nil || len(conversationIDs) == 0 {
		return nil, err
	}
	return r.Scheduled(ctx, conversationIDs)
}

// schedule makes a posted answer wait for its time. Its conversation stays unanswered
// until then.
func (d *Desk) schedule(ctx context.Context, tx Tx, c *Conversation, i Interaction) error {
	if err := d.queue(ctx, tx, i, i.SendAt); err != nil {
		return err
	}
	if err := d.markRead(ctx, tx, c.ID); err != nil {
		return err
	}
	if err := tx.Enqueue(ctx, storage.Job{Kind: JobSendMail, AccountID: d.scope.AccountID, Subject: i.ID, RunAt: i.SendAt}); err != nil {
		return err
	}
	return d.emitIn(ctx, tx, "interaction.scheduled", i.ID, *c)
}

// Why an answer that waited for its time became a draft again.
const (
	ReturnedByCustomer = "customer" // a customer has written
	ReturnedByAnswer   = "answer"   // another member has answered
	ReturnedByMerge    = "merge"    // the conversation was put together with another one
	ReturnedBySpam     = "spam"     // the conversation was marked as spam
	ReturnedBySplit    = "split"    // messages have left the conversation, or come into it
)

// Returned is the data of the event interaction.returned.
type Returned struct {
	ID            int64  `json:"id"`
	Reason        string `json:"reason"`                   // one of the Returned constants
	InteractionID int64  `json:"interaction_id,omitempty"` // what was said, by a customer or a member
}

// overtake makes drafts again of the answers that wait for their time in a conversation,
// which is locked, when a customer or another member says something in it: nobody
// answers blindly. What machines say does not count.
func (s *Service) overtake(ctx context.Context, tx Tx, c Conversation, by Interaction) error {
	reason := ReturnedByCustomer
	switch {
	case by.Type == TypeNote || by.AutoSubmitted || by.Type == TypeUser && by.Status != StatusPosted:
		return nil
	case by.Type == TypeUser:
		reason = ReturnedByAnswer
	}
	waiting, err := tx.Scheduled(ctx, []int64{c.ID})
	if err != nil {
		return err
	}
	waiting = slices.DeleteFunc(waiting, func(i Interaction) bool {
		return i.ID == by.ID || by.Type == TypeUser && cmp.Or(i.PostedByID, i.UserID) == by.PostedByID
	})
	return s.giveBack(ctx, tx, waiting, Returned{Reason: reason, InteractionID: by.ID}, storage.Event{MailboxID: c.MailboxID, ActorID: by.PostedByID})
}

// returnAll makes drafts again of all answers that wait for their time in conversations,
// which are locked, because what they answer has changed.
func (d *Desk) returnAll(ctx context.Context, tx Tx, reason string, conversations ...Conversation) error {
	if len(conversations) == 0 {
		return nil
	}
	mailboxes := map[int64]int64{} // by conversation
	ids := make([]int64, len(conversations))
	for n, c := range conversations {
		ids[n], mailboxes[c.ID] = c.ID, c.MailboxID
	}
	waiting, err := tx.Scheduled(ctx, ids)
	if err != nil {
		return err
	}
	for _, i := range waiting {
		e := storage.Event{MailboxID: mailboxes[i.ConversationID], ActorID: d.userID}
		if err := d.svc.giveBack(ctx, tx, []Interaction{i}, Returned{Reason: reason}, e); err != nil {
			return err
		}
	}
	return nil
}

// giveBack makes drafts of answers that wait for their time, and tells it with events
// like the one given.
func (s *Service) giveBack(ctx context.Context, tx Tx, waiting []Interaction, why Returned, e storage.Event) error {
	for _, i := range waiting {
		if err := s.unpost(ctx, tx, &i); err != nil {
			return err
		}
		why.ID = i.ID
		e.Type, e.Subject, e.ConversationID, e.Time = "interaction.returned", i.ID, i.ConversationID, s.now()
		e.Data, _ = json.Marshal(why) // texts and numbers always encode
		if err := tx.Emit(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// unpost makes a posted answer, whose sending has not begun, a draft of its creator, or
// of nobody if that one has left.
func (s *Service) unpost(ctx context.Context, tx Tx, i *Interaction) error {
	i.Status, i.PostedByID, i.PostedAt, i.SendAt, i.UpdatedAt = StatusDraft, 0, time.Time{}, time.Time{}, s.now()
	i.MessageID, i.References, i.Ending = "", nil, Ending{}
	if err := tx.Interactions().Update(ctx, i); err != nil {
		return err
	}
	return tx.DeleteDeliveries(ctx, i.ID)
}

// leave posts an answer whose time has come: from here on it is like any other.
func (s *Service) leave(ctx context.Context, tx Tx, c *Conversation, i *Interaction) error {
	mailbox, err := tx.Mailboxes().Get(ctx, c.MailboxID)
	if err != nil {
		return err
	}
	now := s.now()
	i.SendAt, i.PostedAt = time.Time{}, now
	if !i.IsStarter {
		if i.At, err = standsLast(ctx, tx, c.ID, now); err != nil {
			return err
		}
	}
	if err := s.identify(ctx, tx, *c, mailbox, i); err != nil {
		return err
	}
	if err := tx.Interactions().Update(ctx, i); err != nil {
		return err
	}
	c.answeredBy(*i)
	c.UpdatedAt = now
	if err := tx.Conversations().Update(ctx, c); err != nil {
		return err
	}
	return tx.Emit(ctx, storage.Event{
		Type: "interaction.posted", Subject: i.ID, MailboxID: c.MailboxID, ConversationID: c.ID, ActorID: i.PostedByID, Data: eventData(i.ID), Time: now,
	})
}

// authorLeft is what becomes of an answer whose time has come when who posted it may not
// answer any more.
const authorLeft = "Not sent: whoever told it to leave at this time may not answer here any more. Read it before you try again."

// authorMay reports whether who told an answer to leave at a time may still answer, when
// that time has come. Of others it is not asked.
func (o *Outgoing) authorMay(ctx context.Context, accountID, interactionID int64) (bool, error) {
	r, err := o.desk(accountID).Read(transmit)
	if err != nil {
		return false, err
	}
	i, err := r.Interactions().Get(ctx, interactionID)
	if err != nil || !i.Scheduled() || i.SendAt.After(o.svc.now()) {
		return true, err
	}
	return o.svc.stillMay(ctx, accountID, i.PostedByID, func(author *Desk) error {
		_, err := author.guard.Write(InteractionsCreate)
		return err
	})
}
