-- The knowledge base: files of sites, themes and their files.
CREATE TABLE hw_site_files (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    site_id INTEGER NOT NULL,
    filename TEXT NOT NULL,
    content_type TEXT NOT NULL,
    size INTEGER NOT NULL,
    url_key TEXT NOT NULL,
    blob_key TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, site_id, id),
    FOREIGN KEY (account_id, site_id) REFERENCES hw_sites (account_id, id) ON DELETE CASCADE
) STRICT;

CREATE TABLE hw_themes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    site_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    is_active INTEGER NOT NULL,
    source TEXT NOT NULL,
    version TEXT NOT NULL,
    revision INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, site_id, id),
    FOREIGN KEY (account_id, site_id) REFERENCES hw_sites (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE UNIQUE INDEX hw_themes_active ON hw_themes (site_id) WHERE is_active;

CREATE TABLE hw_theme_files (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    site_id INTEGER NOT NULL,
    theme_id INTEGER NOT NULL,
    path TEXT NOT NULL,
    size INTEGER NOT NULL,
    hash TEXT NOT NULL,
    blob_key TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, site_id, theme_id, id),
    FOREIGN KEY (account_id, site_id, theme_id) REFERENCES hw_themes (account_id, site_id, id) ON DELETE CASCADE
) STRICT;
CREATE UNIQUE INDEX hw_theme_files_path ON hw_theme_files (theme_id, path);
