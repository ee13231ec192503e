package helpdesk

import (
	"context"
	"fmt"
	"slices"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/storage/fault"
)

// MaxMentions limits the members that a note mentions.
const MaxMentions = 50

// linkMentions turns "@" followed by a member's address into a mention. It keeps only mentions of members who may see the
// mailbox's conversations; all others become text, so that nothing is revealed about users of other accounts.
func (d *desk) linkMentions(ctx context.Context, tx Tx, mailboxID int64, i *Interaction) error {
	if i.Type != TypeNote {
		return nil
	}
	ids, addresses := mailhtml.Mentions(i.Body)
	if len(ids)+len(addresses) == 0 {
		return nil
	}
	if len(ids)+len(addresses) > MaxMentions {
		return fault.Field("body", fmt.Sprintf("mentions more than %d members", MaxMentions))
	}
	users, err := d.mentionable(ctx, tx.Reader(), mailboxID)
	if err != nil {
		return err
	}
	keep := func(id int64) bool {
		return slices.ContainsFunc(users, func(u identity.User) bool { return u.ID == id })
	}
	i.Body = mailhtml.LinkMentions(i.Body, keep, func(address string) (int64, string, bool) {
		key := mailaddr.Key(address)
		at := slices.IndexFunc(users, func(u identity.User) bool { return u.EmailKey == key })
		if at < 0 {
			return 0, "", false
		}
		return users[at].ID, users[at].Name, true
	})
	return nil
}

// mentionable returns the members who may see a mailbox's conversations, by id.
func (d *desk) mentionable(ctx context.Context, r Reader, mailboxID int64) ([]identity.User, error) {
	to, err := d.svc.recipientsOf(ctx, r, nil)
	if err != nil {
		return nil, err
	}
	var ids []int64
	for id, m := range to.members {
		if m.sees(mailboxID) && m.isFor(NotifyMentioned) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	users, err := r.UsersByID(ctx, sortedSet(ids))
	slices.SortFunc(users, func(a, b identity.User) int { return int(a.ID - b.ID) })
	return users, err
}

// Mentionable returns the members who can be mentioned in a conversation's notes, which are those who may see it, by id. It
// needs conversations.view.
func (d Conversations) Mentionable(ctx context.Context, conversationID int64) ([]identity.User, error) {
	r, err := d.guard.Read(identity.ConversationsView)
	if err != nil {
		return nil, err
	}
	c, err := r.Conversations().Get(ctx, conversationID)
	if err != nil {
		return nil, err
	}
	return d.mentionable(ctx, r, c.MailboxID)
}

// mentioned returns the occurrence of a note mentioning members, without those it mentioned before. They follow the
// conversation from then on, unless they stopped following it.
func (d *desk) mentioned(ctx context.Context, tx Tx, c Conversation, i Interaction, before []int64) ([]occurrence, error) {
	if i.Type != TypeNote || i.Status == StatusDraft {
		return nil, nil
	}
	ids, _ := mailhtml.Mentions(i.Body)
	ids = slices.DeleteFunc(ids, func(id int64) bool { return slices.Contains(before, id) || id == d.userID })
	if len(ids) == 0 {
		return nil, nil
	}
	there, err := tx.Followers(ctx, []int64{c.ID})
	if err != nil {
		return nil, err
	}
	var more []Follower
	for _, id := range ids {
		if _, known := followerOf(there, id); !known {
			more = append(more, Follower{ConversationID: c.ID, UserID: id, Follows: true, CreatedAt: d.svc.now()})
		}
	}
	if len(more) > 0 {
		if err := tx.SaveFollowers(ctx, more); err != nil {
			return nil, err
		}
		if err := d.emit(ctx, tx, "conversation.followed", c.ID, c.MailboxID); err != nil {
			return nil, err
		}
	}
	return []occurrence{{Kind: NotifyMentioned, ConversationID: c.ID, InteractionID: i.ID, ActorID: d.userID, UserIDs: ids}}, nil
}

// withMentions replaces the names in displayed mentions with current ones. A former member keeps the name from when the
// mention was made.
func (d *desk) withMentions(ctx context.Context, r Reader, list []Interaction, shown []ShownBody) error {
	var ids []int64
	for _, i := range list {
		if i.Type == TypeNote {
			of, _ := mailhtml.Mentions(i.Body)
			ids = append(ids, of...)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	users, err := r.UsersByID(ctx, sortedSet(ids))
	if err != nil {
		return err
	}
	names := map[int64]string{}
	for _, u := range users {
		names[u.ID] = mailhtml.Mention(u.ID, u.Name)
	}
	for n, i := range list {
		if i.Type == TypeNote {
			shown[n].HTML = mailhtml.ShowMentions(shown[n].HTML, func(id int64) string { return names[id] })
		}
	}
	return nil
}
