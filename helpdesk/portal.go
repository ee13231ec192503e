package helpdesk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/internal/portaltoken"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// correspond is the only permission of a Portal.
const correspond identity.Permission = "portal.use"

// Portal is the handle of one customer. It reads the customer's own conversations, as far as they are between the customer
// and the desk, and adds the customer's messages.
//
// It shows the interactions whose [Interaction.Audience] contains an address of the customer. Conversations without any are
// invisible. Fields for members only are empty: assignee, Bcc, Message-IDs, threading, other people's ids. Preview,
// UpdatedAt and AwaitingSince of a conversation are computed from what the customer sees, so that notes and unsent replies
// do not affect them.
type Portal struct {
	svc     *Service
	guard   deskGuard
	desk    *desk // posts through the same code as members do
	address string
	name    string
}

// Portal opens an account for one customer, whom the embedding application has identified by address. The customer need not
// exist; it is created with the first message. An invalid address is an Invalid fault on email, an absent account a NotFound
// fault.
func (s *Service) Portal(ctx context.Context, accountID int64, email string) (*Portal, error) {
	email = plain.Line(email)
	if !mailaddr.Valid(email) {
		return nil, fault.Field("email", "is not an email address")
	}
	if _, err := s.cfg.Store.Within(Scope{AccountID: accountID}).Account(ctx); err != nil {
		return nil, err
	}
	return s.portal(accountID, email, ""), nil
}

// NamedPortal is [Service.Portal] with a name for the customer, used if the customer is created.
func (s *Service) NamedPortal(ctx context.Context, accountID int64, email, name string) (*Portal, error) {
	p, err := s.Portal(ctx, accountID, email)
	if err != nil {
		return nil, err
	}
	p.name = plain.Line(name)
	return p, nil
}

func (s *Service) portal(accountID int64, email, name string) *Portal {
	scope := Scope{AccountID: accountID}
	guard := s.scoped(scope, func(p identity.Permission) bool { return p == correspond || p == identity.InteractionsCreate })
	return &Portal{svc: s, guard: guard, desk: &desk{svc: s, guard: guard, scope: scope}, address: email, name: plain.Line(name)}
}

// IsPortalToken reports whether a bearer token is a portal token rather than an access token.
func IsPortalToken(token string) bool { return portaltoken.Looks(token) }

// AuthenticatePortal opens an account for the customer that a portal token names: a JSON Web Token (RFC 7519) that an
// application signed with a key registered by [PortalKeys.Create]. Its header contains the key's id as kid. Its claims:
//
//   - aud, required: "account:<id>" of the account, alone or among others
//   - email, required: the customer's address, verified by the application
//   - iat and exp, required: at most an hour apart
//   - nbf: honoured
//   - name: of the customer, used if the customer is created
//   - iss, sub and others: ignored
//
// Clocks may differ by 30 seconds. The token's algorithm must be the key's. A rejected token is an Unauthenticated fault
// that contains the reason but does not reveal whether an account or a key exists.
func (s *Service) AuthenticatePortal(ctx context.Context, accountID int64, token string) (*Portal, error) {
	kid, err := portaltoken.KeyID(token)
	if err != nil {
		return nil, unauthenticated(err)
	}
	unknown := fault.New(fault.Unauthenticated, "The portal token's kid does not name a key of this account.")
	id, err := strconv.ParseInt(kid, 10, 64)
	if err != nil || id < 1 || strconv.FormatInt(id, 10) != kid { // reject variants such as 01
		return nil, unknown
	}
	key, err := portalKeyNoun().Reader(s.cfg.Store.Within(Scope{AccountID: accountID})).Get(ctx, id)
	if fault.Is(err, fault.NotFound) {
		return nil, unknown
	}
	if err != nil {
		return nil, err
	}
	opened, err := key.open(s, accountID)
	if err != nil {
		return nil, err
	}
	now := s.now()
	claims, err := portaltoken.Verify(token, opened, fmt.Sprintf("account:%d", accountID), now)
	if err != nil {
		return nil, unauthenticated(err)
	}
	if may, err := s.stillMay(ctx, accountID, key.UserID, (*desk).mayOpenPortal); err != nil {
		return nil, err
	} else if !may {
		return nil, fault.New(fault.Unauthenticated, "The portal token's key is no longer valid: its creator has left the account or may no longer create keys.")
	}
	if !mailaddr.Valid(claims.Email) {
		return nil, fault.New(fault.Unauthenticated, "The portal token's email is not an email address.")
	}
	if now.Sub(key.LastUsedAt) >= time.Minute {
		s.marks.Add(ctx, mark{kind: portalKeyUsed, account: accountID, id: id}, now)
	}
	return s.portal(accountID, claims.Email, claims.Name), nil
}

