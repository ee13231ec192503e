package storagetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func searchTests() []testCase {
	return []testCase{
		{"Terms", testSearchTerms},
		{"Scripts", testSearchScripts},
		{"Hostile", testSearchHostile},
		{"Customers", testSearchCustomers},
		{"Filters", testSearchFilters},
		{"Conditions", testSearchConditions},
		{"KnownTerms", testKnownTerms},
		{"Passages", testPassages},
		{"Scopes", testSearchScopes},
		{"Removed", testSearchRemoved},
		{"Spelled", testSearchSpelled},
		{"SpelledCustomers", testSearchSpelledCustomers},
		{"MoveCustomer", testMoveCustomer},
	}
}

// word and begin return terms of a query.
func word(s string) helpdesk.SearchTerm  { return helpdesk.SearchTerm{Text: s} }
func begin(s string) helpdesk.SearchTerm { return helpdesk.SearchTerm{Text: s, Prefix: true} }

// index sets the terms of the world's conversation.
func (w *world) index(t *testing.T, terms ...string) {
	t.Helper()
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.SetSearchTerms(ctx, w.conversation.ID, terms)
	})
}

// named sets the terms of the world's customer.
func (w *world) named(t *testing.T, terms ...string) {
	t.Helper()
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.SetCustomerTerms(ctx, w.customer.ID, terms) })
}

// spread has the world's conversation take over the terms of a customer.
func (w *world) spread(t *testing.T, customerID int64) {
	t.Helper()
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.SpreadCustomerTerms(ctx, customerID, []int64{w.conversation.ID})
	})
}

// hits lists the conversations that r finds, by number.
func hits(t *testing.T, r helpdesk.Reader, terms ...helpdesk.SearchTerm) []int64 {
	t.Helper()
	list, err := r.Conversations().List(t.Context(), helpdesk.ConversationOrder{ConversationFilter: helpdesk.ConversationFilter{Terms: terms}, Sort: helpdesk.ByNumber}, all())
	if err != nil {
		t.Errorf("%+v: %v", terms, err)
	}
	return ids(list, func(c helpdesk.Conversation) int64 { return c.ID })
}

func testSearchTerms(t *testing.T, b Backend) {
	w := newWorld(t, b)
	here, none := []int64{w.conversation.ID}, []int64{}
	same(t, "before anything is indexed", none, hits(t, w.in(), word("invoice")))
	w.index(t, "invoice", "engine", "a", "2024")
	for _, query := range [][]helpdesk.SearchTerm{
		nil, {word("invoice")}, {word("engine"), word("invoice")}, {word("2024"), begin("inv")}, {begin("engine")}, {begin("20"), begin("i"), word("a")},
	} {
		same(t, "conversations found", here, hits(t, w.in(), query...))
	}
	for _, query := range [][]helpdesk.SearchTerm{
		{word("inv")}, {word("invoice"), word("bill")}, {begin("nvoice")}, {begin("invoices")},
	} {
		same(t, "conversations found", none, hits(t, w.in(), query...))
	}
	w.index(t, "engine", "bill")
	same(t, "what is no longer there", none, hits(t, w.in(), word("invoice")))
	same(t, "what is new", here, hits(t, w.in(), word("bill")))
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		terms, err := tx.SearchTerms(ctx, w.conversation.ID)
		same(t, "number of terms", 2, len(terms))
		return err
	})
	w.index(t)
	same(t, "without terms", none, hits(t, w.in(), word("bill")))
	err := w.try(t, func(ctx context.Context, tx helpdesk.Tx) error {
		if err := tx.SetSearchTerms(ctx, w.conversation.ID, []string{"lost"}); err != nil {
			return err
		}
		same(t, "in the transaction", here, hits(t, tx.Reader(), word("lost")))
		return errOnPurpose
	})
	same(t, "the error", true, errors.Is(err, errOnPurpose))
	same(t, "after the rollback", none, hits(t, w.in(), word("lost")))
}

