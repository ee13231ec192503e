// Package movein imports an account from another help desk: its customers, conversations, notes, files, tags and saved
// replies. It connects the help desk with the packages below, each of which reads the files of one product.
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
	"strconv"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/movein/foreign"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Config configures an [Importer].
type Config struct {
	MoveIn               *helpdesk.MoveIn // required
	AccountID, MailboxID int64            // required; the mailbox gets all conversations
	// Progress, if set, is called after each batch with the number of conversations processed.
	Progress func(conversations int)
}

// Importer imports a source into an account. It can be stopped and restarted at any time, and picks up what is new in a later
// export: no message is imported twice.
type Importer struct {
	cfg    Config
	people helpdesk.ImportPeople
}

// New returns an importer. An incomplete cfg is an Invalid fault.
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

// Result counts what was created, or would be by a dry run; the numbers are the same. Each customer and conversation counts once,
// however often it occurs in the source.
type Result struct {
	Customers, ChangedCustomers int // created, including those who only occur in conversations; completed
	Conversations               int // that were made
	ChangedConversations        int // existing ones that got messages, a status, assignees or tags
	Known                       int // conversations that are already up to date
	Deleted                     int // conversations that were deleted here and are not imported again
	Erased, ErasedCustomers     int // conversations and customers that were erased here and are not imported again
	Messages                    int // that were filed
	Files                       int // of these messages
	Replies, KnownReplies       int // saved replies: created, and skipped because their name is taken
	Agents                      foreign.Tally
	// Unassigned counts assignees and teams that do not exist here. Their conversations are left unassigned, and a note
	// names them.
	Unassigned foreign.Tally
	Problems   foreign.Tally // beside those of the source
}

// Batch sizes per transaction.
const (
	batchConversations = 25
	batchMessages      = 200
	batchBytes         = 8 << 20
	batchCustomers     = 100
)

