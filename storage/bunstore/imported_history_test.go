package bunstore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

// imported is a desk with a mailbox that has old mails, which are fetched two days after it was connected.
type imported struct {
	t       *testing.T
	store   helpdesk.Store
	svc     *helpdesk.Service
	desk    *helpdesk.Desk
	mailbox int64
	now     time.Time
	taken   int
}

// everyStore runs a test on the model and all databases.
func everyStore(t *testing.T, test func(b *imported)) {
	t.Helper()
	run := func(name string, store func(t *testing.T) helpdesk.Store) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &imported{t: t, store: store(t), now: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)}
			sealer, err := storage.NewSealer(make([]byte, 32))
			b.must(err)
			b.svc, err = helpdesk.New(helpdesk.Config{Store: b.store, Blobs: memblob.New(), Sealer: sealer, SigningKey: make([]byte, 32), Now: func() time.Time { return b.now }})
			b.must(err)
			owner, err := b.svc.Operator().CreateUser(t.Context(), identity.UserInput{Email: "olga@example.org"})
			b.must(err)
			account, err := b.svc.Operator().CreateAccount(t.Context(), identity.AccountInput{Name: "Acme"}, owner.ID)
			b.must(err)
			b.desk, err = b.svc.Desk(t.Context(), b.svc.As(owner.ID), account.ID)
			b.must(err)
			mailbox, err := b.desk.Mailboxes().Create(t.Context(), helpdesk.MailboxInput{Email: storage.Some("support@example.org")})
			b.must(err)
			b.mailbox, b.now = mailbox.ID, b.now.Add(48*time.Hour)
			test(b)
		})
	}
	run("Memory", func(*testing.T) helpdesk.Store { return memstore.New() })
	for _, database := range databases {
		run(database.name, func(t *testing.T) helpdesk.Store { return open(t, database.url(t), bunstore.Config{}) })
	}
}

func (b *imported) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// file files Ada's mail of a name: sent and received by the server on a day of March 2019, or now if day is 0. It refers to
// others by their names.
func (b *imported) file(name string, day int, refs ...string) ledger.Mail {
	b.t.Helper()
	b.now = b.now.Add(time.Second)
	m := ledger.Incoming{
		Message: message.Message{
			MessageID: name + "@example.com", From: []mailaddr.Address{{Email: "ada@example.com"}}, Subject: "About " + name, Text: name,
			Date: time.Date(2019, 3, day, 10, 0, 0, 0, time.UTC),
		}, Identity: []byte(name),
	}
	raw := ledger.Raw{Raw: []byte(name), Position: name, DeliveredAt: m.Date.Add(time.Minute)}
	if day == 0 {
		raw.DeliveredAt = b.now
	}
	for _, ref := range refs {
		m.References = append(m.References, ref+"@example.com")
	}
	b.must(b.svc.Intake().Take(b.t.Context(), b.desk.AccountID(), b.mailbox, "imap", []ledger.Raw{raw}, nil))
	b.taken++
	rows, err := b.svc.Intake().Waiting(b.t.Context(), b.desk.AccountID(), b.mailbox, 0, 10)
	b.must(err)
	row, err := b.svc.Intake().File(b.t.Context(), b.desk.AccountID(), rows[0].ID, m)
	b.must(err)
	return row
}

// reads returns a conversation's interactions in order, read page by page forward and checked backward. The starter is in
// brackets.
func (b *imported) reads(conversation int64) string {
	b.t.Helper()
	var forth, back []string
	req := storage.PageRequest{Limit: 2}
	for {
		page, err := b.desk.Interactions().List(b.t.Context(), conversation, req)
		b.must(err)
		for _, i := range page.Items {
			name := mailhtml.Text(i.Body)
			if i.IsStarter {
				name = "[" + name + "]"
			}
			forth = append(forth, name)
		}
		if page.Next == "" {
			last := page.Prev
			for last != "" {
				page, err := b.desk.Interactions().List(b.t.Context(), conversation, storage.PageRequest{Limit: 1, Cursor: last})
				b.must(err)
				back = append([]string{strings.Trim(mailhtml.Text(page.Items[0].Body), "[]")}, back...)
				last = page.Prev
			}
			break
		}
		req.Cursor = page.Next
	}
	if plain := strings.NewReplacer("[", "", "]", "").Replace(strings.Join(forth, " ")); !strings.HasPrefix(plain, strings.Join(back, " ")) {
		b.t.Errorf("forth it reads %q, and back %q", forth, back)
	}
	return strings.Join(forth, " ")
}

