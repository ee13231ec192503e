// Package hal reads what the APIs of Help Scout and FreeScout have in common: conversations with threads, customers and
// users as HAL documents. FreeScout's API has been made after that of Help Scout.
package hal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/movein/foreign"
)

// Dialect is what one of the APIs has of its own.
type Dialect struct {
	Format foreign.Format
	// Fields of the records that have no place, and that are left out.
	Conversation, Thread, Customer, Attachment foreign.Fields
	// Placeholders of saved replies that this help desk has by another name.
	Placeholders *strings.Replacer
}

// Source reads files. It implements [foreign.Source].
type Source struct {
	Dialect
	scanner       foreign.Scanner
	folder        *foreign.Folder
	report        foreign.Report
	customers     *foreign.Index[struct{}]
	conversations *foreign.Index[struct{}]
	mailboxes     map[string]string
	threads       map[string][]string // files by conversation
	properties    map[property]*foreign.Property
}

// property is what a field that people have made is told by.
type property struct {
	name       string
	ofCustomer bool
}

// Open looks through a folder: it reads all of it once.
func Open(ctx context.Context, cfg foreign.Config, d Dialect) (*Source, error) {
	if cfg.Files == nil {
		return nil, errors.New(d.Format.Name + ": Files is required")
	}
	s := &Source{Dialect: d, mailboxes: map[string]string{}, threads: map[string][]string{}, properties: map[property]*foreign.Property{}}
	s.scanner = foreign.Scanner{
		Config: cfg, Report: &s.report,
		Collections: []string{"conversations", "customers", "users", "teams", "mailboxes", "tags", "threads", "saved_replies"},
	}
	nothing := func(foreign.Object) struct{} { return struct{}{} }
	s.customers, s.conversations = foreign.NewIndex(s.scanner, nothing), foreign.NewIndex(s.scanner, nothing)
	var err error
	if s.folder, err = foreign.OpenFolder(ctx, cfg.Files, &s.report); err != nil {
		return nil, err
	}
	for _, file := range s.folder.Records {
		if id := threadsOf(file); id != "" {
			s.threads[id] = append(s.threads[id], file)
			continue
		}
		if err := s.scanner.Scan(ctx, file, s.index); err != nil {
			return nil, err
		}
	}
	s.scanner.Report = &foreign.Report{} // what is wrong with the files was told
	return s, nil
}

// Format implements [foreign.Source].
func (s *Source) Format() foreign.Format { return s.Dialect.Format }

// Report implements [foreign.Source].
func (s *Source) Report() *foreign.Report { return &s.report }

// Open implements [foreign.Source].
func (s *Source) Open(f foreign.File) (fs.File, error) { return s.scanner.Files.Open(f.Path) }

var number = regexp.MustCompile(`\d+`)

// threadsOf is the conversation whose threads a file has: threads/123.json, threads/123-2.json or
// conversations/123/threads.json. "" is returned for other files.
func threadsOf(file string) string {
	dir, base := path.Split(file)
	parent := path.Base(dir)
	base = strings.TrimSuffix(base, path.Ext(base))
	switch {
	case strings.HasPrefix(base, "threads") && number.FindString(parent) == parent:
		return parent
	case parent == "threads":
		return number.FindString(base)
	}
	return ""
}

// kind is what a record is. Those that stand in no list are told by their fields.
func kind(r foreign.Record, o foreign.Object) string {
	switch {
	case r.Collection != "":
		return r.Collection
	case o.Has("subject") || o.Has("mailboxId"):
		return "conversations"
	case o.Has("name") && (o.Has("text") || o.Has("preview") || o.Has("chatText")):
		return "saved_replies"
	case o.Has("role"):
		return "users"
	case o.Has("firstName") || o.Has("lastName") || o.Has("jobTitle"):
		return "customers"
	}
	return ""
}

func (s *Source) index(r foreign.Record) error {
	o, err := foreign.ParseObject(r.Raw, r.Place())
	if err != nil {
		s.report.Problems.Add("a record is left out: "+err.Error(), r.Place())
		return nil //nolint:nilerr // it is in the report
	}
	switch id := o.Peek("id"); kind(r, o) {
	case "conversations":
		// Lists have conversations without threads, which may be in the files once more, with them.
		if threads := o.Object("_embedded"); threads.Has("threads") || !s.conversations.Has(id) {
			s.conversations.Add(id, r)
		}
	case "customers":
		s.customers.Add(id, r)
	case "mailboxes":
		s.mailboxes[id] = o.Text("name")
	case "users", "teams", "tags", "saved_replies":
	case "threads":
		s.report.Problems.Add("a thread is left out: its file does not tell the conversation; call it threads/NUMBER.json", r.Place())
	default:
		s.report.Problems.Add("a record is left out: it is none that is known", r.Place())
	}
	return nil
}

