package transport

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport/internal/file"
)

const deliveriesPath = interactionPath + "/deliveries"

// addSending adds what can be done with a mail on its way.
func (a *api) addSending(t *Table) {
	op := func(id, method, path, summary, description string) Operation {
		return Operation{ID: id, Method: method, Path: path, Tag: "Interactions", Summary: summary, Description: description}
	}
	HandlePage(t, a.desk, op("listDeliveries", http.MethodGet, deliveriesPath, "List an interaction's deliveries",
		"How far a posted user interaction got to each recipient; none of others. Needs interactions.view."), a.listDeliveries)
	HandlePage(t, a.desk, op("retryDeliveries", http.MethodPost, deliveriesPath+"/retry", "Try to send again now",
		"To the recipients whose delivery is deferred, failed, bounced or suppressed. Answers with all deliveries. "+
			"409 when there are none, or the interaction is no mail. Needs interactions.create."), a.retryDeliveries)
	HandleContent(t, a.desk, op("getInteractionSource", http.MethodGet, interactionPath+"/source", "Download the mail that an interaction came as",
		"Media type message/rfc822. 404 for what did not come by mail, or into a mailbox that the caller does not see. Needs interactions.view."), a.getSource)
	cancel := op("cancelInteraction", http.MethodPost, interactionPath+"/cancel", "Call back an answer before it is sent",
		"It becomes a draft again. 409 when its sending has begun; the account's send_hold makes answers wait for a while, and send_at until then. Needs interactions.create.")
	cancel.Bare, cancel.Expand = true, []string{"user", "posted_by", "customer", "attachments"}
	Handle(t, a.desk, cancel, a.cancelInteraction)
}

func (a *api) listDeliveries(ctx context.Context, d *helpdesk.Desk, in interactionRows) (storage.Page[delivery], error) {
	i, err := d.Interaction(ctx, in.ConversationID, in.InteractionID)
	if err != nil {
		return storage.Page[delivery]{}, err
	}
	all, err := d.Deliveries(ctx, []int64{i.ID})
	if err != nil {
		return storage.Page[delivery]{}, err
	}
	page, err := pageOf(in.Paging, all, func(one helpdesk.Delivery) int64 { return one.ID })
	return mapPage(page, showDelivery), err
}

func (a *api) retryDeliveries(ctx context.Context, d *helpdesk.Desk, in interactionID) (storage.Page[delivery], error) {
	all, err := d.RetryDeliveries(ctx, in.ConversationID, in.InteractionID)
	return showDeliveries(all), err
}

func (a *api) getSource(ctx context.Context, d *helpdesk.Desk, in interactionID) (Content, error) {
	s, err := d.Source(ctx, in.ConversationID, in.InteractionID)
	if err != nil {
		return Content{}, err
	}
	body, err := file.Open(s.Size, func(offset int64) (io.ReadCloser, error) {
		return d.OpenSource(ctx, in.ConversationID, in.InteractionID, offset)
	})
	return Content{
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
	i, err := d.CancelSending(ctx, in.ConversationID, in.InteractionID)
	return one(ctx, d, i, err, view{expand: in.Expand}, a.showInteractions)
}

// showDeliveries is a page of all: there are at most as many as recipients.
func showDeliveries(all []helpdesk.Delivery) storage.Page[delivery] {
	page := storage.Page[delivery]{Items: make([]delivery, len(all))}
	for n, one := range all {
		page.Items[n] = showDelivery(one)
	}
	return page
}
