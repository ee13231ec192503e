package bunstore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/search"
)

// aged is how many rows of each kind an older index has: more than two pieces of it.
const aged = 120

// oldIndex is an account whose rows are indexed by other rules.
type oldIndex struct {
	t                                  *testing.T
	app                                *bun.DB
	db                                 *bunstore.DB
	desk                               helpdesk.Scope
	site                               kb.Scope
	customers, conversations, articles []int64
}

func newOldIndex(t *testing.T, app *bun.DB, db *bunstore.DB) *oldIndex {
	t.Helper()
	account, err := newAccount(t.Context(), db, "old")
	if err != nil {
		t.Fatal(err)
	}
	o := &oldIndex{t: t, app: app, db: db, desk: helpdesk.Scope{AccountID: account.ID}}
	o.inDesk(func(ctx context.Context, tx helpdesk.Tx) error {
		mailbox := helpdesk.Mailbox{}
		if err := tx.Mailboxes().Insert(ctx, &mailbox); err != nil {
			return err
		}
		for n := range int64(aged) {
			customer := helpdesk.Customer{LastName: "O’Brien", Phones: []helpdesk.CustomerPhone{{Phone: "+49 (0)40 123456"}}}
			if err := tx.InsertCustomer(ctx, &customer); err != nil {
				return err
			}
			c := helpdesk.Conversation{Number: n + 1, Subject: "Über e-mail", MailboxID: mailbox.ID, CustomerID: customer.ID}
			if err := tx.Conversations().Insert(ctx, &c); err != nil {
				return err
			}
			if err := tx.SetCustomerTerms(ctx, customer.ID, []string{"stale"}); err != nil {
				return err
			}
			if err := tx.SetSearchTerms(ctx, c.ID, []string{"stale"}); err != nil {
				return err
			}
			o.customers, o.conversations = append(o.customers, customer.ID), append(o.conversations, c.ID)
		}
		return nil
	})
	site := kb.Site{Name: "Help", HostKey: kb.SharedHost, Path: "help", Visibility: kb.Public}
	o.site = kb.Scope{AccountID: account.ID}
	o.inSite(func(ctx context.Context, tx kb.Tx) error { return tx.Sites().Insert(ctx, &site) })
	o.site.SiteID = site.ID
	o.inSite(func(ctx context.Context, tx kb.Tx) error {
		text := kb.Text{SourceLocale: "en", Translations: []kb.Translation{{Locale: "en", Number: 1, Title: "Über e-mail"}}}
		c := kb.Collection{SiteID: site.ID, Text: text}
		if err := tx.Collections().Insert(ctx, &c); err != nil {
			return err
		}
		for range aged {
			a := kb.Article{SiteID: site.ID, Live: 1, LastRevision: 1, Published: true, CollectionID: c.ID}
			if err := tx.Articles().Insert(ctx, &a); err != nil {
				return err
			}
			if err := tx.InsertRevision(ctx, &kb.Revision{ArticleID: a.ID, Number: 1, Status: kb.Published, CollectionID: c.ID, Text: text}); err != nil {
				return err
			}
			if err := tx.SetDocuments(ctx, a.ID, stale()); err != nil {
				return err
			}
			o.articles = append(o.articles, a.ID)
		}
		return nil
	})
	o.exec("INSERT INTO hw_search_pending (account_id) SELECT id FROM hw_accounts")
	o.exec("INSERT INTO hw_document_pending (account_id, site_id) SELECT account_id, id FROM hw_sites")
	return o
}

func stale() []kb.Document {
	return []kb.Document{{Locale: "en", Language: "en", Source: true, Published: true, Title: []string{"stale"}}}
}

func (o *oldIndex) inDesk(fn func(ctx context.Context, tx helpdesk.Tx) error) {
	o.t.Helper()
	if err := o.db.InTx(o.t.Context(), o.desk, fn); err != nil {
		o.t.Fatal(err)
	}
}

func (o *oldIndex) inSite(fn func(ctx context.Context, tx kb.Tx) error) {
	o.t.Helper()
	if err := o.db.KB().InTx(o.t.Context(), o.site, fn); err != nil {
		o.t.Fatal(err)
	}
}

func (o *oldIndex) exec(statement string, args ...any) {
	o.t.Helper()
	if _, err := o.app.Exec(statement, args...); err != nil {
		o.t.Fatal(statement, err)
	}
}

