-- Lists of a user, a team and a mailbox, and of what is at work, in the orders of conversations that never change. The two
-- that do have older indexes: a further one of theirs would be written whenever somebody answers.
CREATE INDEX hw_conversations_user_created ON hw_conversations (account_id, user_id, created_at, id);
CREATE INDEX hw_conversations_mailbox_created ON hw_conversations (account_id, mailbox_id, created_at, id);
CREATE INDEX hw_conversations_team_created ON hw_conversations (account_id, team_id, created_at, id) WHERE team_id <> 0;
CREATE INDEX hw_conversations_open_created ON hw_conversations (account_id, created_at, id) WHERE status IN ('posted', 'pending');
CREATE INDEX hw_conversations_user_number ON hw_conversations (account_id, user_id, number, id);
CREATE INDEX hw_conversations_mailbox_number ON hw_conversations (account_id, mailbox_id, number, id);
CREATE INDEX hw_conversations_team_number ON hw_conversations (account_id, team_id, number, id) WHERE team_id <> 0;
CREATE INDEX hw_conversations_open_number ON hw_conversations (account_id, number, id) WHERE status IN ('posted', 'pending');
CREATE INDEX hw_conversations_spam_created ON hw_conversations (account_id, created_at, id) WHERE spam_at > 0;
