// Package movein brings an account of another help desk here: its customers, conversations, notes, files, tags and saved
// replies. It joins the help desk and the packages below, which read the files of one help desk each.
package movein

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/movein/foreign"
	"github.com/helpwright/helpwright/storage/fault"
)

// Config is what an [Importer] is made of.
type Config struct {
	MoveIn               *helpdesk.MoveIn // required
	AccountID, MailboxID int64            // required; the mailbox gets all conversations
	// Progress hears after each batch how many conversations were looked at. nil: nobody does.
	Progress func(conversations int)
}

// Importer brings what a source has into an account. It can be stopped at any time and begun again, and takes what a later
// export has more: a message that was taken before is not taken twice.
type Importer struct {
	cfg    Config
	people helpdesk.PastPeople
}

// New returns an importer. What is missing in cfg is an Invalid fault.
func New(cfg Config) (*Importer, error) {
	var problems fault.Collector
	problems.Check(cfg.MoveIn != nil, "MoveIn", "is required")
	problems.Check(cfg.AccountID != 0, "AccountID", "is required")
	problems.Check(cfg.MailboxID != 0, "MailboxID", "is required")
	if cfg.Progress == nil {
		cfg.Progress = func(int) {}
	}
	return &Importer{cfg: cfg}, problems.Err()
}

// Result is what was made, or with a dry run would be: the same numbers. Each customer and each conversation counts once,
// however often the source has it.
type Result struct {
	Customers, ChangedCustomers int // made, with those who are only named in conversations; were here, and got what they lacked
	Conversations               int // that were made
	ChangedConversations        int // that were here, and got messages, a status, assignees or tags
	Known                       int // conversations that are here as they are there
	Deleted                     int // conversations that were deleted here, and do not come back
	Erased, ErasedCustomers     int // conversations and customers that were erased here, and do not come back
	Messages                    int // that were filed
	Files                       int // of these messages
	Replies, KnownReplies       int // saved replies: made, and left out because their name is taken
	Agents                      foreign.Tally
	// Unassigned counts assignees who are no members here, and teams that are not here: nobody's conversations. They are told
	// in a note.
	Unassigned foreign.Tally
	Problems   foreign.Tally // beside those of the source
}

// What is filed in one transaction.
const (
	batchConversations = 25
	batchMessages      = 200
	batchBytes         = 8 << 20
	batchCustomers     = 100
)

// Import takes people, conversations and saved replies. dryRun reads everything, and changes nothing.
func (im *Importer) Import(ctx context.Context, source foreign.Source, dryRun bool) (*Result, error) {
	r := &run{
		Importer: im, source: source, moveIn: im.cfg.MoveIn, Result: &Result{}, told: map[string]bool{},
		written: map[int64]bool{}, became: map[string]outcome{},
	}
	if dryRun {
		r.moveIn = r.moveIn.Rehearsal()
	}
	var err error
	if im.people, err = im.cfg.MoveIn.People(ctx, im.cfg.AccountID); err != nil {
		return r.Result, err
	}
	for _, step := range []func(context.Context) error{r.takePeople, r.takeReplies, r.takeConversations} {
		if err := step(ctx); err != nil {
			return r.Result, err
		}
	}
	return r.Result, nil
}

// run is one import.
type run struct {
	*Importer
	*Result
	source foreign.Source
	moveIn *helpdesk.MoveIn

	customers     []helpdesk.PastCustomer
	conversations []helpdesk.PastConversation
	messages      int // of these
	bytes         int
	seen          int
	told          map[string]bool // ids of people without an address
	written       map[int64]bool  // customers that were counted
	became        map[string]outcome
}

func (r *run) takePeople(ctx context.Context) error {
	err := r.source.People(ctx, func(p foreign.Person) error {
		if p.Agent {
			r.agent(p)
			return nil
		}
		r.customers = append(r.customers, r.customer(p))
		if len(r.customers) < batchCustomers {
			return nil
		}
		return r.fileCustomers(ctx)
	})
	if err != nil {
		return err
	}
	return r.fileCustomers(ctx)
}

// agent tells which member an agent is.
func (r *run) agent(p foreign.Person) {
	if r.people.Member(p.Email()) != 0 {
		r.Agents.Add("are members", called(p))
	} else {
		r.Agents.Add("are no members: what they wrote is shown with their names", called(p))
	}
}

