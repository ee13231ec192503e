package memstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
)

// atDesk reports whether a conversation matches the desk's part of a filter.
func (db *data) atDesk(account int64, c *helpdesk.Conversation, f helpdesk.ConversationFilter) bool {
	if waits, given := f.Awaiting.Get(); given && waits != (c.SortKey(helpdesk.ByAwaiting) > 0) {
		return false
	}
	if asleep, given := f.Snoozed.Get(); given && asleep != snoozed(c) {
		return false
	}
	if is, given := f.Spam.Get(); given && is != spam(c) {
		return false
	}
	if is, given := f.Held.Get(); given && is != (c.HeldAt.UnixMicro() > 0) {
		return false
	}
	if f.Unerased && !c.ErasedAt.Before(c.UpdatedAt) {
		return false
	}
	if due := f.Due; due != (helpdesk.DueRange{}) {
		key := c.SortKey(helpdesk.ByDue)
		if key < due.From.UnixMicro() || key >= due.Before.UnixMicro() || !due.Soon.IsZero() && c.SoonAt.After(due.Soon) {
			return false
		}
	}
	return (f.DraftBy == 0 || db.hasDraft(account, c.ID, f.DraftBy)) && (!f.Undelivered || db.undelivered(account, c.ID))
}

func (db *data) hasDraft(account, conversationID, userID int64) bool {
	for _, i := range db.interactions.all(account) {
		if i.ConversationID == conversationID && i.UserID == userID && (i.Status == helpdesk.StatusDraft || scheduled(i)) {
			return true
		}
	}
	return false
}

// scheduled reports whether a reply is scheduled for later.
func scheduled(i *helpdesk.Interaction) bool { return !i.SendAt.IsZero() && i.SendAt.UnixMicro() > 0 }

func (r reader) Scheduled(ctx context.Context, conversationIDs []int64) ([]helpdesk.Interaction, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.Interaction, error) {
		found := db.interactions.list(r.scope.AccountID, storage.Seek{Limit: storage.NoLimit}, func(i *helpdesk.Interaction) bool {
			return scheduled(i) && slices.Contains(conversationIDs, i.ConversationID) && db.within(r.scope, i)
		})
		slices.SortStableFunc(found, func(a, b helpdesk.Interaction) int { return cmp.Compare(a.ConversationID, b.ConversationID) })
		return found, nil
	})
}

func (db *data) undelivered(account, conversationID int64) bool {
	for _, d := range db.deliveries.all(account) {
		if !d.State.Undelivered() {
			continue
		}
		if i, err := db.interactions.get(account, d.InteractionID); err == nil && i.ConversationID == conversationID {
			return true
		}
	}
	return false
}

// maintained returns the counts of all conversations in a scope, and of those with each of the tags.
func (db *data) maintained(s helpdesk.Scope, tagIDs []int64) []helpdesk.ConversationCount {
	numbers := map[helpdesk.ConversationCount]int64{}
	for _, c := range db.conversations.all(s.AccountID) {
		if !sees(s, c.MailboxID) {
			continue
		}
		count := helpdesk.ConversationCount{
			MailboxID: c.MailboxID, UserID: c.UserID, TeamID: c.TeamID, Status: c.Status, Priority: c.Priority,
			Awaiting: c.SortKey(helpdesk.ByAwaiting) > 0, Snoozed: snoozed(c), Spam: spam(c),
		}
		numbers[count]++
		for _, count.TagID = range slices.Compact(slices.Sorted(slices.Values(tagIDs))) {
			if db.tagged(s.AccountID, c.ID, []int64{count.TagID}) {
				numbers[count]++
			}
		}
	}
	var counts []helpdesk.ConversationCount
	for count, n := range numbers {
		count.N = n
		counts = append(counts, count)
	}
	slices.SortFunc(counts, helpdesk.ConversationCount.Compare)
	return counts
}

func snoozed(c *helpdesk.Conversation) bool {
	return !c.SnoozedUntil.IsZero() && c.SnoozedUntil.UnixMicro() > 0
}

func spam(c *helpdesk.Conversation) bool { return c.IsSpam() && c.SpamAt.UnixMicro() > 0 }

func (r reader) Count(ctx context.Context, q helpdesk.CountQuery) (helpdesk.Counted, error) {
	var counted helpdesk.Counted
	for _, filter := range q.Conversations {
		found, err := r.Conversations().List(ctx, helpdesk.ConversationOrder{ConversationFilter: filter}, storage.Seek{Limit: q.Limit})
		if err != nil {
			return counted, err
		}
		counted.Conversations = append(counted.Conversations, int64(len(found)))
	}
	return query(ctx, r.src, func(db *data) (helpdesk.Counted, error) {
		if q.Maintained {
			counted.Maintained = db.maintained(r.scope, q.TagIDs)
		}
		if q.Quarantined {
			n := len(db.ledger.where(r.scope.AccountID, func(m *ledger.Mail) bool {
				return sees(r.scope, m.MailboxID) && m.State == ledger.Quarantined
			}))
			counted.Quarantined = int64(min(n, max(q.Limit, 0)))
		}
		for _, filter := range q.Notifications {
			n := min(len(db.notified(r.scope, filter)), max(q.Limit, 0))
			counted.Notifications = append(counted.Notifications, int64(n))
		}
		return counted, nil
	})
}
