package storagetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

func notificationTests() []testCase {
	return []testCase{
		{"Filters", testNotificationFilter},
		{"Marks", testNotificationMarks},
		{"Prune", testNotificationPrune},
		{"Gone", testNotificationsGo},
		{"Followers", testFollowers},
		{"Choices", testNotifyChoices},
	}
}

func (w *world) newNotification(source string) helpdesk.Notification {
	return helpdesk.Notification{UserID: w.user.ID, Kind: helpdesk.NotifyReplied, ConversationID: w.conversation.ID, InteractionID: w.question.ID,
		MailboxID: w.mailbox.ID, ActorID: w.user.ID, Source: source + " " + w.mark, Shown: true, Browser: true, MailAt: at(3), ReadAt: at(2), CreatedAt: base}
}

func (w *world) newChoices() helpdesk.NotifyChoices {
	return helpdesk.NotifyChoices{UserID: w.user.ID, Choices: []helpdesk.NotifyChoice{
		{Kind: helpdesk.NotifyAssigned, Channels: []helpdesk.NotificationChannel{helpdesk.ChannelDesk, helpdesk.ChannelMail}},
		{Kind: helpdesk.NotifyMailbox}, {Kind: helpdesk.NotificationKind("ü\"" + w.mark), Channels: []helpdesk.NotificationChannel{`\u0000 '`}},
	}}
}

// notify adds a notification, a follower and notification choices to a world.
func (w *world) notify(ctx context.Context, tx helpdesk.Tx) error {
	w.notification = w.newNotification("held")
	if err := tx.Notifications().Insert(ctx, &w.notification); err != nil {
		return err
	}
	if err := tx.SaveFollowers(ctx, []helpdesk.Follower{{ConversationID: w.conversation.ID, UserID: w.user.ID, Follows: true, CreatedAt: base}}); err != nil {
		return err
	}
	return tx.SaveNotifyChoices(ctx, w.newChoices())
}

func notificationReads() map[string]readProbe {
	type r = helpdesk.Reader
	return map[string]readProbe{
		"Followers": {ofMailbox, false, func(ctx context.Context, r r, v *world) (any, error) {
			found, err := r.Followers(ctx, []int64{v.conversation.ID})
			return nonZero(len(found), v), err
		}},
		"NotifyChoices": {ofAccount, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.NotifyChoices(ctx, []int64{v.user.ID}))
		}},
	}
}

func notificationWrites() map[string]writeProbe {
	type tx = helpdesk.Tx
	return map[string]writeProbe{
		"SaveFollowers": {call: func(ctx context.Context, tx tx, v *world) error {
			return tx.SaveFollowers(ctx, []helpdesk.Follower{{ConversationID: v.conversation.ID, UserID: v.user.ID, CreatedAt: base}})
		}},
		"MarkNotifications": {quiet: true, call: func(ctx context.Context, tx tx, v *world) error {
			_, err := tx.MarkNotifications(ctx, helpdesk.NotificationFilter{UserID: v.user.ID}, helpdesk.MarkedMailed, at(50))
			return err
		}},
	}
}

