package api

import (
	"encoding/json"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/transport"
)

// mailAddress is an address in a mail's header.
type mailAddress struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

// recipients are addresses; those of received mails have the names given in the mail.
type recipients struct {
	plain []string
	named []mailAddress
	shown bool
}

func plainRecipients(all []string) recipients { return recipients{plain: listed(all), shown: true} }

// MarshalJSON implements json.Marshaler.
func (r recipients) MarshalJSON() ([]byte, error) {
	if r.named != nil {
		return json.Marshal(r.named)
	}
	return json.Marshal(listed(r.plain))
}

// JSONSchemaAnyOf lists the possible types for the document's generator.
func (recipients) JSONSchemaAnyOf() []any { return []any{[]string{}, []mailAddress{}} }

// forwarded is a mail that a member has forwarded, as the member's mail quotes it.
type forwarded struct {
	UserID    int64           `json:"user_id" description:"The member."`
	From      []mailAddress   `json:"from"`
	ReplyTo   []mailAddress   `json:"reply_to"`
	To        []mailAddress   `json:"to"`
	Cc        []mailAddress   `json:"cc"`
	Subject   *string         `json:"subject"`
	SentAt    *transport.Time `json:"sent_at" description:"Null if the date is unreadable, or if day and month are ambiguous."`
	MessageID *string         `json:"message_id" description:"Without angle brackets. Known only if the mail was attached whole."`
}

func showForwarded(m ledger.Forwarded) *forwarded {
	if m.UserID == 0 {
		return nil
	}
	return &forwarded{
		UserID: m.UserID, From: mailAddresses([]mailaddr.Address{m.From}), ReplyTo: mailAddresses(m.ReplyTo), To: mailAddresses(m.To), Cc: mailAddresses(m.Cc),
		Subject: textOrNull(m.Subject), SentAt: transport.TimePtr(&m.Date), MessageID: textOrNull(m.MessageID),
	}
}

// fillHeader shows the header of a mail. For mails filed before headers were kept, only the addresses are known.
func (out *interaction) fillHeader(i helpdesk.Interaction) {
	h := i.Mail
	if len(h.From) == 0 {
		h = helpdesk.MailHeader{
			From: []mailaddr.Address{{Email: i.CustomerEmail}}, To: unnamed(i.To), Cc: unnamed(i.Cc), Date: i.PostedAt,
		}
	}
	out.From, out.ReplyTo = mailAddresses(h.From), mailAddresses(h.ReplyTo)
	out.To, out.Cc = recipients{named: mailAddresses(h.To), shown: true}, recipients{named: mailAddresses(h.Cc), shown: true}
	if a := h.Sender; a.Email != "" && (len(h.From) != 1 || mailaddr.Key(a.Email) != mailaddr.Key(h.From[0].Email)) {
		out.Sender = &mailAddress{Name: a.Name, Email: a.Email}
	}
	out.Forwarded = showForwarded(h.Forwarded)
	out.SentAt, out.ReceivedAt = shownOrNull(transport.TimePtr(&h.Date)), shownOrNull(transport.TimePtr(&i.ReceivedAt))
}

func unnamed(emails []string) []mailaddr.Address {
	out := make([]mailaddr.Address, len(emails))
	for n, email := range emails {
		out[n].Email = email
	}
	return out
}

// mailAddresses converts addresses; the result is empty for a mail without any.
func mailAddresses(all []mailaddr.Address) []mailAddress {
	out := []mailAddress{}
	for _, a := range all {
		if !helpdesk.Unreachable(a.Email) {
			out = append(out, mailAddress{Name: a.Name, Email: a.Email})
		}
	}
	return out
}
