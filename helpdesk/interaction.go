package helpdesk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	netmail "net/mail"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// InteractionType is the kind of an interaction's author.
type InteractionType string

// The types of interactions. More may be added.
const (
	TypeUser     InteractionType = "user"     // an agent's reply
	TypeCustomer InteractionType = "customer" // a customer's message
	TypeNote     InteractionType = "note"     // seen by members only, never sent
)

// Interaction is one contribution to a conversation.
type Interaction struct {
	ID              int64
	ConversationID  int64
	Type            InteractionType
	Status          Status // StatusPosted, or StatusDraft for a user's
	Body            string // sanitized HTML
	Subject         string // of the message it came as; "" otherwise
	UserID          int64  // creator of a user interaction or a note; 0 otherwise, and for an automatic reply
	PostedByID      int64  // user who sent a user interaction; 0 for a draft, and for an automatic reply
	CustomerID      int64  // author of a customer interaction
	CustomerEmailID int64
	CustomerEmail   string
	To, Cc, Bcc     []string // addresses, of user and customer messages (customer messages have no Bcc)
	Source          string   // of a customer interaction: "email", "api" or a value from the caller; [SourceAuto] of an automatic reply
	IsStarter       bool
	IsForward       bool
	AutoSubmitted   bool // written by a machine (RFC 3834)
	SeenAt          time.Time
	PostedAt        time.Time  // when it was posted; the Date of the sent message
	SendAt          time.Time  // when a posted user interaction is to be sent; zero: at once, or already sent. See Scheduled
	SendStartedAt   time.Time  // when the first attempt to send it began; its content is frozen from then on
	MessageID       string     // without angle brackets; "" for a note and a draft
	References      []string   // Message-IDs it refers to, oldest first, In-Reply-To last
	Ending          Ending     // of a posted user interaction: the text below Body in its message
	Mail            MailHeader // header of a received message
	Threading       Threading  // why a received message is in this conversation
	Security        ledger.Security
	Authentication  ledger.Authentication
	// At determines its place in the conversation. It equals CreatedAt, except for mail from a mailbox's backlog, which is
	// placed by its Date as far as that is plausible.
	At         time.Time
	ReceivedAt time.Time // when the destination server received the message; zero: unknown
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// MailHeader holds the author, recipients and date from a received message's header. It is the zero value for messages filed
// before the header was kept.
type MailHeader struct {
	From    []mailaddr.Address `json:"from,omitempty"`
	Sender  mailaddr.Address   `json:"sender,omitzero"`
	ReplyTo []mailaddr.Address `json:"reply_to,omitempty"`
	To      []mailaddr.Address `json:"to,omitempty"`
	Cc      []mailaddr.Address `json:"cc,omitempty"`
	Date    time.Time          `json:"date,omitzero"` // as given in the header, even if implausible; zero: unparsable
	// ListID and ListPost name the mailing list that it came through, see [message.Message].
	ListID   string `json:"list_id,omitempty"`
	ListPost string `json:"list_post,omitempty"`
	// Rewritten reports that a mailing list or group replaced From with its own address.
	Rewritten bool `json:"rewritten,omitempty"`
	// Forwarded is the customer's message that a member forwarded with this one, whose From is the member. The interaction then
	// belongs to that message's author. The zero value: nothing was forwarded.
	Forwarded ledger.Forwarded `json:"forwarded,omitzero"`
}

// SortKey is the primary sort key of a conversation's interactions; ties are broken by ID.
func (i Interaction) SortKey() int64 { return i.At.UnixMicro() }

func (i Interaction) position() storage.Position {
	return storage.Position{Key: i.SortKey(), ID: i.ID}
}

// author returns the author of a customer's message, from its From header field.
func (i Interaction) author() string {
	if len(i.Mail.From) > 0 {
		return i.Mail.From[0].Email
	}
	return i.CustomerEmail
}

// MessageRef locates the message with some Message-ID.
type MessageRef struct {
	MessageID      string
	InteractionID  int64
	ConversationID int64
	Type           InteractionType
	IsForward      bool
}

// Threading records why an incoming message was filed into its conversation; [Interactions.ExplainThreading] explains it in words.
type Threading struct {
	Rule       string          `json:"rule,omitempty"`       // "token", "references", "colleague" or "new"; "" if not received by mail
	Matched    string          `json:"matched,omitempty"`    // deciding Message-ID, for "references" and "colleague"
	Colleague  string          `json:"colleague,omitempty"`  // the existing participant, for "colleague"
	Token      int64           `json:"token,omitempty"`      // conversation of the valid reply token; 0: none
	References int             `json:"references,omitempty"` // number of Message-IDs it refers to
	Known      int             `json:"known,omitempty"`      // number of the mailbox's messages with those IDs
	Refused    []RefusedThread `json:"refused,omitempty"`    // rejected candidate conversations
	// ForwardedBy is the member who forwarded the message to the desk; 0: not forwarded.
	ForwardedBy int64 `json:"forwarded_by,omitempty"`
	// NotForwarded is the reason why a message that came from a member's address and forwards another one was filed as its
	// sender's own; "" if that was not the case.
	NotForwarded string `json:"not_forwarded,omitempty"`
	// Blocked is the blocked address or domain that made the message spam; "": none.
	Blocked string `json:"blocked,omitempty"`
}

// RefusedThread is a conversation that a message could have joined, and the reason why it did not.
type RefusedThread struct {
	ConversationID int64  `json:"conversation_id"`
	Reason         string `json:"reason"`
}

// Limits of an interaction.
const (
	MaxBody       = 1 << 20 // bytes
	MaxRecipients = 100     // To, Cc and Bcc together
)

// previewLength is the length in characters of a conversation's preview.
const previewLength = 140

// InteractionInput is a new interaction.
type InteractionInput struct {
	Type       InteractionType // required
	Status     Status          // of a user interaction or a note: posted (default) or draft
	Body       string          // HTML, or text without tags; at most 1 MiB. Body or Text is required unless a draft or a note
	Text       string          // plain text, shown as it is, whatever looks like a tag; not together with Body
	To         []string        // of a user interaction; empty: the conversation's customer
	Cc, Bcc    []string        // of a user interaction
	IsForward  bool            // of a user interaction: hidden from the customer
	Source     string          // of a customer interaction; "" means "api"
	Forwarding Forwarding      // of a forward: the message passed on below Body, which may then be empty
	// Seen is what the author of a user interaction has seen, see [NewestSeen]. Posting returns a Conflict fault with
	// [CodeCrossed] if others have added something since. Absent or null skips the check.
	Seen storage.Opt[Seen]
	// SendAt is when a posted user interaction is to be sent, within [MaxSendLater]; zero: at once. If a customer or another
	// member contributes before, it becomes a draft again, see [Interaction.Scheduled].
	SendAt time.Time
	// MacroID is a saved reply whose actions are done in the same transaction as a posted answer or note, also if that is
	// sent later; 0: none. It is not for the interactions of a new conversation. See [Conversations.ApplyMacro].
	MacroID int64
}

// InteractionUpdate changes an interaction. Absent fields are unchanged.
type InteractionUpdate struct {
	Status      storage.Opt[Status] // changing draft to posted sends an answer, or adds a note, and cannot be undone
	Body        storage.Opt[string]
	Text        storage.Opt[string] // instead of Body: see [InteractionInput]
	To, Cc, Bcc storage.Opt[[]string]
	IsForward   storage.Opt[bool]
	Forwarding  storage.Opt[Forwarding] // of a forward, until it is posted
	Source      storage.Opt[string]
	Seen        storage.Opt[Seen] // for posting: see [InteractionInput]
	// SendAt applies to posting and to scheduled interactions: a new time, or null to send now.
	SendAt storage.Opt[time.Time]
	// MacroID is as in [InteractionInput], when a draft is posted.
	MacroID int64
}

// preparedInteraction is a validated input with sanitized HTML. Preparing it before the transaction does this work only
// once.
type preparedInteraction struct {
	Interaction
	starter bool
	seen    storage.Opt[Seen] // of a posted one
}

// createPermission returns the permission for creating an interaction of a type.
func (d *desk) createPermission(t InteractionType) identity.Permission {
	if t == TypeNote && !d.guard.Allows(identity.InteractionsCreate) {
		return identity.NotesCreate
	}
	return identity.InteractionsCreate
}

// prepare validates an input. It reports problems of fields below prefix.
func (d *desk) prepare(in InteractionInput, prefix string) (preparedInteraction, error) {
	if _, err := d.guard.Write(d.createPermission(in.Type)); err != nil {
		return preparedInteraction{}, err
	}
	var problems fault.Collector
	field := fieldOf(prefix)
	i := Interaction{Type: in.Type, Status: StatusPosted, Body: d.bodyOf(&problems, field, in.Body, in.Text)}
	if in.Type == TypeUser || in.Type == TypeNote {
		i.Status = cmp.Or(in.Status, StatusPosted)
		problems.Check(i.Status == StatusPosted || i.Status == StatusDraft, field("status"), "must be posted or draft")
	}
	switch in.Type {
	case TypeUser:
		i.UserID, i.IsForward = d.userID, in.IsForward
		i.passOn(in.Forwarding)
		problems.Check(i.Status == StatusDraft || i.says(), field("body"), "is required")
		i.SendAt = d.sendAt(&problems, field("send_at"), in.SendAt)
		i.To = recipients(&problems, field("to"), in.To)
		i.Cc = recipients(&problems, field("cc"), in.Cc)
		i.Bcc = recipients(&problems, field("bcc"), in.Bcc)
		problems.Check(len(i.To)+len(i.Cc)+len(i.Bcc) <= MaxRecipients, field("to"), "has more than 100 recipients in total")
	case TypeCustomer:
		problems.Check(!blank(i.Body), field("body"), "is required")
		i.Source = plain.Line(in.Source)
		bounded(&problems, field("source"), i.Source, 50)
		if i.Source == "" {
			i.Source = "api"
		}
	case TypeNote:
		i.UserID = d.userID
	case "":
		problems.Add(field("type"), "is required")
	default:
		problems.Add(field("type"), "must be user, customer or note")
	}
	problems.Check(in.SendAt.IsZero() || i.Type == TypeUser && i.Status == StatusPosted, field("send_at"), "is only allowed for posted answers")
	problems.Check(in.MacroID == 0 || i.Type != TypeCustomer && i.Status == StatusPosted && prefix == "", field("saved_reply_id"), macroWhenPosted)
	p := preparedInteraction{Interaction: i}
	if i.Type == TypeUser && i.Status == StatusPosted {
		p.seen = in.Seen
	}
	return p, problems.Err()
}

// fieldOf returns a function that names fields below a prefix in bracket notation.
func fieldOf(prefix string) func(string) string {
	return func(name string) string {
		if prefix == "" {
			return name
		}
		return prefix + "[" + name + "]"
	}
}

// bodyOf returns the HTML of a body or of a text, of which at most one is given.
func (d *desk) bodyOf(problems *fault.Collector, field func(string) string, body, text string) string {
	if text == "" {
		return d.cleanBody(problems, field("body"), body)
	}
	problems.Check(body == "", field("text"), "cannot be combined with body")
	html := ""
	if len(text) <= MaxBody {
		html = mailhtml.FromText(plain.Text(text))
	}
	problems.Check(len(text) <= MaxBody && len(html) <= MaxBody, field("text"), "is larger than 1 MiB")
	return html
}

func (d *desk) cleanBody(problems *fault.Collector, field, body string) string {
	if !problems.Check(len(body) <= MaxBody, field, "is larger than 1 MiB") {
		return ""
	}
	return mailhtml.FromInput(mailhtml.RestoreImages(plain.Text(body)))
}

// blank reports whether a body has no visible content.
func blank(body string) bool {
	return strings.TrimSpace(mailhtml.Text(body)) == "" && !strings.Contains(body, "<img")
}

// says reports whether a message has something to say: text, or a message that it passes on.
func (i Interaction) says() bool { return !blank(i.Body) || i.Forwarding().InteractionID != 0 }

// recipients normalises a list of addresses and drops duplicates.
func recipients(problems *fault.Collector, field string, list []string) []string {
	var out []string
	seen := map[string]bool{}
	for i, one := range list {
		one = plain.Line(one)
		if one == "" {
			continue
		}
		address, _, err := parseRecipient(one)
		if err != nil {
			problems.Add(fmt.Sprintf("%s[%d]", field, i), "is not an email address")
			continue
		}
		if key := mailaddr.Key(address); !seen[key] {
			seen[key] = true
			out = append(out, address)
		}
	}
	return out
}

// parseRecipient parses "a@b" or "Name <a@b>".
func parseRecipient(s string) (address, name string, err error) {
	if mailaddr.Valid(s) {
		return s, "", nil
	}
	parsed, err := netmail.ParseAddress(s)
	if err != nil {
		return "", "", err
	}
	if !mailaddr.Valid(parsed.Address) {
		return "", "", errors.New("helpdesk: no mail address")
	}
	return parsed.Address, parsed.Name, nil
}

// Interactions are the messages, notes and drafts of conversations, with their deliveries.
type Interactions struct{ *desk }

// Interactions returns the handle of messages, notes and drafts.
func (d *Desk) Interactions() Interactions { return Interactions{&d.desk} }

// Create adds an interaction to a conversation. A posted user interaction is queued for sending when the
// transaction commits. It needs interactions.create; for a note, interactions.note is enough.
func (d Interactions) Create(ctx context.Context, conversationID int64, in InteractionInput) (Interaction, error) {
	begin, err := d.guard.Write(d.createPermission(in.Type))
	if err != nil {
		return Interaction{}, err
	}
	p, err := d.prepare(in, "")
	if err != nil {
		return Interaction{}, err
	}
	var created Interaction
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if created, err = d.contribute(ctx, tx, conversationID, p); err != nil || in.MacroID == 0 {
			return err
		}
		created, err = d.withMacro(ctx, tx, in.MacroID, created)
		return err
	})
	return created, err
}

