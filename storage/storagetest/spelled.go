package storagetest

import (
	"context"
	"slices"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage/search"
)

// spelled is a text and other spellings, by which it is found or not.
type spelled struct {
	text      string
	hit, miss []string
}

func spelledLetters() []spelled {
	return []spelled{
		{"Herr Müller über größere Räume", []string{"mueller", "muller", "MÜLLER ueber", "groessere raeume", "mü", "muel"}, []string{"miller", "mller x"}},
		{"Herr Mueller", []string{"müller", "mueller", "müll"}, []string{"muller x"}},
		{"a neue poet", []string{"neue", "poet", "poe"}, []string{"nue", "pot x"}},
		{"Søren på Ærø", []string{"soeren", "soren", "paa", "aeroe"}, []string{"sorn"}},
		{"İstanbul ISPARTA ışık", []string{"istanbul", "ısparta", "isik"}, []string{"istambul"}},
		{"ＦＵＬＬ ١٢٣", []string{"full", "123", "۱۲۳"}, []string{"124"}},
		{"افتح الإعدادات والكتاب", []string{"إعدادات", "اعدادات", "كتاب", "الكتاب", "كتا"}, []string{"مكتبة"}},
		{"کتاب\u200cها مستشفى", []string{"كتاب", "كتابها", "كتاب ها", "مستشفي"}, []string{"كتب"}},
		{"פתחו את הַהגדרות שלום", []string{"הגדרות", "ההגדרות", "שלומ"}, []string{"הגדרה x"}},
	}
}

func spelledJoined() []spelled {
	return []spelled{
		{"Change your e-mail", []string{"email", "e-mail", "e mail", "E‑Mail", "ema"}, []string{"gmail"}},
		{"Change your email", []string{"e-mail", "e mail", "email"}, []string{"e-gmail"}},
		{"Wi-Fi at home", []string{"wifi", "wi fi", "wi-fi"}, []string{"hifi"}},
		{"Don’t ask O’Brien", []string{"dont", "don't", "obrien", "o'brien"}, []string{"brian"}},
		{"L'adresse", []string{"adresse", "l’adresse", "ladresse"}, []string{"addresse x"}},
		{"App v18.2.1", []string{"18.2.1", "v18.2", "18.2"}, []string{"18.3"}},
		{"Order AB-1234", []string{"ab1234", "AB 1234", "ab_1234", "1234"}, []string{"AB1235"}},
		{"Order CD1234", []string{"cd-1234", "CD 1234", "1234"}, []string{"cd 1235"}},
	}
}

func spelledPhones() []spelled {
	return []spelled{
		{"+49 (0)40 123456", []string{"040 123456", "+4940123456", "0049 40 123456", "004940123456", "4940123456", "040/123456", "123456"}, []string{"+44 40 123456", "040 123457"}},
		{"040 123456", []string{"+49 40 123456", "0049 (0)40 123456", "040123456", "40123456"}, []string{"030 123456"}},
		{"+1 (555) 123-4567", []string{"5551234567", "1-555-123-4567", "555.123.4567", "1234567"}, []string{"555 123 4568"}},
		{"8 (912) 345-67-89", []string{"+7 912 345 67 89", "89123456789"}, []string{"+7 912 345 67 88"}},
	}
}

// queried returns a query of the help desk.
func queried(query string) []helpdesk.SearchTerm {
	var terms []helpdesk.SearchTerm
	for _, word := range search.Query(query) {
		terms = append(terms, helpdesk.SearchTerm{Text: word[0].Text, Prefix: word[0].Prefix, Or: word[1:]})
	}
	return terms
}

// testFound expects that each text, stored by put, is among those that find finds by its other spellings.
func testFound(t *testing.T, all []spelled, put func(i int, text string), find func(query string) []int) {
	t.Helper()
	for i, s := range all {
		put(i, s.text)
	}
	for i, s := range all {
		for _, q := range s.hit {
			same(t, s.text+" is found by "+q, true, slices.Contains(find(q), i))
		}
		for _, q := range s.miss {
			same(t, s.text+" is found by "+q, false, slices.Contains(find(q), i))
		}
	}
}

