package memstore

import (
	"slices"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

var categories = noun[kb.Scope, kb.Category, kb.CategoryFilter]{
	Noun: kbNouns.Categories, of: func(db *data) *table[kb.Category] { return &db.categories },
	sees: func(_ *data, s kb.Scope, c *kb.Category) bool { return c.SiteID == s.SiteID },
	match: func(_ *data, _ kb.Scope, f kb.CategoryFilter, c *kb.Category) bool {
		return f.CollectionID == 0 || c.CollectionID == f.CollectionID
	},
	key:   func(_ kb.CategoryFilter, c *kb.Category) int64 { return int64(c.SortOrder) },
	strip: func(c *kb.Category) { c.Counters = kb.Counters{} },
	refers: func(db *data, s kb.Scope, c *kb.Category) error {
		_, err := db.collection(s, c.CollectionID)
		return err
	},
	remove: func(db *data, s kb.Scope, id int64) error {
		if db.articles.conflict(s.AccountID, 0, func(a *kb.Article) bool { return slices.Contains(a.CategoryIDs, id) }) {
			return fault.New(fault.Conflict, "The category is not empty.")
		}
		return nil
	},
}

// Categories implements [kb.Reader].
func (r kbReader) Categories() storage.RowReader[kb.Category, kb.CategoryFilter] {
	return kbRowsOf(r, &categories)
}

// Categories implements [kb.Rows].
func (t kbTx) Categories() storage.Rows[kb.Category, kb.CategoryFilter] {
	return kbStoredOf(t, &categories)
}

func (db *data) category(s kb.Scope, id int64) (*kb.Category, error) {
	return categories.get(db, s.AccountID, s, id)
}
