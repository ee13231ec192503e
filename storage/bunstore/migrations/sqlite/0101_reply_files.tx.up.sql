-- Files of saved replies. Answers get copies of them.
CREATE TABLE hw_reply_files (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    reply_id INTEGER NOT NULL,
    filename TEXT NOT NULL,
    content_type TEXT NOT NULL,
    size INTEGER NOT NULL,
    blob_key TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (account_id, id),
    FOREIGN KEY (account_id, reply_id) REFERENCES hw_saved_replies (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX hw_reply_files_reply ON hw_reply_files (account_id, reply_id, id);
CREATE INDEX hw_reply_files_blob ON hw_reply_files (blob_key);
