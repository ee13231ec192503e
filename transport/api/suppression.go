package api

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// suppression as the API shows it.
type suppression struct {
	ID            int64          `json:"id"`
	Email         string         `json:"email" example:"gone@example.org"`
	Reason        string         `json:"reason" enum:"bounce,manual" description:"bounce: a mail came back because the address does not exist. manual: added by a member. More values may be added."`
	Detail        *string        `json:"detail" description:"Reason from the bounce, or from the member."`
	UserID        *int64         `json:"user_id" description:"Who suppressed it. Null if a bounce did."`
	InteractionID *int64         `json:"interaction_id" description:"The interaction that bounced. It may be gone."`
	CreatedAt     transport.Time `json:"created_at"`
}

type suppressionInput struct {
	Email  string `json:"email" required:"true" example:"gone@example.org"`
	Detail string `json:"detail" maxLength:"500"`
}

type suppressionID struct {
	SuppressionID int64 `path:"suppression_id"`
}

const (
	suppressionsPath = accountPath + "/suppressions"
	suppressionPath  = suppressionsPath + "/{suppression_id}"
)

func (a *api) addSuppressions(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Suppressions", Summary: summary, Description: description}
	}
	create := op("createSuppression", http.MethodPost, suppressionsPath, "Suppress an address",
		"Mail to it is not sent; its deliveries end as suppressed. 422 if it is already suppressed. Needs customers.update.")
	create.Status = http.StatusCreated
	transport.Handle(t, a.desk, create, func(ctx context.Context, d *helpdesk.Desk, in suppressionInput) (suppression, error) {
		s, err := d.Suppressions().Add(ctx, sending.SuppressionInput{Email: in.Email, Detail: in.Detail})
		return showSuppression(s), err
	})
	transport.HandlePage(t, a.desk, op("listSuppressions", http.MethodGet, suppressionsPath, "List suppressed addresses",
		"Newest first. Needs customers.view."),
		func(ctx context.Context, d *helpdesk.Desk, in transport.Paging) (storage.Page[suppression], error) {
			page, err := d.Suppressions().List(ctx, in.Request())
			return mapPage(page, showSuppression), err
		})
	transport.Handle(t, a.desk, op("getSuppression", http.MethodGet, suppressionPath, "Retrieve a suppression", "Needs customers.view."),
		func(ctx context.Context, d *helpdesk.Desk, in suppressionID) (suppression, error) {
			s, err := d.Suppressions().Get(ctx, in.SuppressionID)
			return showSuppression(s), err
		})
	transport.HandleEmpty(t, a.desk, op("deleteSuppression", http.MethodDelete, suppressionPath, "Lift a suppression",
		"The address receives mail again. To send what was suppressed, retry the deliveries. Needs customers.update."),
		func(ctx context.Context, d *helpdesk.Desk, in suppressionID) error {
			return d.Suppressions().Lift(ctx, in.SuppressionID)
		})
}

func showSuppression(s sending.Suppression) suppression {
	return suppression{
		ID: s.ID, Email: s.Email, Reason: string(s.Reason), Detail: textOrNull(s.Detail), UserID: idOrNull(s.UserID),
		InteractionID: idOrNull(s.InteractionID), CreatedAt: transport.Time(s.CreatedAt),
	}
}
