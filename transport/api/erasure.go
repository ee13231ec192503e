package api

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// erasure as the API shows it: never its digest.
type erasure struct {
	ID         int64          `json:"id"`
	CustomerID *int64         `json:"customer_id" description:"The erased customer, as the audit log names it. Null: erased on another server, before the account was moved here." example:"7"`
	UserID     *int64         `json:"user_id" description:"Who erased the customer. Null: the server's operator."`
	ErasedAt   transport.Time `json:"erased_at" description:"What came before this time does not come back."`
}

type erasureList struct {
	transport.Paging
	Email string `query:"email" description:"Whether this address was erased, and when."`
}

func (a *api) addErasures(t *transport.Table) {
	transport.HandleEmpty(t, a.desk, transport.Operation{
		ID: "eraseCustomer", Method: http.MethodPost, Path: customerPath + "/erase", Tag: "Customers", Lean: true, Slow: true,
		Summary: "Erase a customer",
		Description: "Removes everything personal about a customer for good. The customer's conversations stay closed under their numbers, " +
			"with tags, assignees and times, but without subjects, texts, files, recipients and raw mails; so do the customer's messages in " +
			"conversations of others. A keyed hash of each address remains, so that imports and refetched mail from before do not bring " +
			"the customer back. Whoever writes again is a new customer. Needs customers.delete, conversations.delete and all mailboxes.",
	}, func(ctx context.Context, d *helpdesk.Desk, in customerID) error {
		return d.Customers().Erase(ctx, in.CustomerID)
	})
	transport.HandlePage(t, a.desk, transport.Operation{
		ID: "listErasures", Method: http.MethodGet, Path: accountPath + "/erasures", Tag: "Customers",
		Summary:     "List erased customers",
		Description: "Newest first, one entry for each address that an erased customer had. Needs audit_log.view and all mailboxes.",
	}, func(ctx context.Context, d *helpdesk.Desk, in erasureList) (storage.Page[erasure], error) {
		page, err := d.Account().Erasures(ctx, in.Email, in.Request())
		return mapPage(page, func(e helpdesk.Erasure) erasure {
			return erasure{ID: e.ID, CustomerID: idOrNull(e.CustomerID), UserID: idOrNull(e.UserID), ErasedAt: transport.Time(e.ErasedAt)}
		}), err
	})
}
