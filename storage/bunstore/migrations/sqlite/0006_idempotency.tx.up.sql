-- Answers to requests that carried an Idempotency-Key. Not of any account: it is the transport that knows who asked.
CREATE TABLE hw_idempotency (
    key BLOB NOT NULL PRIMARY KEY,
    request BLOB NOT NULL,
    holder TEXT NOT NULL,
    until INTEGER NOT NULL,
    answer BLOB
) STRICT;
CREATE INDEX hw_idempotency_until ON hw_idempotency (until);
