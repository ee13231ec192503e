-- The terms by which customers and conversations are found. They come ready from the service and have no ASCII but
-- letters and digits, so the tokenizer only parts them; "_1" stands for account 1. Where in a text a term is, and how
-- often, nobody asks: detail=none and columnsize=0 leave it out.
CREATE VIRTUAL TABLE hw_customer_search USING fts5 (
    account, terms, tokenize = "ascii tokenchars '_'", prefix = '2 3', detail = none, columnsize = 0
);
--bun:split
CREATE TRIGGER hw_customer_search_delete AFTER DELETE ON hw_customers BEGIN
    DELETE FROM hw_customer_search WHERE rowid = old.id;
END;
--bun:split
-- The row of a conversation has the terms of its customer too, so that a query finds words of both.
CREATE VIRTUAL TABLE hw_conversation_search USING fts5 (
    account, customer, own, tokenize = "ascii tokenchars '_'", prefix = '2 3', detail = none, columnsize = 0
);
--bun:split
CREATE TRIGGER hw_conversation_search_delete AFTER DELETE ON hw_conversations BEGIN
    DELETE FROM hw_conversation_search WHERE rowid = old.id;
END;
--bun:split
-- The accounts whose customers and conversations are still to be indexed, by Migrate.
CREATE TABLE hw_search_pending (account_id INTEGER PRIMARY KEY REFERENCES hw_accounts (id) ON DELETE CASCADE) STRICT;
--bun:split
INSERT INTO hw_search_pending SELECT id FROM hw_accounts;
