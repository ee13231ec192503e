package helpdesk

import (
	"context"
	"io"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
)

// MailSource is the raw message of an interaction.
type MailSource struct {
	InteractionID int64
	Size          int64 // bytes
	Partial       bool  // the raw message is incomplete
	ReceivedAt    time.Time
	key           string
}

// Source finds the raw message of an interaction. An interaction that was not received by mail, or whose message came to a
// mailbox that the member does not reach, is a NotFound fault. It needs interactions.view.
func (d Interactions) Source(ctx context.Context, conversationID, interactionID int64) (MailSource, error) {
	r, err := d.guard.Read(identity.InteractionsView)
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

// OpenSource opens the raw message of an interaction from offset: see [Interactions.Source].
func (d Interactions) OpenSource(ctx context.Context, conversationID, interactionID, offset int64) (io.ReadCloser, error) {
	s, err := d.Source(ctx, conversationID, interactionID)
	if err != nil {
		return nil, err
	}
	return d.svc.cfg.Blobs.GetRange(ctx, s.key, offset, -1)
}
