package bunstore

import (
	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

type collectionRow struct {
	bun.BaseModel `bun:"table:hw_collections,alias:hw_collections"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	SiteID        int64
	SortOrder     int64
	Icon          string
	SourceLocale  string
	Translations  translations
	CreatedAt     int64
	UpdatedAt     int64
	counters
}

func (r *collectionRow) collection() kb.Collection {
	return kb.Collection{
		ID: r.ID, SiteID: r.SiteID, SortOrder: kb.SortOrder(r.SortOrder), Icon: r.Icon, Text: r.Translations.text(r.SourceLocale),
		Counters: r.counters.counters(), CreatedAt: timeOf(r.CreatedAt), UpdatedAt: timeOf(r.UpdatedAt),
	}
}

func collectionRowOf(account int64, c *kb.Collection) collectionRow {
	return collectionRow{
		ID: c.ID, AccountID: account, SiteID: c.SiteID, SortOrder: int64(c.SortOrder), Icon: c.Icon, SourceLocale: c.SourceLocale,
		Translations: translationsOf(c.Text), CreatedAt: micros(c.CreatedAt), UpdatedAt: micros(c.UpdatedAt),
	}
}

var collections = table[kbWriter, kb.Collection, storage.NoFilter, collectionRow]{
	Noun: kbNouns.Collections, row: collectionRowOf, item: (*collectionRow).collection, scope: ofSite, with: countedShelf,
	order: func(storage.NoFilter) string { return "sort_order" },
}

// Collections implements [kb.Reader].
func (r kbReader) Collections() storage.RowReader[kb.Collection, storage.NoFilter] {
	return rowsOf(r.placed(), &collections)
}

// Collections implements [kb.Rows].
func (w kbWriter) Collections() storage.Rows[kb.Collection, storage.NoFilter] {
	return storedOf(w, &collections)
}
