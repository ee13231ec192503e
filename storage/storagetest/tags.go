package storagetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/assign"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func tagTests() []testCase {
	return []testCase{
		{"DeleteTag", testDeleteTag},
		{"SetTags", testSetTags},
		{"TagFilter", testTagFilter},
		{"TagPages", testTagPages},
		{"Marked", testMarked},
		{"ViewFilter", testViewFilter},
		{"Unread", testUnread},
		{"Merge", testMerge},
		{"MergeChain", testMergeChain},
		{"MergeMarks", testMergeMarks},
		{"Move", testMove},
		{"MoveMarks", testMoveMarks},
	}
}

// organise tags the world's conversation and merges another one into it.
func (w *world) organise(ctx context.Context, tx helpdesk.Tx) error {
	w.tag, w.view = w.newTag("urgent"), w.newView()
	if err := helpdesk.Nouns().Tags.Rows(tx).Insert(ctx, &w.tag); err != nil {
		return err
	}
	if err := helpdesk.Nouns().Views.Rows(tx).Insert(ctx, &w.view); err != nil {
		return err
	}
	if err := tx.SetTags(ctx, []int64{w.conversation.ID}, []int64{w.tag.ID}); err != nil {
		return err
	}
	c := w.newConversation()
	if err := tx.Conversations().Insert(ctx, &c); err != nil {
		return err
	}
	w.merged = c.ID
	if err := tx.MoveInteractions(ctx, []int64{w.answer.ID}, w.move(c.ID)); err != nil {
		return err
	}
	w.moves = []helpdesk.Move{w.move(c.ID), w.moveOf(c.ID, w.conversation.ID)}
	for n := range w.moves {
		w.moves[n].InteractionID, w.moves[n].MailboxID = w.answer.ID, w.mailbox.ID
	}
	return tx.MergeConversation(ctx, w.moveOf(c.ID, w.conversation.ID))
}

func (w *world) newTag(name string) helpdesk.Tag {
	return helpdesk.Tag{Name: name + " " + w.mark, Key: name + w.mark, Color: "#0a1b2c", CreatedAt: base, UpdatedAt: at(1)}
}

func (w *world) newTeam(name string) helpdesk.Team {
	return helpdesk.Team{Name: name + " " + w.mark, Key: name + w.mark, MemberIDs: []int64{w.user.ID, w.user.ID + 1}, CreatedAt: base, UpdatedAt: at(1),
		Assignment: assign.Policy{Strategy: assign.Balanced, Capacity: 7, Who: assign.Scheduled, WhenUnavailable: assign.Return, ReturnAfter: 12, Sticky: true},
		TurnIDs:    []int64{w.user.ID + 1, w.user.ID},
	}
}

func (w *world) newCompany(name string) helpdesk.Company {
	return helpdesk.Company{
		Name: name + " " + w.mark, Key: name + w.mark, Domains: []string{name + ".example", "second.example"}, Note: "Pays.\nLate.", ExternalID: w.mark + name,
		CreatedAt: base, UpdatedAt: at(1),
	}
}

func (w *world) newCompanyKey(value string) helpdesk.CompanyKey {
	return helpdesk.CompanyKey{CompanyID: w.company.ID, Kind: helpdesk.CompanyDomain, Value: w.mark + value + ".example"}
}

func (w *world) newView() helpdesk.View {
	return helpdesk.View{UserID: w.user.ID, Name: "View " + w.mark, Visibility: helpdesk.ViewOfTeam, TeamID: w.team.ID, Columns: []string{"plan", `a"b`}, CreatedAt: base, UpdatedAt: at(1), Filter: helpdesk.ViewFilter{
		Fields: helpdesk.FieldQueries{"plan": {Values: []string{"größe"}}, "amount": {From: "1", To: "2"}},
		TeamID: w.team.ID,
		Agent:  helpdesk.AgentMe, Statuses: []helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusPending}, MailboxID: 1 << 40, CustomerID: 7, CompanyID: 9,
		TagIDs: []int64{3, 1 << 40}, UpdatedSince: at(5), Words: "größe", Awaiting: new(true), Draft: helpdesk.AgentMe, Undelivered: true, Snoozed: new(true), Priorities: []helpdesk.Priority{helpdesk.PriorityUrgent}, Spam: new(false), Held: new(true), Due: helpdesk.DueSoon, Ratings: []helpdesk.Verdict{helpdesk.RatedBad}, Sort: helpdesk.ByAwaiting, Ascending: true}}
}