// testNotificationFilter filters lists and counts, inside and outside the scope.
func testNotificationFilter(t *testing.T, b Backend) {
	w := newWorld(t, b)
	second := w.target(t)
	elsewhere := w.newConversation()
	elsewhere.MailboxID = w.empty.ID
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Conversations().Insert(ctx, &elsewhere) })
	var all []helpdesk.Notification
	for n := range 12 {
		one := w.newNotification(fmt.Sprint("filter ", n))
		one.ConversationID = []int64{w.conversation.ID, second.ID, elsewhere.ID, 0}[n%4]
		one.MailboxID = []int64{w.mailbox.ID, w.empty.ID}[n/4%2]
		if n%3 == 0 {
			one.UserID = nobody
		}
		one.Shown, one.Browser = n%2 == 0, n%5 == 0
		if n%2 == 1 {
			one.ReadAt = time.Time{}
		}
		if n%4 == 1 {
			one.MailAt = time.Time{}
		}
		all = append(all, one)
	}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.Notifications().Insert(ctx, storage.Pointers(all)...)
	})
	all = append([]helpdesk.Notification{w.notification}, all...)
	own := func(n helpdesk.Notification) bool { return n.UserID == w.user.ID }
	limited := w.Store.Within(helpdesk.Scope{AccountID: w.account.ID, Mailboxes: []int64{w.empty.ID}})
	in := func(n helpdesk.Notification) bool {
		return n.ConversationID == elsewhere.ID || n.ConversationID == second.ID || n.ConversationID == 0 && n.MailboxID == w.empty.ID
	}
	for name, test := range map[string]struct {
		filter helpdesk.NotificationFilter
		keep   func(n helpdesk.Notification) bool
	}{
		"nobody's":          {helpdesk.NotificationFilter{}, func(helpdesk.Notification) bool { return false }},
		"a user's":          {helpdesk.NotificationFilter{UserID: w.user.ID}, own},
		"another's":         {helpdesk.NotificationFilter{UserID: nobody}, func(n helpdesk.Notification) bool { return n.UserID == nobody }},
		"of a conversation": {helpdesk.NotificationFilter{UserID: w.user.ID, ConversationID: second.ID}, func(n helpdesk.Notification) bool { return own(n) && n.ConversationID == second.ID }},
		"of a mailbox": {helpdesk.NotificationFilter{UserID: w.user.ID, MailboxID: w.empty.ID}, func(n helpdesk.Notification) bool {
			return own(n) && n.ConversationID == 0 && n.MailboxID == w.empty.ID
		}},
		"shown":        {helpdesk.NotificationFilter{UserID: w.user.ID, Shown: true}, func(n helpdesk.Notification) bool { return own(n) && n.Shown }},
		"of a browser": {helpdesk.NotificationFilter{UserID: w.user.ID, Browser: true}, func(n helpdesk.Notification) bool { return own(n) && n.Browser }},
		"unread":       {helpdesk.NotificationFilter{UserID: w.user.ID, Unread: true}, func(n helpdesk.Notification) bool { return own(n) && n.ReadAt.IsZero() }},
		"to be mailed": {helpdesk.NotificationFilter{UserID: w.user.ID, ToMail: true}, func(n helpdesk.Notification) bool { return own(n) && !n.MailAt.IsZero() }},
		"up to one":    {helpdesk.NotificationFilter{UserID: w.user.ID, UpTo: all[6].ID}, func(n helpdesk.Notification) bool { return own(n) && n.ID <= all[6].ID }},
		"some":         {helpdesk.NotificationFilter{UserID: w.user.ID, IDs: []int64{all[1].ID, all[3].ID, nobody}}, func(n helpdesk.Notification) bool { return own(n) && (n.ID == all[1].ID || n.ID == all[3].ID) }},
		"none of them": {helpdesk.NotificationFilter{UserID: w.user.ID, IDs: []int64{}}, func(helpdesk.Notification) bool { return false }},
		"all at once": {helpdesk.NotificationFilter{UserID: w.user.ID, Shown: true, Unread: true, ToMail: true}, func(n helpdesk.Notification) bool {
			return own(n) && n.Shown && n.ReadAt.IsZero() && !n.MailAt.IsZero()
		}},
	} {
		want := slices.DeleteFunc(slices.Clone(all), func(n helpdesk.Notification) bool { return !test.keep(n) })
		if len(want) > 0 {
			checkPages(t, want, func(n helpdesk.Notification) storage.Position { return storage.Position{ID: n.ID} }, func(s storage.Seek) ([]helpdesk.Notification, error) {
				return w.in().Notifications().List(t.Context(), test.filter, s)
			})
		}
		for limit, counted := range map[int]int{0: 0, 1: min(1, len(want)), 100: len(want)} {
			same(t, fmt.Sprint(name, " counted to ", limit), counted, countNotifications(t, w.in(), test.filter, limit))
		}
		want = slices.DeleteFunc(want, func(n helpdesk.Notification) bool { return !in(n) })
		got, err := limited.Notifications().List(t.Context(), test.filter, storage.Seek{Limit: 1000})
		ok(t, err)
		same(t, name+", of one mailbox", append([]helpdesk.Notification(nil), want...), got)
		same(t, name+", counted in one mailbox", len(want), countNotifications(t, limited, test.filter, 100))
	}
}

