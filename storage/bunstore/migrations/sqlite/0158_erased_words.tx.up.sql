-- A deleted row of a full-text index leaves its words in the index's segments until they are merged. These are the indexes
-- that have to be merged completely, see full_text.go. Erasing a customer also blanks conversations, and ends with deleting
-- the customer.
CREATE TABLE hw_search_purges (
    name TEXT PRIMARY KEY,
    begun INTEGER NOT NULL DEFAULT 0 -- 1 while it is merged; a deletion sets it back
) STRICT, WITHOUT ROWID;
--bun:split
INSERT INTO hw_search_purges (name) VALUES ('hw_customer_search'), ('hw_conversation_search'), ('hw_article_terms');
--bun:split
CREATE TRIGGER hw_customer_search_purge AFTER DELETE ON hw_customers BEGIN
    INSERT INTO hw_search_purges (name) VALUES ('hw_customer_search'), ('hw_conversation_search')
        ON CONFLICT (name) DO UPDATE SET begun = 0 WHERE begun = 1;
END;
--bun:split
CREATE TRIGGER hw_conversation_search_purge AFTER DELETE ON hw_conversations BEGIN
    INSERT INTO hw_search_purges (name) VALUES ('hw_conversation_search')
        ON CONFLICT (name) DO UPDATE SET begun = 0 WHERE begun = 1;
END;
--bun:split
CREATE TRIGGER hw_article_terms_purge AFTER DELETE ON hw_article_documents BEGIN
    INSERT INTO hw_search_purges (name) VALUES ('hw_article_terms')
        ON CONFLICT (name) DO UPDATE SET begun = 0 WHERE begun = 1;
END;