// Terms are compared bytewise in any script, including characters from new releases of Unicode.
func testSearchScripts(t *testing.T, b Backend) {
	w := newWorld(t, b)
	terms := []string{
		"strasse", "mu\u0308ller", "müller", "東京", "京都", "都", "สิ", "ค้", "الطلب", "заказ", "ελλαδα", "हिन्दी", "주문", "😀", "🫨", "\U00013000", "१२३", "ɐ",
	}
	w.index(t, terms...)
	for _, term := range terms {
		same(t, "found by "+term, []int64{w.conversation.ID}, hits(t, w.in(), word(term), begin(term)))
	}
	for _, term := range []string{"strasze", "muller", "京東", "東", "สิค้", "طلب", "😁", "주", "हिन्द"} {
		same(t, "found by "+term, []int64{}, hits(t, w.in(), word(term)))
	}
	for _, term := range []string{"東", "الط", "за", "주", "हि"} {
		same(t, "found by the beginning "+term, []int64{w.conversation.ID}, hits(t, w.in(), begin(term)))
	}
}

// No text acts as an operator of the database.
func testSearchHostile(t *testing.T, b Backend) {
	w := newWorld(t, b)
	w.index(t, "and", "or", "not", "near", "own")
	for _, text := range []string{
		`"`, `'`, `\`, `''`, `'' | a`, `a' | 'b`, `a" OR "b`, `*`, `^a`, `a:b`, `-a`, `(`, `)`, `{own}: and`, `own:and`, `and OR x`, `NEAR(a b)`,
		`a & b`, `!a`, `<->`, `:*`, `a:*`, `a\'`, `?`, `%s`, `$1`, ` `, "\t", "é\u0301",
	} {
		for _, term := range []helpdesk.SearchTerm{word(text), begin(text)} {
			list, err := w.in().Conversations().List(t.Context(), helpdesk.ConversationOrder{ConversationFilter: helpdesk.ConversationFilter{Terms: []helpdesk.SearchTerm{word("and"), term}},
				Sort: helpdesk.ByCreated}, all())
			if err != nil {
				t.Errorf("%q: %v, %d found", text, err, len(list))
			}
			if _, err := w.in().Customers(t.Context(), helpdesk.CustomerFilter{Terms: []helpdesk.SearchTerm{term}}, all()); err != nil {
				t.Errorf("customers, %q: %v", text, err)
			}
		}
	}
	same(t, "words that are operators elsewhere", []int64{w.conversation.ID}, hits(t, w.in(), word("and"), word("or"), word("not"), begin("near")))
}

func testSearchCustomers(t *testing.T, b Backend) {
	w := newWorld(t, b)
	found := func(terms ...helpdesk.SearchTerm) []int64 {
		list, err := w.in().Customers(t.Context(), helpdesk.CustomerFilter{Terms: terms}, all())
		ok(t, err)
		return ids(list, func(c helpdesk.Customer) int64 { return c.ID })
	}
	set := func(terms ...string) { w.named(t, terms...) }
	same(t, "before anything is indexed", []int64{}, found(word("grace")))
	set("grace", "hopper")
	w.index(t, "engine")
	same(t, "customers", []int64{w.customer.ID}, found(word("grace"), begin("hop")))
	same(t, "a word of the customer and one of the conversation", []int64{w.conversation.ID}, hits(t, w.in(), word("engine"), begin("hop")))
	set("ada")
	same(t, "by the old name", []int64{}, found(word("grace")))
	same(t, "conversations by the old name before the terms are spread", []int64{w.conversation.ID}, hits(t, w.in(), word("grace"), word("engine")))
	same(t, "conversations by the new name before the terms are spread", []int64{}, hits(t, w.in(), word("ada")))
	w.spread(t, w.customer.ID)
	same(t, "conversations by the old name", []int64{}, hits(t, w.in(), word("grace")))
	same(t, "conversations by the new name", []int64{w.conversation.ID}, hits(t, w.in(), word("ada"), word("engine")))
	w.index(t, "motor")
	same(t, "the name after other terms", []int64{w.conversation.ID}, hits(t, w.in(), word("ada"), word("motor")))
	same(t, "with an email", 0, len(func() []helpdesk.Customer {
		list, err := w.in().Customers(t.Context(), helpdesk.CustomerFilter{EmailKey: "nobody", Terms: []helpdesk.SearchTerm{word("ada")}}, all())
		ok(t, err)
		return list
	}()))
}

