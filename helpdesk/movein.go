package helpdesk

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/filetype"
	"github.com/helpwright/helpwright/storage/plain"
)

// moveIn is the one permission of a MoveIn.
const moveIn identity.Permission = "account.move_in"

// MoveIn files what was said at another help desk. It sends nothing, notifies nobody and wakes no webhook but by one event
// mailbox.moved_in for each call. It reads no conversation.
type MoveIn struct {
	svc       *Service
	desk      func(accountID int64) deskGuard
	rehearsal *rehearsal // nil: what is brought is stored
}

// MoveIn returns the handle of whoever brings the data of another help desk here.
func (s *Service) MoveIn() *MoveIn {
	allows := func(p identity.Permission) bool { return p == moveIn }
	return &MoveIn{svc: s, desk: func(accountID int64) deskGuard { return s.scoped(Scope{AccountID: accountID}, allows) }}
}

// PastConversation is a conversation of another help desk.
type PastConversation struct {
	// Key is its id there; required, at most 200 bytes.
	Key      string
	Subject  string   // cut after 998 characters
	Status   Status   // "" means posted
	Priority Priority // "" means normal
	Spam     bool     // it is closed, too
	// Customer is whom answers go to. Without a valid address it is [ledger.UnknownSender].
	Customer mailaddr.Address
	UserID   int64    // assigned member; who is none here is nobody
	TeamID   int64    // assigned team; one that is not here is none
	Tags     []string // names, at most [MaxTags] of which count; those that are new are made
	// CreatedAt and UpdatedAt are cut to what its messages and the clock allow.
	CreatedAt, UpdatedAt time.Time
	Messages             []PastMessage // in any order; required
}

// PastMessage is what somebody wrote there.
type PastMessage struct {
	// Key is its id within the conversation; required, at most 200 bytes.
	Key  string
	Type InteractionType // required
	// Author is who wrote it. Of a customer's message it is the customer, without a valid address that of the conversation.
	Author      mailaddr.Address
	UserID      int64              // the member who wrote a user's or a note; 0: Author is no member here, and is shown by name
	To, Cc, Bcc []mailaddr.Address // of a user's, Bcc of no other; none: it went to the customer
	Subject     string
	// HTML is preferred to Text. Of more than [MaxBody] the beginning is shown and the whole is attached.
	HTML, Text    string
	MessageID     string // without angle brackets; by it later mails find the conversation
	References    []string
	AutoSubmitted bool
	At            time.Time // zero or in the future: now
	Files         []PastFile
}

// PastFile is a file of a message.
type PastFile struct {
	Filename, ContentType, ContentID string
	Inline                           bool
	Open                             func() (io.ReadCloser, error) // required; called once at most
}

// PastResult is what became of a conversation.
type PastResult struct {
	ConversationID int64 // 0: it was deleted here, and does not come back
	Created        bool  // it was not here
	Filed, Known   int   // of its messages: those that were filed now, and before
	Files          int   // of the messages that were filed now
	Customers      int   // that were made for it: its own, and those who wrote messages
	Changed        bool  // it was here, and got the status, the assignees and the tags that it has there meanwhile
	Erased         bool  // it is from before its customer was erased, and does not come back
}

// unerased are the customers of whom no address was erased.
func (s *Service) unerased(ctx context.Context, r Reader, all []PastCustomer) ([]PastCustomer, error) {
	var emails []string
	for _, c := range all {
		emails = append(emails, c.Emails...)
	}
	erased, err := s.erasedAddresses(ctx, r, emails)
	if err != nil || len(erased) == 0 {
		return all, err
	}
	return slices.DeleteFunc(slices.Clone(all), func(c PastCustomer) bool {
		return slices.ContainsFunc(c.Emails, func(email string) bool { return !erased[email].IsZero() })
	}), nil
}

