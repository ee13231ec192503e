-- The terms by which customers and conversations are found. They come ready from the service: no parser and no
-- dictionary of PostgreSQL looks at them.
CREATE TABLE hw_customer_search (
    account_id bigint NOT NULL,
    customer_id bigint NOT NULL,
    terms tsvector NOT NULL,
    PRIMARY KEY (account_id, customer_id),
    FOREIGN KEY (account_id, customer_id) REFERENCES hw_customers (account_id, id) ON DELETE CASCADE
);
CREATE INDEX hw_customer_search_terms ON hw_customer_search USING gin (terms);

-- The row of a conversation has the terms of its customer too, so that a query finds words of both.
CREATE TABLE hw_conversation_search (
    account_id bigint NOT NULL,
    conversation_id bigint NOT NULL,
    customer tsvector NOT NULL,
    own tsvector NOT NULL,
    terms tsvector NOT NULL GENERATED ALWAYS AS (customer || own) STORED,
    PRIMARY KEY (account_id, conversation_id),
    FOREIGN KEY (account_id, conversation_id) REFERENCES hw_conversations (account_id, id) ON DELETE CASCADE
);
CREATE INDEX hw_conversation_search_terms ON hw_conversation_search USING gin (terms);

-- The accounts whose customers and conversations are still to be indexed, by Migrate.
CREATE TABLE hw_search_pending (account_id bigint PRIMARY KEY REFERENCES hw_accounts (id) ON DELETE CASCADE);
INSERT INTO hw_search_pending SELECT id FROM hw_accounts;
