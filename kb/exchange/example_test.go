package exchange_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"testing/fstest"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/exchange"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

// help opens a new, empty site.
func help(ctx context.Context) exchange.Exchange {
	store := memstore.New()
	account := identity.Account{Name: "Acme", DefaultLocale: "en"}
	err := store.InSystemTx(ctx, func(ctx context.Context, tx helpdesk.SystemTx) error { return tx.InsertAccount(ctx, &account) })
	if err != nil {
		log.Fatal(err)
	}
	service, err := kb.New(kb.Config{
		Store: store.KB(), Blobs: memblob.New(),
		Membership: func(context.Context, kb.Caller, int64) (kb.Membership, error) {
			return kb.Membership{Permissions: []kb.Permission{kb.SitesCreate}}, nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	sites, err := service.Sites(caller{})
	if err != nil {
		log.Fatal(err)
	}
	site, err := sites.Create(ctx, kb.SiteInput{AccountID: account.ID, Name: "Help"})
	if err != nil {
		log.Fatal(err)
	}
	editor, err := service.Operator(ctx, site.ID) // or Editor, for a user
	if err != nil {
		log.Fatal(err)
	}
	return exchange.Exchange{Service: service, Editor: editor}
}

// A folder, such as a repository's work tree, is rehearsed and then imported.
func ExampleExchange_Import() {
	ctx := context.Background()
	x := help(ctx)
	folder, err := exchange.Read(fstest.MapFS{ // or os.DirFS
		"site.yaml":                               {Data: []byte("name: Help\n")},
		"collections/basics/index.en.md":          {Data: []byte("---\nname: Basics\nsource: true\n---\n")},
		"collections/basics/articles/hello.en.md": {Data: []byte("---\ntitle: Hello\nsource: true\nstatus: published\n---\n\nWelcome **all**.\n")},
		"collections/basics/articles/hello.de.md": {Data: []byte("---\ntitle: Hallo\n---\n\nWillkommen.\n")},
	})
	if err != nil {
		log.Fatal(err) // it names all that is wrong, by file and line
	}
	planned, err := x.Import(ctx, folder, exchange.Options{DryRun: true})
	if err != nil {
		log.Fatal(err)
	}
	for _, change := range planned {
		fmt.Println(change)
	}
	articles, _ := x.Editor.Articles(ctx, kb.ArticleFilter{}, false, storage.PageRequest{})
	fmt.Println("articles after the dry run:", len(articles.Items))

	if _, err := x.Import(ctx, folder, exchange.Options{}); err != nil {
		log.Fatal(err)
	}
	articles, _ = x.Editor.Articles(ctx, kb.ArticleFilter{}, false, storage.PageRequest{})
	fmt.Print(articles.Items[0].Revision.Serve("en").Content)
	again, err := x.Import(ctx, folder, exchange.Options{})
	fmt.Println("changes of a second import:", len(again), err)
	// Output:
	// create collections/basics/index
	// create collections/basics/articles/hello
	// articles after the dry run: 0
	// <p>Welcome <strong>all</strong>.</p>
	// changes of a second import: 0 <nil>
}

// A site is saved to a folder on disk, where a later Save replaces what has changed.
func ExampleExchange_Export() {
	ctx := context.Background()
	x := help(ctx)
	text := func(title, markdown string) kb.TextInput {
		in := kb.TranslationInput{Title: storage.Some(title)}
		if markdown != "" {
			in.Markdown = storage.Some(markdown)
		}
		return kb.TextInput{SourceLocale: "en", Translations: map[string]storage.Opt[kb.TranslationInput]{"en": storage.Some(in)}}
	}
	basics, err := x.Editor.CreateCollection(ctx, kb.CollectionInput{TextInput: text("Basics", "")})
	if err != nil {
		log.Fatal(err)
	}
	article, err := x.Editor.CreateArticle(ctx, kb.ArticleInput{CollectionID: basics.ID, TextInput: text("How to pay", "By **card**.")})
	if err != nil {
		log.Fatal(err)
	}
	_, err = x.Editor.UpdateDraft(ctx, article.Article.ID, kb.ArticleInput{CollectionID: basics.ID, TextInput: text("Paying", "By cash.")})
	if err != nil {
		log.Fatal(err)
	}

	site, err := x.Export(ctx)
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "help")
	if err != nil {
		log.Fatal(err)
	}
	folder, err := os.OpenRoot(dir)
	if err != nil {
		log.Fatal(err)
	}
	if err := exchange.Save(site, folder); err != nil {
		log.Fatal(err)
	}
	err = fs.WalkDir(folder.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			fmt.Println(name)
		}
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	draft, err := fs.ReadFile(folder.FS(), "collections/basics/articles/how-to-pay.en.draft.md")
	fmt.Printf("%s%v\n", draft, err)
	fmt.Println(errors.Join(folder.Close(), os.RemoveAll(dir)))
	// Output:
	// collections/basics/articles/how-to-pay.en.draft.md
	// collections/basics/articles/how-to-pay.en.md
	// collections/basics/index.en.md
	// site.yaml
	// ---
	// title: Paying
	// source: true
	// sort_order: 1
	// ---
	//
	// By cash.
	// <nil>
	// <nil>
}
