package helpdesk

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// transmit is the only permission of an Outgoing.
const transmit identity.Permission = "mail.send"

// Outgoing can only take mail to send and report on it.
type Outgoing struct {
	svc  *Service
	desk func(accountID int64) deskGuard
}

// Outgoing returns the handle for senders of mail.
func (s *Service) Outgoing() *Outgoing {
	allows := func(p identity.Permission) bool { return p == transmit }
	return &Outgoing{svc: s, desk: func(accountID int64) deskGuard { return s.scoped(Scope{AccountID: accountID}, allows) }}
}

// OutgoingMail is a reply to be sent. Every attempt gets the same content; only the recipients differ, since they are those
// still waiting.
type OutgoingMail struct {
	AccountID     int64
	InteractionID int64
	MessageID     string
	Date          time.Time
	From          mailaddr.Address
	ReplyTo       string // contains the reply token; "": From, see [Mailbox].ReplyAddress
	// ReturnPaths are the envelope senders by delivery, so that a bounce identifies its recipient. Deliveries without one use
	// From.
	ReturnPaths map[int64]string
	To, Cc      []string
	Subject     string // without "Re:"
	IsReply     bool   // it replies to a message, whose subject it has
	Automatic   bool   // it is an automatic reply, which must say so (RFC 3834 section 5)
	References  []string
	HTML        string // the body with its ending, see [Ending]
	Attachments []Attachment
	Due         []sending.Delivery // recipients of this attempt, including Bcc; empty if it is to be encrypted
	// Encrypted, if not empty, are the copies to send instead, each encrypted for its own recipients; Due is then empty. If
	// both are empty, nobody is due.
	Encrypted []sending.EncryptedMail
	// SeenToken identifies the message to [Service.SeenByPixel]; "" unless it is to contain a tracking image.
	SeenToken string
	// Rating, if it is not nil, has the links to a rating, which belong where HTML has [RatingPlace].
	Rating *OutgoingRating
	// NextTry is the earliest next attempt for the other recipients; zero if there are none.
	NextTry time.Time
	Relay   *sending.Relay    // the mailbox's own relay; nil: the server's
	DKIM    []sending.DKIMKey // published keys to sign with; none: unsigned
}

// maxTry limits how long a job may hold the recipients of one attempt. Afterwards, other jobs may take them.
const maxTry = 30 * time.Minute

// Begin takes a reply for a job to send now and freezes it: it can no longer be edited. The job holds the due recipients
// until it reports, or for half an hour; no other job gets them, but the same job does after an interruption. Beginning a
// scheduled reply posts it. If its author may no longer reply, it fails visibly. An interaction that is absent or not a
// posted user interaction is a NotFound fault.
//
// Suppressed recipients are no longer due, and those that got more than Config.MaxMailPerAddress wait; both show in the
// deliveries.
//
// Where PGP is enabled, a reply with a recipient who has a key is sent encrypted, or fails for all waiting recipients with
// nobody due: see [OutgoingMail].Encrypted.
func (o *Outgoing) Begin(ctx context.Context, accountID, interactionID, job int64) (OutgoingMail, error) {
	begin, err := o.desk(accountID).Write(transmit)
	if err != nil {
		return OutgoingMail{}, err
	}
	may, err := o.authorMay(ctx, accountID, interactionID)
	if err != nil {
		return OutgoingMail{}, err
	}
	var reply begunReply
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		reply, err = o.beginReply(ctx, tx, accountID, interactionID, job, may)
		return err
	})
	if err != nil {
		return OutgoingMail{}, err
	}
	if len(reply.mail.Due)+len(reply.mail.Encrypted) > 0 {
		if err := o.fill(ctx, accountID, &reply); err != nil {
			return OutgoingMail{}, err
		}
	}
	return reply.mail, nil
}

// begunReply is a reply that a job has taken, with what its mail is made of.
type begunReply struct {
	job        int64
	c          Conversation
	i          Interaction
	deliveries []sending.Delivery
	mail       OutgoingMail
}

// dueAt sets who is due at a time.
func (b *begunReply) dueAt(now time.Time) { b.mail.Due, b.mail.NextTry = due(b.deliveries, b.job, now) }