// each calls fn with the records of a kind.
func (s *Source) each(ctx context.Context, what string, fn func(foreign.Record, foreign.Object) error) error {
	for _, file := range s.folder.Records {
		if threadsOf(file) != "" {
			continue
		}
		if err := s.scanner.Scan(ctx, file, func(r foreign.Record) error {
			o, err := foreign.ParseObject(r.Raw, r.Place())
			if err != nil || kind(r, o) != what {
				return nil //nolint:nilerr // it was told when the files were opened
			}
			return fn(r, o)
		}); err != nil {
			return err
		}
	}
	return nil
}

// People implements [foreign.Source].
func (s *Source) People(ctx context.Context, fn func(foreign.Person) error) error {
	if err := s.each(ctx, "users", func(_ foreign.Record, o foreign.Object) error {
		p := person(o)
		p.Agent = true
		for _, f := range o.Rest(&foreign.Report{}, "", foreign.Fields{}) {
			s.report.LeftOut.Add("user."+f.Name, o.Place)
		}
		return fn(p)
	}); err != nil {
		return err
	}
	return s.each(ctx, "customers", func(r foreign.Record, o foreign.Object) error {
		if !s.customers.Is(o.Peek("id"), r) {
			return nil // a later one counts
		}
		return fn(s.customer(o))
	})
}

// person takes who somebody is, as records have it that name people.
func person(o foreign.Object) foreign.Person {
	p := foreign.Person{ID: o.ID("id")}
	p.Name = strings.TrimSpace(o.First("first", "firstName") + " " + o.First("last", "lastName"))
	if email := o.Text("email"); email != "" {
		p.Emails = []string{email}
	}
	kind := o.Text("type")
	p.Agent = kind == "user" || kind == "system_user" || kind == "team"
	return p
}

func (s *Source) customer(o foreign.Object) foreign.Person {
	p := person(o)
	p.Agent = false
	p.Company, p.Note = o.First("organization", "company"), o.First("background", "notes")
	inside := o.Object("_embedded")
	p.Emails = values(inside, "emails", p.Emails)
	p.Phones, p.Websites = values(inside, "phones", nil), values(inside, "websites", nil)
	for _, list := range []string{"social_profiles", "chats"} {
		some, _ := inside.Objects(list)
		for _, one := range some {
			p.Extra = append(p.Extra, foreign.Field{Name: cmp.Or(one.Text("type"), list), Value: one.Text("value")})
		}
	}
	for _, list := range [...]foreign.Object{inside, o} {
		for _, name := range []string{"properties", "customerFields"} {
			p.Values = append(p.Values, s.named(list, name, true)...)
		}
	}
	p.Extra = append(p.Extra, o.Rest(&s.report, "customer.", s.Customer)...)
	p.Extra = append(p.Extra, inside.Rest(&s.report, "customer.", foreign.Fields{Kept: []string{"address"}})...)
	return p
}

// values are those of a list of things such as addresses, behind those that are known.
func values(o foreign.Object, name string, known []string) []string {
	list, _ := o.Objects(name)
	for _, one := range list {
		if value := one.Text("value"); value != "" && !slices.Contains(known, value) {
			known = append(known, value)
		}
	}
	return known
}

// named are the values of fields that people have made. The files do not tell their types.
func (s *Source) named(o foreign.Object, name string, ofCustomer bool) (values []foreign.Value) {
	list, _ := o.Objects(name)
	for _, one := range list {
		value := one.First("text", "value")
		if value != "" {
			of := foreign.Property{Name: cmp.Or(one.Text("name"), "field "+one.Text("id")), OfCustomer: ofCustomer, Type: foreign.PropertyText}
			key := property{of.Name, ofCustomer}
			if s.properties[key] == nil {
				s.properties[key] = &of
			}
			values = append(values, foreign.Value{Of: s.properties[key], Texts: []string{value}})
		}
	}
	return values
}

