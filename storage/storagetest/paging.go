package storagetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
)

func pagingTests() []testCase {
	tests := []testCase{
		{"Memberships", testMembershipPages},
		{"Customers", testCustomerPages},
		{"Interactions", testInteractionPages},
		{"InboundMails", testInboundPages},
		{"ConversationFilter", testConversationFilter},
	}
	for _, s := range []helpdesk.ConversationSort{helpdesk.ByCreated, helpdesk.ByUpdated, helpdesk.ByNumber, helpdesk.ByAwaiting, helpdesk.ByDue} {
		tests = append(tests, testCase{"Conversations/" + string(s), func(t *testing.T, b Backend) { testConversationPages(t, b, s) }})
	}
	return tests
}

// checkPages reads a list with a known ascending order in pages of every size, in both directions and from every row.
func checkPages[T any](t *testing.T, want []T, position func(T) storage.Position, list func(storage.Seek) ([]T, error)) {
	t.Helper()
	for _, desc := range []bool{false, true} {
		expected := slices.Clone(want)
		if desc {
			slices.Reverse(expected)
		}
		// Pages of one row end at every row; the others end beside the last one.
		for _, size := range slices.Compact(slices.Sorted(slices.Values([]int{1, 2, 3, max(len(want)-1, 1), max(len(want), 1), len(want) + 1}))) {
			var got []T
			seek := storage.Seek{Desc: desc, Limit: size}
			for range len(want) + 2 {
				page, err := list(seek)
				ok(t, err)
				if len(page) > size {
					t.Fatalf("asked for %d rows, got %d", size, len(page))
				}
				if len(page) == 0 {
					break
				}
				got = append(got, page...)
				from := position(page[len(page)-1])
				seek.From = &from
			}
			same(t, fmt.Sprintf("pages of %d, descending %v", size, desc), expected, got)
			if t.Failed() {
				return
			}
		}
	}
}

func testMembershipPages(t *testing.T, b Backend) {
	w := newAccount(t, b)
	want := []identity.Membership{w.member}
	err := b.Store.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error {
		for n := range 4 {
			u := identity.User{EmailKey: fmt.Sprint(n, "@", w.mark), CreatedAt: base, UpdatedAt: base}
			if err := tx.InsertUser(ctx, &u); err != nil {
				return err
			}
			m := identity.Membership{UserID: u.ID, CreatedAt: base, UpdatedAt: base}
			if err := tx.Within(w.scope).Memberships().Insert(ctx, &m); err != nil {
				return err
			}
			want = append(want, m)
		}
		return nil
	})
	ok(t, err)
	checkPages(t, want, func(m identity.Membership) storage.Position { return storage.Position{ID: m.ID} },
		func(s storage.Seek) ([]identity.Membership, error) {
			return w.in().Memberships().List(t.Context(), storage.NoFilter{}, s)
		})
}

func testCustomerPages(t *testing.T, b Backend) {
	w := newAccount(t, b)
	var want []helpdesk.Customer
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		want = nil
		for n := range 5 {
			c := w.newCustomer(fmt.Sprint("c", n))
			if err := tx.InsertCustomer(ctx, &c); err != nil {
				return err
			}
			want = append(want, c)
		}
		return nil
	})
	checkPages(t, want, func(c helpdesk.Customer) storage.Position { return storage.Position{ID: c.ID} },
		func(s storage.Seek) ([]helpdesk.Customer, error) {
			return w.in().Customers(t.Context(), helpdesk.CustomerFilter{}, s)
		})
}

func testInteractionPages(t *testing.T, b Backend) {
	w := newWorld(t, b)
	want := []helpdesk.Interaction{w.question, w.answer}
	second := w.newConversation()
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		want = []helpdesk.Interaction{w.question, w.answer}
		if err := tx.Conversations().Insert(ctx, &second); err != nil {
			return err
		}
		for n := range 6 { // alternately in two conversations, not in insertion order, some at the same time
			i, j := w.newQuestion(w.conversation), w.newQuestion(second)
			i.At, j.At = at(n*5%6-8), at(-n)
			if n == 5 {
				i.At = want[2].At
			}
			if err := tx.Interactions().Insert(ctx, &i); err != nil {
				return err
			}
			if err := tx.Interactions().Insert(ctx, &j); err != nil {
				return err
			}
			want = append(want, i)
		}
		return nil
	})
	last, err := w.in().LastArrived(t.Context(), w.conversation.ID)
	ok(t, err)
	same(t, "what came last", want[len(want)-1].ID, last)
	none, err := w.in().LastArrived(t.Context(), nobody)
	ok(t, err)
	same(t, "what came last of nothing", int64(0), none)
	slices.SortStableFunc(want, func(a, b helpdesk.Interaction) int { return a.At.Compare(b.At) })
	checkPages(t, want, func(i helpdesk.Interaction) storage.Position { return storage.Position{Key: i.SortKey(), ID: i.ID} },
		func(s storage.Seek) ([]helpdesk.Interaction, error) {
			return w.in().Interactions().List(t.Context(), helpdesk.InteractionFilter{ConversationID: w.conversation.ID}, s)
		})
}

