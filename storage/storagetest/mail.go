package storagetest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
)

func mailTests() []testCase {
	return []testCase{
		{"Ledger", testLedger},
		{"LedgerStates", testLedgerStates},
		{"Tombstones", testTombstones},
		{"BlobKeys", testBlobKeys},
		{"Participants", testParticipants},
		{"Involving", testInvolving},
		{"Erasures", testErasureDigests},
		{"RefersTo", testRefersTo},
		{"Messages", testMessages},
		{"Thread", testThread},
	}
}

func testLedger(t *testing.T, b Backend) {
	w := newWorld(t, b)
	m := w.newMail("2")
	m.Identity, m.MessageID, m.Reason = nil, "", ""
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.InsertInbound(ctx, []*ledger.Mail{&m})
	})
	one(t, "mail", m, w.in().InboundMail, m.ID)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		locked, err := tx.InboundForUpdate(ctx, m.ID)
		same(t, "InboundForUpdate", m, locked)
		if err != nil {
			return err
		}
		m.State, m.Reason, m.MessageID, m.Identity = ledger.Filed, "filed", "x@y", []byte{0, 255}
		m.ConversationID, m.InteractionID, m.UpdatedAt, m.Size = w.conversation.ID, w.answer.ID, at(33), 12
		m.Source, m.Position, m.RawKey, m.Partial = "replay", "", "raw/2", true
		return tx.UpdateInbound(ctx, &m)
	})
	one(t, "mail", m, w.in().InboundMail, m.ID)
	for _, identity := range [][]byte{nil, {}, {0}, []byte("nothing")} {
		w.identified(t, nil, identity)
	}
	other := w.newMail("other") // the same mail in another mailbox
	other.MailboxID, other.Identity = w.empty.ID, m.Identity
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.InsertInbound(ctx, []*ledger.Mail{&other})
	})
	w.identified(t, []ledger.Mail{m, other}, m.Identity, nil, m.Identity, []byte("nothing"))
	w.identified(t, []ledger.Mail{w.mail, m, other}, w.mail.Identity, m.Identity)
	for id, want := range map[int64][]ledger.Mail{w.question.ID: {w.mail}, w.answer.ID: {m}, nobody: nil, 0: nil} {
		found, err := w.in().InboundOf(t.Context(), id)
		ok(t, err)
		same(t, "InboundOf", append([]ledger.Mail{}, want...), append([]ledger.Mail{}, found...))
	}
}

// identified looks for mails by their identities.
func (w *world) identified(t *testing.T, want []ledger.Mail, identities ...[]byte) {
	t.Helper()
	found, err := w.in().InboundByIdentity(t.Context(), identities)
	ok(t, err)
	same(t, "InboundByIdentity", append([]ledger.Mail{}, want...), found)
}

func testLedgerStates(t *testing.T, b Backend) {
	w := newWorld(t, b)
	states := []ledger.State{ledger.Quarantined, ledger.Ignored, ledger.Quarantined, ledger.Received, ledger.Quarantined}
	rows := make([]*ledger.Mail, len(states))
	for i, state := range states {
		m := w.newMail(fmt.Sprint("state", i))
		m.State, m.Identity = state, nil
		rows[i] = &m
	}
	rows[4].MailboxID = w.empty.ID
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.InsertInbound(ctx, rows) })
	counts := func(mailbox int64) ledger.Counts {
		got, err := w.in().InboundCounts(t.Context(), mailbox)
		ok(t, err)
		return got
	}
	same(t, "counts", ledger.Counts{Received: 1, Quarantined: 2, Ignored: 2}, counts(w.mailbox.ID))
	same(t, "counts of the other mailbox", ledger.Counts{Quarantined: 1}, counts(w.empty.ID))
	same(t, "counts of none", ledger.Counts{}, counts(nobody))
	set := func(ids ...int64) (changed []int64) {
		w.tx(t, func(ctx context.Context, tx helpdesk.Tx) (err error) {
			changed, err = tx.SetInboundState(ctx, ids, ledger.Quarantined, ledger.Received, at(44))
			return err
		})
		return changed
	}
	all := []int64{rows[4].ID, w.mail.ID, rows[3].ID, nobody, rows[1].ID, rows[0].ID}
	same(t, "changed", []int64{rows[0].ID, rows[4].ID}, set(all...))
	same(t, "changed again", []int64{}, set(all...))
	same(t, "changed of none", []int64{}, set())
	same(t, "counts afterwards", ledger.Counts{Received: 2, Quarantined: 1, Ignored: 2}, counts(w.mailbox.ID))
	want := *rows[0]
	want.State, want.Reason, want.UserID, want.Note, want.UpdatedAt = ledger.Received, "", 0, "", at(44)
	one(t, "changed mail", want, w.in().InboundMail, want.ID)
	one(t, "mail left alone", *rows[1], w.in().InboundMail, rows[1].ID)
}