func testDeleteTag(t *testing.T, b Backend) {
	w := newWorld(t, b)
	second := w.newTag("second")
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return helpdesk.Nouns().Tags.Rows(tx).Insert(ctx, &second)
	})
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return helpdesk.Nouns().Tags.Rows(tx).Delete(ctx, w.tag.ID)
	})
	left := w.content(t)
	same(t, "tags left", []helpdesk.Tag{second}, left.Tags)
	same(t, "conversations with the tag", 0, len(tagsOf(t, w.in(), w.conversation.ID)))
	same(t, "conversations", []helpdesk.Conversation{w.conversation}, left.Conversations)
	for what, err := range map[string]error{
		"marking with an absent": w.try(t, func(ctx context.Context, tx helpdesk.Tx) error {
			return tx.SetTags(ctx, []int64{w.conversation.ID}, []int64{w.tag.ID})
		}),
		"marking what is absent": w.try(t, func(ctx context.Context, tx helpdesk.Tx) error {
			return tx.SetTags(ctx, []int64{nobody}, []int64{second.ID})
		}),
		"clearing what is absent":  w.try(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.SetTags(ctx, []int64{nobody}, nil) }),
		"marking with the deleted": w.try(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.SetTags(ctx, nil, []int64{w.tag.ID}) }),
	} {
		fails(t, what, err, fault.NotFound)
	}
}

func testSetTags(t *testing.T, b Backend) {
	w := newWorld(t, b)
	second, c := w.newTag("second"), w.newConversation()
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		if err := helpdesk.Nouns().Tags.Rows(tx).Insert(ctx, &second); err != nil {
			return err
		}
		if err := tx.Conversations().Insert(ctx, &c); err != nil {
			return err
		}
		return tx.SetTags(ctx, []int64{c.ID, w.conversation.ID}, []int64{second.ID, w.tag.ID})
	})
	check := func(what string, want map[int64][]helpdesk.Tag) {
		t.Helper()
		same(t, what, want, tagsOf(t, w.in(), c.ID, nobody, w.conversation.ID))
	}
	both := []helpdesk.Tag{w.tag, second}
	check("both have both", map[int64][]helpdesk.Tag{w.conversation.ID: both, c.ID: both})
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.SetTags(ctx, []int64{c.ID}, []int64{second.ID})
	})
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.SetTags(ctx, []int64{w.conversation.ID}, nil)
	})
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.SetTags(ctx, nil, []int64{w.tag.ID}) })
	check("replaced", map[int64][]helpdesk.Tag{c.ID: {second}})
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.DeleteConversations(ctx, []int64{c.ID}) })
	check("deleted with the conversation", map[int64][]helpdesk.Tag{})
	one(t, "tag", second, helpdesk.Nouns().Tags.Reader(w.in()).Get, second.ID)
}

// tagsOf returns the tags of those conversations that have any.
func tagsOf(t *testing.T, r helpdesk.Reader, conversations ...int64) map[int64][]helpdesk.Tag {
	t.Helper()
	found, err := r.Marks(t.Context(), helpdesk.MarksQuery{ConversationIDs: conversations, Tags: true})
	ok(t, err)
	tags := map[int64][]helpdesk.Tag{}
	for _, m := range found {
		tags[m.ConversationID] = m.Tags
	}
	return tags
}

func testTagFilter(t *testing.T, b Backend) {
	w := newWorld(t, b)
	second, third := w.newTag("second"), w.newTag("third")
	c, plain := w.newConversation(), w.newConversation()
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, helpdesk.Nouns().Tags.Rows(tx).Insert(ctx, &second))
		ok(t, helpdesk.Nouns().Tags.Rows(tx).Insert(ctx, &third))
		ok(t, tx.Conversations().Insert(ctx, &c))
		ok(t, tx.Conversations().Insert(ctx, &plain))
		return tx.SetTags(ctx, []int64{c.ID}, []int64{w.tag.ID, second.ID})
	})
	for _, test := range []struct {
		tags, want []int64
	}{
		{nil, []int64{w.conversation.ID, c.ID, plain.ID}},
		{[]int64{w.tag.ID}, []int64{w.conversation.ID, c.ID}},
		{[]int64{second.ID, third.ID}, []int64{c.ID}},
		{[]int64{w.tag.ID, second.ID}, []int64{w.conversation.ID, c.ID}},
		{[]int64{third.ID}, nil},
		{[]int64{nobody}, nil},
	} {
		got, err := w.in().Conversations().List(t.Context(), helpdesk.ConversationOrder{ConversationFilter: helpdesk.ConversationFilter{TagIDs: test.tags}, Sort: helpdesk.ByNumber}, all())
		ok(t, err)
		same(t, "conversations with a tag", test.want, ids(got, conversationID))
	}
}

