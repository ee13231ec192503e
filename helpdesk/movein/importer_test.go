package movein_test

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/helpdesk/movein"
	"github.com/helpwright/helpwright/helpdesk/movein/foreign"
	"github.com/helpwright/helpwright/helpdesk/movein/freescout"
	"github.com/helpwright/helpwright/helpdesk/movein/helpscout"
	"github.com/helpwright/helpwright/helpdesk/movein/zendesk"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

// bundle is a help desk in memory with an owner at work and one mailbox.
type bundle struct {
	*testing.T
	store   *memstore.Store
	svc     *helpdesk.Service
	account int64
	owner   int64
	desk    *helpdesk.Desk
	mailbox helpdesk.Mailbox
}

func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func newBundle(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{T: t, store: memstore.New()}
	sealer := must(storage.NewSealer(make([]byte, 32)))(t)
	b.svc = must(helpdesk.New(helpdesk.Config{
		Store: b.store, Blobs: memblob.New(), Sealer: sealer, SigningKey: make([]byte, 32),
		Now: func() time.Time { return time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC) },
	}))(t)
	operator := b.svc.Operator()
	owner := must(operator.CreateUser(t.Context(), identity.UserInput{Email: "owner@example.org", Name: "Olga Owner"}))(t)
	b.owner = owner.ID
	b.account = must(operator.CreateAccount(t.Context(), identity.AccountInput{Name: "Acme"}, owner.ID))(t).ID
	b.desk = must(b.svc.Desk(t.Context(), b.svc.As(owner.ID), b.account))(t)
	b.mailbox = must(b.desk.Mailboxes().Create(t.Context(), helpdesk.MailboxInput{Name: storage.Some("Support"), Email: storage.Some("support@example.org")}))(t)
	must(b.desk.Teams().Create(t.Context(), helpdesk.TeamInput{Name: "support"}))(t)
	return b
}

// take imports a source.
func (b *bundle) take(source foreign.Source, dryRun bool) *movein.Result {
	b.Helper()
	im := must(movein.New(movein.Config{MoveIn: b.svc.MoveIn(), AccountID: b.account, MailboxID: b.mailbox.ID}))(b.T)
	return must(im.Import(b.Context(), source, dryRun))(b.T)
}

// totals are the numbers of a result.
func totals(r *movein.Result) string {
	return fmt.Sprintf("%d+%d customers, %d+%d conversations, %d known, %d deleted, %d messages, %d files, %d+%d replies",
		r.Customers, r.ChangedCustomers, r.Conversations, r.ChangedConversations, r.Known, r.Deleted, r.Messages, r.Files, r.Replies, r.KnownReplies)
}

// counts are lines of a tally.
func counts(t foreign.Tally) (all []string) {
	for _, c := range t.Counts() {
		all = append(all, c.String())
	}
	return all
}

func (b *bundle) conversations() []helpdesk.Conversation {
	b.Helper()
	page := must(b.desk.Conversations().List(b.Context(), helpdesk.ConversationQuery{}, storage.PageRequest{Limit: storage.MaxLimit}))(b.T)
	slices.SortFunc(page.Items, func(x, y helpdesk.Conversation) int { return int(x.Number - y.Number) })
	return page.Items
}

// find is the conversation with a subject.
func (b *bundle) find(subject string) helpdesk.Conversation {
	b.Helper()
	for _, c := range b.conversations() {
		if c.Subject == subject {
			return c
		}
	}
	b.Fatalf("there is no conversation %q", subject)
	return helpdesk.Conversation{}
}

