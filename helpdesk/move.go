package helpdesk

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage"
)

// Move is the move of an interaction from one conversation to another.
type Move struct {
	InteractionID int64
	Rule          string // RuleSplit, RuleRethread or RuleMerge
	FromID        int64  // conversation; may no longer exist
	IntoID        int64  // conversation; may no longer exist, or have changed since
	MailboxID     int64  // mailbox of FromID
	UserID        int64  // the actor
	CreatedAt     time.Time
}

// move returns a move that the member makes now.
func (d *desk) move(rule string, from, into int64) Move {
	return Move{Rule: rule, FromID: from, IntoID: into, UserID: d.userID, CreatedAt: d.svc.now()}
}

// moveBatch is the number of interactions moved per statement.
const moveBatch = 500

// moveInteractions moves some interactions of a conversation, in order, into another one, and updates what both
// conversations derive from their interactions. Both are locked, and the first keeps at least one interaction.
func (d *desk) moveInteractions(ctx context.Context, tx Tx, rule string, moved []Interaction, from, into Conversation) (Conversation, error) {
	if err := d.returnAll(ctx, tx, ReturnedBySplit, from, into); err != nil {
		return Conversation{}, err
	}
	mailbox, err := tx.Mailboxes().Get(ctx, from.MailboxID)
	if err != nil {
		return Conversation{}, err
	}
	if err := tx.AddParticipants(ctx, into.ID, d.brought(mailbox, moved)); err != nil {
		return Conversation{}, err
	}
	starters, err := firsts(ctx, tx, from.ID, into.ID)
	if err != nil {
		return Conversation{}, err
	}
	events := make([]storage.Event, 0, len(moved)+4)
	for batch := range slices.Chunk(moved, moveBatch) {
		ids := make([]int64, len(batch))
		for n, i := range batch {
			ids[n] = i.ID
			if i.IsStarter {
				starters = append(starters, i.ID)
			}
			e := d.event("interaction.moved", i.ID, into.MailboxID)
			e.ConversationID = into.ID
			e.Data, _ = json.Marshal(map[string]int64{"id": i.ID, "from": from.ID}) // a map of integers always encodes
			events = append(events, e)
		}
		if err := tx.MoveInteractions(ctx, ids, d.move(rule, from.ID, into.ID)); err != nil {
			return Conversation{}, err
		}
	}
	waiting := waits(moved, from.AwaitingSince)
	oldFrom, oldInto := from, into
	if from.AwaitingSince, err = d.stillWaits(ctx, tx, from); err != nil {
		return Conversation{}, err
	}
	into.waitSince(waiting, from.Status)
	into.heldAs(from)
	for _, c := range []*Conversation{&from, &into} {
		if err := d.recomputeConversation(ctx, tx, c, starters); err != nil {
			return Conversation{}, err
		}
	}
	return into, tx.Emit(ctx, slices.Concat(events, d.updated(oldFrom, from), d.updated(oldInto, into))...)
}

// waits returns the time of the first unanswered customer message, for conversations that have been awaiting a reply since a
// time; zero if there is none.
func waits(all []Interaction, since time.Time) (first time.Time) {
	for _, i := range all {
		unanswered := i.Type == TypeCustomer && !i.IsForward && !i.AutoSubmitted && !since.IsZero() && !i.At.Before(since)
		if unanswered && (first.IsZero() || i.At.Before(first)) {
			first = i.At
		}
	}
	return first
}

// waiting computes since when a customer awaits a reply in a conversation: since the first message after the last reply.
func (d *desk) waiting(ctx context.Context, tx Tx, c Conversation) (first time.Time, err error) {
	last, err := tx.Interactions().List(ctx, InteractionFilter{ConversationID: c.ID, Brief: true}, storage.Seek{Desc: true, Limit: 100})
	for _, i := range last {
		if i.Type == TypeUser && i.Status == StatusPosted && !i.IsForward && !i.Scheduled() && !i.Automatic() {
			break
		}
		if i.Type == TypeCustomer && !i.IsForward && !i.AutoSubmitted {
			first = i.At
		}
	}
	return first, err
}

// stillWaits computes since when a customer awaits a reply after some interactions were removed from the conversation.
func (d *desk) stillWaits(ctx context.Context, tx Tx, c Conversation) (time.Time, error) {
	if c.AwaitingSince.IsZero() {
		return time.Time{}, nil
	}
	last, err := tx.Interactions().List(ctx, InteractionFilter{ConversationID: c.ID, Brief: true}, storage.Seek{Desc: true, Limit: 100})
	return waits(last, c.AwaitingSince), err
}

// waitSince merges the waiting time of another conversation with the given status into c.
func (c *Conversation) waitSince(since time.Time, status Status) {
	if since.IsZero() {
		return
	}
	if c.AwaitingSince.IsZero() || since.Before(c.AwaitingSince) {
		c.AwaitingSince = since
	}
	if status == StatusPosted && !c.IsSpam() && (c.Status == StatusClosed || c.Status == StatusPending) {
		c.Status = StatusPosted
	}
}

// recomputeConversation recomputes what a conversation derives from its interactions, and writes it.
func (d *desk) recomputeConversation(ctx context.Context, tx Tx, c *Conversation, starters []int64) error {
	if err := oneStarter(ctx, tx, c.ID, starters); err != nil {
		return err
	}
	if err := refreshPreview(ctx, tx, c); err != nil {
		return err
	}
	c.UpdatedAt = d.svc.now()
	if err := tx.Conversations().Update(ctx, c); err != nil {
		return err
	}
	return reindex(ctx, tx, *c)
}

// firsts returns the first interactions of conversations.
func firsts(ctx context.Context, tx Tx, conversationIDs ...int64) ([]int64, error) {
	var ids []int64
	for _, id := range conversationIDs {
		first, err := tx.Interactions().List(ctx, InteractionFilter{ConversationID: id, Brief: true}, storage.Seek{Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(first) > 0 {
			ids = append(ids, first[0].ID)
		}
	}
	return ids, nil
}

// oneStarter marks the first interaction of a conversation as its only starter, unless it is a note. Previous starters are
// among those given.
func oneStarter(ctx context.Context, tx Tx, conversationID int64, among []int64) error {
	first, err := firsts(ctx, tx, conversationID)
	if err != nil || len(first) == 0 {
		return err
	}
	found, err := tx.Interactions().ByIDs(ctx, sortedSet(append(first, among...)))
	if err != nil {
		return err
	}
	for _, i := range found {
		is := i.ID == first[0] && i.Type != TypeNote
		if i.ConversationID != conversationID || i.IsStarter == is {
			continue
		}
		i.IsStarter = is
		if err := tx.Interactions().Update(ctx, &i); err != nil {
			return err
		}
	}
	return nil
}

// brought returns the participants that interactions add to a conversation.
func (d *desk) brought(mailbox Mailbox, all []Interaction) []string {
	var keys []string
	for _, i := range all {
		switch {
		case i.Threading.Rule == RuleReport: // from a mail system, which is no participant
		case i.Type == TypeCustomer:
			keys = append(keys, d.svc.bringsIn(d.scope.AccountID, mailbox, i.CustomerEmail, slices.Concat(i.To, i.Cc), i.IsForward)...)
		case i.Type == TypeUser && i.Status == StatusPosted:
			for _, address := range slices.Concat(i.To, i.Cc, i.Bcc) {
				keys = append(keys, mailaddr.Key(address))
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
