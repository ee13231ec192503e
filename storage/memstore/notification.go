package memstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

var notifications = noun[helpdesk.Scope, helpdesk.Notification, helpdesk.NotificationFilter]{
	Noun: nouns.Notifications, of: func(db *data) *table[helpdesk.Notification] { return &db.notifications },
	sees: func(db *data, s helpdesk.Scope, n *helpdesk.Notification) bool {
		if n.ConversationID == 0 {
			return sees(s, n.MailboxID)
		}
		_, err := db.conversation(s, n.ConversationID)
		return err == nil
	},
	match: func(_ *data, _ helpdesk.Scope, f helpdesk.NotificationFilter, n *helpdesk.Notification) bool {
		return n.UserID == f.UserID && (f.ConversationID == 0 || n.ConversationID == f.ConversationID) &&
			(f.MailboxID == 0 || n.ConversationID == 0 && n.MailboxID == f.MailboxID) &&
			(!f.Shown || n.Shown) && (!f.Browser || n.Browser) && (!f.Unread || n.ReadAt.IsZero()) && (!f.ToMail || !n.MailAt.IsZero()) &&
			(f.UpTo == 0 || n.ID <= f.UpTo) && (f.IDs == nil || slices.Contains(f.IDs, n.ID))
	},
	refers: func(db *data, s helpdesk.Scope, n *helpdesk.Notification) error {
		if n.ConversationID == 0 {
			_, err := db.mailbox(s, n.MailboxID)
			return err
		}
		_, err := db.conversation(s, n.ConversationID)
		return err
	},
}

// Notifications implements [helpdesk.Reader].
func (r reader) Notifications() storage.RowReader[helpdesk.Notification, helpdesk.NotificationFilter] {
	return rowsOf(r.src, r.scope.AccountID, r.scope, &notifications)
}

// Notifications implements [helpdesk.Rows].
func (t tx) Notifications() storage.Rows[helpdesk.Notification, helpdesk.NotificationFilter] {
	return storedOf(t.src, t.scope.AccountID, t.scope, &notifications)
}

// notified copies the notifications in a scope that match a filter.
func (db *data) notified(s helpdesk.Scope, f helpdesk.NotificationFilter) []helpdesk.Notification {
	return db.notifications.where(s.AccountID, func(n *helpdesk.Notification) bool {
		return notifications.sees(db, s, n) && notifications.match(db, s, f, n)
	})
}

func (t tx) MarkNotifications(ctx context.Context, f helpdesk.NotificationFilter, mark helpdesk.NotificationMark, at time.Time) (marked int, err error) {
	err = change(ctx, t.src, func(db *data) error {
		for _, n := range db.notified(t.scope, f) {
			switch {
			case mark == helpdesk.MarkedMailed && !n.MailAt.IsZero():
				n.MailAt = time.Time{}
			case mark != helpdesk.MarkedMailed && n.ReadAt.IsZero():
				n.ReadAt = at
			default:
				continue
			}
			marked++
			if err := db.notifications.update(t.scope.AccountID, n.ID, &n); err != nil {
				return err
			}
		}
		return nil
	})
	return marked, err
}

func (t tx) PruneNotifications(ctx context.Context, before time.Time, keep, n int) (removed int, err error) {
	err = t.write(ctx, func(db *data) error {
		all := db.notifications.where(t.scope.AccountID, func(*helpdesk.Notification) bool { return true })
		newer := map[int64]int{} // newer notifications by user
		var old []int64
		for _, one := range slices.Backward(all) {
			newer[one.UserID]++
			if newer[one.UserID] > max(keep, 0) || one.CreatedAt.Before(before.Truncate(time.Microsecond)) {
				old = append(old, one.ID)
			}
		}
		slices.Sort(old)
		for _, id := range old[:min(len(old), max(n, 0))] {
			db.notifications.set(t.scope.AccountID, id, nil)
			removed++
		}
		return nil
	})
	return removed, err
}

func (r reader) Followers(ctx context.Context, conversationIDs []int64) ([]helpdesk.Follower, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.Follower, error) {
		var found []helpdesk.Follower
		for id, all := range db.followers.all(r.scope.AccountID) {
			if _, err := db.conversation(r.scope, id); err == nil && slices.Contains(conversationIDs, id) {
				found = append(found, *all...)
			}
		}
		slices.SortFunc(found, func(a, b helpdesk.Follower) int {
			return cmp.Or(cmp.Compare(a.ConversationID, b.ConversationID), cmp.Compare(a.UserID, b.UserID))
		})
		return found, nil
	})
}

func (t tx) SaveFollowers(ctx context.Context, all []helpdesk.Follower) error {
	if len(all) == 0 {
		return nil
	}
	return t.write(ctx, func(db *data) error {
		for _, f := range all {
			if _, err := db.conversation(t.scope, f.ConversationID); err != nil {
				return err
			}
			db.follow(t.scope.AccountID, f, true)
		}
		return nil
	})
}

// follow stores a follower; an existing one is replaced only if instead is true.
func (db *data) follow(account int64, f helpdesk.Follower, instead bool) {
	var there []helpdesk.Follower
	if old, err := db.followers.get(account, f.ConversationID); err == nil {
		there = slices.Clone(*old)
	}
	at := slices.IndexFunc(there, func(old helpdesk.Follower) bool { return old.UserID == f.UserID })
	switch {
	case at < 0:
		there = append(there, f)
	case instead:
		there[at] = f
	}
	db.followers.set(account, f.ConversationID, clone(&there))
}

// mergeFollowers copies the followers of one conversation to another, except users who have made a choice there.
func (db *data) mergeFollowers(account, id, into int64) {
	from, err := db.followers.get(account, id)
	if err != nil {
		return
	}
	for _, f := range *from {
		f.ConversationID = into
		db.follow(account, f, false)
	}
}

func (r reader) NotifyChoices(ctx context.Context, userIDs []int64) ([]helpdesk.NotifyChoices, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.NotifyChoices, error) {
		return db.notifyChoices.where(r.scope.AccountID, func(c *helpdesk.NotifyChoices) bool {
			return len(userIDs) == 0 || slices.Contains(userIDs, c.UserID)
		}), nil
	})
}

func (t tx) SaveNotifyChoices(ctx context.Context, c helpdesk.NotifyChoices) error {
	return t.write(ctx, func(db *data) error { return db.notifyChoices.update(t.scope.AccountID, c.UserID, &c) })
}
