-- The keys of an account's rows begin with the account, as every statement names it: one index less for each insert, and for
-- each update that is written to all indexes; and no key that a database distributed by account could not check.
--
-- Where the account and the id were unique already, that constraint takes over from the primary key of the id. It is not made
-- the primary key, since foreign keys refer to it.
SET LOCAL statement_timeout = 0;
-- In the order in which mail is filed and answered, so that few transactions can deadlock with this one.
LOCK TABLE hw_inbound_mails, hw_mailboxes, hw_customers, hw_customer_emails, hw_conversations, hw_interactions, hw_attachments, hw_deliveries
    IN ACCESS EXCLUSIVE MODE;

ALTER TABLE hw_attachments DROP CONSTRAINT hw_attachments_pkey, REPLICA IDENTITY USING INDEX hw_attachments_account_id_id_key;
ALTER TABLE hw_blocked_senders DROP CONSTRAINT hw_blocked_senders_pkey, REPLICA IDENTITY USING INDEX hw_blocked_senders_account_id_id_key;
ALTER TABLE hw_conversations DROP CONSTRAINT hw_conversations_pkey, REPLICA IDENTITY USING INDEX hw_conversations_account_id_id_key;
ALTER TABLE hw_customer_emails DROP CONSTRAINT hw_customer_emails_pkey, REPLICA IDENTITY USING INDEX hw_customer_emails_account_id_id_key;
ALTER TABLE hw_customers DROP CONSTRAINT hw_customers_pkey, REPLICA IDENTITY USING INDEX hw_customers_account_id_id_key;
ALTER TABLE hw_deliveries DROP CONSTRAINT hw_deliveries_pkey, REPLICA IDENTITY USING INDEX hw_deliveries_account_id_id_key;
ALTER TABLE hw_domains DROP CONSTRAINT hw_domains_pkey, REPLICA IDENTITY USING INDEX hw_domains_account_id_id_key;
ALTER TABLE hw_erasures DROP CONSTRAINT hw_erasures_pkey, REPLICA IDENTITY USING INDEX hw_erasures_account_id_id_key;
ALTER TABLE hw_inbound_mails DROP CONSTRAINT hw_inbound_mails_pkey, REPLICA IDENTITY USING INDEX hw_inbound_mails_account_id_id_key;
ALTER TABLE hw_interactions DROP CONSTRAINT hw_interactions_pkey, REPLICA IDENTITY USING INDEX hw_interactions_account_id_id_key;
ALTER TABLE hw_invitations DROP CONSTRAINT hw_invitations_pkey, REPLICA IDENTITY USING INDEX hw_invitations_account_id_id_key;
ALTER TABLE hw_join_rules DROP CONSTRAINT hw_join_rules_pkey, REPLICA IDENTITY USING INDEX hw_join_rules_account_id_id_key;
ALTER TABLE hw_mailboxes DROP CONSTRAINT hw_mailboxes_pkey, REPLICA IDENTITY USING INDEX hw_mailboxes_account_id_id_key;
ALTER TABLE hw_member_mails DROP CONSTRAINT hw_member_mails_pkey, REPLICA IDENTITY USING INDEX hw_member_mails_account_id_id_key;
ALTER TABLE hw_memberships DROP CONSTRAINT hw_memberships_pkey, REPLICA IDENTITY USING INDEX hw_memberships_account_id_id_key;
ALTER TABLE hw_moves DROP CONSTRAINT hw_moves_pkey, REPLICA IDENTITY USING INDEX hw_moves_account_id_id_key;
ALTER TABLE hw_pgp_keys DROP CONSTRAINT hw_pgp_keys_pkey, REPLICA IDENTITY USING INDEX hw_pgp_keys_account_id_id_key;
ALTER TABLE hw_portal_keys DROP CONSTRAINT hw_portal_keys_pkey, REPLICA IDENTITY USING INDEX hw_portal_keys_account_id_id_key;
ALTER TABLE hw_reply_files DROP CONSTRAINT hw_reply_files_pkey, REPLICA IDENTITY USING INDEX hw_reply_files_account_id_id_key;
ALTER TABLE hw_roles DROP CONSTRAINT hw_roles_pkey, REPLICA IDENTITY USING INDEX hw_roles_account_id_id_key;
ALTER TABLE hw_saved_replies DROP CONSTRAINT hw_saved_replies_pkey, REPLICA IDENTITY USING INDEX hw_saved_replies_account_id_id_key;
ALTER TABLE hw_signatures DROP CONSTRAINT hw_signatures_pkey, REPLICA IDENTITY USING INDEX hw_signatures_account_id_id_key;
ALTER TABLE hw_suppressions DROP CONSTRAINT hw_suppressions_pkey, REPLICA IDENTITY USING INDEX hw_suppressions_account_id_id_key;
ALTER TABLE hw_tags DROP CONSTRAINT hw_tags_pkey, REPLICA IDENTITY USING INDEX hw_tags_account_id_id_key;
ALTER TABLE hw_teams DROP CONSTRAINT hw_teams_pkey, REPLICA IDENTITY USING INDEX hw_teams_account_id_id_key;
ALTER TABLE hw_views DROP CONSTRAINT hw_views_pkey, REPLICA IDENTITY USING INDEX hw_views_account_id_id_key;
ALTER TABLE hw_webhook_deliveries DROP CONSTRAINT hw_webhook_deliveries_pkey, REPLICA IDENTITY USING INDEX hw_webhook_deliveries_account_id_id_key;
ALTER TABLE hw_webhooks DROP CONSTRAINT hw_webhooks_pkey, REPLICA IDENTITY USING INDEX hw_webhooks_account_id_id_key;

ALTER TABLE hw_article_documents DROP CONSTRAINT hw_article_documents_pkey, ADD PRIMARY KEY (account_id, id);
ALTER TABLE hw_article_feedback DROP CONSTRAINT hw_article_feedback_pkey, ADD PRIMARY KEY (account_id, id);
ALTER TABLE hw_articles DROP CONSTRAINT hw_articles_pkey, ADD PRIMARY KEY (account_id, id);
ALTER TABLE hw_categories DROP CONSTRAINT hw_categories_pkey, ADD PRIMARY KEY (account_id, id);
ALTER TABLE hw_collections DROP CONSTRAINT hw_collections_pkey, ADD PRIMARY KEY (account_id, id);
ALTER TABLE hw_customer_phones DROP CONSTRAINT hw_customer_phones_pkey, ADD PRIMARY KEY (account_id, id);
ALTER TABLE hw_customer_websites DROP CONSTRAINT hw_customer_websites_pkey, ADD PRIMARY KEY (account_id, id);
ALTER TABLE hw_notifications DROP CONSTRAINT hw_notifications_pkey, ADD PRIMARY KEY (account_id, id);
ALTER TABLE hw_site_files DROP CONSTRAINT hw_site_files_pkey, ADD PRIMARY KEY (account_id, id);
ALTER TABLE hw_theme_files DROP CONSTRAINT hw_theme_files_pkey, ADD PRIMARY KEY (account_id, id);
ALTER TABLE hw_themes DROP CONSTRAINT hw_themes_pkey, ADD PRIMARY KEY (account_id, id);

DROP INDEX hw_theme_files_path;
CREATE UNIQUE INDEX hw_theme_files_path ON hw_theme_files (account_id, theme_id, path);
DROP INDEX hw_themes_active;
CREATE UNIQUE INDEX hw_themes_active ON hw_themes (account_id, site_id) WHERE is_active;
