-- The sites whose articles Migrate has still to index by the terms that words have now, and the last article that it has done.
CREATE TABLE hw_document_pending (
    account_id INTEGER NOT NULL,
    site_id INTEGER NOT NULL,
    article_id INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (account_id, site_id),
    FOREIGN KEY (account_id, site_id) REFERENCES hw_sites (account_id, id) ON DELETE CASCADE
) STRICT;
INSERT INTO hw_document_pending (account_id, site_id) SELECT account_id, id FROM hw_sites;