// said returns the content of a conversation, a line for each interaction.
func (b *bundle) said(c helpdesk.Conversation) (lines []string) {
	b.Helper()
	page := must(b.desk.Interactions().List(b.Context(), c.ID, storage.PageRequest{Limit: storage.MaxLimit}))(b.T)
	slices.SortStableFunc(page.Items, func(x, y helpdesk.Interaction) int { return int(x.SortKey() - y.SortKey()) })
	for _, i := range page.Items {
		who := i.CustomerEmail
		if i.Type != helpdesk.TypeCustomer {
			who = fmt.Sprintf("%d", i.UserID)
			if i.UserID == 0 && len(i.Mail.From) > 0 {
				who = i.Mail.From[0].Name
			}
		}
		files := ""
		for _, a := range must(b.desk.Attachments().List(b.Context(), c.ID, i.ID))(b.T) {
			files += fmt.Sprintf(" [%s %d]", a.Filename, a.Size)
		}
		text := strings.Join(strings.Fields(mailhtml.Text(i.Body)), " ")
		lines = append(lines, fmt.Sprintf("%s %s %s: %s%s", i.At.Format("01-02 15:04"), i.Type, who, text, files))
	}
	return lines
}

func openZendesk(t testing.TB, files fs.FS) *zendesk.Source {
	t.Helper()
	return must(zendesk.Open(t.Context(), foreign.Config{Files: files}))(t)
}