func testInboundPages(t *testing.T, b Backend) {
	w := newAccount(t, b)
	var want []ledger.Mail
	states := []ledger.State{ledger.Received, ledger.Ignored, ledger.Quarantined}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		want = nil
		for n := range 6 {
			m := w.newMail(fmt.Sprint(n))
			m.State = states[n%3]
			if n%2 == 1 {
				m.MailboxID = w.empty.ID
			}
			if err := tx.InsertInbound(ctx, []*ledger.Mail{&m}); err != nil {
				return err
			}
			want = append(want, m)
		}
		return nil
	})
	check := func(scope helpdesk.Scope, f ledger.Filter, keep func(ledger.Mail) bool) {
		t.Helper()
		rest := slices.DeleteFunc(slices.Clone(want), func(m ledger.Mail) bool { return !keep(m) })
		checkPages(t, rest, func(m ledger.Mail) storage.Position { return storage.Position{ID: m.ID} },
			func(s storage.Seek) ([]ledger.Mail, error) {
				return w.Store.Within(scope).InboundMails(t.Context(), f, s)
			})
	}
	inFirst := func(m ledger.Mail) bool { return m.MailboxID == w.mailbox.ID }
	check(w.scope, ledger.Filter{}, func(ledger.Mail) bool { return true })
	check(w.scope, ledger.Filter{MailboxID: w.mailbox.ID}, inFirst)
	check(helpdesk.Scope{AccountID: w.account.ID, Mailboxes: []int64{w.mailbox.ID}}, ledger.Filter{}, inFirst)
	check(helpdesk.Scope{AccountID: w.account.ID, Mailboxes: []int64{w.empty.ID}}, ledger.Filter{MailboxID: w.mailbox.ID},
		func(ledger.Mail) bool { return false })
	check(w.scope, ledger.Filter{States: states[1:]}, func(m ledger.Mail) bool { return m.State != states[0] })
}

// spread fills an account with conversations that differ in every listed field; many have equal sort keys.
func spread(t *testing.T, w *world) []helpdesk.Conversation {
	t.Helper()
	var out []helpdesk.Conversation
	second := w.newCustomer("second")
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		out = []helpdesk.Conversation{w.conversation}
		if err := tx.InsertCustomer(ctx, &second); err != nil {
			return err
		}
		statuses := []helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusDraft, helpdesk.StatusPending, helpdesk.StatusClosed}
		for n := range 11 {
			c := w.newConversation()
			c.Number = 5000 - c.Number // numbers fall while ids rise
			c.CreatedAt, c.UpdatedAt = at(n%3), at(10-n%4).Add(time.Duration(n%2)*time.Microsecond)
			c.Status = statuses[n%4]
			if n%3 == 0 {
				c.AwaitingSince = time.Time{}
			} else {
				c.AwaitingSince = at(-(n % 5))
			}
			if n%2 == 0 {
				c.SnoozedUntil = time.Time{}
			}
			if n%3 == 1 {
				c.SpamAt = time.Time{}
			}
			if n%4 == 1 {
				c.UserID = 0
			}
			if n%2 == 1 {
				c.TeamID = 0
			}
			if n%5 == 2 {
				c.MailboxID = w.empty.ID
			}
			if n%5 == 3 {
				c.CustomerID, c.CustomerEmailID = second.ID, second.Emails[0].ID
			}
			if err := tx.Conversations().Insert(ctx, &c); err != nil {
				return err
			}
			out = append(out, c)
		}
		return nil
	})
	return out
}

func sorted(list []helpdesk.Conversation, by helpdesk.ConversationSort) []helpdesk.Conversation {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b helpdesk.Conversation) int {
		return cmp.Or(cmp.Compare(a.SortKey(by), b.SortKey(by)), cmp.Compare(a.ID, b.ID))
	})
	return list
}

func testConversationPages(t *testing.T, b Backend, by helpdesk.ConversationSort) {
	w := newWorld(t, b)
	everything := sorted(spread(t, w), by)
	position := func(c helpdesk.Conversation) storage.Position { return storage.Position{Key: c.SortKey(by), ID: c.ID} }
	checkPages(t, everything, position, func(s storage.Seek) ([]helpdesk.Conversation, error) {
		return w.in().Conversations().List(t.Context(), helpdesk.ConversationOrder{ConversationFilter: helpdesk.ConversationFilter{}, Sort: by}, s)
	})
	inFirst := slices.DeleteFunc(slices.Clone(everything), func(c helpdesk.Conversation) bool { return c.MailboxID != w.mailbox.ID })
	limited := w.Store.Within(helpdesk.Scope{AccountID: w.account.ID, Mailboxes: []int64{w.mailbox.ID}})
	checkPages(t, inFirst, position, func(s storage.Seek) ([]helpdesk.Conversation, error) {
		return limited.Conversations().List(t.Context(), helpdesk.ConversationOrder{ConversationFilter: helpdesk.ConversationFilter{}, Sort: by}, s)
	})
	posted := slices.DeleteFunc(slices.Clone(everything), func(c helpdesk.Conversation) bool { return c.Status != helpdesk.StatusPosted })
	checkPages(t, posted, position, func(s storage.Seek) ([]helpdesk.Conversation, error) {
		return w.in().Conversations().List(t.Context(), helpdesk.ConversationOrder{ConversationFilter: helpdesk.ConversationFilter{Statuses: []helpdesk.Status{helpdesk.StatusPosted}}, Sort: by}, s)
	})
	// a position needs no row: its row may have been deleted
	if len(everything) > 3 {
		gone := everything[2]
		w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.DeleteConversations(ctx, []int64{gone.ID}) })
		from := position(gone)
		rest, err := w.in().Conversations().List(t.Context(), helpdesk.ConversationOrder{ConversationFilter: helpdesk.ConversationFilter{}, Sort: by}, storage.Seek{From: &from, Limit: 100})
		ok(t, err)
		same(t, "after a deleted row", everything[3:], rest)
	}
}

