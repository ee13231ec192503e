package movein_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/movein"
	"github.com/helpwright/helpwright/helpdesk/movein/foreign"
	"github.com/helpwright/helpwright/helpdesk/movein/freescout"
	"github.com/helpwright/helpwright/helpdesk/movein/helpscout"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// archive is the data of a help desk, before it is written in a format.
type archive struct {
	people        []foreign.Person
	conversations []foreign.Conversation
	replies       []foreign.Reply
}

// listed is an archive as a source. It may have anything several times, and it fails after some records if it is told to.
type listed struct {
	archive
	report foreign.Report
	left   int // records until it fails; less than 0: it never does
}

var errCut = errors.New("the power is off")

func (l *listed) Format() foreign.Format {
	return foreign.Format{Name: "listed", Title: "Listed", What: "thing"}
}

func (l *listed) Report() *foreign.Report { return &l.report }

func (l *listed) Open(f foreign.File) (fs.File, error) {
	return fstest.MapFS{"f": {Data: []byte(f.Path)}}.Open("f")
}

func each[T any](l *listed, all []T, fn func(T) error) error {
	for _, one := range all {
		if l.left == 0 {
			return errCut
		}
		l.left--
		if err := fn(one); err != nil {
			return err
		}
	}
	return nil
}

func (l *listed) People(_ context.Context, fn func(foreign.Person) error) error {
	return each(l, l.people, fn)
}

func (l *listed) Conversations(_ context.Context, fn func(foreign.Conversation) error) error {
	return each(l, l.conversations, fn)
}

func (l *listed) Replies(_ context.Context, fn func(foreign.Reply) error) error {
	return each(l, l.replies, fn)
}

// dice makes archives.
type dice struct {
	*rand.Rand
	short bool // without what takes long to read as JSON
}

func newDice(seed, stream uint64) dice { return dice{Rand: rand.New(rand.NewPCG(seed, stream))} }

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

func some[T any](d dice, limit int, one func() T) (all []T) {
	for range d.IntN(limit + 1) {
		all = append(all, one())
	}
	return all
}

func (d dice) email() string {
	return pick(d, "ada@example.com", "ADA@example.com", "Ada@Example.COM", " ada@example.com ", "bob@example.org", "BOB@EXAMPLE.ORG", "eve@example.net",
		"eve+shop@example.net", "x@bücher.example", "x@xn--bcher-kva.example", "owner@example.org", "support@example.org", "not an address", "@", "", "  ",
		"erased@example.net", "Erased@Example.net", "unknown-sender@invalid.invalid", fmt.Sprintf("user%d@example.com", d.IntN(12)))
}

func (d dice) name() string {
	return pick(d, "", "  ", "\u200b", "Ada Lovelace", "Ada", "José 🎉", "A\nB", strings.Repeat("long ", 60))
}

func (d dice) at() time.Time {
	return pick(d, time.Time{}, time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2024, 1, 1+d.IntN(300), d.IntN(24), 0, 0, d.IntN(2000), time.UTC), time.Date(2024, 1, 1+d.IntN(300), 0, 0, 0, 0, time.UTC))
}

func (d dice) person() foreign.Person {
	p := foreign.Person{ID: pick(d, "", fmt.Sprint(1+d.IntN(15)), fmt.Sprint(1+d.IntN(15)), fmt.Sprint(1+d.IntN(15))), Name: d.name(), Agent: d.IntN(6) == 0}
	p.Emails = some(d, 3, d.email)
	if d.IntN(30) == 0 { // more than are taken
		p.Emails = nil
		for n := range 20 {
			p.Emails = append(p.Emails, fmt.Sprintf("many%d.%s@example.com", n, p.ID))
		}
	}
	p.Phones = some(d, 2, func() string {
		return pick(d, "+49 30 1234", " +49 30 1234", "", "  ", "\u200b", "7"+strings.Repeat("0", d.IntN(600)))
	})
	p.Websites = some(d, 2, func() string {
		return pick(d, "https://example.com", "example.com", "", "no site", "https://example.com/ü")
	})
	p.Company = pick(d, "", " ", "Acme", strings.Repeat("Acme ", 60))
	p.Note = pick(d, "", "  ", " likes tea ", "one\r\ntwo")
	if d.IntN(20) == 0 {
		p.Note = pick(d, strings.Repeat("word ", 2500), strings.Repeat("x", 9_990), strings.Repeat("é", 12_000))
	}
	return p
}