// testTagPages pages through conversations with tags, alone and with other conditions, before and after the conversations'
// times of creation change.
func testTagPages(t *testing.T, b Backend) {
	w := newWorld(t, b)
	second, third := w.newTag("second"), w.newTag("third")
	everything := spread(t, w)
	tagged := map[int64][]int64{}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, helpdesk.Nouns().Tags.Rows(tx).Insert(ctx, &second))
		ok(t, helpdesk.Nouns().Tags.Rows(tx).Insert(ctx, &third))
		for i, tags := range [][]int64{{w.tag.ID}, {second.ID}, {w.tag.ID, second.ID}, nil} {
			var some []int64
			for n := i; n < len(everything); n += 4 {
				some = append(some, everything[n].ID)
				tagged[everything[n].ID] = tags
			}
			ok(t, tx.SetTags(ctx, some, tags))
		}
		return nil
	})
	check := func(when string) {
		t.Helper()
		for _, by := range []helpdesk.ConversationSort{helpdesk.ByCreated, helpdesk.ByUpdated} {
			for name, filter := range map[string]helpdesk.ConversationFilter{
				"all": {}, "closed": {Statuses: []helpdesk.Status{helpdesk.StatusClosed}}, "a mailbox": {MailboxID: w.empty.ID},
				"no spam": {Spam: storage.Some(false)}, "a user": {UserID: storage.Some(w.user.ID)},
			} {
				for _, tags := range [][]int64{{w.tag.ID}, {second.ID, w.tag.ID}, {second.ID, second.ID, third.ID}, {third.ID}} {
					filter.TagIDs = tags
					want := slices.DeleteFunc(sorted(everything, by), func(c helpdesk.Conversation) bool {
						return !slices.ContainsFunc(tagged[c.ID], func(tag int64) bool { return slices.Contains(tags, tag) }) ||
							len(filter.Statuses) > 0 && c.Status != helpdesk.StatusClosed || filter.MailboxID != 0 && c.MailboxID != filter.MailboxID ||
							filter.Spam.IsSet() && !c.SpamAt.IsZero() || filter.UserID.IsSet() && c.UserID != w.user.ID
					})
					t.Log(when, name, by, len(want))
					checkPages(t, want, func(c helpdesk.Conversation) storage.Position { return storage.Position{Key: c.SortKey(by), ID: c.ID} },
						func(seek storage.Seek) ([]helpdesk.Conversation, error) {
							return w.in().Conversations().List(t.Context(), helpdesk.ConversationOrder{ConversationFilter: filter, Sort: by}, seek)
						})
				}
			}
		}
	}
	check("tagged")
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		for i := range everything {
			everything[i].CreatedAt = at(i * 7 % 5)
			if err := tx.Conversations().Update(ctx, &everything[i]); err != nil {
				return err
			}
		}
		return nil
	})
	check("created at other times")
}