// Replies implements [foreign.Source].
func (s *Source) Replies(ctx context.Context, fn func(foreign.Reply) error) error {
	return s.each(ctx, "saved_replies", func(r foreign.Record, o foreign.Object) error {
		reply := foreign.Reply{ID: o.ID("id"), Name: o.Text("name"), HTML: o.First("text", "chatText"), Place: r.Place()}
		if reply.HTML == "" {
			s.report.Problems.Add("a saved reply is left out: its file has the preview only; ask for each by its id", r.Place())
			return nil
		}
		reply.HTML = s.Placeholders.Replace(reply.HTML)
		return fn(reply)
	})
}

// Conversations implements [foreign.Source].
func (s *Source) Conversations(ctx context.Context, fn func(foreign.Conversation) error) error {
	return s.each(ctx, "conversations", func(r foreign.Record, o foreign.Object) error {
		if !s.conversations.Is(o.Peek("id"), r) {
			return nil
		}
		c, err := s.conversation(ctx, r, o)
		if err != nil || c.ID == "" {
			return err
		}
		return fn(c)
	})
}

var states = map[string]foreign.State{"active": foreign.Open, "open": foreign.Open, "pending": foreign.Pending, "closed": foreign.Closed, "spam": foreign.Closed}

// conversation takes a conversation. One without an ID is left out.
func (s *Source) conversation(ctx context.Context, r foreign.Record, o foreign.Object) (c foreign.Conversation, err error) {
	c = foreign.Conversation{
		ID: o.ID("id"), Number: o.ID("number"), Subject: o.Text("subject"), Status: o.Text("status"), Created: o.Time("createdAt"), Place: r.Place(),
	}
	for _, name := range []string{"updatedAt", "userUpdatedAt", "closedAt"} {
		if at := o.Time(name); at.After(c.Updated) {
			c.Updated = at
		}
	}
	if state := o.Text("state"); state == "deleted" || state == "draft" {
		s.report.Problems.Add("a conversation is left out: its state is "+state, r.Place())
		return foreign.Conversation{}, nil
	}
	var known bool
	if c.State, known = states[c.Status]; !known {
		o.Put("status", c.Status)
	}
	c.Spam = c.Status == "spam"
	s.report.Statuses.Add(cmp.Or(c.Status, "no status")+" becomes "+c.State.String(), r.Place())
	s.people(o, &c)
	inside := o.Object("_embedded")
	c.Tags = tags(o, inside)
	c.Values = s.named(o, "customFields", false)
	if id := o.ID("mailboxId"); id != "" {
		c.Extra = append(c.Extra, foreign.Field{Name: "mailbox", Value: cmp.Or(s.mailboxes[id], id)})
	}
	if err := s.messages(ctx, o, inside, &c); err != nil {
		return c, err
	}
	c.Extra = append(c.Extra, o.Rest(&s.report, "conversation.", s.Conversation)...)
	c.Extra = append(c.Extra, inside.Rest(&s.report, "conversation.", s.Conversation)...)
	return c, nil
}

// people takes who a conversation is with, and who works on it.
func (s *Source) people(o foreign.Object, c *foreign.Conversation) {
	for _, name := range []string{"primaryCustomer", "customer", "createdBy"} {
		p := person(o.Object(name))
		if c.Customer.ID == "" && c.Customer.Email() == "" && !p.Agent {
			c.Customer = p
		}
	}
	if assignee := o.Object("assignee"); assignee.Peek("type") == "team" {
		c.Team = person(assignee).Name
	} else {
		c.Assignee = person(assignee)
	}
	for _, list := range []string{"cc", "bcc"} {
		for _, email := range o.Texts(list) {
			c.Cc = append(c.Cc, foreign.Person{Emails: []string{email}})
		}
	}
}

// tags are those of a conversation, in the one API or the other.
func tags(o, inside foreign.Object) (names []string) {
	for _, in := range []foreign.Object{o, inside} {
		list, _ := in.Objects("tags")
		for _, one := range list {
			if name := one.First("tag", "name"); name != "" {
				names = append(names, name)
			}
		}
		names = append(names, in.Texts("tags")...)
	}
	return names
}

