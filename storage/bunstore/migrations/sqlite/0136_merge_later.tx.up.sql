-- A write never merges much of the full-text indexes: that took up to a second of a reply among a million conversations. It
-- is done step by step while others do not write, see full_text.go. FTS5 still merges small segments when there are sixteen.
INSERT INTO hw_customer_search (hw_customer_search, rank) VALUES ('automerge', 0);
INSERT INTO hw_conversation_search (hw_conversation_search, rank) VALUES ('automerge', 0);
INSERT INTO hw_article_terms (hw_article_terms, rank) VALUES ('automerge', 0);
