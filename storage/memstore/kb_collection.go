package memstore

import (
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

var collections = noun[kb.Scope, kb.Collection, storage.NoFilter]{
	Noun: kbNouns.Collections, of: func(db *data) *table[kb.Collection] { return &db.collections },
	sees:   func(_ *data, s kb.Scope, c *kb.Collection) bool { return c.SiteID == s.SiteID },
	key:    func(_ storage.NoFilter, c *kb.Collection) int64 { return int64(c.SortOrder) },
	strip:  func(c *kb.Collection) { c.Counters = kb.Counters{} },
	refers: func(db *data, s kb.Scope, _ *kb.Collection) error { return db.inSite(s) },
	remove: func(db *data, s kb.Scope, id int64) error {
		if db.categories.conflict(s.AccountID, 0, func(c *kb.Category) bool { return c.CollectionID == id }) ||
			db.articles.conflict(s.AccountID, 0, func(a *kb.Article) bool { return a.CollectionID == id }) {
			return fault.New(fault.Conflict, "The collection is not empty.")
		}
		return nil
	},
}

// Collections implements [kb.Reader].
func (r kbReader) Collections() storage.RowReader[kb.Collection, storage.NoFilter] {
	return kbRowsOf(r, &collections)
}

// Collections implements [kb.Rows].
func (t kbTx) Collections() storage.Rows[kb.Collection, storage.NoFilter] {
	return kbStoredOf(t, &collections)
}

func (db *data) collection(s kb.Scope, id int64) (*kb.Collection, error) {
	return collections.get(db, s.AccountID, s, id)
}
