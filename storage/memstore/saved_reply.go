package memstore

import (
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

var savedReplies = noun[helpdesk.Scope, helpdesk.SavedReply, helpdesk.SavedReplyFilter]{
	Noun: nouns.SavedReplies, of: func(db *data) *table[helpdesk.SavedReply] { return &db.savedReplies },
	match: func(_ *data, _ helpdesk.Scope, f helpdesk.SavedReplyFilter, s *helpdesk.SavedReply) bool {
		return slices.Contains(f.UserIDs, s.UserID) && strings.HasPrefix(s.Key, f.Prefix)
	},
	remove: func(db *data, s helpdesk.Scope, id int64) error {
		db.replyFiles.removeIf(s.AccountID, func(f *helpdesk.ReplyFile) bool { return f.ReplyID == id })
		return nil
	},
}

var replyFiles = noun[helpdesk.Scope, helpdesk.ReplyFile, helpdesk.ReplyFileFilter]{
	Noun: nouns.ReplyFiles, of: func(db *data) *table[helpdesk.ReplyFile] { return &db.replyFiles },
	match: func(_ *data, _ helpdesk.Scope, f helpdesk.ReplyFileFilter, r *helpdesk.ReplyFile) bool {
		return slices.Contains(f.ReplyIDs, r.ReplyID)
	},
	refers: func(db *data, s helpdesk.Scope, f *helpdesk.ReplyFile) error {
		_, err := db.savedReplies.get(s.AccountID, f.ReplyID)
		return err
	},
}

// ReplyFiles implements [helpdesk.Reader].
func (r reader) ReplyFiles() storage.RowReader[helpdesk.ReplyFile, helpdesk.ReplyFileFilter] {
	return rowsOf(r.src, r.scope.AccountID, r.scope, &replyFiles)
}

// ReplyFiles implements [helpdesk.Rows].
func (t tx) ReplyFiles() storage.Rows[helpdesk.ReplyFile, helpdesk.ReplyFileFilter] {
	return storedOf(t.src, t.scope.AccountID, t.scope, &replyFiles)
}

// SavedReplies implements [helpdesk.Reader].
func (r reader) SavedReplies() storage.RowReader[helpdesk.SavedReply, helpdesk.SavedReplyFilter] {
	return rowsOf(r.src, r.scope.AccountID, r.scope, &savedReplies)
}

// SavedReplies implements [helpdesk.Rows].
func (t tx) SavedReplies() storage.Rows[helpdesk.SavedReply, helpdesk.SavedReplyFilter] {
	return storedOf(t.src, t.scope.AccountID, t.scope, &savedReplies)
}
