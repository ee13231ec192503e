package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/helpdesk/ledger"
)

const (
	// isNew is how long before fetching a message may have reached the server and still count as new. Mailboxes are polled more
	// often than this.
	isNew = 24 * time.Hour
	// onItsWay is how long a message may be in transit (RFC 5321 section 4.5.4.1).
	onItsWay = 5 * 24 * time.Hour
	// maxLead is how much earlier than its Date, by the sender's clock, a message may have reached a server.
	maxLead = 48 * time.Hour
)

// believable reports whether a server can have received a message at a time that it states: since 1990, before the message
// came here, and not long before it was sent. Servers that lost the time, after a migration for instance, state 1970. A Date
// in the future is no evidence.
func believable(at, sent, here time.Time) bool {
	if at.Year() < 1990 || at.After(here.Add(clockSkew)) {
		return false
	}
	return sent.After(here) || !at.Before(sent.Add(-maxLead))
}

// receivedAt returns when the message's destination server received it: the server it was fetched from, or our own. If that
// server does not report it, the time of the last hop in the header is used; zero if that is missing or implausible.
func (f *filing) receivedAt(row ledger.Mail) time.Time {
	switch {
	case believable(row.DeliveredAt, f.mail.Date, row.ReceivedAt):
		return row.DeliveredAt
	case row.Source == sourceSMTP || row.Source == sourceLMTP:
		return row.ReceivedAt
	case believable(f.mail.LastHop, f.mail.Date, row.ReceivedAt) && !f.mail.LastHop.After(row.ReceivedAt):
		return f.mail.LastHop.UTC()
	}
	return time.Time{}
}

// sentAt returns the message's time, which determines its place in its conversation and the order of conversations.
//
// For a new message it is now, whatever its Date, so that a wrong clock cannot hide it. A message from the backlog of a
// fetched mailbox gets its Date, as far as the servers that handled it confirm it: it was sent before they received it and,
// if it has trace fields, not much earlier. A message put into the mailbox by an import or as a copy has no Received header
// field; its Date counts if it was there before the mailbox was added here.
func (f *filing) sentAt(row ledger.Mail, mailbox Mailbox) time.Time {
	if !ofAnyAge(row) {
		return f.now
	}
	plausible := func(t time.Time) bool {
		return believable(t, f.mail.Date, row.ReceivedAt) && !t.After(row.ReceivedAt)
	}
	var reached time.Time // latest time at which it reached the server
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
	if plausible(row.DeliveredAt) { // the message's own trace fields may be forged
		last = row.DeliveredAt
	}
	history := last.Before(mailbox.CreatedAt.Truncate(time.Second)) // servers have a resolution of seconds
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

// place returns the position of a message sent at a time: not before the message it refers to, and last if it is new.
func (f *filing) place(ctx context.Context, tx Tx, m match, at time.Time) (time.Time, error) {
	if !at.Before(f.now) {
		if m.conversation.ID == 0 {
			return at, nil
		}
		last, err := recentOf(ctx, tx, m.conversation.ID, recentForNote)
		return last.notBefore(at), err
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