// Import imports people, conversations and saved replies. With dryRun it reads everything and changes nothing.
func (im *Importer) Import(ctx context.Context, source foreign.Source, dryRun bool) (*Result, error) {
	r := &run{
		Importer: im, source: source, moveIn: im.cfg.MoveIn, Result: &Result{}, told: map[string]bool{}, fields: map[*foreign.Property]helpdesk.Field{},
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

// run is the state of one import.
type run struct {
	*Importer
	*Result
	source foreign.Source
	moveIn *helpdesk.MoveIn

	customers     []helpdesk.ImportedCustomer
	conversations []helpdesk.ImportedConversation
	messages      int // of these
	bytes         int
	seen          int
	told          map[string]bool // ids of people without an address
	written       map[int64]bool  // customers that were counted
	fields        map[*foreign.Property]helpdesk.Field
	became        map[string]outcome
}

func (r *run) takePeople(ctx context.Context) error {
	err := r.source.People(ctx, func(p foreign.Person) error {
		if p.Agent {
			r.agent(p)
			return nil
		}
		fields, err := r.values(ctx, p.Values, &p.Extra)
		if err != nil {
			return err
		}
		past := r.customer(p)
		past.Fields = fields
		r.customers = append(r.customers, past)
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

// values returns values of properties as those of fields, and adds those that no field can have to extra.
func (r *run) values(ctx context.Context, all []foreign.Value, extra *[]foreign.Field) (helpdesk.FieldTexts, error) {
	var texts helpdesk.FieldTexts
	for _, v := range all {
		for _, text := range v.Texts { // the export may not have the options, or no longer
			chosen := func(o foreign.Option) bool { return o.Value == text }
			if (v.Of.Type == foreign.PropertyOneOf || v.Of.Type == foreign.PropertySomeOf) && !slices.ContainsFunc(v.Of.Options, chosen) {
				v.Of.Options = append(v.Of.Options, foreign.Option{Value: text, Name: text})
				delete(r.fields, v.Of)
			}
		}
		f, err := r.field(ctx, v.Of)
		if err != nil {
			return nil, err
		}
		if f.ID == 0 || f.Check(v.Texts) != "" {
			*extra = append(*extra, foreign.Field{Name: v.Of.Name, Value: strings.Join(v.Texts, ", ")})
			continue
		}
		if texts == nil {
			texts = helpdesk.FieldTexts{}
		}
		texts[f.Key] = v.Texts
	}
	return texts, nil
}

// field returns the field for a property, the zero value if there is none.
func (r *run) field(ctx context.Context, p *foreign.Property) (helpdesk.Field, error) {
	if f, known := r.fields[p]; known {
		return f, nil
	}
	in := helpdesk.FieldInput{
		Label: p.Name, AppliesTo: helpdesk.FieldOfConversation, Type: helpdesk.FieldType(p.Type),
		RequiredToClose: storage.Some(p.Required && !p.OfCustomer), CustomerVisible: storage.Some(p.Public),
	}
	if runes := []rune(p.Name); len(runes) > 100 {
		in.Label = string(runes[:100])
	}
	if p.OfCustomer {
		in.AppliesTo = helpdesk.FieldOfCustomer
	}
	if len(p.Options) > 0 {
		var options []helpdesk.FieldOption
		for _, o := range p.Options {
			options = append(options, helpdesk.FieldOption{Value: o.Value, Label: o.Name})
		}
		in.Options = storage.Some(options)
	}
	f, err := r.moveIn.Field(ctx, r.cfg.AccountID, in)
	if fault.Is(err, fault.Invalid) {
		r.Problems.Add("a field cannot be taken over: "+err.Error(), p.Name)
		err = nil
	} else if err == nil && f.ID == 0 {
		r.Problems.Add(fmt.Sprintf("a field is left out, its values are in notes: there are %d fields already", helpdesk.MaxFields), p.Name)
	}
	r.fields[p] = f
	return f, err
}

// agent returns the member that an agent corresponds to.
func (r *run) agent(p foreign.Person) {
	if r.people.Member(p.Email()) != 0 {
		r.Agents.Add("are members", called(p))
	} else {
		r.Agents.Add("are not members here: their messages are shown with their names", called(p))
	}
}

// called returns a person's name and address, for reports.
func called(p foreign.Person) string {
	name := cmp.Or(strings.TrimSpace(p.Name), strings.TrimSpace(p.Email()), p.ID, "someone without a name")
	if email := p.Email(); email != "" && email != name {
		name += " <" + email + ">"
	}
	return name
}

func (r *run) customer(p foreign.Person) helpdesk.ImportedCustomer {
	note := p.Note
	if list := lines(p.Extra, 300); list != "" {
		note = strings.TrimSpace(note + "\n\nFrom " + r.source.Format().Title + ":\n" + list)
	}
	emails := slices.DeleteFunc(slices.Clone(p.Emails), func(email string) bool { return !mailaddr.Valid(strings.TrimSpace(email)) })
	if len(emails) < len(p.Emails) {
		r.Problems.Add("an address of a customer cannot receive mail", called(p))
	}
	if len(emails) == 0 {
		emails = []string{r.address(p).Email}
	}
	r.tooMany("addresses", len(emails), helpdesk.MaxEmails, p)
	r.tooMany("phone numbers", len(p.Phones), helpdesk.MaxPhones, p)
	if len([]rune(note)) > helpdesk.MaxNote {
		r.Problems.Add(fmt.Sprintf("a note about a customer was cut after %d characters", helpdesk.MaxNote), called(p))
	}
	return helpdesk.ImportedCustomer{
		Name: p.Name, Emails: emails, Phones: p.Phones, Websites: p.Websites, Note: note,
		Company: helpdesk.ImportedCompany{Name: p.Company, Domains: p.Organization.Domains, Note: p.Organization.Note, ExternalID: p.Organization.ExternalID},
	}
}

func (r *run) tooMany(what string, n, limit int, p foreign.Person) {
	if n > limit {
		r.Problems.Add(fmt.Sprintf("a customer has more %s than the limit of %d", what, limit), called(p))
	}
}

// address returns a person's address as a customer. People without one get an undeliverable address (RFC 6761 section 6.4).
func (r *run) address(p foreign.Person) mailaddr.Address {
	a := mailaddr.Address{Name: p.Name, Email: strings.TrimSpace(p.Email())}
	if mailaddr.Valid(a.Email) {
		return a
	}
	id := unsafeID.ReplaceAllString(p.ID, "-")
	if id == "" {
		return mailaddr.Address{Name: p.Name, Email: ledger.UnknownSender}
	}
	if !r.told[id] { // once per person, however many messages they wrote
		r.told[id] = true
		r.Problems.Add("a customer has no address: you cannot reply to them", called(p))
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
			r.Problems.Add("a saved reply has a placeholder that does not exist here: it is shown as ["+name+"]", reply.Place)
			return "[" + name + "]"
		})
		name := strings.TrimSpace(reply.Name)
		if runes := []rune(name); len(runes) > 100 {
			name = string(runes[:100])
		}
		actions, err := r.actions(ctx, reply)
		if err != nil {
			return err
		}
		if text == "" && len(actions) == 0 { // its members and teams are not here
			r.Problems.Add("a saved reply was skipped: nothing of what it does is here", reply.Place)
			return nil
		}
		created, err := r.moveIn.Replies(ctx, r.cfg.AccountID, []helpdesk.SavedReplyInput{{Name: name, Body: text, Actions: storage.Some(actions)}})
		switch {
		case fault.Is(err, fault.Invalid):
			r.Problems.Add("a saved reply was skipped: "+err.Error(), reply.Place)
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

// actions returns what a saved reply does besides, as the actions of a macro. Members and teams that are not here are left out.
func (r *run) actions(ctx context.Context, reply foreign.Reply) ([]rules.Action, error) {
	var all []rules.Action
	add := func(kind rules.ActionType, values ...string) {
		if len(values) > 0 && values[0] != "" {
			all = append(all, rules.Action{Type: kind, Values: values})
		}
	}
	d := reply.Does
	if d.Sets {
		add(rules.SetStatus, string(statuses[d.State]))
	}
	add(rules.SetPriority, d.Priority)
	for _, tags := range []struct {
		kind  rules.ActionType
		names []string
	}{{rules.AddTags, d.AddTags}, {rules.RemoveTags, d.RemoveTags}} {
		ids, err := r.moveIn.Tags(ctx, r.cfg.AccountID, tags.names)
		if err != nil {
			return nil, err
		}
		add(tags.kind, idTexts(ids)...)
	}
	if d.Unassigns {
		all = append(all, rules.Action{Type: rules.Unassign})
	}
	for _, to := range []struct {
		kind rules.ActionType
		id   int64
		here bool // or not asked for
	}{
		{rules.AssignTeam, r.people.Team(d.Team), d.Team == ""},
		{rules.AssignUser, r.people.Member(d.Assignee.Email()), d.Assignee.Email() == ""},
	} {
		if to.id != 0 {
			add(to.kind, idTexts([]int64{to.id})...)
		} else if !to.here {
			r.Problems.Add("an action of a saved reply is left out: its member or team is not here", reply.Place)
		}
	}
	for _, v := range d.Values {
		f, err := r.field(ctx, v.Of)
		if err != nil {
			return nil, err
		}
		if f.ID > 0 && f.Check(v.Texts) == "" { // a dry run makes none
			all = append(all, rules.Action{Type: rules.SetField, Field: f.Key, Values: v.Texts})
		}
	}
	add(rules.AddNote, d.Note)
	return all, nil
}

func idTexts(ids []int64) []string {
	var texts []string
	for _, id := range ids {
		texts = append(texts, strconv.FormatInt(id, 10))
	}
	return texts
}

var unknownPlaceholder = regexp.MustCompile(`\{\{[^{}]*\}\}`)

func (r *run) takeConversations(ctx context.Context) error {
	err := r.source.Conversations(ctx, func(c foreign.Conversation) error {
		fields, err := r.values(ctx, c.Values, &c.Extra)
		if err != nil {
			return err
		}
		past := r.conversation(c)
		past.Fields = fields
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

// outcome is the result for a conversation. If it occurs several times in the source, the greatest counts.
type outcome int

const (
	erased outcome = iota + 1
	deleted
	known
	changed
	created
)

func outcomeOf(r helpdesk.ImportResult) outcome {
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

// conversation converts a conversation.
func (r *run) conversation(c foreign.Conversation) helpdesk.ImportedConversation {
	past := helpdesk.ImportedConversation{
		Key: c.ID, Subject: c.Subject, Status: statuses[c.State], Priority: helpdesk.Priority(c.Priority), Spam: c.Spam,
		Customer: r.address(c.Customer), UserID: r.people.Member(c.Assignee.Email()), TeamID: r.people.Team(c.Team), Tags: c.Tags,
		CreatedAt: c.Created, UpdatedAt: c.Updated,
	}
	if c.Rating.Good || c.Rating.Bad { // when it was given is not told
		past.Rating = helpdesk.ImportedRating{Score: 1, Scale: 2, Comment: c.Rating.Comment, UserID: past.UserID, At: c.Updated}
		if c.Rating.Good {
			past.Rating.Score = 2
		}
	}
	extra := slices.Clone(c.Extra)
	if past.UserID == 0 && c.Assignee.Name+c.Assignee.Email() != "" {
		r.Unassigned.Add("assignee "+called(c.Assignee)+" is not a member", c.Place)
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

// copies adds the recipients of copies to the first message, which makes them participants.
func (r *run) copies(c foreign.Conversation, past *helpdesk.ImportedConversation, extra *[]foreign.Field) {
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

// message converts a message and adds the fields without a counterpart to extra.
func (r *run) message(c foreign.Conversation, m foreign.Message, extra *[]foreign.Field) helpdesk.ImportedMessage {
	past := helpdesk.ImportedMessage{
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
			*extra = append(*extra, foreign.Field{Name: "missing file", Value: cmp.Or(f.Name, f.ID)})
			continue
		}
		past.Files = append(past.Files, helpdesk.ImportedFile{
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

// Limits for the fields without a counterpart that a note shows. The note's file then has all of them.
const (
	shownValue = 500
	shownNote  = 8 << 10
)

// note says where a conversation comes from and lists its fields without a counterpart. It follows the first message.
func (r *run) note(c foreign.Conversation, past helpdesk.ImportedConversation, extra []foreign.Field) helpdesk.ImportedMessage {
	format := r.source.Format()
	text := fmt.Sprintf("From %s, %s %s", format.Title, format.What, cmp.Or(c.Number, c.ID))
	list := lines(extra, shownValue)
	note := helpdesk.ImportedMessage{Key: "note", Type: helpdesk.TypeNote, Author: mailaddr.Address{Name: format.Title}, At: c.Created}
	if len(past.Messages) > 0 {
		note.At = past.Messages[0].At
	}
	if len(list) > shownNote || slices.ContainsFunc(extra, func(f foreign.Field) bool { return len(f.Value) > shownValue }) {
		list = list[:min(len(list), shownNote)]
		whole, _ := json.MarshalIndent(extra, "", "  ") // text always encodes
		note.Files = []helpdesk.ImportedFile{{Filename: "fields.json", ContentType: "application/json", Open: func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(whole)), nil
		}}}
	}
	note.HTML = "<p>" + html.EscapeString(text) + "</p>"
	if list != "" {
		note.HTML += "<p>" + strings.ReplaceAll(html.EscapeString(strings.ToValidUTF8(list, "")), "\n", "<br>") + "</p>"
	}
	return note
}

// lines returns one line per field, with at most n bytes of its value.
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
