package bunstore

import (
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// undelivered is the condition of a partial index, word for word: SQLite uses the index only then.
const undelivered = "v.state IN ('failed', 'bounced', 'suppressed')"

// The parts of a filter.

// withAwaiting selects conversations whose customer waits, or does not.
func withAwaiting(awaiting storage.Opt[bool]) filter {
	return func(q bun.QueryBuilder) bun.QueryBuilder {
		if waits, given := awaiting.Get(); given && waits {
			return q.Where("?TableName.awaiting_key > 0")
		} else if given {
			return q.Where("?TableName.awaiting_key <= 0")
		}
		return q
	}
}

// withSnooze selects snoozed conversations, or those that are not.
func withSnooze(snoozed storage.Opt[bool]) filter {
	return func(q bun.QueryBuilder) bun.QueryBuilder {
		if asleep, given := snoozed.Get(); given && asleep {
			return q.Where("?TableName.snoozed_until > 0")
		} else if given {
			return q.Where("?TableName.snoozed_until <= 0")
		}
		return q
	}
}

// withSpam selects spam, or everything else.
func withSpam(is storage.Opt[bool]) filter {
	return func(q bun.QueryBuilder) bun.QueryBuilder {
		if spam, given := is.Get(); given && spam {
			return q.Where("?TableName.spam_at > 0")
		} else if given {
			return q.Where("?TableName.spam_at <= 0")
		}
		return q
	}
}

// withHold selects conversations on hold, or those that are not.
func withHold(is storage.Opt[bool]) filter {
	return func(q bun.QueryBuilder) bun.QueryBuilder {
		if held, given := is.Get(); given && held {
			return q.Where("?TableName.held_at > 0")
		} else if given {
			return q.Where("?TableName.held_at <= 0")
		}
		return q
	}
}

// withDue selects by when something is due.
func withDue(due helpdesk.DueRange) filter {
	return func(q bun.QueryBuilder) bun.QueryBuilder {
		if due == (helpdesk.DueRange{}) {
			return q
		}
		q = q.Where("?TableName.due_key >= ? AND ?TableName.due_key < ?", micros(due.From), micros(due.Before))
		if !due.Soon.IsZero() {
			q = q.Where("?TableName.soon_at <= ?", micros(due.Soon))
		}
		return q
	}
}

// withPriority selects by priority.
func withPriority(all []helpdesk.Priority) filter {
	return func(q bun.QueryBuilder) bun.QueryBuilder {
		if len(all) > 0 {
			q = q.Where("?TableName.priority IN (?)", bun.List(all))
		}
		return q
	}
}

// withChange selects conversations changed since a time.
func withChange(since time.Time) filter {
	return func(q bun.QueryBuilder) bun.QueryBuilder {
		if since.IsZero() {
			return q
		}
		return q.Where("?TableName.updated_at >= ?", micros(since))
	}
}

// withBegin selects conversations created before a time.
func withBegin(before time.Time) filter {
	return func(q bun.QueryBuilder) bun.QueryBuilder {
		if before.IsZero() {
			return q
		}
		return q.Where("?TableName.created_at < ?", micros(before))
	}
}

// ofPeople selects the conversations of a user, a team and mailboxes.
func (r reader) ofPeople(f helpdesk.ConversationFilter) filter {
	return func(q bun.QueryBuilder) bun.QueryBuilder {
		if r.scope.Mailboxes != nil {
			q = q.Where("?TableName.mailbox_id IN (?)", bun.List(r.scope.Mailboxes))
		}
		if f.MailboxID != 0 {
			q = q.Where("?TableName.mailbox_id = ?", f.MailboxID)
		}
		if f.UserID.IsSet() {
			q = q.Where("?TableName.user_id = ?", f.UserID.Or(0))
		}
		if team := f.TeamID.Or(0); team != 0 {
			q = q.Where("?TableName.team_id = ?", team)
		} else if f.TeamID.IsSet() {
			q = q.Where("?TableName.team_id = 0")
		}
		return q
	}
}

// ofDesk selects conversations with a draft of a user, or with failed deliveries.
func (r reader) ofDesk(f helpdesk.ConversationFilter) filter {
	return func(q bun.QueryBuilder) bun.QueryBuilder {
		if f.DraftBy != 0 {
			q = q.Where(`?TableName.id IN (SELECT d.conversation_id FROM hw_interactions AS d
				WHERE d.account_id = ? AND d.user_id = ? AND d.status = 'draft'
				UNION ALL SELECT l.conversation_id FROM hw_interactions AS l
				WHERE l.account_id = ? AND l.user_id = ? AND l.send_at > 0)`, r.scope.AccountID, f.DraftBy, r.scope.AccountID, f.DraftBy)
		}
		if f.Undelivered { // no join: where nothing was ever sent PostgreSQL would start it with all interactions
			q = q.Where(`?TableName.id IN (SELECT (SELECT i.conversation_id FROM hw_interactions AS i
				WHERE i.account_id = v.account_id AND i.id = v.interaction_id) FROM hw_deliveries AS v
				WHERE v.account_id = ? AND `+undelivered+`)`, r.scope.AccountID)
		}
		return q
	}
}

// unusual reports whether priorities are given, none of them normal.
func unusual(all []helpdesk.Priority) bool {
	return len(all) > 0 && !slices.Contains(all, helpdesk.PriorityNormal)
}

// withStatus selects by status.
func withStatus(statuses []helpdesk.Status) filter {
	return func(q bun.QueryBuilder) bun.QueryBuilder {
		if len(statuses) == 0 {
			return q
		}
		return q.Where("?TableName.status IN (?)", bun.List(statuses))
	}
}
