package storagetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
)

func deskTests() []testCase {
	return []testCase{
		{"Lists", testDeskLists},
		{"NewestFrom", testNewestFrom},
		{"WrittenBy", testWrittenBy},
		{"BriefInteractions", testBriefInteractions},
		{"Scheduled", testScheduled},
		{"Counts", testConversationCounts}, {"CountsAtTheSameTime", testCountsAtTheSameTime},
		{"MailFlow", testMailFlow},
		{"SavedReplies", testSavedReplyFilter},
		{"ReplyFiles", testReplyFiles},
		{"MemberMails", testMemberMailFilter},
		{"AutoResponses", testAutoResponseFilter},
		{"Presence", testPresence},
		{"BlockedSenders", testBlockedSenderKeys},
	}
}

// atDesk adds the desk's part to a filter.
func (g *generator) atDesk(f *helpdesk.ConversationFilter) {
	switch g.IntN(10) {
	case 0, 1:
		f.Awaiting = storage.Some(g.IntN(2) == 0)
	case 2:
		f.Awaiting = storage.Null[bool]()
	case 3:
		f.DraftBy = oneOf(g, g.pool["User"])
	case 4:
		f.Undelivered = true
	case 8:
		f.Spam = storage.Some(g.IntN(2) == 0)
	case 7:
		f.Priorities = helpdesk.Priorities()[g.IntN(4):]
	case 6:
		f.Snoozed = storage.Some(g.IntN(2) == 0)
	case 9:
		f.Due = helpdesk.DueRange{From: g.time(false), Before: g.time(false).AddDate(0, g.IntN(3), 0)}
		if g.IntN(2) == 0 {
			f.Due.Soon = g.time(false)
		}
	case 5:
		f.Statuses = []helpdesk.Status{helpdesk.StatusPending, helpdesk.StatusPosted}
	}
}