// testMarked checks that a [helpdesk.MarkedReader] returns what the separate reads return. Other stores need not be one.
func testMarked(t *testing.T, b Backend) {
	w := newWorld(t, b)
	if _, both := w.in().(helpdesk.MarkedReader); !both {
		t.Skip("the store does not read marks along with conversations")
	}
	var odd []helpdesk.Tag
	for i, name := range []string{"12 34 ", " ", "\"quoted\", it's", "Größe 日本 🙂", "a\nb\tc\x1f\x1e", `\\`, "0"} {
		tag := w.newTag(fmt.Sprint(i))
		tag.Name = name
		odd = append(odd, tag)
	}
	odd[6].Color = ""
	everything := spread(t, w)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		var tags []int64
		for i := range odd {
			ok(t, helpdesk.Nouns().Tags.Rows(tx).Insert(ctx, &odd[i]))
			tags = append(tags, odd[i].ID)
		}
		slices.Reverse(tags)
		for i, c := range everything {
			ok(t, tx.SetTags(ctx, []int64{c.ID}, tags[:i%len(tags)]))
			for n := range i % 3 {
				question := w.newQuestion(c)
				ok(t, tx.Interactions().Insert(ctx, &question))
				if n == 0 && i%2 == 0 {
					ok(t, tx.SaveReadMark(ctx, helpdesk.ReadMark{UserID: w.user.ID, ConversationID: c.ID, InteractionID: question.ID}))
				}
			}
		}
		return nil
	})
	some := w.scope
	some.Mailboxes = []int64{w.empty.ID}
	for name, scope := range map[string]helpdesk.Scope{"all": w.scope, "a mailbox": some, "no mailbox": {AccountID: w.scope.AccountID, Mailboxes: []int64{}}} {
		r := w.Store.Within(scope)
		for _, filter := range []helpdesk.ConversationFilter{
			{}, {Statuses: []helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusPending}}, {TagIDs: []int64{odd[2].ID}}, {TagIDs: []int64{odd[2].ID, w.tag.ID}},
			{UserID: storage.Some(w.user.ID)}, {Awaiting: storage.Some(true)}, {DraftBy: w.user.ID}, {CustomerID: w.customer.ID},
		} {
			for _, by := range []helpdesk.ConversationSort{helpdesk.ByCreated, helpdesk.ByUpdated, helpdesk.ByNumber, helpdesk.ByAwaiting, helpdesk.ByDue} {
				for _, seek := range []storage.Seek{{Limit: 3, Desc: true}, all(), {Limit: 0}} {
					w.sameMarks(t, r, fmt.Sprint(name, " ", by, filter, seek), helpdesk.ConversationOrder{ConversationFilter: filter, Sort: by}, seek)
				}
			}
		}
		at, _ := r.(helpdesk.MarkedReader)
		for _, c := range append(everything, helpdesk.Conversation{ID: nobody}) {
			want, wantErr := r.Conversations().Get(t.Context(), c.ID)
			got, marks, err := at.MarkedConversation(t.Context(), c.ID, w.user.ID)
			if wantErr != nil {
				fails(t, name, err, fault.NotFound)
				continue
			}
			ok(t, err)
			same(t, name, want, got)
			wantMarks, err := r.Marks(t.Context(), helpdesk.MarksQuery{ConversationIDs: []int64{c.ID}, UnreadBy: w.user.ID, Tags: true})
			ok(t, err)
			if len(wantMarks) == 0 {
				wantMarks = []helpdesk.Marks{{ConversationID: marks.ConversationID}}
			}
			same(t, name+": marks", wantMarks[0], marks)
		}
	}
}

// sameMarks compares a list with marks to the list and the marks.
func (w *world) sameMarks(t *testing.T, r helpdesk.Reader, what string, o helpdesk.ConversationOrder, seek storage.Seek) {
	t.Helper()
	want, err := r.Conversations().List(t.Context(), o, seek)
	ok(t, err)
	at, _ := r.(helpdesk.MarkedReader)
	got, marks, err := at.MarkedConversations(t.Context(), o, w.user.ID, seek)
	ok(t, err)
	same(t, what, want, got)
	wantMarks, err := r.Marks(t.Context(), helpdesk.MarksQuery{ConversationIDs: ids(want, conversationID), UnreadBy: w.user.ID, Tags: true})
	ok(t, err)
	slices.SortFunc(marks, func(a, b helpdesk.Marks) int { return cmp.Compare(a.ConversationID, b.ConversationID) })
	same(t, what+": marks", wantMarks, marks)
}

func testViewFilter(t *testing.T, b Backend) {
	filled(t, newWorld(t, b).view.Filter)
}

// unread returns how many interactions of a conversation a user has not read.
func (w *world) unread(t *testing.T, userID, conversationID int64) int64 {
	t.Helper()
	got, err := w.in().Marks(t.Context(), helpdesk.MarksQuery{ConversationIDs: []int64{nobody, conversationID}, UnreadBy: userID})
	ok(t, err)
	if len(got) == 0 {
		return 0
	}
	same(t, "only unread", []helpdesk.Marks{{ConversationID: conversationID, Unread: got[0].Unread}}, got)
	return got[0].Unread
}

func (w *world) read(t *testing.T, userID, conversationID, interactionID int64) {
	t.Helper()
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.SaveReadMark(ctx, helpdesk.ReadMark{UserID: userID, ConversationID: conversationID, InteractionID: interactionID})
	})
}

