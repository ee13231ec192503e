package helpdesk

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// transmit is the one permission of an Outgoing.
const transmit Permission = "mail.send"

// Outgoing can only take mail to send and report on it.
type Outgoing struct {
	svc  *Service
	desk func(accountID int64) deskGuard
}

// Outgoing returns the handle of who sends mail.
func (s *Service) Outgoing() *Outgoing {
	allows := func(p Permission) bool { return p == transmit }
	return &Outgoing{svc: s, desk: func(accountID int64) deskGuard { return s.scoped(Scope{AccountID: accountID}, allows) }}
}

// OutgoingMail is an answer to be sent. Every try gives the same but for the
// recipients, who are those that wait for a try.
type OutgoingMail struct {
	AccountID     int64
	InteractionID int64
	MessageID     string
	Date          time.Time
	From          Address
	ReplyTo       string // holds the reply token
	To, Cc        []string
	Subject       string // without "Re:"
	IsReply       bool   // it answers a mail
	References    []string
	HTML          string
	Attachments   []Attachment
	Due           []Delivery // recipients of this try, Bcc among them; empty: nobody waits
	// NextTry is when the first of the others may be tried; zero when there are none.
	NextTry time.Time
}

// Begin takes an answer to send it now and freezes it: from here on it cannot be
// edited. An interaction that is gone or is no posted user's is a NotFound fault.
//
// Mail cannot be encrypted yet. Where PGP is enabled, an answer of which one
// recipient has a key therefore fails for all of them: nobody is due.
func (o *Outgoing) Begin(ctx context.Context, accountID, interactionID int64) (OutgoingMail, error) {
	begin, err := o.desk(accountID).Write(transmit)
	if err != nil {
		return OutgoingMail{}, err
	}
	var out OutgoingMail
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := o.refusePlaintext(ctx, tx, interactionID); err != nil {
			return err
		}
		i, err := tx.InteractionForUpdate(ctx, interactionID)
		if err != nil {
			return err
		}
		if i.Type != TypeUser || i.Status != StatusPosted {
			return fault.Missing("interaction", interactionID)
		}
		deliveries, err := tx.Deliveries(ctx, []int64{i.ID})
		if err != nil {
			return err
		}
		now := o.svc.now()
		out = OutgoingMail{AccountID: accountID, InteractionID: i.ID}
		out.Due, out.NextTry = due(deliveries, now)
		if len(out.Due) == 0 {
			return nil
		}
		if i.SendStartedAt.IsZero() {
			i.SendStartedAt = now
			if err := tx.UpdateInteraction(ctx, &i); err != nil {
				return err
			}
		}
		return o.fill(ctx, tx, i, &out)
	})
	return out, err
}

// refusePlaintext fails all recipients who wait when one of the interaction's has a
// key: what is meant for that one must not leave unencrypted, to nobody.
func (o *Outgoing) refusePlaintext(ctx context.Context, tx Tx, interactionID int64) error {
	if o.svc.cfg.ParseKey == nil {
		return nil
	}
	i, err := tx.Interaction(ctx, interactionID)
	if err != nil {
		return err
	}
	c, err := tx.ConversationForUpdate(ctx, i.ConversationID)
	if err != nil {
		return err
	}
	if i, err = tx.InteractionForUpdate(ctx, interactionID); err != nil || i.Status != StatusPosted {
		return err
	}
	deliveries, err := tx.Deliveries(ctx, []int64{i.ID})
	if err != nil {
		return err
	}
	var addresses []string
	var outcomes []Outcome
	for _, d := range deliveries {
		addresses = append(addresses, EmailKey(d.Address))
		if d.State == DeliveryQueued || d.State == DeliveryDeferred {
			outcomes = append(outcomes, Outcome{DeliveryID: d.ID, State: DeliveryFailed, Response: notEncrypted})
		}
	}
	if len(outcomes) == 0 {
		return nil
	}
	keys, err := tx.PGPKeysByAddress(ctx, addresses)
	if err != nil || len(keys) == 0 {
		return err
	}
	now := o.svc.now()
	changed := o.apply(deliveries, outcomes, i.PostedAt, now)
	if err := tx.UpdateDeliveries(ctx, changed); err != nil {
		return err
	}
	return o.conclude(ctx, tx, c, i, changed, now)
}

// notEncrypted is the response of deliveries that would have left unencrypted.
const notEncrypted = "The mail was not sent: a recipient has a PGP key, and it cannot be encrypted in this version."

// due splits off the deliveries that may be tried now.
func due(all []Delivery, now time.Time) (ready []Delivery, next time.Time) {
	for _, d := range all {
		switch {
		case d.State != DeliveryQueued && d.State != DeliveryDeferred:
		case !d.NextAttemptAt.After(now):
			ready = append(ready, d)
		case next.IsZero() || d.NextAttemptAt.Before(next):
			next = d.NextAttemptAt
		}
	}
	return ready, next
}