func unauthenticated(err error) error {
	if problem, ok := errors.AsType[portaltoken.Problem](err); ok {
		return fault.New(fault.Unauthenticated, problem.Error())
	}
	return err
}

// AccountID returns the account that the portal is open for.
func (p *Portal) AccountID() int64 { return p.desk.scope.AccountID }

// Email returns the customer's address.
func (p *Portal) Email() string { return p.address }

// reading is the state of a portal method: a reader and the customer.
type reading struct {
	Reader
	customer Customer // zero: not created yet
	keys     []string // of the customer's addresses
}

// at finds the customer by address.
func (p *Portal) at(ctx context.Context, r Reader) (reading, error) {
	customer, err := r.CustomerByEmail(ctx, mailaddr.Key(p.address))
	if err != nil && !fault.Is(err, fault.NotFound) {
		return reading{}, err
	}
	out := reading{Reader: r, customer: customer}
	for _, e := range customer.Emails {
		out.keys = append(out.keys, e.Key)
	}
	return out, nil
}

func (p *Portal) read(ctx context.Context) (reading, error) {
	r, err := p.guard.Read(correspond)
	if err != nil {
		return reading{}, err
	}
	return p.at(ctx, r)
}

// conversation finds a conversation of the customer, also by the id of one merged into it, together with the newest
// interaction that the customer sees.
func (r reading) conversation(ctx context.Context, id int64) (Conversation, Interaction, error) {
	missing := fault.Missing("conversation", id)
	c, err := r.Conversations().Get(ctx, id)
	if fault.Is(err, fault.NotFound) {
		c, err = r.MergedInto(ctx, id)
	}
	switch {
	case fault.Is(err, fault.NotFound):
		return Conversation{}, Interaction{}, missing
	case err != nil:
		return Conversation{}, Interaction{}, err
	case r.customer.ID == 0 || c.CustomerID != r.customer.ID:
		return Conversation{}, Interaction{}, missing
	}
	last, err := r.LastCorrespondence(ctx, []int64{c.ID}, r.keys)
	if err != nil {
		return Conversation{}, Interaction{}, err
	}
	if len(last) == 0 {
		return Conversation{}, Interaction{}, missing
	}
	return c, last[0], nil
}

// shown returns a conversation as its customer sees it; last is its newest visible interaction.
func (c Conversation) shown(last Interaction) Conversation {
	c.UserID, c.TeamID = 0, 0
	if c.Status == StatusDraft {
		c.Status = StatusPosted // the status "draft" is for members only
	}
	c.Preview = mailhtml.Preview(last.Body, previewLength, last.answers())
	c.UpdatedAt = last.shownAt()
	switch {
	case last.Automatic(): // the customer waits as before
	case last.Type != TypeCustomer || last.AutoSubmitted:
		c.AwaitingSince = time.Time{}
	case c.AwaitingSince.IsZero(): // a reply is waiting to be sent
		c.AwaitingSince = last.At
	}
	return c
}

// shownAt returns the time from which a customer sees an interaction.
func (i Interaction) shownAt() time.Time {
	if i.SendStartedAt.After(i.CreatedAt) {
		return i.SendStartedAt
	}
	return i.CreatedAt
}

