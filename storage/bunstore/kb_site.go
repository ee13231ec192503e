package bunstore

import (
	"context"
	"slices"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

type siteRow struct {
	bun.BaseModel `bun:"table:hw_sites,alias:hw_sites"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	MailboxID     int64 `bun:",nullzero"`
	Name          string
	Path          string
	Subdomain     string
	CustomDomain  string
	HostKey       string
	HTMLHead      string `bun:"html_head"`
	Visibility    string
	Look          object[kb.Look]
	Search        object[kb.SearchSettings]
	CreatedAt     int64
	UpdatedAt     int64

	// From the account.
	DefaultLocale string       `bun:",scanonly"`
	Languages     list[string] `bun:",scanonly"`
}

func (r *siteRow) site() kb.Site {
	return kb.Site{
		ID: r.ID, AccountID: r.AccountID, MailboxID: r.MailboxID, Name: r.Name, Path: r.Path, Subdomain: r.Subdomain,
		CustomDomain: r.CustomDomain, HostKey: r.HostKey, HTMLHead: r.HTMLHead, Visibility: kb.Visibility(r.Visibility), Look: r.Look.Of, Search: r.Search.Of,
		CreatedAt: timeOf(r.CreatedAt), UpdatedAt: timeOf(r.UpdatedAt), DefaultLocale: r.DefaultLocale, Languages: r.Languages,
	}
}

func siteRowOf(account int64, s *kb.Site) siteRow {
	return siteRow{
		ID: s.ID, AccountID: account, MailboxID: s.MailboxID, Name: s.Name, Path: s.Path, Subdomain: s.Subdomain,
		CustomDomain: s.CustomDomain, HostKey: s.HostKey, HTMLHead: s.HTMLHead, Visibility: string(s.Visibility), Look: object[kb.Look]{s.Look}, Search: object[kb.SearchSettings]{s.Search},
		CreatedAt: micros(s.CreatedAt), UpdatedAt: micros(s.UpdatedAt),
	}
}

// sites selects sites with the fields that come from their account.
func (s *querier) sites(model any) *bun.SelectQuery {
	return withAccount(s.selects(model))
}

// withAccount adds the fields that come from the account.
func withAccount(q *bun.SelectQuery) *bun.SelectQuery {
	return q.ColumnExpr("?TableColumns").ColumnExpr("a.default_locale, a.languages").Join("JOIN hw_accounts AS a ON a.id = hw_sites.account_id")
}

// FindSite implements [kb.Directory].
func (s kbStore) FindSite(ctx context.Context, id int64) (kb.Site, error) {
	var row siteRow
	if err := one(ctx, s.sites(&row).Where("hw_sites.id = ?", id), "site", id); err != nil {
		return kb.Site{}, err
	}
	return row.site(), nil
}

// SiteByAddress implements [kb.Directory].
func (s kbStore) SiteByAddress(ctx context.Context, hostKey string, paths ...string) (kb.Site, error) {
	var rows []siteRow
	q := s.sites(&rows).Err(checkText(hostKey, paths)).Where("hw_sites.host_key = ?", hostKey).Where("hw_sites.path IN (?)", bun.List(paths))
	if err := q.Scan(ctx); err != nil {
		return kb.Site{}, failure(ctx, err, "site", 0)
	}
	if len(rows) == 0 {
		return kb.Site{}, fault.Missing("site", 0)
	}
	row := slices.MaxFunc(rows, func(a, b siteRow) int { return len(a.Path) - len(b.Path) })
	return row.site(), nil
}

// HasHost implements [kb.Directory].
func (s kbStore) HasHost(ctx context.Context, hostKey string) (bool, error) {
	found, err := s.selects((*siteRow)(nil)).Err(checkText(hostKey)).Where("host_key = ?", hostKey).Exists(ctx)
	return found, failure(ctx, err, "site", 0)
}

// PublicSites implements [kb.Directory].
func (s kbStore) PublicSites(ctx context.Context, hostKey string, limit int) ([]kb.Site, error) {
	var rows []siteRow
	q := s.sites(&rows).Err(checkText(hostKey)).Where("hw_sites.host_key = ?", hostKey).Where("hw_sites.visibility = ?", kb.Public).OrderBy("hw_sites.path", bun.OrderAsc).Limit(int64(limit))
	if err := q.Scan(ctx); err != nil {
		return nil, failure(ctx, err, "site", 0)
	}
	var found []kb.Site
	for i := range rows {
		found = append(found, rows[i].site())
	}
	return found, nil
}

// ownSites restricts a statement on sites to the scope.
func (r kbReader) ownSites(q bun.QueryBuilder) bun.QueryBuilder {
	q = r.account(q)
	if r.scope.SiteID != 0 {
		q = q.Where("?TableName.id = ?", r.scope.SiteID)
	}
	return q
}

var sites = table[kbWriter, kb.Site, storage.NoFilter, siteRow]{
	Noun: kbNouns.Sites, row: siteRowOf, item: (*siteRow).site,
	scope: func(w kbWriter, q bun.QueryBuilder) bun.QueryBuilder { return w.ownSites(q) },
	with:  withAccount,
	refers: func(w kbWriter, s *kb.Site) (string, int64) {
		if s.MailboxID == 0 {
			return "account", w.scope.AccountID
		}
		return "mailbox", s.MailboxID
	},
	admit: func(ctx context.Context, w kbWriter, all []*kb.Site) error {
		if err := w.requireAccount(ctx); err != nil {
			return err
		}
		for _, s := range all {
			if err := w.claimHost(ctx, s); err != nil {
				return err
			}
		}
		return nil
	},
	replaced: func(ctx context.Context, w kbWriter, old, _ *kb.Site) error {
		return w.releaseHost(ctx, old.HostKey, 0)
	},
	remove:     func(ctx context.Context, w kbWriter, id int64) error { return w.emptySite(ctx, id) },
	dependents: []dependent{{table: "hw_articles", of: "site_id", cost: 20}},
}

// Sites implements [kb.Reader].
func (r kbReader) Sites() storage.RowReader[kb.Site, storage.NoFilter] {
	return rowsOf(r.placed(), &sites)
}

// Sites implements [kb.Rows].
func (w kbWriter) Sites() storage.Rows[kb.Site, storage.NoFilter] {
	return storedOf(w, &sites)
}

// emptySite deletes the contents of a site, and releases its host if no other site uses it.
func (w kbWriter) emptySite(ctx context.Context, id int64) error {
	for _, table := range siteTables {
		_, err := w.raw("DELETE FROM ? WHERE account_id = ? AND site_id = ?", bun.Ident(table), w.scope.AccountID, id).Exec(ctx)
		if err != nil {
			return inUse(ctx, err, "site", id)
		}
	}
	var host string
	if err := w.raw("SELECT host_key FROM hw_sites WHERE id = ?", id).Scan(ctx, &host); err != nil {
		return failure(ctx, err, "site", id)
	}
	return w.releaseHost(ctx, host, id)
}

// siteTables lists the tables of a site's contents whose rows refer to each other, referring rows first. Foreign keys delete
// the rest with the site.
var siteTables = []string{"hw_articles", "hw_categories", "hw_collections"}

// claimHost assigns a host to the account, or fails when another account has it. The row stays locked, so that the host
// cannot be released before the site exists.
func (w kbWriter) claimHost(ctx context.Context, s *kb.Site) error {
	if s.HostKey == kb.SharedHost {
		return nil
	}
	var owner int64
	err := w.raw(`INSERT INTO hw_site_hosts (host_key, account_id) VALUES (?, ?)
		ON CONFLICT (host_key) DO UPDATE SET account_id = hw_site_hosts.account_id RETURNING account_id`,
		s.HostKey, w.scope.AccountID).Scan(ctx, &owner)
	if err != nil {
		return failure(ctx, err, "site", s.ID)
	}
	if owner != w.scope.AccountID {
		return &fault.Error{Kind: fault.Conflict, Resource: "site", ID: s.ID, Code: kb.UniqueSiteHost, Message: "Another account uses this host."}
	}
	return nil
}

// releaseHost releases a host that no site uses, apart from one that is to be deleted (0: none).
func (w kbWriter) releaseHost(ctx context.Context, key string, but int64) error {
	if key == kb.SharedHost {
		return nil
	}
	const lock = "UPDATE hw_site_hosts SET account_id = account_id WHERE host_key = ?"
	if _, err := w.raw(lock, key).Exec(ctx); err != nil {
		return failure(ctx, err, "site", 0)
	}
	_, err := w.raw("DELETE FROM hw_site_hosts WHERE host_key = ? AND NOT EXISTS (SELECT 1 FROM hw_sites WHERE host_key = ? AND id <> ?)", key, key, but).Exec(ctx)
	return failure(ctx, err, "site", 0)
}