func (o *Outgoing) fill(ctx context.Context, tx Tx, i Interaction, out *OutgoingMail) error {
	c, err := tx.Conversation(ctx, i.ConversationID)
	if err != nil {
		return err
	}
	mailbox, err := tx.Mailbox(ctx, c.MailboxID)
	if err != nil {
		return err
	}
	users, err := tx.UsersByID(ctx, []int64{i.PostedByID})
	if err != nil {
		return err
	}
	if out.Attachments, err = tx.Attachments(ctx, []int64{i.ID}); err != nil {
		return err
	}
	userName := ""
	if len(users) > 0 {
		userName = users[0].Name
	}
	out.From = Address{Name: fromName(mailbox, userName), Email: mailbox.Email}
	if out.From.Email == "" {
		out.From.Email = o.svc.InternalAddress(mailbox)
	}
	reply := out.From.Email
	if mailbox.Inbound.Type == InboundForward {
		reply = o.svc.InternalAddress(mailbox)
	}
	out.ReplyTo = o.svc.replyAddress(reply, out.AccountID, c.ID)
	out.MessageID, out.Date, out.To, out.Cc = i.MessageID, i.PostedAt, i.To, i.Cc
	out.Subject, out.HTML, out.References = c.Subject, i.Body, i.References
	out.IsReply = len(i.References) > 0
	return nil
}

// fromName is the display name of a mailbox's answers with its placeholders filled in.
func fromName(m Mailbox, userName string) string {
	name := m.From
	if name == "" {
		name = m.Name
	}
	name = strings.NewReplacer(":mailbox.name", m.Name, ":user.name", userName).Replace(name)
	return cut(cleanLine(name), 200)
}

// OpenAttachment opens a file of a mail that [Outgoing.Begin] gave.
func (o *Outgoing) OpenAttachment(ctx context.Context, accountID int64, a Attachment) (io.ReadCloser, error) {
	if _, err := o.desk(accountID).Read(transmit); err != nil {
		return nil, err
	}
	return o.svc.cfg.Blobs.Get(ctx, a.BlobKey)
}

// Outcome is what became of one recipient in one try.
type Outcome struct {
	DeliveryID   int64
	State        DeliveryState // sent, deferred or failed
	Code         int
	EnhancedCode string
	Response     string
}

// Report records the outcomes of a try and returns when the next one is due, zero
// when nobody waits any more. A recipient who was deferred for longer than
// Config.MaxSendTime has failed. A failure reopens a closed conversation: somebody
// must know. An interaction that was deleted meanwhile is no error.
func (o *Outgoing) Report(ctx context.Context, accountID, interactionID int64, outcomes []Outcome) (time.Time, error) {
	begin, err := o.desk(accountID).Write(transmit)
	if err != nil {
		return time.Time{}, err
	}
	var next time.Time
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		i, err := tx.Interaction(ctx, interactionID)
		if fault.Is(err, fault.NotFound) {
			next = time.Time{}
			return nil
		}
		if err != nil {
			return err
		}
		c, err := tx.ConversationForUpdate(ctx, i.ConversationID)
		if err != nil {
			return err
		}
		deliveries, err := tx.Deliveries(ctx, []int64{i.ID})
		if err != nil {
			return err
		}
		now := o.svc.now()
		changed := o.apply(deliveries, outcomes, i.PostedAt, now)
		if err := tx.UpdateDeliveries(ctx, changed); err != nil {
			return err
		}
		// With a clock before all times, everything that waits is still to come.
		_, next = due(deliveries, time.Time{})
		return o.conclude(ctx, tx, c, i, changed, now)
	})
	return next, err
}

// apply puts outcomes into deliveries and returns those that changed.
func (o *Outgoing) apply(deliveries []Delivery, outcomes []Outcome, posted, now time.Time) []Delivery {
	var changed []Delivery
	for _, out := range outcomes {
		at := slices.IndexFunc(deliveries, func(d Delivery) bool { return d.ID == out.DeliveryID })
		if at < 0 {
			continue
		}
		d := &deliveries[at]
		d.State, d.Code, d.EnhancedCode = out.State, out.Code, cut(cleanLine(out.EnhancedCode), 20)
		d.Response, d.UpdatedAt = cut(cleanLine(out.Response), 500), now
		d.Attempts++
		d.NextAttemptAt = time.Time{}
		if d.State == DeliveryDeferred {
			d.NextAttemptAt = now.Add(sendBackoff(d.Attempts))
			if d.NextAttemptAt.Sub(posted) > o.svc.cfg.MaxSendTime {
				d.State, d.NextAttemptAt = DeliveryFailed, time.Time{}
			}
		}
		changed = append(changed, *d)
	}
	return changed
}

// sendBackoff is how long to wait after a number of deferred tries: soon at first,
// for greylisting, then as RFC 5321 section 4.5.4.1 advises.
func sendBackoff(attempts int) time.Duration {
	steps := []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour}
	if attempts <= len(steps) {
		return steps[max(attempts, 1)-1]
	}
	return 4 * time.Hour
}

// conclude tells the desk what became of a mail.
func (o *Outgoing) conclude(ctx context.Context, tx Tx, c Conversation, i Interaction, changed []Delivery, now time.Time) error {
	var events []storage.Event
	for _, state := range []DeliveryState{DeliverySent, DeliveryDeferred, DeliveryFailed} {
		if slices.ContainsFunc(changed, func(d Delivery) bool { return d.State == state }) {
			kind := "interaction.delivery_" + string(state)
			events = append(events, storage.Event{Type: kind, Subject: i.ID, MailboxID: c.MailboxID, Data: eventData(i.ID), Time: now})
		}
	}
	failed := slices.ContainsFunc(changed, func(d Delivery) bool { return d.State == DeliveryFailed })
	if failed && (c.Status == StatusClosed || c.Status == StatusPending) {
		c.Status, c.UpdatedAt = StatusPosted, now
		if err := tx.UpdateConversation(ctx, &c); err != nil {
			return err
		}
	}
	return tx.Emit(ctx, events...)
}
