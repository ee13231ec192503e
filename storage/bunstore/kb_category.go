package bunstore

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

type categoryRow struct {
	bun.BaseModel `bun:"table:hw_categories,alias:hw_categories"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	SiteID        int64
	CollectionID  int64
	SortOrder     int64
	SourceLocale  string
	Translations  translations
	CreatedAt     int64
	UpdatedAt     int64
	counters
}

func (r *categoryRow) category() kb.Category {
	return kb.Category{
		ID: r.ID, SiteID: r.SiteID, CollectionID: r.CollectionID, SortOrder: kb.SortOrder(r.SortOrder), Text: r.Translations.text(r.SourceLocale),
		Counters: r.counters.counters(), CreatedAt: timeOf(r.CreatedAt), UpdatedAt: timeOf(r.UpdatedAt),
	}
}

func categoryRowOf(account int64, c *kb.Category) categoryRow {
	return categoryRow{
		ID: c.ID, AccountID: account, SiteID: c.SiteID, CollectionID: c.CollectionID, SortOrder: int64(c.SortOrder),
		SourceLocale: c.SourceLocale, Translations: translationsOf(c.Text), CreatedAt: micros(c.CreatedAt), UpdatedAt: micros(c.UpdatedAt),
	}
}

var categories = table[kbWriter, kb.Category, kb.CategoryFilter, categoryRow]{
	Noun: kbNouns.Categories, row: categoryRowOf, item: (*categoryRow).category, scope: ofSite, with: countedShelf,
	match: func(_ context.Context, _ kbWriter, q *bun.SelectQuery, f kb.CategoryFilter) error {
		if f.CollectionID != 0 {
			q.Where("collection_id = ?", f.CollectionID)
		}
		return nil
	},
	order: func(kb.CategoryFilter) string { return "sort_order" },
}

// Categories implements [kb.Reader].
func (r kbReader) Categories() storage.RowReader[kb.Category, kb.CategoryFilter] {
	return rowsOf(r.placed(), &categories)
}

// Categories implements [kb.Rows].
func (w kbWriter) Categories() storage.Rows[kb.Category, kb.CategoryFilter] {
	return storedOf(w, &categories)
}
