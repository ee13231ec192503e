package helpdesk

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// doubled returns a description of the mailbox's message that this one duplicates, "" if none.
func (f *filing) doubled(ctx context.Context, tx Tx, row ledger.Mail) (string, error) {
	copies, err := f.copies(ctx, tx, row, func(other ledger.Mail) bool { return other.MailboxID == row.MailboxID })
	if err != nil || len(copies) == 0 {
		return "", err
	}
	switch other := copies[0]; {
	case other.State == ledger.Filed && other.InteractionID != 0:
		return fmt.Sprintf("it is a double of mail %d", other.ID), nil
	case other.State == ledger.Filed:
		return fmt.Sprintf("it is a double of mail %d, whose conversation was deleted", other.ID), nil
	default:
		return fmt.Sprintf("it is a double of mail %d, which was ignored", other.ID), nil
	}
}

// isThere reports, in words, as which message this one is in a conversation already, having arrived through another mailbox;
// "" if it is not. The conversation is locked.
func (f *filing) isThere(ctx context.Context, tx Tx, row ledger.Mail, conversationID int64) (string, error) {
	copies, err := f.copies(ctx, tx, row, func(other ledger.Mail) bool { return other.ConversationID == conversationID })
	if err != nil || len(copies) == 0 {
		return "", err
	}
	return fmt.Sprintf("it is a double of mail %d, which came into the same conversation", copies[0].ID), nil
}

// copies returns those of the requested ledger rows that are copies of this message.
func (f *filing) copies(ctx context.Context, tx Tx, row ledger.Mail, asked func(ledger.Mail) bool) ([]ledger.Mail, error) {
	found, err := tx.InboundByIdentity(ctx, [][]byte{f.mail.Identity, f.mail.FormerIdentity})
	if err != nil {
		return nil, err
	}
	var copies []ledger.Mail
	for _, other := range found {
		if other.ID == row.ID || !asked(other) {
			continue
		}
		same := bytes.Equal(other.Identity, f.mail.Identity)
		if !same {
			if same, err = f.recognised(ctx, tx, row, other); err != nil {
				return nil, err
			}
		}
		if same {
			copies = append(copies, other)
		}
	}
	return copies, nil
}

// recognised reports whether a row with this message's former identity is the same message. The former identity ignores
// subject and file names, and is weak without a Message-ID or a date.
func (f *filing) recognised(ctx context.Context, tx Tx, row, other ledger.Mail) (bool, error) {
	switch {
	case f.mail.MessageID == "" || f.mail.Date.IsZero():
		return f.sameBytes(ctx, row, other)
	case other.InteractionID == 0:
		return true, nil
	}
	i, err := tx.Interactions().Get(ctx, other.InteractionID)
	if fault.Is(err, fault.NotFound) || err == nil && i.Type != TypeCustomer {
		return true, nil // deleted, or our reply that the message reports on
	}
	if err != nil || !sameSubject(i.Subject, f.mail.Subject) {
		return false, err
	}
	files, err := tx.Attachments().List(ctx, AttachmentFilter{InteractionIDs: []int64{i.ID}}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return false, err
	}
	another := func(a Attachment) bool {
		return !slices.ContainsFunc(f.files, func(b Attachment) bool { return a.Filename == b.Filename })
	}
	return !slices.ContainsFunc(files, another), nil
}

// sameSubject compares subjects, ignoring prefixes added by lists or replies.
func sameSubject(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	return (a == "") == (b == "") && (strings.HasSuffix(a, b) || strings.HasSuffix(b, a))
}

// sameBytes reports whether two messages are identical. If the raw bytes are gone, as for a tombstone, it compares only
// their sizes.
func (f *filing) sameBytes(ctx context.Context, row, other ledger.Mail) (bool, error) {
	if row.Size != other.Size || other.RawKey == "" || row.RawKey == "" {
		return row.Size == other.Size, nil
	}
	var sums [2][sha256.Size]byte
	for n, key := range []string{row.RawKey, other.RawKey} {
		blob, err := f.svc.cfg.Blobs.Get(ctx, key)
		if fault.Is(err, fault.NotFound) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		h := sha256.New()
		_, err = io.Copy(h, blob)
		if err = errors.Join(err, blob.Close()); err != nil {
			return false, err
		}
		h.Sum(sums[n][:0])
	}
	return sums[0] == sums[1], nil
}
