package storagetest

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// testNewestFrom finds the newest interaction of others.
func testNewestFrom(t *testing.T, b Backend) {
	w := newWorld(t, b)
	newest := func(what string, want helpdesk.Interaction, notBy int64) {
		t.Helper()
		got, err := w.in().NewestFrom(t.Context(), w.conversation.ID, notBy)
		ok(t, err)
		same(t, what, want.ID, got.ID)
		if want.ID != 0 {
			same(t, what, want, got)
		}
	}
	insert := func(i helpdesk.Interaction) helpdesk.Interaction {
		w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Interactions().Insert(ctx, &i) })
		return i
	}
	newest("an answer", w.answer, nobody)
	newest("the question before one's own answer", w.question, w.user.ID)
	draft, note := w.newAnswer(w.conversation), w.newQuestion(w.conversation)
	draft.Status, draft.PostedByID, draft.PostedAt = helpdesk.StatusDraft, 0, at(9)
	note.Type, note.CreatedAt = helpdesk.TypeNote, at(9)
	draft = insert(draft)
	insert(note)
	newest("neither drafts nor notes", w.answer, nobody)
	question := w.newQuestion(w.conversation)
	question.CreatedAt, question.At = at(5), at(-9)
	question = insert(question)
	newest("what came last, wherever it stands", question, nobody)
	draft.Status, draft.PostedAt = helpdesk.StatusPosted, at(6)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Interactions().Update(ctx, &draft) })
	newest("the draft that was posted", draft, nobody)
	newest("of its creator, who sent it", question, w.user.ID)
	none, err := w.in().NewestFrom(t.Context(), nobody, nobody)
	ok(t, err)
	same(t, "of nothing", helpdesk.Interaction{}, none)
}

// testWrittenBy lists the messages that a customer wrote in a conversation.
func testWrittenBy(t *testing.T, b Backend) {
	w := newWorld(t, b)
	message := func(n int, change func(*helpdesk.Interaction)) helpdesk.Interaction {
		i := w.newQuestion(w.conversation)
		i.At = at(20 + n)
		change(&i)
		w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Interactions().Insert(ctx, &i) })
		return i
	}
	later := message(2, func(*helpdesk.Interaction) {})
	sooner := message(1, func(*helpdesk.Interaction) {})
	message(3, func(i *helpdesk.Interaction) { i.IsForward = true })
	message(4, func(i *helpdesk.Interaction) { i.Type = helpdesk.TypeNote })
	message(5, func(i *helpdesk.Interaction) { i.CustomerID, i.CustomerEmailID = 0, 0 })
	want := []helpdesk.Interaction{later, sooner, w.question}
	for limit := 1; limit <= 4; limit++ {
		got, err := w.in().Interactions().List(t.Context(), helpdesk.InteractionFilter{ConversationID: w.conversation.ID, WrittenBy: w.customer.ID}, storage.Seek{Desc: true, Limit: limit})
		ok(t, err)
		same(t, "the last messages", want[:min(limit, len(want))], got)
	}
	got, err := w.in().Interactions().List(t.Context(), helpdesk.InteractionFilter{ConversationID: w.conversation.ID, WrittenBy: nobody}, storage.Seek{Limit: 5})
	ok(t, err)
	same(t, "of nobody", 0, len(got))
}

// testBriefInteractions checks that a brief list lacks the bodies and nothing else, and that they stay stored.
func testBriefInteractions(t *testing.T, b Backend) {
	w := newWorld(t, b)
	for n := range 3 {
		i := w.newQuestion(w.conversation)
		i.At, i.Body = at(20+n), "<p>"+strings.Repeat("A long text. ", 1+n*5000)+"</p>"
		w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Interactions().Insert(ctx, &i) })
	}
	list := func(r storage.RowReader[helpdesk.Interaction, helpdesk.InteractionFilter], brief bool, seek storage.Seek) []helpdesk.Interaction {
		t.Helper()
		found, err := r.List(t.Context(), helpdesk.InteractionFilter{ConversationID: w.conversation.ID, Brief: brief}, seek)
		ok(t, err)
		return found
	}
	whole := list(w.in().Interactions(), false, all())
	want := slices.Clone(whole)
	for n := range want {
		if want[n].Body == "" {
			t.Fatal("an interaction has no body")
		}
		want[n].Body = ""
	}
	same(t, "all", want, list(w.in().Interactions(), true, all()))
	from := want[1].SortKey()
	same(t, "a page", want[2:4], list(w.in().Interactions(), true, storage.Seek{From: &storage.Position{Key: from, ID: want[1].ID}, Limit: 2}))
	w.tx(t, func(_ context.Context, tx helpdesk.Tx) error {
		same(t, "in a transaction", want, list(tx.Interactions(), true, all()))
		return nil
	})
	same(t, "afterwards", whole, list(w.in().Interactions(), false, all()))
}

