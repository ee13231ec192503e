package storagetest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func valueTests() []testCase {
	return []testCase{
		{"Times", testTimes},
		{"TimesInFilters", testTimesInFilters},
		{"Unicode", testUnicode},
		{"Quoting", testQuoting},
		{"RefusedText", testRefusedText},
		{"LongBody", testLongBody},
		{"ManyIDs", testManyIDs},
		{"ManyAttachments", testManyAttachments},
		{"Bytes", testBytes},
	}
}

func times() map[string]time.Time {
	zone := time.FixedZone("east", 5*3600+1800)
	return map[string]time.Time{
		"none":               {},
		"microseconds":       time.Date(2026, 1, 2, 3, 4, 5, 123456000, time.UTC),
		"nanoseconds":        time.Date(2026, 1, 2, 3, 4, 5, 123456999, time.UTC),
		"another zone":       time.Date(2026, 1, 2, 3, 4, 5, 1000, zone),
		"1970":               time.Unix(0, 0),
		"before 1970":        time.Date(1969, 12, 31, 23, 59, 59, 999999000, time.UTC),
		"long before 1970":   time.Date(1583, 1, 1, 0, 0, 0, 1000, time.UTC),
		"nanoseconds before": time.Date(1901, 2, 3, 4, 5, 6, 7008, time.UTC),
		"far future":         time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC),
	}
}

// Times are returned in UTC, truncated to microseconds; the zero time means none.
func testTimes(t *testing.T, b Backend) {
	w := newWorld(t, b)
	for name, given := range times() {
		c, i := w.conversation, w.answer
		c.AwaitingSince, i.SeenAt, i.PostedAt = given, given, given
		w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
			ok(t, tx.Conversations().Update(ctx, &c))
			return tx.Interactions().Update(ctx, &i)
		})
		want := given
		if !given.IsZero() {
			want = given.UTC().Truncate(time.Microsecond)
		}
		conversation, err := w.in().Conversations().Get(t.Context(), c.ID)
		ok(t, err)
		interaction, err := w.in().Interactions().Get(t.Context(), i.ID)
		ok(t, err)
		for _, got := range []time.Time{conversation.AwaitingSince, interaction.SeenAt, interaction.PostedAt} {
			if !got.Equal(want) || got.Location() != time.UTC || got.IsZero() != given.IsZero() {
				t.Errorf("%s: %v became %v", name, given, got)
			}
		}
	}
}

// A time read from the store finds its row again.
func testTimesInFilters(t *testing.T, b Backend) {
	w := newWorld(t, b)
	for _, test := range []struct {
		since time.Time
		found int
	}{
		{w.conversation.UpdatedAt, 1}, {w.conversation.UpdatedAt.In(time.FixedZone("west", -8*3600)), 1},
		{w.conversation.UpdatedAt.Add(-time.Microsecond), 1}, {w.conversation.UpdatedAt.Add(time.Microsecond), 0},
		{time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC), 1},
	} {
		got, err := w.in().Conversations().List(t.Context(), helpdesk.ConversationOrder{ConversationFilter: helpdesk.ConversationFilter{UpdatedSince: test.since}, Sort: helpdesk.ByUpdated}, all())
		ok(t, err)
		same(t, fmt.Sprint("updated since ", test.since), test.found, len(got))
	}
}

func texts() map[string]string {
	return map[string]string{
		"emoji":          "👩🏽‍💻🎉",
		"right to left":  "שלום مرحبا \u202eabc\u202c",
		"combining":      "e\u0301 \u0061\u030a n\u0303",
		"composed":       "é å ñ",
		"four bytes":     "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 \U0010FFFF",
		"CJK":            "こんにちは 你好 안녕하세요",
		"controls":       "\x01\x02\t\r\n\x1b\x7f\u0085",
		"noncharacters":  "\uFFFE\uFFFD\uFEFF",
		"spaces":         "  a  \u00a0",
		"empty":          "",
		"line separator": "a\u2028b\u2029c",
	}
}

// Text is returned unchanged.
func testUnicode(t *testing.T, b Backend) {
	w := newWorld(t, b)
	for name, text := range texts() {
		roundTrip(t, w, name, text)
	}
}