// Terms can be combined with other filters, orders and pages.
func testSearchFilters(t *testing.T, b Backend) {
	w := newWorld(t, b)
	var want []int64
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		for i := range 30 {
			c := w.newConversation()
			c.CreatedAt, c.Status = at(100-i), []helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusClosed}[i%2]
			ok(t, tx.Conversations().Insert(ctx, &c))
			terms := []string{"common"}
			if i%3 == 0 {
				terms = append(terms, "third")
			}
			ok(t, tx.SetSearchTerms(ctx, c.ID, terms))
			if i%3 == 0 && c.Status == helpdesk.StatusClosed {
				want = append(want, c.ID)
			}
		}
		return nil
	})
	var got []int64
	seek := storage.Seek{Desc: true, Limit: 2}
	for {
		page, err := w.in().Conversations().List(t.Context(), helpdesk.ConversationOrder{ConversationFilter: helpdesk.ConversationFilter{
			Statuses: []helpdesk.Status{helpdesk.StatusClosed}, CustomerID: w.customer.ID, Terms: []helpdesk.SearchTerm{word("third"), begin("com")},
		}, Sort: helpdesk.ByCreated}, seek)
		ok(t, err)
		if len(page) == 0 {
			break
		}
		for _, c := range page {
			got = append(got, c.ID)
			seek.From = &storage.Position{Key: c.SortKey(helpdesk.ByCreated), ID: c.ID}
		}
	}
	same(t, "conversations found, newest first", want, got)
}