// testDeskLists filters lists by waiting customers, drafts and failed deliveries.
func testDeskLists(t *testing.T, b Backend) {
	w := newWorld(t, b)
	everything := spread(t, w)
	drafted, failed := map[int64]bool{}, map[int64]bool{}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		for n, c := range everything {
			i := w.newAnswer(c)
			i.SendAt = time.Time{}
			switch n % 3 {
			case 0: // two drafts, of two users
				i.Status, drafted[c.ID] = helpdesk.StatusDraft, true
			case 1:
				if n%2 == 0 { // scheduled for later
					i.SendAt, drafted[c.ID] = at(9), true
				}
			}
			ok(t, tx.Interactions().Insert(ctx, &i))
			if n%3 == 0 {
				i.UserID = nobody
				ok(t, tx.Interactions().Insert(ctx, &i))
			}
			d := w.newDelivery(i)
			states := []sending.State{sending.Sent, sending.Failed, sending.Bounced, sending.Suppressed, sending.Deferred}
			d.State = states[n%len(states)]
			failed[c.ID] = d.State.Undelivered()
			ok(t, tx.Deliveries().Insert(ctx, storage.Pointers([]sending.Delivery{d, d})...))
		}
		return nil
	})
	waits := func(c helpdesk.Conversation) bool { return !c.AwaitingSince.IsZero() }
	sleeps := func(c helpdesk.Conversation) bool { return !c.SnoozedUntil.IsZero() }
	open := []helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusPending}
	isOpen := func(c helpdesk.Conversation) bool { return slices.Contains(open, c.Status) }
	pressing := func(c helpdesk.Conversation) bool {
		return c.Priority == helpdesk.PriorityUrgent || c.Priority == helpdesk.PriorityHigh
	}
	for name, test := range map[string]struct {
		filter helpdesk.ConversationFilter
		keep   func(c helpdesk.Conversation) bool
	}{
		"waiting":          {helpdesk.ConversationFilter{Awaiting: storage.Some(true)}, waits},
		"not waiting":      {helpdesk.ConversationFilter{Awaiting: storage.Some(false)}, func(c helpdesk.Conversation) bool { return !waits(c) }},
		"waiting or not":   {helpdesk.ConversationFilter{Awaiting: storage.Null[bool]()}, func(helpdesk.Conversation) bool { return true }},
		"open":             {helpdesk.ConversationFilter{Statuses: open}, isOpen},
		"open and waiting": {helpdesk.ConversationFilter{Statuses: open, Awaiting: storage.Some(true)}, func(c helpdesk.Conversation) bool { return isOpen(c) && waits(c) }},
		"open of a team":   {helpdesk.ConversationFilter{Statuses: open, TeamID: storage.Some(w.team.ID)}, func(c helpdesk.Conversation) bool { return isOpen(c) && c.TeamID == w.team.ID }},
		"open and nobody's": {helpdesk.ConversationFilter{Statuses: open, UserID: storage.Null[int64](), TeamID: storage.Null[int64]()},
			func(c helpdesk.Conversation) bool { return isOpen(c) && c.UserID == 0 && c.TeamID == 0 }},
		"open of a team, without a user": {helpdesk.ConversationFilter{Statuses: open, UserID: storage.Null[int64](), TeamID: storage.Some(w.team.ID)},
			func(c helpdesk.Conversation) bool { return isOpen(c) && c.UserID == 0 && c.TeamID == w.team.ID }},
		"due": {helpdesk.ConversationFilter{Due: helpdesk.DueRange{From: at(1), Before: at(5)}}, func(c helpdesk.Conversation) bool { return !c.DueAt.Before(at(1)) && c.DueAt.Before(at(5)) }},
		"due soon": {helpdesk.ConversationFilter{Due: helpdesk.DueRange{Before: at(5), Soon: at(3)}}, func(c helpdesk.Conversation) bool {
			return !c.DueAt.IsZero() && c.DueAt.Before(at(5)) && !c.SoonAt.After(at(3))
		}},
		"asleep":               {helpdesk.ConversationFilter{Snoozed: storage.Some(true)}, sleeps},
		"awake":                {helpdesk.ConversationFilter{Snoozed: storage.Some(false)}, func(c helpdesk.Conversation) bool { return !sleeps(c) }},
		"asleep or awake":      {helpdesk.ConversationFilter{Snoozed: storage.Null[bool]()}, func(helpdesk.Conversation) bool { return true }},
		"urgent or high":       {helpdesk.ConversationFilter{Priorities: []helpdesk.Priority{helpdesk.PriorityUrgent, helpdesk.PriorityHigh}}, pressing},
		"urgent and open":      {helpdesk.ConversationFilter{Statuses: open, Priorities: []helpdesk.Priority{helpdesk.PriorityUrgent}}, func(c helpdesk.Conversation) bool { return isOpen(c) && c.Priority == helpdesk.PriorityUrgent }},
		"not high":             {helpdesk.ConversationFilter{Priorities: []helpdesk.Priority{helpdesk.PriorityUrgent, helpdesk.PriorityNormal, helpdesk.PriorityLow}}, func(c helpdesk.Conversation) bool { return c.Priority != helpdesk.PriorityHigh }},
		"spam":                 {helpdesk.ConversationFilter{Spam: storage.Some(true)}, helpdesk.Conversation.IsSpam},
		"no spam":              {helpdesk.ConversationFilter{Spam: storage.Some(false)}, func(c helpdesk.Conversation) bool { return !c.IsSpam() }},
		"spam or not":          {helpdesk.ConversationFilter{Spam: storage.Null[bool]()}, func(helpdesk.Conversation) bool { return true }},
		"a draft":              {helpdesk.ConversationFilter{DraftBy: w.user.ID}, func(c helpdesk.Conversation) bool { return drafted[c.ID] }},
		"a draft of others":    {helpdesk.ConversationFilter{DraftBy: w.user.ID + nobody}, func(helpdesk.Conversation) bool { return false }},
		"undelivered":          {helpdesk.ConversationFilter{Undelivered: true}, func(c helpdesk.Conversation) bool { return failed[c.ID] }},
		"undelivered in one":   {helpdesk.ConversationFilter{Undelivered: true, MailboxID: w.empty.ID}, func(c helpdesk.Conversation) bool { return failed[c.ID] && c.MailboxID == w.empty.ID }},
		"drafts that are open": {helpdesk.ConversationFilter{DraftBy: w.user.ID, Statuses: open}, func(c helpdesk.Conversation) bool { return drafted[c.ID] && isOpen(c) }},
	} {
		for _, by := range []helpdesk.ConversationSort{helpdesk.ByCreated, helpdesk.ByUpdated, helpdesk.ByNumber, helpdesk.ByAwaiting, helpdesk.ByDue} {
			want := slices.DeleteFunc(sorted(everything, by), func(c helpdesk.Conversation) bool { return !test.keep(c) })
			position := func(c helpdesk.Conversation) storage.Position { return storage.Position{Key: c.SortKey(by), ID: c.ID} }
			if len(want) == 0 {
				got, err := w.in().Conversations().List(t.Context(), helpdesk.ConversationOrder{ConversationFilter: test.filter, Sort: by}, all())
				ok(t, err)
				same(t, name, want, got)
				continue
			}
			checkPages(t, want, position, func(s storage.Seek) ([]helpdesk.Conversation, error) {
				return w.in().Conversations().List(t.Context(), helpdesk.ConversationOrder{ConversationFilter: test.filter, Sort: by}, s)
			})
		}
		limited := w.Store.Within(helpdesk.Scope{AccountID: w.account.ID, Mailboxes: []int64{w.empty.ID}})
		want := slices.DeleteFunc(sorted(everything, helpdesk.ByCreated), func(c helpdesk.Conversation) bool {
			return !test.keep(c) || c.MailboxID != w.empty.ID
		})
		got, err := limited.Conversations().List(t.Context(), helpdesk.ConversationOrder{ConversationFilter: test.filter, Sort: helpdesk.ByCreated}, all())
		ok(t, err)
		same(t, name+", of one mailbox", want, got)
	}
}