// File files conversations in one transaction, so they should be few. source is the help desk they come from, such as
// "zendesk"; with the keys of a conversation and a message it says which message that is, in whatever mailbox it was filed.
// A message that was filed before is left alone, and so are all of a conversation that was deleted here, or that is from
// before its customer was erased, see [Erasure]. Of what an erased customer wrote in conversations of others only the place
// is filed. A conversation that is here takes over status, priority, assignees and tags where it was changed there later
// than here.
func (m *MoveIn) File(ctx context.Context, accountID, mailboxID int64, source string, all []PastConversation) ([]PastResult, error) {
	begin, err := m.desk(accountID).Write(moveIn)
	if err != nil {
		return nil, err
	}
	if err := checkPast(source, all); err != nil {
		return nil, err
	}
	r, err := m.desk(accountID).Read(moveIn)
	if err != nil {
		return nil, err
	}
	p := &past{
		svc: m.svc, accountID: accountID, mailboxID: mailboxID, source: source, conversations: all, now: m.svc.now(), rehearsal: m.rehearsal,
	}
	if err := p.findKnown(ctx, r); err != nil {
		return nil, err
	}
	if err := p.findErased(ctx, r); err != nil {
		return nil, err
	}
	if p.rehearsal != nil {
		return p.rehearse(ctx, r)
	}
	if err := p.prepare(ctx); err != nil {
		p.discard(ctx, err)
		return nil, err
	}
	err = retryUnique(func() error { return begin(ctx, p.fileAll) }, UniqueCustomerEmail, ledger.UniqueIdentity, UniqueTag)
	p.discard(ctx, err)
	if err != nil {
		return nil, err
	}
	return p.results, nil
}

func checkPast(source string, all []PastConversation) error {
	var problems fault.Collector
	problems.Check(source != "" && len(source) <= 50, "source", "is required, with at most 50 bytes")
	for n, c := range all {
		field := fmt.Sprintf("conversations[%d]", n)
		problems.Check(c.Key != "" && len(c.Key) <= 200, field+"[key]", "is required, with at most 200 bytes")
		problems.Check(c.Status == "" || c.Status.valid(), field+"[status]", "must be posted, draft, pending or closed")
		problems.Check(c.Priority == "" || c.Priority.valid(), field+"[priority]", mustBePriority)
		problems.Check(len(c.Messages) > 0, field+"[messages]", "is required")
		for _, msg := range c.Messages {
			problems.Check(msg.Key != "" && len(msg.Key) <= 200, field+"[messages]", "each needs a key, with at most 200 bytes")
			problems.Check(slices.Contains([]InteractionType{TypeUser, TypeCustomer, TypeNote}, msg.Type), field+"[messages]", "each needs a type: user, customer or note")
		}
	}
	return problems.Err()
}

// past is the work of filing some conversations of another help desk.
type past struct {
	svc                  *Service
	accountID, mailboxID int64
	source               string
	conversations        []PastConversation
	now                  time.Time
	erased               map[string]time.Time // when addresses were erased, by mailaddr.Key
	known                map[string]int64     // by identity: the conversation of a message that was filed, 0 if it is gone
	prepared             map[string]preparedPast
	stored               map[string]bool // keys of files; true: a row names them
	rehearsal            *rehearsal      // nil: it is no rehearsal
	results              []PastResult

	// Of one run of the transaction:
	mailbox   Mailbox
	users     map[int64]bool
	teams     map[int64]bool
	tags      map[string]int64
	customers map[string]Customer
	made      int // of these
	index     indexing
	rows      []*ledger.Mail
}

// preparedPast is what of a message can be made before the transaction.
type preparedPast struct {
	body  string
	files []Attachment
}

// identity is by what a message is known, whatever mailbox it is filed in.
func (p *past) identity(c PastConversation, m PastMessage) string {
	h := sha256.New()
	for _, part := range []string{"past", p.source, c.Key, m.Key} {
		_ = binary.Write(h, binary.BigEndian, uint64(len(part))) // a hash takes all
		_, _ = io.WriteString(h, part)
	}
	return string(h.Sum(nil))
}

// How much one statement of a database has.
const (
	maxIdentities = 500 // identities, and what is as short
	pastRows      = 20  // rows with bodies
)

