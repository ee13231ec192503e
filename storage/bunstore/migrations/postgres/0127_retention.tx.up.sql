-- Sessions that have expired are removed, oldest first.
CREATE INDEX hw_tokens_expired ON hw_tokens (expires_at, id) WHERE session = TRUE;