// counted counts the conversations that a reader sees, one by one, and those with each of some tags.
func counted(t *testing.T, r helpdesk.Reader, tags ...int64) []helpdesk.ConversationCount {
	t.Helper()
	found, err := r.Conversations().List(t.Context(), helpdesk.ConversationOrder{ConversationFilter: helpdesk.ConversationFilter{}, Sort: helpdesk.ByCreated}, all())
	ok(t, err)
	numbers := map[helpdesk.ConversationCount]int64{}
	for _, c := range found {
		cell := helpdesk.ConversationCount{
			MailboxID: c.MailboxID, UserID: c.UserID, TeamID: c.TeamID, Status: c.Status, Priority: c.Priority,
			Awaiting: !c.AwaitingSince.IsZero(), Snoozed: !c.SnoozedUntil.IsZero(), Spam: !c.SpamAt.IsZero(),
		}
		numbers[cell]++
		for _, tag := range tagsOf(t, r, c.ID)[c.ID] {
			if cell.TagID = tag.ID; slices.Contains(tags, cell.TagID) {
				numbers[cell]++
			}
		}
	}
	var counts []helpdesk.ConversationCount
	for count, n := range numbers {
		count.N = n
		counts = append(counts, count)
	}
	slices.SortFunc(counts, func(a, b helpdesk.ConversationCount) int {
		flags := func(c helpdesk.ConversationCount) int {
			return 4*map[bool]int{true: 1}[c.Awaiting] + 2*map[bool]int{true: 1}[c.Snoozed] + map[bool]int{true: 1}[c.Spam]
		}
		return cmp.Or(cmp.Compare(a.TagID, b.TagID), cmp.Compare(a.MailboxID, b.MailboxID), cmp.Compare(a.UserID, b.UserID), cmp.Compare(a.TeamID, b.TeamID),
			cmp.Compare(a.Status, b.Status), cmp.Compare(a.Priority, b.Priority), flags(a)-flags(b))
	})
	return counts
}

