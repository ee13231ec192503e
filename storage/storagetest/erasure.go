package storagetest

import (
	"context"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

func (w *world) newErasure(what string) helpdesk.Erasure {
	return helpdesk.Erasure{CustomerID: 4711, Digest: []byte("digest " + w.mark + what), UserID: w.user.ID, ErasedAt: at(5)}
}

// testErasureDigests finds tombstones by digests, byte by byte.
func testErasureDigests(t *testing.T, b Backend) {
	w := newWorld(t, b)
	binary, text := w.newErasure("binary"), w.newErasure("text")
	binary.Digest = append([]byte{0, 255}, binary.Digest...)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return helpdesk.Nouns().Erasures.Rows(tx).Insert(ctx, &binary, &text)
	})
	for name, test := range map[string]struct {
		digests [][]byte
		want    []helpdesk.Erasure
	}{
		"all":       {nil, []helpdesk.Erasure{w.erasure, binary, text}},
		"one":       {[][]byte{binary.Digest}, []helpdesk.Erasure{binary}},
		"some":      {[][]byte{text.Digest, nil, {0}, w.erasure.Digest}, []helpdesk.Erasure{w.erasure, text}},
		"none":      {[][]byte{nil}, nil},
		"a part":    {[][]byte{text.Digest[:4]}, nil},
		"with more": {[][]byte{append([]byte{0}, text.Digest...)}, nil},
	} {
		got, err := helpdesk.Nouns().Erasures.Reader(w.in()).List(t.Context(), helpdesk.ErasureFilter{Digests: test.digests}, storage.Seek{Limit: storage.NoLimit})
		ok(t, err)
		same(t, name, test.want, got)
	}
}

// testInvolving finds the conversations that somebody has, wrote in or takes part in, each once.
func testInvolving(t *testing.T, b Backend) {
	w := newWorld(t, b)
	stranger := helpdesk.Customer{FirstName: "Stranger", CreatedAt: base, UpdatedAt: base}
	part, wrote, none := w.newConversation(), w.newConversation(), w.newConversation()
	key := w.address("takes-part")
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, tx.InsertCustomer(ctx, &stranger))
		for _, c := range []*helpdesk.Conversation{&part, &wrote, &none} {
			c.CustomerID, c.CustomerEmailID = stranger.ID, 0
			ok(t, tx.Conversations().Insert(ctx, c))
		}
		said := w.newQuestion(wrote)
		said.CustomerID = w.customer.ID
		ok(t, tx.Interactions().Insert(ctx, &said))
		return tx.AddParticipants(ctx, part.ID, []string{key, "other@x"})
	})
	last := storage.Position{ID: w.conversation.ID}
	for name, test := range map[string]struct {
		customer int64
		keys     []string
		seek     storage.Seek
		want     []int64
	}{
		"all":              {w.customer.ID, []string{key}, storage.Seek{Limit: 10}, []int64{w.conversation.ID, part.ID, wrote.ID}},
		"the customer's":   {w.customer.ID, nil, storage.Seek{Limit: 10}, []int64{w.conversation.ID, wrote.ID}},
		"by a key":         {nobody, []string{"nothing", key}, storage.Seek{Limit: 10}, []int64{part.ID}},
		"first page":       {w.customer.ID, []string{key}, storage.Seek{Limit: 2}, []int64{w.conversation.ID, part.ID}},
		"next page":        {w.customer.ID, []string{key}, storage.Seek{Limit: 2, From: &last}, []int64{part.ID, wrote.ID}},
		"another spelling": {nobody, []string{"TAKES-PART"}, storage.Seek{Limit: 10}, nil},
		"nobody":           {nobody, nil, storage.Seek{Limit: 10}, nil},
	} {
		got, err := w.in().Involving(t.Context(), test.customer, test.keys, test.seek)
		ok(t, err)
		ids := []int64{}
		for _, c := range got {
			ids = append(ids, c.ID)
		}
		same(t, name, append([]int64{}, test.want...), ids)
	}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, tx.RemoveParticipants(ctx, part.ID, []string{key, "unknown"}))
		return tx.RemoveParticipants(ctx, part.ID, nil)
	})
	left, err := w.in().Participants(t.Context(), part.ID, 10)
	ok(t, err)
	same(t, "participants left", []string{"other@x"}, left)
}
