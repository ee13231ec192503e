package storagetest

import (
	"context"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func transferTests() []testCase {
	return []testCase{
		{"Snapshot", testSnapshot},
		{"SnapshotOfAll", testSnapshotOfAll},
		{"NewIDs", testNewIDs},
		{"Bulk", testBulk},
	}
}

func kbTransferTests() []testCase {
	return []testCase{
		{"Snapshot", testKBSnapshot},
		{"SnapshotOfAll", testKBSnapshotOfAll},
		{"Reactions", testAddReactions},
	}
}

// passer is a user who has read the conversation of a world.
const passer = 1 << 41

func transferReads() map[string]readProbe {
	type r = helpdesk.Reader
	return map[string]readProbe{
		"AllInteractions": {ofMailbox, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.AllInteractions(ctx, all()))
		}},
		"ParticipantsOf": {ofMailbox, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.ParticipantsOf(ctx, []int64{v.conversation.ID}))
		}},
		"ReadMarks": {ofMailbox, false, func(ctx context.Context, r r, v *world) (any, error) {
			got, err := r.ReadMarks(ctx, []int64{v.conversation.ID})
			return nonZero(len(got), v), err
		}},
		"Redirects": {ofMailbox, false, func(ctx context.Context, r r, v *world) (any, error) {
			got, err := r.Redirects(ctx, []int64{v.conversation.ID})
			return nonZero(len(got), v), err
		}},
	}
}

func transferWrites() map[string]writeProbe {
	type tx = helpdesk.Tx
	return map[string]writeProbe{
		"InsertMoves": {call: func(ctx context.Context, tx tx, v *world) error {
			return tx.InsertMoves(ctx, []helpdesk.Move{{InteractionID: v.answer.ID, Rule: helpdesk.RuleSplit, CreatedAt: base}})
		}},
		"InsertRedirects": {call: func(ctx context.Context, tx tx, v *world) error {
			return tx.InsertRedirects(ctx, []helpdesk.Redirect{{ConversationID: -1, IntoID: v.conversation.ID}})
		}},
	}
}

// A snapshot shows what was there when it began, whatever is written meanwhile.
func testSnapshot(t *testing.T, b Backend) {
	w := newWorld(t, b)
	before := w.content(t)
	before.Buried = nil
	ok(t, b.Store.InSnapshot(t.Context(), w.scope, func(ctx context.Context, r helpdesk.Reader) error {
		got, err := readAll(ctx, r, w.address("grace"))
		ok(t, err)
		got.Buried = nil
		same(t, "the snapshot", before, got)
		if b.SnapshotsBlock {
			return nil
		}
		w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
			ok(t, tx.DeleteConversations(ctx, []int64{w.conversation.ID}))
			c := w.newCustomer("late")
			return tx.InsertCustomer(ctx, &c)
		})
		got, err = readAll(ctx, r, w.address("grace"))
		got.Buried = nil
		same(t, "the snapshot after a change", before, got)
		return err
	}))
	if !b.SnapshotsBlock {
		same(t, "conversations afterwards", 0, len(w.content(t).Conversations))
	}
}

// The parts of a snapshot belong together, although the first one was read before a change and the others after it.
func testSnapshotOfAll(t *testing.T, b Backend) {
	if b.SnapshotsBlock {
		return
	}
	w := newWorld(t, b)
	before := w.content(t)
	before.Buried = nil
	ok(t, b.Store.InSnapshot(t.Context(), w.scope, func(ctx context.Context, r helpdesk.Reader) error {
		_, err := r.Account(ctx)
		ok(t, err)
		w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
			w.changeEverything(t, ctx, tx)
			return nil
		})
		got, err := readAll(ctx, r, w.address("grace"))
		got.Buried = nil
		same(t, "the snapshot after a change", before, got)
		return err
	}))
}

func testNewIDs(t *testing.T, b Backend) {
	w, other := newAccount(t, b), newAccount(t, b)
	save := func(w *world, noun string, ids map[int64]int64) error {
		return w.try(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.SaveNewIDs(ctx, noun, ids) })
	}
	ok(t, save(w, "tag", map[int64]int64{1: 11, 2: 12, -3: -13}))
	ok(t, save(w, "team", map[int64]int64{1: 21}))
	ok(t, save(other, "tag", map[int64]int64{1: 31}))
	are := func(w *world, noun string, want map[int64]int64) {
		t.Helper()
		w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
			got, err := tx.NewIDs(ctx, noun, []int64{1, 2, -3, 4})
			same(t, noun, want, got)
			return err
		})
	}
	are(w, "tag", map[int64]int64{1: 11, 2: 12, -3: -13})
	are(w, "team", map[int64]int64{1: 21})
	are(w, "role", map[int64]int64{})
	are(other, "tag", map[int64]int64{1: 31})
	fails(t, "an id again", save(w, "tag", map[int64]int64{4: 14, 1: 15}), fault.Conflict)
	are(w, "tag", map[int64]int64{1: 11, 2: 12, -3: -13})
	if b.KB != nil {
		ok(t, b.KB.InTx(t.Context(), kb.Scope{AccountID: w.account.ID}, func(ctx context.Context, tx kb.Tx) error {
			ok(t, tx.SaveNewIDs(ctx, "site", map[int64]int64{7: 70}))
			got, err := tx.NewIDs(ctx, "tag", []int64{2})
			same(t, "in the knowledge base", map[int64]int64{2: 12}, got)
			return err
		}))
		are(w, "site", map[int64]int64{})
	}
	forget := func(n int) (removed int) {
		w.tx(t, func(ctx context.Context, tx helpdesk.Tx) (err error) {
			removed, err = tx.ForgetNewIDs(ctx, n)
			return err
		})
		return removed
	}
	same(t, "forgotten", 2, forget(2))
	forget(100)
	same(t, "forgotten at last", 0, forget(100))
	are(w, "tag", map[int64]int64{})
	are(other, "tag", map[int64]int64{1: 31})
}

