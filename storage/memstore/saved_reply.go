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
}

// SavedReplies implements [helpdesk.Reader].
func (r reader) SavedReplies() storage.RowReader[helpdesk.SavedReply, helpdesk.SavedReplyFilter] {
	return rowsOf(r.src, r.scope.AccountID, r.scope, &savedReplies)
}

// SavedReplies implements [helpdesk.Rows].
func (t tx) SavedReplies() storage.Rows[helpdesk.SavedReply, helpdesk.SavedReplyFilter] {
	return storedOf(t.src, t.scope.AccountID, t.scope, &savedReplies)
}