// Filters are combined by what they have in common, and by what they exclude, to any depth.
func testSearchConditions(t *testing.T, b Backend) {
	w := newWorld(t, b)
	type filter = helpdesk.ConversationFilter
	var made []helpdesk.Conversation
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, tx.DeleteConversations(ctx, []int64{w.conversation.ID}))
		for i := range 8 { // 0 to 3: "common", and "odd" for two of them; 4 and 5: closed; 6: without terms; 7: with files
			c := w.newConversation()
			c.CreatedAt, c.Status, c.UserID = at(i), helpdesk.StatusPosted, w.user.ID*int64(i%2)
			if i == 4 || i == 5 {
				c.Status = helpdesk.StatusClosed
			}
			ok(t, tx.Conversations().Insert(ctx, &c))
			if i < 4 {
				ok(t, tx.SetSearchTerms(ctx, c.ID, []string{"common", "s_common", []string{"even", "odd"}[i%2]}))
			}
			said := w.newAnswer(c)
			if i == 5 {
				said.Status = helpdesk.StatusDraft
			}
			ok(t, tx.Interactions().Insert(ctx, &said))
			if i >= 5 { // of a draft, shown by a message, and neither
				a := w.newAttachment(said, "a.pdf")
				a.IsInline = i == 6
				ok(t, tx.Attachments().Insert(ctx, &a))
			}
			made = append(made, c)
		}
		for n, score := range map[int]int{1: 5, 3: 0} {
			rated := w.newRating(score)
			rated.ConversationID = made[n].ID
			ok(t, helpdesk.Nouns().Ratings.Rows(tx).Insert(ctx, &rated))
		}
		return tx.SetTags(ctx, []int64{made[1].ID}, []int64{w.tag.ID})
	})
	term := func(s string) filter { return filter{Terms: []helpdesk.SearchTerm{word(s)}} }
	closed, tagged, before := filter{Statuses: []helpdesk.Status{helpdesk.StatusClosed}}, filter{TagIDs: []int64{w.tag.ID}}, filter{CreatedBefore: at(2)}
	for name, test := range map[string]struct {
		filter filter
		want   []int
	}{
		"files":                        {filter{Attached: true}, []int{7}},
		"rated":                        {filter{Ratings: []helpdesk.Verdict{helpdesk.RatedGood, helpdesk.RatedNot}}, []int{1, 3}},
		"rated badly, not at all":      {filter{Ratings: []helpdesk.Verdict{helpdesk.RatedBad}, Statuses: closed.Statuses}, nil},
		"not rated well":               {filter{Except: []filter{{Ratings: []helpdesk.Verdict{helpdesk.RatedGood}}}}, []int{0, 2, 3, 4, 5, 6, 7}},
		"no files":                     {filter{Except: []filter{{Attached: true}}}, []int{0, 1, 2, 3, 4, 5, 6}},
		"begun before":                 {before, []int{0, 1}},
		"not begun before":             {filter{Except: []filter{before}}, []int{2, 3, 4, 5, 6, 7}},
		"a marked word":                {term("s_common"), []int{0, 1, 2, 3}},
		"not a word":                   {filter{Except: []filter{term("odd")}}, []int{0, 2, 4, 5, 6, 7}},
		"a word and not another":       {filter{Terms: term("common").Terms, Except: []filter{term("odd")}}, []int{0, 2}},
		"neither a word nor closed":    {filter{Except: []filter{term("odd"), closed}}, []int{0, 2, 6, 7}},
		"not a tag":                    {filter{Except: []filter{tagged}}, []int{0, 2, 3, 4, 5, 6, 7}},
		"a word that is in another":    {filter{Also: []filter{term("odd"), before}}, []int{1}},
		"any of two":                   {filter{Except: []filter{{Except: []filter{closed, tagged}}}}, []int{1, 4, 5}},
		"any of two, and not a third":  {filter{Except: []filter{before, {Except: []filter{closed, tagged}}}}, []int{4, 5}},
		"excluded altogether":          {filter{Except: []filter{{}}}, nil},
		"also anything":                {filter{Also: []filter{{}}}, []int{0, 1, 2, 3, 4, 5, 6, 7}},
		"a user, but not what is odd":  {filter{UserID: storage.Some(w.user.ID), Except: []filter{term("odd")}}, []int{5, 7}},
		"not what is excluded from it": {filter{Except: []filter{{Terms: term("common").Terms, Except: []filter{term("odd")}}}}, []int{1, 3, 4, 5, 6, 7}},
	} {
		want := []int64{}
		for _, i := range test.want {
			want = append(want, made[i].ID)
		}
		for _, by := range []helpdesk.ConversationSort{helpdesk.ByCreated, helpdesk.ByUpdated, helpdesk.ByNumber, helpdesk.ByAwaiting, helpdesk.ByDue} {
			list, err := w.in().Conversations().List(t.Context(), helpdesk.ConversationOrder{ConversationFilter: test.filter, Sort: by}, all())
			ok(t, err)
			same(t, name, want, ids(list, func(c helpdesk.Conversation) int64 { return c.ID }))
		}
	}
}

func testKnownTerms(t *testing.T, b Backend) {
	w, other := newWorld(t, b), newWorld(t, b)
	w.index(t, "invoice", "s_invoice", "東京")
	w.named(t, "grace", "f_grace")
	w.spread(t, w.customer.ID)
	other.index(t, "secret")
	known, err := w.in().KnownTerms(t.Context(), []string{"secret", "東京", "invoice", "inv", "f_grace", "s_invoice", "s_grace", "invoice", "", "'", `"`, "a b", "_1", "x_y_z", "\\"})
	ok(t, err)
	same(t, "terms", []string{"f_grace", "invoice", "s_invoice", "東京"}, known)
	none, err := w.in().KnownTerms(t.Context(), nil)
	ok(t, err)
	same(t, "of none", 0, len(none))
}

