package helpdesk

import (
	"context"
	"io"
	"time"

	"github.com/helpwright/helpwright/storage/fault"
)

// MailSource is the mail that an interaction came as, byte for byte.
type MailSource struct {
	InteractionID int64
	Size          int64 // bytes
	Partial       bool  // only a part of the mail is there
	ReceivedAt    time.Time
	key           string
}

// Source finds the mail that an interaction came as. Of what did not come by mail, and
// of a mail that came into a mailbox which the member does not reach, it is a NotFound
// fault. It needs interactions.view.
func (d *Desk) Source(ctx context.Context, conversationID, interactionID int64) (MailSource, error) {
	r, err := d.guard.Read(InteractionsView)
	if err != nil {
		return MailSource{}, err
	}
	i, err := r.Interactions().Get(ctx, interactionID)
	if _, err = inConversation(i, conversationID, err); err != nil {
		return MailSource{}, err
	}
	mails, err := r.InboundOf(ctx, interactionID)
	if err != nil {
		return MailSource{}, err
	}
	for _, m := range mails {
		if m.RawKey != "" {
			return MailSource{InteractionID: i.ID, Size: m.Size, Partial: m.Partial, ReceivedAt: m.ReceivedAt, key: m.RawKey}, nil
		}
	}
	return MailSource{}, fault.Missing("source", interactionID)
}

// OpenSource opens the mail that an interaction came as, from offset on: see
// [Desk.Source].
func (d *Desk) OpenSource(ctx context.Context, conversationID, interactionID, offset int64) (io.ReadCloser, error) {
	s, err := d.Source(ctx, conversationID, interactionID)
	if err != nil {
		return nil, err
	}
	return d.svc.cfg.Blobs.GetRange(ctx, s.key, offset, -1)
}
