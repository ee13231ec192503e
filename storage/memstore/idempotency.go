package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func ownNote(n storage.Note) *storage.Note {
	n.Key, n.Request, n.Answer = slices.Clone(n.Key), slices.Clone(n.Request), slices.Clone(n.Answer)
	return &n
}

// setNote stores a note, or deletes it when n is nil.
func (db *data) setNote(key string, n *storage.Note) {
	old := db.notes[key]
	if n == nil {
		delete(db.notes, key)
	} else {
		db.notes[key] = n
	}
	db.journal(func() { db.setNote(key, old) })
}

// Noted implements storage.Idempotency.
func (s *store) Noted(ctx context.Context, key []byte, now time.Time) (storage.Note, error) {
	return query(ctx, s, func(db *data) (storage.Note, error) {
		if n := db.notes[string(key)]; n != nil && n.Until.After(now) {
			return *ownNote(*n), nil
		}
		return storage.Note{}, fault.Missing("idempotency key", 0)
	})
}

// Note implements storage.Idempotency.
func (s *store) Note(ctx context.Context, n storage.Note, now time.Time) error {
	note := func(db *data) error {
		if there := db.notes[string(n.Key)]; there != nil && there.Until.After(now) && there.Holder != n.Holder {
			return storage.ErrNoted
		}
		db.setNote(string(n.Key), ownNote(n))
		return nil
	}
	if u := s.unit(ctx); u != nil && u.open != nil {
		return change(ctx, u.open, note)
	}
	return s.transact(ctx, func(ctx context.Context, open *session) error { return change(ctx, open, note) })
}

// Sweep implements storage.Idempotency.
func (s *store) Sweep(ctx context.Context, now time.Time, n int) (int, error) {
	swept := 0
	err := s.transact(ctx, func(ctx context.Context, open *session) error {
		return change(ctx, open, func(db *data) error {
			for key, note := range db.notes {
				if swept < n && !note.Until.After(now) {
					db.setNote(key, nil)
					swept++
				}
			}
			return nil
		})
	})
	return swept, err
}

// ForgetNotes implements [helpdesk.ConversationWriter].
func (t tx) ForgetNotes(ctx context.Context, conversationIDs []int64) error {
	return t.write(ctx, func(db *data) error {
		for _, id := range conversationIDs {
			if _, err := db.conversation(t.scope, id); err == nil {
				db.forgetNotes(id)
			}
		}
		return nil
	})
}

// forgetNotes deletes the notes about a conversation.
func (db *data) forgetNotes(conversationID int64) {
	for key, note := range db.notes {
		if note.ConversationID == conversationID {
			db.setNote(key, nil)
		}
	}
}

// moveNotes makes the notes about a conversation those about another.
func (db *data) moveNotes(from, into int64) {
	for key, note := range db.notes {
		if note.ConversationID == from {
			moved := ownNote(*note)
			moved.ConversationID = into
			db.setNote(key, moved)
		}
	}
}