// called is a person's name and address.
func called(p foreign.Person) string {
	name := cmp.Or(strings.TrimSpace(p.Name), strings.TrimSpace(p.Email()), p.ID, "somebody without a name")
	if email := p.Email(); email != "" && email != name {
		name += " <" + email + ">"
	}
	return name
}

func (r *run) customer(p foreign.Person) helpdesk.PastCustomer {
	note := p.Note
	if list := lines(p.Extra, 300); list != "" {
		note = strings.TrimSpace(note + "\n\nFrom " + r.source.Format().Title + ":\n" + list)
	}
	emails := slices.DeleteFunc(slices.Clone(p.Emails), func(email string) bool { return !mailaddr.Valid(strings.TrimSpace(email)) })
	if len(emails) < len(p.Emails) {
		r.Problems.Add("an address of a customer is none that mail can be sent to", called(p))
	}
	if len(emails) == 0 {
		emails = []string{r.address(p).Email}
	}
	r.tooMany("addresses", len(emails), helpdesk.MaxEmails, p)
	r.tooMany("phone numbers", len(p.Phones), helpdesk.MaxPhones, p)
	if len([]rune(note)) > helpdesk.MaxNote {
		r.Problems.Add(fmt.Sprintf("a note on a customer is cut after %d characters", helpdesk.MaxNote), called(p))
	}
	return helpdesk.PastCustomer{Name: p.Name, Emails: emails, Company: p.Company, Phones: p.Phones, Websites: p.Websites, Note: note}
}

func (r *run) tooMany(what string, n, limit int, p foreign.Person) {
	if n > limit {
		r.Problems.Add(fmt.Sprintf("a customer has more %s than the %d that are taken", what, limit), called(p))
	}
}

// address is who a person is as a customer. Who has no address gets one that no mail reaches (RFC 6761 section 6.4).
func (r *run) address(p foreign.Person) mailaddr.Address {
	a := mailaddr.Address{Name: p.Name, Email: strings.TrimSpace(p.Email())}
	if mailaddr.Valid(a.Email) {
		return a
	}
	id := unsafeID.ReplaceAllString(p.ID, "-")
	if id == "" {
		return mailaddr.Address{Name: p.Name, Email: ledger.UnknownSender}
	}
	if !r.told[id] { // once, however many messages somebody wrote
		r.told[id] = true
		r.Problems.Add("a customer has no address: answers cannot be sent", called(p))
	}
	a.Email = "user-" + id[:min(len(id), 50)] + "@" + r.source.Format().Name + ".invalid"
	return a
}

var unsafeID = regexp.MustCompile(`[^0-9A-Za-z]+`)

func (r *run) fileCustomers(ctx context.Context) error {
	some := r.customers
	r.customers = nil
	if len(some) == 0 {
		return nil
	}
	done, err := r.moveIn.Customers(ctx, r.cfg.AccountID, some)
	r.Customers += r.once(done.Created)
	r.ChangedCustomers += r.once(done.Changed)
	r.ErasedCustomers += done.Erased
	return err
}

// once counts customers that were not counted before.
func (r *run) once(ids []int64) (n int) {
	for _, id := range ids {
		if !r.written[id] {
			r.written[id] = true
			n++
		}
	}
	return n
}

func (r *run) takeReplies(ctx context.Context) error {
	return r.source.Replies(ctx, func(reply foreign.Reply) error {
		text := unknownPlaceholder.ReplaceAllStringFunc(reply.HTML, func(place string) string {
			name := strings.TrimSpace(strings.Trim(place, "{}"))
			if slices.Contains(helpdesk.ReplyPlaceholders(), name) {
				return "{{" + name + "}}"
			}
			r.Problems.Add("a saved reply has a placeholder that there is none for here: it stands as ["+name+"]", reply.Place)
			return "[" + name + "]"
		})
		name := strings.TrimSpace(reply.Name)
		if runes := []rune(name); len(runes) > 100 {
			name = string(runes[:100])
		}
		created, err := r.moveIn.Replies(ctx, r.cfg.AccountID, []helpdesk.SavedReplyInput{{Name: name, Body: text}})
		switch {
		case fault.Is(err, fault.Invalid):
			r.Problems.Add("a saved reply is left out: "+err.Error(), reply.Place)
			return nil
		case err != nil:
			return err
		case created[0]:
			r.Replies++
		default:
			r.KnownReplies++
		}
		return nil
	})
}

