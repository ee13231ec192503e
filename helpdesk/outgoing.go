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
	ReplyTo       string // holds the reply token; "": From, see [Mailbox].ReplyAddress
	// ReturnPaths are the senders of the envelopes by delivery, so that what comes back
	// names its recipient; who has none gets the mail from From.
	ReturnPaths map[int64]string
	To, Cc      []string
	Subject     string // without "Re:"
	IsReply     bool   // it answers a mail
	References  []string
	HTML        string // the text with its ending, see [Ending]
	Attachments []Attachment
	Due         []Delivery // recipients of this try, Bcc among them, if it is not to be encrypted
	// Encrypted, if not empty, are the copies that leave instead of a plain mail, each
	// encrypted and to its own recipients; Due is empty then. Without either nobody waits.
	Encrypted []EncryptedMail
	// SeenToken names the mail to [Service.SeenByPixel]; "" unless it is to hold an image
	// that tells when it is opened.
	SeenToken string
	// NextTry is when the first of the others may be tried; zero when there are none.
	NextTry time.Time
	DKIM    []DKIMKey // to sign with, those that are published; none: it is not signed
}

// maxTry is how long a job may take for one try; after that others may have its
// recipients.
const maxTry = 30 * time.Minute

// Begin takes an answer for a job to send it now and freezes it: from here on it
// cannot be edited. The recipients who are due are the job's until it reports, or
// for half an hour: no other job gets them, and the same job does, when it was
// interrupted. An answer that was told to leave at this time is posted by it; if who
// told it so may not answer any more, it fails visibly. An interaction that is gone or is no posted user's is a NotFound
// fault.
//
// Who is on the list of suppressions is not due any more, and who got more than
// Config.MaxMailPerAddress waits; both show in the deliveries.
//
// Where PGP is enabled, an answer of which one recipient has a key leaves encrypted,
// or it fails for all who wait, and nobody is due: see [OutgoingMail].Encrypted.
func (o *Outgoing) Begin(ctx context.Context, accountID, interactionID, job int64) (OutgoingMail, error) {
	begin, err := o.desk(accountID).Write(transmit)
	if err != nil {
		return OutgoingMail{}, err
	}
	may, err := o.authorMay(ctx, accountID, interactionID)
	if err != nil {
		return OutgoingMail{}, err
	}
	var out OutgoingMail
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		out, err = o.begin(ctx, tx, accountID, interactionID, job, may)
		return err
	})
	return out, err
}

func (o *Outgoing) begin(ctx context.Context, tx Tx, accountID, interactionID, job int64, may bool) (OutgoingMail, error) {
	c, i, err := posted(ctx, tx, interactionID)
	if err != nil {
		return OutgoingMail{}, err
	}
	deliveries, err := tx.Deliveries().List(ctx, DeliveryFilter{InteractionIDs: []int64{i.ID}}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return OutgoingMail{}, err
	}
	now := o.svc.now()
	out := OutgoingMail{AccountID: accountID, InteractionID: i.ID}
	if out.Due, out.NextTry = due(deliveries, job, now); len(out.Due) == 0 {
		return out, nil
	}
	if i.Scheduled() {
		if err := o.svc.leave(ctx, tx, &c, &i); err != nil {
			return OutgoingMail{}, err
		}
		if !may {
			return OutgoingMail{AccountID: accountID, InteractionID: i.ID}, o.refuse(ctx, tx, accountID, c, i, deliveries, authorLeft)
		}
	}
	if err := o.withhold(ctx, tx, accountID, c, i, deliveries, out.Due); err != nil {
		return OutgoingMail{}, err
	}
	if out.Due, out.NextTry = due(deliveries, job, now); len(out.Due) == 0 {
		return out, nil
	}
	seal, err := o.svc.seal(ctx, tx, deliveries, out.Due, now)
	if err != nil {
		return OutgoingMail{}, err
	}
	if seal.refused != "" {
		return OutgoingMail{AccountID: accountID, InteractionID: i.ID}, o.refuse(ctx, tx, accountID, c, i, deliveries, seal.refused)
	}
	for n := range out.Due {
		out.Due[n].HeldBy, out.Due[n].HeldUntil = job, now.Add(maxTry)
	}
	if err := tx.Deliveries().Update(ctx, storage.Pointers(out.Due)...); err != nil {
		return OutgoingMail{}, err
	}
	if seal.required {
		out.Due, out.Encrypted = nil, seal.mails
	}
	if i.SendStartedAt.IsZero() {
		i.SendStartedAt = now
		if err := tx.Interactions().Update(ctx, &i); err != nil {
			return OutgoingMail{}, err
		}
	}
	return out, o.fill(ctx, tx, c, i, &out)
}

