package bunstore

import (
	"slices"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
)

// The conditions of indexes, word for word: SQLite uses these for no others.
const (
	openStatus  = "?TableName.status IN ('posted', 'pending')"
	notNormal   = "?TableName.priority <> 'normal'"
	undelivered = "v.state IN ('failed', 'bounced', 'suppressed')"
)

// atDesk is what lists of a desk narrow by: statuses, who waits, drafts and failed deliveries.
func (r reader) atDesk(f helpdesk.ConversationFilter) filter {
	return func(q bun.QueryBuilder) bun.QueryBuilder {
		q = withStatus(q, f.Statuses)
		if waits, given := f.Awaiting.Get(); given && waits {
			q = q.Where("?TableName.awaiting_key > 0")
		} else if given {
			q = q.Where("?TableName.awaiting_key <= 0")
		}
		if asleep, given := f.Snoozed.Get(); given && asleep {
			q = q.Where("?TableName.snoozed_until > 0")
		} else if given {
			q = q.Where("?TableName.snoozed_until <= 0")
		}
		if unusual(f.Priorities) {
			q = q.Where(notNormal)
		}
		if len(f.Priorities) > 0 {
			q = q.Where("?TableName.priority IN (?)", bun.List(f.Priorities))
		}
		if f.DraftBy != 0 {
			q = q.Where(`?TableName.id IN (SELECT d.conversation_id FROM hw_interactions AS d
				WHERE d.account_id = ? AND d.user_id = ? AND d.status = 'draft'
				UNION ALL SELECT l.conversation_id FROM hw_interactions AS l
				WHERE l.account_id = ? AND l.user_id = ? AND l.send_at > 0)`, r.scope.AccountID, f.DraftBy, r.scope.AccountID, f.DraftBy)
		}
		if f.Undelivered {
			q = q.Where(`?TableName.id IN (SELECT i.conversation_id FROM hw_deliveries AS v
				JOIN hw_interactions AS i ON i.account_id = v.account_id AND i.id = v.interaction_id
				WHERE v.account_id = ? AND `+undelivered+`)`, r.scope.AccountID)
		}
		return q
	}
}

// unusual reports whether priorities are asked for, and none of them is normal.
func unusual(all []helpdesk.Priority) bool {
	return len(all) > 0 && !slices.Contains(all, helpdesk.PriorityNormal)
}

// withStatus narrows to statuses. Those of conversations at work have indexes of their own.
func withStatus(q bun.QueryBuilder, statuses []helpdesk.Status) bun.QueryBuilder {
	if len(statuses) == 0 {
		return q
	}
	has := map[helpdesk.Status]bool{}
	for _, s := range statuses {
		has[s] = true
	}
	atWork := 0
	for _, s := range []helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusPending} {
		if has[s] {
			atWork++
		}
	}
	if atWork == len(has) {
		q = q.Where(openStatus)
	}
	if atWork == 2 && len(has) == 2 {
		return q
	}
	return q.Where("?TableName.status IN (?)", bun.List(statuses))
}