// What is read in bulk is what other readers tell, and what is written as it is stays so.
func testBulk(t *testing.T, b Backend) {
	w := newWorld(t, b)
	got, err := w.in().AllInteractions(t.Context(), all())
	ok(t, err)
	same(t, "interactions", []helpdesk.Interaction{w.question, w.answer}, got)
	got, err = w.in().AllInteractions(t.Context(), storage.Seek{Limit: 1, From: &storage.Position{ID: w.question.ID}})
	ok(t, err)
	same(t, "the second", []helpdesk.Interaction{w.answer}, got)
	took, err := w.in().ParticipantsOf(t.Context(), []int64{w.conversation.ID, nobody})
	ok(t, err)
	same(t, "participants", []helpdesk.Participants{{ConversationID: w.conversation.ID, Keys: []string{w.address("grace")}}}, took)
	marks, err := w.in().ReadMarks(t.Context(), []int64{w.conversation.ID, nobody})
	ok(t, err)
	same(t, "marks", []helpdesk.ReadMark{{UserID: passer, ConversationID: w.conversation.ID, InteractionID: w.question.ID}}, marks)
	move := helpdesk.Move{
		InteractionID: w.question.ID, Rule: helpdesk.RuleSplit, FromID: -5, IntoID: 1 << 40, MailboxID: 1 << 40, UserID: 1 << 40, CreatedAt: at(3),
	}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, tx.InsertMoves(ctx, []helpdesk.Move{move}))
		return tx.InsertRedirects(ctx, []helpdesk.Redirect{{ConversationID: -5, MailboxID: w.empty.ID, IntoID: w.conversation.ID}})
	})
	moves, err := w.in().Moves(t.Context(), []int64{w.question.ID})
	ok(t, err)
	same(t, "moves", []helpdesk.Move{move}, moves)
	redirects, err := w.in().Redirects(t.Context(), []int64{w.conversation.ID, nobody})
	ok(t, err)
	same(t, "redirects", []helpdesk.Redirect{
		{ConversationID: -5, MailboxID: w.empty.ID, IntoID: w.conversation.ID}, {ConversationID: w.merged, MailboxID: w.mailbox.ID, IntoID: w.conversation.ID},
	}, redirects)
	into, err := w.in().MergedInto(t.Context(), -5)
	ok(t, err)
	same(t, "what it was merged into", w.conversation.ID, into.ID)
}

func testKBSnapshot(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	before, err := readLibrary(t.Context(), w.inSite())
	ok(t, err)
	ok(t, b.KB.InSnapshot(t.Context(), func(ctx context.Context, within func(kb.Scope) kb.Reader) error {
		got, err := readLibrary(ctx, within(w.shelf.scope))
		ok(t, err)
		same(t, "the snapshot", before, got)
		if b.SnapshotsBlock {
			return nil
		}
		w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error { return tx.Articles().Delete(ctx, w.shelf.article.ID) })
		got, err = readLibrary(ctx, within(w.shelf.scope))
		same(t, "the snapshot after a change", before, got)
		return err
	}))
}

func testKBSnapshotOfAll(t *testing.T, b Backend) {
	if b.SnapshotsBlock {
		return
	}
	w := newLibrary(t, b)
	before, err := readLibrary(t.Context(), w.inSite())
	ok(t, err)
	ok(t, b.KB.InSnapshot(t.Context(), func(ctx context.Context, within func(kb.Scope) kb.Reader) error {
		_, err := within(w.shelf.scope).Articles().Get(ctx, w.shelf.article.ID)
		ok(t, err)
		w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error { return tx.Articles().Delete(ctx, w.shelf.article.ID) })
		got, err := readLibrary(ctx, within(w.shelf.scope))
		same(t, "the snapshot after a change", before, got)
		return err
	}))
}

func testAddReactions(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error {
		n := kb.Reactions{ArticleID: w.shelf.article.ID, Revision: 1, Positive: 3, Negative: 1}
		ok(t, tx.AddReactions(ctx, []kb.Reactions{n, n}))
		return tx.AddReactions(ctx, nil)
	})
	r, err := w.inSite().Revision(t.Context(), w.shelf.article.ID, 1)
	ok(t, err)
	same(t, "positive and negative", [2]int64{6, 2}, [2]int64{r.Positive, r.Negative})
	err = w.tryKB(t, func(ctx context.Context, tx kb.Tx) error {
		return tx.AddReactions(ctx, []kb.Reactions{{ArticleID: w.shelf.article.ID, Revision: nobody, Positive: 1}})
	})
	fails(t, "a revision that is not there", err, fault.NotFound)
}

func kbTransferWrites() map[string]writeProbeOf[kb.Tx] {
	type tx = kb.Tx
	return map[string]writeProbeOf[kb.Tx]{
		"AddReactions": {level: ofSite, call: func(ctx context.Context, tx tx, v *world) error {
			return tx.AddReactions(ctx, []kb.Reactions{{ArticleID: v.shelf.article.ID, Revision: 1, Positive: 1}})
		}},
	}
}