func testTombstones(t *testing.T, b Backend) {
	w := newWorld(t, b)
	kept := w.newConversation()
	loose := w.newMail("2") // of the conversation, but not of an interaction
	loose.ConversationID = w.conversation.ID
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.InsertInbound(ctx, []*ledger.Mail{&loose})
	})
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		if err := tx.Conversations().Insert(ctx, &kept); err != nil {
			return err
		}
		return tx.DeleteConversations(ctx, []int64{nobody, w.conversation.ID, w.conversation.ID})
	})
	got := w.content(t)
	tombstone := w.mail
	tombstone.ConversationID, tombstone.InteractionID, tombstone.RawKey, tombstone.Head = 0, 0, "", ledger.Head{}
	loose.ConversationID, loose.RawKey, loose.Head = 0, "", ledger.Head{}
	same(t, "ledger", []ledger.Mail{tombstone, loose}, got.Mails)
	same(t, "conversations", []helpdesk.Conversation{kept}, got.Conversations)
	if len(got.Interactions)+len(got.Attachments)+len(got.Deliveries) > 0 {
		t.Errorf("left over: %+v %+v %+v", got.Interactions, got.Attachments, got.Deliveries)
	}
	w.identified(t, []ledger.Mail{tombstone}, w.mail.Identity)
	again := w.newMail("1")
	again.Identity = nil
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		if err := tx.InsertInbound(ctx, []*ledger.Mail{&again}); err != nil {
			return err
		}
		return tx.DeleteConversations(ctx, nil)
	})
	same(t, "id of a mail at a tombstone's position", int64(0), again.ID)
}

func testBlobKeys(t *testing.T, b Backend) {
	w := newWorld(t, b)
	second := w.newConversation()
	var attachment helpdesk.Attachment
	raw := w.newMail("2")
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, tx.Conversations().Insert(ctx, &second))
		i := w.newAnswer(second)
		ok(t, tx.Interactions().Insert(ctx, &i))
		attachment = w.newAttachment(i, "other")
		raw.ConversationID, raw.InteractionID, raw.MailboxID = second.ID, i.ID, w.empty.ID // as received by another mailbox
		ok(t, tx.InsertInbound(ctx, []*ledger.Mail{&raw}))
		return tx.Attachments().Insert(ctx, &attachment)
	})
	keys := func(ids ...int64) []string {
		got, err := w.in().BlobKeys(t.Context(), ids)
		ok(t, err)
		slices.Sort(got)
		return got
	}
	first := []string{w.attachment.BlobKey, w.mail.RawKey}
	other := []string{attachment.BlobKey, raw.RawKey}
	both := slices.Concat(first, other)
	slices.Sort(first)
	slices.Sort(other)
	slices.Sort(both)
	same(t, "keys of one", first, keys(w.conversation.ID))
	same(t, "keys of the other", other, keys(second.ID, nobody))
	same(t, "keys of both", both, keys(w.conversation.ID, second.ID))
	same(t, "keys of none", []string{}, keys())
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.DeleteConversations(ctx, []int64{w.conversation.ID})
	})
	same(t, "keys of a deleted one", []string{}, keys(w.conversation.ID))
}

func testParticipants(t *testing.T, b Backend) {
	w := newWorld(t, b)
	second := w.newConversation()
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, tx.Conversations().Insert(ctx, &second))
		ok(t, tx.AddParticipants(ctx, w.conversation.ID, []string{"a@x", "b@x", "a@x"}))
		ok(t, tx.AddParticipants(ctx, w.conversation.ID, []string{"b@x", "c@x"}))
		return tx.AddParticipants(ctx, w.conversation.ID, nil)
	})
	for _, test := range []struct {
		conversation int64
		keys         []string
		want         bool
	}{
		{w.conversation.ID, []string{"a@x"}, true}, {w.conversation.ID, []string{"z@x", "c@x"}, true}, {w.conversation.ID, []string{"z@x"}, false},
		{w.conversation.ID, []string{"A@x"}, false}, {w.conversation.ID, nil, false}, {second.ID, []string{"a@x"}, false},
		{w.conversation.ID, []string{w.address("grace")}, true},
	} {
		got, err := w.in().Participant(t.Context(), test.conversation, test.keys)
		ok(t, err)
		same(t, fmt.Sprintf("Participant(%v)", test.keys), test.want, got)
	}
	grace := w.address("grace")
	whole := slices.Sorted(slices.Values([]string{"a@x", "b@x", "c@x", grace}))
	for n, want := range map[int][]string{0: {}, 2: whole[:2], 4: whole, 100: whole} {
		got, err := w.in().Participants(t.Context(), w.conversation.ID, n)
		ok(t, err)
		same(t, fmt.Sprintf("%d Participants", n), want, got)
	}
	for _, none := range []int64{second.ID, nobody} {
		got, err := w.in().Participants(t.Context(), none, 10)
		ok(t, err)
		same(t, "Participants of none", []string{}, got)
	}
}

