package helpdesk

import (
	"cmp"
	"context"
	"regexp"
	"slices"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/plain"
)

// AnswerRecipients are the addresses that an answer in a conversation goes to.
type AnswerRecipients struct {
	To     []string // whom an answer without recipients goes to; empty: nobody can be answered
	Others []string // the other correspondents of the customers' latest message, for an answer to all
	// Known are all correspondents of the last messages, the newest first, with names as far as they are known.
	Known []mailaddr.Address
}

// maxOthers limits the others that an answer to all copies, to leave room for those that a member adds.
const maxOthers = MaxRecipients / 2

// lastRead is the number of interactions among which the customers' latest message is looked for.
const lastRead = 50

// Recipients returns whom an answer in a conversation goes to, and whom an answer to all copies: the author and the
// recipients of the customers' latest message. The account's own addresses, blocked senders, addresses that nobody reads or
// that belong to a mail system, and the mailing list that the message came through are not among them. It needs
// interactions.view.
func (d Conversations) Recipients(ctx context.Context, conversationID int64) (AnswerRecipients, error) {
	r, err := d.guard.Read(identity.InteractionsView)
	if err != nil {
		return AnswerRecipients{}, err
	}
	c, err := r.Conversations().Get(ctx, conversationID)
	if err != nil {
		return AnswerRecipients{}, err
	}
	own, err := d.svc.ownAddresses(ctx, r, d.scope.AccountID)
	if err != nil {
		return AnswerRecipients{}, err
	}
	last, err := r.Interactions().List(ctx, InteractionFilter{ConversationID: c.ID, Brief: true}, storage.Seek{Desc: true, Limit: lastRead})
	if err != nil {
		return AnswerRecipients{}, err
	}
	out := AnswerRecipients{Known: correspondents(last, own)}
	if at := slices.IndexFunc(last, func(i Interaction) bool {
		return i.Type == TypeCustomer && !i.IsForward && i.CustomerID == c.CustomerID
	}); at >= 0 {
		if out.To, err = d.svc.replyTo(ctx, r, d.scope.AccountID, last[at]); err != nil {
			return out, err
		}
	}
	if len(out.To) == 0 && !Unreachable(c.CustomerEmail) && !own.receives(c.CustomerEmail) {
		out.To = []string{c.CustomerEmail}
	}
	at := slices.IndexFunc(last, func(i Interaction) bool { return i.Type == TypeCustomer && !i.IsForward })
	if at < 0 {
		return out, nil
	}
	wrote, err := d.svc.replyTo(ctx, r, d.scope.AccountID, last[at])
	if err != nil {
		return out, err
	}
	if len(wrote) == 0 {
		wrote = []string{last[at].author()}
	}
	out.Others, err = withoutBlocked(ctx, r, others(last[at], c, wrote, out.To, own))
	return out, err
}

// others returns where the author of a customer's message reads answers, and its recipients, of those who may be copied and
// are not in to.
func others(i Interaction, c Conversation, wrote, to []string, own *ownAddresses) []string {
	known := []string{mailaddr.Key(c.CustomerEmail)}
	for _, address := range to {
		known = append(known, mailaddr.Key(address))
	}
	all := slices.Concat(wrote, emails(i.Mail.To), emails(i.Mail.Cc), i.To, i.Cc)
	if i.Mail.Forwarded.UserID != 0 { // From and To are those of the member's mail
		all = slices.Concat(emails(i.Mail.Forwarded.To), emails(i.Mail.Forwarded.Cc))
		for _, member := range emails(i.Mail.From) { // who has it already
			known = append(known, mailaddr.Key(member))
		}
	}
	var found []string
	for _, address := range all {
		key := mailaddr.Key(address)
		if slices.Contains(known, key) || !mailaddr.Valid(address) || Unreachable(address) || own.receives(address) || unread(address) ||
			ofList(address, i.Mail.ListID, i.Mail.ListPost) || i.Mail.Rewritten && address == i.author() {
			continue
		}
		if known, found = append(known, key), append(found, address); len(found) == maxOthers {
			break
		}
	}
	return found
}

// correspondents returns the people who have written or received the messages, last first.
func correspondents(last []Interaction, own *ownAddresses) []mailaddr.Address {
	var found []mailaddr.Address
	at := map[string]int{}
	for _, i := range last {
		all := slices.Concat(i.Mail.From, i.Mail.To, i.Mail.Cc, asAddresses(i.To), asAddresses(i.Cc))
		if i.Mail.Forwarded.UserID != 0 || i.Status == StatusDraft {
			all = nil
		}
		if i.Type == TypeCustomer && len(i.Mail.From) == 0 {
			all = append(all, mailaddr.Address{Email: i.CustomerEmail})
		}
		for _, a := range all {
			key := mailaddr.Key(a.Email)
			if n, known := at[key]; known {
				found[n].Name = cmp.Or(found[n].Name, a.Name)
			} else if mailaddr.Valid(a.Email) && !Unreachable(a.Email) && !own.receives(a.Email) && !unread(a.Email) {
				at[key] = len(found)
				found = append(found, a)
			}
		}
	}
	return found
}

// systemLocal matches local parts of addresses that belong to a mail system and not to a person (RFC 2142 section 5).
var systemLocal = regexp.MustCompile(`^(postmaster|mailer-daemon|mailerdaemon|hostmaster|abuse|bounces?|listserv|majordomo)([-+._].*)?$`)

// unread reports whether mail to an address reaches no person.
func unread(address string) bool {
	local, _, _ := plain.CutLast(mailaddr.Key(address), "@")
	return noReply(address) || systemLocal.MatchString(local)
}

// withoutBlocked leaves out the addresses that are blocked.
func withoutBlocked(ctx context.Context, r Reader, addresses []string) ([]string, error) {
	var keys []string
	for _, address := range addresses {
		keys = append(keys, blockKeys(address)...)
	}
	if len(keys) == 0 {
		return nil, nil
	}
	blocked, err := blockedSenderNoun().Reader(r).List(ctx, BlockedSenderFilter{Keys: keys}, storage.Seek{Limit: storage.NoLimit})
	return slices.DeleteFunc(addresses, func(address string) bool {
		return slices.ContainsFunc(blocked, func(b BlockedSender) bool { return b.Blocks(address) })
	}), err
}