func (o *Outgoing) beginReply(ctx context.Context, tx Tx, accountID, interactionID, job int64, may bool) (begunReply, error) {
	c, i, err := posted(ctx, tx, interactionID)
	if err != nil {
		return begunReply{}, err
	}
	deliveries, err := tx.Deliveries().List(ctx, sending.DeliveryFilter{InteractionIDs: []int64{i.ID}}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return begunReply{}, err
	}
	now := o.svc.now()
	reply := begunReply{job: job, c: c, i: i, deliveries: deliveries, mail: OutgoingMail{AccountID: accountID, InteractionID: i.ID}}
	nobody := reply
	if reply.dueAt(now); len(reply.mail.Due) == 0 {
		return reply, nil
	}
	if i.Scheduled() {
		if err := o.svc.leave(ctx, tx, &reply.c, &reply.i); err != nil {
			return begunReply{}, err
		}
		if !may {
			return nobody, o.refuse(ctx, tx, accountID, reply.c, reply.i, deliveries, authorLeft)
		}
	}
	if err := o.withhold(ctx, tx, accountID, reply); err != nil {
		return begunReply{}, err
	}
	if reply.dueAt(now); len(reply.mail.Due) == 0 {
		return reply, nil
	}
	seal, err := o.svc.seal(ctx, tx, deliveries, reply.mail.Due, now)
	if err != nil {
		return begunReply{}, err
	}
	if seal.refused != "" {
		return nobody, o.refuse(ctx, tx, accountID, reply.c, reply.i, deliveries, seal.refused)
	}
	if err := o.svc.askInReply(ctx, tx, reply.c, reply.i); err != nil {
		return begunReply{}, err
	}
	if err := holdRecipients(ctx, tx, &reply, now); err != nil {
		return begunReply{}, err
	}
	if seal.required {
		reply.mail.Due, reply.mail.Encrypted = nil, seal.mails
	}
	return reply, nil
}

// holdRecipients gives the due recipients to the job, freezes the reply, and adds its attachments.
func holdRecipients(ctx context.Context, tx Tx, reply *begunReply, now time.Time) error {
	for n := range reply.mail.Due {
		reply.mail.Due[n].HeldBy, reply.mail.Due[n].HeldUntil = reply.job, now.Add(maxTry)
	}
	if err := tx.Deliveries().Update(ctx, storage.Pointers(reply.mail.Due)...); err != nil {
		return err
	}
	if reply.i.SendStartedAt.IsZero() {
		reply.i.SendStartedAt = now
		if err := tx.Interactions().Update(ctx, &reply.i); err != nil {
			return err
		}
	}
	var err error
	filter := AttachmentFilter{InteractionIDs: []int64{reply.i.ID}}
	reply.mail.Attachments, err = tx.Attachments().List(ctx, filter, storage.Seek{Limit: storage.NoLimit})
	return err
}

// posted locks a posted user interaction, after locking its conversation.
func posted(ctx context.Context, tx Tx, id int64) (Conversation, Interaction, error) {
	i, err := tx.Interactions().Get(ctx, id)
	if err != nil {
		return Conversation{}, i, err
	}
	c, err := holder(ctx, tx, i.ConversationID, func() (int64, error) {
		i, err := tx.Interactions().Get(ctx, id)
		return i.ConversationID, err
	})
	if err != nil {
		return c, i, err
	}
	if i, err = tx.Interactions().Lock(ctx, id); err != nil {
		return c, i, err
	}
	if i.Type != TypeUser || i.Status != StatusPosted {
		return c, i, fault.Missing("interaction", id)
	}
	return c, i, nil
}

