-- Sites whose articles may have addresses of the site in their contents, which become
-- references. Migrate sees to each in a transaction of its own.
CREATE TABLE hw_reference_pending (
    site_id INTEGER PRIMARY KEY REFERENCES hw_sites (id) ON DELETE CASCADE,
    account_id INTEGER NOT NULL
) STRICT;

--bun:split

INSERT INTO hw_reference_pending (site_id, account_id) SELECT id, account_id FROM hw_sites;