// places returns where ids are among all.
func places(all, ids []int64) []int {
	var found []int
	for i, id := range all {
		if slices.Contains(ids, id) {
			found = append(found, i)
		}
	}
	return found
}

// Conversations are found by other spellings of what was said in them.
func testSearchSpelled(t *testing.T, b Backend) {
	w := newWorld(t, b)
	var all []int64
	put := func(_ int, text string) {
		w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
			c := w.newConversation()
			c.Subject = ""
			ok(t, tx.Conversations().Insert(ctx, &c))
			all = append(all, c.ID)
			return helpdesk.IndexConversations(ctx, tx, []helpdesk.Conversation{c}, []helpdesk.Interaction{{ConversationID: c.ID, Body: "<p>" + text + "</p>"}})
		})
	}
	testFound(t, append(spelledLetters(), spelledJoined()...), put, func(query string) []int {
		return places(all, hits(t, w.in(), queried(query)...))
	})
}

// Customers, and their conversations, are found by other spellings of their names and numbers.
func testSearchSpelledCustomers(t *testing.T, b Backend) {
	for kind, texts := range map[string][]spelled{"names": append(spelledLetters(), spelledJoined()...), "phones": spelledPhones()} {
		w := newWorld(t, b)
		var customers, conversations []int64
		put := func(i int, text string) {
			w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
				customer := helpdesk.Customer{LastName: text}
				if kind == "phones" {
					customer = helpdesk.Customer{Phones: []helpdesk.CustomerPhone{{Phone: text}}}
				}
				ok(t, tx.InsertCustomer(ctx, &customer))
				ok(t, helpdesk.IndexCustomers(ctx, tx, []helpdesk.Customer{customer}))
				c := w.newConversation()
				c.Subject, c.CustomerID = "", customer.ID
				ok(t, tx.Conversations().Insert(ctx, &c))
				customers, conversations = append(customers, customer.ID), append(conversations, c.ID)
				return helpdesk.IndexConversations(ctx, tx, []helpdesk.Conversation{c}, nil)
			})
		}
		testFound(t, texts, put, func(query string) []int {
			list, err := w.in().Customers(t.Context(), helpdesk.CustomerFilter{Terms: queried(query)}, all())
			ok(t, err)
			found := places(customers, ids(list, func(c helpdesk.Customer) int64 { return c.ID }))
			same(t, "conversations by "+query, found, places(conversations, hits(t, w.in(), queried(query)...)))
			return found
		})
	}
}

// Articles are found by other spellings, at each rank.
func testArticleSearchSpelled(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	texts := append(spelledLetters(), spelledJoined()...)
	texts = append(texts, spelled{"Call +49 (0)40 123456", []string{"040 123456", "+4940123456", "0049 40 123456"}, []string{"+4940123457"}})
	for rank := range kb.Rank(3) {
		var all []int64
		put := func(_ int, text string) {
			fields := [3]string{}
			fields[rank] = text
			all = append(all, w.addArticle(t, true, newDocument("en", fields[0], fields[1], fields[2])).ID)
		}
		testFound(t, texts, put, func(query string) []int {
			var found []int64
			for i, word := range search.Query(query) { // all words, each by any of its terms
				lists, err := w.inSite().PublishedPostings(t.Context(), kb.PostingQuery{Terms: word, Last: rank, Limit: 1000})
				ok(t, err)
				with := w.found(t, slices.Concat(lists...))
				if i > 0 {
					with = slices.DeleteFunc(with, func(id int64) bool { return !slices.Contains(found, id) })
				}
				slices.Sort(with)
				found = slices.Compact(with)
			}
			return places(all, found)
		})
	}
}