// findKnown looks which messages were filed before.
func (p *past) findKnown(ctx context.Context, r ledger.Reader) error {
	p.known = map[string]int64{}
	var identities [][]byte
	for _, c := range p.conversations {
		for _, m := range c.Messages {
			identities = append(identities, []byte(p.identity(c, m)))
		}
	}
	for some := range slices.Chunk(identities, maxIdentities) {
		rows, err := r.InboundByIdentity(ctx, some)
		if err != nil {
			return err
		}
		for _, row := range rows {
			key := string(row.Identity)
			p.known[key] = cmp.Or(p.known[key], row.ConversationID)
		}
	}
	p.rehearsal.recall(identities, p.known)
	return nil
}

// findErased looks which addresses were erased, and removes these from the conversations of others.
func (p *past) findErased(ctx context.Context, r Reader) error {
	var keys []string
	for _, c := range p.conversations {
		keys = append(keys, c.addressKeys()...)
	}
	slices.Sort(keys)
	var err error
	if p.erased, err = p.svc.erased(ctx, r, slices.Compact(keys)); err != nil || len(p.erased) == 0 {
		return err
	}
	p.conversations = slices.Clone(p.conversations)
	for n := range p.conversations {
		if c := &p.conversations[n]; !p.isErased(*c) {
			c.Messages = slices.Clone(c.Messages)
			for i := range c.Messages {
				p.strip(&c.Messages[i])
			}
		}
	}
	return nil
}

// addressKeys are the keys of the customer and of who wrote and got messages.
func (c PastConversation) addressKeys() []string {
	keys := []string{mailaddr.Key(plain.Line(c.Customer.Email))}
	for _, m := range c.Messages {
		for _, a := range slices.Concat([]mailaddr.Address{m.Author}, m.To, m.Cc, m.Bcc) {
			keys = append(keys, mailaddr.Key(plain.Line(a.Email)))
		}
	}
	return keys
}

// erasedBy reports whether an address was erased after a time. A zero time is before.
func (p *past) erasedBy(a mailaddr.Address, at time.Time) bool {
	when, found := p.erased[mailaddr.Key(plain.Line(a.Email))]
	return found && !at.After(when)
}

// isErased reports whether a conversation is from before its customer was erased.
func (p *past) isErased(c PastConversation) bool {
	began := c.CreatedAt
	for _, m := range c.Messages {
		if !m.At.IsZero() && (began.IsZero() || m.At.Before(began)) {
			began = m.At
		}
	}
	return p.erasedBy(c.Customer, began)
}

// strip removes erased addresses from a message in another's conversation, and all of it if one of them wrote it.
func (p *past) strip(m *PastMessage) {
	is := func(a mailaddr.Address) bool { return p.erasedBy(a, m.At) }
	if is(m.Author) {
		*m = PastMessage{Key: m.Key, Type: m.Type, Author: erasedCustomer, HTML: erasedBody, AutoSubmitted: true, At: m.At}
		return
	}
	for _, list := range []*[]mailaddr.Address{&m.To, &m.Cc, &m.Bcc} {
		*list = slices.DeleteFunc(slices.Clone(*list), is)
	}
}

// here finds the conversation that the messages which were filed are in: known says that there are any.
func (p *past) here(c PastConversation) (id int64, known bool) {
	for _, m := range c.Messages {
		if in, ok := p.known[p.identity(c, m)]; ok {
			id, known = cmp.Or(id, in), true
		}
	}
	return id, known
}

// prepare cleans bodies and stores files.
func (p *past) prepare(ctx context.Context) error {
	p.prepared, p.stored = map[string]preparedPast{}, map[string]bool{}
	for _, c := range p.conversations {
		if id, known := p.here(c); known && id == 0 || p.isErased(c) {
			continue
		}
		for _, m := range c.Messages {
			identity := p.identity(c, m)
			if _, known := p.known[identity]; known {
				continue
			}
			if _, twice := p.prepared[identity]; twice {
				continue
			}
			one, err := p.prepareMessage(ctx, m)
			if err != nil {
				return err
			}
			p.prepared[identity] = one
		}
	}
	return nil
}