func testUnread(t *testing.T, b Backend) {
	w := newWorld(t, b)
	other := w.user.ID + 1<<40 // users need not exist
	more := w.newQuestion(w.conversation)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Interactions().Insert(ctx, &more) })
	same(t, "never read", 2, int(w.unread(t, w.user.ID, w.conversation.ID)))
	w.read(t, w.user.ID, w.conversation.ID, w.answer.ID)
	same(t, "read to the answer", 1, int(w.unread(t, w.user.ID, w.conversation.ID)))
	w.read(t, w.user.ID, w.conversation.ID, more.ID)
	same(t, "read", 0, int(w.unread(t, w.user.ID, w.conversation.ID)))
	same(t, "another user", 2, int(w.unread(t, other, w.conversation.ID)))
	w.read(t, other, w.conversation.ID, w.question.ID)
	w.read(t, w.user.ID, w.conversation.ID, 0)
	w.read(t, w.user.ID, w.conversation.ID, 0)
	same(t, "forgotten", 2, int(w.unread(t, w.user.ID, w.conversation.ID)))
	same(t, "another user's mark", 1, int(w.unread(t, other, w.conversation.ID)))
	for _, none := range [][]int64{nil, {nobody}} {
		got, err := w.in().Marks(t.Context(), helpdesk.MarksQuery{ConversationIDs: none, UnreadBy: w.user.ID, Tags: true, PresentAfter: base, Scheduled: true})
		ok(t, err)
		same(t, "marks of none", 0, len(got))
	}
	for _, interaction := range []int64{0, 1} {
		err := w.try(t, func(ctx context.Context, tx helpdesk.Tx) error {
			return tx.SaveReadMark(ctx, helpdesk.ReadMark{UserID: w.user.ID, ConversationID: nobody, InteractionID: interaction})
		})
		fails(t, "reading what is absent", err, fault.NotFound)
	}
}

// target creates a conversation in the other mailbox.
func (w *world) target(t *testing.T) helpdesk.Conversation {
	t.Helper()
	c := w.newConversation()
	c.MailboxID = w.empty.ID
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Conversations().Insert(ctx, &c) })
	return c
}

// move returns a move out of the world's conversation.
func (w *world) move(into int64) helpdesk.Move { return w.moveOf(w.conversation.ID, into) }

func (w *world) moveOf(from, into int64) helpdesk.Move {
	return helpdesk.Move{Rule: "rule " + w.mark, FromID: from, IntoID: into, UserID: w.user.ID, CreatedAt: at(70)}
}

func (w *world) merge(t *testing.T, id, into int64) {
	t.Helper()
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.MergeConversation(ctx, w.moveOf(id, into)) })
}

func testMerge(t *testing.T, b Backend) {
	w := newWorld(t, b)
	c := w.target(t)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.AddParticipants(ctx, c.ID, []string{w.address("grace"), w.address("ada")})
	})
	want := w.content(t)
	want.Conversations, want.Threads = want.Conversations[1:], want.Threads[:1]
	want.Interactions[0].ConversationID, want.Interactions[1].ConversationID = c.ID, c.ID
	want.Threads[0][0].ConversationID, want.Threads[0][1].ConversationID = c.ID, c.ID
	want.Attachments[0].ConversationID, want.Mails[0].ConversationID = c.ID, c.ID
	want.Marks[0].ConversationID, want.Marks[0].Tags, want.Values = c.ID, nil, nil
	want.Notifications[0].ConversationID, want.Followers[0].ConversationID = c.ID, c.ID
	for _, i := range want.Interactions {
		moved := w.move(c.ID)
		moved.InteractionID, moved.MailboxID = i.ID, w.mailbox.ID
		want.Moves = append(want.Moves, moved)
	}
	want.Stats[0].Total, want.Stats[0].Posted, want.Stats[0].EmailChannel = 1, 1, 1
	keys, err := w.in().BlobKeys(t.Context(), []int64{w.conversation.ID})
	ok(t, err)
	w.merge(t, w.conversation.ID, c.ID)
	same(t, "content", want, w.content(t))
	moved, err := w.in().BlobKeys(t.Context(), []int64{c.ID})
	ok(t, err)
	same(t, "BlobKeys", keys, moved)
	for _, key := range []string{"grace", "ada"} {
		takesPart, err := w.in().Participant(t.Context(), c.ID, []string{w.address(key)})
		ok(t, err)
		same(t, key+" takes part", true, takesPart)
	}
	_, err = w.in().Conversations().Get(t.Context(), w.conversation.ID)
	fails(t, "the merged conversation", err, fault.NotFound)
	one(t, "MergedInto", c, w.in().MergedInto, w.conversation.ID)
	for name, mailbox := range map[string]int64{"old": w.mailbox.ID, "new": w.empty.ID} {
		refs, err := w.in().Messages(t.Context(), mailbox, []string{w.question.MessageID})
		ok(t, err)
		same(t, "mails of the "+name+" mailbox", 1, len(refs))
	}
	err = w.try(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.MergeConversation(ctx, w.move(c.ID))
	})
	fails(t, "merging what is gone", err, fault.NotFound)
	err = w.try(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.MergeConversation(ctx, w.moveOf(c.ID, nobody))
	})
	fails(t, "merging into what is absent", err, fault.NotFound)
	// what came with the merged one goes with the other, and leaves its tombstone
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.DeleteConversations(ctx, []int64{c.ID}) })
	left := w.content(t)
	same(t, "interactions left", 0, len(left.Interactions))
	tombstone := w.mail
	tombstone.ConversationID, tombstone.InteractionID, tombstone.RawKey, tombstone.Head = 0, 0, "", ledger.Head{}
	same(t, "tombstone", []ledger.Mail{tombstone}, left.Mails)
	_, err = w.in().MergedInto(t.Context(), w.conversation.ID)
	fails(t, "where a deleted conversation's are", err, fault.NotFound)
}