// shown returns an interaction as a customer sees it.
func (r reading) shown(i Interaction) Interaction {
	i.Bcc, i.References, i.Threading, i.MessageID = nil, nil, Threading{}, ""
	i.Security, i.Authentication, i.Mail = ledger.Security{}, ledger.Authentication{}, MailHeader{Date: i.Mail.sent()}
	i.SendStartedAt, i.ReceivedAt, i.UpdatedAt = time.Time{}, time.Time{}, i.shownAt()
	if i.CustomerID != r.customer.ID {
		i.CustomerID, i.CustomerEmailID = 0, 0
	}
	return i
}

// Conversations lists the customer's conversations, newest first. Statuses, if any, limits them to posted, pending or
// closed.
func (p *Portal) Conversations(ctx context.Context, statuses []Status, req storage.PageRequest) (storage.Page[Conversation], error) {
	var none storage.Page[Conversation]
	r, err := p.read(ctx)
	if err != nil {
		return none, err
	}
	var problems fault.Collector
	for i, s := range statuses {
		problems.Check(s.valid() && s != StatusDraft, fmt.Sprintf("status[%d]", i), "must be posted, pending or closed")
	}
	if err := problems.Err(); err != nil || r.customer.ID == 0 {
		return none, err
	}
	filter := ConversationFilter{CustomerID: r.customer.ID, Statuses: statuses, Audience: r.keys}
	if slices.Contains(statuses, StatusPosted) {
		filter.Statuses = append(slices.Clone(statuses), StatusDraft)
	}
	position := func(c Conversation) storage.Position { return storage.Position{Key: c.SortKey(ByCreated), ID: c.ID} }
	page, err := storage.List(req, true, position, func(seek storage.Seek) ([]Conversation, error) {
		return r.Conversations().List(ctx, ConversationOrder{ConversationFilter: filter, Sort: ByCreated}, seek)
	})
	if err != nil {
		return none, err
	}
	ids := make([]int64, len(page.Items))
	for n, c := range page.Items {
		ids[n] = c.ID
	}
	last, err := r.LastCorrespondence(ctx, ids, r.keys)
	if err != nil {
		return none, err
	}
	newest := map[int64]Interaction{}
	for _, i := range last {
		newest[i.ConversationID] = i
	}
	for n, c := range page.Items {
		page.Items[n] = c.shown(newest[c.ID])
	}
	return page, nil
}

// Conversation returns one of the customer's conversations. The id of one merged into another of theirs returns that one.
func (p *Portal) Conversation(ctx context.Context, id int64) (Conversation, error) {
	r, err := p.read(ctx)
	if err != nil {
		return Conversation{}, err
	}
	c, last, err := r.conversation(ctx, id)
	if err != nil {
		return Conversation{}, err
	}
	return c.shown(last), nil
}

// PortalMessage is a customer's message.
type PortalMessage struct {
	Body   string // HTML, or text without tags; at most 1 MiB. Body or Text is required
	Text   string // plain text, shown as it is; not together with Body
	Source string // at most 50 characters; "" means "portal"
	Locale string // of the page that it was written on, for automatic replies; "" or invalid: told from the text
}

// PortalConversationInput is a customer's new conversation.
type PortalConversationInput struct {
	Subject   string          // at most 998 characters
	MailboxID int64           // 0: the account's default
	Messages  []PortalMessage // in order; at least one, at most 100
	Fields    FieldTexts      // of fields of conversations that customers see
}

// prepare validates a message. It reports problems of fields below prefix.
func (p *Portal) prepare(m PortalMessage, prefix string) (preparedInteraction, error) {
	if m.Source == "" {
		m.Source = "portal"
	}
	return p.desk.prepare(InteractionInput{Type: TypeCustomer, Body: m.Body, Text: m.Text, Source: m.Source}, prefix)
}

