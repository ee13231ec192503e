package memstore

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// siteOf adds to a site what is its account's.
func (db *data) siteOf(site *kb.Site) kb.Site {
	out := *clone(site)
	if a, err := db.accounts.get(global, site.AccountID); err == nil {
		out.DefaultLocale, out.Languages = a.DefaultLocale, clone(a).Languages
	}
	return out
}

// findSite returns the stored site of any account that matches.
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

// site returns the stored site if the scope has it.
func (db *data) site(s kb.Scope, id int64) (*kb.Site, error) {
	if s.SiteID != 0 && s.SiteID != id {
		return nil, db.sites.missing(id)
	}
	return db.sites.get(s.AccountID, id)
}

func (r kbReader) Site(ctx context.Context, id int64) (kb.Site, error) {
	return query(ctx, r.src, func(db *data) (kb.Site, error) {
		site, err := db.site(r.scope, id)
		if err != nil {
			return kb.Site{}, err
		}
		return db.siteOf(site), nil
	})
}

func (r kbReader) Sites(ctx context.Context, seek storage.Seek) ([]kb.Site, error) {
	return query(ctx, r.src, func(db *data) ([]kb.Site, error) {
		sites := db.sites.list(r.scope.AccountID, seek, func(s *kb.Site) bool { return r.scope.SiteID == 0 || s.ID == r.scope.SiteID })
		for i := range sites {
			sites[i] = db.siteOf(&sites[i])
		}
		return sites, nil
	})
}

func (t kbTx) SiteForUpdate(ctx context.Context, id int64) (kb.Site, error) { return t.Site(ctx, id) }

// storedSite checks what a site refers to and what it must not share, and returns
// what is stored of it.
func (t kbTx) storedSite(db *data, s *kb.Site) (kb.Site, error) {
	row := *s
	row.AccountID, row.DefaultLocale, row.Languages = t.scope.AccountID, "", nil
	if s.MailboxID != 0 {
		if _, err := db.mailboxes.get(t.scope.AccountID, s.MailboxID); err != nil {
			return row, err
		}
	}
	if _, err := db.findSite(0, func(o *kb.Site) bool {
		return o.HostKey == s.HostKey && s.HostKey != kb.SharedHost && o.AccountID != t.scope.AccountID
	}); err == nil {
		return row, unique(kb.UniqueSiteHost, "Another account has this host.")
	}
	if _, err := db.findSite(0, func(o *kb.Site) bool { return o.ID != s.ID && o.HostKey == s.HostKey && o.Path == s.Path }); err == nil {
		return row, unique(kb.UniqueSitePath, "There is such a site already.")
	}
	return row, nil
}

func (t kbTx) InsertSite(ctx context.Context, s *kb.Site) error {
	return t.write(ctx, func(db *data) error {
		s.ID = 0
		row, err := t.storedSite(db, s)
		if err != nil {
			return err
		}
		s.AccountID = row.AccountID
		db.sites.last++
		s.ID, row.ID = db.sites.last, db.sites.last
		return db.sites.update(t.scope.AccountID, row.ID, &row)
	})
}

func (t kbTx) UpdateSite(ctx context.Context, s *kb.Site) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.site(t.scope, s.ID); err != nil {
			return err
		}
		row, err := t.storedSite(db, s)
		if err != nil {
			return err
		}
		return db.sites.update(t.scope.AccountID, s.ID, &row)
	})
}

func (t kbTx) DeleteSite(ctx context.Context, id int64) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.site(t.scope, id); err != nil {
			return err
		}
		db.removeSite(t.scope.AccountID, id)
		return nil
	})
}

// removeSite removes a site with all that is in it.
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
	db.sites.set(account, id, nil)
	db.removeFiles(account, id)
}

// forgetMailbox takes a mailbox that is removed off the sites of an account.
func (db *data) forgetMailbox(account, mailboxID int64) {
	for id, site := range db.sites.all(account) {
		if site.MailboxID == mailboxID {
			row := *site
			row.MailboxID = 0
			db.sites.set(account, id, &row) // replaces the value of the row, not the rows
		}
	}
}
