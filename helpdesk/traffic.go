package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
)

// MailTraffic counts a mailbox's received and sent messages in a quarter of an hour.
type MailTraffic struct {
	MailboxID int64
	Start     time.Time // of the quarter of an hour, UTC
	Received  int64     // whatever their state
	Sent      int64     // replies whose first attempt began
}

// MailQueue counts what is waiting in a mailbox.
type MailQueue struct {
	MailboxID    int64
	Filing       int64     // messages received but not filed yet
	Quarantined  int64     // messages that could not be filed
	Sending      int64     // recipients awaiting a first or next attempt
	SendingSince time.Time // of the longest waiting; zero: none
}

// MailFlowReader counts messages.
type MailFlowReader interface {
	// MailTraffic returns the counts since a time, by mailbox and quarter of an hour, in this order. Quarters without messages
	// are omitted.
	MailTraffic(ctx context.Context, since time.Time) ([]MailTraffic, error)
	// MailQueues lists, by id, the mailboxes in which something is waiting.
	MailQueues(ctx context.Context) ([]MailQueue, error)
}

// TrafficQuarter is the period of [MailTraffic].
const TrafficQuarter = 15 * time.Minute

// MaxTraffic is how far back [Mailboxes.Health] looks.
const MaxTraffic = 35 * 24 * time.Hour

// MailHealth shows an account's mail flow in the member's mailboxes.
type MailHealth struct {
	Since   time.Time // start of the period of Traffic
	Traffic []MailTraffic
	Queues  []MailQueue
}

// Health returns the traffic within the last period, at most [MaxTraffic], and what is waiting. It needs
// mailboxes.connection.
func (d Mailboxes) Health(ctx context.Context, within time.Duration) (MailHealth, error) {
	r, err := d.guard.Read(identity.MailboxesConnection)
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
