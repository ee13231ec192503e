package memstore

import (
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

var blockedSenders = noun[helpdesk.Scope, helpdesk.BlockedSender, helpdesk.BlockedSenderFilter]{
	Noun: nouns.BlockedSenders, of: func(db *data) *table[helpdesk.BlockedSender] { return &db.blockedSenders },
	match: func(_ *data, _ helpdesk.Scope, f helpdesk.BlockedSenderFilter, b *helpdesk.BlockedSender) bool {
		return len(f.Keys) == 0 || slices.Contains(f.Keys, b.Key)
	},
}

// BlockedSenders implements [helpdesk.Reader].
func (r reader) BlockedSenders() storage.RowReader[helpdesk.BlockedSender, helpdesk.BlockedSenderFilter] {
	return rowsOf(r.src, r.scope.AccountID, r.scope, &blockedSenders)
}

// BlockedSenders implements [helpdesk.Rows].
func (t tx) BlockedSenders() storage.Rows[helpdesk.BlockedSender, helpdesk.BlockedSenderFilter] {
	return storedOf(t.src, t.scope.AccountID, t.scope, &blockedSenders)
}
