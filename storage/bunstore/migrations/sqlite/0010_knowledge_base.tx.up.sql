-- The knowledge base.
CREATE TABLE hw_sites (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    mailbox_id INTEGER,
    name TEXT NOT NULL,
    path TEXT NOT NULL,
    subdomain TEXT NOT NULL,
    custom_domain TEXT NOT NULL,
    host_key TEXT NOT NULL,
    html_head TEXT NOT NULL,
    visibility TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id),
    FOREIGN KEY (account_id, mailbox_id) REFERENCES hw_mailboxes (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_sites_address ON hw_sites (host_key, path);
CREATE INDEX hw_sites_mailbox ON hw_sites (account_id, mailbox_id);

-- Which account has a host of its own.
CREATE TABLE hw_site_hosts (
    host_key TEXT PRIMARY KEY,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE
) STRICT;

-- Collections, categories and articles. sort_order is a decimal in billionths; translations are a JSON array, see
-- kb_content.go. The counters are kept by the service.
CREATE TABLE hw_collections (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    site_id INTEGER NOT NULL,
    sort_order INTEGER NOT NULL,
    source_locale TEXT NOT NULL,
    translations TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    articles INTEGER NOT NULL DEFAULT 0,
    categories INTEGER NOT NULL DEFAULT 0,
    views INTEGER NOT NULL DEFAULT 0,
    published_articles INTEGER NOT NULL DEFAULT 0,
    published_views INTEGER NOT NULL DEFAULT 0,
    UNIQUE (account_id, site_id, id),
    FOREIGN KEY (account_id, site_id) REFERENCES hw_sites (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX hw_collections_order ON hw_collections (account_id, site_id, sort_order, id);

CREATE TABLE hw_categories (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    site_id INTEGER NOT NULL,
    collection_id INTEGER NOT NULL,
    sort_order INTEGER NOT NULL,
    source_locale TEXT NOT NULL,
    translations TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    articles INTEGER NOT NULL DEFAULT 0,
    categories INTEGER NOT NULL DEFAULT 0,
    views INTEGER NOT NULL DEFAULT 0,
    published_articles INTEGER NOT NULL DEFAULT 0,
    published_views INTEGER NOT NULL DEFAULT 0,
    UNIQUE (account_id, site_id, id),
    FOREIGN KEY (account_id, site_id) REFERENCES hw_sites (account_id, id) ON DELETE CASCADE,
    FOREIGN KEY (account_id, site_id, collection_id) REFERENCES hw_collections (account_id, site_id, id)
) STRICT;
CREATE INDEX hw_categories_order ON hw_categories (account_id, site_id, sort_order, id);
CREATE INDEX hw_categories_collection ON hw_categories (account_id, site_id, collection_id, sort_order, id);

CREATE TABLE hw_articles (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    site_id INTEGER NOT NULL,
    live INTEGER NOT NULL,
    draft INTEGER NOT NULL, -- 0: none
    last_revision INTEGER NOT NULL,
    published INTEGER NOT NULL,
    collection_id INTEGER NOT NULL,
    category_ids TEXT NOT NULL,
    sort_order INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    views INTEGER NOT NULL DEFAULT 0,
    feedbacks INTEGER NOT NULL DEFAULT 0,
    UNIQUE (account_id, site_id, id),
    FOREIGN KEY (account_id, site_id) REFERENCES hw_sites (account_id, id) ON DELETE CASCADE,
    FOREIGN KEY (account_id, site_id, collection_id) REFERENCES hw_collections (account_id, site_id, id)
) STRICT;
CREATE INDEX hw_articles_order ON hw_articles (account_id, site_id, sort_order, id);
CREATE INDEX hw_articles_collection ON hw_articles (account_id, site_id, collection_id, sort_order, id);
CREATE INDEX hw_articles_published ON hw_articles (account_id, site_id, sort_order, id) WHERE published = TRUE;
CREATE INDEX hw_articles_published_collection ON hw_articles (account_id, site_id, collection_id, sort_order, id) WHERE published = TRUE;

-- The collection and the categories of a revision that is not live may be gone.
CREATE TABLE hw_article_revisions (
    account_id INTEGER NOT NULL,
    site_id INTEGER NOT NULL,
    article_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    status TEXT NOT NULL,
    collection_id INTEGER NOT NULL,
    category_ids TEXT NOT NULL,
    sort_order INTEGER NOT NULL,
    source_locale TEXT NOT NULL,
    translations TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    views INTEGER NOT NULL DEFAULT 0,
    positive INTEGER NOT NULL DEFAULT 0,
    negative INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (account_id, article_id, number),
    FOREIGN KEY (account_id, site_id, article_id) REFERENCES hw_articles (account_id, site_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX hw_article_revisions_article ON hw_article_revisions (account_id, site_id, article_id, number);

CREATE TABLE hw_article_categories (
    account_id INTEGER NOT NULL,
    site_id INTEGER NOT NULL,
    article_id INTEGER NOT NULL,
    category_id INTEGER NOT NULL,
    PRIMARY KEY (account_id, article_id, category_id),
    FOREIGN KEY (account_id, site_id, article_id) REFERENCES hw_articles (account_id, site_id, id) ON DELETE CASCADE,
    FOREIGN KEY (account_id, site_id, category_id) REFERENCES hw_categories (account_id, site_id, id)
) STRICT;
CREATE INDEX hw_article_categories_article ON hw_article_categories (account_id, site_id, article_id);
CREATE INDEX hw_article_categories_category ON hw_article_categories (account_id, site_id, category_id, article_id);
