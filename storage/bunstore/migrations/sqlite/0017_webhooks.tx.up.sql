-- Webhooks, the deliveries of events to them, and how far the log of an account was taken for them.
CREATE TABLE hw_webhooks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    url TEXT NOT NULL,
    events TEXT NOT NULL,
    mailbox_ids TEXT NOT NULL, -- empty: all
    is_active INTEGER NOT NULL,
    reason TEXT NOT NULL, -- why it was switched off by itself
    failing_since INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    last_success_at INTEGER NOT NULL,
    after_seq INTEGER NOT NULL, -- of the last event before it became active
    sealed_secret BLOB NOT NULL,
    sealed_former BLOB NOT NULL,
    former_until INTEGER NOT NULL,
    user_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;

-- Without a foreign key to the account: an event that becomes a delivery does not wait for who has the account locked.
CREATE TABLE hw_webhook_deliveries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    webhook_id INTEGER NOT NULL,
    seq INTEGER NOT NULL, -- of the event
    type TEXT NOT NULL, -- of the event
    mailbox_id INTEGER NOT NULL, -- of the event
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    status INTEGER NOT NULL,
    problem TEXT NOT NULL,
    response TEXT NOT NULL,
    next_attempt_at INTEGER NOT NULL,
    held_by INTEGER NOT NULL, -- the job that tries it
    held_until INTEGER NOT NULL,
    due_at INTEGER NOT NULL, -- the later of next_attempt_at and held_until
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id),
    FOREIGN KEY (account_id, webhook_id) REFERENCES hw_webhooks (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX hw_webhook_deliveries_webhook ON hw_webhook_deliveries (account_id, webhook_id, id);
CREATE INDEX hw_webhook_deliveries_state ON hw_webhook_deliveries (account_id, webhook_id, state, id);
CREATE INDEX hw_webhook_deliveries_due ON hw_webhook_deliveries (account_id, webhook_id, due_at, id) WHERE state = 'pending';
CREATE INDEX hw_webhook_deliveries_held ON hw_webhook_deliveries (account_id, webhook_id, held_until) WHERE state = 'pending';

CREATE TABLE hw_webhook_cursors (
    account_id INTEGER NOT NULL PRIMARY KEY REFERENCES hw_accounts (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL -- of the last event that was taken
) STRICT;