// testCountsAtTheSameTime changes conversations and their tags concurrently.
func testCountsAtTheSameTime(t *testing.T, b Backend) {
	w := newWorld(t, b)
	list := spread(t, w)[:3]
	change := func(fn func(ctx context.Context, tx helpdesk.Tx, c helpdesk.Conversation, n int) error) func() {
		return func() {
			for n := range 30 {
				err := w.Store.InTx(t.Context(), w.scope, func(ctx context.Context, tx helpdesk.Tx) error {
					c, err := tx.Conversations().Lock(ctx, list[n%len(list)].ID)
					if err != nil {
						return err
					}
					return fn(ctx, tx, c, n)
				})
				if err != nil {
					t.Error(err)
				}
			}
		}
	}
	var all sync.WaitGroup
	all.Go(change(func(ctx context.Context, tx helpdesk.Tx, c helpdesk.Conversation, n int) error {
		return tx.SetTags(ctx, []int64{c.ID}, []int64{w.tag.ID}[:n/len(list)%2])
	}))
	all.Go(change(func(ctx context.Context, tx helpdesk.Tx, c helpdesk.Conversation, n int) error {
		c.Status = []helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusClosed}[n/len(list)%2]
		return tx.Conversations().Update(ctx, &c)
	}))
	all.Wait()
	same(t, "counts", counted(t, w.in(), w.tag.ID), maintained(t, w.in(), w.tag.ID))
}

// testMailFlow counts mails by mailbox and quarter of an hour, and queued mails.
func testMailFlow(t *testing.T, b Backend) {
	w := newWorld(t, b)
	begin := base.AddDate(0, 0, 1).Truncate(time.Hour)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		var mails []*ledger.Mail
		for n, state := range []ledger.State{ledger.Filed, ledger.Ignored, ledger.Quarantined, ledger.Received} {
			m := w.mail
			m.ID, m.Position, m.Identity, m.State, m.InteractionID, m.ConversationID = 0, "traffic "+string(state), nil, state, 0, 0
			m.ReceivedAt = begin.Add(time.Duration(n) * 10 * time.Minute)
			mails = append(mails, &m)
		}
		ok(t, tx.InsertInbound(ctx, mails))
		for n := range 3 {
			i := w.newAnswer(w.conversation)
			i.SendStartedAt = begin.Add(time.Duration(n) * 14 * time.Minute)
			ok(t, tx.Interactions().Insert(ctx, &i))
		}
		return nil
	})
	got, err := w.in().MailTraffic(t.Context(), begin)
	ok(t, err)
	at := func(quarters int, in, out int64) helpdesk.MailTraffic {
		return helpdesk.MailTraffic{MailboxID: w.mailbox.ID, Start: begin.Add(time.Duration(quarters) * helpdesk.TrafficQuarter), Received: in, Sent: out}
	}
	same(t, "traffic", []helpdesk.MailTraffic{at(0, 2, 2), at(1, 1, 1), at(2, 1, 0)}, got)
	refused, err := w.in().Count(t.Context(), helpdesk.CountQuery{Quarantined: true, Limit: 5})
	ok(t, err)
	same(t, "quarantined", int64(1), refused.Quarantined)
	queues, err := w.in().MailQueues(t.Context())
	ok(t, err)
	same(t, "queues", []helpdesk.MailQueue{{MailboxID: w.mailbox.ID, Filing: 1, Quarantined: 1}}, queues)
	none, err := w.Store.Within(helpdesk.Scope{AccountID: w.account.ID, Mailboxes: []int64{w.empty.ID}}).MailTraffic(t.Context(), begin)
	ok(t, err)
	same(t, "of another mailbox", 0, len(none))
}

