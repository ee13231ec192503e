package transport

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
)

const signaturePath = accountPath + "/signature"

// signature is what the answers of a member end with.
type signature struct {
	Body string `json:"body" description:"HTML that is safe to show, with placeholders; empty: there is none."`
}

type signatureInput struct {
	Body string `json:"body" example:"<p>Kind regards,<br>{{agent.name}}</p>" description:"HTML or text, at most 16 KiB; empty: none. {{agent.name}}, {{mailbox.name}} and {{mailbox.email}} stand for what they say; others are refused."`
}

func (a *api) addSignatures(t *Table) {
	op := func(id, method, summary, description string) Operation {
		return Operation{ID: id, Method: method, Path: signaturePath, Tag: "Signatures", Summary: summary, Description: description}
	}
	Handle(t, a.desk, op("getSignature", http.MethodGet, "Retrieve one's signature",
		"What the caller's answers end with; that of the mailbox stands below it. Needs interactions.view."),
		func(ctx context.Context, d *helpdesk.Desk, _ struct{}) (signature, error) {
			body, err := d.Signature(ctx)
			return signature{Body: body}, err
		})
	Handle(t, a.desk, op("updateSignature", http.MethodPut, "Update one's signature",
		"Answers that were posted before keep the one that they had. Needs interactions.create."),
		func(ctx context.Context, d *helpdesk.Desk, in signatureInput) (signature, error) {
			body, err := d.SetSignature(ctx, in.Body)
			return signature{Body: body}, err
		})
}
