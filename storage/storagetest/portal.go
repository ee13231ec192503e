package storagetest

import (
	"context"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage"
)

func portalTests() []testCase {
	return []testCase{
		{"Correspondence", testCorrespondence},
		{"AudienceChanges", testAudienceChanges},
		{"ConversationsOfAudience", testConversationsOfAudience},
		{"Seen", testSeen},
	}
}

func (w *world) newPortalKey() helpdesk.PortalKey {
	return helpdesk.PortalKey{Name: "App " + w.mark, Algorithm: helpdesk.PortalEdDSA, PublicKey: []byte("\x00\xffpublic"),
		SealedSecret: []byte("\xff\x00sealed"), UserID: w.user.ID, LastUsedAt: at(3), CreatedAt: base}
}

// said adds interactions of all kinds to the conversation and returns those whose audience includes the customer's first
// address.
func (w *world) said(t *testing.T) (all, public []helpdesk.Interaction) {
	t.Helper()
	grace := w.address("grace")
	of := func(change func(i *helpdesk.Interaction)) helpdesk.Interaction {
		i := w.newAnswer(w.conversation)
		i.Bcc, i.SeenAt = nil, time.Time{}
		change(&i)
		return i
	}
	all = []helpdesk.Interaction{
		of(func(i *helpdesk.Interaction) { i.To = []string{"Grace" + grace[len("grace"):]} }),
		of(func(i *helpdesk.Interaction) { i.To, i.Cc = []string{"x@example.com"}, []string{grace} }),
		of(func(i *helpdesk.Interaction) { i.To, i.Bcc = nil, []string{grace} }),
		of(func(i *helpdesk.Interaction) { i.Type, i.To = helpdesk.TypeNote, nil }),
		of(func(i *helpdesk.Interaction) { i.Status = helpdesk.StatusDraft }),
		of(func(i *helpdesk.Interaction) { i.SendStartedAt = time.Time{} }),
		of(func(i *helpdesk.Interaction) { i.IsForward = true }),
		of(func(i *helpdesk.Interaction) { i.To = []string{"very" + grace, grace + ".example"} }),
		of(func(i *helpdesk.Interaction) { i.Type = "later" }),
	}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		for n := range all {
			if err := tx.Interactions().Insert(ctx, &all[n]); err != nil {
				return err
			}
		}
		return nil
	})
	return all, all[:3]
}

func testCorrespondence(t *testing.T, b Backend) {
	w := newWorld(t, b)
	_, public := w.said(t)
	public = append([]helpdesk.Interaction{w.answer}, public...)
	read := func(seek storage.Seek, keys ...string) []helpdesk.Interaction {
		got, err := w.in().Correspondence(t.Context(), w.conversation.ID, keys, seek)
		ok(t, err)
		return got
	}
	grace := w.address("grace")
	same(t, "of the customer", public, read(all(), grace))
	same(t, "of two addresses", public, read(all(), "nobody@example.com", grace))
	same(t, "of the author", []helpdesk.Interaction{w.question}, read(all(), "a."+grace))
	same(t, "of a copy", []helpdesk.Interaction{w.question}, read(all(), w.address("cc2")))
	same(t, "first page", public[:2], read(storage.Seek{Limit: 2}, grace))
	same(t, "second page", public[2:], read(storage.Seek{Limit: 2, From: &storage.Position{Key: public[1].SortKey(), ID: public[1].ID}}, grace))
	same(t, "backwards", public[3:], read(storage.Seek{Limit: 1, Desc: true}, grace))
	for what, keys := range map[string][]string{
		"nobody": nil, "an empty key": {""}, "a line feed": {"\n"}, "a part": {"grace@"}, "a pattern": {"%"}, "two lines": {w.address("cc1") + "\n" + w.address("cc2")},
	} {
		same(t, "of "+what, []helpdesk.Interaction(nil), read(all(), keys...))
	}
	last := func(ids []int64, keys ...string) []helpdesk.Interaction {
		got, err := w.in().LastCorrespondence(t.Context(), ids, keys)
		ok(t, err)
		return got
	}
	second := w.newConversation()
	question := w.newQuestion(second)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		if err := tx.Conversations().Insert(ctx, &second); err != nil {
			return err
		}
		question.ConversationID = second.ID
		question.Cc = []string{grace}
		return tx.Interactions().Insert(ctx, &question)
	})
	same(t, "newest of each", []helpdesk.Interaction{public[3], question}, last([]int64{second.ID, w.conversation.ID, nobody, second.ID}, grace))
	same(t, "newest of one", []helpdesk.Interaction{w.question}, last([]int64{second.ID, w.conversation.ID}, w.address("cc2")))
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		public[1].At = at(9)
		return tx.Interactions().Update(ctx, &public[1])
	})
	same(t, "last by its place", public[1:2], last([]int64{w.conversation.ID}, grace))
	same(t, "places", []helpdesk.Interaction{public[0], public[2], public[3], public[1]}, read(all(), grace))
	same(t, "newest of none", []helpdesk.Interaction(nil), last(nil, grace))
	same(t, "newest of nobody", []helpdesk.Interaction(nil), last([]int64{second.ID}))
}

