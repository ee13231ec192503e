-- A write merges segments of a full-text index only when there are very many, since these merges grow with the index. Usually
-- full_text.go has merged them before; sixteen came together too quickly when many conversations were changed at once.
INSERT INTO hw_customer_search (hw_customer_search, rank) VALUES ('crisismerge', 64);
INSERT INTO hw_conversation_search (hw_conversation_search, rank) VALUES ('crisismerge', 64);
INSERT INTO hw_article_terms (hw_article_terms, rank) VALUES ('crisismerge', 64);
