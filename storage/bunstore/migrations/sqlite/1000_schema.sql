-- Times are microseconds since 1970 UTC; no time is that of Go's zero time, -62135596800000000. Ids are unique in a table.

-- Accounts and people

CREATE TABLE hw_users (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    email TEXT NOT NULL,
    email_key TEXT NOT NULL,
    email_verified_at INTEGER NOT NULL,
    password_hash TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    disabled_at INTEGER NOT NULL DEFAULT -62135596800000000,
    second_factor_at INTEGER NOT NULL DEFAULT -62135596800000000,
    sealed_second_factor BLOB NOT NULL DEFAULT X'',
    disabled_by_id INTEGER NOT NULL DEFAULT 0,
    picture TEXT NOT NULL DEFAULT '',
    language TEXT NOT NULL DEFAULT '',
    time_zone TEXT NOT NULL DEFAULT '',
    after_sending TEXT NOT NULL DEFAULT '',
    leave_unassigned INTEGER NOT NULL DEFAULT FALSE
) STRICT;
CREATE UNIQUE INDEX hw_users_email_key ON hw_users (email_key);

-- Apart from the users, which are read by the page.
CREATE TABLE hw_user_pictures (
    user_id INTEGER PRIMARY KEY REFERENCES hw_users (id) ON DELETE CASCADE,
    content BLOB NOT NULL
) STRICT;

-- last_event counts the events of the account, next_number its conversations.
CREATE TABLE hw_accounts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    next_number INTEGER NOT NULL,
    last_event INTEGER NOT NULL DEFAULT 0,
    default_locale TEXT NOT NULL,
    languages TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    default_mailbox_id INTEGER NOT NULL DEFAULT 0,
    send_hold INTEGER NOT NULL DEFAULT 0,
    remote_images TEXT NOT NULL DEFAULT 'block',
    track_seen INTEGER NOT NULL DEFAULT 0,
    require_second_factor INTEGER NOT NULL DEFAULT FALSE,
    sealed_erasure_keys BLOB,
    origin TEXT NOT NULL DEFAULT '',
    origin_finished_at INTEGER NOT NULL DEFAULT -62135596800000000,
    listens TEXT NOT NULL DEFAULT '[]' -- types of events that rules listen to
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