// An update can make an interaction visible, and hide it.
func testAudienceChanges(t *testing.T, b Backend) {
	w := newWorld(t, b)
	seen := func() int {
		got, err := w.in().Correspondence(t.Context(), w.conversation.ID, []string{w.address("grace")}, all())
		ok(t, err)
		return len(got)
	}
	i := w.answer
	for _, step := range []struct {
		what   string
		change func()
		want   int
	}{
		{"held", func() { i.SendStartedAt = time.Time{} }, 0},
		{"sent", func() { i.SendStartedAt = at(50) }, 1},
		{"forwarded", func() { i.IsForward = true }, 0},
		{"to somebody else", func() { i.IsForward, i.To = false, []string{"x@example.com"} }, 0},
		{"to her too", func() { i.Cc = []string{w.address("grace")} }, 1},
	} {
		step.change()
		w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Interactions().Update(ctx, &i) })
		same(t, step.what, step.want, seen())
	}
}

func testConversationsOfAudience(t *testing.T, b Backend) {
	w := newWorld(t, b)
	hidden := w.newConversation()
	note := w.newAnswer(hidden)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		if err := tx.Conversations().Insert(ctx, &hidden); err != nil {
			return err
		}
		note.ConversationID, note.Type = hidden.ID, helpdesk.TypeNote
		return tx.Interactions().Insert(ctx, &note)
	})
	list := func(keys ...string) []helpdesk.Conversation {
		got, err := w.in().Conversations().List(t.Context(), helpdesk.ConversationOrder{ConversationFilter: helpdesk.ConversationFilter{CustomerID: w.customer.ID, Audience: keys}, Sort: helpdesk.ByCreated}, all())
		ok(t, err)
		return got
	}
	same(t, "everybody's", []helpdesk.Conversation{w.conversation, hidden}, list())
	same(t, "hers", []helpdesk.Conversation{w.conversation}, list("nobody@example.com", w.address("grace")))
	same(t, "nobody's", []helpdesk.Conversation(nil), list("nobody@example.com"))
	same(t, "an empty key's", []helpdesk.Conversation(nil), list(""))
}

func testSeen(t *testing.T, b Backend) {
	w := newWorld(t, b)
	said, _ := w.said(t)
	mark := func(when time.Time, ids ...int64) (first []int64) {
		w.tx(t, func(ctx context.Context, tx helpdesk.Tx) (err error) {
			first, err = tx.MarkSeen(ctx, ids, when)
			return err
		})
		return first
	}
	same(t, "first sight", []int64{w.answer.ID, said[0].ID}, mark(at(70), said[0].ID, w.answer.ID, said[3].ID, w.question.ID, nobody))
	same(t, "second sight", []int64{said[1].ID}, mark(at(80), said[0].ID, said[1].ID))
	same(t, "none", []int64(nil), mark(at(80)))
	said[0].SeenAt, w.answer.SeenAt = at(70), at(70)
	one(t, "seen answer", said[0], w.in().Interactions().Get, said[0].ID)
	one(t, "first answer", w.answer, w.in().Interactions().Get, w.answer.ID)
	one(t, "note", said[3], w.in().Interactions().Get, said[3].ID)
	one(t, "question", w.question, w.in().Interactions().Get, w.question.ID)
}

func portalReads() map[string]readProbe {
	type r = helpdesk.Reader
	return map[string]readProbe{
		"Correspondence": {ofMailbox, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.Correspondence(ctx, v.conversation.ID, []string{v.address("grace")}, all()))
		}},
		"LastCorrespondence": {ofMailbox, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.LastCorrespondence(ctx, []int64{v.conversation.ID}, []string{v.address("grace")}))
		}},
	}
}

func portalWrites() map[string]writeProbe {
	type tx = helpdesk.Tx
	return map[string]writeProbe{
		"MarkSeen": {quiet: true, call: func(ctx context.Context, tx tx, v *world) error {
			_, err := tx.MarkSeen(ctx, []int64{v.answer.ID}, at(99))
			return err
		}},
	}
}

// keys returns the keys of addresses that may occur in some content.
func (g *generator) keys(seen content) []string {
	i := oneOf(g, seen.Interactions)
	return append([]string{mailaddr.Key(oneOf(g, i.To)), g.participant()}, oneOf(g, seen.Interactions).Audience()...)
}

func (g *generator) writePortal(seen content) operation {
	old := oneOf(g, seen.PortalKeys)
	switch g.IntN(7) {
	case 5, 6:
		return operation{method: "InsertAudit", args: []any{[]helpdesk.AuditEntry{
			{Action: oneOf(g, []string{"a", "b"}), Subject: 1, MailboxID: oneOf(g, append(seen.Mailboxes, helpdesk.Mailbox{})).ID, Address: g.text(), CreatedAt: g.time(false), Changes: []storage.AuditChange{{Field: "name", To: []string{g.text()}}}},
			{Action: "c", CreatedAt: g.time(false)},
		}}}
	case 0:
		return operation{method: "PortalKeys.Delete", args: []any{g.either("PortalKey", old.ID)}}
	case 1:
		old.LastUsedAt = g.time(false)
		return operation{method: "PortalKeys.Update", args: []any{[]*helpdesk.PortalKey{&old}}}
	case 2, 3:
		return operation{method: "MarkSeen", args: []any{some(g, "Interaction", seen.Interactions, interactionID), g.time(false)}}
	}
	k := helpdesk.PortalKey{Name: g.text(), Algorithm: helpdesk.PortalHS256, LastUsedAt: g.time(true), CreatedAt: g.time(false)}
	return operation{method: "PortalKeys.Insert", args: []any{[]*helpdesk.PortalKey{&k}}}
}
