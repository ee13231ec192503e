package helpdesk

import (
	"context"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// longAnswered is the age from which a customer's archived message no longer awaits a reply.
const longAnswered = 30 * 24 * time.Hour

// ownAnswer determines whether a message was sent by us outside the desk, and its recipients: its author is a mailbox of the
// account or, in an archive, a member who wrote to others and not to us. userID is the member, 0 if unknown.
func (f *filing) ownAnswer(ctx context.Context, tx Tx, shared *filingTogether) (to []mailaddr.Address, userID int64, err error) {
	live := !f.mail.Archived
	if f.mail.Report != nil || f.mail.FirstAuthor().Email == ledger.UnknownSender || live && (!f.fromUs || f.claimsUs) {
		return nil, 0, nil
	}
	own, err := shared.ownAddresses(ctx, tx.Reader(), f.svc, f.accountID)
	if err != nil {
		return nil, 0, err
	}
	for _, a := range slices.Concat(f.mail.To, f.mail.Cc, f.mail.Bcc) {
		if mailaddr.Valid(a.Email) && !own.receives(a.Email) {
			to = append(to, a)
		}
	}
	if len(to) == 0 {
		return nil, 0, nil
	}
	ours, author := own.receives(f.mail.FirstAuthor().Email), f.mail.FirstAuthor()
	// The sender on the mailbox's behalf (RFC 5322 section 3.6.2). Nothing proves the one of a live message unless its domain
	// is that of From.
	if sender := f.mail.FirstSender(); ours && sender.Email != "" && (!live || sameDomain(sender.Email, author.Email)) {
		author = sender
	}
	if userID = f.users[mailaddr.Key(author.Email)]; userID != 0 {
		members, err := tx.UsersByID(ctx, []int64{userID})
		if err != nil {
			return nil, 0, err
		}
		if len(members) == 0 {
			userID = 0
		}
	}
	if !ours && (userID == 0 || slices.ContainsFunc(f.mail.To, func(a mailaddr.Address) bool { return own.receives(a.Email) })) {
		return nil, 0, nil
	}
	return to, userID, nil
}

func sameDomain(a, b string) bool {
	_, one, _ := plain.CutLast(mailaddr.Key(a), "@")
	_, other, _ := plain.CutLast(mailaddr.Key(b), "@")
	return one == other
}

// fileAnswer files a message sent by us as an interaction, either of the conversation that it refers to or of a new one with
// its first recipient.
func (f *filing) fileAnswer(ctx context.Context, tx Tx, row ledger.Mail, mailbox Mailbox, to []mailaddr.Address, userID int64, shared *filingTogether) (ledger.Mail, error) {
	live := !f.mail.Archived
	if userID != 0 {
		tx = actAs(tx, subscription.Actor{Type: subscription.ActorUser, ID: userID})
	}
	m, err := f.answeredThread(ctx, tx, mailbox)
	if err != nil {
		return row, err
	}
	at, err := f.place(ctx, tx, m, f.sentAt(row, mailbox))
	if err != nil {
		return row, err
	}
	var events []storage.Event
	c, isNew := m.conversation, m.conversation.ID == 0
	if isNew {
		customer, created, err := findCustomer(ctx, tx, to[0].Email, to[0].Name, f.now, &shared.index)
		if err != nil {
			return row, err
		}
		if created {
			events = append(events, storage.Event{Type: "customer.created", Subject: customer.ID, Data: eventData(customer.ID), Time: f.now})
		}
		c = f.open(mailbox, customer, customer.emailByKey(mailaddr.Key(to[0].Email)), at, m)
		if !live {
			c.Status = StatusClosed
		}
	} else if dropped, err := f.dropTwice(ctx, tx, &row, c.ID, nil); dropped || err != nil {
		return row, err
	}
	i := f.answer(at, userID, m)
	i.IsStarter = isNew
	if i.IsForward, err = f.passesOn(ctx, tx, c, to); err != nil {
		return row, err
	}
	old := c
	c.answeredOutside(i, live)
	if err := f.save(ctx, tx, &c); err != nil {
		return row, err
	}
	i.ConversationID = c.ID
	if err := f.putAnswer(ctx, tx, &c, &i, to, shared); err != nil {
		return row, err
	}
	event := func(kind string, subject int64) {
		events = append(events, storage.Event{
			Type: kind, Subject: subject, MailboxID: c.MailboxID, ConversationID: c.ID, Data: eventData(subject), Time: f.now,
		})
	}
	if isNew {
		event("conversation.created", c.ID)
	}
	event("interaction.created", i.ID)
	if live {
		if err := f.svc.overtake(ctx, tx, c, &recent{conversationID: c.ID, whole: isNew}, i); err != nil {
			return row, err
		}
	}
	for _, kind := range changedTo(old, c) {
		event(kind, c.ID)
		events[len(events)-1] = becauseOf(events[len(events)-1], i.ID)
	}
	row.State, row.Reason, row.UpdatedAt = ledger.Filed, "", f.now
	row.Identity, row.ConversationID, row.InteractionID = f.mail.Identity, c.ID, i.ID
	if err := tx.UpdateInbound(ctx, &row); err != nil {
		return row, err
	}
	return row, tx.Emit(ctx, events...)
}

// answeredThread returns the conversation of the likeliest message that ours refers to, whatever its recipients, or else of a
// reply token among them.
func (f *filing) answeredThread(ctx context.Context, tx Tx, mailbox Mailbox) (match, error) {
	m := match{why: Threading{Rule: RuleNew}}
	refs := f.candidates()
	known, err := f.known(ctx, tx, mailbox, refs)
	if err != nil {
		return m, err
	}
	m.why.References, m.why.Known = len(refs), len(known)
	for _, ref := range known {
		c, err := f.holder(ctx, tx, mailbox, ref)
		if fault.Is(err, fault.NotFound) {
			continue // deleted in the meantime
		}
		if err != nil {
			return m, err
		}
		m.conversation, m.parent = c, ref.InteractionID
		m.why.Rule, m.why.Matched = RuleReferences, ref.MessageID
		return m, nil
	}
	_, err = f.byToken(ctx, tx, &m, mailbox, refs, "")
	return m, err
}

// passesOn reports whether a reply went to none of the conversation's participants, so that the customer still waits.
func (f *filing) passesOn(ctx context.Context, tx Tx, c Conversation, to []mailaddr.Address) (bool, error) {
	if c.ID == 0 {
		return false, nil
	}
	var keys []string
	for _, a := range to {
		keys = append(keys, mailaddr.Key(a.Email))
	}
	takesPart, err := tx.Participant(ctx, c.ID, keys)
	return !takesPart, err
}

// answer returns the interaction of a message sent by us.
func (f *filing) answer(at time.Time, userID int64, m match) Interaction {
	i := f.interaction(Customer{}, CustomerEmail{}, m)
	i.Type, i.Source, i.UserID, i.PostedByID = TypeUser, "", userID, userID
	i.At, i.PostedAt, i.SendStartedAt = at, at, at
	i.Authentication, i.Bcc = ledger.Authentication{}, emails(f.mail.Bcc)
	return i
}

// answeredOutside updates the conversation for a reply that was sent outside the desk. After it, the conversation awaits
// nothing; one of an archive is also closed.
func (c *Conversation) answeredOutside(i Interaction, live bool) {
	last := !i.At.Before(c.UpdatedAt)
	if last {
		c.UpdatedAt = i.At
	}
	if i.IsStarter || last && !i.AutoSubmitted && !i.IsForward {
		c.answeredBy(i)
		if !live {
			c.Status = StatusClosed
		}
	}
}

// receivedBefore reverts what a customer's archived message changed in a conversation, if it is too old to await a reply.
func (c *Conversation) receivedBefore(old Conversation, at, now time.Time) {
	if now.Sub(at) <= longAnswered {
		return
	}
	c.Status, c.AwaitingSince, c.SnoozedUntil = old.Status, old.AwaitingSince, old.SnoozedUntil
	if c.ID == 0 {
		c.Status, c.AwaitingSince = StatusClosed, time.Time{}
	}
}

// putAnswer inserts the interaction with its files, search terms and participants.
func (f *filing) putAnswer(ctx context.Context, tx Tx, c *Conversation, i *Interaction, to []mailaddr.Address, shared *filingTogether) error {
	if err := f.putIn(ctx, tx, c, i); err != nil {
		return err
	}
	if i.IsStarter {
		shared.index.addConversation(c.ID)
	}
	if err := shared.index.add(ctx, tx, *c, *i); err != nil {
		return err
	}
	if err := attach(ctx, tx, *i, f.mailFiles()); err != nil {
		return err
	}
	if err := f.purge(ctx, tx, f.unused()); err != nil {
		return err
	}
	keys := make([]string, len(to))
	for n, a := range to {
		keys[n] = mailaddr.Key(a.Email)
	}
	return tx.AddParticipants(ctx, c.ID, keys)
}
