package bunstore

import (
	"context"
	"database/sql/driver"
	"encoding/json"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

type domainRow struct {
	bun.BaseModel `bun:"table:hw_domains,alias:hw_domains"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	Name          string
	Selector      string
	SealedKey     []byte
	Records       dnsRecords
	CreatedAt     int64
	UpdatedAt     int64
}

// dnsRecords is a column with the records of a domain as a JSON array.
type dnsRecords []helpdesk.DNSRecord

// Value implements [driver.Valuer].
func (r dnsRecords) Value() (driver.Value, error) {
	if len(r) == 0 {
		return "[]", nil
	}
	text, err := json.Marshal([]helpdesk.DNSRecord(r))
	return string(text), err
}

// Scan implements [sql.Scanner].
func (r *dnsRecords) Scan(src any) error {
	*r = nil
	return scanJSON(src, (*[]helpdesk.DNSRecord)(r))
}

func (r *domainRow) domain() helpdesk.Domain {
	return helpdesk.Domain{
		ID: r.ID, AccountID: r.AccountID, Name: r.Name, Selector: r.Selector, SealedKey: empty(r.SealedKey),
		Records: r.Records, CreatedAt: timeOf(r.CreatedAt), UpdatedAt: timeOf(r.UpdatedAt),
	}
}

func domainRowOf(account int64, d *helpdesk.Domain) domainRow {
	return domainRow{
		ID: d.ID, AccountID: account, Name: d.Name, Selector: d.Selector, SealedKey: empty(d.SealedKey),
		Records: d.Records, CreatedAt: micros(d.CreatedAt), UpdatedAt: micros(d.UpdatedAt),
	}
}

// Domain implements [helpdesk.DomainReader].
func (r reader) Domain(ctx context.Context, id int64) (helpdesk.Domain, error) {
	var row domainRow
	if err := one(ctx, r.selects(&row).ApplyQueryBuilder(r.account).Where("id = ?", id), "domain", id); err != nil {
		return helpdesk.Domain{}, err
	}
	return row.domain(), nil
}

// Domains implements [helpdesk.DomainReader].
func (r reader) Domains(ctx context.Context, seek storage.Seek) ([]helpdesk.Domain, error) {
	var rows []domainRow
	err := page(r.selects(&rows).ApplyQueryBuilder(r.account), "id", seek).Scan(ctx)
	return mapped(rows, (*domainRow).domain), failure(ctx, err, "domain", 0)
}

// DomainForUpdate implements [helpdesk.DomainWriter].
func (w writer) DomainForUpdate(ctx context.Context, id int64) (helpdesk.Domain, error) {
	var row domainRow
	q := w.forUpdate(w.selects(&row).ApplyQueryBuilder(w.account).Where("id = ?", id))
	if err := one(ctx, q, "domain", id); err != nil {
		return helpdesk.Domain{}, err
	}
	return row.domain(), nil
}

// InsertDomain implements [helpdesk.DomainWriter].
func (w writer) InsertDomain(ctx context.Context, d *helpdesk.Domain) error {
	row := domainRowOf(w.scope.AccountID, d)
	row.ID = 0
	if _, err := w.inserts(&row).Exec(ctx); err != nil {
		return failure(ctx, err, "domain", 0)
	}
	d.ID, d.AccountID = row.ID, row.AccountID
	return nil
}

// UpdateDomain implements [helpdesk.DomainWriter].
func (w writer) UpdateDomain(ctx context.Context, d *helpdesk.Domain) error {
	row := domainRowOf(w.scope.AccountID, d)
	res, err := w.updates(&row).ApplyQueryBuilder(w.account).Where("id = ?", d.ID).Exec(ctx)
	return changed(ctx, res, err, "domain", d.ID)
}

// DeleteDomain implements [helpdesk.DomainWriter].
func (w writer) DeleteDomain(ctx context.Context, id int64) error {
	res, err := w.deletes((*domainRow)(nil)).ApplyQueryBuilder(w.account).Where("id = ?", id).Exec(ctx)
	return removed(ctx, res, err, "domain", id)
}