// A conversation that was merged twice is found at its current place, by members who can see that.
func testMergeChain(t *testing.T, b Backend) {
	w := newWorld(t, b)
	c := w.target(t)
	one(t, "before", w.conversation, w.in().MergedInto, w.merged)
	w.merge(t, w.conversation.ID, c.ID)
	one(t, "the first", c, w.in().MergedInto, w.merged)
	one(t, "the second", c, w.in().MergedInto, w.conversation.ID)
	hidden := w.Store.Within(helpdesk.Scope{AccountID: w.account.ID, Mailboxes: []int64{w.mailbox.ID}})
	_, err := hidden.MergedInto(t.Context(), w.merged)
	fails(t, "in a mailbox out of sight", err, fault.NotFound)
}

func testMergeMarks(t *testing.T, b Backend) {
	w := newWorld(t, b)
	c := w.target(t)
	newer := w.newQuestion(c)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Interactions().Insert(ctx, &newer) })
	const both, first, second = 1 << 41, 1 << 42, 1 << 43 // users
	w.read(t, both, w.conversation.ID, w.answer.ID)
	w.read(t, both, c.ID, newer.ID)
	w.read(t, first, w.conversation.ID, w.answer.ID)
	w.read(t, second, c.ID, newer.ID)
	w.merge(t, w.conversation.ID, c.ID)
	for user, want := range map[int64]int64{both: 1, first: 2, second: 2} {
		same(t, "unread", want, w.unread(t, user, c.ID))
	}
}

// Moved interactions are found in the other conversation with everything that depends on them, from both mailboxes; the rest
// stays.
func testMove(t *testing.T, b Backend) {
	w := newWorld(t, b)
	c := w.target(t)
	stays := w.newQuestion(w.conversation)
	loose := w.newMail("2") // of the conversation, but not of an interaction
	loose.ConversationID = w.conversation.ID
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, tx.InsertInbound(ctx, []*ledger.Mail{&loose}))
		return tx.Interactions().Insert(ctx, &stays)
	})
	before := w.content(t)
	move := func(from, into int64, ids ...int64) {
		w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
			return tx.MoveInteractions(ctx, ids, w.moveOf(from, into))
		})
	}
	move(w.conversation.ID, c.ID, nobody)
	move(c.ID, w.conversation.ID, w.question.ID)
	move(w.conversation.ID, c.ID)
	same(t, "moving nothing", before, w.content(t))
	move(w.conversation.ID, c.ID, w.answer.ID, w.question.ID, nobody)
	question, answer, attachment, mail := w.question, w.answer, w.attachment, w.mail
	question.ConversationID, answer.ConversationID, attachment.ConversationID, mail.ConversationID = c.ID, c.ID, c.ID, c.ID
	want := before
	want.Interactions = []helpdesk.Interaction{stays, question, answer}
	want.Threads = [][]helpdesk.MessageRef{{ref(stays)}, {ref(question), ref(answer)}}
	told := w.notification
	told.ConversationID = c.ID
	want.Notifications = []helpdesk.Notification{told}
	want.Attachments, want.Mails = []helpdesk.Attachment{attachment}, []ledger.Mail{mail, loose}
	moved := w.move(c.ID)
	moved.MailboxID = w.mailbox.ID
	first, second := moved, moved
	first.InteractionID, second.InteractionID = question.ID, answer.ID
	want.Moves = append(slices.Clone(want.Moves), first, second)
	want.Marks = []helpdesk.Marks{{ConversationID: w.conversation.ID, Unread: 1, Tags: want.Marks[0].Tags}, {ConversationID: c.ID, Unread: 1, SendAt: want.Marks[0].SendAt}}
	same(t, "content", want, w.content(t))
	keys, err := w.in().BlobKeys(t.Context(), []int64{c.ID})
	ok(t, err)
	same(t, "BlobKeys", 2, len(keys))
	for name, mailbox := range map[string]int64{"old": w.mailbox.ID, "new": w.empty.ID} {
		refs, err := w.in().Messages(t.Context(), mailbox, []string{question.MessageID})
		ok(t, err)
		same(t, "mails of the "+name+" mailbox", []helpdesk.MessageRef{ref(question)}, refs)
	}
	move(c.ID, w.conversation.ID, question.ID, answer.ID)
	back := w.content(t)
	same(t, "moves", len(want.Moves)+2, len(back.Moves))
	back.Moves = before.Moves
	same(t, "moved back", before, back)
	for _, into := range []int64{nobody, w.conversation.ID} {
		err := w.try(t, func(ctx context.Context, tx helpdesk.Tx) error {
			return tx.MoveInteractions(ctx, []int64{question.ID}, w.move(into))
		})
		kind := fault.NotFound
		if into != nobody {
			kind = fault.Invalid
		}
		fails(t, "moving into nothing or itself", err, kind)
	}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Interactions().Delete(ctx, question.ID) })
	moves, err := w.in().Moves(t.Context(), []int64{question.ID, nobody})
	ok(t, err)
	same(t, "moves of what is gone", 0, len(moves))
}