// withhold settles the due recipients that must not be attempted now: suppressed addresses, and those that got too many
// messages.
func (o *Outgoing) withhold(ctx context.Context, tx Tx, accountID int64, reply begunReply) error {
	suppressed, err := suppressionsOf(ctx, suppressionNoun().Rows(tx), addressesOf(reply.mail.Due))
	if err != nil {
		return err
	}
	spent, err := o.svc.spent(ctx, tx.Reader(), reply.mail.Due)
	if err != nil {
		return err
	}
	var outcomes []Outcome
	for _, d := range reply.mail.Due {
		at := slices.IndexFunc(suppressed, func(s sending.Suppression) bool { return s.Key == d.AddressKey })
		if at >= 0 {
			outcomes = append(outcomes, Outcome{DeliveryID: d.ID, State: sending.Suppressed, Response: explainSuppression(suppressed[at])})
		} else if o.svc.over(spent, d.AddressKey) {
			outcomes = append(outcomes, Outcome{DeliveryID: d.ID, State: sending.Deferred, Response: overBudget})
		}
	}
	if len(outcomes) == 0 {
		return nil
	}
	now := o.svc.now()
	changed := o.apply(reply.deliveries, outcomes, reply.i.PostedAt, now)
	if err := tx.Deliveries().Update(ctx, storage.Pointers(changed)...); err != nil {
		return err
	}
	return o.conclude(ctx, tx, accountID, reply.c, reply.i, changed, now)
}

// refuse fails all waiting recipients. The decision is final, so that a message is never sent unencrypted to some after
// others were refused.
func (o *Outgoing) refuse(ctx context.Context, tx Tx, accountID int64, c Conversation, i Interaction, deliveries []sending.Delivery, reason string) error {
	var outcomes []Outcome
	for _, d := range deliveries {
		if d.State == sending.Queued || d.State == sending.Deferred {
			outcomes = append(outcomes, Outcome{DeliveryID: d.ID, State: sending.Failed, Response: reason})
		}
	}
	now := o.svc.now()
	changed := o.apply(deliveries, outcomes, i.PostedAt, now)
	if err := tx.Deliveries().Update(ctx, storage.Pointers(changed)...); err != nil {
		return err
	}
	return o.conclude(ctx, tx, accountID, c, i, changed, now)
}

// due returns the deliveries that a job may attempt now, and the earliest time for the others.
func due(all []sending.Delivery, job int64, now time.Time) (ready []sending.Delivery, next time.Time) {
	for _, d := range all {
		at := d.NextAttemptAt
		if d.HeldBy != 0 && d.HeldBy != job && d.HeldUntil.After(now) {
			at = d.HeldUntil
		}
		switch {
		case d.State != sending.Queued && d.State != sending.Deferred:
		case !at.After(now):
			ready = append(ready, d)
		case next.IsZero() || at.Before(next):
			next = at
		}
	}
	return ready, next
}

// fill completes the mail of a reply that is begun. It reads after the transaction, so that this is short. A reply that cannot
// be completed stays held by its job, which begins it again.
func (o *Outgoing) fill(ctx context.Context, accountID int64, reply *begunReply) error {
	r, err := o.desk(accountID).Read(transmit)
	if err != nil {
		return err
	}
	c, i, out := reply.c, reply.i, &reply.mail
	mailbox, err := r.Mailboxes().Get(ctx, c.MailboxID)
	if err != nil {
		return err
	}
	author, err := r.UsersByID(ctx, []int64{i.PostedByID})
	if err != nil {
		return err
	}
	name := ""
	if i.Automatic() {
		name = mailbox.Name
	}
	if len(author) > 0 {
		name = author[0].Name
	}
	out.From = mailaddr.Address{Name: fromName(mailbox, name), Email: mailbox.Email}
	if out.From.Email == "" {
		out.From.Email = o.svc.InternalAddress(mailbox)
	}
	switch o.svc.repliesTo(mailbox) {
	case ReplySubaddress:
		out.ReplyTo = o.svc.replyAddress(out.From.Email, out.AccountID, c.ID)
	case ReplyIntake:
		out.ReplyTo = o.svc.replyAddress(o.svc.InternalAddress(mailbox), out.AccountID, c.ID)
	}
	out.MessageID, out.Date, out.To, out.Cc = i.MessageID, i.PostedAt, i.To, i.Cc
	out.Subject, out.References = c.Subject, i.References
	out.IsReply, out.Automatic = len(i.References) > 0, i.Automatic()
	if i.Automatic() && i.Subject != "" {
		out.Subject, out.IsReply = i.Subject, false
	}
	if out.DKIM, err = o.svc.signers(ctx, r, out.From.Email); err != nil {
		return err
	}
	out.Relay = o.svc.relay(mailbox)
	o.returnPaths(mailbox, out)
	if len(out.Encrypted) == 0 {
		if out.SeenToken, err = o.seenToken(ctx, r, reply); err != nil {
			return err
		}
	}
	body := ""
	if body, out.Attachments, err = o.svc.embed(ctx, r, out.AccountID, i, out.Attachments); err != nil {
		return err
	}
	if !i.IsForward {
		if out.Rating, err = o.svc.ratingIn(ctx, r, accountID, c, body); err != nil {
			return err
		}
	}
	if body = oneRatingPlace(body); out.Rating == nil {
		body = withoutRatingPlaces(body)
	}
	ending, err := o.ended(ctx, r, mailbox, i, "")
	if err != nil {
		return err
	}
	passed, files, err := o.forwarded(ctx, r, accountID, mailbox, c, i.Forwarding())
	out.HTML, out.Attachments = body+withoutRatingPlaces(ending+passed), append(out.Attachments, files...)
	return err
}