// testConversationCounts checks the counts after everything that writes conversations.
func testConversationCounts(t *testing.T, b Backend) {
	w := newWorld(t, b)
	one := w.Store.Within(helpdesk.Scope{AccountID: w.account.ID, Mailboxes: []int64{w.empty.ID}})
	tags := []int64{w.tag.ID}
	check := func(what string) {
		t.Helper()
		for _, r := range []helpdesk.Reader{w.in(), one} {
			same(t, what, counted(t, r, tags...), maintained(t, r, tags...))
		}
	}
	check("at first")
	list := spread(t, w)
	check("after insertions")
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		for n := range 3 {
			other := w.tag
			other.ID, other.Name, other.Key = 0, fmt.Sprint("counted", n), fmt.Sprint("counted", n)
			ok(t, helpdesk.Nouns().Tags.Rows(tx).Insert(ctx, &other))
			tags = append(tags, other.ID)
		}
		for n, c := range list {
			ok(t, tx.SetTags(ctx, []int64{c.ID}, tags[n%3:][:1+n%2]))
		}
		return nil
	})
	check("after tags")
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		for n, c := range list {
			c.Status, c.UserID, c.TeamID, c.MailboxID = list[len(list)-1-n].Status, int64(n%3), int64(n%4), list[(n+1)%len(list)].MailboxID
			if n%2 == 0 {
				c.AwaitingSince, c.DueAt = time.Time{}, time.Time{}
			}
			if n%3 == 0 {
				c.SnoozedUntil = at(n)
			}
			if n%5 == 0 {
				c.SpamAt = at(n)
			}
			c.Priority = helpdesk.Priorities()[n%4]
			ok(t, tx.Conversations().Update(ctx, &c))
			ok(t, tx.Conversations().Update(ctx, &c)) // without a change
		}
		return nil
	})
	check("after changes")
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, tx.SetTags(ctx, []int64{list[0].ID, list[2].ID, list[4].ID}, nil))
		ok(t, tx.SetTags(ctx, []int64{list[1].ID, list[3].ID}, tags[1:3]))
		return helpdesk.Nouns().Tags.Rows(tx).Delete(ctx, tags[1])
	})
	check("after other tags")
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, tx.MergeConversation(ctx, helpdesk.Move{FromID: list[1].ID, IntoID: list[2].ID}))
		return tx.DeleteConversations(ctx, []int64{list[3].ID, list[4].ID, nobody})
	})
	check("after a merge and deletions")
	gone := w.try(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, tx.DeleteConversations(ctx, []int64{list[5].ID}))
		left := int64(0)
		for _, c := range maintained(t, tx) {
			left += c.N
		}
		same(t, "within the transaction", int64(len(list)-4), left)
		return errOnPurpose
	})
	if gone != errOnPurpose { //nolint:errorlint // the function's error must come back as it is
		t.Error(gone)
	}
	check("after what was taken back")
	for limit, want := range map[int]int64{0: 0, 2: 2, 100: int64(len(list) - 3)} {
		n, err := w.in().Count(t.Context(), helpdesk.CountQuery{Conversations: []helpdesk.ConversationFilter{{}, {CustomerID: nobody}, {}}, Quarantined: true, Limit: limit})
		ok(t, err)
		same(t, "no further than the limit", helpdesk.Counted{Conversations: []int64{want, 0, want}}, withoutEmpty(n))
	}
	none, err := w.in().Count(t.Context(), helpdesk.CountQuery{Limit: 5})
	ok(t, err)
	same(t, "nothing to count", helpdesk.Counted{}, withoutEmpty(none))
	all, err := w.in().Count(t.Context(), helpdesk.CountQuery{
		Maintained: true, TagIDs: tags, Conversations: []helpdesk.ConversationFilter{{CustomerID: nobody}, {}}, Quarantined: true,
		Notifications: []helpdesk.NotificationFilter{{UserID: nobody}, {UserID: w.user.ID}}, Limit: 100,
	})
	ok(t, err)
	same(t, "everything at once", helpdesk.Counted{
		Maintained: counted(t, w.in(), tags...), Conversations: []int64{0, int64(len(list) - 3)},
		Notifications: []int64{0, int64(countNotifications(t, w.in(), helpdesk.NotificationFilter{UserID: w.user.ID}, 100))},
	}, all)
}

// maintained reads the maintained counts of all conversations, and of those with each of the tags.
func maintained(t *testing.T, r helpdesk.CountReader, tags ...int64) []helpdesk.ConversationCount {
	t.Helper()
	found, err := r.Count(t.Context(), helpdesk.CountQuery{Maintained: true, TagIDs: tags})
	ok(t, err)
	return found.Maintained
}

// withoutEmpty makes empty lists nil.
func withoutEmpty(c helpdesk.Counted) helpdesk.Counted {
	if len(c.Conversations) == 0 {
		c.Conversations = nil
	}
	if len(c.Notifications) == 0 {
		c.Notifications = nil
	}
	return c
}

func (w *world) newSavedReply(name string) helpdesk.SavedReply {
	return helpdesk.SavedReply{UserID: w.user.ID, Name: name + " " + w.mark, Key: name + w.mark, Body: "<p>" + w.mark + "</p>", Actions: []rules.Action{{Type: rules.SetField, Field: "order_no", Values: []string{w.mark}}}, CreatedAt: base, UpdatedAt: at(1)}
}

