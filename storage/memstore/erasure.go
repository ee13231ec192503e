package memstore

import (
	"bytes"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

var erasures = noun[helpdesk.Scope, helpdesk.Erasure, helpdesk.ErasureFilter]{
	Noun: nouns.Erasures, of: func(db *data) *table[helpdesk.Erasure] { return &db.erasures },
	match: func(_ *data, _ helpdesk.Scope, f helpdesk.ErasureFilter, e *helpdesk.Erasure) bool {
		return len(f.Digests) == 0 || slices.ContainsFunc(f.Digests, func(d []byte) bool { return bytes.Equal(d, e.Digest) })
	},
}

// Erasures implements [helpdesk.Reader].
func (r reader) Erasures() storage.RowReader[helpdesk.Erasure, helpdesk.ErasureFilter] {
	return rowsOf(r.src, r.scope.AccountID, r.scope, &erasures)
}

// Erasures implements [helpdesk.Rows].
func (t tx) Erasures() storage.Rows[helpdesk.Erasure, helpdesk.ErasureFilter] {
	return storedOf(t.src, t.scope.AccountID, t.scope, &erasures)
}