func testPassages(t *testing.T, b Backend) {
	w := newWorld(t, b)
	var long, short helpdesk.Conversation
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		for n, c := range []*helpdesk.Conversation{&long, &short} {
			*c = w.newConversation()
			ok(t, tx.Conversations().Insert(ctx, c))
			for i := range 4 - 3*n {
				said := w.newAnswer(*c)
				said.SendAt, said.At, said.Body = time.Time{}, at(i), strings.Repeat("ü", helpdesk.MaxSearchText)+"end"
				if i < 3 {
					said.Body = fmt.Sprint("<p>", i, "</p>")
				}
				if i == 2 {
					said.Status = helpdesk.StatusDraft
				}
				ok(t, tx.Interactions().Insert(ctx, &said))
			}
		}
		return nil
	})
	read := func(n int, of ...int64) (bodies []string) {
		found, err := w.in().PassagesByID(t.Context(), of, n)
		ok(t, err)
		slices.SortStableFunc(found, func(a, b helpdesk.Passage) int { return cmp.Compare(a.ConversationID, b.ConversationID) })
		for _, p := range found {
			bodies = append(bodies, fmt.Sprint(p.ConversationID, " ", p.Body))
		}
		return bodies
	}
	of := func(c helpdesk.Conversation, body string) string { return fmt.Sprint(c.ID, " ", body) }
	cut := of(long, strings.Repeat("ü", helpdesk.MaxSearchText))
	same(t, "two of each", []string{cut, of(long, "<p>1</p>"), of(short, "<p>0</p>")}, read(2, short.ID, long.ID, long.ID, nobody))
	same(t, "all", []string{cut, of(long, "<p>1</p>"), of(long, "<p>0</p>"), of(short, "<p>0</p>")}, read(9, long.ID, short.ID))
	same(t, "none", []string(nil), read(0, long.ID))
	same(t, "of none", []string(nil), read(9))
}

// A query finds nothing in other accounts or in mailboxes outside the scope.
func testSearchScopes(t *testing.T, b Backend) {
	w, other := newWorld(t, b), newWorld(t, b)
	for _, one := range []*world{w, other} {
		one.index(t, "secret")
		one.named(t, "grace")
		one.spread(t, one.customer.ID)
	}
	for who, s := range strangers(w, other) {
		for _, id := range hits(t, b.Store.Within(s.scope), word("secret"), word("grace")) {
			if id == w.conversation.ID {
				t.Errorf("%s finds the conversation", who)
			}
		}
		customers, err := b.Store.Within(s.scope).Customers(t.Context(), helpdesk.CustomerFilter{Terms: []helpdesk.SearchTerm{word("grace")}}, all())
		ok(t, err)
		for _, c := range customers {
			if c.ID == w.customer.ID && s.level == ofAccount {
				t.Errorf("%s finds the customer", who)
			}
		}
	}
	scope := helpdesk.Scope{AccountID: w.account.ID, Mailboxes: []int64{w.mailbox.ID}}
	same(t, "within the mailbox", []int64{w.conversation.ID}, hits(t, b.Store.Within(scope), word("secret")))
	// a customer belongs to the account: conversations outside the scope get the new name too
	err := b.Store.InTx(t.Context(), helpdesk.Scope{AccountID: w.account.ID, Mailboxes: []int64{w.empty.ID}},
		func(ctx context.Context, tx helpdesk.Tx) error {
			ok(t, tx.SetCustomerTerms(ctx, w.customer.ID, []string{"ada"}))
			return tx.SpreadCustomerTerms(ctx, w.customer.ID, []int64{w.conversation.ID})
		})
	ok(t, err)
	same(t, "by the new name", []int64{w.conversation.ID}, hits(t, w.in(), word("ada")))
}