// contribute adds a prepared interaction to a conversation.
func (d *desk) contribute(ctx context.Context, tx Tx, conversationID int64, p preparedInteraction) (Interaction, error) {
	c, err := tx.Conversations().Lock(ctx, conversationID)
	if err != nil {
		return Interaction{}, err
	}
	before, err := recentBefore(ctx, tx, c.ID, p.Interaction)
	if err != nil {
		return Interaction{}, err
	}
	if err := d.checkCrossing(ctx, tx, before, p.seen); err != nil {
		return Interaction{}, err
	}
	mailbox, err := tx.Mailboxes().Get(ctx, c.MailboxID)
	if err != nil {
		return Interaction{}, err
	}
	p.starter = len(before.last) == 0
	old := c
	created, err := d.add(ctx, tx, &c, before, mailbox, p)
	if err != nil {
		return Interaction{}, err
	}
	for _, kind := range changedTo(old, c) {
		if err := tx.Emit(ctx, becauseOf(d.event(kind, c.ID, c.MailboxID), created.ID)); err != nil {
			return Interaction{}, err
		}
	}
	if err := tx.Conversations().Update(ctx, &c); err != nil {
		return Interaction{}, err
	}
	if err := d.tellSaid(ctx, tx, c, created, nil); err != nil {
		return Interaction{}, err
	}
	return created, indexMore(ctx, tx, c, created)
}

