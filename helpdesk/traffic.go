package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/storage/fault"
)

// MailTraffic is how many mails a mailbox received and sent in a quarter of an hour.
type MailTraffic struct {
	MailboxID int64
	Start     time.Time // of the quarter of an hour, UTC
	Received  int64     // whatever became of them
	Sent      int64     // answers of which the first try began
}

// MailQueue is what waits in a mailbox.
type MailQueue struct {
	MailboxID    int64
	Filing       int64     // mails that were received and are not filed yet
	Quarantined  int64     // mails that could not be filed
	Sending      int64     // recipients whose mail waits for its first or next try
	SendingSince time.Time // of the one that has waited longest; zero: none
}

// MailFlowReader counts mails.
type MailFlowReader interface {
	// MailTraffic counts by mailbox and quarter of an hour, in this order, from since on. Quarters without a mail are
	// left out.
	MailTraffic(ctx context.Context, since time.Time) ([]MailTraffic, error)
	// MailQueues lists, by id, the mailboxes in which something waits.
	MailQueues(ctx context.Context) ([]MailQueue, error)
}

// TrafficQuarter is the length of what [MailTraffic] counts.
const TrafficQuarter = 15 * time.Minute

// MaxTraffic is how far back [Desk.MailHealth] looks.
const MaxTraffic = 35 * 24 * time.Hour

// MailHealth is whether the mail of an account moves, in the member's mailboxes.
type MailHealth struct {
	Since   time.Time // what is counted in Traffic begins here
	Traffic []MailTraffic
	Queues  []MailQueue
}

// MailHealth tells what came in and went out within a time that is over, at most
// [MaxTraffic], and what waits. It needs mailboxes.connection.
func (d *Desk) MailHealth(ctx context.Context, within time.Duration) (MailHealth, error) {
	r, err := d.guard.Read(MailboxesConnection)
	if err != nil {
		return MailHealth{}, err
	}
	if within <= 0 || within > MaxTraffic {
		return MailHealth{}, fault.Field("days", "must be 1 to 35")
	}
	h := MailHealth{Since: d.svc.now().Add(-within).Truncate(TrafficQuarter)}
	if h.Traffic, err = r.MailTraffic(ctx, h.Since); err != nil {
		return MailHealth{}, err
	}
	h.Queues, err = r.MailQueues(ctx)
	return h, err
}
