-- How a site looks to readers (JSON), the icons of collections, and what readers choose articles by.
ALTER TABLE hw_sites ADD COLUMN look TEXT NOT NULL DEFAULT '{}';
ALTER TABLE hw_collections ADD COLUMN icon TEXT NOT NULL DEFAULT '';

-- updated_at of the live revision
ALTER TABLE hw_articles ADD COLUMN changed_at INTEGER NOT NULL DEFAULT 0;
UPDATE hw_articles SET changed_at = COALESCE((SELECT r.updated_at FROM hw_article_revisions AS r
    WHERE r.account_id = hw_articles.account_id AND r.article_id = hw_articles.id AND r.number = hw_articles.live), updated_at);
CREATE INDEX hw_articles_published_changed ON hw_articles (account_id, site_id, changed_at, id) WHERE published = TRUE;
CREATE INDEX hw_articles_published_viewed ON hw_articles (account_id, site_id, views, id) WHERE published = TRUE;
CREATE INDEX hw_articles_published_loose ON hw_articles (account_id, site_id, collection_id, sort_order, id)
    WHERE published = TRUE AND category_ids = '[]';
CREATE INDEX hw_article_documents_locale ON hw_article_documents (account_id, site_id, published, locale);
