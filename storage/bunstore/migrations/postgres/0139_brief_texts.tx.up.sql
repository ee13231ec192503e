-- Lists of articles show texts without contents. Taking the translations apart for each row was slow.
ALTER TABLE hw_article_revisions ADD COLUMN brief TEXT NOT NULL DEFAULT '[]'; -- translations without contents
--bun:split
CREATE FUNCTION hw_brief_texts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.brief := (SELECT COALESCE(jsonb_agg(t.e - 'c' - 'm' - 'f' ORDER BY t.n), '[]')
        FROM jsonb_array_elements(NEW.translations::jsonb) WITH ORDINALITY AS t (e, n));
    RETURN NEW;
END
$$;
--bun:split
CREATE TRIGGER hw_article_revisions_brief BEFORE INSERT OR UPDATE OF translations ON hw_article_revisions
    FOR EACH ROW EXECUTE FUNCTION hw_brief_texts();
--bun:split
UPDATE hw_article_revisions SET translations = translations;
