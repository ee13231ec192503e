-- Lists of conversations name the tags of each row. Servers remember tags by their version, which no two states of a tag share.
ALTER TABLE hw_tags ADD COLUMN version INTEGER NOT NULL DEFAULT 0; -- random, changes with the tag

CREATE TRIGGER hw_tags_version AFTER UPDATE ON hw_tags WHEN NEW.version = OLD.version BEGIN
    UPDATE hw_tags SET version = random() WHERE id = NEW.id;
END;
