package helpdesk

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
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

// moveIn is the only permission that a MoveIn needs.
const moveIn identity.Permission = "account.move_in"

// MoveIn imports conversations from another help desk. It sends no mail and notifies no one; webhooks get a single event
// mailbox.moved_in per call. It reads no conversations.
type MoveIn struct {
	svc       *Service
	desk      func(accountID int64) deskGuard
	rehearsal *rehearsal // nil: imported data is stored
}

// MoveIn returns a handle that imports the data of another help desk.
func (s *Service) MoveIn() *MoveIn {
	allows := func(p identity.Permission) bool { return p == moveIn }
	return &MoveIn{svc: s, desk: func(accountID int64) deskGuard { return s.scoped(Scope{AccountID: accountID}, allows) }}
}

// ImportedConversation is a conversation from another help desk.
type ImportedConversation struct {
	// Key is its id in the other help desk; required, at most 200 bytes.
	Key      string
	Subject  string   // cut after 998 characters
	Status   Status   // "" means posted
	Priority Priority // "" means normal
	Spam     bool     // also closes it
	// Customer receives the replies. Without a valid address it becomes [ledger.UnknownSender].
	Customer mailaddr.Address
	UserID   int64    // assigned member; unknown members are left unassigned
	TeamID   int64    // assigned team; unknown teams are left out
	Tags     []string // names, of which the first [MaxTags] count; missing tags are created
	// CreatedAt and UpdatedAt are adjusted to fit the messages and the clock.
	CreatedAt, UpdatedAt time.Time
	Messages             []ImportedMessage // in any order; required
	Fields               FieldTexts        // of fields of [MoveIn.Field]
	Rating               ImportedRating    // zero: none
}

// ImportedRating is how the customer of a conversation rated the answers in another help desk.
type ImportedRating struct {
	Score, Scale int    // Scale is 2, 3 or 5; of another one, and of another score, nothing is imported
	Comment      string // shortened if it is too long
	UserID       int64  // the member who answered last before; 0: not known
	At           time.Time
}

func (r ImportedRating) valid() bool {
	return slices.Contains(RatingScales(), r.Scale) && r.Score >= 1 && r.Score <= r.Scale
}

// ImportedMessage is a message or note from another help desk.
type ImportedMessage struct {
	// Key is its id within the conversation; required, at most 200 bytes.
	Key  string
	Type InteractionType // required
	// Author wrote the message. A customer's message without a valid address is attributed to the conversation's customer.
	Author      mailaddr.Address
	UserID      int64              // the member who wrote a reply or note; 0: Author is not a member here and is shown by name
	To, Cc, Bcc []mailaddr.Address // Bcc only for replies by users; none: it went to the customer
	Subject     string
	// HTML takes precedence over Text. A body beyond [MaxBody] is shortened, and the full body is attached.
	HTML, Text    string
	MessageID     string // without angle brackets; later replies are threaded by it
	References    []string
	AutoSubmitted bool
	At            time.Time // zero or in the future: now
	Files         []ImportedFile
}

// ImportedFile is a file attached to a message.
type ImportedFile struct {
	Filename, ContentType, ContentID string
	Inline                           bool
	Open                             func() (io.ReadCloser, error) // required; called once at most
}

// ImportResult reports what happened to a conversation.
type ImportResult struct {
	ConversationID int64 // 0: it was deleted here and is not imported again
	Created        bool  // it did not exist here
	Filed, Known   int   // number of messages filed now, and earlier
	Files          int   // attached to the messages filed now
	Customers      int   // created for it: its customer and other authors
	Changed        bool  // it existed here and took over the newer status, assignees and tags
	Erased         bool  // it predates the erasure of its customer and is not imported
}

// unerased returns the customers without an erased address.
func (s *Service) unerased(ctx context.Context, r Reader, all []ImportedCustomer) ([]ImportedCustomer, error) {
	var emails []string
	for _, c := range all {
		emails = append(emails, c.Emails...)
	}
	erased, err := s.erasedAddresses(ctx, r, emails)
	if err != nil || len(erased) == 0 {
		return all, err
	}
	return slices.DeleteFunc(slices.Clone(all), func(c ImportedCustomer) bool {
		return slices.ContainsFunc(c.Emails, func(email string) bool { return !erased[email].IsZero() })
	}), nil
}