func (w *world) newReplyFile(reply int64, name string) helpdesk.ReplyFile {
	return helpdesk.ReplyFile{ReplyID: reply, Filename: w.mark + name, ContentType: "application/pdf", Size: 1 << 40, BlobKey: "r/" + w.mark + "/" + name, CreatedAt: at(1)}
}

func (w *world) newPushDevice(name string) helpdesk.PushDevice {
	return helpdesk.PushDevice{
		UserID: w.user.ID, SessionID: 7, Name: name + " " + w.mark, Endpoint: "https://push.example.org/" + name, Key: name + w.mark, PublicKey: []byte{4, 255, 0},
		Auth: []byte{0, 255, 7}, CreatedAt: at(1),
	}
}

// newSignature returns the signature of the nth of some users without a member.
func (w *world) newSignature(n int) helpdesk.Signature {
	return helpdesk.Signature{UserID: w.user.ID + int64(n), Body: "<b>" + w.mark + "</b>", UpdatedAt: at(n)}
}

// signers selects all users of newSignature.
func (w *world) signers() (all helpdesk.SignatureFilter) {
	for n := range 500 {
		all.UserIDs = append(all.UserIDs, w.user.ID+int64(n))
	}
	return all
}

// testSavedReplyFilter lists saved replies by user and by prefix of their names.
func testSavedReplyFilter(t *testing.T, b Backend) {
	w := newWorld(t, b)
	var all []helpdesk.SavedReply
	for n, key := range []string{"öl", "ö_x", "%", "ödem", "Ö", ""} {
		r := w.newSavedReply(key)
		r.Key, r.UserID = key, []int64{0, nobody}[n%2]
		all = append(all, r)
	}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		for n := range all {
			ok(t, helpdesk.Nouns().SavedReplies.Rows(tx).Insert(ctx, &all[n]))
		}
		return nil
	})
	for name, test := range map[string]struct {
		filter helpdesk.SavedReplyFilter
		want   []int
	}{
		"nobody's":        {helpdesk.SavedReplyFilter{}, nil},
		"shared":          {helpdesk.SavedReplyFilter{UserIDs: []int64{0}}, []int{0, 2, 4}},
		"a user's":        {helpdesk.SavedReplyFilter{UserIDs: []int64{nobody}}, []int{1, 3, 5}},
		"both":            {helpdesk.SavedReplyFilter{UserIDs: []int64{0, nobody}}, []int{0, 1, 2, 3, 4, 5}},
		"a letter":        {helpdesk.SavedReplyFilter{UserIDs: []int64{0, nobody}, Prefix: "ö"}, []int{0, 1, 3}},
		"two letters":     {helpdesk.SavedReplyFilter{UserIDs: []int64{0, nobody}, Prefix: "öd"}, []int{3}},
		"no wildcards":    {helpdesk.SavedReplyFilter{UserIDs: []int64{0, nobody}, Prefix: "%"}, []int{2}},
		"nor single ones": {helpdesk.SavedReplyFilter{UserIDs: []int64{0, nobody}, Prefix: "ö_"}, []int{1}},
	} {
		var want []helpdesk.SavedReply
		for _, n := range test.want {
			want = append(want, all[n])
		}
		got, err := helpdesk.Nouns().SavedReplies.Reader(w.in()).List(t.Context(), test.filter, storage.Seek{Limit: 100})
		ok(t, err)
		same(t, name, want, got)
	}
}