func (p *past) prepareMessage(ctx context.Context, m PastMessage) (preparedPast, error) {
	files := slices.Clone(m.Files)
	parts := make([]message.Part, len(files))
	for n, file := range files {
		parts[n] = message.Part{Filename: file.Filename, ContentID: file.ContentID}
	}
	f := &filing{svc: p.svc, accountID: p.accountID, now: p.now, mail: ledger.Incoming{Message: message.Message{HTML: plain.Text(m.HTML), Text: plain.Text(m.Text), Attachments: parts}}}
	f.prepareBody()
	for n := range files {
		files[n].ContentID = f.mail.Attachments[n].ContentID
	}
	for _, whole := range f.mail.Attachments[len(files):] {
		files = append(files, PastFile{Filename: whole.Filename, ContentType: whole.ContentType, Open: func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(whole.Body)), nil
		}})
	}
	one := preparedPast{body: f.body}
	for n, file := range files {
		a, err := p.putFile(ctx, n, file)
		if err != nil {
			return one, err
		}
		one.files = append(one.files, a)
	}
	return one, nil
}

func (p *past) putFile(ctx context.Context, n int, f PastFile) (Attachment, error) {
	content, err := f.Open()
	if err != nil {
		return Attachment{}, err
	}
	defer func() { _ = content.Close() }() // it is only read
	if p.rehearsal != nil {
		return Attachment{}, nil
	}
	buffered := bufio.NewReaderSize(content, filetype.HeadSize)
	head, _ := buffered.Peek(filetype.HeadSize) // an error is met again when the file is stored
	kind := filetype.TrueImage(plain.Cut(plain.Line(f.ContentType), 200), head)
	key, counted := fileKey(p.accountID), &countingReader{Reader: buffered}
	p.stored[key] = false
	if _, err := p.svc.cfg.Blobs.Put(ctx, key, counted); err != nil {
		return Attachment{}, err
	}
	return Attachment{
		Filename:    cmp.Or(filetype.SafeName(f.Filename), fmt.Sprintf("attachment-%d", n+1)),
		ContentType: kind, ContentID: plain.Cut(plain.Line(f.ContentID), 998),
		Size: counted.n, IsInline: f.Inline, BlobKey: key, CreatedAt: p.now,
	}, nil
}

type countingReader struct {
	io.Reader
	n int64
}

// Read implements [io.Reader].
func (r *countingReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.n += int64(n)
	return n, err
}

// discard removes the files that no row came to name.
func (p *past) discard(ctx context.Context, err error) {
	var unnamed []string
	for key, named := range p.stored {
		if err != nil || !named {
			unnamed = append(unnamed, key)
		}
	}
	p.svc.discard(ctx, err, unnamed...)
}

// fileAll is the transaction.
func (p *past) fileAll(ctx context.Context, tx Tx) error {
	p.results, p.rows, p.index, p.customers, p.made = nil, nil, indexing{}, map[string]Customer{}, 0
	for key := range p.stored {
		p.stored[key] = false
	}
	if err := tx.LockAccount(ctx); err != nil { // two that file the same do it one after the other
		return err
	}
	if err := p.findKnown(ctx, tx); err != nil {
		return err
	}
	if err := p.load(ctx, tx.Reader()); err != nil {
		return err
	}
	if err := p.loadTags(ctx, tx); err != nil {
		return err
	}
	changed := false
	for _, c := range p.conversations {
		result, err := p.fileOne(ctx, pastTx{tx, p}, c)
		if err != nil {
			return err
		}
		p.results = append(p.results, result)
		changed = changed || result.Filed > 0 || result.Changed
	}
	if !changed {
		return nil
	}
	for some := range slices.Chunk(p.rows, maxIdentities) {
		if err := tx.InsertInbound(ctx, some); err != nil {
			return err
		}
	}
	if err := p.index.write(ctx, tx); err != nil {
		return err
	}
	return tx.Emit(ctx, storage.Event{
		Type: "mailbox.moved_in", Subject: p.mailboxID, MailboxID: p.mailboxID, Data: eventData(p.mailboxID), Time: p.now,
	})
}

