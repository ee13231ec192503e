package transport

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
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
