-- What the live version of an article is found by, for each of its languages. The id is the rowid of hw_article_search.
CREATE TABLE hw_article_documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    site_id INTEGER NOT NULL,
    article_id INTEGER NOT NULL,
    locale TEXT NOT NULL,
    language TEXT NOT NULL,
    source INTEGER NOT NULL,
    published INTEGER NOT NULL,
    UNIQUE (account_id, article_id, locale),
    FOREIGN KEY (account_id, site_id, article_id) REFERENCES hw_articles (account_id, site_id, id) ON DELETE CASCADE
) STRICT;
--bun:split
-- The terms come ready from the service, as those of conversations do; "_1" stands for site 1, "_p1" for what it has
-- published.
CREATE VIRTUAL TABLE hw_article_search USING fts5 (
    scope, title, summary, content, tokenize = "ascii tokenchars '_'", prefix = '2 3', detail = column, columnsize = 0
);
--bun:split
CREATE TRIGGER hw_article_search_delete AFTER DELETE ON hw_article_documents BEGIN
    DELETE FROM hw_article_search WHERE rowid = old.id;
END;
--bun:split
-- The words of titles and summaries under all that is left of them without one character.
CREATE TABLE hw_article_spellings (
    account_id INTEGER NOT NULL,
    site_id INTEGER NOT NULL,
    variant TEXT NOT NULL,
    word TEXT NOT NULL,
    PRIMARY KEY (account_id, site_id, variant, word),
    FOREIGN KEY (account_id, site_id) REFERENCES hw_sites (account_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
--bun:split
-- What readers wrote about articles.
CREATE TABLE hw_article_feedback (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    site_id INTEGER NOT NULL,
    article_id INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    text TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    FOREIGN KEY (account_id, site_id, article_id) REFERENCES hw_articles (account_id, site_id, id) ON DELETE CASCADE
) STRICT;
--bun:split
CREATE INDEX hw_article_feedback_site ON hw_article_feedback (account_id, site_id, id);
--bun:split
CREATE INDEX hw_article_feedback_article ON hw_article_feedback (account_id, article_id, id);
--bun:split
-- What visitors think of revisions: one reaction each.
CREATE TABLE hw_article_reactions (
    account_id INTEGER NOT NULL,
    article_id INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    visitor BLOB NOT NULL,
    positive INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (account_id, article_id, revision, visitor),
    FOREIGN KEY (account_id, article_id, revision) REFERENCES hw_article_revisions (account_id, article_id, number) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
--bun:split
-- The names by which a site's content goes in a folder of files.
CREATE TABLE hw_exchange_keys (
    account_id INTEGER NOT NULL,
    site_id INTEGER NOT NULL,
    kind TEXT NOT NULL,
    resource_id INTEGER NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY (account_id, site_id, kind, resource_id),
    UNIQUE (account_id, site_id, kind, key),
    FOREIGN KEY (account_id, site_id) REFERENCES hw_sites (account_id, id) ON DELETE CASCADE
) STRICT;
