package bunstore

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/kb"
)

// AddViews implements [kb.CountWriter].
func (w kbWriter) AddViews(ctx context.Context, views []kb.View) error {
	if len(views) == 0 {
		return w.state()
	}
	s := w.scope
	for _, v := range views {
		res, err := w.raw("UPDATE hw_articles SET views = views + ? WHERE account_id = ? AND site_id = ? AND id = ?",
			v.N, s.AccountID, s.SiteID, v.ArticleID).Exec(ctx)
		if err := changed(ctx, res, err, "article", v.ArticleID); err != nil {
			return err
		}
		_, err = w.raw("UPDATE hw_article_revisions SET views = views + ? WHERE account_id = ? AND site_id = ? AND article_id = ? AND number = ?",
			v.N, s.AccountID, s.SiteID, v.ArticleID, v.Revision).Exec(ctx)
		if err != nil {
			return failure(ctx, err, "revision", v.Revision)
		}
	}
	return nil
}

// AddCounts implements [kb.CountWriter].
func (w kbWriter) AddCounts(ctx context.Context, counts []kb.Counts) error {
	if len(counts) == 0 {
		return w.state()
	}
	for _, c := range counts {
		table, noun, id := "hw_collections", "collection", c.CollectionID
		if id == 0 {
			table, noun, id = "hw_categories", "category", c.CategoryID
		}
		res, err := w.raw(`UPDATE ? SET articles = articles + ?, categories = categories + ?, views = views + ?,
			published_articles = published_articles + ?, published_views = published_views + ? WHERE account_id = ? AND site_id = ? AND id = ?`,
			bun.Ident(table), c.Articles, c.Categories, c.Views, c.PublishedArticles, c.PublishedViews,
			w.scope.AccountID, w.scope.SiteID, id).Exec(ctx)
		if err := changed(ctx, res, err, noun, id); err != nil {
			return err
		}
	}
	return nil
}