// deskReads are the reads for agents at work.
func deskReads() map[string]readProbe {
	return map[string]readProbe{
		"NewestFrom": {ofMailbox, false, func(ctx context.Context, r helpdesk.Reader, v *world) (any, error) {
			newest, err := r.NewestFrom(ctx, v.conversation.ID, nobody)
			return nonZero(newest.ID != 0, v), err
		}},
		"Scheduled": {ofMailbox, false, func(ctx context.Context, r helpdesk.Reader, v *world) (any, error) {
			found, err := r.Scheduled(ctx, []int64{v.conversation.ID})
			return nonZero(len(found) > 0, v), err
		}},
		"MailTraffic": {ofMailbox, false, func(ctx context.Context, r helpdesk.Reader, v *world) (any, error) {
			traffic, err := r.MailTraffic(ctx, base.AddDate(-1, 0, 0))
			return nonZero(slices.ContainsFunc(traffic, func(t helpdesk.MailTraffic) bool { return t.MailboxID == v.mailbox.ID }), v), err
		}},
		"MailQueues": {ofMailbox, false, func(ctx context.Context, r helpdesk.Reader, v *world) (any, error) {
			queues, err := r.MailQueues(ctx)
			return nonZero(slices.ContainsFunc(queues, func(q helpdesk.MailQueue) bool { return q.MailboxID == v.mailbox.ID }), v), err
		}},
		"Count": {ofMailbox, false, func(ctx context.Context, r helpdesk.Reader, v *world) (any, error) {
			n, err := r.Count(ctx, helpdesk.CountQuery{
				Maintained: true, TagIDs: []int64{nobody}, Conversations: []helpdesk.ConversationFilter{{MailboxID: v.mailbox.ID}}, Quarantined: true,
				Notifications: []helpdesk.NotificationFilter{{UserID: v.user.ID}}, Limit: 10,
			})
			ofMailbox := func(c helpdesk.ConversationCount) bool { return c.MailboxID == v.mailbox.ID }
			return nonZero(err == nil && (n.Conversations[0]+n.Quarantined+n.Notifications[0] != 0 || slices.ContainsFunc(n.Maintained, ofMailbox)), v), err
		}},
	}
}

// testScheduled finds scheduled replies.
func testScheduled(t *testing.T, b Backend) {
	w := newWorld(t, b)
	everything := spread(t, w)
	w.answer.SendAt = time.Time{}
	var want []helpdesk.Interaction
	var ids []int64
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, tx.Interactions().Update(ctx, &w.answer))
		for n, c := range everything[1:7] {
			sends, now := w.newAnswer(c), w.newAnswer(c)
			sends.SendAt, now.SendAt = at(20-n), time.Time{}
			ok(t, tx.Interactions().Insert(ctx, &sends, &now))
			ids = append(ids, c.ID)
			want = append(want, sends)
		}
		return nil
	})
	slices.SortFunc(want, func(a, b helpdesk.Interaction) int { return cmp.Compare(a.ConversationID, b.ConversationID) })
	got, err := w.in().Scheduled(t.Context(), append(ids, w.conversation.ID, nobody))
	ok(t, err)
	same(t, "what waits", want, got)
	got, err = w.in().Scheduled(t.Context(), ids[:1])
	ok(t, err)
	same(t, "what waits in one", slices.DeleteFunc(slices.Clone(want), func(i helpdesk.Interaction) bool { return i.ConversationID != ids[0] }), got)
	for name, of := range map[string][]int64{"of no conversation": nil, "of none that has any": {w.conversation.ID}} {
		got, err = w.in().Scheduled(t.Context(), of)
		ok(t, err)
		same(t, name, 0, len(got))
	}
}
