package helpdesk

import (
	"cmp"
	"context"
	"html"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// Forwarding names the message that a forward passes on, and those of its files that go along. The zero value: none.
type Forwarding struct {
	InteractionID int64
	FileIDs       []int64
}

// Forwarding returns what a forward passes on. It is known of a draft, too.
func (i Interaction) Forwarding() Forwarding {
	if !i.IsForward || len(i.Ending.Quotes) == 0 {
		return Forwarding{}
	}
	return Forwarding{i.Ending.Quotes[0], i.Ending.Files}
}

// passOn sets what a forward passes on.
func (i *Interaction) passOn(f Forwarding) {
	i.Ending.Quotes, i.Ending.Files = nil, nil
	if i.IsForward && f.InteractionID != 0 {
		i.Ending.Quotes, i.Ending.Files = []int64{f.InteractionID}, sortedSet(f.FileIDs)
	}
}

// MayForward reports whether a forward may pass on an interaction: a message that was received or posted. What was encrypted
// must not leave in the clear.
func (i Interaction) MayForward() bool {
	if i.Security.Encrypted || i.IsForward && i.Type == TypeUser {
		return false
	}
	return i.Type == TypeCustomer || i.Type == TypeUser && i.Status == StatusPosted && !i.Scheduled()
}

// checkForwarding verifies that a forward passes on a message of its conversation.
func (d *desk) checkForwarding(ctx context.Context, r Reader, conversationID int64, f Forwarding) error {
	if f.InteractionID == 0 {
		return nil
	}
	if _, err := d.guard.Read(identity.InteractionsView); err != nil {
		return err
	}
	original, err := r.Interactions().Get(ctx, f.InteractionID)
	if fault.Is(err, fault.NotFound) || err == nil && (original.ConversationID != conversationID || !original.MayForward()) {
		return fault.Field("forwarding", "is not a message of this conversation that can be forwarded")
	}
	if err != nil {
		return err
	}
	files, err := r.Attachments().List(ctx, AttachmentFilter{InteractionIDs: []int64{original.ID}}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return err
	}
	for _, id := range f.FileIDs {
		if !slices.ContainsFunc(files, func(a Attachment) bool { return a.ID == id }) {
			return fault.Field("forwarding", "names a file that the message does not have")
		}
	}
	return nil
}

// ForwardHead returns the lines above a forwarded message as HTML: who wrote it to whom, when and about what. It needs
// interactions.view.
func (d Interactions) ForwardHead(ctx context.Context, c Conversation, original Interaction) (string, error) {
	r, err := d.guard.Read(identity.InteractionsView)
	if err != nil {
		return "", err
	}
	m, err := r.Mailboxes().Get(ctx, c.MailboxID)
	if err != nil {
		return "", err
	}
	return forwardHead(ctx, r, m, c.Subject, original)
}

func forwardHead(ctx context.Context, r Reader, m Mailbox, subject string, original Interaction) (string, error) {
	users, err := r.UsersByID(ctx, []int64{original.PostedByID})
	if err != nil {
		return "", err
	}
	name := ""
	if len(users) > 0 {
		name = users[0].Name
	}
	from := mailaddr.Address{Name: original.speaker(m, name), Email: original.author()}
	if original.Type == TypeUser {
		from.Email = m.Email
	}
	head, date := original.Mail, original.Mail.Date
	if passed := original.Mail.Forwarded; passed.From.Email != "" {
		from.Email, head.To, head.Cc, date = passed.From.Email, passed.To, passed.Cc, passed.Date
	}
	if date.IsZero() {
		date = original.At
	}
	var out strings.Builder
	out.WriteString("<div>---------- Forwarded message ----------")
	line := func(field, value string) {
		if value != "" {
			out.WriteString("<br>\n" + field + ": " + html.EscapeString(value))
		}
	}
	line("From", addressList([]mailaddr.Address{from}, nil))
	line("Date", date.UTC().Format("Mon, 2 Jan 2006 15:04 UTC"))
	line("Subject", plain.Line(cmp.Or(original.Subject, subject)))
	line("To", addressList(head.To, original.To))
	line("Cc", addressList(head.Cc, original.Cc))
	return out.String() + "</div>", nil
}

// addressList lists addresses with their names, or the plain ones if there are none with names.
func addressList(list []mailaddr.Address, or []string) string {
	if len(list) == 0 {
		return strings.Join(or, ", ")
	}
	var out []string
	for _, a := range list {
		name := plain.Cut(plain.Line(a.Name), 200)
		if name == "" || name == a.Email {
			out = append(out, a.Email)
		} else {
			out = append(out, name+" <"+a.Email+">")
		}
	}
	return strings.Join(out, ", ")
}

// forwarded returns the forwarded part of a forward's message, and the files that go along: the chosen ones, and the images
// that the text shows. Nothing is left of a message that was deleted or moved in the meantime.
func (o *Outgoing) forwarded(ctx context.Context, r Reader, accountID int64, m Mailbox, c Conversation, f Forwarding) (string, []Attachment, error) {
	if f.InteractionID == 0 {
		return "", nil, nil
	}
	original, err := r.Interactions().Get(ctx, f.InteractionID)
	if fault.Is(err, fault.NotFound) || err == nil && (original.ConversationID != c.ID || !original.MayForward()) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	files, err := r.Attachments().List(ctx, AttachmentFilter{InteractionIDs: []int64{original.ID}}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return "", nil, err
	}
	body, files, err := o.svc.embed(ctx, r, accountID, original, files)
	if err != nil {
		return "", nil, err
	}
	head, err := forwardHead(ctx, r, m, c.Subject, original)
	files = slices.DeleteFunc(files, func(a Attachment) bool { return !a.IsInline && !slices.Contains(f.FileIDs, a.ID) })
	return "\n<div><br></div>\n" + head + "\n<div><br></div>\n" + body, files, err
}
