-- Lists of conversations name the tags of each row. Servers remember tags by their version, which no two states of a tag share.
ALTER TABLE hw_tags ADD COLUMN version BIGINT NOT NULL DEFAULT 0; -- random, changes with the tag
--bun:split
CREATE FUNCTION hw_tag_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.version := (random() * 9e15)::bigint;
    RETURN NEW;
END
$$;
--bun:split
CREATE TRIGGER hw_tags_version BEFORE UPDATE ON hw_tags FOR EACH ROW EXECUTE FUNCTION hw_tag_version();
