package api

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
	"github.com/helpwright/helpwright/transport/internal/file"
)

const deliveriesPath = interactionPath + "/deliveries"

// addSending adds the operations on a mail that is being sent.
func (a *api) addSending(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Interactions", Summary: summary, Description: description}
	}
	transport.HandlePage(t, a.desk, op("listDeliveries", http.MethodGet, deliveriesPath, "List an interaction's deliveries",
		"Delivery state of a posted user interaction for each recipient. Others have none. Needs interactions.view."), a.listDeliveries)
	transport.HandlePage(t, a.desk, op("retryDeliveries", http.MethodPost, deliveriesPath+"/retry", "Retry an interaction's deliveries",
		"Retries recipients whose delivery is deferred, failed, bounced or suppressed. Returns all deliveries. 409 if there are "+
			"none, or if the interaction is not a mail. Needs interactions.create."), a.retryDeliveries)
	transport.HandleContent(t, a.desk, op("getInteractionSource", http.MethodGet, interactionPath+"/source", "Download an interaction's original mail",
		"Media type message/rfc822. 404 if it did not come by mail, or came into a mailbox that the caller cannot see. Needs interactions.view."), a.getSource)
	cancel := op("cancelInteraction", http.MethodPost, interactionPath+"/cancel", "Cancel sending an answer",
		"It becomes a draft again. 409 if sending has begun; the account's send_hold and send_at make answers wait. Needs interactions.create.")
	cancel.Bare, cancel.Expand = true, []string{"user", "posted_by", "customer", "attachments"}
	transport.Handle(t, a.desk, cancel, a.cancelInteraction)
}

func (a *api) listDeliveries(ctx context.Context, d *helpdesk.Desk, in interactionRows) (storage.Page[delivery], error) {
	i, err := d.Interactions().Get(ctx, in.ConversationID, in.InteractionID)
	if err != nil {
		return storage.Page[delivery]{}, err
	}
	all, err := d.Interactions().Deliveries(ctx, []int64{i.ID})
	if err != nil {
		return storage.Page[delivery]{}, err
	}
	page, err := pageOf(in.Paging, all, func(one sending.Delivery) int64 { return one.ID })
	return mapPage(page, showDelivery), err
}

func (a *api) retryDeliveries(ctx context.Context, d *helpdesk.Desk, in interactionID) (storage.Page[delivery], error) {
	all, err := d.Interactions().RetryDeliveries(ctx, in.ConversationID, in.InteractionID)
	return showDeliveries(all), err
}

func (a *api) getSource(ctx context.Context, d *helpdesk.Desk, in interactionID) (transport.Content, error) {
	s, err := d.Interactions().Source(ctx, in.ConversationID, in.InteractionID)
	if err != nil {
		return transport.Content{}, err
	}
	body, err := file.Open(s.Size, func(offset int64) (io.ReadCloser, error) {
		return d.Interactions().OpenSource(ctx, in.ConversationID, in.InteractionID, offset)
	})
	return transport.Content{
		Name: fmt.Sprintf("mail-%d.eml", s.InteractionID), Type: "message/rfc822", ModTime: s.ReceivedAt,
		ETag: fmt.Sprintf("source-%d-%d", s.InteractionID, s.Size), Body: body,
	}, err
}

type interactionCancel struct {
	interactionID
	expanding
}

func (a *api) cancelInteraction(ctx context.Context, d *helpdesk.Desk, in interactionCancel) (interaction, error) {
	if err := mayExpand(d, in.Expand); err != nil {
		return interaction{}, err
	}
	i, err := d.Interactions().CancelSending(ctx, in.ConversationID, in.InteractionID)
	return one(ctx, d, i, err, view{expand: in.Expand}, a.showInteractions)
}

// showDeliveries returns a page of all deliveries: there is at most one per recipient.
func showDeliveries(all []sending.Delivery) storage.Page[delivery] {
	page := storage.Page[delivery]{Items: make([]delivery, len(all))}
	for n, one := range all {
		page.Items[n] = showDelivery(one)
	}
	return page
}