// References to a conversation follow it when it is merged, and are cleared when it is deleted.
func testRefersTo(t *testing.T, b Backend) {
	w := newWorld(t, b)
	target, other, third := w.newConversation(), w.newConversation(), w.newConversation()
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		for _, c := range []*helpdesk.Conversation{&target, &other, &third} {
			c.RefersTo = w.conversation.ID
			ok(t, tx.Conversations().Insert(ctx, c))
		}
		third.RefersTo = 0
		return tx.Conversations().Update(ctx, &third)
	})
	refers := func(c helpdesk.Conversation) int64 {
		got, err := w.in().Conversations().Get(t.Context(), c.ID)
		ok(t, err)
		return got.RefersTo
	}
	same(t, "before", w.conversation.ID, refers(other))
	w.merge(t, w.conversation.ID, target.ID)
	same(t, "refers to where it was merged into", target.ID, refers(other))
	same(t, "does not refer to itself", int64(0), refers(target))
	same(t, "refers to none", int64(0), refers(third))
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.DeleteConversations(ctx, []int64{target.ID})
	})
	same(t, "refers to what is gone", int64(0), refers(other))
}

func testMessages(t *testing.T, b Backend) {
	w := newWorld(t, b)
	elsewhere, bare := w.newConversation(), w.newAnswer(w.conversation)
	elsewhere.MailboxID = w.empty.ID
	bare.MessageID = ""
	twin := w.newQuestion(w.conversation)
	twin.MessageID = w.question.MessageID
	var foreign helpdesk.Interaction
	many := make([]helpdesk.Interaction, 105)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, tx.Conversations().Insert(ctx, &elsewhere))
		foreign = w.newAnswer(elsewhere)
		foreign.MessageID = w.answer.MessageID
		for _, i := range []*helpdesk.Interaction{&bare, &twin, &foreign} {
			ok(t, tx.Interactions().Insert(ctx, i))
		}
		for n := range many {
			many[n] = w.newAnswer(w.conversation)
			many[n].MessageID = "many@" + w.mark
			ok(t, tx.Interactions().Insert(ctx, &many[n]))
		}
		return nil
	})
	find := func(mailbox int64, messageIDs ...string) []helpdesk.MessageRef {
		refs, err := w.in().Messages(t.Context(), mailbox, messageIDs)
		ok(t, err)
		return refs
	}
	same(t, "in and out, newest first", []helpdesk.MessageRef{ref(twin), ref(w.answer), ref(w.question)},
		find(w.mailbox.ID, w.question.MessageID, "unknown@x", w.answer.MessageID, ""))
	same(t, "of another mailbox", []helpdesk.MessageRef{ref(foreign)}, find(w.empty.ID, w.answer.MessageID, w.question.MessageID))
	same(t, "none asked for", []helpdesk.MessageRef{}, find(w.mailbox.ID))
	same(t, "without Message-ID", []helpdesk.MessageRef{}, find(w.mailbox.ID, ""))
	relayed := ref(w.answer)
	relayed.MessageID = w.delivery.MessageID
	same(t, "by the id of a relay", []helpdesk.MessageRef{relayed, ref(w.question)}, find(w.mailbox.ID, w.delivery.MessageID, w.question.MessageID)[1:])
	same(t, "by both ids", []helpdesk.MessageRef{ref(w.answer)}, find(w.mailbox.ID, w.delivery.MessageID, w.answer.MessageID))
	same(t, "by the id of a relay in another mailbox", []helpdesk.MessageRef{}, find(w.empty.ID, w.delivery.MessageID))
	hundred := find(w.mailbox.ID, "many@"+w.mark)
	if len(hundred) != 100 || hundred[0] != ref(many[104]) || hundred[99] != ref(many[5]) {
		t.Errorf("got %d messages, want the newest 100", len(hundred))
	}
}

func ref(i helpdesk.Interaction) helpdesk.MessageRef {
	return helpdesk.MessageRef{MessageID: i.MessageID, InteractionID: i.ID, ConversationID: i.ConversationID, Type: i.Type, IsForward: i.IsForward}
}

func testThread(t *testing.T, b Backend) {
	w := newWorld(t, b)
	draft, forward, bare, last := w.newAnswer(w.conversation), w.newAnswer(w.conversation), w.newAnswer(w.conversation), w.newQuestion(w.conversation)
	draft.Status, forward.IsForward, bare.MessageID = helpdesk.StatusDraft, true, ""
	between := w.newQuestion(w.conversation) // arrived last, but is placed before the answer
	w.answer.At, last.At = at(-1), at(0)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		for _, i := range []*helpdesk.Interaction{&draft, &forward, &bare, &last, &between} {
			ok(t, tx.Interactions().Insert(ctx, i))
		}
		return tx.Interactions().Update(ctx, &w.answer)
	})
	thread := []helpdesk.MessageRef{ref(w.question), ref(between), ref(w.answer), ref(last)}
	for n := range 6 {
		got, err := w.in().Thread(t.Context(), w.conversation.ID, n)
		ok(t, err)
		same(t, fmt.Sprintf("last %d", n), thread[max(0, 4-n):], got)
	}
}