// returnPaths sets the envelope sender for every recipient of an attempt, where such addresses exist.
func (o *Outgoing) returnPaths(mailbox Mailbox, out *OutgoingMail) {
	base := o.svc.returnsTo(mailbox, out.From.Email, len(out.DKIM) > 0)
	if base == "" {
		return
	}
	due := slices.Clone(out.Due)
	for _, e := range out.Encrypted {
		due = append(due, e.Due...)
	}
	out.ReturnPaths = map[int64]string{}
	for _, d := range due {
		if path := o.svc.returnPath(base, out.AccountID, d); path != "" {
			out.ReturnPaths[d.ID] = path
		}
	}
}

// FromPlaceholders lists the placeholders of a mailbox's From, between double braces. Other text stays as it is. As the
// specification has them, :user.name and :mailbox.name mean the same.
func FromPlaceholders() []string { return []string{"agent.name", "mailbox.name"} }

// fromName returns the display name of a mailbox's replies with placeholders filled in.
func fromName(m Mailbox, userName string) string {
	name := m.From
	if name == "" {
		name = m.Name
	}
	name = strings.NewReplacer(":mailbox.name", "{{mailbox.name}}", ":user.name", "{{agent.name}}").Replace(name)
	name = replaced(name, map[string]string{"mailbox.name": m.Name, "agent.name": userName})
	return plain.Cut(plain.Line(name), 200)
}

// OpenAttachment opens a file of a message returned by [Outgoing.Begin].
func (o *Outgoing) OpenAttachment(ctx context.Context, accountID int64, a Attachment) (io.ReadCloser, error) {
	if _, err := o.desk(accountID).Read(transmit); err != nil {
		return nil, err
	}
	return o.svc.cfg.Blobs.Get(ctx, a.BlobKey)
}

// Outcome is the result of one attempt for one recipient.
type Outcome struct {
	DeliveryID   int64
	State        sending.State // sent, deferred or failed
	Code         int
	EnhancedCode string
	Response     string
	MessageID    string // that the relay gave the mail, see [sending.RelayMessageID]; "": it kept ours, or does not tell
}

// Report records an attempt's outcomes and returns when the next one is due, zero when nobody is waiting. A recipient
// deferred for longer than Config.MaxSendTime fails. A failure reopens a closed conversation, so that someone notices. An
// interaction deleted in the meantime is not an error.
func (o *Outgoing) Report(ctx context.Context, accountID, interactionID int64, outcomes []Outcome) (time.Time, error) {
	begin, err := o.desk(accountID).Write(transmit)
	if err != nil {
		return time.Time{}, err
	}
	var next time.Time
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		i, err := tx.Interactions().Get(ctx, interactionID)
		if fault.Is(err, fault.NotFound) {
			next = time.Time{}
			return nil
		}
		if err != nil {
			return err
		}
		c, err := tx.Conversations().Lock(ctx, i.ConversationID)
		if err != nil {
			return err
		}
		deliveries, err := tx.Deliveries().List(ctx, sending.DeliveryFilter{InteractionIDs: []int64{i.ID}}, storage.Seek{Limit: storage.NoLimit})
		if err != nil {
			return err
		}
		now := o.svc.now()
		changed := o.apply(deliveries, outcomes, i.PostedAt, now)
		if err := tx.Deliveries().Update(ctx, storage.Pointers(changed)...); err != nil {
			return err
		}
		// With the zero time as now, every waiting delivery counts as still to come.
		_, next = due(deliveries, 0, time.Time{})
		return o.conclude(ctx, tx, accountID, c, i, changed, now)
	})
	return next, err
}

