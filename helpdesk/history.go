package helpdesk

import (
	"cmp"
	"context"
	"html"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/plain"
)

// QuotePolicy determines how much of a conversation is quoted below a reply.
type QuotePolicy string

// The policies. A message is quoted only to its author and recipients. Notes, forwards and encrypted messages are never
// quoted.
const (
	QuoteNone QuotePolicy = "none" // nothing; the default
	QuoteLast QuotePolicy = "last" // the customer's last message
	QuoteAll  QuotePolicy = "all"  // all messages so far, newest first: up to 20 messages and 100 KiB
)

// Limits of quoting.
const (
	maxQuotes      = 20
	maxQuotedBytes = 100 << 10
	quotesLook     = 50 // among this many messages
)

// quotesOf returns the interactions to quote below a reply, newest first.
func quotesOf(ctx context.Context, tx Tx, c Conversation, m Mailbox, i Interaction) ([]int64, error) {
	if m.Quotes != QuoteLast && m.Quotes != QuoteAll || i.IsForward {
		return nil, nil
	}
	recent, err := tx.Interactions().List(ctx, InteractionFilter{ConversationID: c.ID, Brief: true}, storage.Seek{Desc: true, Limit: quotesLook})
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, other := range recent {
		switch {
		case other.ID == i.ID || !other.quotable() || !other.sharedWith(i):
		case m.Quotes == QuoteAll && len(ids) < maxQuotes:
			ids = append(ids, other.ID)
		case m.Quotes == QuoteLast && other.Type == TypeCustomer:
			return []int64{other.ID}, nil
		}
	}
	return ids, nil
}

// quotable reports whether an interaction may be quoted at all.
func (i Interaction) quotable() bool {
	if i.IsForward || i.AutoSubmitted || i.Security.Encrypted || i.Threading.Rule == RuleReport {
		return false
	}
	return i.Type == TypeCustomer || i.Type == TypeUser && i.Status == StatusPosted && !i.Scheduled()
}

// sharedWith reports whether a recipient of a reply is the author or a recipient of an interaction.
func (i Interaction) sharedWith(answer Interaction) bool {
	took := slices.Concat(i.To, i.Cc, i.Bcc)
	if i.Type == TypeCustomer {
		took = append(took, i.CustomerEmail)
		for _, a := range slices.Concat(i.Mail.From, i.Mail.ReplyTo, i.Mail.To, i.Mail.Cc) {
			took = append(took, a.Email)
		}
	}
	keys := map[string]bool{}
	for _, address := range took {
		keys[mailaddr.Key(address)] = true
	}
	delete(keys, "")
	return slices.ContainsFunc(slices.Concat(answer.To, answer.Cc), func(address string) bool { return keys[mailaddr.Key(address)] })
}

// quotedIn returns the quoted part of a reply's message. It omits interactions that were deleted or moved in the meantime.
func quotedIn(ctx context.Context, r Reader, m Mailbox, answer Interaction) (string, error) {
	if len(answer.Ending.Quotes) == 0 || answer.IsForward {
		return "", nil
	}
	found, err := r.Interactions().ByIDs(ctx, answer.Ending.Quotes)
	if err != nil {
		return "", err
	}
	found = slices.DeleteFunc(found, func(i Interaction) bool { return i.ConversationID != answer.ConversationID || !i.quotable() })
	slices.SortFunc(found, func(a, b Interaction) int {
		return cmp.Compare(slices.Index(answer.Ending.Quotes, a.ID), slices.Index(answer.Ending.Quotes, b.ID))
	})
	var authors []int64
	for _, i := range found {
		authors = append(authors, i.PostedByID)
	}
	users, err := r.UsersByID(ctx, sortedSet(authors))
	if err != nil {
		return "", err
	}
	names := map[int64]string{}
	for _, u := range users {
		names[u.ID] = u.Name
	}
	var out strings.Builder
	for _, i := range found {
		quote := i.asQuote(i.speaker(m, names[i.PostedByID]))
		if out.Len()+len(quote) > maxQuotedBytes {
			break
		}
		out.WriteString(quote)
	}
	return out.String(), nil
}

// speaker returns an interaction's author as named in a quote.
func (i Interaction) speaker(m Mailbox, userName string) string {
	if i.Type == TypeUser {
		return fromName(m, userName)
	}
	if author := i.Mail.Forwarded.From; author.Email != "" {
		return cmp.Or(plain.Line(author.Name), author.Email)
	}
	if len(i.Mail.From) > 0 {
		return cmp.Or(plain.Line(i.Mail.From[0].Name), i.Mail.From[0].Email, i.CustomerEmail)
	}
	return i.CustomerEmail
}

// asQuote returns the interaction as quoted in a message, "" if nothing is left without its own quotes. Its images are not
// sent again.
func (i Interaction) asQuote(speaker string) string {
	body := mailhtml.RewriteImages(mailhtml.Unquoted(i.Body, i.answers()), func(string) string { return "" })
	if blank(body) {
		return ""
	}
	return "\n<div><br>\nOn " + i.At.UTC().Format("2 January 2006 at 15:04 UTC") + ", " + html.EscapeString(plain.Cut(speaker, 200)) +
		" wrote:</div>\n<blockquote type=\"cite\">" + body + "</blockquote>"
}