// Deleted rows leave nothing in the index that another row could inherit.
func testSearchRemoved(t *testing.T, b Backend) {
	w := newWorld(t, b)
	w.index(t, "gone")
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, tx.SetCustomerTerms(ctx, w.customer.ID, []string{"grace"}))
		ok(t, tx.DeleteConversations(ctx, []int64{w.conversation.ID}))
		ok(t, tx.DeleteCustomer(ctx, w.customer.ID))
		w.customer = w.newCustomer("next")
		ok(t, tx.InsertCustomer(ctx, &w.customer))
		w.conversation = w.newConversation()
		ok(t, tx.Conversations().Insert(ctx, &w.conversation))
		return tx.SetSearchTerms(ctx, w.conversation.ID, []string{"next"})
	})
	same(t, "by what is gone", []int64{}, hits(t, w.in(), word("gone")))
	same(t, "by who is gone", []int64{}, hits(t, w.in(), word("grace")))
	same(t, "by what is there", []int64{w.conversation.ID}, hits(t, w.in(), word("next")))
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.DeleteAccount(ctx) })
	same(t, "in a removed account", []int64{}, hits(t, w.in(), word("next")))
}

func testMoveCustomer(t *testing.T, b Backend) {
	w, other := newWorld(t, b), newWorld(t, b)
	into := w.newCustomer("into")
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, tx.InsertCustomer(ctx, &into))
		ok(t, tx.SetCustomerTerms(ctx, w.customer.ID, []string{"grace"}))
		return tx.SetCustomerTerms(ctx, into.ID, []string{"ada"})
	})
	w.index(t, "engine")
	for what, pair := range map[string][2]int64{
		"of another account": {other.customer.ID, into.ID}, "to another account": {w.customer.ID, other.customer.ID},
		"of nobody": {nobody, into.ID}, "to nobody": {w.customer.ID, nobody},
	} {
		fails(t, "moving a customer "+what, w.try(t, func(ctx context.Context, tx helpdesk.Tx) error {
			return tx.MoveCustomer(ctx, pair[0], pair[1])
		}), fault.NotFound)
	}
	before := w.content(t)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.MoveCustomer(ctx, w.customer.ID, w.customer.ID)
	})
	same(t, "a customer moved to itself", before, w.content(t))
	// from a scope without the mailbox: everything is deleted, inside and outside the scope
	err := b.Store.InTx(t.Context(), helpdesk.Scope{AccountID: w.account.ID, Mailboxes: []int64{w.empty.ID}},
		func(ctx context.Context, tx helpdesk.Tx) error { return tx.MoveCustomer(ctx, w.customer.ID, into.ID) })
	ok(t, err)
	_, err = w.in().Customer(t.Context(), w.customer.ID)
	fails(t, "the customer that is gone", err, fault.NotFound)
	got, err := w.in().Customer(t.Context(), into.ID)
	ok(t, err)
	want := into
	want.Emails = append(append([]helpdesk.CustomerEmail{}, w.customer.Emails...), into.Emails...)
	want.Phones = append(append([]helpdesk.CustomerPhone{}, w.customer.Phones...), into.Phones...)
	want.Websites = append(append([]helpdesk.CustomerWebsite{}, w.customer.Websites...), into.Websites...)
	same(t, "customer", want, got)
	c, err := w.in().Conversations().Get(t.Context(), w.conversation.ID)
	ok(t, err)
	moved := w.conversation
	moved.CustomerID = into.ID
	same(t, "conversation", moved, c)
	i, err := w.in().Interactions().Get(t.Context(), w.question.ID)
	ok(t, err)
	same(t, "customer of the interaction", into.ID, i.CustomerID)
	same(t, "address of the interaction", w.question.CustomerEmailID, i.CustomerEmailID)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.SetCustomerTerms(ctx, into.ID, []string{"ada"}) // as before
	})
	w.spread(t, into.ID)
	same(t, "by the customer's terms", []int64{w.conversation.ID}, hits(t, w.in(), word("ada"), word("engine")))
	same(t, "by those of the former one", []int64{}, hits(t, w.in(), word("grace")))
}

