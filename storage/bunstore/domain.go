package bunstore

import (
	"database/sql/driver"
	"encoding/json"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk/sending"
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
type dnsRecords []sending.DNSRecord

// Value implements [driver.Valuer].
func (r dnsRecords) Value() (driver.Value, error) {
	if len(r) == 0 {
		return "[]", nil
	}
	text, err := json.Marshal([]sending.DNSRecord(r))
	return string(text), err
}

// Scan implements [sql.Scanner].
func (r *dnsRecords) Scan(src any) error {
	*r = nil
	return scanJSON(src, (*[]sending.DNSRecord)(r))
}

func (r *domainRow) domain() sending.Domain {
	return sending.Domain{
		ID: r.ID, AccountID: r.AccountID, Name: r.Name, Selector: r.Selector, SealedKey: empty(r.SealedKey),
		Records: r.Records, CreatedAt: timeOf(r.CreatedAt), UpdatedAt: timeOf(r.UpdatedAt),
	}
}

func domainRowOf(account int64, d *sending.Domain) domainRow {
	return domainRow{
		ID: d.ID, AccountID: account, Name: d.Name, Selector: d.Selector, SealedKey: empty(d.SealedKey),
		Records: d.Records, CreatedAt: micros(d.CreatedAt), UpdatedAt: micros(d.UpdatedAt),
	}
}

var domains = table[writer, sending.Domain, storage.NoFilter, domainRow]{
	Noun: nouns.Domains, row: domainRowOf, item: (*domainRow).domain,
}

// Domains implements [helpdesk.Reader].
func (r reader) Domains() storage.RowReader[sending.Domain, storage.NoFilter] {
	return rowsOf(r.placed(), &domains)
}

// Domains implements [helpdesk.Rows].
func (w writer) Domains() storage.Rows[sending.Domain, storage.NoFilter] {
	return storedOf(w, &domains)
}