// posted locks a posted user's interaction and, before it, its conversation.
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

// withhold settles those of the recipients who are due that must not be tried now:
// addresses that are suppressed, and those that got too much.
func (o *Outgoing) withhold(ctx context.Context, tx Tx, accountID int64, c Conversation, i Interaction, all, due []Delivery) error {
	keys := make([]string, len(due))
	for n, d := range due {
		keys[n] = d.AddressKey
	}
	suppressed, err := tx.SuppressionsByKey(ctx, keys)
	if err != nil {
		return err
	}
	var outcomes []Outcome
	for _, d := range due {
		at := slices.IndexFunc(suppressed, func(s Suppression) bool { return s.Key == d.AddressKey })
		if at >= 0 {
			outcomes = append(outcomes, Outcome{DeliveryID: d.ID, State: DeliverySuppressed, Response: suppressed[at].explain()})
			continue
		}
		tooMuch, err := o.svc.sentTooMuch(ctx, tx.Reader(), d.AddressKey)
		if err != nil {
			return err
		}
		if tooMuch {
			outcomes = append(outcomes, Outcome{DeliveryID: d.ID, State: DeliveryDeferred, Response: overBudget})
		}
	}
	if len(outcomes) == 0 {
		return nil
	}
	now := o.svc.now()
	changed := o.apply(all, outcomes, i.PostedAt, now)
	if err := tx.Deliveries().Update(ctx, storage.Pointers(changed)...); err != nil {
		return err
	}
	return o.conclude(ctx, tx, accountID, c, i, changed, now)
}

// refuse fails all recipients who wait. What was decided holds for good, so that a
// mail never leaves to some unencrypted after others were told that it did not.
func (o *Outgoing) refuse(ctx context.Context, tx Tx, accountID int64, c Conversation, i Interaction, deliveries []Delivery, reason string) error {
	var outcomes []Outcome
	for _, d := range deliveries {
		if d.State == DeliveryQueued || d.State == DeliveryDeferred {
			outcomes = append(outcomes, Outcome{DeliveryID: d.ID, State: DeliveryFailed, Response: reason})
		}
	}
	now := o.svc.now()
	changed := o.apply(deliveries, outcomes, i.PostedAt, now)
	if err := tx.Deliveries().Update(ctx, storage.Pointers(changed)...); err != nil {
		return err
	}
	return o.conclude(ctx, tx, accountID, c, i, changed, now)
}

// due splits off the deliveries that a job may try now, and says when the first of
// the others may be.
func due(all []Delivery, job int64, now time.Time) (ready []Delivery, next time.Time) {
	for _, d := range all {
		at := d.NextAttemptAt
		if d.HeldBy != 0 && d.HeldBy != job && d.HeldUntil.After(now) {
			at = d.HeldUntil
		}
		switch {
		case d.State != DeliveryQueued && d.State != DeliveryDeferred:
		case !at.After(now):
			ready = append(ready, d)
		case next.IsZero() || at.Before(next):
			next = at
		}
	}
	return ready, next
}