// load reads what the conversations name: the mailbox, members and teams.
func (p *past) load(ctx context.Context, r Reader) error {
	var err error
	if p.mailbox, err = r.Mailboxes().Get(ctx, p.mailboxID); err != nil {
		return err
	}
	var userIDs, teamIDs []int64
	for _, c := range p.conversations {
		userIDs, teamIDs = append(userIDs, c.UserID), append(teamIDs, c.TeamID)
		for _, m := range c.Messages {
			userIDs = append(userIDs, m.UserID)
		}
	}
	users, err := r.UsersByID(ctx, sortedSet(userIDs))
	if err != nil {
		return err
	}
	teams, err := r.Teams().ByIDs(ctx, sortedSet(teamIDs))
	if err != nil {
		return err
	}
	p.users, p.teams = map[int64]bool{}, map[int64]bool{}
	for _, u := range users {
		p.users[u.ID] = true
	}
	for _, t := range teams {
		p.teams[t.ID] = true
	}
	return nil
}

// loadTags finds all tags, and makes those that are new.
func (p *past) loadTags(ctx context.Context, tx Tx) error {
	p.tags = map[string]int64{}
	if !slices.ContainsFunc(p.conversations, func(c PastConversation) bool { return len(c.Tags) > 0 }) {
		return nil
	}
	if err := eachRow(ctx, tx.Reader().Tags(), func(t Tag) int64 {
		p.tags[t.Key] = t.ID
		return t.ID
	}); err != nil {
		return err
	}
	for _, c := range p.conversations {
		for _, name := range c.Tags[:min(len(c.Tags), MaxTags)] {
			t := Tag{CreatedAt: p.now, UpdatedAt: p.now}
			if err := t.apply(TagInput{Name: plain.Cut(plain.Line(name), 100)}); err != nil || p.tags[t.Key] != 0 {
				continue // one without a name is none
			}
			if err := tx.Tags().Insert(ctx, &t); err != nil {
				return err
			}
			p.tags[t.Key] = t.ID
			if err := tx.Emit(ctx, storage.Event{Type: "tag.created", Subject: t.ID, Data: eventData(t.ID), Time: p.now}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *past) tagIDs(c PastConversation) []int64 {
	var ids []int64
	for _, name := range c.Tags[:min(len(c.Tags), MaxTags)] {
		if id := p.tags[tagKey(plain.Cut(plain.Line(name), 100))]; id != 0 {
			ids = append(ids, id)
		}
	}
	return sortedSet(ids)
}

// pastPlace is where conversations are filed: a transaction, or a rehearsal.
type pastPlace interface {
	customerBook
	// conversation finds one that is here.
	conversation(ctx context.Context, id int64) (Conversation, error)
	// file stores a conversation with what is new in it, and sets its ID.
	file(ctx context.Context, work *pastWork) error
}

// pastWork is a conversation with what is new in it.
type pastWork struct {
	in      PastConversation
	fresh   []PastMessage
	said    []*Interaction // what these become
	c       Conversation
	created bool
	changed bool // it is here, and was changed there later
}

// fileOne files a conversation as far as it is not here.
func (p *past) fileOne(ctx context.Context, to pastPlace, in PastConversation) (PastResult, error) {
	id, known := p.here(in)
	fresh, before := p.fresh(in)
	result := PastResult{ConversationID: id, Known: before}
	if p.isErased(in) {
		return PastResult{Known: before, Erased: true}, nil
	}
	if known && id == 0 {
		result.Known = before + len(fresh)
		return result, nil
	}
	work, made := pastWork{in: in, fresh: fresh, created: !known}, p.made
	if err := p.open(ctx, to, id, &work); err != nil || known && len(fresh) == 0 && !work.changed {
		return result, err
	}
	for _, m := range fresh {
		i, err := p.pastInteraction(ctx, to, work.c, m, p.prepared[p.identity(in, m)].body)
		if err != nil {
			return result, err
		}
		work.said = append(work.said, &i)
	}
	if err := to.file(ctx, &work); err != nil {
		return result, err
	}
	for _, m := range fresh {
		p.known[p.identity(in, m)] = work.c.ID
	}
	return PastResult{
		ConversationID: work.c.ID, Created: work.created, Changed: work.changed, Known: before,
		Filed: len(fresh), Files: p.files(in, fresh), Customers: p.made - made,
	}, nil
}

// open begins a conversation, or finds it and has it take over what it has there.
func (p *past) open(ctx context.Context, to pastPlace, id int64, work *pastWork) (err error) {
	if work.created {
		work.c, err = p.begin(ctx, to, work.in, work.fresh)
		return err
	}
	if work.c, err = to.conversation(ctx, id); err != nil {
		return err
	}
	if work.changed = p.lastChange(work.in).After(work.c.UpdatedAt); work.changed {
		p.takeOver(&work.c, work.in)
	}
	return nil
}

// pastTx files in a transaction.
type pastTx struct {
	Tx
	p *past
}

// conversation implements [pastPlace].
func (t pastTx) conversation(ctx context.Context, id int64) (Conversation, error) {
	return t.Conversations().Lock(ctx, id)
}

// file implements [pastPlace].
func (t pastTx) file(ctx context.Context, work *pastWork) error {
	c := &work.c
	if work.created {
		if err := c.insert(ctx, t.Tx); err != nil {
			return err
		}
		t.p.index.begin(c.ID)
		if ids := t.p.tagIDs(work.in); len(ids) > 0 {
			if err := t.SetTags(ctx, []int64{c.ID}, ids); err != nil {
				return err
			}
		}
		return t.p.putConversation(ctx, t.Tx, work)
	}
	starters, err := firsts(ctx, t.Tx, c.ID)
	if err != nil {
		return err
	}
	if err := t.p.putConversation(ctx, t.Tx, work); err != nil {
		return err
	}
	if err := oneStarter(ctx, t.Tx, c.ID, starters); err != nil {
		return err
	}
	if err := refreshPreview(ctx, t.Tx, c); err != nil {
		return err
	}
	if work.changed {
		if err := t.SetTags(ctx, []int64{c.ID}, t.p.tagIDs(work.in)); err != nil {
			return err
		}
		c.awaitedIn(work.in.Messages)
	}
	return t.Conversations().Update(ctx, c)
}

// files is how many files messages have.
func (p *past) files(in PastConversation, said []PastMessage) (n int) {
	for _, m := range said {
		n += len(p.prepared[p.identity(in, m)].files)
	}
	return n
}

// fresh are the messages that were not filed, oldest first. Those that were are counted. Of several with a key the first
// counts.
func (p *past) fresh(in PastConversation) (fresh []PastMessage, known int) {
	seen := map[string]bool{}
	for _, m := range in.Messages {
		identity := p.identity(in, m)
		if seen[identity] {
			continue
		}
		seen[identity] = true
		if _, filed := p.known[identity]; filed {
			known++
			continue
		}
		m.At = p.believed(m.At)
		fresh = append(fresh, m)
	}
	slices.SortStableFunc(fresh, func(a, b PastMessage) int { return a.At.Compare(b.At) })
	return fresh, known
}

// believed is a time of the past.
func (p *past) believed(at time.Time) time.Time {
	at = at.UTC().Truncate(time.Microsecond)
	if at.Year() < 1970 || at.After(p.now) {
		return p.now
	}
	return at
}

// lastChange is when a conversation was changed there; zero: nothing tells.
func (p *past) lastChange(in PastConversation) time.Time {
	times := []time.Time{in.UpdatedAt}
	for _, m := range in.Messages {
		times = append(times, m.At)
	}
	last := time.Time{}
	for _, at := range times {
		if at = at.UTC().Truncate(time.Microsecond); at.After(last) && !at.After(p.now) {
			last = at
		}
	}
	return last
}

// takeOver gives a conversation what it has there.
func (p *past) takeOver(c *Conversation, in PastConversation) {
	c.Status, c.Priority = cmp.Or(in.Status, StatusPosted), cmp.Or(in.Priority, PriorityNormal)
	c.UserID, c.TeamID, c.SpamAt, c.SnoozedUntil = 0, 0, time.Time{}, time.Time{}
	if p.users[in.UserID] {
		c.UserID = in.UserID
	}
	if p.teams[in.TeamID] {
		c.TeamID = in.TeamID
	}
	if last := p.lastChange(in); !last.IsZero() {
		c.UpdatedAt = last
	}
	if in.Spam {
		c.Status, c.SpamAt = StatusClosed, c.UpdatedAt
	}
}

// awaitedIn finds out since when the customer waits for an answer.
func (c *Conversation) awaitedIn(said []PastMessage) {
	said = slices.Clone(said)
	slices.SortStableFunc(said, func(a, b PastMessage) int { return a.At.Compare(b.At) })
	c.AwaitingSince = time.Time{}
	for _, m := range said {
		switch {
		case m.Type == TypeUser:
			c.AwaitingSince = time.Time{}
		case m.Type == TypeCustomer && !m.AutoSubmitted && c.AwaitingSince.IsZero():
			c.AwaitingSince = m.At.UTC().Truncate(time.Microsecond)
		}
	}
	if c.Status == StatusClosed {
		c.AwaitingSince = time.Time{}
	}
}

// begin is what a conversation begins with.
func (p *past) begin(ctx context.Context, book customerBook, in PastConversation, fresh []PastMessage) (Conversation, error) {
	customer, email, err := p.ensureCustomer(ctx, book, in.Customer)
	if err != nil {
		return Conversation{}, err
	}
	at := p.believed(in.CreatedAt)
	if first := fresh[0].At; first.Before(at) || in.CreatedAt.IsZero() {
		at = first
	}
	c := newConversation(p.mailbox.ID, customer.ID, email, at)
	c.Subject = plain.Cut(plain.Line(in.Subject), 998)
	p.takeOver(&c, in)
	if c.UpdatedAt.Before(at) {
		c.UpdatedAt = at
	}
	c.awaitedIn(fresh)
	for _, m := range fresh {
		if m.Type != TypeNote {
			c.Preview = mailhtml.Preview(p.prepared[p.identity(in, m)].body, previewLength, m.Type == TypeUser || len(fresh) > 1)
		}
	}
	return c, nil
}

// ensureCustomer finds or makes the customer of an address.
func (p *past) ensureCustomer(ctx context.Context, book customerBook, a mailaddr.Address) (Customer, CustomerEmail, error) {
	if a.Email = plain.Line(a.Email); !mailaddr.Valid(a.Email) {
		a = unknownSender
	}
	key := mailaddr.Key(a.Email)
	c, known := p.customers[key]
	if !known {
		var created bool
		var err error
		if c, created, err = findCustomer(ctx, book, a.Email, a.Name, p.now, &p.index); err != nil {
			return c, CustomerEmail{}, err
		}
		if p.customers[key] = c; created {
			p.made++
		}
	}
	return c, c.emailByKey(key), nil
}

// putConversation files messages in their conversation, with files, terms, who takes part by them, and what they are known by.
func (p *past) putConversation(ctx context.Context, tx Tx, work *pastWork) error {
	c, in, fresh, said, takes := &work.c, work.in, work.fresh, work.said, []string{}
	if !Unreachable(c.CustomerEmail) {
		takes = append(takes, mailaddr.Key(c.CustomerEmail))
	}
	starter := slices.IndexFunc(fresh, func(m PastMessage) bool { return m.Type != TypeNote })
	for n, i := range said {
		i.ConversationID, i.IsStarter = c.ID, n == starter && n == 0
		if i.Type != TypeNote {
			takes = append(takes, p.svc.bringsIn(p.accountID, p.mailbox, cmp.Or(i.CustomerEmail, ledger.UnknownSender), slices.Concat(i.To, i.Cc, i.Bcc), false)...)
		}
	}
	for some := range slices.Chunk(said, pastRows) {
		if err := tx.Interactions().Insert(ctx, some...); err != nil {
			return err
		}
	}
	var files []*Attachment
	for n, m := range fresh {
		identity := p.identity(in, m)
		for _, a := range p.prepared[identity].files {
			a.InteractionID, a.ConversationID = said[n].ID, c.ID
			files = append(files, &a)
			p.stored[a.BlobKey] = true
		}
		if err := p.index.add(ctx, tx, *c, *said[n]); err != nil {
			return err
		}
		p.rows = append(p.rows, p.row(*c, *said[n], in, m, identity))
	}
	for some := range slices.Chunk(files, pastRows) {
		if err := tx.Attachments().Insert(ctx, some...); err != nil {
			return err
		}
	}
	slices.Sort(takes)
	for some := range slices.Chunk(slices.Compact(takes), maxIdentities) {
		if err := tx.AddParticipants(ctx, c.ID, some); err != nil {
			return err
		}
	}
	return nil
}

// row is what the ledger keeps of a message, so that it is known again.
func (p *past) row(c Conversation, i Interaction, in PastConversation, m PastMessage, identity string) *ledger.Mail {
	return &ledger.Mail{
		MailboxID: p.mailboxID, Source: p.source, Position: in.Key + "/" + m.Key, State: ledger.Filed, Identity: []byte(identity),
		MessageID: i.MessageID, Head: cleanHead(ledger.Head{Subject: c.Subject, From: m.Author}),
		ConversationID: c.ID, InteractionID: i.ID, ReceivedAt: p.now, UpdatedAt: p.now,
	}
}

// pastInteraction is what a message becomes. It counts as made when it was written, so that nobody is over a budget of mails by it.
func (p *past) pastInteraction(ctx context.Context, book customerBook, c Conversation, m PastMessage, body string) (Interaction, error) {
	head := ledger.Incoming{Message: message.Message{MessageID: m.MessageID, References: m.References, From: []mailaddr.Address{m.Author}, To: m.To, Cc: m.Cc, Bcc: m.Bcc, Subject: m.Subject}}
	cleanIncoming(&head)
	author := mailaddr.Address{Name: plain.Cut(plain.Line(m.Author.Name), 200), Email: plain.Cut(plain.Line(m.Author.Email), 320)}
	i := Interaction{
		Type: m.Type, Status: StatusPosted, Body: body, Subject: head.Subject, AutoSubmitted: m.AutoSubmitted,
		Mail: MailHeader{From: []mailaddr.Address{author}}, At: m.At, CreatedAt: m.At, UpdatedAt: p.now,
	}
	if author == (mailaddr.Address{}) {
		i.Mail.From = nil
	}
	if m.Type != TypeNote {
		i.PostedAt, i.MessageID, i.References = m.At, head.MessageID, head.References
		i.To, i.Cc, i.Mail.To, i.Mail.Cc, i.Mail.Date = emails(head.To), emails(head.Cc), head.To, head.Cc, m.At
	}
	switch m.Type {
	case TypeCustomer:
		from := m.Author
		if !mailaddr.Valid(strings.TrimSpace(from.Email)) {
			from.Email = c.CustomerEmail
		}
		customer, email, err := p.ensureCustomer(ctx, book, from)
		if err != nil {
			return i, err
		}
		i.Source, i.CustomerID, i.CustomerEmailID, i.CustomerEmail = p.source, customer.ID, email.ID, email.Email
	case TypeUser:
		i.Bcc, i.SendStartedAt = emails(head.Bcc), m.At
		if len(i.To)+len(i.Cc)+len(i.Bcc) == 0 && !Unreachable(c.CustomerEmail) {
			i.To = []string{c.CustomerEmail}
		}
	case TypeNote:
	}
	if m.Type != TypeCustomer && p.users[m.UserID] {
		i.UserID = m.UserID
		if m.Type == TypeUser {
			i.PostedByID = m.UserID
		}
	}
	return i, nil
}
