package helpdesk

import (
	"context"
	"encoding/json"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Merge merges a conversation into another one of the account and returns that one. It moves interactions with
// attachments and deliveries, participants, ledger rows and tags, and removes the merged conversation; replies to its
// messages arrive in the other one. It needs conversations.update.
//
// The other conversation keeps its customer, subject, mailbox, assignee, status and the fields that it has. If the customer of the merged one awaits
// a reply, it awaits one, too, and is reopened if closed or pending. For a user who has not read both, it is unread from its
// beginning.
//
// If into is 0, it is the conversation that this one refers to, see [Conversation].RefersTo.
func (d Conversations) Merge(ctx context.Context, id, into int64) (Conversation, error) {
	begin, err := d.guard.Write(identity.ConversationsUpdate)
	if err != nil {
		return Conversation{}, err
	}
	var problems fault.Collector
	problems.Check(id != into, "into", "must be another conversation")
	if err := problems.Err(); err != nil {
		return Conversation{}, err
	}
	var target Conversation
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		where := into // the transaction may run fn again
		if where == 0 {
			if where, err = referred(ctx, tx, id); err != nil {
				return err
			}
		}
		target, err = d.mergeConversation(ctx, tx, RuleMerge, id, where)
		return err
	})
	return target, err
}

// referred returns the conversation that one refers to, if the member reaches it.
func referred(ctx context.Context, tx Tx, id int64) (int64, error) {
	c, err := tx.Conversations().Get(ctx, id)
	if err != nil {
		return 0, err
	}
	found, err := tx.Conversations().ByIDs(ctx, []int64{c.RefersTo})
	if err != nil {
		return 0, err
	}
	if len(found) == 0 {
		return 0, fault.Field("into", "is required: the conversation does not refer to another one")
	}
	return c.RefersTo, nil
}

// Absorbed is the data of the event conversation.absorbed.
type Absorbed struct {
	ID     int64 `json:"id"`     // the conversation that has the messages now
	From   int64 `json:"from"`   // the one that was merged into it, and is gone
	Number int64 `json:"number"` // its number
}

// MergedInto returns the conversation that a removed one was merged into, also across several merges. It is a NotFound fault
// if there is none that the member reaches. It needs conversations.view.
func (d Conversations) MergedInto(ctx context.Context, id int64) (Conversation, error) {
	r, err := d.guard.Read(identity.ConversationsView)
	if err != nil {
		return Conversation{}, err
	}
	return r.MergedInto(ctx, id)
}

// Reached returns which of the given conversations, such as those that others refer to, the member reaches. It needs
// conversations.view.
func (d Conversations) Reached(ctx context.Context, ids []int64) (map[int64]bool, error) {
	r, err := d.guard.Read(identity.ConversationsView)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	found, err := r.Conversations().ByIDs(ctx, sortedSet(ids))
	reached := make(map[int64]bool, len(found))
	for _, c := range found {
		reached[c.ID] = true
	}
	return reached, err
}

func (d *desk) mergeConversation(ctx context.Context, tx Tx, rule string, id, into int64) (Conversation, error) {
	for _, one := range []int64{id, into} { // report each absent one separately
		if _, err := tx.Conversations().Get(ctx, one); err != nil {
			return Conversation{}, err
		}
	}
	both, err := lockAll(ctx, tx, []int64{id, into})
	if err != nil {
		return Conversation{}, err
	}
	from, target := both[0], both[1]
	if from.ID != id {
		from, target = target, from
	}
	if err := d.returnAll(ctx, tx, ReturnedByMerge, from, target); err != nil {
		return Conversation{}, err
	}
	starters, err := firsts(ctx, tx, id, into)
	if err != nil {
		return Conversation{}, err
	}
	tags, err := tagsOf(ctx, tx, id, into)
	if err != nil {
		return Conversation{}, err
	}
	if err := tx.SetTags(ctx, []int64{into}, tags[:min(len(tags), MaxTags)]); err != nil {
		return Conversation{}, err
	}
	values, err := tx.FieldValues(ctx, FieldOfConversation, []int64{id, into})
	if err != nil {
		return Conversation{}, err
	}
	if err := completeFields(ctx, tx, FieldOfConversation, values, id, into); err != nil {
		return Conversation{}, err
	}
	if err := moveRatings(ctx, tx, id, into); err != nil {
		return Conversation{}, err
	}
	if err := tx.MergeConversation(ctx, d.move(rule, id, into)); err != nil {
		return Conversation{}, err
	}
	old := target
	target.waitSince(from.AwaitingSince, from.Status)
	target.heldAs(from)
	if err := d.recomputeConversation(ctx, tx, &target, starters); err != nil {
		return Conversation{}, err
	}
	merged := d.event("conversation.merged", id, from.MailboxID)
	merged.Data, _ = json.Marshal(map[string]int64{"id": id, "into": into}) // a map of integers always encodes
	absorbed := d.event("conversation.absorbed", into, target.MailboxID)
	absorbed.Data, _ = json.Marshal(Absorbed{ID: into, From: id, Number: from.Number}) // integers always encode
	return target, tx.Emit(ctx, append([]storage.Event{merged, absorbed}, d.updated(old, target)...)...)
}