// add inserts a prepared interaction after those before it, and updates c accordingly; the caller writes c.
func (d *desk) add(ctx context.Context, tx Tx, c *Conversation, before *recent, mailbox Mailbox, p preparedInteraction) (Interaction, error) {
	if err := d.checkForwarding(ctx, tx.Reader(), c.ID, p.Forwarding()); err != nil {
		return Interaction{}, err
	}
	now := before.notBefore(d.svc.now())
	i := p.Interaction // a copy: the transaction may run fn again
	i.ConversationID, i.At, i.CreatedAt, i.UpdatedAt = c.ID, now, now, now
	i.IsStarter = p.starter && i.Type != TypeNote
	if i.Type == TypeCustomer {
		i.PostedAt = now
		if i.CustomerID == 0 { // default author
			i.CustomerID, i.CustomerEmailID, i.CustomerEmail = c.CustomerID, c.CustomerEmailID, c.CustomerEmail
		}
	}
	posting := i.Type == TypeUser && i.Status == StatusPosted
	if posting {
		if err := d.stamp(ctx, tx, *c, before, mailbox, &i); err != nil {
			return Interaction{}, err
		}
	}
	if err := d.linkMentions(ctx, tx, c.MailboxID, &i); err != nil {
		return Interaction{}, err
	}
	if err := tx.Interactions().Insert(ctx, &i); err != nil {
		return Interaction{}, err
	}
	before.add(i)
	if err := d.emitIn(ctx, tx, "interaction.created", i.ID, *c); err != nil {
		return Interaction{}, err
	}
	c.UpdatedAt = now
	if posting {
		return i, d.send(ctx, tx, c, before, i)
	}
	if i.Type == TypeCustomer {
		c.received(now, i, false)
		return i, d.svc.overtake(ctx, tx, *c, before, i)
	}
	return i, nil
}