func (d dice) file() foreign.File {
	id := fmt.Sprint(900 + d.IntN(4))
	return foreign.File{ID: id, Name: "log.txt", Type: "text/plain", Path: pick(d, "attachments/"+id+".txt", "attachments/"+id+".txt", "")}
}

func (d dice) message() foreign.Message {
	m := foreign.Message{
		ID: fmt.Sprint(1 + d.IntN(8)), Kind: pick(d, foreign.FromCustomer, foreign.FromCustomer, foreign.FromAgent, foreign.Note), Author: d.person(), At: d.at(),
		To: some(d, 2, d.email), Cc: some(d, 2, d.email), HTML: pick(d, "", "<p>Hello</p>", "<script>x</script>"), Text: pick(d, "", "Hello", "\u200b"), Files: some(d, 2, d.file),
	}
	if d.short {
		return m
	}
	if d.IntN(150) == 0 {
		m.HTML, m.Text = "", strings.Repeat("too long. ", helpdesk.MaxBody/10+10)
	}
	if d.IntN(150) == 0 {
		m.HTML = "<p>" + strings.Repeat("too long. ", helpdesk.MaxBody/10+10) + "</p>"
	}
	return m
}

func (d dice) conversation(people []foreign.Person) foreign.Conversation {
	c := foreign.Conversation{
		ID: fmt.Sprint(1 + d.IntN(60)), Subject: pick(d, "", "Door", strings.Repeat("x", 1200)), State: pick(d, foreign.Open, foreign.Pending, foreign.Closed),
		Spam: d.IntN(9) == 0, Customer: d.person(), Cc: some(d, 2, d.person), Team: pick(d, "", "support", "nobody"), Tags: some(d, 3, func() string { return pick(d, "a", "A", "", "\u200b", "vip") }),
		Created: d.at(), Updated: d.at(), Messages: some(d, 5, d.message),
	}
	for n := range c.Messages {
		if d.IntN(2) == 0 {
			c.Messages[n].Author = pick(d, append(people, c.Customer)...)
		}
	}
	if d.IntN(2) == 0 {
		c.Customer, c.Assignee = pick(d, append(people, c.Customer)...), pick(d, people...)
	}
	if d.IntN(40) == 0 {
		c.Extra = []foreign.Field{{Name: "field", Value: strings.Repeat("v", 600)}} // it gets a file
	}
	return c
}

func (d dice) archive() archive {
	a := archive{people: append(some(d, 130, d.person), d.person())}
	a.conversations = some(d, 70, func() foreign.Conversation { return d.conversation(a.people) })
	a.replies = some(d, 4, func() foreign.Reply {
		return foreign.Reply{Name: pick(d, "", "Thanks", "THANKS", "Bye", "\u200b", strings.Repeat("n", 150)), HTML: pick(d, "", "<p>Hello {{x}}</p>")}
	})
	return a
}

// later is the archive of another day: some of it is gone, and some is new.
func (d dice) later(a archive) archive {
	more := d.archive()
	a.people = append(slices.DeleteFunc(slices.Clone(a.people), func(foreign.Person) bool { return d.IntN(3) == 0 }), more.people[:len(more.people)/3+1]...)
	a.conversations = append(slices.Clone(a.conversations), more.conversations[:len(more.conversations)/3]...)
	a.replies = append(slices.Clone(a.replies), more.replies...)
	return a
}

// rows are what an account has.
type rows struct {
	customers, conversations map[int64]string
	messages, files, replies int
}