CREATE TABLE hw_memberships (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    user_id INTEGER NOT NULL REFERENCES hw_users (id),
    last_activity INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    force_offline INTEGER NOT NULL DEFAULT FALSE,
    while_in_app INTEGER NOT NULL DEFAULT TRUE,
    use_schedule INTEGER NOT NULL DEFAULT FALSE,
    schedule TEXT NOT NULL DEFAULT '[]',
    timezone TEXT NOT NULL DEFAULT '',
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

CREATE TABLE hw_teams (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    member_ids TEXT NOT NULL,
    strategy TEXT NOT NULL,
    capacity INTEGER NOT NULL, -- 0: no limit
    takers TEXT NOT NULL,
    when_unavailable TEXT NOT NULL,
    return_after INTEGER NOT NULL, -- hours
    sticky INTEGER NOT NULL,
    turn_ids TEXT NOT NULL, -- members in the order of their last turns
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_teams_key ON hw_teams (account_id, name_key);

-- factors is how many factors the sign-in had that made a token; 0: not known.
CREATE TABLE hw_tokens (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL REFERENCES hw_users (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    hash BLOB NOT NULL,
    scopes TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    session INTEGER NOT NULL DEFAULT FALSE,
    factors INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX hw_tokens_hash ON hw_tokens (hash);
CREATE INDEX hw_tokens_user ON hw_tokens (user_id);
CREATE INDEX hw_tokens_expired ON hw_tokens (expires_at, id) WHERE session = TRUE;

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

CREATE TABLE hw_invitations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    email TEXT NOT NULL,
    email_key TEXT NOT NULL,
    name TEXT NOT NULL,
    role_ids TEXT NOT NULL,
    mailbox_ids TEXT NOT NULL,
    nonce BLOB NOT NULL,
    hash BLOB NOT NULL,
    user_id INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_invitations_hash ON hw_invitations (hash);

-- Who becomes a member of an account by signing in.
CREATE TABLE hw_join_rules (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    issuer TEXT NOT NULL,
    domain TEXT NOT NULL,
    role_ids TEXT NOT NULL,
    mailbox_ids TEXT NOT NULL,
    user_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_join_rules_domain ON hw_join_rules (domain, issuer, account_id);

-- What the answers of a member end with.
CREATE TABLE hw_signatures (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    user_id INTEGER NOT NULL,
    body TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_signatures_user ON hw_signatures (account_id, user_id);

-- Mailboxes

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
    inbound_auth TEXT NOT NULL DEFAULT '',
    oauth_client_id TEXT NOT NULL DEFAULT '',
    oauth_token_url TEXT NOT NULL DEFAULT '',
    oauth_scope TEXT NOT NULL DEFAULT '',
    sealed_oauth BLOB,
    import_since INTEGER NOT NULL DEFAULT 0,
    inbound_epoch INTEGER NOT NULL DEFAULT 0,
    reply_address TEXT NOT NULL DEFAULT '',
    probe_sent_at INTEGER NOT NULL DEFAULT 0,
    probe_seen_at INTEGER NOT NULL DEFAULT 0,
    probe_refused INTEGER NOT NULL DEFAULT 0,
    probe_note TEXT NOT NULL DEFAULT '',
    signature TEXT NOT NULL DEFAULT '',
    quotes TEXT NOT NULL DEFAULT 'none',
    form_fields TEXT NOT NULL DEFAULT '[]',
    outbound TEXT NOT NULL DEFAULT '{}',
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_mailboxes_email ON hw_mailboxes (account_id, email_key) WHERE email_key <> '';
CREATE UNIQUE INDEX hw_mailboxes_local ON hw_mailboxes (internal_local);
CREATE INDEX hw_mailboxes_fetch ON hw_mailboxes (id) WHERE inbound_type <> 'FWD';

-- worker is the process at work on the mailbox, deaths when processes died at that work.
CREATE TABLE hw_fetch_status (
    account_id INTEGER NOT NULL,
    mailbox_id INTEGER NOT NULL,
    connected INTEGER NOT NULL,
    last_success_at INTEGER NOT NULL,
    last_error_at INTEGER NOT NULL,
    last_error TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    needs_reauth INTEGER NOT NULL DEFAULT 0,
    worker TEXT NOT NULL DEFAULT '',
    deaths TEXT NOT NULL DEFAULT '[]',
    fruitless INTEGER NOT NULL DEFAULT 0,
    parked_at INTEGER NOT NULL DEFAULT -62135596800000000,
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

CREATE TABLE hw_domains (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    selector TEXT NOT NULL,
    sealed_key BLOB NOT NULL,
    records TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_domains_name ON hw_domains (account_id, name);

-- Addresses, and domains after "@", whose mail is filed as spam.
CREATE TABLE hw_blocked_senders (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    sender TEXT NOT NULL,
    sender_key TEXT NOT NULL,
    user_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_blocked_senders_key ON hw_blocked_senders (account_id, sender_key);

-- Customers

-- Organizations that customers belong to. Their domains and external ids are in hw_company_keys, too, where they are unique.
CREATE TABLE hw_companies (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    domains TEXT NOT NULL,
    note TEXT NOT NULL,
    external_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE INDEX hw_companies_name ON hw_companies (account_id, name_key, id);

CREATE TABLE hw_company_keys (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    company_id INTEGER NOT NULL,
    kind TEXT NOT NULL,
    value TEXT NOT NULL,
    UNIQUE (account_id, id),
    FOREIGN KEY (account_id, company_id) REFERENCES hw_companies (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE UNIQUE INDEX hw_company_keys_value ON hw_company_keys (account_id, kind, value);
CREATE INDEX hw_company_keys_company ON hw_company_keys (account_id, company_id, id);

CREATE TABLE hw_customers (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    first_name TEXT NOT NULL,
    last_name TEXT NOT NULL,
    company TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    note TEXT NOT NULL DEFAULT '',
    company_id INTEGER NOT NULL DEFAULT 0, -- 0: none
    external_id TEXT NOT NULL DEFAULT '',
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_customers_external ON hw_customers (account_id, external_id) WHERE external_id <> '';
CREATE INDEX hw_customers_company ON hw_customers (account_id, company_id, id) WHERE company_id <> 0;

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
CREATE INDEX hw_customer_emails_domain ON hw_customer_emails (account_id, (substr(email_key, instr(email_key, '@') + 1)), customer_id);

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

CREATE TABLE hw_pgp_keys (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    customer_email_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    content BLOB NOT NULL,
    expires_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id),
    FOREIGN KEY (account_id, customer_email_id) REFERENCES hw_customer_emails (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE UNIQUE INDEX hw_pgp_keys_fingerprint ON hw_pgp_keys (account_id, customer_email_id, fingerprint);

-- Tombstones of the addresses of erased customers. hw_accounts.sealed_erasure_keys recognize them.
CREATE TABLE hw_erasures (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    customer_id INTEGER NOT NULL,
    digest BLOB NOT NULL,
    user_id INTEGER NOT NULL,
    erased_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_erasures_digest ON hw_erasures (account_id, digest);

-- Keys that applications sign portal tokens with.
CREATE TABLE hw_portal_keys (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    algorithm TEXT NOT NULL,
    public_key BLOB NOT NULL, -- of EdDSA
    sealed_secret BLOB NOT NULL, -- of HS256
    last_used_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    user_id INTEGER NOT NULL DEFAULT 0,
    UNIQUE (account_id, id)
) STRICT;

-- Conversations

-- spam_at: spam since then, and closed. snoozed_until: sleeps until then. Every common list has an index with its rows in its
-- order. shelf is where a desk keeps a conversation: the number of its status (posted 0, pending 1, closed 2, draft 3), plus 4 for a
-- snoozed one, or plus 8 for spam. holder is the user to whom it is assigned, the negative team when no user is, or 0.
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
    awaiting_key INTEGER NOT NULL GENERATED ALWAYS AS (CASE WHEN awaiting_since = -62135596800000000 THEN 0 ELSE awaiting_since END) STORED,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    refers_to INTEGER NOT NULL DEFAULT 0,
    snoozed_until INTEGER NOT NULL DEFAULT -62135596800000000,
    priority TEXT NOT NULL DEFAULT 'normal',
    spam_at INTEGER NOT NULL DEFAULT -62135596800000000,
    team_id INTEGER NOT NULL DEFAULT 0, shelf INTEGER NOT NULL GENERATED ALWAYS AS
    (CASE status WHEN 'posted' THEN 0 WHEN 'pending' THEN 1 WHEN 'closed' THEN 2 ELSE 3 END
    + CASE WHEN spam_at > 0 THEN 8 WHEN snoozed_until > 0 THEN 4 ELSE 0 END) VIRTUAL, holder INTEGER NOT NULL GENERATED ALWAYS AS
    (CASE WHEN user_id <> 0 THEN user_id ELSE -team_id END) VIRTUAL,
    sla_id INTEGER NOT NULL DEFAULT 0,
    sla_track TEXT NOT NULL DEFAULT '',
    due_at INTEGER NOT NULL DEFAULT -62135596800000000,
    soon_at INTEGER NOT NULL DEFAULT -62135596800000000,
    held_at INTEGER NOT NULL DEFAULT -62135596800000000,
    held_by_id INTEGER NOT NULL DEFAULT 0,
    hold_reason TEXT NOT NULL DEFAULT '',
    erased_at INTEGER NOT NULL DEFAULT -62135596800000000,
    due_key INTEGER NOT NULL GENERATED ALWAYS AS (CASE WHEN due_at > 0 THEN due_at ELSE 253402300799000000 END) VIRTUAL,
    UNIQUE (account_id, id),
    FOREIGN KEY (account_id, mailbox_id) REFERENCES hw_mailboxes (account_id, id),
    FOREIGN KEY (account_id, customer_id) REFERENCES hw_customers (account_id, id),
    FOREIGN KEY (account_id, customer_email_id) REFERENCES hw_customer_emails (account_id, id)
) STRICT;
CREATE INDEX hw_conversations_number ON hw_conversations (account_id, number, id);
CREATE INDEX hw_conversations_created ON hw_conversations (account_id, created_at, id);
CREATE INDEX hw_conversations_updated ON hw_conversations (account_id, updated_at, id);
CREATE INDEX hw_conversations_awaiting ON hw_conversations (account_id, awaiting_key, id);
CREATE INDEX hw_conversations_due ON hw_conversations (account_id, due_key, id);
CREATE INDEX hw_conversations_email ON hw_conversations (account_id, customer_email_id) WHERE customer_email_id IS NOT NULL;
CREATE INDEX hw_conversations_refers_to ON hw_conversations (account_id, refers_to) WHERE refers_to <> 0;
CREATE INDEX hw_conversations_snoozed ON hw_conversations (account_id, snoozed_until) WHERE snoozed_until > 0;
CREATE INDEX hw_conversations_held ON hw_conversations (account_id, id) WHERE held_at > 0;
CREATE INDEX hw_conversations_priority_created ON hw_conversations (account_id, created_at, id) WHERE priority <> 'normal';
CREATE INDEX hw_conversations_mailbox_created ON hw_conversations (account_id, mailbox_id, created_at, id);
CREATE INDEX hw_conversations_team_created ON hw_conversations (account_id, team_id, created_at, id) WHERE team_id <> 0;
CREATE INDEX hw_conversations_holder_created ON hw_conversations (account_id, holder, created_at, id);
CREATE INDEX hw_conversations_holder_updated ON hw_conversations (account_id, holder, updated_at, id);
CREATE INDEX hw_conversations_mailbox_updated ON hw_conversations (account_id, mailbox_id, updated_at, id);
CREATE INDEX hw_conversations_team_updated ON hw_conversations (account_id, team_id, updated_at, id) WHERE team_id <> 0;
CREATE INDEX hw_conversations_customer_created ON hw_conversations (account_id, customer_id, created_at, id);
CREATE INDEX hw_conversations_customer_updated ON hw_conversations (account_id, customer_id, updated_at, id);
CREATE INDEX hw_conversations_shelf_created ON hw_conversations (account_id, shelf, created_at, id);
CREATE INDEX hw_conversations_shelf_updated ON hw_conversations (account_id, shelf, updated_at, id);
CREATE INDEX hw_conversations_shelf_awaiting ON hw_conversations (account_id, shelf, awaiting_key, id) WHERE awaiting_key > 0;
CREATE INDEX hw_conversations_holder_shelf_created ON hw_conversations (account_id, holder, shelf, created_at, id);
CREATE INDEX hw_conversations_holder_shelf_updated ON hw_conversations (account_id, holder, shelf, updated_at, id);
CREATE INDEX hw_conversations_holder_shelf_awaiting ON hw_conversations (account_id, holder, shelf, awaiting_key, id) WHERE awaiting_key > 0;
CREATE INDEX hw_conversations_mailbox_shelf_created ON hw_conversations (account_id, mailbox_id, shelf, created_at, id);
CREATE INDEX hw_conversations_mailbox_shelf_updated ON hw_conversations (account_id, mailbox_id, shelf, updated_at, id);
CREATE INDEX hw_conversations_mailbox_shelf_awaiting ON hw_conversations (account_id, mailbox_id, shelf, awaiting_key, id) WHERE awaiting_key > 0;
CREATE INDEX hw_conversations_team_shelf_created ON hw_conversations (account_id, team_id, shelf, created_at, id) WHERE team_id <> 0;
CREATE INDEX hw_conversations_team_shelf_updated ON hw_conversations (account_id, team_id, shelf, updated_at, id) WHERE team_id <> 0;
CREATE INDEX hw_conversations_team_shelf_awaiting ON hw_conversations (account_id, team_id, shelf, awaiting_key, id) WHERE team_id <> 0 AND awaiting_key > 0;
CREATE INDEX hw_conversations_priority_updated ON hw_conversations (account_id, updated_at, id) WHERE priority <> 'normal';
CREATE INDEX hw_conversations_priority_awaiting ON hw_conversations (account_id, awaiting_key, id) WHERE priority <> 'normal' AND awaiting_key > 0;

-- audience has the keys of the addresses that an interaction is from or went to, each between two line feeds; it is empty
-- when only members see it. at is its place in the conversation.
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
    audience TEXT NOT NULL DEFAULT '',
    security TEXT NOT NULL DEFAULT '{}',
    authentication TEXT NOT NULL DEFAULT '{}',
    at INTEGER NOT NULL DEFAULT 0,
    received_at INTEGER NOT NULL DEFAULT -62135596800000000,
    mail_header TEXT NOT NULL DEFAULT '{}',
    send_at INTEGER NOT NULL DEFAULT -62135596800000000,
    ending TEXT NOT NULL DEFAULT '{}',
    UNIQUE (account_id, id),
    FOREIGN KEY (account_id, conversation_id) REFERENCES hw_conversations (account_id, id) ON DELETE CASCADE,
    FOREIGN KEY (account_id, customer_id) REFERENCES hw_customers (account_id, id),
    FOREIGN KEY (account_id, customer_email_id) REFERENCES hw_customer_emails (account_id, id)
) STRICT;
CREATE INDEX hw_interactions_conversation ON hw_interactions (account_id, conversation_id, id);
CREATE INDEX hw_interactions_message ON hw_interactions (account_id, message_id, id) WHERE message_id <> '';
CREATE INDEX hw_interactions_customer ON hw_interactions (account_id, customer_id) WHERE customer_id IS NOT NULL;
CREATE INDEX hw_interactions_questions ON hw_interactions (account_id, conversation_id, id) WHERE type = 'customer';
CREATE INDEX hw_interactions_email ON hw_interactions (account_id, customer_email_id, created_at) WHERE customer_email_id IS NOT NULL;
CREATE INDEX hw_interactions_order ON hw_interactions (account_id, conversation_id, at, id);
CREATE INDEX hw_interactions_drafts ON hw_interactions (account_id, user_id, conversation_id) WHERE status = 'draft';
CREATE INDEX hw_interactions_scheduled ON hw_interactions (account_id, conversation_id, id) WHERE send_at > 0;
CREATE INDEX hw_interactions_scheduled_user ON hw_interactions (account_id, user_id, conversation_id) WHERE send_at > 0;
CREATE INDEX hw_interactions_sent ON hw_interactions (account_id, send_started_at, conversation_id) WHERE send_started_at > 0;

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
CREATE INDEX hw_attachments_blob ON hw_attachments (blob_key);

CREATE TABLE hw_participants (
    account_id INTEGER NOT NULL,
    conversation_id INTEGER NOT NULL,
    address_key TEXT NOT NULL,
    PRIMARY KEY (account_id, conversation_id, address_key),
    FOREIGN KEY (account_id, conversation_id) REFERENCES hw_conversations (account_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX hw_participants_key ON hw_participants (account_id, address_key, conversation_id);

CREATE TABLE hw_tags (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    color TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_tags_key ON hw_tags (account_id, name_key);

-- The tags of a conversation, with what conversations are listed by, so that lists of a tag are read from an index. Triggers keep
-- these.
CREATE TABLE hw_conversation_tags (
    account_id INTEGER NOT NULL,
    conversation_id INTEGER NOT NULL,
    tag_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL DEFAULT 0,
    shelf INTEGER NOT NULL DEFAULT 0,
    updated_at INTEGER NOT NULL DEFAULT 0,
    awaiting_key INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (account_id, conversation_id, tag_id),
    FOREIGN KEY (account_id, conversation_id) REFERENCES hw_conversations (account_id, id) ON DELETE CASCADE,
    FOREIGN KEY (account_id, tag_id) REFERENCES hw_tags (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX hw_conversation_tags_created ON hw_conversation_tags (account_id, tag_id, created_at, conversation_id);
CREATE INDEX hw_conversation_tags_updated ON hw_conversation_tags (account_id, tag_id, updated_at, conversation_id);
CREATE INDEX hw_conversation_tags_shelf_created ON hw_conversation_tags (account_id, tag_id, shelf, created_at, conversation_id);
CREATE INDEX hw_conversation_tags_shelf_updated ON hw_conversation_tags (account_id, tag_id, shelf, updated_at, conversation_id);
CREATE INDEX hw_conversation_tags_shelf_awaiting ON hw_conversation_tags (account_id, tag_id, shelf, awaiting_key, conversation_id) WHERE awaiting_key > 0;

CREATE TABLE hw_fields (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    applies_to TEXT NOT NULL,
    field_key TEXT NOT NULL,
    label TEXT NOT NULL,
    type TEXT NOT NULL,
    options TEXT NOT NULL,
    required_to_close INTEGER NOT NULL,
    customer_visible INTEGER NOT NULL,
    sort_order INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_fields_key ON hw_fields (account_id, applies_to, field_key);

-- The values of fields, one table for each kind of subject. Those of conversations have what conversations are listed by, like
-- hw_conversation_tags.
CREATE TABLE hw_conversation_values (
    account_id INTEGER NOT NULL,
    subject_id INTEGER NOT NULL,
    field_id INTEGER NOT NULL,
    value_key TEXT NOT NULL,
    value TEXT NOT NULL,
    number REAL,
    created_at INTEGER NOT NULL DEFAULT 0,
    shelf INTEGER NOT NULL DEFAULT 0,
    updated_at INTEGER NOT NULL DEFAULT 0,
    awaiting_key INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (account_id, subject_id, field_id, value_key),
    FOREIGN KEY (account_id, subject_id) REFERENCES hw_conversations (account_id, id) ON DELETE CASCADE,
    FOREIGN KEY (account_id, field_id) REFERENCES hw_fields (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX hw_conversation_values_created ON hw_conversation_values (account_id, field_id, value_key, created_at, subject_id);
CREATE INDEX hw_conversation_values_updated ON hw_conversation_values (account_id, field_id, value_key, updated_at, subject_id);
CREATE INDEX hw_conversation_values_shelf_created ON hw_conversation_values (account_id, field_id, value_key, shelf, created_at, subject_id);
CREATE INDEX hw_conversation_values_shelf_updated ON hw_conversation_values (account_id, field_id, value_key, shelf, updated_at, subject_id);
CREATE INDEX hw_conversation_values_shelf_awaiting ON hw_conversation_values (account_id, field_id, value_key, shelf, awaiting_key, subject_id) WHERE awaiting_key > 0;
CREATE INDEX hw_conversation_values_number ON hw_conversation_values (account_id, field_id, number, subject_id) WHERE number IS NOT NULL;
CREATE INDEX hw_conversation_values_field ON hw_conversation_values (account_id, field_id, subject_id);

CREATE TABLE hw_customer_values (
    account_id INTEGER NOT NULL,
    subject_id INTEGER NOT NULL,
    field_id INTEGER NOT NULL,
    value_key TEXT NOT NULL,
    value TEXT NOT NULL,
    number REAL,
    PRIMARY KEY (account_id, subject_id, field_id, value_key),
    FOREIGN KEY (account_id, subject_id) REFERENCES hw_customers (account_id, id) ON DELETE CASCADE,
    FOREIGN KEY (account_id, field_id) REFERENCES hw_fields (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX hw_customer_values_key ON hw_customer_values (account_id, field_id, value_key, subject_id);
CREATE INDEX hw_customer_values_number ON hw_customer_values (account_id, field_id, number, subject_id) WHERE number IS NOT NULL;
CREATE INDEX hw_customer_values_field ON hw_customer_values (account_id, field_id, subject_id);

CREATE TABLE hw_company_values (
    account_id INTEGER NOT NULL,
    subject_id INTEGER NOT NULL,
    field_id INTEGER NOT NULL,
    value_key TEXT NOT NULL,
    value TEXT NOT NULL,
    number REAL,
    PRIMARY KEY (account_id, subject_id, field_id, value_key),
    FOREIGN KEY (account_id, subject_id) REFERENCES hw_companies (account_id, id) ON DELETE CASCADE,
    FOREIGN KEY (account_id, field_id) REFERENCES hw_fields (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX hw_company_values_key ON hw_company_values (account_id, field_id, value_key, subject_id);

-- How many conversations there are of each kind, kept by triggers, so that nothing that writes conversations can forget it.
-- A line of none is removed. Lines of a tag are those of the conversations that have it; lines of tag 0 count all.
CREATE TABLE hw_conversation_counts (
    account_id INTEGER NOT NULL,
    tag_id INTEGER NOT NULL,
    mailbox_id INTEGER NOT NULL,
    user_id INTEGER NOT NULL,
    team_id INTEGER NOT NULL,
    status TEXT NOT NULL,
    priority TEXT NOT NULL,
    awaiting INTEGER NOT NULL,
    snoozed INTEGER NOT NULL,
    spam INTEGER NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (account_id, tag_id, mailbox_id, user_id, team_id, status, priority, awaiting, snoozed, spam)
) STRICT, WITHOUT ROWID;

-- Where merged conversations are.
CREATE TABLE hw_conversation_redirects (
    account_id INTEGER NOT NULL,
    conversation_id INTEGER NOT NULL, -- is gone
    mailbox_id INTEGER NOT NULL, -- that it was of
    into_id INTEGER NOT NULL,
    PRIMARY KEY (account_id, conversation_id),
    FOREIGN KEY (account_id, into_id) REFERENCES hw_conversations (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX hw_conversation_redirects_into ON hw_conversation_redirects (account_id, into_id, mailbox_id);

-- Where interactions were before they were moved.
CREATE TABLE hw_moves (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    interaction_id INTEGER NOT NULL,
    rule TEXT NOT NULL,
    from_id INTEGER NOT NULL, -- conversation; it may be gone
    into_id INTEGER NOT NULL, -- as from_id
    mailbox_id INTEGER NOT NULL, -- that from_id was of
    user_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (account_id, id),
    FOREIGN KEY (account_id, interaction_id) REFERENCES hw_interactions (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX hw_moves_interaction ON hw_moves (account_id, interaction_id, id);

CREATE TABLE hw_views (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    user_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    filter TEXT NOT NULL,
    visibility TEXT NOT NULL,
    team_id INTEGER NOT NULL,
    columns TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;

CREATE TABLE hw_read_marks (
    account_id INTEGER NOT NULL,
    conversation_id INTEGER NOT NULL,
    user_id INTEGER NOT NULL,
    interaction_id INTEGER NOT NULL, -- the newest that was read; it may be gone
    PRIMARY KEY (account_id, conversation_id, user_id),
    FOREIGN KEY (account_id, conversation_id) REFERENCES hw_conversations (account_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Who is at a conversation, as long as they say so.
CREATE TABLE hw_presence (
    account_id INTEGER NOT NULL,
    conversation_id INTEGER NOT NULL,
    user_id INTEGER NOT NULL,
    doing TEXT NOT NULL,
    seen_at INTEGER NOT NULL,
    PRIMARY KEY (account_id, conversation_id, user_id),
    FOREIGN KEY (account_id, conversation_id) REFERENCES hw_conversations (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX hw_presence_seen ON hw_presence (account_id, seen_at);

-- Who follows a conversation, or has said that they do not.
CREATE TABLE hw_followers (
    account_id INTEGER NOT NULL,
    conversation_id INTEGER NOT NULL,
    user_id INTEGER NOT NULL,
    follows INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (account_id, conversation_id, user_id),
    FOREIGN KEY (account_id, conversation_id) REFERENCES hw_conversations (account_id, id) ON DELETE CASCADE
) STRICT;

-- Texts that are answered with again and again, of a user or (user 0) of all members.
CREATE TABLE hw_saved_replies (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    user_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    body TEXT NOT NULL,
    actions TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_saved_replies_key ON hw_saved_replies (account_id, user_id, name_key);

-- Files of saved replies. Answers get copies of them.
CREATE TABLE hw_reply_files (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    reply_id INTEGER NOT NULL,
    filename TEXT NOT NULL,
    content_type TEXT NOT NULL,
    size INTEGER NOT NULL,
    blob_key TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (account_id, id),
    FOREIGN KEY (account_id, reply_id) REFERENCES hw_saved_replies (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX hw_reply_files_reply ON hw_reply_files (account_id, reply_id, id);
CREATE INDEX hw_reply_files_blob ON hw_reply_files (blob_key);

-- Search of customers and conversations

-- The terms by which customers are found. The services compute them; they have no ASCII but letters and digits, so the
-- tokenizer only parts them. "_1" stands for account 1, and "f_ada" for the word ada of the people that a query names as from:. Where in a text a term is, and how often, nobody asks: detail=none and
-- columnsize=0 leave it out.
CREATE VIRTUAL TABLE hw_customer_search USING fts5 (
    account, terms, tokenize = "ascii tokenchars '_'", prefix = '2 3', detail = none, columnsize = 0
);

-- A write never merges much of the index, which took up to a second: full_text.go merges it step by step while others do
-- not write. FTS5 merges by itself only when there are very many small segments.
INSERT INTO hw_customer_search (hw_customer_search, rank) VALUES ('automerge', 0);
INSERT INTO hw_customer_search (hw_customer_search, rank) VALUES ('crisismerge', 64);

-- The same for conversations. customer has the terms of its customer, so that a query finds words of both.
CREATE VIRTUAL TABLE hw_conversation_search USING fts5 (
    account, customer, own, tokenize = "ascii tokenchars '_'", prefix = '2 3', detail = none, columnsize = 0
);
INSERT INTO hw_conversation_search (hw_conversation_search, rank) VALUES ('automerge', 0);
INSERT INTO hw_conversation_search (hw_conversation_search, rank) VALUES ('crisismerge', 64);

-- The terms that are in the indexes, to find those that begin with something.
CREATE VIRTUAL TABLE hw_customer_vocabulary USING fts5vocab (hw_customer_search, instance);

CREATE VIRTUAL TABLE hw_conversation_vocabulary USING fts5vocab (hw_conversation_search, instance);

-- Incoming and outgoing mail

-- The ledger: every mail that was taken, and what became of it.
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
    partial INTEGER NOT NULL DEFAULT 0,
    authentication TEXT NOT NULL DEFAULT '{}',
    user_id INTEGER NOT NULL DEFAULT 0,
    note TEXT NOT NULL DEFAULT '',
    delivered_at INTEGER NOT NULL DEFAULT -62135596800000000,
    subject TEXT NOT NULL DEFAULT '',
    from_name TEXT NOT NULL DEFAULT '',
    from_email TEXT NOT NULL DEFAULT '',
    deaths INTEGER NOT NULL DEFAULT 0,
    UNIQUE (account_id, id),
    FOREIGN KEY (account_id, mailbox_id) REFERENCES hw_mailboxes (account_id, id) ON DELETE CASCADE,
    FOREIGN KEY (account_id, conversation_id) REFERENCES hw_conversations (account_id, id),
    FOREIGN KEY (account_id, interaction_id) REFERENCES hw_interactions (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_inbound_mails_position ON hw_inbound_mails (account_id, mailbox_id, source, position) WHERE position <> '';
CREATE INDEX hw_inbound_mails_mailbox ON hw_inbound_mails (account_id, mailbox_id, id);
CREATE INDEX hw_inbound_mails_conversation ON hw_inbound_mails (account_id, conversation_id);
CREATE INDEX hw_inbound_mails_interaction ON hw_inbound_mails (account_id, interaction_id);
CREATE UNIQUE INDEX hw_inbound_mails_identity ON hw_inbound_mails (account_id, identity, mailbox_id) WHERE identity IS NOT NULL;
CREATE INDEX hw_inbound_mails_raw ON hw_inbound_mails (raw_key) WHERE raw_key <> '';
CREATE INDEX hw_inbound_mails_waiting ON hw_inbound_mails (account_id, mailbox_id, id) WHERE state = 'received';
CREATE INDEX hw_inbound_mails_received ON hw_inbound_mails (account_id, received_at, mailbox_id);
CREATE INDEX hw_inbound_mails_raw_age ON hw_inbound_mails (account_id, received_at, id) WHERE raw_key <> '' AND state IN ('filed', 'ignored');
CREATE INDEX hw_inbound_mails_ignored ON hw_inbound_mails (account_id, mailbox_id, id) WHERE state = 'ignored';
CREATE INDEX hw_inbound_mails_quarantined ON hw_inbound_mails (account_id, mailbox_id, id) WHERE state = 'quarantined';
CREATE INDEX hw_inbound_mails_aside ON hw_inbound_mails (account_id, id) WHERE state IN ('ignored', 'quarantined');

-- relay_message_id is the Message-ID that a relay gave to the sent mail: replies and reports name it.
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
    address_key TEXT NOT NULL DEFAULT '',
    held_by INTEGER NOT NULL DEFAULT 0,
    held_until INTEGER NOT NULL DEFAULT -62135596800000000,
    message_id TEXT NOT NULL DEFAULT '',
    UNIQUE (account_id, id),
    FOREIGN KEY (account_id, interaction_id) REFERENCES hw_interactions (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX hw_deliveries_interaction ON hw_deliveries (account_id, interaction_id, id);
CREATE INDEX hw_deliveries_address ON hw_deliveries (account_id, address_key, updated_at);
CREATE INDEX hw_deliveries_undelivered ON hw_deliveries (account_id, interaction_id) WHERE state IN ('failed', 'bounced', 'suppressed');
CREATE INDEX hw_deliveries_waiting ON hw_deliveries (account_id, interaction_id, created_at) WHERE state IN ('queued', 'deferred');
CREATE INDEX hw_deliveries_message ON hw_deliveries (account_id, message_id, interaction_id) WHERE message_id <> '';

-- Addresses that get no mail.
CREATE TABLE hw_suppressions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    email TEXT NOT NULL,
    email_key TEXT NOT NULL,
    reason TEXT NOT NULL,
    detail TEXT NOT NULL,
    user_id INTEGER NOT NULL, -- who did it; 0: a bounce did
    interaction_id INTEGER NOT NULL, -- that bounced; it may be gone
    created_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_suppressions_email ON hw_suppressions (account_id, email_key);

-- Mails by which members worked, or tried to: each does so once.
CREATE TABLE hw_member_mails (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    user_id INTEGER NOT NULL,
    mail_key TEXT NOT NULL,
    inbound_id INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_member_mails_key ON hw_member_mails (account_id, user_id, mail_key);
CREATE INDEX hw_member_mails_user ON hw_member_mails (account_id, user_id, id);

-- What acts by itself

-- Business hours. week has the spans of each day, Sunday first.
CREATE TABLE hw_calendars (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    timezone TEXT NOT NULL,
    week TEXT NOT NULL,
    holidays TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_calendars_key ON hw_calendars (account_id, name_key);

-- Automatic replies. once_per is in nanoseconds.
CREATE TABLE hw_auto_replies (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    mailbox_ids TEXT NOT NULL,
    calendar_id INTEGER NOT NULL, -- 0: none
    applies TEXT NOT NULL,
    answers TEXT NOT NULL,
    once_per INTEGER NOT NULL,
    translations TEXT NOT NULL,
    is_active INTEGER NOT NULL,
    reason TEXT NOT NULL,
    version INTEGER NOT NULL,
    user_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_auto_replies_key ON hw_auto_replies (account_id, name_key);

-- The mails that automatic replies have answered: each does so once. What the other ids refer to may be gone.
CREATE TABLE hw_auto_responses (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    auto_reply_id INTEGER NOT NULL,
    mail_key TEXT NOT NULL,
    cause_id INTEGER NOT NULL,
    interaction_id INTEGER NOT NULL,
    customer_id INTEGER NOT NULL,
    version INTEGER NOT NULL,
    applied TEXT NOT NULL,
    calendar_id INTEGER NOT NULL,
    locale TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (account_id, id),
    FOREIGN KEY (account_id, auto_reply_id) REFERENCES hw_auto_replies (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE UNIQUE INDEX hw_auto_responses_key ON hw_auto_responses (account_id, auto_reply_id, mail_key);
CREATE INDEX hw_auto_responses_customer ON hw_auto_responses (account_id, auto_reply_id, customer_id, id);
CREATE INDEX hw_auto_responses_interaction ON hw_auto_responses (account_id, interaction_id, id);

-- Rules, in what order they run, and what they have done.

CREATE TABLE hw_rules (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT NOT NULL,
    position INTEGER NOT NULL,
    listens TEXT NOT NULL,
    since TEXT NOT NULL,
    hours INTEGER NOT NULL,
    calendar_id INTEGER NOT NULL,
    clock_seq INTEGER NOT NULL,
    clock_at INTEGER NOT NULL,
    match_all TEXT NOT NULL,
    match_any TEXT NOT NULL,
    actions TEXT NOT NULL,
    stop INTEGER NOT NULL,
    version INTEGER NOT NULL,
    user_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_rules_key ON hw_rules (account_id, name_key);

-- The version of all rules of an account together, and that of its SLAs: one row.
CREATE TABLE hw_rule_sets (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    slas INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;

CREATE TABLE hw_slas (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    position INTEGER NOT NULL,
    match_all TEXT NOT NULL,
    match_any TEXT NOT NULL,
    calendar_id INTEGER NOT NULL,
    first_reply INTEGER NOT NULL,
    next_reply INTEGER NOT NULL,
    resolution INTEGER NOT NULL,
    pauses TEXT NOT NULL,
    due_soon INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_slas_key ON hw_slas (account_id, name_key);

-- What other ids than the rule's refer to may be gone.
CREATE TABLE hw_rule_runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    rule_id INTEGER NOT NULL,
    version INTEGER NOT NULL,
    event_id INTEGER NOT NULL,
    event TEXT NOT NULL,
    conversation_id INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    dry INTEGER NOT NULL,
    reason TEXT NOT NULL,
    chain TEXT NOT NULL,
    conditions TEXT NOT NULL,
    changes TEXT NOT NULL,
    actions TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (account_id, id),
    FOREIGN KEY (account_id, rule_id) REFERENCES hw_rules (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE UNIQUE INDEX hw_rule_runs_key ON hw_rule_runs (account_id, rule_id, event_id, event);
CREATE INDEX hw_rule_runs_rule ON hw_rule_runs (account_id, rule_id, id);
CREATE INDEX hw_rule_runs_conversation ON hw_rule_runs (account_id, conversation_id, id);

-- At which events the rules have run.
CREATE TABLE hw_rule_passes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    event_id INTEGER NOT NULL,
    last_id INTEGER NOT NULL,
    conversation_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_rule_passes_key ON hw_rule_passes (account_id, event_id);
CREATE INDEX hw_rule_passes_conversation ON hw_rule_passes (account_id, conversation_id, id);

-- What rules would have done. An own replay of an embedding application has no user.
CREATE TABLE hw_rule_replays (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    user_id INTEGER NOT NULL,
    rule_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    position INTEGER NOT NULL,
    listens TEXT NOT NULL,
    since TEXT NOT NULL,
    hours INTEGER NOT NULL,
    calendar_id INTEGER NOT NULL,
    match_all TEXT NOT NULL,
    match_any TEXT NOT NULL,
    actions TEXT NOT NULL,
    stop INTEGER NOT NULL,
    begins INTEGER NOT NULL,
    ends INTEGER NOT NULL,
    state TEXT NOT NULL,
    reason TEXT NOT NULL,
    percent INTEGER NOT NULL,
    examined INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    unknown INTEGER NOT NULL,
    gone INTEGER NOT NULL,
    lost TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    finished_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;

CREATE TABLE hw_replayed_conversations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    replay_id INTEGER NOT NULL,
    conversation_id INTEGER NOT NULL,
    event_id INTEGER NOT NULL,
    event TEXT NOT NULL,
    at INTEGER NOT NULL,
    changes TEXT NOT NULL,
    actions TEXT NOT NULL,
    others TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (account_id, id),
    FOREIGN KEY (account_id, replay_id) REFERENCES hw_rule_replays (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE UNIQUE INDEX hw_replayed_conversations_key ON hw_replayed_conversations (account_id, replay_id, conversation_id);
CREATE INDEX hw_replayed_conversations_replay ON hw_replayed_conversations (account_id, replay_id, id);

-- Notifications, events and webhooks

-- What members were told. One without a conversation is of a mailbox.
CREATE TABLE hw_notifications (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    user_id INTEGER NOT NULL,
    kind TEXT NOT NULL,
    conversation_id INTEGER,
    interaction_id INTEGER NOT NULL,
    mailbox_id INTEGER NOT NULL,
    actor_id INTEGER NOT NULL,
    source TEXT NOT NULL,
    shown INTEGER NOT NULL,
    browser INTEGER NOT NULL,
    mail_at INTEGER NOT NULL,
    read_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    FOREIGN KEY (account_id, conversation_id) REFERENCES hw_conversations (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE UNIQUE INDEX hw_notifications_source ON hw_notifications (account_id, user_id, source);
CREATE INDEX hw_notifications_user ON hw_notifications (account_id, user_id, id);
CREATE INDEX hw_notifications_unread ON hw_notifications (account_id, user_id, id) WHERE read_at < 0;
CREATE INDEX hw_notifications_conversation ON hw_notifications (account_id, conversation_id, user_id) WHERE conversation_id IS NOT NULL;

-- In which channels members want to be told of what.
CREATE TABLE hw_notify_choices (
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    user_id INTEGER NOT NULL,
    choices TEXT NOT NULL,
    PRIMARY KEY (account_id, user_id)
) STRICT;

-- Browsers in which members are told of notifications while the desk is closed.
CREATE TABLE hw_push_devices (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    user_id INTEGER NOT NULL,
    session_id INTEGER NOT NULL, -- 0: none
    name TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    endpoint_key TEXT NOT NULL,
    public_key BLOB NOT NULL,
    auth BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_push_devices_key ON hw_push_devices (account_id, user_id, endpoint_key);

CREATE TABLE hw_events (
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    type TEXT NOT NULL,
    subject INTEGER NOT NULL,
    mailbox_id INTEGER NOT NULL,
    actor_id INTEGER NOT NULL,
    data BLOB,
    time INTEGER NOT NULL,
    conversation_id INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (account_id, seq)
) STRICT;
CREATE INDEX hw_events_type ON hw_events (account_id, type, seq);
CREATE INDEX hw_events_conversation ON hw_events (account_id, conversation_id, seq) WHERE conversation_id <> 0;

CREATE TABLE hw_audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    action TEXT NOT NULL,
    subject INTEGER NOT NULL,
    mailbox_id INTEGER NOT NULL,
    user_id INTEGER NOT NULL,
    token_id INTEGER NOT NULL,
    address TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    changes TEXT NOT NULL DEFAULT '[]' -- what it changed, from and to
) STRICT;
CREATE INDEX hw_audit_created ON hw_audit (account_id, created_at, id);
CREATE INDEX hw_audit_action ON hw_audit (account_id, action, created_at, id);
CREATE INDEX hw_audit_user ON hw_audit (account_id, user_id, created_at, id);

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

-- How far the log of an account was taken for its webhooks.
CREATE TABLE hw_webhook_cursors (
    account_id INTEGER NOT NULL PRIMARY KEY REFERENCES hw_accounts (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL -- of the last event that was taken
) STRICT;

-- Knowledge base

CREATE TABLE hw_sites (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    mailbox_id INTEGER,
    name TEXT NOT NULL,
    path TEXT NOT NULL,
    subdomain TEXT NOT NULL,
    custom_domain TEXT NOT NULL,
    host_key TEXT NOT NULL,
    html_head TEXT NOT NULL,
    visibility TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    look TEXT NOT NULL DEFAULT '{}',
    search TEXT NOT NULL DEFAULT '{}',
    UNIQUE (account_id, id),
    FOREIGN KEY (account_id, mailbox_id) REFERENCES hw_mailboxes (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_sites_address ON hw_sites (host_key, path);
CREATE INDEX hw_sites_mailbox ON hw_sites (account_id, mailbox_id);

-- Which account has a host of its own.
CREATE TABLE hw_site_hosts (
    host_key TEXT PRIMARY KEY,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE
) STRICT;

CREATE TABLE hw_site_files (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    site_id INTEGER NOT NULL,
    filename TEXT NOT NULL,
    content_type TEXT NOT NULL,
    size INTEGER NOT NULL,
    url_key TEXT NOT NULL,
    blob_key TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, site_id, id),
    FOREIGN KEY (account_id, site_id) REFERENCES hw_sites (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX hw_site_files_blob ON hw_site_files (blob_key);

CREATE TABLE hw_themes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    site_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    is_active INTEGER NOT NULL,
    source TEXT NOT NULL,
    version TEXT NOT NULL,
    revision INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, site_id, id),
    FOREIGN KEY (account_id, site_id) REFERENCES hw_sites (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE UNIQUE INDEX hw_themes_active ON hw_themes (site_id) WHERE is_active;

CREATE TABLE hw_theme_files (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    site_id INTEGER NOT NULL,
    theme_id INTEGER NOT NULL,
    path TEXT NOT NULL,
    size INTEGER NOT NULL,
    hash TEXT NOT NULL,
    blob_key TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, site_id, theme_id, id),
    FOREIGN KEY (account_id, site_id, theme_id) REFERENCES hw_themes (account_id, site_id, id) ON DELETE CASCADE
) STRICT;
CREATE UNIQUE INDEX hw_theme_files_path ON hw_theme_files (theme_id, path);
CREATE INDEX hw_theme_files_blob ON hw_theme_files (blob_key);

-- sort_order is a decimal in billionths; translations are a JSON array, see kb_content.go.
CREATE TABLE hw_collections (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    site_id INTEGER NOT NULL,
    sort_order INTEGER NOT NULL,
    source_locale TEXT NOT NULL,
    translations TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    articles INTEGER NOT NULL DEFAULT 0,
    categories INTEGER NOT NULL DEFAULT 0,
    views INTEGER NOT NULL DEFAULT 0,
    published_articles INTEGER NOT NULL DEFAULT 0,
    published_views INTEGER NOT NULL DEFAULT 0,
    icon TEXT NOT NULL DEFAULT '',
    UNIQUE (account_id, site_id, id),
    FOREIGN KEY (account_id, site_id) REFERENCES hw_sites (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX hw_collections_order ON hw_collections (account_id, site_id, sort_order, id);

CREATE TABLE hw_categories (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    site_id INTEGER NOT NULL,
    collection_id INTEGER NOT NULL,
    sort_order INTEGER NOT NULL,
    source_locale TEXT NOT NULL,
    translations TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    articles INTEGER NOT NULL DEFAULT 0,
    categories INTEGER NOT NULL DEFAULT 0,
    views INTEGER NOT NULL DEFAULT 0,
    published_articles INTEGER NOT NULL DEFAULT 0,
    published_views INTEGER NOT NULL DEFAULT 0,
    UNIQUE (account_id, site_id, id),
    FOREIGN KEY (account_id, site_id) REFERENCES hw_sites (account_id, id) ON DELETE CASCADE,
    FOREIGN KEY (account_id, site_id, collection_id) REFERENCES hw_collections (account_id, site_id, id)
) STRICT;
CREATE INDEX hw_categories_order ON hw_categories (account_id, site_id, sort_order, id);
CREATE INDEX hw_categories_collection ON hw_categories (account_id, site_id, collection_id, sort_order, id);

-- outdated is how many translations of what is at work are outdated: of the draft, or else of the live revision.
CREATE TABLE hw_articles (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    site_id INTEGER NOT NULL,
    live INTEGER NOT NULL,
    draft INTEGER NOT NULL, -- 0: none
    last_revision INTEGER NOT NULL,
    published INTEGER NOT NULL,
    collection_id INTEGER NOT NULL,
    category_ids TEXT NOT NULL,
    sort_order INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    views INTEGER NOT NULL DEFAULT 0,
    feedbacks INTEGER NOT NULL DEFAULT 0,
    changed_at INTEGER NOT NULL DEFAULT 0,
    outdated INTEGER NOT NULL DEFAULT 0,
    UNIQUE (account_id, site_id, id),
    FOREIGN KEY (account_id, site_id) REFERENCES hw_sites (account_id, id) ON DELETE CASCADE,
    FOREIGN KEY (account_id, site_id, collection_id) REFERENCES hw_collections (account_id, site_id, id)
) STRICT;
CREATE INDEX hw_articles_order ON hw_articles (account_id, site_id, sort_order, id);
CREATE INDEX hw_articles_collection ON hw_articles (account_id, site_id, collection_id, sort_order, id);
CREATE INDEX hw_articles_published ON hw_articles (account_id, site_id, sort_order, id) WHERE published = TRUE;
CREATE INDEX hw_articles_published_collection ON hw_articles (account_id, site_id, collection_id, sort_order, id) WHERE published = TRUE;
CREATE INDEX hw_articles_published_changed ON hw_articles (account_id, site_id, changed_at, id) WHERE published = TRUE;
CREATE INDEX hw_articles_published_viewed ON hw_articles (account_id, site_id, views, id) WHERE published = TRUE;
CREATE INDEX hw_articles_published_loose ON hw_articles (account_id, site_id, collection_id, sort_order, id) WHERE published = TRUE AND category_ids = '[]';
CREATE INDEX hw_articles_outdated ON hw_articles (account_id, site_id, sort_order, id) WHERE outdated > 0;
CREATE INDEX hw_articles_drafts ON hw_articles (account_id, site_id, sort_order, id) WHERE draft > 0;

-- brief has the texts without their contents, for lists. A collection or category of a revision that is not live may be gone.
CREATE TABLE hw_article_revisions (
    account_id INTEGER NOT NULL,
    site_id INTEGER NOT NULL,
    article_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    status TEXT NOT NULL,
    collection_id INTEGER NOT NULL,
    category_ids TEXT NOT NULL,
    sort_order INTEGER NOT NULL,
    source_locale TEXT NOT NULL,
    translations TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    views INTEGER NOT NULL DEFAULT 0,
    positive INTEGER NOT NULL DEFAULT 0,
    negative INTEGER NOT NULL DEFAULT 0,
    brief TEXT NOT NULL DEFAULT '[]',
    PRIMARY KEY (account_id, article_id, number),
    FOREIGN KEY (account_id, site_id, article_id) REFERENCES hw_articles (account_id, site_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX hw_article_revisions_article ON hw_article_revisions (account_id, site_id, article_id, number);

CREATE TABLE hw_article_categories (
    account_id INTEGER NOT NULL,
    site_id INTEGER NOT NULL,
    article_id INTEGER NOT NULL,
    category_id INTEGER NOT NULL,
    PRIMARY KEY (account_id, article_id, category_id),
    FOREIGN KEY (account_id, site_id, article_id) REFERENCES hw_articles (account_id, site_id, id) ON DELETE CASCADE,
    FOREIGN KEY (account_id, site_id, category_id) REFERENCES hw_categories (account_id, site_id, id)
) STRICT;
CREATE INDEX hw_article_categories_article ON hw_article_categories (account_id, site_id, article_id);
CREATE INDEX hw_article_categories_category ON hw_article_categories (account_id, site_id, category_id, article_id);

-- What the live version of an article is found by, for each of its languages.
CREATE TABLE hw_article_documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    site_id INTEGER NOT NULL,
    article_id INTEGER NOT NULL,
    locale TEXT NOT NULL,
    language TEXT NOT NULL,
    source INTEGER NOT NULL,
    published INTEGER NOT NULL,
    UNIQUE (account_id, article_id, locale),
    FOREIGN KEY (account_id, site_id, article_id) REFERENCES hw_articles (account_id, site_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX hw_article_documents_locale ON hw_article_documents (account_id, site_id, published, locale);

-- The terms of documents, and how much each document is about them. Searches read the end of a term's range.
CREATE TABLE hw_article_postings (
    account_id INTEGER NOT NULL,
    site_id INTEGER NOT NULL,
    published INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    term TEXT NOT NULL,
    weight INTEGER NOT NULL,
    document_id INTEGER NOT NULL,
    PRIMARY KEY (account_id, site_id, published, rank, term, weight, document_id),
    FOREIGN KEY (document_id) REFERENCES hw_article_documents (id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX hw_article_postings_document ON hw_article_postings (document_id, term);

-- The words of articles under what is left of their beginnings without one or two characters.
CREATE TABLE hw_article_spellings (
    account_id INTEGER NOT NULL,
    site_id INTEGER NOT NULL,
    variant TEXT NOT NULL,
    word TEXT NOT NULL,
    PRIMARY KEY (account_id, site_id, variant, word),
    FOREIGN KEY (account_id, site_id) REFERENCES hw_sites (account_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- What readers wrote about articles.
CREATE TABLE hw_article_feedback (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    site_id INTEGER NOT NULL,
    article_id INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    text TEXT NOT NULL,
    done_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    FOREIGN KEY (account_id, site_id, article_id) REFERENCES hw_articles (account_id, site_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX hw_article_feedback_site ON hw_article_feedback (account_id, site_id, id);
CREATE INDEX hw_article_feedback_article ON hw_article_feedback (account_id, article_id, id);
CREATE INDEX hw_article_feedback_open ON hw_article_feedback (account_id, site_id, id) WHERE done_at < 0;
CREATE INDEX hw_article_feedback_done ON hw_article_feedback (account_id, site_id, id) WHERE done_at >= 0;

-- What visitors think of revisions: one reaction each.
CREATE TABLE hw_article_reactions (
    account_id INTEGER NOT NULL,
    article_id INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    visitor BLOB NOT NULL,
    positive INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (account_id, article_id, revision, visitor),
    FOREIGN KEY (account_id, article_id, revision) REFERENCES hw_article_revisions (account_id, article_id, number) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- The names by which a site's content goes in a folder of files.
CREATE TABLE hw_exchange_keys (
    account_id INTEGER NOT NULL,
    site_id INTEGER NOT NULL,
    kind TEXT NOT NULL,
    resource_id INTEGER NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY (account_id, site_id, kind, resource_id),
    UNIQUE (account_id, site_id, kind, key),
    FOREIGN KEY (account_id, site_id) REFERENCES hw_sites (account_id, id) ON DELETE CASCADE
) STRICT;

-- Operation

-- Without a foreign key to the account: the jobs that clean up after a removed account outlive it. holder is a process that can be
-- asked whether it lives. failed counts attempts that failed by themselves, away those in a row that met an outage; settled is the
-- last attempt whose result is known. trace is the traceparent of the span that enqueued the job.
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
    reason TEXT NOT NULL DEFAULT '',
    holder TEXT NOT NULL DEFAULT '',
    failed INTEGER NOT NULL DEFAULT 0,
    away INTEGER NOT NULL DEFAULT 0,
    settled INTEGER NOT NULL DEFAULT 0,
    trace TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE UNIQUE INDEX hw_jobs_unique_key ON hw_jobs (unique_key) WHERE unique_key <> '' AND NOT buried;
CREATE INDEX hw_jobs_due ON hw_jobs (kind, due_at, id) WHERE NOT buried;
CREATE INDEX hw_jobs_buried ON hw_jobs (id) WHERE buried;
CREATE INDEX hw_jobs_holder ON hw_jobs (holder) WHERE holder <> '';
CREATE INDEX hw_jobs_buried_account ON hw_jobs (account_id, id) WHERE buried;

-- Answers to requests that carried an Idempotency-Key. Not of any account: it is the transport that knows who asked.
CREATE TABLE hw_idempotency (
    key BLOB NOT NULL PRIMARY KEY,
    request BLOB NOT NULL,
    holder TEXT NOT NULL,
    until INTEGER NOT NULL,
    answer BLOB,
    conversation_id INTEGER NOT NULL DEFAULT 0 -- whose content the answer has; it goes with it
) STRICT;
CREATE INDEX hw_idempotency_until ON hw_idempotency (until);
CREATE INDEX hw_idempotency_conversation ON hw_idempotency (conversation_id) WHERE conversation_id <> 0;

-- What processes share beside all accounts, such as certificates and their keys, sealed.
CREATE TABLE hw_vault (
    key TEXT NOT NULL PRIMARY KEY,
    value BLOB NOT NULL,
    modified INTEGER NOT NULL
) STRICT;

-- Who is at work on what the vault holds.
CREATE TABLE hw_vault_locks (
    name TEXT NOT NULL PRIMARY KEY,
    holder TEXT NOT NULL,
    until INTEGER NOT NULL
) STRICT;

-- The mark that ties the database to its blobs.
CREATE TABLE hw_marks (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    mark TEXT NOT NULL,
    probe BLOB
) STRICT;

-- While an account is being imported: the ids of its rows in the archive, and those that they have now.
CREATE TABLE hw_new_ids (
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    noun TEXT NOT NULL,
    old_id INTEGER NOT NULL,
    new_id INTEGER NOT NULL,
    PRIMARY KEY (account_id, noun, old_id)
) STRICT;

-- A deleted row of a full-text index leaves its words in the index's segments until they are merged. These are the indexes
-- that have to be merged completely, see full_text.go.
CREATE TABLE hw_search_purges (
    name TEXT PRIMARY KEY,
    begun INTEGER NOT NULL DEFAULT 0 -- 1 while it is merged; a deletion sets it back
) STRICT, WITHOUT ROWID;

-- Triggers

CREATE TRIGGER hw_customer_search_delete AFTER DELETE ON hw_customers BEGIN
    DELETE FROM hw_customer_search WHERE rowid = old.id;
END;

CREATE TRIGGER hw_customer_search_purge AFTER DELETE ON hw_customers BEGIN
    INSERT INTO hw_search_purges (name) VALUES ('hw_customer_search'), ('hw_conversation_search')
        ON CONFLICT (name) DO UPDATE SET begun = 0 WHERE begun = 1;
END;

CREATE TRIGGER hw_conversation_search_delete AFTER DELETE ON hw_conversations BEGIN
    DELETE FROM hw_conversation_search WHERE rowid = old.id;
END;

CREATE TRIGGER hw_conversation_counts_insert AFTER INSERT ON hw_conversations BEGIN
    INSERT INTO hw_conversation_counts (account_id, tag_id, mailbox_id, user_id, team_id, status, priority, awaiting, snoozed, spam, n)
    SELECT NEW.account_id, t.tag_id, NEW.mailbox_id, NEW.user_id, NEW.team_id, NEW.status, NEW.priority, NEW.awaiting_key > 0, NEW.snoozed_until > 0, NEW.spam_at > 0, 1
    FROM (SELECT 0 AS tag_id UNION ALL SELECT tag_id FROM hw_conversation_tags WHERE account_id = NEW.account_id AND conversation_id = NEW.id) AS t WHERE TRUE
    ON CONFLICT DO UPDATE SET n = n + 1;
END;

CREATE TRIGGER hw_conversation_counts_update AFTER UPDATE ON hw_conversations
WHEN (NEW.mailbox_id, NEW.user_id, NEW.team_id, NEW.status, NEW.priority, NEW.awaiting_key > 0, NEW.snoozed_until > 0, NEW.spam_at > 0)
    IS NOT (OLD.mailbox_id, OLD.user_id, OLD.team_id, OLD.status, OLD.priority, OLD.awaiting_key > 0, OLD.snoozed_until > 0, OLD.spam_at > 0)
BEGIN
    UPDATE hw_conversation_counts SET n = n - 1 WHERE account_id = OLD.account_id AND tag_id IN (SELECT 0 UNION ALL SELECT tag_id FROM hw_conversation_tags WHERE account_id = OLD.account_id AND conversation_id = OLD.id)
        AND mailbox_id = OLD.mailbox_id AND user_id = OLD.user_id AND team_id = OLD.team_id AND status = OLD.status AND priority = OLD.priority AND awaiting = (OLD.awaiting_key > 0) AND snoozed = (OLD.snoozed_until > 0) AND spam = (OLD.spam_at > 0);
    DELETE FROM hw_conversation_counts WHERE account_id = OLD.account_id AND tag_id IN (SELECT 0 UNION ALL SELECT tag_id FROM hw_conversation_tags WHERE account_id = OLD.account_id AND conversation_id = OLD.id)
        AND mailbox_id = OLD.mailbox_id AND user_id = OLD.user_id AND team_id = OLD.team_id AND status = OLD.status AND priority = OLD.priority AND awaiting = (OLD.awaiting_key > 0) AND snoozed = (OLD.snoozed_until > 0) AND spam = (OLD.spam_at > 0) AND n = 0;
    INSERT INTO hw_conversation_counts (account_id, tag_id, mailbox_id, user_id, team_id, status, priority, awaiting, snoozed, spam, n)
    SELECT NEW.account_id, t.tag_id, NEW.mailbox_id, NEW.user_id, NEW.team_id, NEW.status, NEW.priority, NEW.awaiting_key > 0, NEW.snoozed_until > 0, NEW.spam_at > 0, 1
    FROM (SELECT 0 AS tag_id UNION ALL SELECT tag_id FROM hw_conversation_tags WHERE account_id = NEW.account_id AND conversation_id = NEW.id) AS t WHERE TRUE
    ON CONFLICT DO UPDATE SET n = n + 1;
END;

CREATE TRIGGER hw_conversation_counts_delete BEFORE DELETE ON hw_conversations BEGIN
    UPDATE hw_conversation_counts SET n = n - 1 WHERE account_id = OLD.account_id AND tag_id IN (SELECT 0 UNION ALL SELECT tag_id FROM hw_conversation_tags WHERE account_id = OLD.account_id AND conversation_id = OLD.id)
        AND mailbox_id = OLD.mailbox_id AND user_id = OLD.user_id AND team_id = OLD.team_id AND status = OLD.status AND priority = OLD.priority AND awaiting = (OLD.awaiting_key > 0) AND snoozed = (OLD.snoozed_until > 0) AND spam = (OLD.spam_at > 0);
    DELETE FROM hw_conversation_counts WHERE account_id = OLD.account_id AND tag_id IN (SELECT 0 UNION ALL SELECT tag_id FROM hw_conversation_tags WHERE account_id = OLD.account_id AND conversation_id = OLD.id)
        AND mailbox_id = OLD.mailbox_id AND user_id = OLD.user_id AND team_id = OLD.team_id AND status = OLD.status AND priority = OLD.priority AND awaiting = (OLD.awaiting_key > 0) AND snoozed = (OLD.snoozed_until > 0) AND spam = (OLD.spam_at > 0) AND n = 0;
END;

CREATE TRIGGER hw_conversation_search_purge AFTER DELETE ON hw_conversations BEGIN
    INSERT INTO hw_search_purges (name) VALUES ('hw_conversation_search')
        ON CONFLICT (name) DO UPDATE SET begun = 0 WHERE begun = 1;
END;

CREATE TRIGGER hw_conversations_listed_tags AFTER UPDATE OF status, snoozed_until, spam_at, created_at, updated_at, awaiting_since ON hw_conversations
WHEN (NEW.shelf, NEW.created_at, NEW.updated_at, NEW.awaiting_key) IS NOT (OLD.shelf, OLD.created_at, OLD.updated_at, OLD.awaiting_key)
BEGIN
    UPDATE hw_conversation_tags SET shelf = NEW.shelf, created_at = NEW.created_at, updated_at = NEW.updated_at, awaiting_key = NEW.awaiting_key
        WHERE account_id = NEW.account_id AND conversation_id = NEW.id;
END;

CREATE TRIGGER hw_conversations_listed_values AFTER UPDATE OF status, snoozed_until, spam_at, created_at, updated_at, awaiting_since ON hw_conversations
WHEN (NEW.shelf, NEW.created_at, NEW.updated_at, NEW.awaiting_key) IS NOT (OLD.shelf, OLD.created_at, OLD.updated_at, OLD.awaiting_key)
BEGIN
    UPDATE hw_conversation_values SET shelf = NEW.shelf, created_at = NEW.created_at, updated_at = NEW.updated_at, awaiting_key = NEW.awaiting_key
        WHERE account_id = NEW.account_id AND subject_id = NEW.id;
END;

CREATE TRIGGER hw_conversation_values_listed AFTER INSERT ON hw_conversation_values BEGIN
    UPDATE hw_conversation_values SET shelf = c.shelf, created_at = c.created_at, updated_at = c.updated_at, awaiting_key = c.awaiting_key
        FROM hw_conversations AS c WHERE c.account_id = NEW.account_id AND c.id = NEW.subject_id
        AND hw_conversation_values.account_id = NEW.account_id AND hw_conversation_values.subject_id = NEW.subject_id
        AND hw_conversation_values.field_id = NEW.field_id AND hw_conversation_values.value_key = NEW.value_key;
END;

CREATE TRIGGER hw_tag_counts_insert AFTER INSERT ON hw_conversation_tags BEGIN
    INSERT INTO hw_conversation_counts (account_id, tag_id, mailbox_id, user_id, team_id, status, priority, awaiting, snoozed, spam, n)
    SELECT c.account_id, NEW.tag_id, c.mailbox_id, c.user_id, c.team_id, c.status, c.priority, c.awaiting_key > 0, c.snoozed_until > 0, c.spam_at > 0, 1
    FROM hw_conversations AS c WHERE c.account_id = NEW.account_id AND c.id = NEW.conversation_id
    ON CONFLICT DO UPDATE SET n = n + 1;
END;

CREATE TRIGGER hw_tag_counts_delete AFTER DELETE ON hw_conversation_tags
WHEN EXISTS (SELECT 1 FROM hw_tags WHERE account_id = OLD.account_id AND id = OLD.tag_id)
BEGIN
    UPDATE hw_conversation_counts SET n = n - 1 WHERE (account_id, tag_id, mailbox_id, user_id, team_id, status, priority, awaiting, snoozed, spam) IN (
        SELECT c.account_id, OLD.tag_id, c.mailbox_id, c.user_id, c.team_id, c.status, c.priority, c.awaiting_key > 0, c.snoozed_until > 0, c.spam_at > 0 FROM hw_conversations AS c WHERE c.account_id = OLD.account_id AND c.id = OLD.conversation_id);
    DELETE FROM hw_conversation_counts WHERE n = 0 AND (account_id, tag_id, mailbox_id, user_id, team_id, status, priority, awaiting, snoozed, spam) IN (
        SELECT c.account_id, OLD.tag_id, c.mailbox_id, c.user_id, c.team_id, c.status, c.priority, c.awaiting_key > 0, c.snoozed_until > 0, c.spam_at > 0 FROM hw_conversations AS c WHERE c.account_id = OLD.account_id AND c.id = OLD.conversation_id);
END;

CREATE TRIGGER hw_conversation_tags_listed AFTER INSERT ON hw_conversation_tags BEGIN
    UPDATE hw_conversation_tags SET shelf = c.shelf, created_at = c.created_at, updated_at = c.updated_at, awaiting_key = c.awaiting_key
        FROM hw_conversations AS c WHERE c.account_id = NEW.account_id AND c.id = NEW.conversation_id
        AND hw_conversation_tags.account_id = NEW.account_id AND hw_conversation_tags.conversation_id = NEW.conversation_id AND hw_conversation_tags.tag_id = NEW.tag_id;
END;

CREATE TRIGGER hw_tag_counts_forget AFTER DELETE ON hw_tags BEGIN
    DELETE FROM hw_conversation_counts WHERE account_id = OLD.account_id AND tag_id = OLD.id;
END;

CREATE TRIGGER hw_article_revisions_brief AFTER INSERT ON hw_article_revisions BEGIN
    UPDATE hw_article_revisions SET brief =
        (SELECT json_group_array(json_remove(e.value, '$.c', '$.m', '$.f')) FROM json_each(NEW.translations) AS e)
        WHERE rowid = NEW.rowid;
END;

CREATE TRIGGER hw_article_revisions_changed_brief AFTER UPDATE OF translations ON hw_article_revisions BEGIN
    UPDATE hw_article_revisions SET brief =
        (SELECT json_group_array(json_remove(e.value, '$.c', '$.m', '$.f')) FROM json_each(NEW.translations) AS e)
        WHERE rowid = NEW.rowid;
END;

-- Surveys, and how customers rated the answers in conversations.

CREATE TABLE hw_surveys (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    mailbox_ids TEXT NOT NULL,
    scale INTEGER NOT NULL,
    delay INTEGER NOT NULL,
    once_per INTEGER NOT NULL,
    match_all TEXT NOT NULL,
    match_any TEXT NOT NULL,
    translations TEXT NOT NULL,
    is_active INTEGER NOT NULL,
    reason TEXT NOT NULL,
    version INTEGER NOT NULL,
    user_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_surveys_key ON hw_surveys (account_id, name_key);

CREATE TABLE hw_ratings (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    conversation_id INTEGER NOT NULL,
    survey_id INTEGER NOT NULL,
    interaction_id INTEGER NOT NULL,
    customer_id INTEGER NOT NULL,
    user_id INTEGER NOT NULL,
    scale INTEGER NOT NULL,
    score INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    comment TEXT NOT NULL,
    locale TEXT NOT NULL,
    source TEXT NOT NULL,
    asked_at INTEGER NOT NULL,
    answered_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id),
    FOREIGN KEY (account_id, conversation_id) REFERENCES hw_conversations (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX hw_ratings_conversation ON hw_ratings (account_id, conversation_id, id);
CREATE INDEX hw_ratings_customer ON hw_ratings (account_id, customer_id, id);
CREATE INDEX hw_ratings_verdict ON hw_ratings (account_id, verdict, conversation_id);

-- Retention policies: what goes by itself some time after the last activity, and how far the last run came.

CREATE TABLE hw_retention_policies (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    match_all TEXT NOT NULL,
    match_any TEXT NOT NULL,
    after_days INTEGER NOT NULL,
    action TEXT NOT NULL,
    is_active INTEGER NOT NULL,
    reason TEXT NOT NULL,
    version INTEGER NOT NULL,
    user_id INTEGER NOT NULL,
    run_at INTEGER NOT NULL,
    run_ended_at INTEGER NOT NULL,
    run_examined INTEGER NOT NULL,
    run_conversations INTEGER NOT NULL,
    run_customers INTEGER NOT NULL,
    run_held INTEGER NOT NULL,
    run_failed INTEGER NOT NULL,
    walk_key INTEGER NOT NULL,
    walk_id INTEGER NOT NULL,
    erasing_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_retention_policies_key ON hw_retention_policies (account_id, name_key);

-- What reports know of conversations, folded from what is in the other tables and in the log.
CREATE TABLE hw_conversation_facts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    conversation_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    mailbox_id INTEGER NOT NULL,
    team_id INTEGER NOT NULL,
    user_id INTEGER NOT NULL,
    sla_id INTEGER NOT NULL,
    channel TEXT NOT NULL,
    tags TEXT NOT NULL,
    asked_at INTEGER NOT NULL,
    first_reply_at INTEGER NOT NULL,
    first_reply_by INTEGER NOT NULL,
    business_reply INTEGER NOT NULL,
    replies INTEGER NOT NULL,
    touches INTEGER NOT NULL,
    received INTEGER NOT NULL,
    reopened INTEGER NOT NULL,
    wait INTEGER NOT NULL,
    resolved_at INTEGER NOT NULL,
    ended_at INTEGER NOT NULL,
    replied_at INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    rated_at INTEGER NOT NULL,
    rated_by INTEGER NOT NULL,
    first_reply_sla TEXT NOT NULL,
    next_reply_sla TEXT NOT NULL,
    resolution_sla TEXT NOT NULL,
    said TEXT NOT NULL,
    closed TEXT NOT NULL,
    steps TEXT NOT NULL,
    UNIQUE (account_id, id),
    FOREIGN KEY (account_id, conversation_id) REFERENCES hw_conversations (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX hw_conversation_facts_conversation ON hw_conversation_facts (account_id, conversation_id, id);
CREATE INDEX hw_conversation_facts_created ON hw_conversation_facts (account_id, created_at);
CREATE INDEX hw_conversation_facts_ended ON hw_conversation_facts (account_id, ended_at, created_at);
CREATE INDEX hw_conversation_facts_rated ON hw_conversation_facts (account_id, rated_at) WHERE rated_at > 0;
CREATE INDEX hw_conversation_facts_replied ON hw_conversation_facts (account_id, replied_at, created_at);

-- Up to where the log of an account was folded into facts: one row.
CREATE TABLE hw_fact_logs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    folded_at INTEGER NOT NULL,
    again INTEGER NOT NULL,
    again_at INTEGER NOT NULL,
    again_id INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;

-- What readers of a site did on a day, without a mark of who they were. Rows with neither a query nor an article count all.
CREATE TABLE hw_readings (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    site_id INTEGER NOT NULL,
    day TEXT NOT NULL,
    locale TEXT NOT NULL,
    query TEXT NOT NULL,
    article_id INTEGER NOT NULL,
    queries INTEGER NOT NULL,
    views INTEGER NOT NULL,
    searches INTEGER NOT NULL,
    unanswered INTEGER NOT NULL,
    clicks INTEGER NOT NULL,
    contacts INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_readings_key ON hw_readings (account_id, query, article_id, site_id, day, locale);
CREATE INDEX hw_readings_site ON hw_readings (account_id, site_id, day);