// testPresence stores who views conversations, and deletes it.
func testPresence(t *testing.T, b Backend) {
	w := newWorld(t, b)
	second := w.newConversation()
	note := func(c helpdesk.Conversation, user int64, doing helpdesk.Doing, seen, until int) helpdesk.Presence {
		p := helpdesk.Presence{ConversationID: c.ID, UserID: user, Doing: doing, SeenAt: at(seen)}
		w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.SavePresence(ctx, p, at(until)) })
		return p
	}
	there := func(what string, after int, want ...helpdesk.Presence) {
		t.Helper()
		found, err := w.in().Marks(t.Context(), helpdesk.MarksQuery{ConversationIDs: []int64{second.ID, w.conversation.ID, nobody}, PresentAfter: at(after)})
		ok(t, err)
		var got []helpdesk.Presence
		for _, m := range found {
			got = append(got, m.Presence...)
		}
		same(t, what, want, got)
	}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Conversations().Insert(ctx, &second) })
	first := note(w.conversation, nobody+1, helpdesk.Reading, 10, 1)
	there("one", 9, first)
	there("too long ago", 10)
	other := note(w.conversation, nobody, helpdesk.Replying, 12, 1)
	elsewhere := note(second, nobody, helpdesk.Reading, 12, 1)
	there("several", 1, other, first, elsewhere)
	first = note(w.conversation, nobody+1, helpdesk.Replying, 14, 1)
	there("another word", 1, other, first, elsewhere)
	note(w.conversation, nobody+1, helpdesk.Gone, 15, 1)
	there("one is gone", 1, other, elsewhere)
	late := note(w.conversation, nobody+1, helpdesk.Reading, 20, 12)
	there("who said nothing is forgotten", 1, late)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.DeleteConversations(ctx, []int64{w.conversation.ID})
	})
	there("gone with the conversation", 1)
}

func (w *world) newBlockedSender(local string) helpdesk.BlockedSender {
	return helpdesk.BlockedSender{Sender: "G." + w.address(local), Key: w.address(local), UserID: w.user.ID, CreatedAt: base}
}

// testBlockedSenderKeys finds blocked senders by keys.
func testBlockedSenderKeys(t *testing.T, b Backend) {
	w := newWorld(t, b)
	address, domain := w.newBlockedSender("a"), w.newBlockedSender("b")
	domain.Key = "@" + w.mark + ".example"
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return helpdesk.Nouns().BlockedSenders.Rows(tx).Insert(ctx, &address, &domain)
	})
	for name, test := range map[string]struct {
		keys []string
		want []helpdesk.BlockedSender
	}{
		"all":              {nil, []helpdesk.BlockedSender{w.blocked, address, domain}},
		"an address":       {[]string{address.Key}, []helpdesk.BlockedSender{address}},
		"some":             {[]string{domain.Key, "", "nobody", w.blocked.Key}, []helpdesk.BlockedSender{w.blocked, domain}},
		"none":             {[]string{""}, nil},
		"another spelling": {[]string{strings.ToUpper(address.Key)}, nil},
	} {
		got, err := helpdesk.Nouns().BlockedSenders.Reader(w.in()).List(t.Context(), helpdesk.BlockedSenderFilter{Keys: test.keys}, storage.Seek{Limit: storage.NoLimit})
		ok(t, err)
		same(t, name, test.want, got)
	}
}

// testReplyFiles lists the files of saved replies, which are deleted with them.
func testReplyFiles(t *testing.T, b Backend) {
	w := newWorld(t, b)
	second, none := w.newSavedReply("second"), w.newSavedReply("none")
	var file helpdesk.ReplyFile
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, helpdesk.Nouns().SavedReplies.Rows(tx).Insert(ctx, &second, &none))
		file = w.newReplyFile(second.ID, "second")
		return helpdesk.Nouns().ReplyFiles.Rows(tx).Insert(ctx, &file)
	})
	list := func(replies ...int64) []helpdesk.ReplyFile {
		got, err := helpdesk.Nouns().ReplyFiles.Reader(w.in()).List(t.Context(), helpdesk.ReplyFileFilter{ReplyIDs: replies}, storage.Seek{Limit: 100})
		ok(t, err)
		return got
	}
	same(t, "files of no reply", 0, len(list()))
	same(t, "files of one without", 0, len(list(none.ID)))
	same(t, "files of all", []helpdesk.ReplyFile{w.replyFile, file}, list(none.ID, second.ID, w.savedReply.ID))
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return helpdesk.Nouns().SavedReplies.Rows(tx).Delete(ctx, second.ID)
	})
	same(t, "files when a reply is gone", []helpdesk.ReplyFile{w.replyFile}, list(second.ID, w.savedReply.ID))
}