func TestZendesk(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	folder := os.DirFS("zendesk/testdata/export")
	dry := b.take(openZendesk(t, folder), true)
	if n := len(b.conversations()); n != 0 {
		t.Fatalf("a dry run made %d conversations", n)
	}
	source := openZendesk(t, folder)
	done := b.take(source, false)
	want := "5+0 customers, 7+0 conversations, 0 known, 0 deleted, 19 messages, 2 files, 2+0 replies"
	if diff := cmp.Diff([]string{want, want}, []string{totals(dry), totals(done)}); diff != "" {
		t.Error(diff)
	}
	door := b.find("Die Tür klemmt – dringend")
	if diff := cmp.Diff([]string{
		"03-04 08:00 customer ada@example.com: Seit gestern geht die Tür nicht mehr auf. [door.png 70] [log.txt 13]",
		"03-04 08:00 note Zendesk: From Zendesk, ticket 35436 brand_id: 360002 followers: Gus Gone organization_id: 509974 recipient: support@example.org type: incident missing file: lost.pdf",
		"03-04 09:00 note Gus Gone: Kennt das jemand?",
		fmt.Sprintf("03-04 10:00 user %d: Bitte kräftig ziehen.", b.owner),
		"03-05 09:30 customer maria@example.net: A mí me pasa lo mismo.",
	}, b.said(door)); diff != "" {
		t.Error(diff)
	}
	rated := must(b.desk.Ratings().List(t.Context(), door.ID, storage.PageRequest{}))(t).Items
	if len(rated) != 1 || rated[0].Verdict != helpdesk.RatedGood || rated[0].Comment != "Great support!" || rated[0].UserID != door.UserID || rated[0].Source != helpdesk.RatedImported {
		t.Errorf("ratings: %+v", rated)
	}
	set, traits := must(b.desk.Conversations().Fields(t.Context(), []int64{door.ID}))(t), must(b.desk.Customers().Fields(t.Context(), []int64{door.CustomerID}))(t)
	if diff := cmp.Diff([]helpdesk.FieldTexts{{"order_number": {"745"}, "colours": {"red", "blue"}}, {"plan": {"gold"}}}, []helpdesk.FieldTexts{set.Values[door.ID], traits.Values[door.CustomerID]}); diff != "" {
		t.Error(diff)
	}
	if plan := traits.Fields[0]; plan.Type != helpdesk.FieldSelect || len(plan.Options) != 2 || plan.Label != "Plan" {
		t.Errorf("the field of customers is %+v", plan)
	}
	var tags []string
	for _, tag := range must(b.desk.Conversations().Marks(t.Context(), []int64{door.ID}))(t)[door.ID].Tags {
		tags = append(tags, tag.Name)
	}
	got := []any{door.Status, door.Priority, door.UserID, door.TeamID != 0, door.CustomerEmail, door.CreatedAt.Format(time.DateTime), door.UpdatedAt.Format(time.DateTime), tags, door.Preview}
	if diff := cmp.Diff([]any{
		helpdesk.StatusClosed, helpdesk.PriorityUrgent, b.owner, true, "ada@example.com", "2024-03-04 08:00:00", "2024-03-05 09:30:00", []string{"tür", "vip"}, "A mí me pasa lo mismo.",
	}, got); diff != "" {
		t.Error(diff)
	}
	var all []string
	for _, c := range b.conversations() {
		all = append(all, fmt.Sprintf("%s|%s|%s|%v", c.Subject, c.Status, c.CustomerEmail, !c.AwaitingSince.IsZero()))
	}
	if diff := cmp.Diff([]string{
		"Die Tür klemmt – dringend|closed|ada@example.com|false", "¿Dónde está mi pedido?|posted|maria@example.net|true",
		"電話 +81 3 1234 5678|pending|user-20978394@zendesk.invalid|false", "The same door|closed|user-20978396@zendesk.invalid|false",
		"No comments here|pending|mallory@example.net|true", "A huge text|posted|ada@example.com|true", "Gr\ufffdsse|closed|ada@example.com|false",
	}, all); diff != "" {
		t.Error(diff)
	}
	customer := must(b.desk.Customers().Get(t.Context(), door.CustomerID))(t)
	if diff := cmp.Diff([]string{"Ada Lovelace", "Acme GmbH", "+44 20 7946 0000", "Prefers mail.\n\nFrom Zendesk:\nlocale: de\ntags: [\"vip\"]\ntime_zone: Europe/Berlin"},
		[]string{customer.Name(), customer.Company, customer.Phones[0].Phone, customer.Note}); diff != "" {
		t.Error(diff)
	}
	company := must(b.desk.Companies().Get(t.Context(), customer.CompanyID))(t)
	if diff := cmp.Diff(helpdesk.Company{
		ID: company.ID, Name: "Acme GmbH", Key: "acme gmbh", Domains: []string{"example.com"}, ExternalID: "K-17", CreatedAt: company.CreatedAt, UpdatedAt: company.UpdatedAt,
		Note: "Invoices go to the owner.\n\nFrom Zendesk:\norganization_fields: {\"tier\":\"1\"}\ntags: [\"gold\"]",
	}, company); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		"a file of a comment is not in the folder attachments (1, first: tickets.json line 1)",
		"a macro is left out: it writes no comment, and does nothing that there is here (1, first: macros.json line 43)",
		"a record is left out: it is no valid JSON (1, first: tickets.json line 10)",
		"a record is left out: the file ends within it (1, first: tickets.json line 8)",
		"a ticket has no comments in the files: its description is all that is taken (1, first: tickets.json line 6)",
		"a ticket is left out: it was deleted (1, first: tickets.json line 5)",
		"the author of a comment is not among the users (1, first: tickets.json line 3)",
	}, counts(source.Report().Problems)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]string{
		{"ticket.future_field (1, first: tickets.json line 6)"},
		{"assignee Gus Gone <gus@acme.example> is not a member (1, first: tickets.json line 2)", "there is no team Orders (1, first: tickets.json line 2)"},
		{"are members (1, first: Olga Owner <owner@example.org>)", "are not members here: their messages are shown with their names (1, first: Gus Gone <gus@acme.example>)"},
		{"closed becomes closed (1, first: tickets.json line 4)", "hold becomes pending (1, first: tickets.json line 3)", "new becomes open (1, first: tickets.json line 7)",
			"open becomes open (1, first: tickets.json line 2)", "pending becomes pending (1, first: tickets.json line 6)", "solved becomes closed (2, first: tickets.json line 1)"},
	}, [][]string{counts(source.Report().Unknown), counts(done.Unassigned), counts(done.Agents), counts(source.Report().Statuses)}); diff != "" {
		t.Error(diff)
	}
	replies := must(b.desk.SavedReplies().List(t.Context(), "", storage.PageRequest{}))(t).Items
	if len(replies) != 2 || replies[0].Body != "<p>Hello {{customer.first_name}}, about #{{conversation.number}}: [dc.thanks]</p>" {
		t.Errorf("the saved replies are %+v", replies)
	}
	tagIDs := map[string]string{}
	for _, tag := range must(b.desk.Tags().List(t.Context(), storage.PageRequest{}))(t).Items {
		tagIDs[tag.Name] = fmt.Sprint(tag.ID)
	}
	if diff := cmp.Diff([][]rules.Action{
		{{Type: rules.SetStatus, Values: []string{"closed"}}, {Type: rules.AddTags, Values: []string{tagIDs["gold"], tagIDs["thanked"]}}},
		{{Type: rules.SetStatus, Values: []string{"posted"}}},
	}, [][]rules.Action{replies[0].Actions, replies[1].Actions}); diff != "" {
		t.Error(diff)
	}
	// Images are served from here, and scripts are removed.
	first := must(b.desk.Interactions().List(t.Context(), door.ID, storage.PageRequest{Limit: 5}))(t).Items
	body := first[slices.IndexFunc(first, func(i helpdesk.Interaction) bool { return i.IsStarter })].Body
	if !strings.Contains(body, `cid:498483@zendesk`) || strings.Contains(body, "alert") {
		t.Errorf("the body is %s", body)
	}
	if again := totals(b.take(openZendesk(t, folder), false)); again != "0+0 customers, 0+0 conversations, 7 known, 0 deleted, 0 messages, 0 files, 0+2 replies" {
		t.Errorf("again: %s", again)
	}
}

