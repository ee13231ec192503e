package helpdesk

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// MaxSendLater is how far ahead a reply can be scheduled.
const MaxSendLater = 366 * 24 * time.Hour

// ScheduleReader finds scheduled replies.
type ScheduleReader interface {
	// Scheduled returns the interactions of conversations whose SendAt is after 1970, by conversation and id.
	Scheduled(ctx context.Context, conversationIDs []int64) ([]Interaction, error)
}

// Scheduled reports whether a reply waits for the time at which it is to be sent. Until then the conversation counts as
// unanswered, its preview and order do not change, and the reply has no Message-ID. When sent, it is posted at that moment,
// at the end of the conversation.
func (i Interaction) Scheduled() bool { return !i.SendAt.IsZero() }

// sendAt validates the time for sending a reply.
func (d *desk) sendAt(problems *fault.Collector, field string, at time.Time) time.Time {
	if at.IsZero() {
		return at
	}
	at = at.UTC().Truncate(time.Microsecond)
	now := d.svc.now()
	problems.Check(at.After(now) && !at.After(now.Add(MaxSendLater)), field, "must be in the future, and at most a year ahead")
	return at
}

// schedule schedules a posted reply. Its conversation stays unanswered until it is sent.
func (d *desk) schedule(ctx context.Context, tx Tx, c *Conversation, all *recent, i Interaction) error {
	if err := d.queue(ctx, tx, i, i.SendAt); err != nil {
		return err
	}
	if err := d.markRead(ctx, tx, all); err != nil {
		return err
	}
	if err := tx.Enqueue(ctx, storage.Job{Kind: JobSendMail, AccountID: d.scope.AccountID, Subject: i.ID, RunAt: i.SendAt}); err != nil {
		return err
	}
	return d.emitIn(ctx, tx, "interaction.scheduled", i.ID, *c)
}

// Reasons why a scheduled reply became a draft again.
const (
	ReturnedByCustomer = "customer" // the customer wrote
	ReturnedByAnswer   = "answer"   // another member replied
	ReturnedByMerge    = "merge"    // the conversation was merged with another one
	ReturnedBySpam     = "spam"     // the conversation was marked as spam
	ReturnedBySplit    = "split"    // messages left or joined the conversation
)

// Returned is the data of the event interaction.returned.
type Returned struct {
	ID            int64  `json:"id"`
	Reason        string `json:"reason"`                   // one of the Returned constants
	InteractionID int64  `json:"interaction_id,omitempty"` // the new interaction by a customer or a member
}

// overtake turns the scheduled replies of a locked conversation back into drafts when a customer or another member
// contributes, so that nobody replies without knowing that. Automatic messages do not count.
func (s *Service) overtake(ctx context.Context, tx Tx, c Conversation, all *recent, by Interaction) error {
	reason := ReturnedByCustomer
	switch {
	case by.Type == TypeNote || by.AutoSubmitted || by.Type == TypeUser && by.Status != StatusPosted:
		return nil
	case by.Type == TypeUser:
		reason = ReturnedByAnswer
	}
	waiting, err := all.scheduled(ctx, tx)
	if err != nil {
		return err
	}
	waiting = slices.DeleteFunc(waiting, func(i Interaction) bool {
		return i.ID == by.ID || by.Type == TypeUser && cmp.Or(i.PostedByID, i.UserID) == by.PostedByID
	})
	err = s.giveBack(ctx, tx, waiting, Returned{Reason: reason, InteractionID: by.ID}, storage.Event{MailboxID: c.MailboxID, ActorID: by.PostedByID})
	all.put(waiting)
	return err
}

// returnAll turns all scheduled replies of locked conversations back into drafts, because what they reply to has changed.
func (d *desk) returnAll(ctx context.Context, tx Tx, reason string, conversations ...Conversation) error {
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

// giveBack turns scheduled replies into drafts, also in waiting, and emits events like the given one.
func (s *Service) giveBack(ctx context.Context, tx Tx, waiting []Interaction, why Returned, e storage.Event) error {
	for n := range waiting {
		i := &waiting[n]
		if err := s.unpost(ctx, tx, i); err != nil {
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

// unpost turns a posted reply whose sending has not begun into a draft of its creator, or of nobody if the creator has left.
func (s *Service) unpost(ctx context.Context, tx Tx, i *Interaction) error {
	i.Status, i.PostedByID, i.PostedAt, i.SendAt, i.UpdatedAt = StatusDraft, 0, time.Time{}, time.Time{}, s.now()
	passed := i.Forwarding()
	i.MessageID, i.References, i.Ending = "", nil, Ending{}
	if i.Automatic() { // from now on it is a member's
		i.Source, i.Subject, i.AutoSubmitted = "", "", false
	}
	i.passOn(passed)
	if err := tx.Interactions().Update(ctx, i); err != nil {
		return err
	}
	return tx.DeleteDeliveries(ctx, i.ID)
}

// leave posts a scheduled reply that is due. From then on it is like any other.
func (s *Service) leave(ctx context.Context, tx Tx, c *Conversation, i *Interaction) error {
	mailbox, err := tx.Mailboxes().Get(ctx, c.MailboxID)
	if err != nil {
		return err
	}
	all, err := recentOf(ctx, tx, c.ID, recentForReply)
	if err != nil {
		return err
	}
	now := s.now()
	i.SendAt, i.PostedAt = time.Time{}, now
	if !i.IsStarter {
		i.At = all.notBefore(now)
	}
	if err := s.identify(ctx, tx, *c, all, mailbox, i); err != nil {
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

// authorLeft is the response of a scheduled reply whose author may no longer reply.
const authorLeft = "Not sent: whoever told it to leave at this time may not answer here any more. Read it before you try again."

// authorMay reports whether the author of a due, scheduled reply may still reply. It is true for other replies.
func (o *Outgoing) authorMay(ctx context.Context, accountID, interactionID int64) (bool, error) {
	r, err := o.desk(accountID).Read(transmit)
	if err != nil {
		return false, err
	}
	i, err := r.Interactions().Get(ctx, interactionID)
	if err != nil || !i.Scheduled() || i.SendAt.After(o.svc.now()) {
		return true, err
	}
	return o.svc.stillMay(ctx, accountID, i.PostedByID, func(author *desk) error {
		_, err := author.guard.Write(identity.InteractionsCreate)
		return err
	})
}