func (b *bundle) rows() rows {
	b.Helper()
	all := rows{customers: map[int64]string{}, conversations: map[int64]string{}}
	r := b.store.Within(helpdesk.Scope{AccountID: b.account})
	whole := storage.Seek{Limit: storage.NoLimit}
	for _, c := range must(r.Customers(b.Context(), helpdesk.CustomerFilter{}, whole))(b.T) {
		c.UpdatedAt = time.Time{}
		all.customers[c.ID] = fmt.Sprintf("%+v", c)
	}
	for _, c := range must(r.Conversations().List(b.Context(), helpdesk.ConversationOrder{}, whole))(b.T) {
		said := must(r.Interactions().List(b.Context(), helpdesk.InteractionFilter{ConversationID: c.ID, Brief: true}, whole))(b.T)
		tags := must(b.desk.Conversations().Marks(b.Context(), []int64{c.ID}))(b.T)[c.ID].Tags
		all.conversations[c.ID] = fmt.Sprintf("%+v %v %d", c, tags, len(said))
		all.messages += len(said)
		var ids []int64
		for _, i := range said {
			ids = append(ids, i.ID)
		}
		all.files += len(must(r.Attachments().List(b.Context(), helpdesk.AttachmentFilter{InteractionIDs: ids}, whole))(b.T))
	}
	all.replies = len(must(helpdesk.Nouns().SavedReplies.Reader(r).List(b.Context(), helpdesk.SavedReplyFilter{UserIDs: []int64{0}}, whole))(b.T))
	return all
}

// tally are the numbers of a result that rows tell.
type tally struct{ Customers, ChangedCustomers, Conversations, ChangedConversations, Messages, Files, Replies int }

// since is what came to be.
func (r rows) since(before rows) tally {
	t := tally{Messages: r.messages - before.messages, Files: r.files - before.files, Replies: r.replies - before.replies}
	compare := func(old, now map[int64]string, created, changed *int) {
		for id, one := range now {
			was, known := old[id]
			switch {
			case !known:
				*created++
			case was != one:
				*changed++
			}
		}
	}
	compare(before.customers, r.customers, &t.Customers, &t.ChangedCustomers)
	compare(before.conversations, r.conversations, &t.Conversations, &t.ChangedConversations)
	return t
}

// everything is all that a result says.
func everything(r *movein.Result) []any {
	return []any{
		tally{r.Customers, r.ChangedCustomers, r.Conversations, r.ChangedConversations, r.Messages, r.Files, r.Replies},
		[]int{r.Known, r.Deleted, r.Erased, r.ErasedCustomers, r.KnownReplies}, counts(r.Agents), counts(r.Unassigned), counts(r.Problems),
	}
}

// checkCounts imports a source, and checks that the dry run, the import and the rows agree, and that another import finds
// nothing new.
func (b *bundle) checkCounts(open func() foreign.Source) *movein.Result {
	b.Helper()
	before := b.rows()
	dry := b.take(open(), true)
	if diff := cmp.Diff(tally{}, b.rows().since(before)); diff != "" {
		b.Fatalf("a dry run changes rows:\n%s", diff)
	}
	done := b.take(open(), false)
	if diff := cmp.Diff(everything(dry), everything(done)); diff != "" {
		b.Errorf("the dry run and the import differ:\n%s", diff)
	}
	after := b.rows()
	if diff := cmp.Diff(after.since(before), everything(done)[0]); diff != "" {
		b.Errorf("the rows and the import differ:\n%s", diff)
	}
	for _, dryRun := range []bool{true, false} {
		again := b.take(open(), dryRun)
		if diff := cmp.Diff(tally{}, everything(again)[0]); diff != "" {
			b.Errorf("dry run %v, once more:\n%s", dryRun, diff)
		}
		if here := done.Known + done.Conversations + done.ChangedConversations; again.Known != here {
			b.Errorf("dry run %v, once more: %d conversations are known, not %d", dryRun, again.Known, here)
		}
	}
	if diff := cmp.Diff(tally{}, b.rows().since(after)); diff != "" {
		b.Errorf("another import changes rows:\n%s", diff)
	}
	return done
}

// unsettle does to an account what people do between two imports.
func (b *bundle) unsettle(d dice) {
	b.Helper()
	for _, c := range b.conversations() {
		var err error
		switch d.IntN(8) {
		case 0:
			err = b.desk.Conversations().Delete(b.Context(), c.ID)
		case 1:
			err = b.desk.Customers().Erase(b.Context(), c.CustomerID)
		case 2:
			_, err = b.desk.Conversations().Update(b.Context(), c.ID, helpdesk.ConversationUpdate{Subject: storage.Some("Changed"), Status: storage.Some(helpdesk.StatusClosed)})
		}
		if err != nil && !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.Invalid) {
			b.Fatal(err)
		}
	}
}

