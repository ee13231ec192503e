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

// addressedKeyRow is a key with the key of its address.
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

// PGPKey implements [helpdesk.PGPKeyReader].
func (r reader) PGPKey(ctx context.Context, id int64) (helpdesk.PGPKey, error) {
	var row pgpKeyRow
	if err := one(ctx, r.selects(&row).ApplyQueryBuilder(r.account).Where("id = ?", id), "key", id); err != nil {
		return helpdesk.PGPKey{}, err
	}
	return row.key(), nil
}

// PGPKeys implements [helpdesk.PGPKeyReader].
func (r reader) PGPKeys(ctx context.Context, emailIDs []int64, seek storage.Seek) ([]helpdesk.PGPKey, error) {
	if len(emailIDs) == 0 {
		return nil, r.state()
	}
	var rows []pgpKeyRow
	q := r.selects(&rows).ApplyQueryBuilder(r.account).Where("customer_email_id IN (?)", bun.List(emailIDs))
	err := page(q, "id", seek).Scan(ctx)
	return mapped(rows, (*pgpKeyRow).key), failure(ctx, err, "key", 0)
}

// PGPKeysByAddress implements [helpdesk.PGPKeyReader].
func (r reader) PGPKeysByAddress(ctx context.Context, keys []string) ([]helpdesk.KeyOfAddress, error) {
	if len(keys) == 0 {
		return nil, r.state()
	}
	var rows []addressedKeyRow
	err := r.selects(&rows).Err(checkText(keys)).ColumnExpr("?TableColumns").ColumnExpr("e.email_key").
		Join("JOIN hw_customer_emails AS e ON e.account_id = ?TableName.account_id AND e.id = ?TableName.customer_email_id").
		ApplyQueryBuilder(r.account).Where("e.account_id = ?", r.scope.AccountID).Where("e.email_key IN (?)", bun.List(keys)).
		OrderExpr("?TableName.id").Scan(ctx)
	return mapped(rows, (*addressedKeyRow).ofAddress), failure(ctx, err, "key", 0)
}

// InsertPGPKey implements [helpdesk.PGPKeyWriter].
func (w writer) InsertPGPKey(ctx context.Context, k *helpdesk.PGPKey) error {
	row := pgpKeyRowOf(w.scope.AccountID, k)
	row.ID = 0
	if _, err := w.inserts(&row).Exec(ctx); err != nil {
		return failure(ctx, err, "key", 0)
	}
	k.ID = row.ID
	return nil
}

// UpdatePGPKey implements [helpdesk.PGPKeyWriter].
func (w writer) UpdatePGPKey(ctx context.Context, k *helpdesk.PGPKey) error {
	row := pgpKeyRowOf(w.scope.AccountID, k)
	res, err := w.updates(&row).ApplyQueryBuilder(w.account).Where("id = ?", k.ID).Exec(ctx)
	return changed(ctx, res, err, "key", k.ID)
}

// DeletePGPKey implements [helpdesk.PGPKeyWriter].
func (w writer) DeletePGPKey(ctx context.Context, id int64) error {
	res, err := w.deletes((*pgpKeyRow)(nil)).ApplyQueryBuilder(w.account).Where("id = ?", id).Exec(ctx)
	return removed(ctx, res, err, "key", id)
}
