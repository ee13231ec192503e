-- What the page about the health of an account counts.
CREATE INDEX hw_inbound_mails_received ON hw_inbound_mails (account_id, received_at, mailbox_id);
CREATE INDEX hw_inbound_mails_quarantined ON hw_inbound_mails (account_id, mailbox_id) WHERE state = 'quarantined';
CREATE INDEX hw_interactions_sent ON hw_interactions (account_id, send_started_at, conversation_id) WHERE send_started_at > 0;
CREATE INDEX hw_deliveries_waiting ON hw_deliveries (account_id, interaction_id, created_at) WHERE state IN ('queued', 'deferred');
