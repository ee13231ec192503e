-- The event log and the audit log are partitioned by time, so that retention drops whole months. The tables so far become the
-- partition of all that is older than the next month; no row is copied. Attaching them reads each once, while nobody else
-- reads or writes it.
--
-- Each partition has the primary key that the whole table had, (account_id, seq) and id: a key of the partitioned table would
-- have to contain the time, and building it would take minutes for a long log. The keys are unique in the whole table,
-- too: seq is counted in hw_accounts.last_event, under the lock of its row, and id comes from one sequence.
SET LOCAL statement_timeout = 0;
-- In the order of transactions that write events, so that none of them can deadlock with this one.
LOCK TABLE hw_accounts IN ACCESS EXCLUSIVE MODE;
LOCK TABLE hw_audit, hw_events IN ACCESS EXCLUSIVE MODE;

ALTER TABLE hw_events RENAME TO hw_events_before;
ALTER INDEX hw_events_pkey RENAME TO hw_events_before_pkey;
ALTER INDEX hw_events_type RENAME TO hw_events_before_type;
ALTER INDEX hw_events_conversation RENAME TO hw_events_before_conversation;
CREATE TABLE hw_events (
    account_id BIGINT NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    seq BIGINT NOT NULL,
    type TEXT NOT NULL,
    subject BIGINT NOT NULL,
    mailbox_id BIGINT NOT NULL,
    actor_id BIGINT NOT NULL,
    data BYTEA,
    time BIGINT NOT NULL,
    conversation_id BIGINT NOT NULL DEFAULT 0
) PARTITION BY RANGE (time);
CREATE INDEX hw_events_type ON hw_events (account_id, type, seq);
CREATE INDEX hw_events_conversation ON hw_events (account_id, conversation_id, seq) WHERE conversation_id <> 0;
-- What belongs to no other partition.
CREATE TABLE hw_events_default PARTITION OF hw_events (PRIMARY KEY (account_id, seq)) DEFAULT;

ALTER TABLE hw_audit RENAME TO hw_audit_before;
ALTER INDEX hw_audit_pkey RENAME TO hw_audit_before_pkey;
ALTER INDEX hw_audit_created RENAME TO hw_audit_before_created;
ALTER INDEX hw_audit_action RENAME TO hw_audit_before_action;
ALTER INDEX hw_audit_user RENAME TO hw_audit_before_user;
-- An identity column cannot be partitioned before PostgreSQL 17; a default from a sequence can.
CREATE SEQUENCE hw_audit_ids;
SELECT setval('hw_audit_ids', last_value, is_called) FROM hw_audit_id_seq;
ALTER TABLE hw_audit_before ALTER COLUMN id DROP IDENTITY;
ALTER SEQUENCE hw_audit_ids RENAME TO hw_audit_id_seq;
CREATE TABLE hw_audit (
    id BIGINT NOT NULL DEFAULT nextval('hw_audit_id_seq'),
    account_id BIGINT NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    action TEXT NOT NULL,
    subject BIGINT NOT NULL,
    mailbox_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    token_id BIGINT NOT NULL,
    address TEXT NOT NULL,
    created_at BIGINT NOT NULL
) PARTITION BY RANGE (created_at);
ALTER SEQUENCE hw_audit_id_seq OWNED BY hw_audit.id;
CREATE INDEX hw_audit_created ON hw_audit (account_id, created_at, id);
CREATE INDEX hw_audit_action ON hw_audit (account_id, action, created_at, id);
CREATE INDEX hw_audit_user ON hw_audit (account_id, user_id, created_at, id);
CREATE TABLE hw_audit_default PARTITION OF hw_audit (PRIMARY KEY (id)) DEFAULT;

DO $$
DECLARE
    until BIGINT := extract(epoch FROM (date_trunc('month', now() AT TIME ZONE 'UTC') + INTERVAL '1 month') AT TIME ZONE 'UTC')::bigint * 1000000;
    parts TEXT[];
    attach TEXT;
BEGIN
    FOREACH parts SLICE 1 IN ARRAY ARRAY[['hw_events', 'time'], ['hw_audit', 'created_at']] LOOP
        attach := format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%s)', parts[1], parts[1] || '_before', until);
        BEGIN
            EXECUTE attach;
        EXCEPTION WHEN check_violation THEN -- some rows are of the future
            EXECUTE format('WITH moved AS (DELETE FROM %I WHERE %I >= %s RETURNING *) INSERT INTO %I SELECT * FROM moved',
                parts[1] || '_before', parts[2], until, parts[1] || '_default');
            EXECUTE attach;
        END;
    END LOOP;
END $$;
