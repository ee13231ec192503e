-- WebAuthn credentials that users sign in with.
CREATE TABLE hw_passkeys (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL REFERENCES hw_users (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    credential_id BLOB NOT NULL,
    handle BLOB NOT NULL,
    public_key BLOB NOT NULL,
    sign_count INTEGER NOT NULL,
    backup_eligible INTEGER NOT NULL,
    backed_up INTEGER NOT NULL,
    transports TEXT NOT NULL,
    challenge_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    used_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX hw_passkeys_credential ON hw_passkeys (credential_id);
CREATE INDEX hw_passkeys_user ON hw_passkeys (user_id, id);