func (o *Outgoing) fill(ctx context.Context, tx Tx, c Conversation, i Interaction, out *OutgoingMail) error {
	mailbox, err := tx.Mailboxes().Get(ctx, c.MailboxID)
	if err != nil {
		return err
	}
	users, err := tx.UsersByID(ctx, []int64{i.PostedByID})
	if err != nil {
		return err
	}
	if out.Attachments, err = tx.Attachments().List(ctx, AttachmentFilter{InteractionIDs: []int64{i.ID}}, storage.Seek{Limit: storage.NoLimit}); err != nil {
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
	switch mailbox.repliesTo(o.svc.now()) {
	case ReplySubaddress:
		out.ReplyTo = o.svc.replyAddress(out.From.Email, out.AccountID, c.ID)
	case ReplyIntake:
		out.ReplyTo = o.svc.replyAddress(o.svc.InternalAddress(mailbox), out.AccountID, c.ID)
	}
	out.MessageID, out.Date, out.To, out.Cc = i.MessageID, i.PostedAt, i.To, i.Cc
	out.Subject, out.References = c.Subject, i.References
	out.IsReply = len(i.References) > 0
	if out.DKIM, err = o.svc.signers(ctx, tx.Reader(), out.From.Email); err != nil {
		return err
	}
	o.returnPaths(mailbox, out)
	if len(out.Encrypted) == 0 {
		if out.SeenToken, err = o.seenToken(ctx, tx, c, i); err != nil {
			return err
		}
	}
	body := ""
	if body, out.Attachments, err = o.svc.embed(ctx, tx.Reader(), out.AccountID, i, out.Attachments); err != nil {
		return err
	}
	out.HTML, err = o.ended(ctx, tx, mailbox, i, body)
	return err
}

// returnPaths names every recipient of a try in the envelope of its mail, where such
// addresses exist.
func (o *Outgoing) returnPaths(mailbox Mailbox, out *OutgoingMail) {
	base := o.svc.returnsTo(mailbox, out.From.Email, len(out.DKIM) > 0, o.svc.now())
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
		deliveries, err := tx.Deliveries().List(ctx, DeliveryFilter{InteractionIDs: []int64{i.ID}}, storage.Seek{Limit: storage.NoLimit})
		if err != nil {
			return err
		}
		now := o.svc.now()
		changed := o.apply(deliveries, outcomes, i.PostedAt, now)
		if err := tx.Deliveries().Update(ctx, storage.Pointers(changed)...); err != nil {
			return err
		}
		// With a clock before all times, everything that waits is still to come.
		_, next = due(deliveries, 0, time.Time{})
		return o.conclude(ctx, tx, accountID, c, i, changed, now)
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
		if d.HeldBy == 0 && (d.State == DeliverySent || d.State == out.State) && out.State != DeliverySuppressed {
			continue // it was reported before, and whoever did so did not hear that it was written
		}
		d.State, d.Code, d.EnhancedCode = out.State, out.Code, cut(cleanLine(out.EnhancedCode), 20)
		d.Response, d.UpdatedAt = cut(cleanLine(out.Response), 500), now
		if d.State != DeliverySuppressed {
			d.Attempts++
		}
		d.NextAttemptAt, d.HeldBy, d.HeldUntil = time.Time{}, 0, time.Time{}
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
func (o *Outgoing) conclude(ctx context.Context, tx Tx, accountID int64, c Conversation, i Interaction, changed []Delivery, now time.Time) error {
	var events []storage.Event
	for _, state := range []DeliveryState{DeliverySent, DeliveryDeferred, DeliveryFailed, DeliveryBounced, DeliverySuppressed} {
		if slices.ContainsFunc(changed, func(d Delivery) bool { return d.State == state }) {
			kind := "interaction.delivery_" + string(state)
			events = append(events, storage.Event{Type: kind, Subject: i.ID, MailboxID: c.MailboxID, ConversationID: c.ID, Data: eventData(i.ID), Time: now})
		}
	}
	failed := slices.ContainsFunc(changed, func(d Delivery) bool { return d.State.Undelivered() })
	if failed && !c.IsSpam() {
		lost := occurrence{Kind: NotifyFailed, ConversationID: c.ID, InteractionID: i.ID, UserIDs: []int64{i.PostedByID}}
		if err := o.svc.tell(ctx, tx, accountID, lost); err != nil {
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