func countNotifications(t *testing.T, r helpdesk.Reader, f helpdesk.NotificationFilter, limit int) int {
	t.Helper()
	found, err := r.Count(t.Context(), helpdesk.CountQuery{Notifications: []helpdesk.NotificationFilter{f}, Limit: limit})
	ok(t, err)
	return int(found.Notifications[0])
}

// testNotificationMarks marks notifications as read and mailed, each once.
func testNotificationMarks(t *testing.T, b Backend) {
	w := newWorld(t, b)
	all := make([]helpdesk.Notification, 4)
	for n := range all {
		all[n] = w.newNotification(fmt.Sprint("mark ", n))
		if all[n].ReadAt = (time.Time{}); n == 3 {
			all[n].UserID = nobody
		}
	}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.Notifications().Insert(ctx, storage.Pointers(all)...)
	})
	mark := func(what string, f helpdesk.NotificationFilter, m helpdesk.NotificationMark, minute, want int) {
		t.Helper()
		w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
			n, err := tx.MarkNotifications(ctx, f, m, at(minute))
			same(t, what, want, n)
			return err
		})
	}
	is := func(what string, n int, read, mail time.Time) {
		t.Helper()
		got, err := w.in().Notifications().Get(t.Context(), all[n].ID)
		ok(t, err)
		same(t, what+": read", read, got.ReadAt)
		same(t, what+": mail", mail, got.MailAt)
	}
	mark("up to the first", helpdesk.NotificationFilter{UserID: w.user.ID, UpTo: all[0].ID}, helpdesk.MarkedRead, 30, 1)
	mark("all", helpdesk.NotificationFilter{UserID: w.user.ID}, helpdesk.MarkedRead, 31, 2)
	mark("again", helpdesk.NotificationFilter{UserID: w.user.ID, ConversationID: w.conversation.ID}, helpdesk.MarkedRead, 32, 0)
	mark("mailed", helpdesk.NotificationFilter{UserID: w.user.ID, ToMail: true, UpTo: all[1].ID}, helpdesk.MarkedMailed, 33, 3)
	is("the first", 0, at(30), time.Time{})
	is("the second", 1, at(31), time.Time{})
	is("the third", 2, at(31), at(3))
	is("another's", 3, time.Time{}, at(3))
}

// testNotificationPrune deletes old and excess notifications, oldest first.
func testNotificationPrune(t *testing.T, b Backend) {
	w, other := newWorld(t, b), newWorld(t, b)
	var all []helpdesk.Notification
	for n := range 8 {
		one := w.newNotification(fmt.Sprint("prune ", n))
		one.CreatedAt = at(n)
		if n%2 == 1 {
			one.UserID = nobody
		}
		all = append(all, one)
	}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.Notifications().Insert(ctx, storage.Pointers(all)...)
	})
	for _, test := range []struct {
		before, keep, n int
		removed         int
		left            []int // of the eight
	}{
		{-9, 100, 100, 0, []int{0, 1, 2, 3, 4, 5, 6, 7}},
		{3, 100, 1, 1, []int{0, 1, 2, 3, 4, 5, 6, 7}}, // the existing one
		{3, 100, 100, 3, []int{3, 4, 5, 6, 7}},
		{-9, 2, 100, 1, []int{4, 5, 6, 7}},
		{-9, 1, 1, 1, []int{5, 6, 7}},
		{-9, 0, 100, 3, nil},
	} {
		w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
			n, err := tx.PruneNotifications(ctx, at(test.before), test.keep, test.n)
			same(t, fmt.Sprint(test), test.removed, n)
			return err
		})
		var left []int
		for n, one := range all {
			if _, err := w.in().Notifications().Get(t.Context(), one.ID); err == nil {
				left = append(left, n)
			}
		}
		same(t, fmt.Sprint(test), test.left, left)
	}
	if _, err := other.in().Notifications().Get(t.Context(), other.notification.ID); err != nil {
		t.Error("another account's is gone:", err)
	}
}