// The counts of a dry run are those of the import, and these are the rows that were made and changed, whatever is imported
// into whatever is there.
func TestCounts(t *testing.T) {
	t.Parallel()
	for format, open := range map[string]func(archive) func() foreign.Source{
		"listed": func(a archive) func() foreign.Source {
			return func() foreign.Source { return &listed{archive: a, left: -1} }
		},
		"zendesk": func(a archive) func() foreign.Source {
			files := a.zendesk(t)
			return func() foreign.Source { return openZendesk(t, files) }
		},
		"helpscout": func(a archive) func() foreign.Source {
			files := a.hal(t)
			return func() foreign.Source { return must(helpscout.Open(t.Context(), foreign.Config{Files: files}))(t) }
		},
		"freescout": func(a archive) func() foreign.Source {
			files := a.hal(t)
			return func() foreign.Source { return must(freescout.Open(t.Context(), foreign.Config{Files: files}))(t) }
		},
	} {
		seeds := uint64(4)
		if format == "listed" {
			seeds = 12
		}
		for seed := range seeds {
			t.Run(fmt.Sprintf("%s %d", format, seed), func(t *testing.T) {
				t.Parallel()
				d, b := newDice(seed, 1), newBundle(t)
				d.short = format != "listed" && seed > 0
				for _, email := range []string{"erased@example.net", "eve@example.net"}[:d.IntN(3)] {
					c := must(b.desk.Customers().Create(t.Context(), helpdesk.CustomerInput{FirstName: storage.Some("X"), Emails: storage.Some([]helpdesk.Item{{Value: email}})}))(t)
					if err := b.desk.Customers().Erase(t.Context(), c.ID); err != nil {
						t.Fatal(err)
					}
				}
				must(b.desk.Customers().Create(t.Context(), helpdesk.CustomerInput{FirstName: storage.Some("X"), Emails: storage.Some([]helpdesk.Item{{Value: "ada@example.com"}, {Value: "bob@example.org"}})}))(t)
				a := d.archive()
				b.checkCounts(open(a))
				b.unsettle(d)
				b.checkCounts(open(a))
				b.checkCounts(open(d.later(a)))
			})
		}
	}
}

// An import that ends early counts what it did, and a dry run says what the next one will do.
func TestCountsOfTheRest(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			d, b := newDice(seed, 2), newBundle(t)
			a := d.archive()
			for range 3 {
				before := b.rows()
				source := &listed{archive: a, left: d.IntN(1 + len(a.people) + len(a.conversations) + len(a.replies))}
				im := must(movein.New(movein.Config{MoveIn: b.svc.MoveIn(), AccountID: b.account, MailboxID: b.mailbox.ID}))(t)
				done, err := im.Import(t.Context(), source, false)
				if err != nil && !errors.Is(err, errCut) {
					t.Fatal(err)
				}
				if diff := cmp.Diff(b.rows().since(before), everything(done)[0]); diff != "" {
					t.Errorf("the rows and the import differ:\n%s", diff)
				}
			}
			b.checkCounts(func() foreign.Source { return &listed{archive: a, left: -1} })
		})
	}
}

// files are the folder of an export.
func (a archive) files(t testing.TB, records map[string][]map[string]any) fs.FS {
	t.Helper()
	files := fstest.MapFS{}
	for name, list := range records {
		for _, one := range list {
			line, err := json.Marshal(one)
			if err != nil {
				t.Fatal(err)
			}
			if files[name] == nil {
				files[name] = &fstest.MapFile{}
			}
			files[name].Data = append(append(files[name].Data, line...), '\n')
		}
	}
	for _, c := range a.conversations {
		for _, m := range c.Messages {
			for _, f := range m.Files {
				if f.Path != "" {
					files[f.Path] = &fstest.MapFile{Data: []byte(f.Path)}
				}
			}
		}
	}
	return files
}

func stamp(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return at.Format(time.RFC3339Nano)
}