// File imports conversations in one transaction, so pass only a few. source names the help desk they come from, such as
// "zendesk"; together with the keys of a conversation and a message it identifies that message in any mailbox.
// Messages that were filed before are skipped, and so are conversations that were deleted here or that
// predate the erasure of their customer, see [Erasure]. What an erased customer wrote in other conversations is filed without
// its content. An existing conversation takes over status, priority, assignees and tags if it was changed there later
// than here.
func (m *MoveIn) File(ctx context.Context, accountID, mailboxID int64, source string, all []ImportedConversation) ([]ImportResult, error) {
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

func checkPast(source string, all []ImportedConversation) error {
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

// past imports a batch of conversations from another help desk.
type past struct {
	svc                  *Service
	accountID, mailboxID int64
	source               string
	conversations        []ImportedConversation
	now                  time.Time
	erased               map[string]time.Time // erasure times of addresses, by mailaddr.Key
	known                map[string]int64     // conversation of each filed message, by identity; 0 if it was deleted
	prepared             map[string]preparedPast
	stored               map[string]bool // keys of files; true: a row names them
	rehearsal            *rehearsal      // nil: not a rehearsal
	results              []ImportResult

	// Reset when the transaction is retried:
	mailbox   Mailbox
	users     map[int64]bool
	teams     map[int64]bool
	tags      map[string]int64
	customers map[string]Customer
	made      int // of these
	index     indexing
	rows      []*ledger.Mail
}

// preparedPast holds what can be prepared for a message before the transaction.
type preparedPast struct {
	body  string
	files []Attachment
}

// identity identifies a message, whatever mailbox it is filed in.
func (p *past) identity(c ImportedConversation, m ImportedMessage) string {
	h := sha256.New()
	for _, part := range []string{"past", p.source, c.Key, m.Key} {
		_ = binary.Write(h, binary.BigEndian, uint64(len(part))) // writing to a hash never fails
		_, _ = io.WriteString(h, part)
	}
	return string(h.Sum(nil))
}

// Limits per database statement.
const (
	maxIdentities = 500 // identities and other short values
	pastRows      = 20  // rows with bodies
)

// findKnown finds the messages that were filed before.
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

// findErased finds the erased addresses and removes them from other customers' conversations.
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

// addressKeys returns the address keys of the customer and of all authors and recipients.
func (c ImportedConversation) addressKeys() []string {
	keys := []string{mailaddr.Key(plain.Line(c.Customer.Email))}
	for _, m := range c.Messages {
		for _, a := range slices.Concat([]mailaddr.Address{m.Author}, m.To, m.Cc, m.Bcc) {
			keys = append(keys, mailaddr.Key(plain.Line(a.Email)))
		}
	}
	return keys
}

// erasedBy reports whether an address was erased after a time. The zero time counts as before.
func (p *past) erasedBy(a mailaddr.Address, at time.Time) bool {
	when, found := p.erased[mailaddr.Key(plain.Line(a.Email))]
	return found && !at.After(when)
}

// isErased reports whether a conversation predates the erasure of its customer.
func (p *past) isErased(c ImportedConversation) bool {
	began := c.CreatedAt
	for _, m := range c.Messages {
		if !m.At.IsZero() && (began.IsZero() || m.At.Before(began)) {
			began = m.At
		}
	}
	return p.erasedBy(c.Customer, began)
}

// strip removes erased addresses from a message in another customer's conversation, and its content if one of them wrote it.
func (p *past) strip(m *ImportedMessage) {
	is := func(a mailaddr.Address) bool { return p.erasedBy(a, m.At) }
	if is(m.Author) {
		*m = ImportedMessage{Key: m.Key, Type: m.Type, Author: erasedCustomer, HTML: erasedBody, AutoSubmitted: true, At: m.At}
		return
	}
	for _, list := range []*[]mailaddr.Address{&m.To, &m.Cc, &m.Bcc} {
		*list = slices.DeleteFunc(slices.Clone(*list), is)
	}
}

// here finds the conversation of the messages that were filed before; known reports whether there are any.
func (p *past) here(c ImportedConversation) (id int64, known bool) {
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

func (p *past) prepareMessage(ctx context.Context, m ImportedMessage) (preparedPast, error) {
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
		files = append(files, ImportedFile{Filename: whole.Filename, ContentType: whole.ContentType, Open: func() (io.ReadCloser, error) {
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

func (p *past) putFile(ctx context.Context, n int, f ImportedFile) (Attachment, error) {
	content, err := f.Open()
	if err != nil {
		return Attachment{}, err
	}
	defer func() { _ = content.Close() }() // opened for reading only
	if p.rehearsal != nil {
		return Attachment{}, nil
	}
	buffered := bufio.NewReaderSize(content, filetype.HeadSize)
	head, _ := buffered.Peek(filetype.HeadSize) // storing the file meets the same error again
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

// discard removes stored files that no row refers to.
func (p *past) discard(ctx context.Context, err error) {
	var unnamed []string
	for key, named := range p.stored {
		if err != nil || !named {
			unnamed = append(unnamed, key)
		}
	}
	p.svc.discard(ctx, err, unnamed...)
}

// fileAll runs the transaction.
func (p *past) fileAll(ctx context.Context, tx Tx) error {
	p.results, p.rows, p.index, p.customers, p.made = nil, nil, indexing{}, map[string]Customer{}, 0
	for key := range p.stored {
		p.stored[key] = false
	}
	if err := tx.LockAccount(ctx); err != nil { // concurrent imports of the same data take turns
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
	data, err := json.Marshal(map[string]any{"id": p.mailboxID, "conversation_ids": p.filed()})
	if err != nil {
		return fault.Wrap(fault.Internal, "encoding an event", err)
	}
	return tx.Emit(ctx, storage.Event{Type: movedIn, Subject: p.mailboxID, MailboxID: p.mailboxID, Data: data, Time: p.now})
}

// filed returns the conversations that the transaction filed something in, or changed.
func (p *past) filed() []int64 {
	ids := []int64{}
	for _, r := range p.results {
		if r.Filed > 0 || r.Changed {
			ids = append(ids, r.ConversationID)
		}
	}
	return sortedSet(ids)
}

// load reads the mailbox, members and teams that the conversations refer to.
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
	teams, err := teamNoun().Reader(r).ByIDs(ctx, sortedSet(teamIDs))
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

// loadTags finds all tags and creates the missing ones.
func (p *past) loadTags(ctx context.Context, tx Tx) error {
	p.tags = map[string]int64{}
	if !slices.ContainsFunc(p.conversations, func(c ImportedConversation) bool { return len(c.Tags) > 0 }) {
		return nil
	}
	if err := eachRow(ctx, tagNoun().Reader(tx.Reader()), func(t Tag) int64 {
		p.tags[t.Key] = t.ID
		return t.ID
	}); err != nil {
		return err
	}
	for _, c := range p.conversations {
		for _, name := range c.Tags[:min(len(c.Tags), MaxTags)] {
			t := Tag{CreatedAt: p.now, UpdatedAt: p.now}
			if err := t.apply(TagInput{Name: plain.Cut(plain.Line(name), 100)}); err != nil || p.tags[t.Key] != 0 {
				continue // a tag needs a name
			}
			if err := tagNoun().Rows(tx).Insert(ctx, &t); err != nil {
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

func (p *past) tagIDs(c ImportedConversation) []int64 {
	var ids []int64
	for _, name := range c.Tags[:min(len(c.Tags), MaxTags)] {
		if id := p.tags[tagKey(plain.Cut(plain.Line(name), 100))]; id != 0 {
			ids = append(ids, id)
		}
	}
	return sortedSet(ids)
}

// pastPlace stores imported conversations: a transaction or a rehearsal.
type pastPlace interface {
	customerBook
	// conversation finds an existing conversation.
	conversation(ctx context.Context, id int64) (Conversation, error)
	// file stores a conversation with its new content and sets its ID.
	file(ctx context.Context, work *pastWork) error
}

// pastWork is a conversation with its new content.
type pastWork struct {
	in      ImportedConversation
	fresh   []ImportedMessage
	said    []*Interaction // the new messages as interactions
	c       Conversation
	created bool
	changed bool // it exists here and was changed later in the other help desk
}

// fileOne files what is new in a conversation.
func (p *past) fileOne(ctx context.Context, to pastPlace, in ImportedConversation) (ImportResult, error) {
	id, known := p.here(in)
	fresh, before := p.fresh(in)
	result := ImportResult{ConversationID: id, Known: before}
	if p.isErased(in) {
		return ImportResult{Known: before, Erased: true}, nil
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
	return ImportResult{
		ConversationID: work.c.ID, Created: work.created, Changed: work.changed, Known: before,
		Filed: len(fresh), Files: p.files(in, fresh), Customers: p.made - made,
	}, nil
}

// open creates a conversation, or finds it and updates it with its later state in the other help desk.
func (p *past) open(ctx context.Context, to pastPlace, id int64, work *pastWork) (err error) {
	if work.created {
		work.c, err = p.createConversation(ctx, to, work.in, work.fresh)
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

// pastTx files conversations in a transaction.
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
		t.p.index.addConversation(c.ID)
		if ids := t.p.tagIDs(work.in); len(ids) > 0 {
			if err := t.SetTags(ctx, []int64{c.ID}, ids); err != nil {
				return err
			}
		}
		if err := setFields(ctx, t.Tx, FieldOfConversation, []int64{c.ID}, work.in.Fields); err != nil {
			return err
		}
		if err := t.takeRating(ctx, *c, work.in.Rating); err != nil {
			return err
		}
		return t.p.putConversation(ctx, t.Tx, work)
	}
	if err := t.takeRating(ctx, *c, work.in.Rating); err != nil {
		return err
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
		if err := setFields(ctx, t.Tx, FieldOfConversation, []int64{c.ID}, work.in.Fields); err != nil {
			return err
		}
		c.awaitedIn(work.in.Messages)
	}
	return t.Conversations().Update(ctx, c)
}

// takeRating stores the rating of a conversation in another help desk, or what became of it since the last import.
func (t pastTx) takeRating(ctx context.Context, c Conversation, in ImportedRating) error {
	if !in.valid() {
		return nil
	}
	all, err := ratingsOf(ctx, t.Reader(), c.ID)
	if err != nil {
		return err
	}
	at := t.p.believed(in.At)
	r := Rating{ConversationID: c.ID, CustomerID: c.CustomerID, Source: RatedImported, CreatedAt: t.p.now}
	if n := slices.IndexFunc(all, func(r Rating) bool { return r.Source == RatedImported }); n >= 0 {
		r = all[n]
	}
	old := r
	r.UserID, r.Scale, r.Score, r.Verdict, r.AnsweredAt = in.UserID, in.Scale, in.Score, VerdictOf(in.Score, in.Scale), at
	if r.Comment = plain.Cut(strings.TrimSpace(plain.Text(in.Comment)), maxRatingComment); r == old {
		return nil
	}
	r.UpdatedAt = at
	if r.ID != 0 {
		return ratingNoun().Rows(t.Tx).Update(ctx, &r)
	}
	return ratingNoun().Rows(t.Tx).Insert(ctx, &r)
}

// files counts the files of messages.
func (p *past) files(in ImportedConversation, said []ImportedMessage) (n int) {
	for _, m := range said {
		n += len(p.prepared[p.identity(in, m)].files)
	}
	return n
}

// fresh returns the messages that were not filed yet, oldest first, and counts the others. Of messages with the same key,
// the first counts.
func (p *past) fresh(in ImportedConversation) (fresh []ImportedMessage, known int) {
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
	slices.SortStableFunc(fresh, func(a, b ImportedMessage) int { return a.At.Compare(b.At) })
	return fresh, known
}

// believed returns a time that is not in the future.
func (p *past) believed(at time.Time) time.Time {
	at = at.UTC().Truncate(time.Microsecond)
	if at.Year() < 1970 || at.After(p.now) {
		return p.now
	}
	return at
}

// lastChange returns when the other help desk last changed a conversation; zero: unknown.
func (p *past) lastChange(in ImportedConversation) time.Time {
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

// takeOver updates a conversation with its state in the other help desk.
func (p *past) takeOver(c *Conversation, in ImportedConversation) {
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

// awaitedIn returns since when the customer has been waiting for a reply.
func (c *Conversation) awaitedIn(said []ImportedMessage) {
	said = slices.Clone(said)
	slices.SortStableFunc(said, func(a, b ImportedMessage) int { return a.At.Compare(b.At) })
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

// createConversation returns a new conversation with its initial state.
func (p *past) createConversation(ctx context.Context, book customerBook, in ImportedConversation, fresh []ImportedMessage) (Conversation, error) {
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

// ensureCustomer finds or creates the customer with an address.
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

// putConversation files messages in their conversation, with files, search terms, participants and identities.
func (p *past) putConversation(ctx context.Context, tx Tx, work *pastWork) error {
	c, in, fresh, said, takes := &work.c, work.in, work.fresh, work.said, []string{}
	if !Unreachable(c.CustomerEmail) {
		takes = append(takes, mailaddr.Key(c.CustomerEmail))
	}
	starter := slices.IndexFunc(fresh, func(m ImportedMessage) bool { return m.Type != TypeNote })
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

// row returns the ledger row by which a message is recognised in later imports.
func (p *past) row(c Conversation, i Interaction, in ImportedConversation, m ImportedMessage, identity string) *ledger.Mail {
	return &ledger.Mail{
		MailboxID: p.mailboxID, Source: p.source, Position: in.Key + "/" + m.Key, State: ledger.Filed, Identity: []byte(identity),
		MessageID: i.MessageID, Head: cleanHead(ledger.Head{Subject: c.Subject, From: m.Author}),
		ConversationID: c.ID, InteractionID: i.ID, ReceivedAt: p.now, UpdatedAt: p.now,
	}
}

// pastInteraction converts a message. Its creation time is when it was written, so that it does not use up a mail budget today.
func (p *past) pastInteraction(ctx context.Context, book customerBook, c Conversation, m ImportedMessage, body string) (Interaction, error) {
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
