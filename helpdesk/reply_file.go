package helpdesk

import (
	"context"
	"io"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// ReplyFile is a file of a saved reply. Replies made from it get a copy. Its contents are in its own blob.
type ReplyFile struct {
	ID          int64
	ReplyID     int64
	Filename    string
	ContentType string
	Size        int64 // bytes
	BlobKey     string
	CreatedAt   time.Time
}

// SizeHuman returns the size for people, as [Attachment.SizeHuman].
func (f ReplyFile) SizeHuman() string { return Attachment{Size: f.Size}.SizeHuman() }

// ReplyFileFilter names the saved replies whose files are listed.
type ReplyFileFilter struct{ ReplyIDs []int64 }

// MaxReplyFiles is the maximum number of files of a saved reply.
const MaxReplyFiles = 10

// CreateFile adds a file to a saved reply. More than [MaxReplyFiles] is a Conflict fault. Types and sizes are those of
// [Attachments.Create]; Upload.IsInline is ignored. It needs interactions.create, and for a shared reply views.update;
// members limited to some mailboxes cannot change a shared one (Forbidden).
func (d SavedReplies) CreateFile(ctx context.Context, replyID int64, up Upload) (ReplyFile, error) {
	begin, err := d.guard.Write(identity.InteractionsCreate)
	if err != nil {
		return ReplyFile{}, err
	}
	if err := d.mayAddReplyFile(ctx, replyID); err != nil { // before storing the file
		return ReplyFile{}, err
	}
	a, err := d.store(ctx, up)
	if err != nil {
		return ReplyFile{}, err
	}
	f := ReplyFile{ReplyID: replyID, Filename: a.Filename, ContentType: a.ContentType, Size: a.Size, BlobKey: a.BlobKey, CreatedAt: a.CreatedAt}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		r, err := d.changeableReply(ctx, tx, replyID, false, identity.ViewsUpdate)
		if err != nil {
			return err
		}
		if err := roomForFile(ctx, tx.Reader(), replyID); err != nil {
			return err
		}
		if err := replyFileNoun().Rows(tx).Insert(ctx, &f); err != nil {
			return err
		}
		return d.touchReply(ctx, tx, r)
	})
	if err != nil {
		d.svc.discard(ctx, err, f.BlobKey)
		return ReplyFile{}, err
	}
	return f, nil
}

func (d *desk) mayAddReplyFile(ctx context.Context, replyID int64) error {
	reader, err := d.guard.Read(identity.InteractionsCreate)
	if err != nil {
		return err
	}
	r, err := d.ownOrShared(savedReplyNoun().Reader(reader).Get(ctx, replyID))
	if err != nil {
		return err
	}
	if err := d.mayChangeReply(r, false, identity.ViewsUpdate); err != nil {
		return err
	}
	return roomForFile(ctx, reader, replyID)
}

// roomForFile returns a fault if the saved reply has the maximum number of files.
func roomForFile(ctx context.Context, r Reader, replyID int64) error {
	files, err := replyFiles(ctx, r, replyID)
	if err == nil && len(files) >= MaxReplyFiles {
		err = fault.Newf(fault.Conflict, "A saved reply has at most %d files.", MaxReplyFiles)
	}
	return err
}

// touchReply updates a saved reply's time and emits its event, after a change of its files.
func (d *desk) touchReply(ctx context.Context, tx Tx, r SavedReply) error {
	r.UpdatedAt = d.svc.now()
	if err := savedReplyNoun().Rows(tx).Update(ctx, &r); err != nil {
		return err
	}
	return d.emitReply(ctx, tx, "saved_reply.updated", r)
}

// replyFiles lists the files of a saved reply.
func replyFiles(ctx context.Context, r Reader, replyID int64) ([]ReplyFile, error) {
	return replyFileNoun().Reader(r).List(ctx, ReplyFileFilter{ReplyIDs: []int64{replyID}}, storage.Seek{Limit: storage.NoLimit})
}

// replyFileKeys returns the blob keys of a saved reply's files.
func replyFileKeys(ctx context.Context, r Reader, replyID int64) ([]string, error) {
	files, err := replyFiles(ctx, r, replyID)
	keys := make([]string, len(files))
	for i, f := range files {
		keys[i] = f.BlobKey
	}
	return keys, err
}

// Files lists the files of a saved reply, the caller's own or a shared one, oldest first. It needs interactions.view.
func (d SavedReplies) Files(ctx context.Context, replyID int64) ([]ReplyFile, error) {
	r, err := d.guard.Read(identity.InteractionsView)
	if err != nil {
		return nil, err
	}
	if _, err := d.ownOrShared(savedReplyNoun().Reader(r).Get(ctx, replyID)); err != nil {
		return nil, err
	}
	return replyFiles(ctx, r, replyID)
}