// received updates a conversation for a customer's message received at a time.
func (c *Conversation) received(at time.Time, i Interaction, auto bool) {
	if at.After(c.UpdatedAt) {
		c.UpdatedAt = at
	}
	if !i.IsForward {
		c.Preview = mailhtml.Preview(withoutRatingPlaces(i.Body), previewLength, i.answers())
	}
	if auto || c.IsSpam() {
		return // automatic messages and spam neither await a reply nor reopen
	}
	if c.AwaitingSince.IsZero() || at.Before(c.AwaitingSince) {
		c.AwaitingSince = at
	}
	if c.Status == StatusClosed || c.Status == StatusPending {
		c.Status = StatusPosted
	}
	c.SnoozedUntil = time.Time{}
}

// stamp fixes the content of a posted interaction's message before the first attempt, so that every attempt sends the same
// message.
func (d *desk) stamp(ctx context.Context, tx Tx, c Conversation, before *recent, mailbox Mailbox, i *Interaction) error {
	i.PostedAt, i.PostedByID = d.svc.now(), d.userID
	if err := d.addressed(ctx, tx, c, mailbox, before, i); err != nil || i.Scheduled() {
		return err
	}
	return d.svc.identify(ctx, tx, c, before, mailbox, i)
}

// identify sets a message's Message-ID, its References and its ending.
func (s *Service) identify(ctx context.Context, tx Tx, c Conversation, before *recent, mailbox Mailbox, i *Interaction) error {
	var err error
	if i.MessageID, err = s.newMessageID(mailbox); err != nil {
		return err
	}
	if i.References, err = references(ctx, tx, before); err != nil {
		return err
	}
	return s.end(ctx, tx, c, mailbox, i)
}