var unknownPlaceholder = regexp.MustCompile(`\{\{[^{}]*\}\}`)

func (r *run) takeConversations(ctx context.Context) error {
	err := r.source.Conversations(ctx, func(c foreign.Conversation) error {
		past := r.conversation(c)
		size := 0
		for _, m := range past.Messages {
			size += len(m.HTML) + len(m.Text)
		}
		if full := r.bytes+size > batchBytes || r.messages+len(past.Messages) > batchMessages; full && len(r.conversations) > 0 {
			if err := r.fileConversations(ctx); err != nil {
				return err
			}
		}
		r.conversations = append(r.conversations, past)
		r.messages, r.bytes = r.messages+len(past.Messages), r.bytes+size
		if len(r.conversations) < batchConversations {
			return nil
		}
		return r.fileConversations(ctx)
	})
	if err != nil {
		return err
	}
	return r.fileConversations(ctx)
}

func (r *run) fileConversations(ctx context.Context) error {
	some := r.conversations
	r.conversations, r.messages, r.bytes = nil, 0, 0
	if len(some) == 0 {
		return nil
	}
	results, err := r.moveIn.File(ctx, r.cfg.AccountID, r.cfg.MailboxID, r.source.Format().Name, some)
	if err != nil {
		return err
	}
	for n, one := range results {
		r.count(some[n].Key, outcomeOf(one))
		r.Messages, r.Files, r.Customers = r.Messages+one.Filed, r.Files+one.Files, r.Customers+one.Customers
	}
	r.seen += len(some)
	r.cfg.Progress(r.seen)
	return nil
}

// outcome is what became of a conversation. Of one that the source has several times the greatest counts.
type outcome int

const (
	erased outcome = iota + 1
	deleted
	known
	changed
	created
)

func outcomeOf(r helpdesk.PastResult) outcome {
	switch {
	case r.Erased:
		return erased
	case r.Created:
		return created
	case r.ConversationID == 0:
		return deleted
	case r.Filed > 0 || r.Changed:
		return changed
	}
	return known
}

// count counts a conversation once.
func (r *run) count(key string, now outcome) {
	counters := map[outcome]*int{known: &r.Known, deleted: &r.Deleted, erased: &r.Erased, changed: &r.ChangedConversations, created: &r.Conversations}
	before := r.became[key]
	if before >= now {
		return
	}
	if before != 0 {
		*counters[before]--
	}
	*counters[now]++
	r.became[key] = now
}

// conversation is what a conversation becomes.
func (r *run) conversation(c foreign.Conversation) helpdesk.PastConversation {
	past := helpdesk.PastConversation{
		Key: c.ID, Subject: c.Subject, Status: statuses[c.State], Priority: helpdesk.Priority(c.Priority), Spam: c.Spam,
		Customer: r.address(c.Customer), UserID: r.people.Member(c.Assignee.Email()), TeamID: r.people.Team(c.Team), Tags: c.Tags,
		CreatedAt: c.Created, UpdatedAt: c.Updated,
	}
	extra := slices.Clone(c.Extra)
	if past.UserID == 0 && c.Assignee.Name+c.Assignee.Email() != "" {
		r.Unassigned.Add("assignee "+called(c.Assignee)+" is no member", c.Place)
		extra = append([]foreign.Field{{Name: "assignee", Value: called(c.Assignee)}}, extra...)
	}
	if past.TeamID == 0 && c.Team != "" {
		r.Unassigned.Add("there is no team "+c.Team, c.Place)
		extra = append([]foreign.Field{{Name: "team", Value: c.Team}}, extra...)
	}
	if len(c.Tags) > helpdesk.MaxTags {
		extra = append(extra, foreign.Field{Name: "more tags", Value: strings.Join(c.Tags[helpdesk.MaxTags:], ", ")})
	}
	for _, m := range c.Messages {
		past.Messages = append(past.Messages, r.message(c, m, &extra))
	}
	r.copies(c, &past, &extra)
	past.Messages = append(past.Messages, r.note(c, past, extra))
	return past
}

var statuses = map[foreign.State]helpdesk.Status{foreign.Open: helpdesk.StatusPosted, foreign.Pending: helpdesk.StatusPending, foreign.Closed: helpdesk.StatusClosed}

