package memstore

import (
	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
)

var domains = noun[helpdesk.Scope, sending.Domain, storage.NoFilter]{
	Noun: nouns.Domains, of: func(db *data) *table[sending.Domain] { return &db.domains },
}

// Domains implements [helpdesk.Reader].
func (r reader) Domains() storage.RowReader[sending.Domain, storage.NoFilter] {
	return rowsOf(r.src, r.scope.AccountID, r.scope, &domains)
}

// Domains implements [helpdesk.Rows].
func (t tx) Domains() storage.Rows[sending.Domain, storage.NoFilter] {
	return storedOf(t.src, t.scope.AccountID, t.scope, &domains)
}
