package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// BulkUpdate changes several conversations in the same way. Absent fields are unchanged.
type BulkUpdate struct {
	Status    storage.Opt[Status]
	UserID    storage.Opt[int64] // null: none
	TeamID    storage.Opt[int64] // null: none
	MailboxID storage.Opt[int64]
	TagIDs    storage.Opt[[]int64] // replace the tags; null or empty: none
	// SnoozedUntil is as in [ConversationUpdate].
	SnoozedUntil storage.Opt[time.Time]
	Priority     storage.Opt[Priority]
	Spam         storage.Opt[bool] // as in [ConversationUpdate]
	Fields       FieldTexts
}

// UpdateAll changes at most 100 conversations, all or none, and returns them by id. An id that the member does not
// reach is a NotFound fault whose fields name it. It needs conversations.update, and conversations.assign to set UserID or
// TeamID.
func (d Conversations) UpdateAll(ctx context.Context, ids []int64, in BulkUpdate) ([]Conversation, error) {
	begin, err := d.guard.Write(identity.ConversationsUpdate)
	if err != nil {
		return nil, err
	}
	if in.UserID.IsSet() || in.TeamID.IsSet() {
		if begin, err = d.guard.Write(identity.ConversationsAssign); err != nil {
			return nil, err
		}
	}
	if err := in.validate(ids); err != nil {
		return nil, err
	}
	var changed []Conversation
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		changed, err = d.updateAll(ctx, tx, ids, in)
		return err
	})
	if err == nil {
		d.afterHandOut(ctx, storage.Pointers(changed)...)
	}
	return changed, err
}

func (in BulkUpdate) validate(ids []int64) error {
	var problems fault.Collector
	checkBulk(&problems, ids)
	if in.Status.IsSet() {
		problems.Check(in.Status.Or("").valid(), "status", "must be posted, draft, pending or closed")
	}
	if in.Priority.IsSet() {
		problems.Check(in.Priority.Or("").valid(), "priority", mustBePriority)
	}
	problems.Check(!in.Spam.IsNull(), "spam", "must not be empty")
	problems.Check(!in.MailboxID.IsNull(), "mailbox_id", "must not be empty")
	problems.Check(len(in.TagIDs.Or(nil)) <= MaxTags, "tags", "has more than 100 ids")
	return problems.Err()
}

// checkBulk adds problems for invalid ids of a bulk operation.
func checkBulk(problems *fault.Collector, ids []int64) {
	problems.Check(len(ids) > 0, "conversations", "is required")
	problems.Check(len(ids) <= MaxBulk, "conversations", "has more than 100 ids")
}

func (d *desk) updateAll(ctx context.Context, tx Tx, ids []int64, in BulkUpdate) ([]Conversation, error) {
	all, err := lockAll(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	if err := checkAssignee(ctx, tx, in.UserID.Or(0), in.TeamID.Or(0)); err != nil {
		return nil, err
	}
	if mailbox, given := in.MailboxID.Get(); given {
		if _, err := tx.Mailboxes().Get(ctx, mailbox); err != nil {
			return nil, err
		}
	}
	if in.TagIDs.IsSet() {
		tags := sortedSet(in.TagIDs.Or(nil))
		if err := checkTags(ctx, tx.Reader(), tags); err != nil {
			return nil, err
		}
		if err := tx.SetTags(ctx, sortedSet(ids), tags); err != nil {
			return nil, err
		}
	}
	var events []storage.Event
	var told []occurrence
	var spam, closed []Conversation
	now := d.svc.now()
	for i := range all {
		c := &all[i]
		old := *c
		c.Status, c.UserID, c.MailboxID = in.Status.Or(c.Status), in.UserID.Or(c.UserID), in.MailboxID.Or(c.MailboxID)
		c.TeamID, c.Priority, c.UpdatedAt = in.TeamID.Or(c.TeamID), in.Priority.Or(c.Priority), now
		if err := d.spam(ctx, tx, c, in.Spam, in.Status); err != nil {
			return nil, err
		}
		if err := d.snooze(ctx, tx, c, in.SnoozedUntil); err != nil {
			return nil, err
		}
		events = append(events, d.updated(old, *c)...)
		told = append(told, d.assigned(old, *c)...)
		if madeSpam(old, *c) {
			spam = append(spam, *c)
		}
		if old.Status != c.Status {
			closed = append(closed, *c)
		}
	}
	if err := tx.Conversations().Update(ctx, storage.Pointers(all)...); err != nil {
		return nil, err
	}
	if err := setFields(ctx, tx, FieldOfConversation, sortedSet(ids), in.Fields); err != nil {
		return nil, err
	}
	if err := closable(ctx, tx.Reader(), closed); err != nil {
		return nil, err
	}
	if err := d.returnAll(ctx, tx, ReturnedBySpam, spam...); err != nil {
		return nil, err
	}
	if err := d.svc.notifyAfterCommit(ctx, tx, d.scope.AccountID, told...); err != nil {
		return nil, err
	}
	return all, tx.Emit(ctx, events...)
}

// lockAll reads conversations for update, by id. All code locks them in this order, to avoid deadlocks.
func lockAll(ctx context.Context, tx Tx, ids []int64) ([]Conversation, error) {
	all, err := tx.Conversations().LockAll(ctx, ids)
	if err == nil {
		err = missing(ids, all)
	}
	return all, err
}
