package helpdesk

import (
	"context"

	"github.com/helpwright/helpwright/storage"
)

// MaxCount is how far Drafts, Undelivered and Spam of [Counts] are counted.
const MaxCount = 1000

// Counts are the numbers that a desk shows beside its lists, within the member's
// mailboxes. Open are conversations that are posted or pending and do not sleep.
type Counts struct {
	Mine        int64 // open and assigned to the caller
	Unassigned  int64 // open and assigned to nobody
	Open        int64
	Waiting     int64 // open, and a customer waits for an answer
	Snoozed     int64 // posted or pending, and asleep
	Drafts      int64 // with a draft of the caller; at most [MaxCount]
	Undelivered int64 // posted or pending, with an answer that did not reach somebody; at most [MaxCount]
	Spam        int64 // conversations that are spam; at most [MaxCount]
	Quarantined int64 // mails that could not be filed; at most [MaxCount], and 0 without mailboxes.connection
	Mailboxes   []MailboxCounts
}

// MailboxCounts are the numbers of one mailbox that has open conversations.
type MailboxCounts struct {
	MailboxID  int64
	Open       int64
	Unassigned int64
	Waiting    int64
}

// ConversationCount is how many conversations of a mailbox, a user and a status there
// are of which customers wait, or do not, and which sleep, or do not.
type ConversationCount struct {
	MailboxID int64
	UserID    int64 // 0: unassigned
	Status    Status
	Awaiting  bool
	Snoozed   bool
	N         int64
}

// CountReader counts conversations.
type CountReader interface {
	// ConversationCounts returns the counts that are not 0, by mailbox, user, status,
	// Awaiting and Snoozed, false first. They are kept while conversations are written, and cost the same however many
	// there are.
	ConversationCounts(ctx context.Context) ([]ConversationCount, error)
	// CountConversations counts what a filter finds, no further than limit.
	CountConversations(ctx context.Context, filter ConversationFilter, limit int) (int64, error)
	// CountQuarantined counts the mails that could not be filed, no further than limit.
	CountQuarantined(ctx context.Context, limit int) (int64, error)
}

// Open reports whether a conversation of the status is at work: posted or pending.
func (s Status) Open() bool { return s == StatusPosted || s == StatusPending }

// Counts returns the numbers beside the lists of the desk. It needs conversations.view.
func (d *Desk) Counts(ctx context.Context) (Counts, error) {
	r, err := d.guard.Read(ConversationsView)
	if err != nil {
		return Counts{}, err
	}
	cells, err := r.ConversationCounts(ctx)
	if err != nil {
		return Counts{}, err
	}
	var counts Counts
	for _, cell := range cells {
		counts.add(cell, d.userID)
	}
	if counts.Drafts, err = r.CountConversations(ctx, ConversationFilter{DraftBy: d.userID}, MaxCount); err != nil {
		return Counts{}, err
	}
	if counts.Spam, err = r.CountConversations(ctx, ConversationFilter{Spam: storage.Some(true)}, MaxCount); err != nil {
		return Counts{}, err
	}
	failed := ConversationFilter{Undelivered: true, Statuses: []Status{StatusPosted, StatusPending}}
	if counts.Undelivered, err = r.CountConversations(ctx, failed, MaxCount); err != nil || !d.guard.Allows(MailboxesConnection) {
		return counts, err
	}
	counts.Quarantined, err = r.CountQuarantined(ctx, MaxCount)
	return counts, err
}

// add adds conversations to the numbers of a user. They come by their mailboxes.
func (c *Counts) add(cell ConversationCount, userID int64) {
	if !cell.Status.Open() {
		return
	}
	if cell.Snoozed {
		c.Snoozed += cell.N
		return
	}
	if n := len(c.Mailboxes); n == 0 || c.Mailboxes[n-1].MailboxID != cell.MailboxID {
		c.Mailboxes = append(c.Mailboxes, MailboxCounts{MailboxID: cell.MailboxID})
	}
	mailbox := &c.Mailboxes[len(c.Mailboxes)-1]
	c.Open += cell.N
	mailbox.Open += cell.N
	switch cell.UserID {
	case userID:
		c.Mine += cell.N
	case 0:
		c.Unassigned += cell.N
		mailbox.Unassigned += cell.N
	}
	if cell.Awaiting {
		c.Waiting += cell.N
		mailbox.Waiting += cell.N
	}
}
