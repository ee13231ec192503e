-- Browsers in which members are told of notifications while the desk is closed.
CREATE TABLE hw_push_devices (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    user_id INTEGER NOT NULL,
    session_id INTEGER NOT NULL, -- 0: none
    name TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    endpoint_key TEXT NOT NULL,
    public_key BLOB,
    auth BLOB,
    created_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_push_devices_key ON hw_push_devices (account_id, user_id, endpoint_key);