// Answers of the API are pages, with the comments in files of their own.
func TestZendeskPages(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.take(openZendesk(t, os.DirFS("zendesk/testdata/api")), false)
	for subject, want := range map[string][]string{
		"Page one": {"01-01 08:00 customer ada@example.com: One", "01-01 08:00 note Zendesk: ", fmt.Sprintf("01-02 08:00 user %d: Answer", b.owner)},
		"Page two": {"01-03 08:00 customer ada@example.com: Two", "01-03 08:00 note Zendesk: "},
	} {
		got := b.said(b.find(subject))
		for n := range got {
			if before, _, found := strings.Cut(got[n], "note Zendesk: "); found {
				got[n] = before + "note Zendesk: "
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// export is a folder with one ticket, whose comments are those given.
func export(ticket string, comments ...string) fs.FS {
	return fstest.MapFS{
		"users.json":   {Data: []byte(`{"id":1,"name":"Ada","email":"ada@example.com","role":"end-user"}` + "\n" + `{"id":2,"name":"Olga","email":"owner@example.org","role":"admin"}` + "\n")},
		"tickets.json": {Data: []byte(`{"id":7,"subject":"Door","requester_id":1,"created_at":"2024-01-01T00:00:00Z",` + ticket + `,"comments":[` + strings.Join(comments, ",") + "]}\n")},
	}
}

const (
	asked = `{"id":71,"author_id":1,"public":true,"body":"It is stuck.","created_at":"2024-01-01T00:00:00Z","metadata":{"system":{"message_id":"<q@example.com>"}}}`
	asks  = `{"id":72,"author_id":1,"public":true,"body":"Still?","created_at":"2024-01-03T00:00:00Z"}`
	said  = `{"id":73,"author_id":2,"public":true,"body":"Pull.","created_at":"2024-01-02T00:00:00Z"}`
)

// New data of a later export is added in its place. Newer changes made here are kept.
func TestLaterExport(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.take(openZendesk(t, export(`"status":"open","updated_at":"2024-01-01T00:00:00Z"`, asked)), false)
	done := b.take(openZendesk(t, export(`"status":"pending","updated_at":"2024-01-03T00:00:00Z","tags":["late"]`, asked, said, asks)), false)
	if got := totals(done); got != "0+0 customers, 0+1 conversations, 0 known, 0 deleted, 2 messages, 0 files, 0+0 replies" {
		t.Error(got)
	}
	c := b.find("Door")
	want := []string{
		"01-01 00:00 customer ada@example.com: It is stuck.", "01-01 00:00 note Zendesk: From Zendesk, ticket 7",
		fmt.Sprintf("01-02 00:00 user %d: Pull.", b.owner), "01-03 00:00 customer ada@example.com: Still?",
	}
	if diff := cmp.Diff(want, b.said(c)); diff != "" || c.Status != helpdesk.StatusPending || c.Preview != "Still?" || c.AwaitingSince.Format(time.DateOnly) != "2024-01-03" {
		t.Errorf("%+v\n%s", c, diff)
	}
	must(b.desk.Conversations().Update(t.Context(), c.ID, helpdesk.ConversationUpdate{Subject: storage.Some("Door"), Status: storage.Some(helpdesk.StatusClosed)}))(t)
	b.take(openZendesk(t, export(`"status":"open","updated_at":"2024-01-05T00:00:00Z"`, asked, said, asks)), false)
	if c := b.find("Door"); c.Status != helpdesk.StatusClosed {
		t.Errorf("what was closed here is %s", c.Status)
	}
	if err := b.desk.Conversations().Delete(t.Context(), c.ID); err != nil {
		t.Fatal(err)
	}
	done = b.take(openZendesk(t, export(`"status":"open","updated_at":"2024-01-06T00:00:00Z"`, asked, said, asks, strings.Replace(asks, "72", "74", 1))), false)
	if len(b.conversations()) != 0 || done.Deleted != 1 {
		t.Errorf("a conversation that was deleted here came back: %s", totals(done))
	}
}

// A later mail that refers to an imported message comes into its conversation, and nothing that was imported is sent.
func TestMailAfterwards(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.take(openZendesk(t, export(`"status":"open","updated_at":"2024-01-02T00:00:00Z"`, asked, said)), false)
	intake := b.svc.Intake()
	if err := intake.Take(t.Context(), b.account, b.mailbox.ID, "smtp", []ledger.Raw{{Raw: []byte("mail")}}, nil); err != nil {
		t.Fatal(err)
	}
	waiting := must(intake.Waiting(t.Context(), b.account, b.mailbox.ID, 0, 10))(t)
	row := must(intake.File(t.Context(), b.account, waiting[0].ID, ledger.Incoming{
		Message: message.Message{
			MessageID: "2@example.com", InReplyTo: []string{"q@example.com"}, From: []mailaddr.Address{{Email: "ada@example.com"}}, Subject: "Re: Door", Text: "Now it is open.",
		}, Identity: []byte("2"),
	}))(t)
	c := b.find("Door")
	if row.ConversationID != c.ID {
		t.Errorf("the mail is in conversation %d, not %d", row.ConversationID, c.ID)
	}
	found := must(b.desk.Conversations().List(t.Context(), helpdesk.ConversationQuery{Query: "stuck"}, storage.PageRequest{}))(t)
	if len(found.Items) != 1 {
		t.Errorf("%d conversations are found by a word of the export", len(found.Items))
	}
	page := must(b.desk.Interactions().List(t.Context(), c.ID, storage.PageRequest{Limit: 10}))(t)
	var ids []int64
	for _, i := range page.Items {
		ids = append(ids, i.ID)
	}
	if sent := must(b.desk.Interactions().Deliveries(t.Context(), ids))(t); len(sent) != 0 {
		t.Errorf("%d deliveries", len(sent))
	}
	events := must(b.store.Events(t.Context(), b.account, 0, 1000))(t)
	moved := 0
	for _, e := range events {
		if e.Type == "mailbox.moved_in" {
			moved++
		}
		if e.Type == "interaction.created" && e.Subject != row.InteractionID {
			t.Errorf("event %s of %d: the past is no news", e.Type, e.Subject)
		}
	}
	if moved != 1 {
		t.Errorf("%d events of the import", moved)
	}
}

func TestHelpScout(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	open := func() foreign.Source {
		return must(helpscout.Open(t.Context(), foreign.Config{Files: os.DirFS("helpscout/testdata/export")}))(t)
	}
	source := open()
	done := b.take(source, false)
	if got := totals(done); got != "2+0 customers, 3+0 conversations, 0 known, 0 deleted, 9 messages, 1 files, 1+0 replies" {
		t.Error(got)
	}
	order, spam, hello := b.find("Où est ma commande ?"), b.find("Cheap watches"), b.find("مرحبا")
	if diff := cmp.Diff([]string{
		"03-15 22:46 customer bear@acme.example: Bonjour où est-elle ? [order.png 70]",
		"03-15 22:46 note Help Scout: From Help Scout, conversation 12 mailbox: Orders closedByUser: {\"id\":99,\"type\":\"user\",\"first\":\"Olga\",\"last\":\"Owner\",\"photoUrl\":\"\",\"email\":\"owner@example.org\"} missing file: gone.pdf",
		"03-16 09:00 note Gus Gone: Encore lui.",
		fmt.Sprintf("03-16 14:07 user %d: Elle arrive demain.", b.owner),
	}, b.said(order)); diff != "" {
		t.Error(diff)
	}
	got := []any{order.Status, order.UserID, spam.IsSpam(), spam.CustomerEmail, hello.Status, hello.TeamID != 0, hello.AwaitingSince.IsZero()}
	if diff := cmp.Diff([]any{helpdesk.StatusClosed, b.owner, true, "user-29419@helpscout.invalid", helpdesk.StatusPosted, true, true}, got); diff != "" {
		t.Error(diff)
	}
	customer := must(b.desk.Customers().Get(t.Context(), order.CustomerID))(t)
	if diff := cmp.Diff([]any{"Vernon Bear", "Acme, Inc", 2, 1, 1, "Works with us since 2012.\n\nFrom Help Scout:\ntwitter: @me\naim: 54831172\nage: 30-35\ngender: Male\njobTitle: CEO\nlocation: Prague\naddress: {\"city\":\"Prague\",\"lines\":[]}"},
		[]any{customer.Name(), customer.Company, len(customer.Emails), len(customer.Phones), len(customer.Websites), customer.Note}); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]string{
		{"conversation.newThing (1, first: conversations-page-1.json line 84)"},
		{
			"a conversation is left out: its state is deleted (1, first: conversations-page-1.json line 143)", "a file of a thread is not in the folder attachments (1, first: conversations/123.json line 1)",
			"a saved reply is left out: its file has the preview only; ask for each by its id (1, first: saved-replies.json line 2)", "a thread is left out: its state is draft (1, first: conversations/123.json line 1)",
		},
	}, [][]string{counts(source.Report().Unknown), counts(source.Report().Problems)}); diff != "" {
		t.Error(diff)
	}
	if again := totals(b.take(open(), false)); again != "0+0 customers, 0+0 conversations, 3 known, 0 deleted, 0 messages, 0 files, 0+1 replies" {
		t.Errorf("again: %s", again)
	}
}

func TestFreeScout(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	open := func() foreign.Source {
		return must(freescout.Open(t.Context(), foreign.Config{Files: os.DirFS("freescout/testdata/export")}))(t)
	}
	source := open()
	if got := totals(b.take(source, false)); got != "1+0 customers, 2+0 conversations, 0 known, 0 deleted, 5 messages, 1 files, 0+0 replies" {
		t.Error(got)
	}
	c := b.find("Возврат")
	if diff := cmp.Diff([]string{
		"03-15 22:46 customer mark@example.org: Помогите [door.png 70]",
		"03-15 22:46 note FreeScout: From FreeScout, conversation 3 mailbox: 15 thread 18 rating: 1 thread 18 rating_comment: Спасибо " +
			"closedByUser: {\"id\":9,\"type\":\"user\",\"firstName\":\"Olga\",\"lastName\":\"Owner\",\"photoUrl\":\"\",\"email\":\"owner@example.org\"} timelogs: [{\"id\":498,\"userId\":9,\"timeSpent\":219}]",
		"03-16 10:00 note Eve Elsewhere: внутри",
		fmt.Sprintf("03-16 14:07 user %d: Да.", b.owner),
	}, b.said(c)); diff != "" {
		t.Error(diff)
	}
	first := must(b.desk.Interactions().List(t.Context(), c.ID, storage.PageRequest{Limit: 10}))(t).Items
	if body := first[slices.IndexFunc(first, func(i helpdesk.Interaction) bool { return i.IsStarter })].Body; !strings.Contains(body, "cid:71@freescout") {
		t.Errorf("the body is %s", body)
	}
	if diff := cmp.Diff([]string{"a conversation has no threads in the files: ask for it with embed=threads (1, first: conversations.json line 295)"}, counts(source.Report().Problems)); diff != "" {
		t.Error(diff)
	}
	if again := totals(b.take(open(), false)); again != "0+0 customers, 0+0 conversations, 2 known, 0 deleted, 0 messages, 0 files, 0+0 replies" {
		t.Errorf("again: %s", again)
	}
}

// Customers erased here do not come back with an export, and a dry run reports the same.
func TestErasedCustomersStayErased(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	source := func() foreign.Source { return openZendesk(t, os.DirFS("zendesk/testdata/export")) }
	first := newBundle(t).take(source(), true)
	other := newBundle(t)
	other.take(source(), false)
	customers := must(other.desk.Customers().List(t.Context(), helpdesk.CustomerQuery{}, storage.PageRequest{Limit: storage.MaxLimit}))(t).Items
	at := slices.IndexFunc(customers, func(c helpdesk.Customer) bool {
		return must(other.desk.Customers().Stats(t.Context(), c.ID))(t).Total > 0
	})
	email := customers[at].Emails[0].Email
	conversations := int(must(other.desk.Customers().Stats(t.Context(), customers[at].ID))(t).Total)
	erased := must(b.desk.Customers().Create(t.Context(), helpdesk.CustomerInput{FirstName: storage.Some("X"), Emails: storage.Some([]helpdesk.Item{{Value: email}})}))(t)
	if err := b.desk.Customers().Erase(t.Context(), erased.ID); err != nil {
		t.Fatal(err)
	}
	for _, dryRun := range []bool{true, false} {
		r := b.take(source(), dryRun)
		if r.Erased != conversations || r.ErasedCustomers != 1 || r.Conversations != first.Conversations-conversations {
			t.Errorf("dry run %v: %d conversations and %d customers erased, %s", dryRun, r.Erased, r.ErasedCustomers, totals(r))
		}
	}
	if found := must(b.desk.Customers().List(t.Context(), helpdesk.CustomerQuery{Email: email}, storage.PageRequest{}))(t).Items; len(found) != 0 {
		t.Errorf("%s came back", email)
	}
}

// Files of moved conversations are inline only if the text shows them, whatever the other help desk says.
func TestInlineFilesMoveIn(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	file := func(name, kind, id, content string) helpdesk.ImportedFile {
		return helpdesk.ImportedFile{Filename: name, ContentType: kind, ContentID: id, Inline: true, Open: func() (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(content)), nil
		}}
	}
	result := must(b.svc.MoveIn().File(t.Context(), b.account, b.mailbox.ID, "zendesk", []helpdesk.ImportedConversation{{
		Key: "1", Subject: "Door", Customer: mailaddr.Address{Email: "ada@example.com"}, Messages: []helpdesk.ImportedMessage{{
			Key: "1", Type: helpdesk.TypeCustomer, HTML: `<p>See <img src="cid:1@zendesk"> <img src="plan.png"> <img src="cid:4@zendesk"></p>`,
			Files: []helpdesk.ImportedFile{
				file("door.png", "image/png", "1@zendesk", "x"), file("plan.png", "image/png", "", "x"), file("photo.png", "image/png", "3@zendesk", "x"),
				file("IMG.jpg", "image/jpeg", "4@zendesk", "\x00\x00\x00\x18ftypheic"), file("empty.png", "image/png", "5@zendesk", ""),
			},
		}},
	}}))(t)
	i := must(b.desk.Interactions().List(t.Context(), result[0].ConversationID, storage.PageRequest{}))(t).Items[0]
	var got []string
	for _, a := range must(b.desk.Attachments().List(t.Context(), i.ConversationID, i.ID))(t) {
		got = append(got, fmt.Sprintf("%s %s %d %t", a.Filename, a.ContentType, a.Size, a.IsInline))
	}
	want := []string{"door.png image/png 1 true", "plan.png image/png 1 true", "photo.png image/png 1 false", "IMG.jpg image/heic 12 false", "empty.png image/png 0 false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\nof %s", diff, i.Body)
	}
}