// FilesOf lists the files of the given saved replies that the caller sees. It needs interactions.view.
func (d SavedReplies) FilesOf(ctx context.Context, replyIDs []int64) ([]ReplyFile, error) {
	r, err := d.guard.Read(identity.InteractionsView)
	if err != nil || len(replyIDs) == 0 {
		return nil, err
	}
	replies, err := savedReplyNoun().Reader(r).ByIDs(ctx, replyIDs)
	if err != nil {
		return nil, err
	}
	var seen []int64
	for _, reply := range replies {
		if _, err := d.ownOrShared(reply, nil); err == nil {
			seen = append(seen, reply.ID)
		}
	}
	if len(seen) == 0 {
		return nil, nil
	}
	return replyFileNoun().Reader(r).List(ctx, ReplyFileFilter{ReplyIDs: seen}, storage.Seek{Limit: storage.NoLimit})
}

// File returns the description of a file of a saved reply, the caller's own or a shared one. It needs
// interactions.view.
func (d SavedReplies) File(ctx context.Context, replyID, id int64) (ReplyFile, error) {
	r, err := d.guard.Read(identity.InteractionsView)
	if err != nil {
		return ReplyFile{}, err
	}
	return d.replyFile(ctx, r, replyID, id)
}

func (d *desk) replyFile(ctx context.Context, r Reader, replyID, id int64) (ReplyFile, error) {
	if _, err := d.ownOrShared(savedReplyNoun().Reader(r).Get(ctx, replyID)); err != nil {
		return ReplyFile{}, err
	}
	f, err := replyFileNoun().Reader(r).Get(ctx, id)
	if err == nil && f.ReplyID != replyID {
		err = fault.Missing("file", id)
	}
	if err != nil {
		return ReplyFile{}, err
	}
	return f, nil
}

// OpenFile opens length bytes of a file starting at offset; a negative length means to the end. It needs
// interactions.view.
func (d SavedReplies) OpenFile(ctx context.Context, f ReplyFile, offset, length int64) (io.ReadCloser, error) {
	r, err := d.guard.Read(identity.InteractionsView)
	if err != nil {
		return nil, err
	}
	// Read it again, because the caller's value is trusted for its ID only.
	found, err := d.replyFile(ctx, r, f.ReplyID, f.ID)
	if err != nil {
		return nil, err
	}
	return d.svc.cfg.Blobs.GetRange(ctx, found.BlobKey, offset, length)
}

// DeleteFile removes a file from a saved reply. Copies in replies stay. It needs the permissions of
// [SavedReplies.CreateFile].
func (d SavedReplies) DeleteFile(ctx context.Context, replyID, id int64) error {
	begin, err := d.guard.Write(identity.InteractionsCreate)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		reply, err := d.changeableReply(ctx, tx, replyID, false, identity.ViewsUpdate)
		if err != nil {
			return err
		}
		f, err := d.replyFile(ctx, tx.Reader(), replyID, id)
		if err != nil {
			return err
		}
		if err := replyFileNoun().Rows(tx).Delete(ctx, id); err != nil {
			return err
		}
		if err := tx.Enqueue(ctx, purgeKeys(d.scope.AccountID, []string{f.BlobKey})...); err != nil {
			return err
		}
		return d.touchReply(ctx, tx, reply)
	})
}

// AddReplyFiles attaches copies of a saved reply's files, if any, to an interaction and returns them; the body comes from
// [SavedReplies.Fill]. Copies stay when the saved reply changes or is deleted. Permissions and faults are those of
// [Attachments.Create].
func (d Attachments) AddReplyFiles(ctx context.Context, conversationID, interactionID, replyID int64) ([]Attachment, error) {
	r, begin, err := d.mayAttach(ctx, conversationID, interactionID)
	if err != nil {
		return nil, err
	}
	if _, err := d.ownOrShared(savedReplyNoun().Reader(r).Get(ctx, replyID)); err != nil {
		return nil, err
	}
	files, err := replyFiles(ctx, r, replyID)
	if err != nil {
		return nil, err
	}
	originals := make([]Attachment, len(files))
	for n, f := range files {
		originals[n] = Attachment{Filename: f.Filename, ContentType: f.ContentType, Size: f.Size, BlobKey: f.BlobKey}
	}
	return d.attachCopies(ctx, begin, conversationID, interactionID, originals)
}

// replyFileNoun declares the rows of files of saved replies.
func replyFileNoun() storage.Declared[ReplyFile, ReplyFileFilter] {
	return storage.Declared[ReplyFile, ReplyFileFilter]{
		Noun: storage.Noun[ReplyFile]{
			Name: "file",
			ID:   func(t *ReplyFile) *int64 { return &t.ID },
		},
		Key: "reply_file", Plural: "reply_files",
		Columns: []storage.Column[ReplyFile]{
			{Name: "reply_id", Field: func(t *ReplyFile) any { return &t.ReplyID }, Refers: "saved_reply", Owner: "hw_saved_replies"},
			{Name: "filename", Field: func(t *ReplyFile) any { return &t.Filename }},
			{Name: "content_type", Field: func(t *ReplyFile) any { return &t.ContentType }},
			{Name: "size", Field: func(t *ReplyFile) any { return &t.Size }},
			{Name: "blob_key", Field: func(t *ReplyFile) any { return &t.BlobKey }, File: true},
			{Name: "created_at", Field: func(t *ReplyFile) any { return &t.CreatedAt }},
		},
		Where: func(f ReplyFileFilter) []storage.Condition {
			return []storage.Condition{storage.OneOf("reply_id", f.ReplyIDs)}
		},
	}
}
