package bunstore

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

type pgpKeyRow struct {
	bun.BaseModel   `bun:"table:hw_pgp_keys,alias:hw_pgp_keys"`
	ID              int64 `bun:",pk,autoincrement"`
	AccountID       int64
	CustomerEmailID int64
	Name            string
	Fingerprint     string
	Content         []byte
	ExpiresAt       int64
	CreatedAt       int64
	UpdatedAt       int64
}

func (r *pgpKeyRow) key() helpdesk.PGPKey {
	return helpdesk.PGPKey{
		ID: r.ID, CustomerEmailID: r.CustomerEmailID, Name: r.Name, Fingerprint: r.Fingerprint, Content: empty(r.Content),
		ExpiresAt: timeOf(r.ExpiresAt), CreatedAt: timeOf(r.CreatedAt), UpdatedAt: timeOf(r.UpdatedAt),
	}
}

// addressedKeyRow is a PGP key with its address key.
type addressedKeyRow struct {
	bun.BaseModel `bun:"table:hw_pgp_keys,alias:hw_pgp_keys"`
	pgpKeyRow
	EmailKey string `bun:",scanonly"`
}

func (r *addressedKeyRow) ofAddress() helpdesk.KeyOfAddress {
	return helpdesk.KeyOfAddress{PGPKey: r.key(), EmailKey: r.EmailKey}
}

func pgpKeyRowOf(account int64, k *helpdesk.PGPKey) pgpKeyRow {
	return pgpKeyRow{
		ID: k.ID, AccountID: account, CustomerEmailID: k.CustomerEmailID, Name: k.Name, Fingerprint: k.Fingerprint,
		Content: empty(k.Content), ExpiresAt: micros(k.ExpiresAt), CreatedAt: micros(k.CreatedAt), UpdatedAt: micros(k.UpdatedAt),
	}
}

var pgpKeys = table[writer, helpdesk.PGPKey, helpdesk.PGPKeyFilter, pgpKeyRow]{
	Noun: nouns.PGPKeys, row: pgpKeyRowOf, item: (*pgpKeyRow).key,
	belongs: func(f helpdesk.PGPKeyFilter) (string, []int64) { return "customer_email_id", f.CustomerEmailIDs },
}

// PGPKeys implements [helpdesk.Reader].
func (r reader) PGPKeys() storage.RowReader[helpdesk.PGPKey, helpdesk.PGPKeyFilter] {
	return rowsOf(r.placed(), &pgpKeys)
}

// PGPKeys implements [helpdesk.Rows].
func (w writer) PGPKeys() storage.Rows[helpdesk.PGPKey, helpdesk.PGPKeyFilter] {
	return storedOf(w, &pgpKeys)
}

// PGPKeysByAddress implements [helpdesk.PGPKeyReader].
func (r reader) PGPKeysByAddress(ctx context.Context, keys []string) ([]helpdesk.KeyOfAddress, error) {
	if len(keys) == 0 {
		return nil, r.state()
	}
	var rows []addressedKeyRow
	err := r.selects(&rows).Err(checkText(keys)).ColumnExpr("?TableColumns").ColumnExpr("e.email_key").
		ModelTableExpr("hw_customer_emails AS e CROSS JOIN ?TableName"). // SQLite takes the tables in this order
		Where("e.account_id = ?TableName.account_id AND e.id = ?TableName.customer_email_id").
		ApplyQueryBuilder(r.account).Where("e.account_id = ?", r.scope.AccountID).Where("e.email_key IN (?)", bun.List(keys)).
		OrderExpr("?TableName.id").Scan(ctx)
	return mapped(rows, (*addressedKeyRow).ofAddress), failure(ctx, err, "key", 0)
}
