package bunstore_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
)

// The migration fills the texts without contents of revisions that are there already.
func TestMigrateBriefTexts(t *testing.T) {
	t.Parallel()
	eachEmbedded(t, func(t *testing.T, app *bun.DB, db *bunstore.DB) {
		_, editor := operator(t, db)
		text := func(title string) storage.Opt[kb.TranslationInput] {
			return storage.Some(kb.TranslationInput{Title: storage.Some(title), Summary: storage.Some(`"short"`), Markdown: storage.Some(strings.Repeat("long ", 2000))})
		}
		shelf, err := editor.CreateCollection(t.Context(), kb.CollectionInput{TextInput: kb.TextInput{
			SourceLocale: "en", Translations: map[string]storage.Opt[kb.TranslationInput]{"en": storage.Some(kb.TranslationInput{Title: storage.Some("Shelf")})},
		}})
		if err != nil {
			t.Fatal(err)
		}
		created, err := editor.CreateArticle(t.Context(), kb.ArticleInput{CollectionID: shelf.ID, TextInput: kb.TextInput{
			SourceLocale: "en", Translations: map[string]storage.Opt[kb.TranslationInput]{"en": text("Grind"), "ar": text("طحن")},
		}})
		if err != nil {
			t.Fatal(err)
		}
		undo := []string{"DROP TRIGGER hw_article_revisions_brief", "DROP TRIGGER hw_article_revisions_changed_brief"}
		if strings.Contains(app.String(), "pg") {
			undo = []string{"DROP TRIGGER hw_article_revisions_brief ON hw_article_revisions", "DROP FUNCTION hw_brief_texts"}
		}
		for _, statement := range append(undo, "ALTER TABLE hw_article_revisions DROP COLUMN brief", "DELETE FROM hw_migrations WHERE name = '0139'") {
			if _, err := app.Exec(statement); err != nil {
				t.Fatal(statement, err)
			}
		}
		if err := db.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i := range created.Revision.Translations {
			created.Revision.Translations[i].Content, created.Revision.Translations[i].Markdown = "", ""
		}
		list, err := db.KB().Within(kb.Scope{AccountID: 1, SiteID: created.Article.SiteID}).LiveArticles(t.Context(), kb.ArticleFilter{Brief: true}, storage.Seek{Limit: 2})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]kb.ArticleRevision{created}, list); diff != "" {
			t.Errorf("the list after the migration: (-want +got)\n%s", diff)
		}
	})
}