// testNotificationsGo deletes notifications and followers with their conversations, and moves them with interactions.
func testNotificationsGo(t *testing.T, b Backend) {
	w := newWorld(t, b)
	from, into := w.target(t), w.target(t)
	moved, stays := w.newQuestion(from), w.newQuestion(from)
	of := func(c helpdesk.Conversation, i int64, source string) helpdesk.Notification {
		n := w.newNotification(source)
		n.ConversationID, n.InteractionID = c.ID, i
		return n
	}
	var all []helpdesk.Notification
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, tx.Interactions().Insert(ctx, &moved, &stays))
		all = []helpdesk.Notification{of(from, moved.ID, "1"), of(from, stays.ID, "2"), of(from, 0, "3"), of(into, 0, "4")}
		ok(t, tx.Notifications().Insert(ctx, storage.Pointers(all)...))
		return tx.SaveFollowers(ctx, []helpdesk.Follower{
			{ConversationID: from.ID, UserID: 1, Follows: true, CreatedAt: at(1)}, {ConversationID: from.ID, UserID: 2, Follows: true, CreatedAt: at(2)},
			{ConversationID: from.ID, UserID: 3, CreatedAt: at(3)}, {ConversationID: into.ID, UserID: 2, CreatedAt: at(4)},
		})
	})
	are := func(what string, want ...int64) {
		t.Helper()
		var got []int64
		for _, n := range all {
			found, err := w.in().Notifications().Get(t.Context(), n.ID)
			if err != nil {
				got = append(got, 0)
				continue
			}
			got = append(got, found.ConversationID)
		}
		same(t, what, want, got)
	}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.MoveInteractions(ctx, []int64{moved.ID}, w.moveOf(from.ID, into.ID))
	})
	are("split", into.ID, from.ID, from.ID, into.ID)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.MergeConversation(ctx, w.moveOf(from.ID, into.ID))
	})
	are("merged", into.ID, into.ID, into.ID, into.ID)
	got, err := w.in().Followers(t.Context(), []int64{into.ID, from.ID})
	ok(t, err)
	same(t, "followers", []helpdesk.Follower{
		{ConversationID: into.ID, UserID: 1, Follows: true, CreatedAt: at(1)}, {ConversationID: into.ID, UserID: 2, CreatedAt: at(4)},
		{ConversationID: into.ID, UserID: 3, CreatedAt: at(3)},
	}, got)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.DeleteConversations(ctx, []int64{into.ID}) })
	are("deleted", 0, 0, 0, 0)
	if got, err = w.in().Followers(t.Context(), []int64{into.ID}); err != nil || len(got) > 0 {
		t.Error("followers of what is gone:", got, err)
	}
}

// testFollowers stores followers, and replaces them.
func testFollowers(t *testing.T, b Backend) {
	w := newWorld(t, b)
	second := w.target(t)
	follow := func(c helpdesk.Conversation, user int64, follows bool, minute int) helpdesk.Follower {
		return helpdesk.Follower{ConversationID: c.ID, UserID: user, Follows: follows, CreatedAt: at(minute)}
	}
	save := func(all ...helpdesk.Follower) {
		w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.SaveFollowers(ctx, all) })
	}
	are := func(what string, ids []int64, want ...helpdesk.Follower) {
		t.Helper()
		got, err := w.in().Followers(t.Context(), ids)
		ok(t, err)
		same(t, what, want, got)
	}
	both := []int64{second.ID, w.conversation.ID, nobody}
	first := helpdesk.Follower{ConversationID: w.conversation.ID, UserID: w.user.ID, Follows: true, CreatedAt: base}
	are("as the world is", both, first)
	save()
	save(follow(second, nobody, true, 1), follow(second, nobody+1, false, 2))
	are("more", both, first, follow(second, nobody, true, 1), follow(second, nobody+1, false, 2))
	save(follow(second, nobody, false, 3), follow(w.conversation, nobody, true, 4))
	are("changed", both, first, follow(w.conversation, nobody, true, 4), follow(second, nobody, false, 3), follow(second, nobody+1, false, 2))
	are("of one", []int64{second.ID}, follow(second, nobody, false, 3), follow(second, nobody+1, false, 2))
	are("of none", nil)
}

