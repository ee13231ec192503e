-- Lists of articles show texts without contents. Taking the translations apart for each row was slow.
ALTER TABLE hw_article_revisions ADD COLUMN brief TEXT NOT NULL DEFAULT '[]'; -- translations without contents

CREATE TRIGGER hw_article_revisions_brief AFTER INSERT ON hw_article_revisions BEGIN
    UPDATE hw_article_revisions SET brief =
        (SELECT json_group_array(json_remove(e.value, '$.c', '$.m', '$.f')) FROM json_each(NEW.translations) AS e)
        WHERE rowid = NEW.rowid;
END;

CREATE TRIGGER hw_article_revisions_changed_brief AFTER UPDATE OF translations ON hw_article_revisions BEGIN
    UPDATE hw_article_revisions SET brief =
        (SELECT json_group_array(json_remove(e.value, '$.c', '$.m', '$.f')) FROM json_each(NEW.translations) AS e)
        WHERE rowid = NEW.rowid;
END;

UPDATE hw_article_revisions SET translations = translations;