// addressed ensures that a reply has recipients.
func (d *desk) addressed(ctx context.Context, tx Tx, c Conversation, mailbox Mailbox, before *recent, i *Interaction) error {
	if len(i.To) > 0 {
		return nil
	}
	to, err := d.svc.answered(ctx, tx, d.scope.AccountID, c, mailbox, before)
	if err == nil && len(to) == 0 {
		err = fault.Field("to", "is required: the customer's mail has no sender")
	}
	i.To = to
	return err
}

// references returns the Message-IDs for a reply's References header field, with the message being answered last: the
// customer's newest, if any. The IDs that the message itself refers to come first; some may be unknown here (RFC 5322
// section 3.6.4).
func references(ctx context.Context, tx Tx, before *recent) ([]string, error) {
	thread, err := before.thread(ctx, tx, 50)
	if err != nil || len(thread) == 0 {
		return nil, err
	}
	answered := len(thread) - 1
	for n, m := range slices.Backward(thread) {
		if m.Type == TypeCustomer {
			answered = n
			break
		}
	}
	var known []string
	for n, m := range thread {
		if n != answered {
			known = append(known, m.MessageID)
		}
	}
	known = append(known, thread[answered].MessageID)
	parent, err := before.get(ctx, tx, thread[answered].InteractionID)
	if err != nil {
		return nil, err
	}
	earlier := slices.DeleteFunc(slices.Clone(parent.References), func(id string) bool { return slices.Contains(known, id) })
	return append(earlier, known...), nil
}

// send queues the message of a posted interaction and updates c as answered, unless it is scheduled.
func (d *desk) send(ctx context.Context, tx Tx, c *Conversation, all *recent, i Interaction) error {
	if err := d.svc.overtake(ctx, tx, *c, all, i); err != nil {
		return err
	}
	if i.Scheduled() {
		return d.schedule(ctx, tx, c, all, i)
	}
	account, err := tx.Account(ctx)
	if err != nil {
		return err
	}
	sendAt := i.PostedAt.Add(account.SendHold)
	if err := d.queue(ctx, tx, i, sendAt); err != nil {
		return err
	}
	c.answeredBy(i)
	if err := d.markRead(ctx, tx, all); err != nil {
		return err
	}
	job := storage.Job{Kind: JobSendMail, AccountID: d.scope.AccountID, Subject: i.ID, RunAt: sendAt}
	if err := tx.Enqueue(ctx, job); err != nil {
		return err
	}
	return d.emitIn(ctx, tx, "interaction.posted", i.ID, *c)
}

// answeredBy updates a conversation for a reply that is sent.
func (c *Conversation) answeredBy(i Interaction) {
	if i.IsForward {
		return
	}
	c.AwaitingSince = time.Time{}
	c.Preview = mailhtml.Preview(withoutRatingPlaces(i.Body), previewLength, i.answers())
}

// queue creates one delivery per recipient, under the first header field that contains the recipient, and adds the
// recipients as participants.
func (d *desk) queue(ctx context.Context, tx Tx, i Interaction, sendAt time.Time) error {
	var deliveries []sending.Delivery
	var keys []string
	for _, list := range []struct {
		field     string
		addresses []string
	}{{"to", i.To}, {"cc", i.Cc}, {"bcc", i.Bcc}} {
		for _, address := range list.addresses {
			key := mailaddr.Key(address)
			if slices.Contains(keys, key) {
				continue
			}
			keys = append(keys, key)
			deliveries = append(deliveries, sending.Delivery{
				InteractionID: i.ID, Address: address, AddressKey: key, Field: list.field, State: sending.Queued,
				NextAttemptAt: sendAt, CreatedAt: i.PostedAt, UpdatedAt: i.PostedAt,
			})
		}
	}
	if err := tx.Deliveries().Insert(ctx, storage.Pointers(deliveries)...); err != nil {
		return err
	}
	return tx.AddParticipants(ctx, i.ConversationID, keys)
}

// inConversation verifies that an interaction belongs to the requested conversation.
func inConversation(i Interaction, conversationID int64, err error) (Interaction, error) {
	if err == nil && i.ConversationID != conversationID {
		err = fault.Missing("interaction", i.ID)
	}
	if err != nil {
		return Interaction{}, err
	}
	return i, nil
}

