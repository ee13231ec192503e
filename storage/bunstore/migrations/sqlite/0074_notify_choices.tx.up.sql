-- In which channels members want to be told of what.
CREATE TABLE hw_notify_choices (
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    user_id INTEGER NOT NULL,
    choices TEXT NOT NULL,
    PRIMARY KEY (account_id, user_id)
) STRICT;
