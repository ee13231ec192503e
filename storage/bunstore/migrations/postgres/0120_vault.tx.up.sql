-- What processes share beside all accounts, such as certificates and their keys, sealed; and who is at work on it.
CREATE TABLE hw_vault (
    key TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    value BYTEA NOT NULL,
    modified BIGINT NOT NULL
);
CREATE TABLE hw_vault_locks (
    name TEXT NOT NULL PRIMARY KEY,
    holder TEXT NOT NULL,
    until BIGINT NOT NULL
);