// Get returns one interaction of a conversation. It needs interactions.view.
func (d Interactions) Get(ctx context.Context, conversationID, id int64) (Interaction, error) {
	r, err := d.guard.Read(identity.InteractionsView)
	if err != nil {
		return Interaction{}, err
	}
	i, err := r.Interactions().Get(ctx, id)
	i, err = inConversation(i, conversationID, err)
	return d.concealed(ctx, identity.InteractionsView, i, err)
}

// List lists a conversation's interactions in order: as they arrived, except mail from a mailbox's backlog, which is
// ordered by its sending time. It needs interactions.view.
func (d Interactions) List(ctx context.Context, conversationID int64, req storage.PageRequest) (storage.Page[Interaction], error) {
	r, err := d.guard.Read(identity.InteractionsView)
	if err != nil {
		return storage.Page[Interaction]{}, err
	}
	if _, err := r.Conversations().Get(ctx, conversationID); err != nil {
		return storage.Page[Interaction]{}, err
	}
	return storage.List(req, false, Interaction.position,
		func(seek storage.Seek) ([]Interaction, error) {
			found, err := r.Interactions().List(ctx, InteractionFilter{ConversationID: conversationID}, seek)
			if err != nil {
				return nil, err
			}
			return found, d.conceal(ctx, r, found)
		})
}

// Deliveries returns the delivery state of posted user interactions. It needs interactions.view.
func (d Interactions) Deliveries(ctx context.Context, interactionIDs []int64) ([]sending.Delivery, error) {
	r, err := d.guard.Read(identity.InteractionsView)
	if err != nil || len(interactionIDs) == 0 {
		return nil, err
	}
	return r.Deliveries().List(ctx, sending.DeliveryFilter{InteractionIDs: interactionIDs}, storage.Seek{Limit: storage.NoLimit})
}

// Update changes an interaction. Drafts, notes and customer interactions may change at any time. A posted user
// interaction may change only until sending begins; after that, a change of body, recipients or kind is a Conflict fault.
// Changing a draft's status to posted sends it in the caller's name. It needs interactions.update, and interactions.create
// to post; for a draft of a note by the caller, interactions.note is enough.
func (d Interactions) Update(ctx context.Context, conversationID, id int64, in InteractionUpdate) (Interaction, error) {
	perm := d.draftPermission(identity.InteractionsUpdate)
	begin, err := d.guard.Write(perm)
	if err != nil {
		return Interaction{}, err
	}
	var i Interaction
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		c, err := tx.Conversations().Lock(ctx, conversationID)
		if err != nil {
			return err
		}
		old, err := tx.Interactions().Lock(ctx, id)
		if old, err = inConversation(old, conversationID, err); err == nil {
			err = d.checkOwn(old, perm)
		}
		if err != nil {
			return err
		}
		if i, err = d.changed(old, in); err == nil && in.Forwarding.IsSet() {
			err = d.checkForwarding(ctx, tx.Reader(), c.ID, i.Forwarding())
		}
		if err != nil {
			return err
		}
		all := &recent{conversationID: c.ID}
		if i.Type != TypeCustomer && i.Status == StatusPosted {
			if all, err = recentBefore(ctx, tx, c.ID, i); err != nil {
				return err
			}
		}
		if i.Type == TypeUser && old.Status == StatusDraft && i.Status == StatusPosted {
			if err := d.checkCrossing(ctx, tx, all, in.Seen); err != nil {
				return err
			}
		}
		if in.MacroID != 0 && (i.Type == TypeCustomer || old.Status != StatusDraft || i.Status != StatusPosted) {
			return fault.Field("saved_reply_id", macroWhenPosted)
		}
		if err := d.change(ctx, tx, c, all, old, &i); err != nil || in.MacroID == 0 {
			return err
		}
		i, err = d.withMacro(ctx, tx, in.MacroID, i)
		return err
	})
	return d.concealed(ctx, perm, i, err)
}

// draftPermission returns the permission with which an interaction is changed or deleted: interactions.note for members who
// may only write notes, and may do so with their own drafts, see checkOwn.
func (d *desk) draftPermission(perm identity.Permission) identity.Permission {
	if !d.guard.Allows(perm) && d.guard.Allows(identity.NotesCreate) {
		return identity.NotesCreate
	}
	return perm
}

// checkOwn verifies that an interaction changed with a permission of draftPermission is one of those that it covers.
func (d *desk) checkOwn(i Interaction, perm identity.Permission) error {
	if perm == identity.NotesCreate && (i.Type != TypeNote || i.Status != StatusDraft || i.UserID != d.userID) {
		return fault.New(fault.Forbidden, "You can only change your own draft notes.")
	}
	return nil
}