// CustomerForUpdate, MailboxForUpdate and MembershipForUpdate make transactions that read and then write wait for each
// other.
func testRowLocks(t *testing.T, b Backend) {
	const workers, each = 4, 8
	w := newWorld(t, b)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for range each {
				err := w.Store.InTx(t.Context(), w.scope, func(ctx context.Context, tx helpdesk.Tx) error {
					c, err := tx.CustomerForUpdate(ctx, w.customer.ID)
					if err != nil {
						return err
					}
					c.Company += "x"
					if err := tx.UpdateCustomer(ctx, &c); err != nil {
						return err
					}
					m, err := tx.Mailboxes().Lock(ctx, w.mailbox.ID)
					if err != nil {
						return err
					}
					m.Name += "x"
					if err := tx.Mailboxes().Update(ctx, &m); err != nil {
						return err
					}
					member, err := tx.Memberships().Lock(ctx, w.member.ID)
					if err != nil {
						return err
					}
					member.MailboxIDs = append(member.MailboxIDs, w.mailbox.ID)
					return tx.Memberships().Update(ctx, &member)
				})
				if err != nil {
					t.Errorf("transaction: %v", err)
				}
			}
		})
	}
	group.Wait()
	c := w.content(t)
	same(t, "changes of the customer", len(w.customer.Company)+workers*each, len(c.Customers[0].Company))
	same(t, "changes of the mailbox", len(w.mailbox.Name)+workers*each, len(c.Mailboxes[0].Name))
	same(t, "changes of the membership", len(w.member.MailboxIDs)+workers*each, len(c.Memberships[0].MailboxIDs))
}

// searchProbes are the write probes for the methods tested in this file.
func searchProbes() map[string]writeProbe {
	type tx = helpdesk.Tx
	return map[string]writeProbe{
		"CustomerForUpdate": {level: ofAccount, call: func(ctx context.Context, tx tx, v *world) error {
			_, err := tx.CustomerForUpdate(ctx, v.customer.ID)
			return err
		}},
		"MailboxForUpdate": {call: func(ctx context.Context, tx tx, v *world) error {
			_, err := tx.Mailboxes().Lock(ctx, v.mailbox.ID)
			return err
		}},
		"SearchTerms": {call: func(ctx context.Context, tx tx, v *world) error {
			_, err := tx.SearchTerms(ctx, v.conversation.ID)
			return err
		}},
		"SetSearchTerms": {call: func(ctx context.Context, tx tx, v *world) error {
			return tx.SetSearchTerms(ctx, v.conversation.ID, []string{"stolen"})
		}},
		"SetCustomerTerms": {level: ofAccount, call: func(ctx context.Context, tx tx, v *world) error {
			return tx.SetCustomerTerms(ctx, v.customer.ID, []string{"stolen"})
		}},
		"MoveCustomer": {level: ofAccount, call: func(ctx context.Context, tx tx, v *world) error {
			return tx.MoveCustomer(ctx, v.customer.ID, v.customer.ID)
		}},
		"MoveSome": {level: ofAccount, call: func(ctx context.Context, tx tx, v *world) error {
			_, err := tx.MoveSome(ctx, v.customer.ID, v.customer.ID, 1)
			return err
		}},
		"ForgetEmails": {level: ofAccount, call: func(ctx context.Context, tx tx, v *world) error {
			_, err := tx.ForgetEmails(ctx, v.customer.ID, []int64{v.customer.Emails[0].ID}, 1)
			return err
		}},
		"SpreadCustomerTerms": {level: ofAccount, quiet: true, call: func(ctx context.Context, tx tx, v *world) error {
			return tx.SpreadCustomerTerms(ctx, v.customer.ID, []int64{v.conversation.ID})
		}},
	}
}