func (b *imported) check(what, want, got string) {
	b.t.Helper()
	if want != got {
		b.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// Old mails that arrive out of order are listed in the order they were sent, whatever operations follow.
func TestHistoryReadsAsItWasSent(t *testing.T) {
	t.Parallel()
	everyStore(t, func(b *imported) {
		ctx := b.t.Context()
		first := b.file("one", 1)
		id := first.ConversationID
		b.file("five", 5, "one")
		b.file("three", 3, "one")
		b.file("two", 2, "one")
		b.file("four", 4, "one", "two", "three")
		b.check("it reads", "[one] two three four five", b.reads(id))
		c, err := b.desk.Conversations().Get(ctx, id)
		b.must(err)
		b.check("preview", "five", c.Preview)
		b.check("waiting since", "2019-03-01", c.AwaitingSince.Format(time.DateOnly))

		unread, err := b.desk.Conversations().Unread(ctx, []int64{id})
		b.must(err)
		_, err = b.desk.Conversations().MarkRead(ctx, id)
		b.must(err)
		read, err := b.desk.Conversations().Unread(ctx, []int64{id})
		b.must(err)
		if unread[id] != 5 || read[id] != 0 {
			b.t.Errorf("unread: %d, then %d", unread[id], read[id])
		}

		answer, err := b.desk.Interactions().Create(ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "answer"})
		b.must(err)
		if diff := cmp.Diff([]string{"one@example.com", "two@example.com", "three@example.com", "four@example.com", "five@example.com"}, answer.References[len(answer.References)-5:]); diff != "" {
			b.t.Errorf("the answer refers to: %s", diff)
		}

		all, err := b.desk.Interactions().List(ctx, id, storage.PageRequest{})
		b.must(err)
		later, err := b.desk.Conversations().Split(ctx, id, helpdesk.SplitInput{InteractionID: all.Items[3].ID})
		b.must(err)
		b.check("what stays", "[one] two three", b.reads(id))
		b.check("what was split off", "[four] five answer", b.reads(later.ID))
		_, err = b.desk.Interactions().Move(ctx, later.ID, all.Items[4].ID, id)
		b.must(err)
		b.check("after a move", "[one] two three five", b.reads(id))
		_, err = b.desk.Conversations().Merge(ctx, id, later.ID)
		b.must(err)
		b.check("after a merge", "[one] two three four five answer", b.reads(later.ID))
	})
}

// A split-off mail has been waiting since it was sent, as before.
func TestImportedMailWaitsAfterSplit(t *testing.T) {
	t.Parallel()
	everyStore(t, func(b *imported) {
		ctx := b.t.Context()
		id := b.file("one", 1).ConversationID
		two := b.file("two", 2, "one")
		c, err := b.desk.Conversations().Split(ctx, id, helpdesk.SplitInput{InteractionIDs: []int64{two.InteractionID}})
		b.must(err)
		old, err := b.desk.Conversations().Get(ctx, id)
		b.must(err)
		b.check("the new one waits since", "2019-03-02", c.AwaitingSince.Format(time.DateOnly))
		b.check("the old one waits since", "2019-03-01", old.AwaitingSince.Format(time.DateOnly))
	})
}

// A reply that arrived before the mail it answers comes after it once both are together.
func TestHistoryPutTogether(t *testing.T) {
	t.Parallel()
	everyStore(t, func(b *imported) {
		ctx := b.t.Context()
		two := b.file("two", 2, "one")
		one := b.file("one", 1)
		_, err := b.desk.Conversations().Merge(ctx, one.ConversationID, two.ConversationID)
		b.must(err)
		b.check("merged", "[one] two", b.reads(two.ConversationID))
		three := b.file("three", 3, "one")
		again, err := b.desk.Conversations().Split(ctx, two.ConversationID, helpdesk.SplitInput{InteractionIDs: []int64{one.InteractionID}})
		b.must(err)
		b.check("split", "[two] three", b.reads(three.ConversationID))
		_, err = b.desk.Interactions().Rethread(ctx, three.ConversationID, two.InteractionID)
		b.must(err)
		b.check("threaded again", "[one] two", b.reads(again.ID))
	})
}

// A live mail is placed by its arrival, whatever its Date says; one from the backlog comes after the mails it refers to.
func TestDatesOfLiveMailOrderNothing(t *testing.T) {
	t.Parallel()
	everyStore(t, func(b *imported) {
		id := b.file("one", 0).ConversationID // its Date is in 2019, but the server received it now
		b.file("two", 0, "one")
		b.file("three", 0, "two")
		b.check("live", "[one] two three", b.reads(id))
		b.file("late", 7, "two")
		b.check("with one of the backlog", "[one] two late three", b.reads(id))
	})
}

// The time when a server received a mail is stored for every source that provides it.
func TestReceivedAt(t *testing.T) {
	t.Parallel()
	everyStore(t, func(b *imported) {
		ctx := b.t.Context()
		server, hop := time.Date(2019, 3, 4, 10, 0, 0, 0, time.UTC), time.Date(2019, 3, 4, 9, 0, 0, 0, time.UTC)
		for n, tt := range []struct {
			source      string
			server, hop time.Time
			want        time.Time
		}{
			{"imap", server, hop, server}, {"imap", time.Time{}, hop, hop}, {"pop3", time.Time{}, hop, hop}, {"pop3", time.Time{}, time.Time{}, time.Time{}},
			{"pop3", time.Time{}, b.now.Add(time.Hour), time.Time{}}, {"smtp", time.Time{}, hop, b.now}, {"lmtp", time.Time{}, hop, b.now},
		} {
			raw := ledger.Raw{Raw: []byte("mail"), Position: string(rune('a' + n)), DeliveredAt: tt.server}
			b.must(b.svc.Intake().Take(ctx, b.desk.AccountID(), b.mailbox, tt.source, []ledger.Raw{raw}, nil))
			rows, err := b.svc.Intake().Waiting(ctx, b.desk.AccountID(), b.mailbox, 0, 10)
			b.must(err)
			row, err := b.svc.Intake().File(ctx, b.desk.AccountID(), rows[0].ID, ledger.Incoming{
				Message: message.Message{
					From: []mailaddr.Address{{Email: "ada@example.com"}}, Text: "x",
				}, Identity: []byte{byte(n)}, LastHop: tt.hop,
			})
			b.must(err)
			i, err := b.desk.Interactions().Get(ctx, row.ConversationID, row.InteractionID)
			b.must(err)
			if !i.ReceivedAt.Equal(tt.want) {
				b.t.Errorf("%s (%v, %v) was received at %v, want %v", tt.source, tt.server, tt.hop, i.ReceivedAt, tt.want)
			}
		}
	})
}
