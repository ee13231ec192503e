package memstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// siteOf adds to a site the fields that come from its account.
func (db *data) siteOf(site *kb.Site) kb.Site {
	out := *clone(site)
	if a, err := db.accounts.get(global, site.AccountID); err == nil {
		out.DefaultLocale, out.Languages = a.DefaultLocale, clone(a).Languages
	}
	return out
}

// findSite returns the stored site, in any account, that matches.
func (db *data) findSite(id int64, match func(*kb.Site) bool) (*kb.Site, error) {
	for account := range db.sites.rows {
		for _, s := range db.sites.all(account) {
			if match(s) {
				return s, nil
			}
		}
	}
	return nil, db.sites.missing(id)
}

func (s kbStore) FindSite(ctx context.Context, id int64) (kb.Site, error) {
	return query(ctx, s.store, func(db *data) (kb.Site, error) {
		site, err := db.findSite(id, func(o *kb.Site) bool { return o.ID == id })
		if err != nil {
			return kb.Site{}, err
		}
		return db.siteOf(site), nil
	})
}

func (s kbStore) SiteByAddress(ctx context.Context, hostKey string, paths ...string) (kb.Site, error) {
	paths = slices.SortedFunc(slices.Values(paths), func(a, b string) int { return len(b) - len(a) })
	return query(ctx, s.store, func(db *data) (kb.Site, error) {
		for _, path := range paths {
			site, err := db.findSite(0, func(o *kb.Site) bool { return o.HostKey == hostKey && o.Path == path })
			if err == nil {
				return db.siteOf(site), nil
			}
		}
		return kb.Site{}, db.sites.missing(0)
	})
}

func (s kbStore) HasHost(ctx context.Context, hostKey string) (bool, error) {
	return query(ctx, s.store, func(db *data) (bool, error) {
		_, err := db.findSite(0, func(o *kb.Site) bool { return o.HostKey == hostKey })
		if fault.Is(err, fault.NotFound) {
			return false, nil
		}
		return err == nil, err
	})
}

func (s kbStore) PublicSites(ctx context.Context, hostKey string, limit int) ([]kb.Site, error) {
	return query(ctx, s.store, func(db *data) ([]kb.Site, error) {
		var found []kb.Site
		for account := range db.sites.rows {
			for _, site := range db.sites.all(account) {
				if site.HostKey == hostKey && site.Visibility == kb.Public {
					found = append(found, db.siteOf(site))
				}
			}
		}
		slices.SortFunc(found, func(a, b kb.Site) int { return cmp.Compare(a.Path, b.Path) })
		return found[:min(limit, len(found))], nil
	})
}

// site returns the stored site if it is in the scope.
func (db *data) site(s kb.Scope, id int64) (*kb.Site, error) {
	if s.SiteID != 0 && s.SiteID != id {
		return nil, db.sites.missing(id)
	}
	return db.sites.get(s.AccountID, id)
}

var sites = noun[kb.Scope, kb.Site, storage.NoFilter]{
	Noun: kbNouns.Sites, of: func(db *data) *table[kb.Site] { return &db.sites },
	sees:   func(_ *data, s kb.Scope, site *kb.Site) bool { return s.SiteID == 0 || s.SiteID == site.ID },
	strip:  func(site *kb.Site) { site.DefaultLocale, site.Languages = "", nil },
	show:   func(db *data, site *kb.Site) { *site = db.siteOf(site) },
	refers: siteRefers,
	remove: func(db *data, s kb.Scope, id int64) error {
		db.removeSite(s.AccountID, id)
		return nil
	},
}

// Sites implements [kb.Reader].
func (r kbReader) Sites() storage.RowReader[kb.Site, storage.NoFilter] {
	return kbRowsOf(r, &sites)
}

// Sites implements [kb.Rows].
func (t kbTx) Sites() storage.Rows[kb.Site, storage.NoFilter] {
	return kbStoredOf(t, &sites)
}

// siteRefers refuses a missing mailbox, and the host of another account.
func siteRefers(db *data, s kb.Scope, site *kb.Site) error {
	if site.MailboxID != 0 {
		if _, err := db.mailboxes.get(s.AccountID, site.MailboxID); err != nil {
			return err
		}
	}
	_, err := db.findSite(0, func(o *kb.Site) bool {
		return o.HostKey == site.HostKey && site.HostKey != kb.SharedHost && o.AccountID != s.AccountID
	})
	if err == nil {
		return unique(kb.UniqueSiteHost, "Another account uses this host.")
	}
	return nil
}

// removeSite deletes everything in a site.
func (db *data) removeSite(account, id int64) {
	for _, a := range db.articles.where(account, func(a *kb.Article) bool { return a.SiteID == id }) {
		db.forgetArticle(account, a.ID)
	}
	db.spellings.removeIf(account, func(s *spellingRow) bool { return s.SiteID == id })
	db.exchangeKeys.removeIf(account, func(k *exchangeKeyRow) bool { return k.SiteID == id })
	db.revisions.removeIf(account, func(r *kb.Revision) bool {
		a, err := db.articles.get(account, r.ArticleID)
		return err == nil && a.SiteID == id
	})
	db.articles.removeIf(account, func(a *kb.Article) bool { return a.SiteID == id })
	db.categories.removeIf(account, func(c *kb.Category) bool { return c.SiteID == id })
	db.collections.removeIf(account, func(c *kb.Collection) bool { return c.SiteID == id })
	db.removeFiles(account, id)
}

// forgetMailbox removes a deleted mailbox from the sites of an account.
func (db *data) forgetMailbox(account, mailboxID int64) {
	for id, site := range db.sites.all(account) {
		if site.MailboxID == mailboxID {
			row := *site
			row.MailboxID = 0
			db.sites.set(account, id, &row) // replaces the value of the row, not the set of rows
		}
	}
}