// Moving marks nothing unread as read, and as little as possible as unread.
func testMoveMarks(t *testing.T, b Backend) {
	w := newWorld(t, b) // w.question and w.answer are the first
	c := w.target(t)
	older, more, newer := w.newQuestion(c), w.newQuestion(w.conversation), w.newQuestion(c)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		for _, i := range []*helpdesk.Interaction{&older, &more, &newer} {
			ok(t, tx.Interactions().Insert(ctx, i))
		}
		return nil
	})
	const both, first, second, neither, behind = 1 << 41, 1 << 42, 1 << 43, 1 << 44, 1 << 45 // users
	w.read(t, both, w.conversation.ID, more.ID)
	w.read(t, both, c.ID, newer.ID)
	w.read(t, first, w.conversation.ID, more.ID)
	w.read(t, second, c.ID, newer.ID)
	w.read(t, behind, w.conversation.ID, w.question.ID)
	w.read(t, behind, c.ID, newer.ID)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.MoveInteractions(ctx, []int64{more.ID}, w.move(c.ID))
	})
	// older, more, newer: users who have not read the middle one see it and the next as unread.
	for user, want := range map[int64]int64{both: 0, first: 3, second: 2, neither: 3, behind: 2} {
		same(t, "unread", want, w.unread(t, user, c.ID))
	}
	for user, want := range map[int64]int64{both: 0, first: 0, second: 1, neither: 1, behind: 0} {
		same(t, "unread of the rest", want, w.unread(t, user, w.conversation.ID))
	}
	// Moving into a new conversation takes the marks along.
	fresh := w.target(t)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.MoveInteractions(ctx, []int64{more.ID, newer.ID}, w.moveOf(c.ID, fresh.ID))
	})
	for user, want := range map[int64]int64{both: 0, first: 2, second: 2, neither: 2, behind: 2} {
		same(t, "unread of the new one", want, w.unread(t, user, fresh.ID))
	}
}

func tagID(t helpdesk.Tag) int64 { return t.ID }

