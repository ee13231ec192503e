package api

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/transport"
)

const signaturePath = accountPath + "/signature"

// signature is the text that ends the answers of a member.
type signature struct {
	Body string `json:"body" description:"Sanitized HTML with placeholders. Empty: none."`
}

type signatureInput struct {
	Body string `json:"body" example:"<p>Kind regards,<br>{{agent.name}}</p>" description:"HTML or text, at most 16 KiB. Empty: none. Placeholders: {{agent.name}}, {{mailbox.name}} and {{mailbox.email}}; others are refused."`
}

func (a *api) addSignatures(t *transport.Table) {
	op := func(id, method, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: signaturePath, Tag: "Signatures", Summary: summary, Description: description}
	}
	transport.Handle(t, a.desk, op("getSignature", http.MethodGet, "Retrieve the caller's signature",
		"The text that the caller's answers end with. The mailbox's signature follows it. Needs interactions.view."),
		func(ctx context.Context, d *helpdesk.Desk, _ struct{}) (signature, error) {
			body, err := d.Signatures().Get(ctx)
			return signature{Body: body}, err
		})
	transport.Handle(t, a.desk, op("updateSignature", http.MethodPut, "Update the caller's signature",
		"Answers posted before keep theirs. Needs interactions.create."),
		func(ctx context.Context, d *helpdesk.Desk, in signatureInput) (signature, error) {
			body, err := d.Signatures().Set(ctx, in.Body)
			return signature{Body: body}, err
		})
}