// Text with a special meaning in SQL, JSON or LIKE is stored as plain text.
func testQuoting(t *testing.T, b Backend) {
	w := newWorld(t, b)
	for _, text := range []string{`'`, `''`, `"`, "`", `\`, `\'`, `\\'; DROP TABLE x; --`, `?`, `??`, `?0 ?1 :a @b $1`, `%s %d %_`, `{"a":[1,null]}`, `{}`, `null`, `[,]`, `E'\x41'`, `$$ $a$`, `/* */ --`, `\x00`, `\u0000`} {
		roundTrip(t, w, text, text)
		_, err := w.in().CustomerByEmail(t.Context(), text+"@nobody")
		fails(t, "customer by "+text, err, fault.NotFound)
		took, err := w.in().Participant(t.Context(), w.conversation.ID, []string{text, `a', 'b`})
		ok(t, err)
		same(t, "participant "+text, false, took)
	}
}

func roundTrip(t *testing.T, w *world, name, text string) {
	t.Helper()
	c, i, customer, d := w.conversation, w.answer, w.customer, w.delivery
	c.Subject, c.Preview, i.Body, i.To = text, text, text, []string{text, "x" + text}
	i.References = []string{text + "x"}
	i.Threading.Matched = text
	customer.LastName, d.Response = text, text
	customer.Websites = []helpdesk.CustomerWebsite{{Website: text + "."}}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, tx.Conversations().Update(ctx, &c))
		ok(t, tx.Interactions().Update(ctx, &i))
		ok(t, tx.UpdateCustomer(ctx, &customer))
		return tx.Deliveries().Update(ctx, &d)
	})
	got := w.content(t)
	same(t, name, []helpdesk.Conversation{c}, got.Conversations)
	same(t, name, []helpdesk.Interaction{w.question, i}, got.Interactions)
	same(t, name, []helpdesk.Customer{customer}, got.Customers)
	same(t, name, []sending.Delivery{d}, got.Deliveries)
}

// NUL and invalid UTF-8 are refused: PostgreSQL cannot store them.
func testRefusedText(t *testing.T, b Backend) {
	w := newWorld(t, b)
	before := w.content(t)
	for what, text := range map[string]string{"NUL": "a\x00b", "invalid UTF-8": "a\xffb", "a surrogate": "\xed\xa0\x80", "a cut rune": "ü"[:1]} {
		for name, fn := range map[string]txFunc{
			"account": func(ctx context.Context, tx helpdesk.Tx) error {
				a := w.account
				a.Name = text
				return tx.UpdateAccount(ctx, &a)
			},
			"languages": func(ctx context.Context, tx helpdesk.Tx) error {
				a := w.account
				a.Languages = []string{"en", text}
				return tx.UpdateAccount(ctx, &a)
			},
			"role": func(ctx context.Context, tx helpdesk.Tx) error {
				r := w.role
				r.Description = text
				return helpdesk.Nouns().Roles.Rows(tx).Insert(ctx, &r)
			},
			"mailbox": func(ctx context.Context, tx helpdesk.Tx) error {
				m := w.mailbox
				m.Inbound.Host = text
				return tx.Mailboxes().Update(ctx, &m)
			},
			"status": func(ctx context.Context, tx helpdesk.Tx) error {
				s := w.newStatus()
				s.LastError = text
				return tx.SaveFetchStatus(ctx, s)
			},
			"cursor": func(ctx context.Context, tx helpdesk.Tx) error {
				return tx.SaveFetchCursor(ctx, w.mailbox.ID, text, mailserver.Cursor{})
			},
			"customer": func(ctx context.Context, tx helpdesk.Tx) error {
				c := w.newCustomer("x")
				c.Company, c.Note = text, text
				return tx.InsertCustomer(ctx, &c)
			},
			"phone": func(ctx context.Context, tx helpdesk.Tx) error {
				c := w.customer
				c.Phones = []helpdesk.CustomerPhone{{Phone: text}}
				return tx.UpdateCustomer(ctx, &c)
			},
			"conversation": func(ctx context.Context, tx helpdesk.Tx) error {
				c := w.conversation
				c.Subject = text
				return tx.Conversations().Update(ctx, &c)
			},
			"participant": func(ctx context.Context, tx helpdesk.Tx) error {
				return tx.AddParticipants(ctx, w.conversation.ID, []string{text})
			},
			"interaction": func(ctx context.Context, tx helpdesk.Tx) error {
				i := w.newAnswer(w.conversation)
				i.Body = text
				return tx.Interactions().Insert(ctx, &i)
			},
			"recipient": func(ctx context.Context, tx helpdesk.Tx) error {
				i := w.answer
				i.Cc = []string{text}
				return tx.Interactions().Update(ctx, &i)
			},
			"threading": func(ctx context.Context, tx helpdesk.Tx) error {
				i := w.answer
				i.Threading.Rule = text
				return tx.Interactions().Update(ctx, &i)
			},
			"authentication": func(ctx context.Context, tx helpdesk.Tx) error {
				i := w.question
				i.Authentication.SPF.Domain = text
				return tx.Interactions().Update(ctx, &i)
			},
			"delivery": func(ctx context.Context, tx helpdesk.Tx) error {
				d := w.newDelivery(w.answer)
				d.Response = text
				return tx.Deliveries().Insert(ctx, &d)
			},
			"attachment": func(ctx context.Context, tx helpdesk.Tx) error {
				a := w.newAttachment(w.answer, "x")
				a.Filename = text
				return tx.Attachments().Insert(ctx, &a)
			},
			"mail": func(ctx context.Context, tx helpdesk.Tx) error {
				m := w.newMail("x")
				m.MessageID = text
				return tx.InsertInbound(ctx, []*ledger.Mail{&m})
			},
			"job": func(ctx context.Context, tx helpdesk.Tx) error {
				return tx.Enqueue(ctx, storage.Job{Kind: w.kind(), UniqueKey: text, RunAt: base})
			},
			"event": func(ctx context.Context, tx helpdesk.Tx) error {
				return tx.Emit(ctx, storage.Event{Type: text, Data: []byte("{}"), Time: base})
			},
		} {
			fails(t, what+" in "+name, w.try(t, fn), fault.Invalid)
		}
	}
	same(t, "content", before, w.content(t))
	same(t, "jobs", 0, len(w.claim(t, 10, at(1), at(2))))
	same(t, "events", 0, len(w.log(t)))
}

func testLongBody(t *testing.T, b Backend) {
	w := newWorld(t, b)
	i := w.newAnswer(w.conversation)
	i.Body = strings.Repeat("Ü12345678901234", 1<<20/16)
	for n := range 500 {
		i.References = append(i.References, fmt.Sprintf("%d.%s@example.com", n, strings.Repeat("r", 200)))
	}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Interactions().Insert(ctx, &i) })
	got, err := w.in().Interactions().Get(t.Context(), i.ID)
	ok(t, err)
	if got.Body != i.Body || !slices.Equal(got.References, i.References) {
		t.Errorf("%d bytes and %d references became %d and %d", len(i.Body), len(i.References), len(got.Body), len(got.References))
	}
}

// One call can take a list of a thousand ids, or an empty one.
func testManyIDs(t *testing.T, b Backend) {
	w := newWorld(t, b)
	many := []int64{w.conversation.ID}
	for n := range int64(999) {
		many = append(many, nobody+n)
	}
	conversations, err := w.in().Conversations().ByIDs(t.Context(), many)
	ok(t, err)
	same(t, "conversations", []helpdesk.Conversation{w.conversation}, conversations)
	keys, err := w.in().BlobKeys(t.Context(), many)
	ok(t, err)
	same(t, "blob keys", 2, len(keys))
	messageIDs := []string{w.answer.MessageID}
	addresses := []string{w.address("grace")}
	for n := range 999 {
		messageIDs, addresses = append(messageIDs, fmt.Sprint(n)), append(addresses, fmt.Sprint(n))
	}
	refs, err := w.in().Messages(t.Context(), w.mailbox.ID, messageIDs)
	ok(t, err)
	same(t, "messages", []helpdesk.MessageRef{ref(w.answer)}, refs)
	took, err := w.in().Participant(t.Context(), w.conversation.ID, addresses)
	ok(t, err)
	same(t, "participant", true, took)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, tx.AddParticipants(ctx, w.conversation.ID, addresses))
		return tx.DeleteConversations(ctx, many)
	})
	same(t, "conversations left", 0, len(w.content(t).Conversations))
	scope := helpdesk.Scope{AccountID: w.account.ID, Mailboxes: append(slices.Clone(many), w.mailbox.ID)}
	mailboxes, err := b.Store.Within(scope).Mailboxes().List(t.Context(), storage.NoFilter{}, all())
	ok(t, err)
	if !slices.ContainsFunc(mailboxes, func(m helpdesk.Mailbox) bool { return m.ID == w.mailbox.ID }) {
		t.Error("a scope of a thousand mailboxes does not see its own")
	}
}

func testManyAttachments(t *testing.T, b Backend) {
	w := newWorld(t, b)
	var given []*helpdesk.Attachment
	for n := range 100 {
		a := w.newAttachment(w.answer, fmt.Sprint(n))
		given = append(given, &a)
	}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Attachments().Insert(ctx, given...) })
	got, err := w.in().Attachments().List(t.Context(), helpdesk.AttachmentFilter{InteractionIDs: []int64{w.answer.ID}}, storage.Seek{Limit: storage.NoLimit})
	ok(t, err)
	var want []helpdesk.Attachment
	for _, a := range given {
		want = append(want, *a)
	}
	same(t, "attachments", want, got)
}

func testBytes(t *testing.T, b Backend) {
	w := newWorld(t, b)
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for _, value := range [][]byte{every, {0}, {255, 0, 255}, []byte(`\x00`), []byte("'"), bytes.Repeat([]byte{0xff}, 4096)} {
		m, mailbox := w.mail, w.mailbox
		m.Identity, mailbox.Inbound.SealedPassword = value, value
		w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
			ok(t, tx.Mailboxes().Update(ctx, &mailbox))
			return tx.UpdateInbound(ctx, &m)
		})
		one(t, "mail", m, w.in().InboundMail, m.ID)
		one(t, "mailbox", mailbox, w.in().Mailboxes().Get, mailbox.ID)
		w.identified(t, []ledger.Mail{m}, value)
	}
}
