-- Answers to requests that carried an Idempotency-Key. Not of any account: it is the transport that knows who asked.
CREATE TABLE hw_idempotency (
    key BYTEA PRIMARY KEY,
    request BYTEA NOT NULL,
    holder TEXT NOT NULL,
    until BIGINT NOT NULL,
    answer BYTEA
);
CREATE INDEX hw_idempotency_until ON hw_idempotency (until);