// CreateConversation starts a conversation. It creates the customer if no one has the address yet. An automatic reply may answer
// its first message.
func (p *Portal) CreateConversation(ctx context.Context, in PortalConversationInput) (Conversation, error) {
	begin, err := p.guard.Write(correspond)
	if err != nil {
		return Conversation{}, err
	}
	input := ConversationInput{Channel: channelEmail, To: p.address, MailboxID: in.MailboxID, Subject: in.Subject, Fields: in.Fields}
	var problems fault.Collector
	if _, _, err := input.validate(); err != nil && problems.Take(err) != nil {
		return Conversation{}, err
	}
	problems.Check(len(in.Messages) > 0, "interactions", "is required")
	problems.Check(len(in.Messages) <= 100, "interactions", "has more than 100 items")
	prepared := make([]preparedInteraction, min(len(in.Messages), 100))
	for n := range prepared {
		if prepared[n], err = p.prepare(in.Messages[n], fmt.Sprintf("interactions[%d]", n)); problems.Take(err) != nil {
			return Conversation{}, err
		}
	}
	if err := problems.Err(); err != nil {
		return Conversation{}, err
	}
	var c Conversation
	err = retryUnique(func() error {
		return begin(ctx, func(ctx context.Context, tx Tx) error {
			if err := in.Fields.visible(ctx, tx.Reader()); err != nil {
				return err
			}
			if c, err = p.desk.create(ctx, tx, input, p.address, p.name, prepared); err != nil {
				return err
			}
			first, err := tx.Interactions().List(ctx, InteractionFilter{ConversationID: c.ID}, storage.Seek{Limit: 1})
			if err != nil || len(first) == 0 {
				return err
			}
			return p.svc.answerWritten(ctx, tx, p.AccountID(), c, first[0], in.Messages[0].Locale)
		})
	}, UniqueCustomerEmail)
	if err != nil {
		return Conversation{}, err
	}
	return p.Conversation(ctx, c.ID)
}

// Fields returns the fields of conversations that customers see, with the values that some of the customer's conversations
// have.
func (p *Portal) Fields(ctx context.Context, conversationIDs []int64) (FieldSet, error) {
	r, err := p.read(ctx)
	if err != nil {
		return FieldSet{}, err
	}
	found, err := r.Conversations().ByIDs(ctx, conversationIDs)
	if err != nil {
		return FieldSet{}, err
	}
	var own []int64
	for _, c := range found {
		if r.customer.ID != 0 && c.CustomerID == r.customer.ID {
			own = append(own, c.ID)
		}
	}
	set, err := readFields(ctx, r, FieldOfConversation, own)
	set.Fields = slices.DeleteFunc(set.Fields, func(f Field) bool {
		for _, texts := range set.Values {
			if !f.CustomerVisible {
				delete(texts, f.Key)
			}
		}
		return !f.CustomerVisible
	})
	return set, err
}

// Interactions lists what the customer sees of a conversation, oldest first. It marks the page's replies as seen.
func (p *Portal) Interactions(ctx context.Context, conversationID int64, req storage.PageRequest) (storage.Page[Interaction], error) {
	var none storage.Page[Interaction]
	r, err := p.read(ctx)
	if err != nil {
		return none, err
	}
	c, _, err := r.conversation(ctx, conversationID)
	if err != nil {
		return none, err
	}
	page, err := storage.List(req, false, Interaction.position,
		func(seek storage.Seek) ([]Interaction, error) { return r.Correspondence(ctx, c.ID, r.keys, seek) })
	if err != nil {
		return none, err
	}
	page.Items = p.show(ctx, r, c, page.Items)
	return page, nil
}

// Interaction returns an interaction of a conversation. It marks a reply as seen.
func (p *Portal) Interaction(ctx context.Context, conversationID, id int64) (Interaction, error) {
	r, err := p.read(ctx)
	if err != nil {
		return Interaction{}, err
	}
	c, i, err := r.interaction(ctx, conversationID, id)
	if err != nil {
		return Interaction{}, err
	}
	return p.show(ctx, r, c, []Interaction{i})[0], nil
}

// interaction finds an interaction that the customer sees.
func (r reading) interaction(ctx context.Context, conversationID, id int64) (Conversation, Interaction, error) {
	c, _, err := r.conversation(ctx, conversationID)
	if err != nil {
		return Conversation{}, Interaction{}, err
	}
	i, err := r.Interactions().Get(ctx, id)
	if i, err = inConversation(i, c.ID, err); err != nil {
		return Conversation{}, Interaction{}, err
	}
	if !i.meets(r.keys) {
		return Conversation{}, Interaction{}, fault.Missing("interaction", id)
	}
	return c, i, nil
}

