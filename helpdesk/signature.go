package helpdesk

import (
	"context"
	"fmt"
	"html"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// Ending is the text below a reply's body in its message. It is fixed when the reply is posted or, if scheduled, when it is
// sent.
type Ending struct {
	Signature string  `json:"signature,omitempty"` // sanitized HTML
	Quotes    []int64 `json:"quotes,omitempty"`    // quoted interactions, newest first; of a forward, the one passed on, also in a draft
	Files     []int64 `json:"files,omitempty"`     // of a forward: the attachments passed on, likewise. See [Interaction.Forwarding]
}

// Signature is a member's signature for replies in all mailboxes. The mailbox's own, [Mailbox].Signature, follows it.
type Signature struct {
	ID        int64
	UserID    int64
	Body      string // sanitized HTML with placeholders such as {{agent.name}}
	UpdatedAt time.Time
}

// UniqueSignature is the code of a store's Conflict fault for a duplicate (account, UserID).
const UniqueSignature = "signature"

// SignatureFilter narrows a list of signatures.
type SignatureFilter struct {
	UserIDs []int64 // of any of these users; empty: none
}

// maxSignature is the maximum size of a signature.
const maxSignature = 16 << 10

// SignaturePlaceholders lists the placeholders allowed in a signature, between double braces.
func SignaturePlaceholders() []string { return []string{"agent.name", "mailbox.name", "mailbox.email"} }

// cleanSignature validates a signature. One with neither text nor an image becomes empty.
func cleanSignature(problems *fault.Collector, body string) string {
	if !problems.Check(len(body) <= maxSignature, "signature", "is larger than 16 KiB") {
		return ""
	}
	body = mailhtml.FromInput(body)
	if blank(body) {
		return ""
	}
	checkPlaceholders(problems, "signature", body, SignaturePlaceholders())
	return body
}

// checkPlaceholders adds problems for unknown placeholders.
func checkPlaceholders(problems *fault.Collector, field, body string, names []string) {
	known := map[string]bool{}
	for _, name := range names {
		known[name] = true
	}
	for _, found := range placeholderPattern.FindAllStringSubmatch(body, -1) {
		name := strings.TrimSpace(html.UnescapeString(found[1]))
		problems.Check(known[name], field, fmt.Sprintf("has the unknown placeholder {{%s}}; known are %s", plain.Cut(name, 50), strings.Join(names, ", ")))
	}
}

// Signatures are the member's signature, alone and in a mailbox.
type Signatures struct{ *desk }

// Signatures returns the handle of the member's signature.
func (d *Desk) Signatures() Signatures { return Signatures{&d.desk} }

// Get returns the caller's own signature, "" if there is none. It needs interactions.view.
func (d Signatures) Get(ctx context.Context) (string, error) {
	r, err := d.guard.Read(identity.InteractionsView)
	if err != nil {
		return "", err
	}
	if err := d.ownRow(ctx, r.Memberships()); err != nil {
		return "", err
	}
	own, err := signatureOf(ctx, r, d.userID)
	return own.Body, err
}

func signatureOf(ctx context.Context, r Reader, userID int64) (Signature, error) {
	found, err := signatureNoun().Reader(r).List(ctx, SignatureFilter{UserIDs: []int64{userID}}, storage.Seek{Limit: 1})
	if err != nil || len(found) == 0 {
		return Signature{}, err
	}
	return found[0], nil
}

// Set sets the signature of the caller's future replies: HTML or text with the placeholders of
// [SignaturePlaceholders], at most 16 KiB; "" removes it. It returns the stored signature. It needs interactions.create.
func (d Signatures) Set(ctx context.Context, body string) (string, error) {
	begin, err := d.guard.Write(identity.InteractionsCreate)
	if err != nil {
		return "", err
	}
	var problems fault.Collector
	body = cleanSignature(&problems, body)
	if err := problems.Err(); err != nil {
		return "", err
	}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if _, err := tx.Memberships().Lock(ctx, d.membershipID); err != nil {
			return err
		}
		own, err := signatureOf(ctx, tx.Reader(), d.userID)
		if err != nil || own.Body == body {
			return err
		}
		own.UserID, own.Body, own.UpdatedAt = d.userID, body, d.svc.now()
		switch {
		case body == "":
			return signatureNoun().Rows(tx).Delete(ctx, own.ID)
		case own.ID == 0:
			return signatureNoun().Rows(tx).Insert(ctx, &own)
		}
		return signatureNoun().Rows(tx).Update(ctx, &own)
	})
	return body, err
}

