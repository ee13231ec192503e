-- Times are microseconds since 1970 UTC; no time is that of Go's zero time, -62135596800000000.

CREATE TABLE hw_users (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    email TEXT NOT NULL,
    email_key TEXT NOT NULL,
    email_verified_at INTEGER NOT NULL,
    password_hash TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX hw_users_email_key ON hw_users (email_key);

CREATE TABLE hw_tokens (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL REFERENCES hw_users (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    hash BLOB NOT NULL,
    scopes TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX hw_tokens_hash ON hw_tokens (hash);
CREATE INDEX hw_tokens_user ON hw_tokens (user_id);

CREATE TABLE hw_accounts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    next_number INTEGER NOT NULL,
    last_event INTEGER NOT NULL DEFAULT 0,
    default_locale TEXT NOT NULL,
    languages TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE hw_roles (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    role_key TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    permissions TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;

CREATE TABLE hw_mailboxes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    email TEXT NOT NULL,
    email_key TEXT NOT NULL,
    from_name TEXT NOT NULL,
    internal_local TEXT NOT NULL,
    inbound_type TEXT NOT NULL,
    host TEXT NOT NULL,
    port INTEGER NOT NULL,
    username TEXT NOT NULL,
    sealed_password BLOB,
    encryption TEXT NOT NULL,
    validate_certificate INTEGER NOT NULL,
    folders TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_mailboxes_email ON hw_mailboxes (account_id, email_key) WHERE email_key <> '';
CREATE UNIQUE INDEX hw_mailboxes_local ON hw_mailboxes (internal_local);
CREATE INDEX hw_mailboxes_fetch ON hw_mailboxes (id) WHERE inbound_type <> 'FWD';

CREATE TABLE hw_fetch_status (
    account_id INTEGER NOT NULL,
    mailbox_id INTEGER NOT NULL,
    connected INTEGER NOT NULL,
    last_success_at INTEGER NOT NULL,
    last_error_at INTEGER NOT NULL,
    last_error TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (account_id, mailbox_id),
    FOREIGN KEY (account_id, mailbox_id) REFERENCES hw_mailboxes (account_id, id) ON DELETE CASCADE
) STRICT;

CREATE TABLE hw_fetch_cursors (
    account_id INTEGER NOT NULL,
    mailbox_id INTEGER NOT NULL,
    folder TEXT NOT NULL,
    uid_validity INTEGER NOT NULL,
    uid INTEGER NOT NULL,
    PRIMARY KEY (account_id, mailbox_id, folder),
    FOREIGN KEY (account_id, mailbox_id) REFERENCES hw_mailboxes (account_id, id) ON DELETE CASCADE
) STRICT;

CREATE TABLE hw_memberships (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    user_id INTEGER NOT NULL REFERENCES hw_users (id),
    last_activity INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_memberships_user ON hw_memberships (user_id, account_id);

CREATE TABLE hw_membership_roles (
    account_id INTEGER NOT NULL,
    membership_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    role_id INTEGER NOT NULL,
    PRIMARY KEY (account_id, membership_id, position),
    FOREIGN KEY (account_id, membership_id) REFERENCES hw_memberships (account_id, id) ON DELETE CASCADE,
    FOREIGN KEY (account_id, role_id) REFERENCES hw_roles (account_id, id)
) STRICT;
CREATE INDEX hw_membership_roles_role ON hw_membership_roles (account_id, role_id);

-- Without a foreign key to the mailbox: a member of a removed mailbox must not become a member of all.
CREATE TABLE hw_membership_mailboxes (
    account_id INTEGER NOT NULL,
    membership_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    mailbox_id INTEGER NOT NULL,
    PRIMARY KEY (account_id, membership_id, position),
    FOREIGN KEY (account_id, membership_id) REFERENCES hw_memberships (account_id, id) ON DELETE CASCADE
) STRICT;

CREATE TABLE hw_customers (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    first_name TEXT NOT NULL,
    last_name TEXT NOT NULL,
    company TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;

CREATE TABLE hw_customer_emails (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    customer_id INTEGER NOT NULL,
    email TEXT NOT NULL,
    email_key TEXT NOT NULL,
    UNIQUE (account_id, id),
    FOREIGN KEY (account_id, customer_id) REFERENCES hw_customers (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE UNIQUE INDEX hw_customer_emails_key ON hw_customer_emails (account_id, email_key);
CREATE INDEX hw_customer_emails_customer ON hw_customer_emails (account_id, customer_id, id);

CREATE TABLE hw_customer_phones (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    customer_id INTEGER NOT NULL,
    phone TEXT NOT NULL,
    FOREIGN KEY (account_id, customer_id) REFERENCES hw_customers (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX hw_customer_phones_customer ON hw_customer_phones (account_id, customer_id, id);

CREATE TABLE hw_customer_websites (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    customer_id INTEGER NOT NULL,
    website TEXT NOT NULL,
    FOREIGN KEY (account_id, customer_id) REFERENCES hw_customers (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX hw_customer_websites_customer ON hw_customer_websites (account_id, customer_id, id);

CREATE TABLE hw_conversations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    channel TEXT NOT NULL,
    mailbox_id INTEGER NOT NULL,
    customer_id INTEGER NOT NULL,
    customer_email_id INTEGER,
    customer_email TEXT NOT NULL,
    user_id INTEGER NOT NULL,
    status TEXT NOT NULL,
    subject TEXT NOT NULL,
    preview TEXT NOT NULL,
    awaiting_since INTEGER NOT NULL,
    awaiting_key INTEGER NOT NULL GENERATED ALWAYS AS
        (CASE WHEN awaiting_since = -62135596800000000 THEN 0 ELSE awaiting_since END) STORED,
    unread_count INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id),
    FOREIGN KEY (account_id, mailbox_id) REFERENCES hw_mailboxes (account_id, id),
    FOREIGN KEY (account_id, customer_id) REFERENCES hw_customers (account_id, id),
    FOREIGN KEY (account_id, customer_email_id) REFERENCES hw_customer_emails (account_id, id)
) STRICT;
CREATE INDEX hw_conversations_number ON hw_conversations (account_id, number, id);
CREATE INDEX hw_conversations_created ON hw_conversations (account_id, created_at, id);
CREATE INDEX hw_conversations_updated ON hw_conversations (account_id, updated_at, id);
CREATE INDEX hw_conversations_awaiting ON hw_conversations (account_id, awaiting_key, id);
CREATE INDEX hw_conversations_mailbox ON hw_conversations (account_id, mailbox_id, updated_at, id);
CREATE INDEX hw_conversations_status ON hw_conversations (account_id, status, updated_at, id);
CREATE INDEX hw_conversations_user ON hw_conversations (account_id, user_id, updated_at, id);
CREATE INDEX hw_conversations_customer ON hw_conversations (account_id, customer_id, created_at, id);
CREATE INDEX hw_conversations_email ON hw_conversations (account_id, customer_email_id)
    WHERE customer_email_id IS NOT NULL;

CREATE TABLE hw_participants (
    account_id INTEGER NOT NULL,
    conversation_id INTEGER NOT NULL,
    address_key TEXT NOT NULL,
    PRIMARY KEY (account_id, conversation_id, address_key),
    FOREIGN KEY (account_id, conversation_id) REFERENCES hw_conversations (account_id, id) ON DELETE CASCADE
) STRICT;

CREATE TABLE hw_interactions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    conversation_id INTEGER NOT NULL,
    type TEXT NOT NULL,
    status TEXT NOT NULL,
    body TEXT NOT NULL,
    subject TEXT NOT NULL,
    user_id INTEGER NOT NULL,
    posted_by_id INTEGER NOT NULL,
    customer_id INTEGER,
    customer_email_id INTEGER,
    customer_email TEXT NOT NULL,
    to_addresses TEXT NOT NULL,
    cc_addresses TEXT NOT NULL,
    bcc_addresses TEXT NOT NULL,
    source TEXT NOT NULL,
    is_starter INTEGER NOT NULL,
    is_forward INTEGER NOT NULL,
    auto_submitted INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    posted_at INTEGER NOT NULL,
    send_started_at INTEGER NOT NULL,
    message_id TEXT NOT NULL,
    message_refs TEXT NOT NULL,
    threading TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id),
    FOREIGN KEY (account_id, conversation_id) REFERENCES hw_conversations (account_id, id) ON DELETE CASCADE,
    FOREIGN KEY (account_id, customer_id) REFERENCES hw_customers (account_id, id),
    FOREIGN KEY (account_id, customer_email_id) REFERENCES hw_customer_emails (account_id, id)
) STRICT;
CREATE INDEX hw_interactions_conversation ON hw_interactions (account_id, conversation_id, id);
CREATE INDEX hw_interactions_message ON hw_interactions (account_id, message_id, id) WHERE message_id <> '';
CREATE INDEX hw_interactions_customer ON hw_interactions (account_id, customer_id) WHERE customer_id IS NOT NULL;
CREATE INDEX hw_interactions_email ON hw_interactions (account_id, customer_email_id)
    WHERE customer_email_id IS NOT NULL;

CREATE TABLE hw_attachments (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    interaction_id INTEGER NOT NULL,
    conversation_id INTEGER NOT NULL,
    filename TEXT NOT NULL,
    content_type TEXT NOT NULL,
    content_id TEXT NOT NULL,
    size INTEGER NOT NULL,
    is_inline INTEGER NOT NULL,
    blob_key TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (account_id, id),
    FOREIGN KEY (account_id, interaction_id) REFERENCES hw_interactions (account_id, id) ON DELETE CASCADE,
    FOREIGN KEY (account_id, conversation_id) REFERENCES hw_conversations (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX hw_attachments_interaction ON hw_attachments (account_id, interaction_id, id);
CREATE INDEX hw_attachments_conversation ON hw_attachments (account_id, conversation_id);

CREATE TABLE hw_deliveries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    interaction_id INTEGER NOT NULL,
    address TEXT NOT NULL,
    field TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    code INTEGER NOT NULL,
    enhanced_code TEXT NOT NULL,
    response TEXT NOT NULL,
    next_attempt_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id),
    FOREIGN KEY (account_id, interaction_id) REFERENCES hw_interactions (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX hw_deliveries_interaction ON hw_deliveries (account_id, interaction_id, id);

CREATE TABLE hw_inbound_mails (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    mailbox_id INTEGER NOT NULL,
    source TEXT NOT NULL,
    position TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT NOT NULL,
    raw_key TEXT NOT NULL,
    size INTEGER NOT NULL,
    message_id TEXT NOT NULL,
    identity BLOB,
    conversation_id INTEGER,
    interaction_id INTEGER,
    received_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id),
    FOREIGN KEY (account_id, mailbox_id) REFERENCES hw_mailboxes (account_id, id) ON DELETE CASCADE,
    FOREIGN KEY (account_id, conversation_id) REFERENCES hw_conversations (account_id, id),
    FOREIGN KEY (account_id, interaction_id) REFERENCES hw_interactions (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_inbound_mails_position ON hw_inbound_mails (account_id, mailbox_id, source, position)
    WHERE position <> '';
CREATE UNIQUE INDEX hw_inbound_mails_identity ON hw_inbound_mails (account_id, mailbox_id, identity)
    WHERE identity IS NOT NULL;
CREATE INDEX hw_inbound_mails_state ON hw_inbound_mails (account_id, state, id);
CREATE INDEX hw_inbound_mails_mailbox ON hw_inbound_mails (account_id, mailbox_id, id);
CREATE INDEX hw_inbound_mails_conversation ON hw_inbound_mails (account_id, conversation_id);
CREATE INDEX hw_inbound_mails_interaction ON hw_inbound_mails (account_id, interaction_id);

CREATE TABLE hw_events (
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    type TEXT NOT NULL,
    subject INTEGER NOT NULL,
    mailbox_id INTEGER NOT NULL,
    actor_id INTEGER NOT NULL,
    data BLOB,
    time INTEGER NOT NULL,
    PRIMARY KEY (account_id, seq)
) STRICT;

-- Without a foreign key to the account: the jobs that clean up after a removed account outlive it.
CREATE TABLE hw_jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    account_id INTEGER NOT NULL,
    subject INTEGER NOT NULL,
    payload BLOB,
    unique_key TEXT NOT NULL,
    run_at INTEGER NOT NULL,
    due_at INTEGER NOT NULL, -- the later of run_at and lease_until
    claimed_due INTEGER NOT NULL DEFAULT 0, -- due_at before the last claim
    attempt INTEGER NOT NULL DEFAULT 0,
    lease_until INTEGER NOT NULL DEFAULT -62135596800000000,
    buried INTEGER NOT NULL DEFAULT FALSE,
    reason TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE UNIQUE INDEX hw_jobs_unique_key ON hw_jobs (unique_key) WHERE unique_key <> '' AND NOT buried;
CREATE INDEX hw_jobs_due ON hw_jobs (kind, due_at, id) WHERE NOT buried;
CREATE INDEX hw_jobs_buried ON hw_jobs (id) WHERE buried;