func testConversationFilter(t *testing.T, b Backend) {
	w := newWorld(t, b)
	everything := sorted(spread(t, w), helpdesk.ByCreated)
	second := everything[slices.IndexFunc(everything, func(c helpdesk.Conversation) bool { return c.CustomerID != w.customer.ID })].CustomerID
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		alone, err := tx.CustomerForUpdate(ctx, second)
		if err != nil {
			return err
		}
		alone.CompanyID = 0
		return tx.UpdateCustomer(ctx, &alone)
	})
	since := at(9)
	for name, test := range map[string]struct {
		filter helpdesk.ConversationFilter
		keep   func(c helpdesk.Conversation) bool
	}{
		"statuses": {helpdesk.ConversationFilter{Statuses: []helpdesk.Status{helpdesk.StatusClosed, helpdesk.StatusDraft}},
			func(c helpdesk.Conversation) bool {
				return c.Status == helpdesk.StatusClosed || c.Status == helpdesk.StatusDraft
			}},
		"empty statuses":              {helpdesk.ConversationFilter{Statuses: []helpdesk.Status{}}, func(helpdesk.Conversation) bool { return true }},
		"mailbox":                     {helpdesk.ConversationFilter{MailboxID: w.empty.ID}, func(c helpdesk.Conversation) bool { return c.MailboxID == w.empty.ID }},
		"customer":                    {helpdesk.ConversationFilter{CustomerID: second}, func(c helpdesk.Conversation) bool { return c.CustomerID == second }},
		"company":                     {helpdesk.ConversationFilter{CompanyID: w.company.ID}, func(c helpdesk.Conversation) bool { return c.CustomerID == w.customer.ID }},
		"a company without customers": {helpdesk.ConversationFilter{CompanyID: nobody}, func(helpdesk.Conversation) bool { return false }},
		"user":                        {helpdesk.ConversationFilter{UserID: storage.Some(w.user.ID)}, func(c helpdesk.Conversation) bool { return c.UserID == w.user.ID }},
		"unassigned":                  {helpdesk.ConversationFilter{UserID: storage.Null[int64]()}, func(c helpdesk.Conversation) bool { return c.UserID == 0 }},
		"team":                        {helpdesk.ConversationFilter{TeamID: storage.Some(w.team.ID)}, func(c helpdesk.Conversation) bool { return c.TeamID == w.team.ID }},
		"no team":                     {helpdesk.ConversationFilter{TeamID: storage.Null[int64]()}, func(c helpdesk.Conversation) bool { return c.TeamID == 0 }},
		"neither user nor team": {helpdesk.ConversationFilter{TeamID: storage.Null[int64](), UserID: storage.Null[int64]()},
			func(c helpdesk.Conversation) bool { return c.TeamID == 0 && c.UserID == 0 }},
		"updated since": {helpdesk.ConversationFilter{UpdatedSince: since}, func(c helpdesk.Conversation) bool { return !c.UpdatedAt.Before(since) }},
		"nobody's":      {helpdesk.ConversationFilter{UserID: storage.Some[int64](nobody)}, func(helpdesk.Conversation) bool { return false }},
		"all at once": {helpdesk.ConversationFilter{Statuses: []helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusClosed}, MailboxID: w.mailbox.ID,
			CustomerID: w.customer.ID, UserID: storage.Some(w.user.ID), UpdatedSince: since},
			func(c helpdesk.Conversation) bool {
				return (c.Status == helpdesk.StatusPosted || c.Status == helpdesk.StatusClosed) && c.MailboxID == w.mailbox.ID &&
					c.CustomerID == w.customer.ID && c.UserID == w.user.ID && !c.UpdatedAt.Before(since)
			}},
	} {
		want := slices.DeleteFunc(slices.Clone(everything), func(c helpdesk.Conversation) bool { return !test.keep(c) })
		got, err := w.in().Conversations().List(t.Context(), helpdesk.ConversationOrder{ConversationFilter: test.filter, Sort: helpdesk.ByCreated}, all())
		ok(t, err)
		same(t, name, want, got)
	}
}