// show marks replies as seen and returns the customer's view of them. It returns them even if marking fails.
func (p *Portal) show(ctx context.Context, r reading, c Conversation, rows []Interaction) []Interaction {
	var unseen []int64
	out := make([]Interaction, len(rows))
	for n, i := range rows {
		out[n] = r.shown(i)
		if i.Type == TypeUser && i.SeenAt.IsZero() {
			unseen = append(unseen, i.ID)
		}
	}
	if len(unseen) == 0 {
		return out
	}
	now := p.svc.now()
	begin, err := p.guard.Write(correspond)
	if err == nil {
		err = begin(ctx, func(ctx context.Context, tx Tx) error {
			_, err := markSeen(ctx, tx, c, unseen, now)
			return err
		})
	}
	if err != nil {
		p.svc.cfg.Logger.WarnContext(ctx, "that answers were seen was not recorded", "conversation_id", c.ID, "error", err)
		return out
	}
	for n := range out {
		if slices.Contains(unseen, out[n].ID) {
			out[n].SeenAt = now
		}
	}
	return out
}

// CreateInteraction adds a message to a conversation. It reopens the conversation as incoming mail from the customer does.
func (p *Portal) CreateInteraction(ctx context.Context, conversationID int64, m PortalMessage) (Interaction, error) {
	begin, err := p.guard.Write(correspond)
	if err != nil {
		return Interaction{}, err
	}
	prepared, err := p.prepare(m, "")
	if err != nil {
		return Interaction{}, err
	}
	var out Interaction
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		r, err := p.at(ctx, tx.Reader())
		if err != nil {
			return err
		}
		c, _, err := r.conversation(ctx, conversationID)
		if err != nil {
			return err
		}
		tx = actAs(tx, subscription.Actor{Type: subscription.ActorCustomer, ID: r.customer.ID})
		one := prepared
		email := r.customer.emailByKey(mailaddr.Key(p.address))
		one.CustomerID, one.CustomerEmailID, one.CustomerEmail = r.customer.ID, email.ID, email.Email
		created, err := p.desk.contribute(ctx, tx, c.ID, one)
		if err != nil {
			return err
		}
		out = r.shown(created)
		return p.svc.answerWritten(ctx, tx, p.AccountID(), c, created, m.Locale)
	})
	return out, err
}

// Limits of a portal's files.
const (
	// MaxPortalFiles is the maximum number of files of a message.
	MaxPortalFiles = 25
	// PortalFilesFor is how long after posting a message files can be attached to it.
	PortalFilesFor = time.Hour
)

// CreateAttachment attaches a file to a message that the customer posted here, within an hour of posting and at most 25 per
// message; otherwise it is a Conflict fault. The file's limits are those of [Attachments.Create].
func (p *Portal) CreateAttachment(ctx context.Context, conversationID, interactionID int64, up Upload) (Attachment, error) {
	begin, err := p.guard.Write(correspond)
	if err != nil {
		return Attachment{}, err
	}
	r, err := p.read(ctx)
	if err != nil {
		return Attachment{}, err
	}
	c, _, err := r.interaction(ctx, conversationID, interactionID)
	if err != nil {
		return Attachment{}, err
	}
	return p.desk.attach(ctx, begin, c.ID, interactionID, up, func(ctx context.Context, tx Tx, conversationID, interactionID int64) error {
		i, err := tx.Interactions().Lock(ctx, interactionID)
		if i, err = inConversation(i, conversationID, err); err != nil {
			return err
		}
		if i.Type != TypeCustomer || i.CustomerID != r.customer.ID || i.Threading.Rule != "" {
			return fault.New(fault.Conflict, "You can attach files only to messages that you posted here.")
		}
		if p.svc.now().Sub(i.CreatedAt) > PortalFilesFor {
			return fault.New(fault.Conflict, "The message is older than an hour. Post a new message with the file.")
		}
		files, err := tx.Attachments().List(ctx, AttachmentFilter{InteractionIDs: []int64{interactionID}}, storage.Seek{Limit: storage.NoLimit})
		if err == nil && len(files) >= MaxPortalFiles {
			err = fault.Newf(fault.Conflict, "The message already has %d files. Post a new message.", MaxPortalFiles)
		}
		return err
	})
}

