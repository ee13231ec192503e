-- Terms with that of their account, such as "_1": a word that another account uses a lot is read no further than the
-- account that looks for it goes.
-- A million conversations take more than the minute that a statement has.
SET LOCAL statement_timeout = 0;
--bun:split
DROP INDEX hw_customer_search_terms;
--bun:split
DROP INDEX hw_conversation_search_terms;
--bun:split
CREATE INDEX hw_customer_search_account ON hw_customer_search
    USING gin ((terms || array_to_tsvector(ARRAY['_' || account_id::text])));
--bun:split
CREATE INDEX hw_conversation_search_account ON hw_conversation_search
    USING gin ((terms || array_to_tsvector(ARRAY['_' || account_id::text])));