// changed validates an update and returns the updated interaction.
func (d *desk) changed(old Interaction, in InteractionUpdate) (Interaction, error) {
	var problems fault.Collector
	i := old
	if in.Body.IsSet() || in.Text.IsSet() {
		i.Body = d.bodyOf(&problems, fieldOf(""), in.Body.Or(""), in.Text.Or(""))
	}
	if old.Type == TypeUser || old.Type == TypeNote {
		i.Status = in.Status.Or(old.Status)
		problems.Check(i.Status == StatusPosted || i.Status == StatusDraft, "status", "must be posted or draft")
	}
	if old.Type == TypeUser {
		for _, list := range []struct {
			field string
			in    storage.Opt[[]string]
			out   *[]string
		}{{"to", in.To, &i.To}, {"cc", in.Cc, &i.Cc}, {"bcc", in.Bcc, &i.Bcc}} {
			if list.in.IsSet() {
				*list.out = recipients(&problems, list.field, list.in.Or(nil))
			}
		}
		problems.Check(len(i.To)+len(i.Cc)+len(i.Bcc) <= MaxRecipients, "to", "has more than 100 recipients in total")
		i.IsForward = in.IsForward.Or(old.IsForward)
		if old.Status == StatusDraft {
			i.passOn(in.Forwarding.Or(old.Forwarding()))
		}
		if in.SendAt.IsSet() {
			i.SendAt = d.sendAt(&problems, "send_at", in.SendAt.Or(time.Time{}))
		}
		problems.Check(i.SendAt.IsZero() || i.Status == StatusPosted, "send_at", "is only allowed for posted answers")
	}
	if old.Type == TypeCustomer {
		i.Source = plain.Line(in.Source.Or(old.Source))
		bounded(&problems, "source", i.Source, 50)
	}
	if i.Type == TypeCustomer || i.Status == StatusPosted && i.Type == TypeUser {
		problems.Check(i.says(), "body", "is required")
	}
	return i, problems.Err()
}

// transition describes the effect of an update on an interaction.
type transition struct {
	posting  bool // a draft of an answer is sent
	noting   bool // a draft of a note becomes a note
	requeued bool // a queued message changes its recipients, text or time
	edited   bool // body, recipients or kind change
}

// transitionOf determines an update's transition, or returns a fault if it is not allowed.
func transitionOf(old, i Interaction) (transition, error) {
	wasPosted := old.Type == TypeUser && old.Status == StatusPosted
	edited := old.Body != i.Body || old.IsForward != i.IsForward ||
		!slices.Equal(old.To, i.To) || !slices.Equal(old.Cc, i.Cc) || !slices.Equal(old.Bcc, i.Bcc)
	retimed := wasPosted && !old.SendAt.Equal(i.SendAt)
	if old.Type != TypeCustomer && old.Status == StatusPosted && i.Status != StatusPosted {
		return transition{}, fault.New(fault.Conflict, "A posted interaction cannot become a draft again.")
	}
	if wasPosted && edited && !old.SendStartedAt.IsZero() {
		return transition{}, fault.New(fault.Conflict, "The mail has been sent, so its text and recipients cannot be changed.")
	}
	if retimed && !old.Scheduled() {
		return transition{}, fault.New(fault.Conflict, "The mail is already being sent. Cancel it first to send it later.")
	}
	posting := i.Type == TypeUser && i.Status == StatusPosted && !wasPosted || retimed && !i.Scheduled()
	noting := i.Type == TypeNote && old.Status == StatusDraft && i.Status == StatusPosted
	return transition{posting: posting, noting: noting, requeued: wasPosted && !posting && (edited || retimed), edited: edited}, nil
}

