package bunstore

import (
	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

type signatureRow struct {
	bun.BaseModel `bun:"table:hw_signatures,alias:hw_signatures"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	UserID        int64
	Body          string
	UpdatedAt     int64
}

func (r *signatureRow) signature() helpdesk.Signature {
	return helpdesk.Signature{ID: r.ID, UserID: r.UserID, Body: r.Body, UpdatedAt: timeOf(r.UpdatedAt)}
}

func signatureRowOf(account int64, s *helpdesk.Signature) signatureRow {
	return signatureRow{ID: s.ID, AccountID: account, UserID: s.UserID, Body: s.Body, UpdatedAt: micros(s.UpdatedAt)}
}

var signatures = table[writer, helpdesk.Signature, helpdesk.SignatureFilter, signatureRow]{
	Noun: nouns.Signatures, row: signatureRowOf, item: (*signatureRow).signature,
	belongs: func(f helpdesk.SignatureFilter) (string, []int64) { return "user_id", f.UserIDs },
}

// Signatures implements [helpdesk.Reader].
func (r reader) Signatures() storage.RowReader[helpdesk.Signature, helpdesk.SignatureFilter] {
	return rowsOf(r.placed(), &signatures)
}

// Signatures implements [helpdesk.Rows].
func (w writer) Signatures() storage.Rows[helpdesk.Signature, helpdesk.SignatureFilter] {
	return storedOf(w, &signatures)
}
