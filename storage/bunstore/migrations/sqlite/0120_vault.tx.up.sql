-- What processes share beside all accounts, such as certificates and their keys, sealed; and who is at work on it.
CREATE TABLE hw_vault (
    key TEXT NOT NULL PRIMARY KEY,
    value BLOB NOT NULL,
    modified INTEGER NOT NULL
) STRICT;
CREATE TABLE hw_vault_locks (
    name TEXT NOT NULL PRIMARY KEY,
    holder TEXT NOT NULL,
    until INTEGER NOT NULL
) STRICT;
