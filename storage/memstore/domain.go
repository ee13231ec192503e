package memstore

import (
	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

var domains = noun[helpdesk.Scope, helpdesk.Domain, storage.NoFilter]{
	Noun: nouns.Domains, of: func(db *data) *table[helpdesk.Domain] { return &db.domains },
}

// Domains implements [helpdesk.Reader].
func (r reader) Domains() storage.RowReader[helpdesk.Domain, storage.NoFilter] {
	return rowsOf(r.src, r.scope.AccountID, r.scope, &domains)
}

// Domains implements [helpdesk.Rows].
func (t tx) Domains() storage.Rows[helpdesk.Domain, storage.NoFilter] {
	return storedOf(t.src, t.scope.AccountID, t.scope, &domains)
}
