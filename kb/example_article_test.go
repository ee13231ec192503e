package kb_test

import (
	"context"
	"fmt"
	"log"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

// An article in two languages is published, read and found; then it is changed as a draft, published, and a former revision
// restored.
func Example_article() {
	ctx := context.Background()
	store := memstore.New()
	account := identity.Account{Name: "Acme", NextNumber: 1, DefaultLocale: "en"}
	_ = store.InSystemTx(ctx, func(ctx context.Context, tx helpdesk.SystemTx) error { return tx.InsertAccount(ctx, &account) })
	service, err := kb.New(kb.Config{
		Store: store.KB(), Blobs: memblob.New(),
		Membership: func(context.Context, kb.Caller, int64) (kb.Membership, error) {
			return kb.Membership{Permissions: everything()}, nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	sites, _ := service.Sites(person(1))
	site, _ := sites.Create(ctx, kb.SiteInput{AccountID: account.ID, Name: "Help"})
	editor, _ := service.Editor(ctx, person(1), site.ID)

	text := func(title, markdown string) storage.Opt[kb.TranslationInput] {
		return storage.Some(kb.TranslationInput{Title: storage.Some(title), Markdown: storage.Some(markdown)})
	}
	in := func(translations map[string]storage.Opt[kb.TranslationInput]) kb.TextInput {
		return kb.TextInput{SourceLocale: "en", Translations: translations}
	}
	basics, _ := editor.CreateCollection(ctx, kb.CollectionInput{
		TextInput: in(map[string]storage.Opt[kb.TranslationInput]{"en": storage.Some(kb.TranslationInput{Title: storage.Some("Basics")})}),
	})
	article, err := editor.CreateArticle(ctx, kb.ArticleInput{CollectionID: basics.ID, TextInput: in(map[string]storage.Opt[kb.TranslationInput]{
		"en": text("How to pay", "By **card**."), "de": text("Bezahlen", "Mit **Karte**."),
	})})
	if err != nil {
		log.Fatal(err)
	}

	visitor, _ := service.Visitor(ctx, nil, site.ID)
	read, _ := visitor.Article(ctx, article.Article.ID)
	fmt.Print(read.Revision.Serve("de").Content)
	found, _ := visitor.Search(ctx, "kart", []string{"de"}, kb.ArticleFilter{}, storage.PageRequest{})
	fmt.Println(found.Items[0].Highlight.Snippet)

	// What a reader says is open until an editor has dealt with it.
	said, _ := visitor.SendFeedback(ctx, kb.FeedbackInput{ArticleID: article.Article.ID, Text: "And by cheque?"})
	_, _ = editor.UpdateFeedback(ctx, said.ID, kb.FeedbackChange{Done: storage.Some(true)})
	open, _ := editor.Feedbacks(ctx, kb.FeedbackFilter{Done: storage.Some(false)}, storage.PageRequest{})
	viewed, _ := editor.ArticlesByViews(ctx, storage.PageRequest{})
	fmt.Println(len(open.Items), "open, of", viewed.Items[0].Article.Feedbacks, "about", viewed.Items[0].Revision.Serve("en").Title)

	change := kb.ArticleInput{CollectionID: basics.ID, TextInput: in(map[string]storage.Opt[kb.TranslationInput]{"en": text("Paying", "By cash.")})}
	draft, _ := editor.UpdateDraft(ctx, article.Article.ID, change)
	read, _ = visitor.Article(ctx, article.Article.ID)
	fmt.Println("draft", draft.Revision.Number, "while visitors read", read.Revision.Serve("en").Title)
	change.Status = storage.Some(kb.Published)
	_, _ = editor.UpdateDraft(ctx, article.Article.ID, change)
	restored, err := editor.Restore(ctx, article.Article.ID, 1)
	fmt.Println("revision", restored.Revision.Number, restored.Revision.Serve("en").Title, err)
	// Output:
	// <p>Mit <strong>Karte</strong>.</p>
	// Mit <mark>Karte</mark>.
	// 0 open, of 1 about How to pay
	// draft 2 while visitors read How to pay
	// revision 3 How to pay <nil>
}