// apply copies outcomes into deliveries and returns the changed ones.
func (o *Outgoing) apply(deliveries []sending.Delivery, outcomes []Outcome, posted, now time.Time) []sending.Delivery {
	var changed []sending.Delivery
	for _, out := range outcomes {
		at := slices.IndexFunc(deliveries, func(d sending.Delivery) bool { return d.ID == out.DeliveryID })
		if at < 0 {
			continue
		}
		d := &deliveries[at]
		if d.HeldBy == 0 && (d.State.Accepted() || d.State == out.State) && out.State != sending.Suppressed {
			continue // already reported: an earlier report was written, but its caller did not learn so
		}
		d.State, d.Code, d.EnhancedCode = out.State, out.Code, plain.Cut(plain.Line(out.EnhancedCode), 20)
		d.Response, d.UpdatedAt = plain.Cut(plain.Line(out.Response), 500), now
		if out.State == sending.Sent {
			d.MessageID = plain.Cut(plain.Line(out.MessageID), sending.MaxMessageID)
		}
		if d.State != sending.Suppressed {
			d.Attempts++
		}
		d.NextAttemptAt, d.HeldBy, d.HeldUntil = time.Time{}, 0, time.Time{}
		if d.State == sending.Deferred {
			d.NextAttemptAt = now.Add(sendBackoff(d.Attempts))
			if d.NextAttemptAt.Sub(posted) > o.svc.cfg.MaxSendTime {
				d.State, d.NextAttemptAt = sending.Failed, time.Time{}
			}
		}
		changed = append(changed, *d)
	}
	return changed
}

// sendBackoff returns the delay after a number of deferrals: short at first, for greylisting, then as RFC 5321 section
// 4.5.4.1 advises.
func sendBackoff(attempts int) time.Duration {
	steps := []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour}
	if attempts <= len(steps) {
		return steps[max(attempts, 1)-1]
	}
	return 4 * time.Hour
}

// conclude updates the desk with a message's outcomes.
func (o *Outgoing) conclude(ctx context.Context, tx Tx, accountID int64, c Conversation, i Interaction, changed []sending.Delivery, now time.Time) error {
	var events []storage.Event
	for _, state := range []sending.State{sending.Sent, sending.Delivered, sending.Deferred, sending.Failed, sending.Bounced, sending.Suppressed} {
		if slices.ContainsFunc(changed, func(d sending.Delivery) bool { return d.State == state }) {
			kind := "interaction.delivery_" + string(state)
			events = append(events, storage.Event{Type: kind, Subject: i.ID, MailboxID: c.MailboxID, ConversationID: c.ID, Data: eventData(i.ID), Time: now})
		}
	}
	failed := slices.ContainsFunc(changed, func(d sending.Delivery) bool { return d.State.Undelivered() })
	failed = failed && !i.Automatic() // nobody wrote it, and nobody will write it again
	if failed && !c.IsSpam() {
		lost := occurrence{Kind: NotifyFailed, ConversationID: c.ID, InteractionID: i.ID, UserIDs: []int64{i.PostedByID}}
		if err := o.svc.notifyAfterCommit(ctx, tx, accountID, lost); err != nil {
			return err
		}
	}
	if failed && !c.IsSpam() && (c.Status == StatusClosed || c.Status == StatusPending || !c.SnoozedUntil.IsZero()) {
		old := c
		c.Status, c.SnoozedUntil, c.UpdatedAt = StatusPosted, time.Time{}, now
		if err := tx.Conversations().Update(ctx, &c); err != nil {
			return err
		}
		for _, kind := range changedTo(old, c) {
			events = append(events, storage.Event{
				Type: kind, Subject: c.ID, MailboxID: c.MailboxID, ConversationID: c.ID, Data: eventData(c.ID), Time: now,
			})
		}
	}
	return tx.Emit(ctx, events...)
}
