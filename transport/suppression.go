package transport

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// suppression as the API shows it.
type suppression struct {
	ID            int64   `json:"id"`
	Email         string  `json:"email" example:"gone@example.org"`
	Reason        string  `json:"reason" enum:"bounce,manual" description:"Bounce: a mail came back, there is no such address. Manual: a member wanted it. More may be added."`
	Detail        *string `json:"detail" description:"What the bounce said, or the member."`
	UserID        *int64  `json:"user_id" description:"Who suppressed it; null when a bounce did."`
	InteractionID *int64  `json:"interaction_id" description:"The interaction that bounced; it may be gone."`
	CreatedAt     Time    `json:"created_at"`
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

func (a *api) addSuppressions(t *Table) {
	op := func(id, method, path, summary, description string) Operation {
		return Operation{ID: id, Method: method, Path: path, Tag: "Suppressions", Summary: summary, Description: description}
	}
	create := op("createSuppression", http.MethodPost, suppressionsPath, "Suppress an address",
		"Mail to it is not sent: its delivery ends as suppressed. 422 when it is suppressed already. Needs customers.update.")
	create.Status = http.StatusCreated
	Handle(t, a.desk, create, func(ctx context.Context, d *helpdesk.Desk, in suppressionInput) (suppression, error) {
		s, err := d.Suppress(ctx, helpdesk.SuppressionInput{Email: in.Email, Detail: in.Detail})
		return showSuppression(s), err
	})
	HandlePage(t, a.desk, op("listSuppressions", http.MethodGet, suppressionsPath, "List suppressed addresses",
		"Newest first. Needs customers.view."),
		func(ctx context.Context, d *helpdesk.Desk, in Paging) (storage.Page[suppression], error) {
			page, err := d.Suppressions(ctx, in.Request())
			return mapPage(page, showSuppression), err
		})
	Handle(t, a.desk, op("getSuppression", http.MethodGet, suppressionPath, "Retrieve a suppression", "Needs customers.view."),
		func(ctx context.Context, d *helpdesk.Desk, in suppressionID) (suppression, error) {
			s, err := d.Suppression(ctx, in.SuppressionID)
			return showSuppression(s), err
		})
	HandleEmpty(t, a.desk, op("deleteSuppression", http.MethodDelete, suppressionPath, "Lift a suppression",
		"The address gets mail again. What failed for it is sent by retrying its deliveries. Needs customers.update."),
		func(ctx context.Context, d *helpdesk.Desk, in suppressionID) error {
			return d.LiftSuppression(ctx, in.SuppressionID)
		})
}

func showSuppression(s helpdesk.Suppression) suppression {
	return suppression{
		ID: s.ID, Email: s.Email, Reason: string(s.Reason), Detail: textOrNull(s.Detail), UserID: idOrNull(s.UserID),
		InteractionID: idOrNull(s.InteractionID), CreatedAt: Time(s.CreatedAt),
	}
}
