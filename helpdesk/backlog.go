package helpdesk

import (
	"context"
	"time"
)

const (
	// isNew is how long before it was fetched a mail may have reached the server and
	// still be new: mailboxes are looked into more often.
	isNew = 24 * time.Hour
	// onItsWay is how long a mail may be on its way (RFC 5321 section 4.5.4.1).
	onItsWay = 5 * 24 * time.Hour
)

// receivedAt is when the server had the mail that it was delivered to: the one it was
// fetched from, or our own. Where that server does not tell, it is what the mail says of
// its last hop; zero: it says nothing that could be.
func (f *filing) receivedAt(row InboundMail) time.Time {
	switch {
	case row.DeliveredAt.Year() >= 1970:
		return row.DeliveredAt
	case row.Source == sourceSMTP || row.Source == sourceLMTP:
		return row.ReceivedAt
	case f.mail.LastHop.Year() >= 1970 && !f.mail.LastHop.After(row.ReceivedAt):
		return f.mail.LastHop.UTC()
	}
	return time.Time{}
}

// sentAt is the time that a mail gives to its conversation, for the order of lists, and
// its place in it.
//
// That of a new mail is now, whatever its Date says: nobody's clock moves it out of
// sight. A mail from the backlog of a mailbox that is fetched gets its Date, as far as
// the servers bear it out that had it: it was sent before they received it and, where
// the mail tells of its way, not much earlier. What was put into the mailbox otherwise,
// by an import or as a copy, has no Received; its Date counts if it lay there before we
// knew the mailbox.
func (f *filing) sentAt(row InboundMail, mailbox Mailbox) time.Time {
	if !row.ofAnyAge() {
		return f.now
	}
	plausible := func(t time.Time) bool { return t.Year() >= 1970 && !t.After(row.ReceivedAt) }
	var reached time.Time // the server, at the latest
	for _, t := range []time.Time{row.DeliveredAt, f.mail.LastHop} {
		if plausible(t) && (reached.IsZero() || t.Before(reached)) {
			reached = t
		}
	}
	date := f.mail.Date
	if reached.IsZero() {
		reached = date
	}
	last := reached
	if plausible(row.DeliveredAt) { // what a mail tells of its way may be made up
		last = row.DeliveredAt
	}
	history := last.Before(mailbox.CreatedAt.Truncate(time.Second)) // servers know no more
	if !plausible(reached) || !history && row.ReceivedAt.Sub(last) < isNew {
		return f.now
	}
	believed := plausible(date) && !date.After(reached) &&
		(reached.Sub(date) <= onItsWay || history && !plausible(f.mail.LastHop))
	if !believed {
		date = reached
	}
	return date.UTC().Truncate(time.Microsecond)
}

// place is where a mail stands that was sent at some time: not before what it refers to,
// and last if it is new.
func (f *filing) place(ctx context.Context, tx Tx, m match, at time.Time) (time.Time, error) {
	if !at.Before(f.now) {
		return standsLast(ctx, tx, m.conversation.ID, at)
	}
	if m.parent == 0 {
		return at, nil
	}
	parent, err := tx.Interactions().Get(ctx, m.parent)
	if err == nil && parent.At.After(at) {
		at = parent.At
	}
	return at, err
}