// In returns the ending of the caller's replies in a mailbox, with placeholders filled in: the caller's signature
// and the mailbox's. It needs interactions.view.
func (d Signatures) In(ctx context.Context, mailboxID int64) (string, error) {
	r, err := d.guard.Read(identity.InteractionsView)
	if err != nil {
		return "", err
	}
	m, err := r.Mailboxes().Get(ctx, mailboxID)
	if err != nil {
		return "", err
	}
	return d.svc.signature(ctx, r, m, d.userID)
}

// signature returns the signatures below a user's replies.
func (s *Service) signature(ctx context.Context, r Reader, m Mailbox, userID int64) (string, error) {
	own := Signature{}
	if userID != 0 {
		var err error
		if own, err = signatureOf(ctx, r, userID); err != nil {
			return "", err
		}
	}
	if own.Body == "" && m.Signature == "" {
		return "", nil
	}
	values := map[string]string{"agent.name": "", "mailbox.name": m.Name, "mailbox.email": m.Email}
	users, err := r.UsersByID(ctx, []int64{userID})
	if err != nil {
		return "", err
	}
	for _, u := range users {
		values["agent.name"] = u.Name
	}
	var parts []string
	for _, part := range []string{own.Body, m.Signature} {
		if part != "" {
			parts = append(parts, "<div>"+filled(part, values)+"</div>")
		}
	}
	return strings.Join(parts, "\n"), nil
}

// end fixes the ending of a reply.
func (s *Service) end(ctx context.Context, tx Tx, c Conversation, m Mailbox, i *Interaction) (err error) {
	if i.Ending.Signature, err = s.signature(ctx, tx.Reader(), m, i.PostedByID); err != nil {
		return err
	}
	if i.IsForward {
		return nil
	}
	i.Ending.Quotes, err = quotesOf(ctx, tx, c, m, *i)
	return err
}

// ended returns a reply's body with its ending.
func (o *Outgoing) ended(ctx context.Context, r Reader, m Mailbox, i Interaction, body string) (string, error) {
	if i.Ending.Signature != "" {
		body += "\n<div><br>\n" + i.Ending.Signature + "</div>"
	}
	quoted, err := quotedIn(ctx, r, m, i)
	return body + quoted, err
}

// forgetSignature removes a former member's signature.
func forgetSignature(ctx context.Context, tx Tx, userID int64) error {
	own, err := signatureOf(ctx, tx.Reader(), userID)
	if err != nil || own.ID == 0 {
		return err
	}
	return signatureNoun().Rows(tx).Delete(ctx, own.ID)
}

// signatureNoun declares the rows of signatures.
func signatureNoun() storage.Declared[Signature, SignatureFilter] {
	return storage.Declared[Signature, SignatureFilter]{
		Noun: storage.Noun[Signature]{
			Name: "signature",
			ID:   func(t *Signature) *int64 { return &t.ID },
			Unique: []storage.Unique[Signature]{
				{Code: UniqueSignature, Index: "user", Fields: func(t *Signature) []any { return []any{&t.UserID} }},
			},
		},
		Key: "signature", Plural: "signatures",
		Columns: []storage.Column[Signature]{
			{Name: "user_id", Field: func(t *Signature) any { return &t.UserID }, Refers: "user"},
			{Name: "body", Field: func(t *Signature) any { return &t.Body }},
			{Name: "updated_at", Field: func(t *Signature) any { return &t.UpdatedAt }},
		},
		Where: func(f SignatureFilter) []storage.Condition {
			return []storage.Condition{storage.OneOf("user_id", f.UserIDs)}
		},
	}
}