// zendesk writes an archive as Zendesk does. Its people have ids.
func (a archive) zendesk(t testing.TB) fs.FS {
	users := []map[string]any{}
	numbers := map[string]int{}
	id := func(p foreign.Person) int {
		key := fmt.Sprintf("%s|%q|%s", p.ID, p.Emails, p.Name)
		if numbers[key] == 0 {
			numbers[key] = len(numbers) + 1
			role := "end-user"
			if p.Agent {
				role = "agent"
			}
			identities := []any{}
			for _, email := range p.Emails {
				identities = append(identities, map[string]any{"type": "email", "value": email})
			}
			if len(numbers)%5 != 0 { // some are not in the files
				users = append(users, map[string]any{"id": numbers[key], "name": p.Name, "email": p.Email(), "role": role, "identities": identities, "notes": p.Note})
			}
		}
		return numbers[key]
	}
	for _, p := range a.people {
		id(p)
	}
	var tickets, macros []map[string]any
	for _, c := range a.conversations {
		comments := []any{}
		for _, m := range c.Messages {
			files := []any{}
			for _, f := range m.Files {
				files = append(files, map[string]any{"id": f.ID, "file_name": f.Name, "content_type": f.Type})
			}
			comments = append(comments, map[string]any{
				"id": m.ID, "author_id": id(m.Author), "public": m.Kind != foreign.Note, "html_body": m.HTML, "body": m.Text, "created_at": stamp(m.At), "attachments": files,
			})
		}
		tickets = append(tickets, map[string]any{
			"id": c.ID, "subject": c.Subject, "status": pick(newDice(uint64(len(tickets)), 3), "new", "open", "solved", "deleted", "strange"),
			"requester_id": id(c.Customer), "tags": c.Tags, "created_at": stamp(c.Created), "updated_at": stamp(c.Updated), "comments": comments,
		})
	}
	for n, r := range a.replies {
		macros = append(macros, map[string]any{"id": n + 1, "title": r.Name, "actions": []any{map[string]any{"field": "comment_value_html", "value": r.HTML}}})
	}
	return a.files(t, map[string][]map[string]any{"users.json": users, "tickets.json": tickets, "macros.json": macros})
}

// hal writes an archive as Help Scout and FreeScout do.
func (a archive) hal(t testing.TB) fs.FS {
	values := func(list []string) (all []any) {
		for _, one := range list {
			all = append(all, map[string]any{"value": one})
		}
		return all
	}
	someone := func(p foreign.Person) map[string]any {
		kind := "customer"
		if p.Agent {
			kind = "user"
		}
		return map[string]any{"id": p.ID, "type": kind, "first": p.Name, "email": p.Email()}
	}
	var users, customers, conversations, replies []map[string]any
	for _, p := range a.people {
		if p.Agent {
			users = append(users, map[string]any{"id": p.ID, "firstName": p.Name, "email": p.Email(), "role": "user"})
			continue
		}
		customers = append(customers, map[string]any{
			"id": p.ID, "firstName": p.Name, "organization": p.Company, "background": p.Note,
			"_embedded": map[string]any{"emails": values(p.Emails), "phones": values(p.Phones), "websites": values(p.Websites)},
		})
	}
	for n, c := range a.conversations {
		threads := []any{}
		for _, m := range c.Messages {
			files := []any{}
			for _, f := range m.Files {
				files = append(files, map[string]any{"id": f.ID, "filename": f.Name, "mimeType": f.Type})
			}
			threads = append(threads, map[string]any{
				"id": m.ID, "type": [...]string{"customer", "message", "note"}[m.Kind], "body": m.HTML + m.Text, "createdBy": someone(m.Author), "to": m.To, "cc": m.Cc,
				"createdAt": stamp(m.At), "_embedded": map[string]any{"attachments": files},
			})
		}
		conversations = append(conversations, map[string]any{
			"id": c.ID, "number": n + 1, "subject": c.Subject, "status": [...]string{"active", "pending", "spam"}[c.State], "primaryCustomer": someone(c.Customer),
			"assignee": someone(c.Assignee), "createdAt": stamp(c.Created), "userUpdatedAt": stamp(c.Updated), "_embedded": map[string]any{"threads": threads},
		})
	}
	for n, r := range a.replies {
		replies = append(replies, map[string]any{"id": n + 1, "name": r.Name, "text": r.HTML})
	}
	return a.files(t, map[string][]map[string]any{"users.json": users, "customers.json": customers, "conversations.json": conversations, "saved.json": replies})
}
