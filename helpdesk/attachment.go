package helpdesk

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/filetype"
	"github.com/helpwright/helpwright/storage/guard"
)

// Attachment is a file of an interaction. Its bytes are a blob.
type Attachment struct {
	ID             int64
	InteractionID  int64
	ConversationID int64
	Filename       string
	ContentType    string
	ContentID      string // without angle brackets; the target of cid: links in the body
	Size           int64  // bytes
	IsInline       bool   // the body shows it, so lists may leave it out; decided when it is read. Stored is only what the mail or the uploader claimed
	BlobKey        string
	CreatedAt      time.Time
}

// SizeHuman returns the size for people, such as "1 KB": powers of 1024, rounded.
func (a Attachment) SizeHuman() string {
	if a.Size < 1024 {
		return fmt.Sprintf("%d B", a.Size)
	}
	size := float64(a.Size)
	for _, unit := range []string{"KB", "MB"} {
		if size /= 1024; size < 1024 {
			return strings.TrimSuffix(fmt.Sprintf("%.1f", size), ".0") + " " + unit
		}
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", size/1024), ".0") + " GB"
}

// attachable returns the extensions that may be uploaded. Parts of received messages are stored whatever their type.
func attachable() []string { return append(filetype.Documents(), "xlsx") }

// Upload is a file to be attached.
type Upload struct {
	Filename string // its extension must be among the allowed types
	IsInline bool   // meant for the body, which must name its URL to show it; else the file is listed all the same
	Content  io.Reader
}

// MaxAttachment returns the maximum size of an uploaded attachment, in bytes.
func (s *Service) MaxAttachment() int64 { return s.cfg.MaxAttachment }

// Attachments are the files of interactions.
type Attachments struct{ *desk }

// Attachments returns the handle of the files of interactions.
func (d *Desk) Attachments() Attachments { return Attachments{&d.desk} }

// Create attaches a file to an interaction. Once the sending of a posted user interaction has begun, it is a
// Conflict fault. A file above Config.MaxAttachment is a TooLarge fault, a type that is not allowed an Invalid fault. It
// needs interactions.create, or interactions.note for a note. IsInline is returned as given, until it is read.
func (d Attachments) Create(ctx context.Context, conversationID, interactionID int64, up Upload) (Attachment, error) {
	_, begin, err := d.mayAttach(ctx, conversationID, interactionID)
	if err != nil {
		return Attachment{}, err
	}
	return d.attach(ctx, begin, conversationID, interactionID, up, changeable)
}

// Copy attaches copies of one interaction's files to another interaction of the same conversation, all or none,
// and returns them by the IDs of the originals. Copies and originals are independent. Permissions and faults are those of
// [Attachments.Create]. IsInline of a copy is what was claimed for the original, until it is read.
func (d Attachments) Copy(ctx context.Context, conversationID, from, to int64) (map[int64]Attachment, error) {
	r, begin, err := d.mayAttach(ctx, conversationID, to)
	if err != nil {
		return nil, err
	}
	i, err := r.Interactions().Get(ctx, from)
	if _, err = inConversation(i, conversationID, err); err != nil {
		return nil, err
	}
	originals, err := r.Attachments().List(ctx, AttachmentFilter{InteractionIDs: []int64{from}}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return nil, err
	}
	copies, err := d.attachCopies(ctx, begin, conversationID, to, originals)
	if err != nil {
		return nil, err
	}
	byOriginal := make(map[int64]Attachment, len(copies))
	for n, a := range copies {
		byOriginal[originals[n].ID] = a
	}
	return byOriginal, nil
}

// mayAttach checks that the caller may attach files to an interaction.
func (d *desk) mayAttach(ctx context.Context, conversationID, interactionID int64) (Reader, guard.Begin[Tx], error) {
	r, err := d.guard.Read(identity.InteractionsView)
	if err != nil {
		return nil, nil, err
	}
	i, err := r.Interactions().Get(ctx, interactionID)
	if i, err = inConversation(i, conversationID, err); err != nil {
		return nil, nil, err
	}
	begin, err := d.guard.Write(d.createPermission(i.Type))
	return r, begin, err
}

// attachCopies attaches copies of stored files. Each copy has its own blob.
func (d *desk) attachCopies(ctx context.Context, begin guard.Begin[Tx], conversationID, interactionID int64, originals []Attachment) ([]Attachment, error) {
	if len(originals) == 0 {
		return nil, nil
	}
	copies, err := d.copyFiles(ctx, originals)
	if err != nil {
		return nil, err
	}
	return d.attachStored(ctx, begin, conversationID, interactionID, copies, changeable)
}

// copyFiles copies the contents of files, all or none.
func (d *desk) copyFiles(ctx context.Context, originals []Attachment) (copies []Attachment, err error) {
	var keys []string
	defer func() {
		if err != nil {
			d.svc.discard(ctx, err, keys...)
		}
	}()
	for _, a := range originals {
		if limit := d.svc.cfg.MaxAttachment; a.Size > limit {
			return nil, fault.Newf(fault.TooLarge, "The file is larger than %d MiB.", limit>>20)
		}
		key := fileKey(d.scope.AccountID)
		keys = append(keys, key)
		size, err := d.copyBlob(ctx, a.BlobKey, key)
		if err != nil {
			return nil, err
		}
		copies = append(copies, Attachment{
			Filename: a.Filename, ContentType: a.ContentType, Size: size, IsInline: a.IsInline, BlobKey: key, CreatedAt: d.svc.now(),
		})
	}
	return copies, nil
}

func (d *desk) copyBlob(ctx context.Context, from, to string) (size int64, err error) {
	content, err := d.svc.cfg.Blobs.Get(ctx, from)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	return d.svc.cfg.Blobs.Put(ctx, to, content)
}

// attach stores a file and its row, if may allows it in the transaction.
func (d *desk) attach(
	ctx context.Context, begin guard.Begin[Tx], conversationID, interactionID int64, up Upload,
	may func(ctx context.Context, tx Tx, conversationID, interactionID int64) error,
) (Attachment, error) {
	a, err := d.store(ctx, up)
	if err != nil {
		return Attachment{}, err
	}
	all, err := d.attachStored(ctx, begin, conversationID, interactionID, []Attachment{a}, may)
	if err != nil {
		return Attachment{}, err
	}
	return all[0], nil
}

// attachStored inserts the rows of stored files, all or none. On failure it removes the files.
func (d *desk) attachStored(
	ctx context.Context, begin guard.Begin[Tx], conversationID, interactionID int64, files []Attachment,
	may func(ctx context.Context, tx Tx, conversationID, interactionID int64) error,
) ([]Attachment, error) {
	keys := make([]string, len(files))
	for n := range files {
		files[n].InteractionID, files[n].ConversationID, keys[n] = interactionID, conversationID, files[n].BlobKey
	}
	err := begin(ctx, func(ctx context.Context, tx Tx) error {
		c, err := tx.Conversations().Lock(ctx, conversationID)
		if err != nil {
			return err
		}
		if err := may(ctx, tx, conversationID, interactionID); err != nil {
			return err
		}
		if err := tx.Attachments().Insert(ctx, storage.Pointers(files)...); err != nil {
			return err
		}
		for _, a := range files {
			if err := d.emitIn(ctx, tx, "attachment.created", a.ID, c); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		d.svc.discard(ctx, err, keys...)
		return nil, err
	}
	return files, nil
}

// changeable returns a fault if the sending of an interaction's message has begun.
func changeable(ctx context.Context, tx Tx, conversationID, interactionID int64) error {
	i, err := tx.Interactions().Lock(ctx, interactionID)
	if i, err = inConversation(i, conversationID, err); err != nil {
		return err
	}
	if i.Type == TypeUser && !i.SendStartedAt.IsZero() {
		return fault.New(fault.Conflict, "The mail has been sent, so its attachments cannot be changed.")
	}
	return nil
}

// CheckFile returns an Invalid fault unless a file with this name that begins with head may be attached.
func CheckFile(name string, head []byte) error {
	if problem := filetype.Check(filetype.SafeName(name), head, attachable()); problem != "" {
		return fault.Field("file", problem)
	}
	return nil
}

// store validates an upload and stores its contents.
func (d *desk) store(ctx context.Context, up Upload) (Attachment, error) {
	name := filetype.SafeName(up.Filename)
	if name == "" || up.Content == nil {
		return Attachment{}, fault.Field("file", "is required")
	}
	limit := d.svc.cfg.MaxAttachment
	content := bufio.NewReaderSize(io.LimitReader(up.Content, limit+1), 4096)
	head, err := content.Peek(filetype.HeadSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return Attachment{}, fault.Wrap(fault.Malformed, "reading an upload", err)
	}
	if err := CheckFile(name, head); err != nil {
		return Attachment{}, err
	}
	key := fileKey(d.scope.AccountID)
	size, err := d.svc.cfg.Blobs.Put(ctx, key, content)
	if err == nil && size > limit {
		err = fault.Newf(fault.TooLarge, "The file is larger than %d MiB.", limit>>20)
	}
	if err != nil {
		d.svc.discard(ctx, err, key)
		return Attachment{}, err
	}
	return Attachment{
		Filename: name, ContentType: filetype.MediaType(name, head), Size: size, IsInline: up.IsInline, BlobKey: key, CreatedAt: d.svc.now(),
	}, nil
}

// List lists the files of one interaction. It needs interactions.view.
func (d Attachments) List(ctx context.Context, conversationID, interactionID int64) ([]Attachment, error) {
	r, err := d.guard.Read(identity.InteractionsView)
	if err != nil {
		return nil, err
	}
	i, err := r.Interactions().Get(ctx, interactionID)
	if _, err = inConversation(i, conversationID, err); err != nil {
		return nil, err
	}
	return d.svc.filesOf(ctx, r, []int64{interactionID})
}

// Of lists the files of several interactions. It needs interactions.view.
func (d Attachments) Of(ctx context.Context, interactionIDs []int64) ([]Attachment, error) {
	r, err := d.guard.Read(identity.InteractionsView)
	if err != nil || len(interactionIDs) == 0 {
		return nil, err
	}
	return d.svc.filesOf(ctx, r, interactionIDs)
}

// Get returns one file's description. It needs interactions.view.
func (d Attachments) Get(ctx context.Context, conversationID, interactionID, id int64) (Attachment, error) {
	r, err := d.guard.Read(identity.InteractionsView)
	if err != nil {
		return Attachment{}, err
	}
	a, err := r.Attachments().Get(ctx, id)
	if err != nil {
		return Attachment{}, err
	}
	if a.InteractionID != interactionID || a.ConversationID != conversationID {
		return Attachment{}, fault.Missing("attachment", id)
	}
	return d.svc.judged(ctx, r, a, nil)
}

// Open opens length bytes of a file starting at offset; a negative length means to the end. It needs
// interactions.view.
func (d Attachments) Open(ctx context.Context, a Attachment, offset, length int64) (io.ReadCloser, error) {
	r, err := d.guard.Read(identity.InteractionsView)
	if err != nil {
		return nil, err
	}
	// Read it again, because the caller's value is trusted for its ID only.
	found, err := r.Attachments().Get(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	return d.svc.cfg.Blobs.GetRange(ctx, found.BlobKey, offset, length)
}

// Link returns a short-lived address in the blob store, from which anybody who has it can download the file. "":
// there is none, see Config.LinkFrom. It needs interactions.view.
func (d Attachments) Link(ctx context.Context, a Attachment, as storage.BlobDownload) (string, error) {
	r, err := d.guard.Read(identity.InteractionsView)
	if err != nil {
		return "", err
	}
	found, err := r.Attachments().Get(ctx, a.ID)
	if err != nil {
		return "", err
	}
	return d.svc.linkFile(ctx, found, as)
}

func (s *Service) linkFile(ctx context.Context, a Attachment, as storage.BlobDownload) (string, error) {
	if s.cfg.LinkFrom <= 0 || a.Size < s.cfg.LinkFrom {
		return "", nil
	}
	return storage.LinkBlob(ctx, s.cfg.Blobs, a.BlobKey, as)
}

// Delete removes a file; from a posted user interaction only until sending begins. It needs interactions.update.
func (d Attachments) Delete(ctx context.Context, conversationID, interactionID, id int64) error {
	begin, err := d.guard.Write(identity.InteractionsUpdate)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		c, err := tx.Conversations().Lock(ctx, conversationID)
		if err != nil {
			return err
		}
		if err := changeable(ctx, tx, conversationID, interactionID); err != nil {
			return err
		}
		a, err := tx.Attachments().Get(ctx, id)
		if err != nil {
			return err
		}
		if a.InteractionID != interactionID {
			return fault.Missing("attachment", id)
		}
		if err := tx.Attachments().Delete(ctx, id); err != nil {
			return err
		}
		if err := tx.Enqueue(ctx, purgeKeys(d.scope.AccountID, []string{a.BlobKey})...); err != nil {
			return err
		}
		return d.emitIn(ctx, tx, "attachment.deleted", id, c)
	})
}

// AttachmentFilter names the interactions whose attachments are listed.
type AttachmentFilter struct{ InteractionIDs []int64 }