// Attachments lists one interaction's files.
func (p *Portal) Attachments(ctx context.Context, conversationID, interactionID int64) ([]Attachment, error) {
	r, err := p.read(ctx)
	if err != nil {
		return nil, err
	}
	if _, _, err := r.interaction(ctx, conversationID, interactionID); err != nil {
		return nil, err
	}
	return p.svc.filesOf(ctx, r.Reader, []int64{interactionID})
}

// AttachmentsOf lists the files of the given interactions that the customer sees.
func (p *Portal) AttachmentsOf(ctx context.Context, conversationID int64, interactionIDs []int64) ([]Attachment, error) {
	r, err := p.read(ctx)
	if err != nil || len(interactionIDs) == 0 {
		return nil, err
	}
	c, _, err := r.conversation(ctx, conversationID)
	if err != nil {
		return nil, err
	}
	found, err := r.Interactions().ByIDs(ctx, interactionIDs)
	if err != nil {
		return nil, err
	}
	var seen []int64
	for _, i := range found {
		if i.ConversationID == c.ID && i.meets(r.keys) {
			seen = append(seen, i.ID)
		}
	}
	return p.svc.filesOf(ctx, r.Reader, seen)
}

// Attachment returns one file's description.
func (p *Portal) Attachment(ctx context.Context, conversationID, interactionID, id int64) (Attachment, error) {
	r, err := p.read(ctx)
	if err != nil {
		return Attachment{}, err
	}
	a, err := r.attachment(ctx, conversationID, interactionID, id)
	return p.svc.judged(ctx, r.Reader, a, err)
}

func (r reading) attachment(ctx context.Context, conversationID, interactionID, id int64) (Attachment, error) {
	if _, _, err := r.interaction(ctx, conversationID, interactionID); err != nil {
		return Attachment{}, err
	}
	a, err := r.Attachments().Get(ctx, id)
	if err == nil && a.InteractionID != interactionID {
		err = fault.Missing("attachment", id)
	}
	if err != nil {
		return Attachment{}, err
	}
	return a, nil
}

// OpenAttachment opens length bytes of a file starting at offset; a negative length means to the end.
func (p *Portal) OpenAttachment(ctx context.Context, a Attachment, offset, length int64) (io.ReadCloser, error) {
	r, err := p.read(ctx)
	if err != nil {
		return nil, err
	}
	// Look the file up again, because the caller's value is trusted for its ids only.
	found, err := r.attachment(ctx, a.ConversationID, a.InteractionID, a.ID)
	if err != nil {
		return nil, err
	}
	return p.svc.cfg.Blobs.GetRange(ctx, found.BlobKey, offset, length)
}

// LinkAttachment is [Attachments.Link] for a file that the customer can read.
func (p *Portal) LinkAttachment(ctx context.Context, a Attachment, as storage.BlobDownload) (string, error) {
	r, err := p.read(ctx)
	if err != nil {
		return "", err
	}
	found, err := r.attachment(ctx, a.ConversationID, a.InteractionID, a.ID)
	if err != nil {
		return "", err
	}
	return p.svc.linkFile(ctx, found, as)
}

// Agent is a member as shown to customers.
type Agent struct {
	ID   int64
	Name string
}

// Agents returns the members who wrote or sent the given interactions, as shown to customers.
func (p *Portal) Agents(ctx context.Context, rows []Interaction) ([]Agent, error) {
	r, err := p.guard.Read(correspond)
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, i := range rows {
		ids = append(ids, i.UserID, i.PostedByID)
	}
	found, err := r.UsersByID(ctx, ids)
	agents := make([]Agent, len(found))
	for n, u := range found {
		agents[n] = Agent{ID: u.ID, Name: u.Name}
	}
	return agents, err
}