// testNotifyChoices stores the choices of users.
func testNotifyChoices(t *testing.T, b Backend) {
	w := newWorld(t, b)
	are := func(what string, ids []int64, want ...helpdesk.NotifyChoices) {
		t.Helper()
		got, err := w.in().NotifyChoices(t.Context(), ids)
		ok(t, err)
		same(t, what, want, got)
	}
	another := helpdesk.NotifyChoices{UserID: nobody}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.SaveNotifyChoices(ctx, another) })
	are("all", nil, w.newChoices(), another)
	are("a user's", []int64{nobody}, another)
	another.Choices = []helpdesk.NotifyChoice{{Kind: helpdesk.NotifyFailed, Channels: []helpdesk.NotificationChannel{helpdesk.ChannelMail}}}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.SaveNotifyChoices(ctx, another) })
	are("chosen again", []int64{nobody}, another)
}

// notificationFilter generates a filter of notifications.
func (g *generator) notificationFilter(seen content) helpdesk.NotificationFilter {
	f := helpdesk.NotificationFilter{UserID: oneOf(g, g.pool["User"]), Shown: g.IntN(3) == 0, Unread: g.IntN(3) == 0, ToMail: g.IntN(3) == 0}
	switch g.IntN(4) {
	case 0:
		f.ConversationID = oneOf(g, seen.Conversations).ID
	case 1:
		f.MailboxID = oneOf(g, seen.Mailboxes).ID
	}
	return f
}

// readNotification generates a read of notifications.
func (g *generator) readNotification(seen content, seek storage.Seek) operation {
	return oneOf(g, []operation{
		{method: "Notifications.List", args: []any{g.notificationFilter(seen), ordered{g.from(seek, "Notification"), "Notification"}}},
		{method: "Followers", args: []any{some(g, "Conversation", seen.Conversations, conversationID)}},
		{method: "NotifyChoices", args: []any{idList{"User", []int64{oneOf(g, g.pool["User"])}}}},
	})
}

// writeNotification generates a write of notifications.
func (g *generator) writeNotification(seen content) operation {
	user, c := oneOf(g, g.pool["User"]), oneOf(g, seen.Conversations)
	channels := []helpdesk.NotificationChannel{helpdesk.ChannelDesk, helpdesk.ChannelMail}[:g.IntN(3)]
	switch g.IntN(6) {
	case 0:
		return operation{method: "SaveFollowers", args: []any{[]helpdesk.Follower{
			{ConversationID: g.either("Conversation", c.ID).n, UserID: user, Follows: g.IntN(2) == 0, CreatedAt: g.time(false)}}}}
	case 1:
		return operation{method: "SaveNotifyChoices", args: []any{helpdesk.NotifyChoices{UserID: user, Choices: []helpdesk.NotifyChoice{
			{Kind: helpdesk.NotificationKind(g.text()), Channels: channels}}[:g.IntN(2)]}}}
	case 2:
		mark := oneOf(g, []helpdesk.NotificationMark{helpdesk.MarkedRead, helpdesk.MarkedMailed})
		return operation{method: "MarkNotifications", args: []any{helpdesk.NotificationFilter{UserID: user, ConversationID: c.ID}, mark, g.time(false)}}
	case 3:
		return operation{method: "PruneNotifications", args: []any{g.time(false), 1 + g.IntN(3), 1 + g.IntN(3)}}
	}
	n := helpdesk.Notification{UserID: user, Kind: helpdesk.NotifyReplied, ConversationID: g.either("Conversation", c.ID).n, ActorID: user,
		Source: strings.Repeat("s", int(g.next()%50)) + fmt.Sprint(g.next()), Shown: g.IntN(2) == 0, Browser: g.IntN(2) == 0, MailAt: g.time(true), ReadAt: g.time(true), CreatedAt: g.time(false)}
	if m := oneOf(g, seen.Mailboxes); m.ID != 0 && g.IntN(3) == 0 {
		n.ConversationID, n.MailboxID = 0, m.ID
	}
	if i := oneOf(g, seen.Interactions); n.ConversationID != 0 && i.ConversationID == n.ConversationID {
		n.InteractionID = i.ID
	}
	return operation{method: "Notifications.Insert", args: []any{[]*helpdesk.Notification{&n}}}
}
