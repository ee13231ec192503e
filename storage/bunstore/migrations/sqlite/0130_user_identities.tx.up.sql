-- Who a user is at servers that sign people in, such as OpenID Connect providers.
CREATE TABLE hw_user_identities (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL REFERENCES hw_users (id) ON DELETE CASCADE,
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    email TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    used_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX hw_user_identities_subject ON hw_user_identities (issuer, subject);
CREATE INDEX hw_user_identities_user ON hw_user_identities (user_id, id);
-- How many factors the sign-in had that made a token; 0: not known.
ALTER TABLE hw_tokens ADD COLUMN factors INTEGER NOT NULL DEFAULT 0;
