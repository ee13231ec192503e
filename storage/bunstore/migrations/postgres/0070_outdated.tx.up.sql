-- How many translations of what is at work are outdated: of the draft, or else of the live revision.
ALTER TABLE hw_articles ADD COLUMN outdated BIGINT NOT NULL DEFAULT 0;
--bun:split
UPDATE hw_articles SET outdated = (SELECT COUNT(*) FROM hw_article_revisions AS r, jsonb_array_elements(r.translations::jsonb) AS e (value),
	jsonb_array_elements(r.translations::jsonb) AS s (value)
	WHERE r.account_id = hw_articles.account_id AND r.site_id = hw_articles.site_id AND r.article_id = hw_articles.id
	AND r.number = CASE WHEN hw_articles.draft > 0 THEN hw_articles.draft ELSE hw_articles.live END
	AND s.value ->> 'l' = r.source_locale AND e.value ->> 'l' <> r.source_locale
	AND (e.value ->> 'u')::bigint < (s.value ->> 'u')::bigint);
--bun:split
CREATE INDEX hw_articles_outdated ON hw_articles (account_id, site_id, sort_order, id) WHERE outdated > 0;
--bun:split
CREATE INDEX hw_articles_drafts ON hw_articles (account_id, site_id, sort_order, id) WHERE draft > 0;
