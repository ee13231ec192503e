package helpdesk

import (
	"context"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// DiscardTime is how long a discarded draft can be restored. Its files are kept that long.
const DiscardTime = 15 * time.Minute

// Discarded is a draft that was discarded, for [Interactions.Restore]. A [storage.Note] that keeps it names its conversation, so
// that it is erased with the conversation and with the customer.
type Discarded struct {
	Draft Interaction
	Files []Attachment
}

// Discard deletes a draft as [Interactions.Delete] does, but keeps its files for [DiscardTime]. An interaction that is
// not a draft is a Conflict fault.
func (d Interactions) Discard(ctx context.Context, conversationID, id int64) (Discarded, error) {
	return d.remove(ctx, conversationID, id, DiscardTime, func(i Interaction) error {
		if i.Status != StatusDraft {
			return fault.New(fault.Conflict, "It is not a draft any more.")
		}
		return nil
	})
}

// Restore makes a discarded draft of the caller again, with copies of its files. It is a Conflict fault if the caller has
// begun another one of its kind since, and NotFound if the files are gone. It needs interactions.create, or interactions.note
// for a note.
func (d Interactions) Restore(ctx context.Context, was Discarded) (Interaction, error) {
	i := was.Draft
	begin, err := d.guard.Write(d.createPermission(i.Type))
	if err != nil {
		return Interaction{}, err
	}
	if i.UserID != d.userID || i.Status != StatusDraft {
		return Interaction{}, fault.Missing("draft", i.ID)
	}
	for _, a := range was.Files {
		if !strings.HasPrefix(a.BlobKey, accountPrefix(d.scope.AccountID)) {
			return Interaction{}, fault.Missing("attachment", a.ID)
		}
	}
	p, err := d.prepare(InteractionInput{
		Type: i.Type, Status: StatusDraft, Body: i.Body, To: i.To, Cc: i.Cc, Bcc: i.Bcc, IsForward: i.IsForward, Forwarding: i.Forwarding(),
	}, "")
	if err != nil {
		return Interaction{}, err
	}
	files, err := d.copyFiles(ctx, was.Files)
	if err != nil {
		return Interaction{}, err
	}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := d.onlyDraft(ctx, tx, i); err != nil {
			return err
		}
		back, err := d.contribute(ctx, tx, i.ConversationID, p)
		if err != nil {
			return err
		}
		rows := append([]Attachment{}, files...)
		for n := range rows {
			rows[n].InteractionID, rows[n].ConversationID = back.ID, back.ConversationID
		}
		if err := tx.Attachments().Insert(ctx, storage.Pointers(rows)...); err != nil {
			return err
		}
		if back.Body = renamed(back.Body, was, rows, back.ID); back.Body != p.Body {
			err = tx.Interactions().Update(ctx, &back)
		}
		i = back
		return err
	})
	if err != nil {
		var keys []string
		for _, a := range files {
			keys = append(keys, a.BlobKey)
		}
		d.svc.discard(ctx, err, keys...)
		return Interaction{}, err
	}
	return i, nil
}

// onlyDraft returns a Conflict fault if the caller has another draft of the same kind in the conversation.
func (d *desk) onlyDraft(ctx context.Context, tx Tx, was Interaction) error {
	recent, err := tx.Interactions().List(ctx, InteractionFilter{ConversationID: was.ConversationID, Brief: true}, storage.Seek{Desc: true, Limit: quotesLook})
	for _, i := range recent {
		if i.Status == StatusDraft && i.UserID == d.userID && i.Type == was.Type && i.IsForward == was.IsForward {
			return fault.New(fault.Conflict, "You have started another draft since then. That one was kept.")
		}
	}
	return err
}

// renamed returns a body whose own images are those of the copies.
func renamed(body string, was Discarded, copies []Attachment, id int64) string {
	to := map[string]string{}
	for n, a := range was.Files {
		to[AttachmentSource(was.Draft.ID, a.ID, "")] = AttachmentSource(id, copies[n].ID, "")
	}
	return mailhtml.RewriteImages(body, func(src string) string {
		if own, ok := to[src]; ok {
			return own
		}
		return src
	})
}

// remove deletes an interaction that may be deleted, and its files after a while.
func (d *desk) remove(ctx context.Context, conversationID, id int64, keep time.Duration, may func(Interaction) error) (Discarded, error) {
	perm := d.draftPermission(identity.InteractionsDelete)
	begin, err := d.guard.Write(perm)
	if err != nil {
		return Discarded{}, err
	}
	var gone Discarded
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		c, err := tx.Conversations().Lock(ctx, conversationID)
		if err != nil {
			return err
		}
		i, err := tx.Interactions().Lock(ctx, id)
		if i, err = inConversation(i, conversationID, err); err == nil {
			err = d.checkOwn(i, perm)
		}
		if err == nil {
			err = may(i)
		}
		if err == nil && i.Status != StatusDraft {
			err = noneHeld(c)
		}
		if err != nil {
			return err
		}
		attachments, err := tx.Attachments().List(ctx, AttachmentFilter{InteractionIDs: []int64{id}}, storage.Seek{Limit: storage.NoLimit})
		if err != nil {
			return err
		}
		gone = Discarded{i, attachments}
		keys := make([]string, len(attachments))
		for n, a := range attachments {
			keys[n] = a.BlobKey
		}
		if err := tx.Interactions().Delete(ctx, id); err != nil {
			return err
		}
		jobs := purgeKeys(d.scope.AccountID, keys)
		for n := range jobs {
			if keep > 0 {
				jobs[n].RunAt = d.svc.now().Add(keep)
			}
		}
		if err := tx.Enqueue(ctx, jobs...); err != nil {
			return err
		}
		if err := refreshPreview(ctx, tx, &c); err != nil {
			return err
		}
		c.UpdatedAt = d.svc.now()
		if err := tx.Conversations().Update(ctx, &c); err != nil {
			return err
		}
		if err := reindex(ctx, tx, c); err != nil {
			return err
		}
		return d.emitIn(ctx, tx, "interaction.deleted", id, c)
	})
	return gone, err
}