// copies has those who get copies take part: they stand in the first message.
func (r *run) copies(c foreign.Conversation, past *helpdesk.PastConversation, extra *[]foreign.Field) {
	for _, p := range c.Cc {
		email := strings.TrimSpace(p.Email())
		if !mailaddr.Valid(email) || len(past.Messages) == 0 || past.Messages[0].Type == helpdesk.TypeNote {
			*extra = append(*extra, foreign.Field{Name: "cc", Value: called(p)})
			continue
		}
		first := &past.Messages[0]
		if !slices.ContainsFunc(first.Cc, func(a mailaddr.Address) bool { return mailaddr.Key(a.Email) == mailaddr.Key(email) }) {
			first.Cc = append(first.Cc, mailaddr.Address{Name: p.Name, Email: email})
		}
	}
}

// message is what a message becomes. What of it has no place is added to extra.
func (r *run) message(c foreign.Conversation, m foreign.Message, extra *[]foreign.Field) helpdesk.PastMessage {
	past := helpdesk.PastMessage{
		Key: m.ID, HTML: m.HTML, Text: m.Text, MessageID: m.MessageID, At: m.At, Author: mailaddr.Address{Name: m.Author.Name, Email: m.Author.Email()},
		To: addresses(m.To), Cc: addresses(m.Cc), Bcc: addresses(m.Bcc),
	}
	switch m.Kind {
	case foreign.FromCustomer:
		past.Type, past.Author = helpdesk.TypeCustomer, r.address(m.Author)
	case foreign.FromAgent:
		past.Type, past.UserID = helpdesk.TypeUser, r.people.Member(m.Author.Email())
	case foreign.Note:
		past.Type, past.UserID = helpdesk.TypeNote, r.people.Member(m.Author.Email())
	}
	for _, f := range m.Files {
		if f.Path == "" {
			*extra = append(*extra, foreign.Field{Name: "file that is missing", Value: cmp.Or(f.Name, f.ID)})
			continue
		}
		past.Files = append(past.Files, helpdesk.PastFile{
			Filename: f.Name, ContentType: f.Type, ContentID: f.ContentID, Inline: f.Inline,
			Open: func() (io.ReadCloser, error) { return r.source.Open(f) },
		})
	}
	return past
}

func addresses(emails []string) []mailaddr.Address {
	var all []mailaddr.Address
	for _, email := range emails {
		all = append(all, mailaddr.Address{Email: strings.TrimSpace(email)})
	}
	return all
}

// How much of the fields without a place a note shows. All of them are in its file then.
const (
	shownValue = 500
	shownNote  = 8 << 10
)

// note tells where a conversation comes from, and what of it has no place. It stands right behind the first message.
func (r *run) note(c foreign.Conversation, past helpdesk.PastConversation, extra []foreign.Field) helpdesk.PastMessage {
	format := r.source.Format()
	text := fmt.Sprintf("From %s, %s %s", format.Title, format.What, cmp.Or(c.Number, c.ID))
	list := lines(extra, shownValue)
	note := helpdesk.PastMessage{Key: "note", Type: helpdesk.TypeNote, Author: mailaddr.Address{Name: format.Title}, At: c.Created}
	if len(past.Messages) > 0 {
		note.At = past.Messages[0].At
	}
	if len(list) > shownNote || slices.ContainsFunc(extra, func(f foreign.Field) bool { return len(f.Value) > shownValue }) {
		list = list[:min(len(list), shownNote)]
		whole, _ := json.MarshalIndent(extra, "", "  ") // texts always encode
		note.Files = []helpdesk.PastFile{{Filename: "fields.json", ContentType: "application/json", Open: func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(whole)), nil
		}}}
	}
	note.HTML = "<p>" + html.EscapeString(text) + "</p>"
	if list != "" {
		note.HTML += "<p>" + strings.ReplaceAll(html.EscapeString(strings.ToValidUTF8(list, "")), "\n", "<br>") + "</p>"
	}
	return note
}

// lines has a line for each field, with at most n bytes of its value.
func lines(fields []foreign.Field, n int) string {
	var b strings.Builder
	for _, f := range fields {
		value := strings.Join(strings.Fields(f.Value), " ")
		if len(value) > n {
			value = strings.ToValidUTF8(value[:n], "") + "…"
		}
		fmt.Fprintf(&b, "%s: %s\n", f.Name, value)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