// organise generates a call that organises conversations.
func (g *generator) organise(seen content) operation {
	old, other := oneOf(g, seen.Tags), oneOf(g, seen.Tags)
	conversation, into := oneOf(g, seen.Conversations).ID, oneOf(g, seen.Conversations).ID
	switch g.IntN(19) {
	case 18:
		return g.describing(seen)
	case 16, 17:
		if g.IntN(2) == 0 {
			return g.company(seen)
		}
		return g.team(seen)
	case 0, 1, 2, 3:
		tag := helpdesk.Tag{Name: g.text(), Key: fmt.Sprint("t", g.next()), Color: g.text(), CreatedAt: g.time(false), UpdatedAt: g.time(false)}
		clash := old.ID != other.ID && g.IntN(4) == 0
		if clash {
			tag.Key = other.Key
		}
		if old.ID == 0 || g.IntN(3) > 0 {
			return operation{method: "Tags.Insert", args: []any{[]*helpdesk.Tag{&tag}}, clash: clash}
		}
		tag.ID = old.ID
		return operation{method: "Tags.Update", args: []any{[]*helpdesk.Tag{&tag}}, clash: clash}
	case 4:
		return operation{method: "Tags.Delete", args: []any{g.either("Tag", old.ID)}}
	case 5, 6, 7:
		list := idList{noun: "Conversation", n: distinct(conversation, into)}
		return operation{method: "SetTags", args: []any{list, idList{noun: "Tag", n: distinct(old.ID, other.ID)}}}
	case 8, 9:
		interaction := oneOf(g, seen.Interactions)
		mark := helpdesk.ReadMark{UserID: oneOf(g, g.pool["User"]), ConversationID: interaction.ConversationID, InteractionID: interaction.ID}
		if g.IntN(4) == 0 {
			mark.InteractionID = 0
		}
		if g.IntN(2) == 0 {
			there := helpdesk.Presence{ConversationID: mark.ConversationID, UserID: mark.UserID, SeenAt: g.time(false)}
			there.Doing = oneOf(g, []helpdesk.Doing{helpdesk.Reading, helpdesk.Replying, helpdesk.Gone})
			return operation{method: "SavePresence", args: []any{there, g.time(false)}}
		}
		return operation{method: "SaveReadMark", args: []any{mark}}
	case 10:
		return operation{method: "Views.Delete", args: []any{g.either("View", oneOf(g, seen.Views).ID)}}
	case 11, 14, 15:
		if conversation != into {
			move := helpdesk.Move{Rule: g.text(), FromID: g.either("Conversation", conversation).n, IntoID: into, UserID: g.pool["User"][0], CreatedAt: g.time(false)}
			if g.IntN(3) > 0 {
				return operation{method: "MoveInteractions", args: []any{some(g, "Interaction", seen.Interactions, interactionID), move}}
			}
			return operation{method: "MergeConversation", args: []any{move}}
		}
		fallthrough
	default:
		view := helpdesk.View{UserID: g.pool["User"][0], Name: g.text(), Visibility: oneOf(g, []helpdesk.ViewVisibility{helpdesk.ViewShared, helpdesk.ViewOfTeam, helpdesk.ViewPrivate}), TeamID: oneOf(g, []int64{0, oneOf(g, seen.Teams).ID}),
			CreatedAt: g.time(false), UpdatedAt: g.time(false), Filter: helpdesk.ViewFilter{
				Agent: g.text(), Statuses: []helpdesk.Status{g.status()}[:g.IntN(2)], UpdatedSince: g.time(true), Ascending: g.IntN(2) == 0}}
		if old := oneOf(g, seen.Views); old.ID != 0 && g.IntN(2) == 0 {
			view.ID = old.ID
			return operation{method: "Views.Update", args: []any{[]*helpdesk.View{&view}}}
		}
		return operation{method: "Views.Insert", args: []any{[]*helpdesk.View{&view}}}
	}
}

// company generates a call that changes companies.
func (g *generator) company(seen content) operation {
	old := oneOf(g, seen.Companies)
	company := helpdesk.Company{Name: g.text(), Key: fmt.Sprint("co", g.next()), Domains: []string{"a.example", "b.example"}[:g.IntN(3)], Note: g.text(), CreatedAt: g.time(false), UpdatedAt: g.time(false)}
	switch {
	case old.ID == 0 || g.IntN(3) == 0:
		return operation{method: "Companies.Insert", args: []any{[]*helpdesk.Company{&company}}}
	case g.IntN(4) == 0:
		return operation{method: "Companies.Delete", args: []any{g.either("Company", old.ID)}}
	case g.IntN(2) == 0:
		key := helpdesk.CompanyKey{CompanyID: old.ID, Kind: helpdesk.CompanyDomain, Value: fmt.Sprint("k", g.next())}
		return operation{method: "CompanyKeys.Insert", args: []any{[]*helpdesk.CompanyKey{&key}}}
	}
	company.ID = old.ID
	return operation{method: "Companies.Update", args: []any{[]*helpdesk.Company{&company}}}
}

// team generates a call that changes teams.
func (g *generator) team(seen content) operation {
	old, other := oneOf(g, seen.Teams), oneOf(g, seen.Teams)
	team := helpdesk.Team{Name: g.text(), Key: fmt.Sprint("t", g.next()), MemberIDs: []int64{oneOf(g, g.pool["User"])}[:g.IntN(2)], CreatedAt: g.time(false), UpdatedAt: g.time(false)}
	clash := old.ID != other.ID && g.IntN(4) == 0
	if clash {
		team.Key = other.Key
	}
	switch {
	case old.ID == 0 || g.IntN(3) == 0:
		return operation{method: "Teams.Insert", args: []any{[]*helpdesk.Team{&team}}, clash: clash}
	case g.IntN(3) == 0:
		return operation{method: "Teams.Delete", args: []any{g.either("Team", old.ID)}}
	}
	team.ID = old.ID
	return operation{method: "Teams.Update", args: []any{[]*helpdesk.Team{&team}}, clash: clash}
}

// distinct returns both ids, or one if they are equal.
func distinct(a, b int64) []int64 {
	if a == b {
		return []int64{a}
	}
	return []int64{a, b}
}
