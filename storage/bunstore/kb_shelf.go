package bunstore

import (
	"context"
	"database/sql"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage/fault"
)

// Front implements [kb.ShelfReader] with one statement. It goes from one locale to the next in the index, however many
// documents there are.
func (r kbReader) Front(ctx context.Context) (kb.Front, error) {
	var front kb.Front
	const next = `SELECT MIN(d.locale) FROM hw_article_documents AS d WHERE d.account_id = ?0 AND d.site_id = ?1 AND d.published = TRUE`
	err := r.rows(ctx, func(rows *sql.Rows) error {
		var locale string
		var theme, revision int64
		if err := rows.Scan(&locale, &theme, &revision); err != nil {
			return err
		}
		if theme != 0 {
			front.ThemeID, front.ThemeRevision = theme, revision
		} else {
			front.Locales = append(front.Locales, locale)
		}
		return nil
	}, `WITH RECURSIVE l (locale) AS (SELECT (`+next+`) UNION ALL SELECT (`+next+` AND d.locale > l.locale) FROM l WHERE l.locale IS NOT NULL)
		SELECT locale AS locale, 0 AS theme, 0 AS revision FROM l WHERE locale IS NOT NULL
		UNION ALL SELECT '', id, revision FROM hw_themes WHERE account_id = ?0 AND site_id = ?1 AND is_active
		ORDER BY locale`, r.scope.AccountID, r.scope.SiteID)
	return front, failure(ctx, err, "site", r.scope.SiteID)
}

// Shelf implements [kb.ShelfReader] with one statement.
func (r kbReader) Shelf(ctx context.Context, collectionID int64, limit int) (kb.Shelf, error) {
	var shelf kb.Shelf
	err := r.rows(ctx, func(rows *sql.Rows) error {
		var kind int
		var c collectionRow
		if err := rows.Scan(&kind, &c.ID, &c.SortOrder, &c.Icon, &c.SourceLocale, &c.Translations, &c.CreatedAt, &c.UpdatedAt,
			&c.Articles, &c.Categories, &c.Views, &c.PublishedArticles, &c.PublishedViews); err != nil {
			return err
		}
		c.SiteID = r.scope.SiteID
		if kind == 0 {
			shelf.Collection = c.collection()
			return nil
		}
		g := categoryRow{
			ID: c.ID, SiteID: c.SiteID, CollectionID: collectionID, SortOrder: c.SortOrder, SourceLocale: c.SourceLocale, Translations: c.Translations,
			CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt, counters: c.counters,
		}
		shelf.Categories = append(shelf.Categories, g.category())
		return nil
	}, `SELECT 0 AS kind, id, sort_order, icon, `+shelfColumns+` FROM hw_collections WHERE account_id = ?0 AND site_id = ?1 AND id = ?2
		UNION ALL SELECT * FROM (SELECT 1, id, sort_order, '', `+shelfColumns+` FROM hw_categories
			WHERE account_id = ?0 AND site_id = ?1 AND collection_id = ?2 ORDER BY sort_order, id LIMIT ?3) AS g
		ORDER BY kind, sort_order, id`, r.scope.AccountID, r.scope.SiteID, collectionID, max(limit, 0))
	if err == nil && shelf.Collection.ID == 0 {
		return kb.Shelf{}, fault.Missing("collection", collectionID)
	}
	return shelf, failure(ctx, err, "collection", collectionID)
}

// shelfColumns are what collections and categories have in common.
const shelfColumns = "source_locale, translations, created_at, updated_at, articles, categories, views, published_articles, published_views"