// change writes a changed interaction, which is one of all, and applies its transition.
func (d *desk) change(ctx context.Context, tx Tx, c Conversation, all *recent, old Interaction, i *Interaction) error {
	does, err := transitionOf(old, *i)
	if err != nil {
		return err
	}
	i.UpdatedAt = d.svc.now()
	if does.posting {
		if err := d.prepareToSend(ctx, tx, c, all, i); err != nil {
			return err
		}
	}
	if does.requeued {
		mailbox, err := tx.Mailboxes().Get(ctx, c.MailboxID)
		if err != nil {
			return err
		}
		if err := d.addressed(ctx, tx, c, mailbox, all, i); err != nil {
			return err
		}
	}
	if (does.posting || does.noting) && !i.IsStarter {
		i.At = all.notBefore(i.UpdatedAt) // what was written before others spoke is said after them
	}
	if err := d.linkMentions(ctx, tx, c.MailboxID, i); err != nil {
		return err
	}
	if err := tx.Interactions().Update(ctx, i); err != nil {
		return err
	}
	if err := d.tellNoted(ctx, tx, c, old, *i, does); err != nil {
		return err
	}
	switch {
	case does.posting:
		if err = tx.DeleteDeliveries(ctx, i.ID); err == nil { // of a scheduled interaction
			err = d.send(ctx, tx, &c, all, *i)
		}
	case does.requeued:
		err = d.requeue(ctx, tx, &c, all, *i)
	case does.edited:
		err = refreshPreview(ctx, tx, &c)
	}
	if err != nil {
		return err
	}
	c.UpdatedAt = i.UpdatedAt
	if err := tx.Conversations().Update(ctx, &c); err != nil {
		return err
	}
	if err := indexChange(ctx, tx, c, old, *i, does); err != nil {
		return err
	}
	return d.emitIn(ctx, tx, "interaction.updated", i.ID, c)
}

// tellNoted notifies the members that a changed note mentions for the first time.
func (d *desk) tellNoted(ctx context.Context, tx Tx, c Conversation, old, i Interaction, does transition) error {
	if i.Type != TypeNote || i.Status != StatusPosted || !does.noting && old.Body == i.Body {
		return nil
	}
	var before []int64
	if !does.noting {
		before, _ = mailhtml.Mentions(old.Body)
	}
	return d.tellSaid(ctx, tx, c, i, before)
}

// prepareToSend turns a draft into a message to send, if the caller may send.
func (d *desk) prepareToSend(ctx context.Context, tx Tx, c Conversation, all *recent, i *Interaction) error {
	if _, err := d.guard.Write(identity.InteractionsCreate); err != nil {
		return err
	}
	mailbox, err := tx.Mailboxes().Get(ctx, c.MailboxID)
	if err != nil {
		return err
	}
	return d.stamp(ctx, tx, c, all, mailbox, i)
}

// requeue replaces the recipients of a message whose sending has not begun. It keeps the time at which it is due.
func (d *desk) requeue(ctx context.Context, tx Tx, c *Conversation, all *recent, i Interaction) error {
	old, err := tx.Deliveries().List(ctx, sending.DeliveryFilter{InteractionIDs: []int64{i.ID}}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return err
	}
	sendAt := i.PostedAt
	for _, one := range old {
		if one.NextAttemptAt.After(sendAt) {
			sendAt = one.NextAttemptAt
		}
	}
	if err := tx.DeleteDeliveries(ctx, i.ID); err != nil {
		return err
	}
	if i.Scheduled() {
		return d.schedule(ctx, tx, c, all, i)
	}
	if err := d.queue(ctx, tx, i, sendAt); err != nil {
		return err
	}
	return refreshPreview(ctx, tx, c)
}

// refreshPreview recomputes the preview from the last message that the customer can see.
func refreshPreview(ctx context.Context, tx Tx, c *Conversation) error {
	last, err := tx.Interactions().List(ctx, InteractionFilter{ConversationID: c.ID, Brief: true}, storage.Seek{Desc: true, Limit: 50})
	if err != nil {
		return err
	}
	c.Preview = ""
	visible := func(i Interaction) bool {
		return i.Type != TypeNote && i.Status == StatusPosted && !i.IsForward && !i.Scheduled() && !i.Automatic()
	}
	at := slices.IndexFunc(last, visible)
	if at < 0 {
		return nil
	}
	i, err := tx.Interactions().Get(ctx, last[at].ID)
	c.Preview = mailhtml.Preview(withoutRatingPlaces(i.Body), previewLength, i.answers())
	return err
}

// Delete removes an interaction. A message whose sending has not begun is not sent; one that was sent cannot be
// recalled. It needs interactions.delete; for a draft of a note by the caller, interactions.note is enough.
func (d Interactions) Delete(ctx context.Context, conversationID, id int64) error {
	_, err := d.remove(ctx, conversationID, id, 0, func(Interaction) error { return nil })
	return err
}

// InteractionFilter names the conversation whose interactions are listed.
type InteractionFilter struct {
	ConversationID int64
	WrittenBy      int64 // if set, only the messages of this customer that were not forwarded
	// Brief lists interactions without their bodies, which may have a megabyte each: Body is empty. Do not write these.
	Brief bool
}

// Admits reports whether an interaction is one of those that the filter lists.
func (f InteractionFilter) Admits(i *Interaction) bool {
	return i.ConversationID == f.ConversationID && (f.WrittenBy == 0 || i.Type == TypeCustomer && !i.IsForward && i.CustomerID == f.WrittenBy)
}