// cut lets no transaction note that it has done the row, or a later one. It returns a function that ends this.
func (o *oldIndex) cut(table, column string, id int64) (end func()) {
	o.t.Helper()
	if o.app.Dialect().Name() == dialect.PG {
		o.exec(fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT cut CHECK (%s < %d)", table, column, id))
		return func() { o.exec("ALTER TABLE " + table + " DROP CONSTRAINT cut") }
	}
	o.exec(fmt.Sprintf("CREATE TRIGGER cut BEFORE UPDATE ON %s WHEN new.%s >= %d BEGIN SELECT RAISE(ABORT, 'cut'); END", table, column, id))
	return func() { o.exec("DROP TRIGGER cut") }
}

// counts are how many rows are found by a query, and how many by their old terms.
type counts struct{ Customers, Conversations, Articles, StaleCustomers, StaleConversations, StaleArticles int }

func (o *oldIndex) counts(desk, site string) (n counts) {
	o.t.Helper()
	count := func(query [][]search.Term) (customers, conversations int) {
		var terms []helpdesk.SearchTerm
		for _, word := range query {
			terms = append(terms, helpdesk.SearchTerm{Text: word[0].Text, Prefix: word[0].Prefix, Or: word[1:]})
		}
		r, seek := o.db.Within(o.desk), storage.Seek{Limit: 1000}
		people, err := r.Customers(o.t.Context(), helpdesk.CustomerFilter{Terms: terms}, seek)
		if err != nil {
			o.t.Fatal(err)
		}
		list, err := r.Conversations().List(o.t.Context(), helpdesk.ConversationOrder{ConversationFilter: helpdesk.ConversationFilter{Terms: terms}, Sort: helpdesk.ByNumber}, seek)
		if err != nil {
			o.t.Fatal(err)
		}
		return len(people), len(list)
	}
	articles := func(query [][]search.Term) int {
		hits, err := o.db.KB().Within(o.site).FindArticles(o.t.Context(), kb.SearchQuery{Words: query, Locales: []kb.LocaleChoice{{Locale: "en"}}}, storage.Seek{Limit: 1000})
		if err != nil {
			o.t.Fatal(err)
		}
		return len(hits)
	}
	old := [][]search.Term{{{Text: "stale"}}}
	n.Customers, _ = count(search.Query("obrien 040 123456"))
	_, n.Conversations = count(search.Query(desk))
	n.StaleCustomers, n.StaleConversations = count(old)
	n.Articles, n.StaleArticles = articles(search.Query(site)), articles(old)
	return n
}

// expect compares what is found, and how many lists are not done.
func (o *oldIndex) expect(when string, want counts, pending int) {
	o.t.Helper()
	if diff := cmp.Diff(want, o.counts("ueber email obrien 040123456", "ueber email")); diff != "" {
		o.t.Errorf("%s: (-want +got)\n%s", when, diff)
	}
	var n int
	if err := o.app.QueryRow("SELECT (SELECT count(*) FROM hw_search_pending) + (SELECT count(*) FROM hw_document_pending)").Scan(&n); err != nil || n != pending {
		o.t.Errorf("%s: %d lists pending, not %d, %v", when, n, pending, err)
	}
}

// What is indexed by earlier rules is indexed again. A process that dies in the middle has done what it has done, and the next
// one goes on from there.
func TestMigrateIndexesAgain(t *testing.T) {
	t.Parallel()
	eachEmbedded(t, func(t *testing.T, app *bun.DB, db *bunstore.DB) {
		o := newOldIndex(t, app, db)
		o.expect("before", counts{StaleCustomers: aged, StaleConversations: aged, StaleArticles: aged}, 2)
		for _, step := range []struct {
			table, column string
			rows          []int64
			want          counts
			pending       int
		}{
			{"hw_search_pending", "customer_id", o.customers, counts{
				Customers: 50, StaleCustomers: 70, StaleConversations: aged, StaleArticles: aged}, 2},
			{"hw_search_pending", "conversation_id", o.conversations, counts{
				Customers: aged, Conversations: 50, StaleConversations: 70, StaleArticles: aged}, 2},
			{"hw_document_pending", "article_id", o.articles, counts{
				Customers: aged, Conversations: aged, Articles: 50, StaleArticles: 70}, 1},
		} {
			end := o.cut(step.table, step.column, step.rows[50])
			if err := db.Migrate(t.Context()); err == nil {
				t.Errorf("%s %s: it was not cut", step.table, step.column)
			}
			end()
			o.expect("cut at "+step.column, step.want, step.pending)
		}
		// What is done is not done once more.
		o.inSite(func(ctx context.Context, tx kb.Tx) error { return tx.SetDocuments(ctx, o.articles[0], stale()) })
		for range 2 { // the second time there is nothing to do
			if err := db.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			o.expect("after", counts{Customers: aged, Conversations: aged, Articles: aged - 1, StaleArticles: 1}, 0)
		}
	})
}
