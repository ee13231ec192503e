package memstore

import (
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

var signatures = noun[helpdesk.Scope, helpdesk.Signature, helpdesk.SignatureFilter]{
	Noun: nouns.Signatures, of: func(db *data) *table[helpdesk.Signature] { return &db.signatures },
	match: func(_ *data, _ helpdesk.Scope, f helpdesk.SignatureFilter, s *helpdesk.Signature) bool {
		return slices.Contains(f.UserIDs, s.UserID)
	},
}

// Signatures implements [helpdesk.Reader].
func (r reader) Signatures() storage.RowReader[helpdesk.Signature, helpdesk.SignatureFilter] {
	return rowsOf(r.src, r.scope.AccountID, r.scope, &signatures)
}

// Signatures implements [helpdesk.Rows].
func (t tx) Signatures() storage.Rows[helpdesk.Signature, helpdesk.SignatureFilter] {
	return storedOf(t.src, t.scope.AccountID, t.scope, &signatures)
}
