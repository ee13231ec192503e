package helpdesk_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// A discarded draft is gone for everybody, and comes back for its author with its files and images.
func TestDiscardDraft(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.receive(opening()).ConversationID
	other := b.member(identity.RoleAgent)
	in := helpdesk.InteractionInput{Type: helpdesk.TypeUser, Status: helpdesk.StatusDraft, Body: "Oil it.", To: []string{"bo@example.net"}, Bcc: []string{"boss@example.org"}}
	draft := must(b.desk.Interactions().Create(b.ctx, id, in))(t)
	file := must(b.desk.Attachments().Create(b.ctx, id, draft.ID, helpdesk.Upload{Filename: "oil.png", Content: strings.NewReader("\x89PNG\r\n\x1a\nx")}))(t)
	shown := `<p>Oil it.</p><img src="` + helpdesk.AttachmentSource(draft.ID, file.ID, "") + `">`
	draft = must(b.desk.Interactions().Update(b.ctx, id, draft.ID, helpdesk.InteractionUpdate{Body: storage.Some(shown)}))(t)

	gone := must(b.desk.Interactions().Discard(b.ctx, id, draft.ID))(t)
	if all := b.interactions(id); len(all) != 1 {
		t.Errorf("the draft is still there: %d", len(all))
	}
	if _, err := other.Interactions().Restore(b.ctx, gone); !fault.Is(err, fault.NotFound) {
		t.Errorf("a colleague brings it back: %v", err)
	}
	back := must(b.desk.Interactions().Restore(b.ctx, gone))(t)
	files := must(b.desk.Attachments().List(b.ctx, id, back.ID))(t)
	if len(files) != 1 || !files[0].IsInline || files[0].BlobKey == file.BlobKey {
		t.Errorf("its files are %+v", files)
	}
	if diff := cmp.Diff([]any{in.To, in.Bcc, helpdesk.StatusDraft}, []any{back.To, back.Bcc, back.Status}); diff != "" {
		t.Error(diff)
	}
	if _, err := b.desk.Interactions().Restore(b.ctx, gone); !fault.Is(err, fault.Conflict) {
		t.Errorf("it comes back beside another draft: %v", err)
	}
	sent := b.answer(id, helpdesk.InteractionInput{Body: "Oil it now."})
	if _, err := b.desk.Interactions().Discard(b.ctx, id, sent.ID); !fault.Is(err, fault.Conflict) {
		t.Errorf("a reply that was sent is discarded: %v", err)
	}
}

// What is kept of a discarded draft goes with its conversation, and when the customer is erased.
func TestErasedDraft(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		do   func(b *bundle, c helpdesk.Conversation) error
		gone bool
	}{
		"nothing":              {func(*bundle, helpdesk.Conversation) error { return nil }, false},
		"conversation deleted": {func(b *bundle, c helpdesk.Conversation) error { return b.desk.Conversations().Delete(b.ctx, c.ID) }, true},
		"customer erased":      {func(b *bundle, c helpdesk.Conversation) error { return b.desk.Customers().Erase(b.ctx, c.CustomerID) }, true},
		"erased by the operator": {func(b *bundle, c helpdesk.Conversation) error {
			return b.svc.Operator().EraseCustomer(b.ctx, b.account.ID, c.CustomerID)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			var notes storage.Idempotency = b.store
			c := b.conversation(b.receive(opening()).ConversationID)
			draft := must(b.desk.Interactions().Create(b.ctx, c.ID, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Status: helpdesk.StatusDraft, Body: "Dear Ada"}))(t)
			key := bytes.Repeat([]byte{7}, 32)
			note := storage.Note{Key: key, Request: key, Holder: "h", Until: b.clock.Now().Add(helpdesk.DiscardTime), ConversationID: c.ID}
			must(storage.Once(b.ctx, notes, note, b.clock.Now(), func(ctx context.Context) ([]byte, error) {
				gone, err := b.desk.Interactions().Discard(ctx, c.ID, draft.ID)
				return []byte(gone.Draft.Body), err
			}))(t)
			if err := tt.do(b, c); err != nil {
				t.Fatal(err)
			}
			kept, err := notes.Noted(b.ctx, key, b.clock.Now())
			if gone := fault.Is(err, fault.NotFound); gone != tt.gone {
				t.Errorf("gone: %t, and %q (%v) is kept", gone, kept.Answer, err)
			}
		})
	}
}
