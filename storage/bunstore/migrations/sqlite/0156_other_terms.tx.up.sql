-- Words have other terms now: other spellings, and joined words together. Migrate computes those of all customers and
-- conversations again, and notes here which it has done.
ALTER TABLE hw_search_pending ADD COLUMN customer_id INTEGER NOT NULL DEFAULT 0;
ALTER TABLE hw_search_pending ADD COLUMN conversation_id INTEGER NOT NULL DEFAULT 0;
INSERT INTO hw_search_pending (account_id) SELECT id FROM hw_accounts WHERE true ON CONFLICT DO NOTHING;
