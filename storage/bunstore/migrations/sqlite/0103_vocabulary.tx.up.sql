-- The terms that are in the indexes, to find those that begin with something.
CREATE VIRTUAL TABLE hw_customer_vocabulary USING fts5vocab (hw_customer_search, instance);
--bun:split
CREATE VIRTUAL TABLE hw_conversation_vocabulary USING fts5vocab (hw_conversation_search, instance);
--bun:split
CREATE VIRTUAL TABLE hw_article_vocabulary USING fts5vocab (hw_article_terms, instance);
