-- Which blobs rows name, and the mark that ties the database to its blobs.
CREATE INDEX hw_attachments_blob ON hw_attachments (blob_key);
--bun:split
CREATE INDEX hw_inbound_mails_raw ON hw_inbound_mails (raw_key) WHERE raw_key <> '';
--bun:split
CREATE INDEX hw_site_files_blob ON hw_site_files (blob_key);
--bun:split
CREATE INDEX hw_theme_files_blob ON hw_theme_files (blob_key);
--bun:split
CREATE TABLE hw_marks (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    mark TEXT NOT NULL,
    probe BLOB
) STRICT;
