package memstore

import (
	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

var teams = noun[helpdesk.Scope, helpdesk.Team, storage.NoFilter]{
	Noun: nouns.Teams, of: func(db *data) *table[helpdesk.Team] { return &db.teams },
}

// Teams implements [helpdesk.Reader].
func (r reader) Teams() storage.RowReader[helpdesk.Team, storage.NoFilter] {
	return rowsOf(r.src, r.scope.AccountID, r.scope, &teams)
}

// Teams implements [helpdesk.Rows].
func (t tx) Teams() storage.Rows[helpdesk.Team, storage.NoFilter] {
	return storedOf(t.src, t.scope.AccountID, t.scope, &teams)
}
