-- Terms of articles with the rank in front at which they are found: "0pay" is in the title, "1pay" in the title or the
-- summary, "2pay" anywhere. A filter on columns would have read every document that has the word at all.
DROP TRIGGER hw_article_search_delete;
--bun:split
CREATE VIRTUAL TABLE hw_article_terms USING fts5 (
    scope, terms, tokenize = "ascii tokenchars '_'", prefix = '3 4', detail = none, columnsize = 0
);
--bun:split
INSERT INTO hw_article_terms (rowid, scope, terms)
    SELECT rowid, scope, replace(' ' || title, ' ', ' 0') || replace(' ' || title || ' ' || summary, ' ', ' 1')
        || replace(' ' || title || ' ' || summary || ' ' || content, ' ', ' 2')
    FROM hw_article_search ORDER BY rowid;
--bun:split
DROP TABLE hw_article_search;
--bun:split
CREATE TRIGGER hw_article_terms_delete AFTER DELETE ON hw_article_documents BEGIN
    DELETE FROM hw_article_terms WHERE rowid = old.id;
END;
