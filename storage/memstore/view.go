package memstore

import (
	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

var views = noun[helpdesk.Scope, helpdesk.View, storage.NoFilter]{
	Noun: nouns.Views, of: func(db *data) *table[helpdesk.View] { return &db.views },
}

// Views implements [helpdesk.Reader].
func (r reader) Views() storage.RowReader[helpdesk.View, storage.NoFilter] {
	return rowsOf(r.src, r.scope.AccountID, r.scope, &views)
}

// Views implements [helpdesk.Rows].
func (t tx) Views() storage.Rows[helpdesk.View, storage.NoFilter] {
	return storedOf(t.src, t.scope.AccountID, t.scope, &views)
}