// messages takes the threads of a conversation: those that it has itself, and those of its files.
func (s *Source) messages(ctx context.Context, o, inside foreign.Object, c *foreign.Conversation) error {
	list, _ := inside.Objects("threads")
	for _, file := range s.threads[c.ID] {
		told := s.scanner
		told.Report = &s.report // these files were not read before
		if err := told.Scan(ctx, file, func(r foreign.Record) error {
			one, err := foreign.ParseObject(r.Raw, r.Place())
			if err != nil || r.Collection != "" && r.Collection != "threads" {
				s.report.Problems.Add("a record is left out: it is no thread", r.Place())
				return nil //nolint:nilerr // it is in the report
			}
			list = append(list, one)
			return nil
		}); err != nil {
			return err
		}
	}
	seen := map[string]bool{}
	for _, one := range list {
		m, ok := s.message(one, *c)
		if !ok || seen[m.ID] {
			continue
		}
		seen[m.ID] = true
		for _, f := range m.Extra {
			c.Extra = append(c.Extra, foreign.Field{Name: "thread " + m.ID + " " + f.Name, Value: f.Value})
		}
		c.Messages = append(c.Messages, m)
	}
	if len(list) == 0 {
		s.report.Problems.Add("a conversation has no threads in the files: ask for it with embed=threads", o.Place)
	}
	slices.SortStableFunc(c.Messages, func(a, b foreign.Message) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(foreign.Number(a.ID), foreign.Number(b.ID)))
	})
	return nil
}

// message takes a thread. It is not ok if it says nothing.
func (s *Source) message(o foreign.Object, c foreign.Conversation) (m foreign.Message, ok bool) {
	kind, state := o.Text("type"), o.Text("state")
	if kind == "lineitem" {
		s.report.LeftOut.Add("line items: what was done with a conversation", o.Place)
		return m, false
	}
	if state == "draft" || state == "hidden" || state == "underreview" {
		s.report.Problems.Add("a thread is left out: its state is "+state, o.Place)
		return m, false
	}
	m = foreign.Message{ID: o.ID("id"), HTML: o.Text("body"), To: o.Texts("to"), Cc: o.Texts("cc"), Bcc: o.Texts("bcc"), At: o.Time("createdAt")}
	if m.At.IsZero() {
		m.At = c.Created
	}
	if m.ID == "" {
		m.ID = fmt.Sprintf("at %d", m.At.Unix())
	}
	by, customer := person(o.Object("createdBy")), person(o.Object("customer"))
	m.Author = by
	switch {
	case kind == "note" || kind == "forwardparent" || kind == "forwardchild":
		m.Kind = foreign.Note
	case kind == "customer":
		m.Kind = foreign.FromCustomer
		if by.Agent || by.ID+by.Email() == "" {
			m.Author = customer
		}
	case kind == "message" || by.Agent:
		m.Kind = foreign.FromAgent
	case kind == "chat" || kind == "beaconchat" || kind == "phone":
		m.Kind = foreign.FromCustomer
	default:
		s.report.Problems.Add("a thread is of a type that is not known, and becomes a note: "+kind, o.Place)
		m.Kind = foreign.Note
	}
	if m.Kind == foreign.FromCustomer && m.Author.ID+m.Author.Email() == "" {
		m.Author = c.Customer
	}
	inside := o.Object("_embedded")
	s.files(o, inside, &m)
	m.Extra = append(o.Rest(&s.report, "thread.", s.Thread), inside.Rest(&s.report, "thread.", foreign.Fields{})...)
	return m, true
}

// files takes the attachments of a thread, and shows those of its text that are there.
func (s *Source) files(o, inside foreign.Object, m *foreign.Message) {
	list, _ := inside.Objects("attachments")
	for _, a := range list {
		f := foreign.File{ID: a.ID("id"), Name: a.First("filename", "fileName"), Type: a.Text("mimeType")}
		if f.Path = s.folder.Attachment(f.ID, f.Name); f.Path == "" {
			s.report.Problems.Add("a file of a thread is not in the folder attachments", o.Place)
		}
		if url := a.Text("fileUrl"); url != "" && f.Path != "" {
			for _, text := range []string{url, strings.ReplaceAll(url, "&", "&amp;")} {
				if strings.Contains(m.HTML, `src="`+text+`"`) {
					f.ContentID, f.Inline = f.ID+"@"+s.Dialect.Format.Name, true
					m.HTML = strings.ReplaceAll(m.HTML, `src="`+text+`"`, `src="cid:`+f.ContentID+`"`)
				}
			}
		}
		a.Rest(&s.report, "attachment.", s.Attachment)
		m.Files = append(m.Files, f)
	}
}
