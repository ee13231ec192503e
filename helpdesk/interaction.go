package helpdesk

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	netmail "net/mail"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// InteractionType says who speaks.
type InteractionType string

// The types of interactions. More may be added.
const (
	TypeUser     InteractionType = "user"     // an agent's answer
	TypeCustomer InteractionType = "customer" // a customer's message
	TypeNote     InteractionType = "note"     // seen by members only, never sent
)

// Interaction is one contribution to a conversation.
type Interaction struct {
	ID              int64
	ConversationID  int64
	Type            InteractionType
	Status          Status // StatusPosted, or StatusDraft for a user's
	Body            string // HTML that is safe to show
	Subject         string // of the mail it came as; "" otherwise
	UserID          int64  // creator of a user's or a note; 0 otherwise
	PostedByID      int64  // who sent a user's; 0 while it is a draft
	CustomerID      int64  // of a customer's
	CustomerEmailID int64
	CustomerEmail   string
	To, Cc, Bcc     []string // addresses, of a user's and of a customer's mail (never Bcc)
	Source          string   // of a customer's: "email", "api" or what the caller names
	IsStarter       bool
	IsForward       bool
	AutoSubmitted   bool // written by a machine (RFC 3834)
	SeenAt          time.Time
	PostedAt        time.Time  // when it was posted; the Date of the mail that is sent
	SendAt          time.Time  // when a posted user's is to leave; zero: at once, or it has left. See Scheduled
	SendStartedAt   time.Time  // when the first try to send it began; it is frozen from then on
	MessageID       string     // without angle brackets; "" for a note and a draft
	References      []string   // Message-IDs it refers to, oldest first, In-Reply-To last
	Ending          Ending     // of a posted user's: what stands below Body in its mail
	Mail            MailHeader // of a mail, as it came
	Threading       Threading  // why a mail is in this conversation
	Security        MailSecurity
	Authentication  MailAuthentication
	// At is its place in the conversation. It is CreatedAt, but for a mail from the backlog
	// of a mailbox, which stands where it was sent as far as that is believed.
	At         time.Time
	ReceivedAt time.Time // of a mail: when the server had it that it was delivered to; zero: not known
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// MailHeader is what the header of a mail says of who wrote it, to whom and when. Of
// mails that were filed before it was kept it is the zero value.
type MailHeader struct {
	From    []Address `json:"from,omitempty"`
	Sender  Address   `json:"sender,omitzero"`
	ReplyTo []Address `json:"reply_to,omitempty"`
	To      []Address `json:"to,omitempty"`
	Cc      []Address `json:"cc,omitempty"`
	Date    time.Time `json:"date,omitzero"` // as it says, whatever is believed; zero: unreadable
	// Rewritten: a list or a group has put its own address into From.
	Rewritten bool `json:"rewritten,omitempty"`
	// Forwarded is the mail that a member has passed on with this one, whose From is the
	// member: the interaction is its author's. The zero value: nothing was.
	Forwarded ForwardedMail `json:"forwarded,omitzero"`
}

// SortKey is what the interactions of a conversation are ordered by, before their ids.
func (i Interaction) SortKey() int64 { return i.At.UnixMicro() }

func (i Interaction) position() storage.Position {
	return storage.Position{Key: i.SortKey(), ID: i.ID}
}

// author is who wrote a customer's mail, by its From.
func (i Interaction) author() string {
	if len(i.Mail.From) > 0 {
		return i.Mail.From[0].Email
	}
	return i.CustomerEmail
}

// MessageRef is where a mail with some Message-ID is.
type MessageRef struct {
	MessageID      string
	InteractionID  int64
	ConversationID int64
	Type           InteractionType
	IsForward      bool
}

// Threading tells how an inbound mail came into its conversation when it was filed;
// [Desk.ExplainThreading] says it in words.
type Threading struct {
	Rule       string          `json:"rule,omitempty"`       // "token", "references", "colleague" or "new"; "" when it came by no mail
	Matched    string          `json:"matched,omitempty"`    // Message-ID that decided, for "references" and "colleague"
	Colleague  string          `json:"colleague,omitempty"`  // who takes part, for "colleague"
	Token      int64           `json:"token,omitempty"`      // conversation that the genuine reply token names; 0: there was none
	References int             `json:"references,omitempty"` // Message-IDs that it refers to
	Known      int             `json:"known,omitempty"`      // mails of the mailbox that have them
	Refused    []RefusedThread `json:"refused,omitempty"`    // conversations that were candidates
	// ForwardedBy is the member who forwarded the mail to the desk; 0: nobody did.
	ForwardedBy int64 `json:"forwarded_by,omitempty"`
	// NotForwarded says why the mail, which has a member's address and passes another one
	// on, was taken for one of its sender's; "" if it was not.
	NotForwarded string `json:"not_forwarded,omitempty"`
	// Blocked is the blocked sender that made it spam: an address or a domain; "": none did.
	Blocked string `json:"blocked,omitempty"`
}

// RefusedThread is a conversation a mail could have been put into, and why it was not.
type RefusedThread struct {
	ConversationID int64  `json:"conversation_id"`
	Reason         string `json:"reason"`
}

// Limits of an interaction.
const (
	MaxBody       = 1 << 20 // bytes
	MaxRecipients = 100     // To, Cc and Bcc together
)

// previewLength is how many characters of a message a conversation shows.
const previewLength = 140

// InteractionInput is a new interaction.
type InteractionInput struct {
	Type      InteractionType // required
	Status    Status          // of a user's: posted (default) or draft
	Body      string          // HTML or text, at most 1 MiB; required unless a draft or a note
	To        []string        // of a user's; empty: the conversation's customer
	Cc, Bcc   []string        // of a user's
	IsForward bool            // of a user's: the customer never sees it
	Source    string          // of a customer's; "" means "api"
	// Seen is the interaction that was said last ([NewestSeen]) of those that the author
	// of a user's has seen. Posting is a Conflict fault with [CodeCrossed] when others
	// have said more since; absent or null: it is posted whatever they have said.
	Seen storage.Opt[int64]
	// SendAt is when a user's that is posted is to leave, within [MaxSendLater]; zero: at
	// once. It becomes a draft again if a customer or another member says something
	// before, see [Interaction.Scheduled].
	SendAt time.Time
}

// InteractionUpdate changes an interaction. Absent fields stay as they are.
type InteractionUpdate struct {
	Status      storage.Opt[Status] // draft to posted sends it; there is no way back
	Body        storage.Opt[string]
	To, Cc, Bcc storage.Opt[[]string]
	IsForward   storage.Opt[bool]
	Source      storage.Opt[string]
	Seen        storage.Opt[int64] // for posting: see [InteractionInput]
	// SendAt is for posting, and for what waits for its time: another one, or null to send
	// it now.
	SendAt storage.Opt[time.Time]
}

// preparedInteraction is a validated input: what can be checked before the
// transaction is checked there, and HTML is cleaned once.
type preparedInteraction struct {
	Interaction
	starter bool
	seen    storage.Opt[int64] // of one that is posted
}

// createPermission is what creating an interaction of a type needs.
func (d *Desk) createPermission(t InteractionType) Permission {
	if t == TypeNote && !d.guard.Allows(InteractionsCreate) {
		return NotesCreate
	}
	return InteractionsCreate
}

// prepare validates an input. Problems are reported on fields below prefix.
func (d *Desk) prepare(in InteractionInput, prefix string) (preparedInteraction, error) {
	if _, err := d.guard.Write(d.createPermission(in.Type)); err != nil {
		return preparedInteraction{}, err
	}
	var problems fault.Collector
	field := fieldOf(prefix)
	i := Interaction{Type: in.Type, Status: StatusPosted, Body: d.cleanBody(&problems, field("body"), in.Body)}
	switch in.Type {
	case TypeUser:
		if in.Status == StatusDraft {
			i.Status = StatusDraft
		} else {
			problems.Check(in.Status == "" || in.Status == StatusPosted, field("status"), "must be posted or draft")
			problems.Check(!blank(i.Body), field("body"), "is required")
		}
		i.UserID, i.IsForward = d.userID, in.IsForward
		i.SendAt = d.sendAt(&problems, field("send_at"), in.SendAt)
		i.To = recipients(&problems, field("to"), in.To)
		i.Cc = recipients(&problems, field("cc"), in.Cc)
		i.Bcc = recipients(&problems, field("bcc"), in.Bcc)
		problems.Check(len(i.To)+len(i.Cc)+len(i.Bcc) <= MaxRecipients, field("to"), "more than 100 recipients in all")
	case TypeCustomer:
		problems.Check(!blank(i.Body), field("body"), "is required")
		i.Source = cleanLine(in.Source)
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
	problems.Check(in.SendAt.IsZero() || i.Type == TypeUser && i.Status == StatusPosted, field("send_at"), "is only for answers that are posted")
	p := preparedInteraction{Interaction: i}
	if i.Type == TypeUser && i.Status == StatusPosted {
		p.seen = in.Seen
	}
	return p, problems.Err()
}

// fieldOf names fields below a prefix in bracket notation.
func fieldOf(prefix string) func(string) string {
	return func(name string) string {
		if prefix == "" {
			return name
		}
		return prefix + "[" + name + "]"
	}
}

func (d *Desk) cleanBody(problems *fault.Collector, field, body string) string {
	if !problems.Check(len(body) <= MaxBody, field, "is larger than 1 MiB") {
		return ""
	}
	return mailhtml.FromInput(mailhtml.RestoreImages(clean(body)))
}

// blank reports whether there is nothing to see in a body.
func blank(body string) bool {
	return strings.TrimSpace(mailhtml.Text(body)) == "" && !strings.Contains(body, "<img")
}

// recipients normalises a list of addresses, dropping doubles.
func recipients(problems *fault.Collector, field string, list []string) []string {
	var out []string
	seen := map[string]bool{}
	for i, one := range list {
		one = cleanLine(one)
		if one == "" {
			continue
		}
		address, _, err := parseRecipient(one)
		if err != nil {
			problems.Add(fmt.Sprintf("%s[%d]", field, i), "is no mail address")
			continue
		}
		if key := EmailKey(address); !seen[key] {
			seen[key] = true
			out = append(out, address)
		}
	}
	return out
}

// parseRecipient reads "a@b" or "Name <a@b>".
func parseRecipient(s string) (address, name string, err error) {
	if ValidEmail(s) {
		return s, "", nil
	}
	parsed, err := netmail.ParseAddress(s)
	if err != nil {
		return "", "", err
	}
	if !ValidEmail(parsed.Address) {
		return "", "", errors.New("helpdesk: no mail address")
	}
	return parsed.Address, parsed.Name, nil
}

// CreateInteraction adds to a conversation. A user's that is posted is sent: its
// delivery begins with the commit. It needs interactions.create; for a note
// interactions.note is enough.
func (d *Desk) CreateInteraction(ctx context.Context, conversationID int64, in InteractionInput) (Interaction, error) {
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
		created, err = d.contribute(ctx, tx, conversationID, p)
		return err
	})
	return created, err
}

// contribute puts a prepared interaction into a conversation.
func (d *Desk) contribute(ctx context.Context, tx Tx, conversationID int64, p preparedInteraction) (Interaction, error) {
	c, err := tx.Conversations().Lock(ctx, conversationID)
	if err != nil {
		return Interaction{}, err
	}
	if err := d.checkCrossing(ctx, tx, c.ID, p.seen); err != nil {
		return Interaction{}, err
	}
	mailbox, err := tx.Mailboxes().Get(ctx, c.MailboxID)
	if err != nil {
		return Interaction{}, err
	}
	first, err := tx.Interactions().List(ctx, InteractionFilter{ConversationID: c.ID}, storage.Seek{Limit: 1})
	if err != nil {
		return Interaction{}, err
	}
	p.starter = len(first) == 0
	old := c
	created, err := d.add(ctx, tx, &c, mailbox, p)
	if err != nil {
		return Interaction{}, err
	}
	for _, kind := range changedTo(old, c) {
		if err := d.emit(ctx, tx, kind, c.ID, c.MailboxID); err != nil {
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

// add inserts a prepared interaction and changes c as it demands; the caller
// writes c.
func (d *Desk) add(ctx context.Context, tx Tx, c *Conversation, mailbox Mailbox, p preparedInteraction) (Interaction, error) {
	now, err := standsLast(ctx, tx, c.ID, d.svc.now())
	if err != nil {
		return Interaction{}, err
	}
	i := p.Interaction // fn of a transaction may run again: p stays as it is
	i.ConversationID, i.At, i.CreatedAt, i.UpdatedAt = c.ID, now, now, now
	i.IsStarter = p.starter && i.Type != TypeNote
	if i.Type == TypeCustomer {
		i.PostedAt = now
		if i.CustomerID == 0 { // not known better
			i.CustomerID, i.CustomerEmailID, i.CustomerEmail = c.CustomerID, c.CustomerEmailID, c.CustomerEmail
		}
	}
	posting := i.Type == TypeUser && i.Status == StatusPosted
	if posting {
		if err := d.stamp(ctx, tx, *c, mailbox, &i); err != nil {
			return Interaction{}, err
		}
	}
	if err := d.linkMentions(ctx, tx, c.MailboxID, &i); err != nil {
		return Interaction{}, err
	}
	if err := tx.Interactions().Insert(ctx, &i); err != nil {
		return Interaction{}, err
	}
	if err := d.emitIn(ctx, tx, "interaction.created", i.ID, *c); err != nil {
		return Interaction{}, err
	}
	c.UpdatedAt = now
	if posting {
		return i, d.send(ctx, tx, c, i)
	}
	if i.Type == TypeCustomer {
		c.received(now, i, false)
		return i, d.svc.overtake(ctx, tx, *c, i)
	}
	return i, nil
}

// standsLast is the time of something new in a conversation (0: a new one): now, but not
// before what is there. Clocks of processes differ, and who waited for a lock looked at
// theirs before.
func standsLast(ctx context.Context, tx Tx, conversationID int64, now time.Time) (time.Time, error) {
	if conversationID == 0 {
		return now, nil
	}
	last, err := tx.Interactions().List(ctx, InteractionFilter{ConversationID: conversationID}, storage.Seek{Desc: true, Limit: 1})
	if err == nil && len(last) > 0 && last[0].At.After(now) {
		now = last[0].At
	}
	return now, err
}

// received changes a conversation for a customer's message of some time.
func (c *Conversation) received(at time.Time, i Interaction, auto bool) {
	if at.After(c.UpdatedAt) {
		c.UpdatedAt = at
	}
	if !i.IsForward {
		c.Preview = mailhtml.Preview(i.Body, previewLength, i.answers())
	}
	if auto || c.IsSpam() {
		return // a machine neither waits nor reopens, nor does spam
	}
	if c.AwaitingSince.IsZero() || at.Before(c.AwaitingSince) {
		c.AwaitingSince = at
	}
	if c.Status == StatusClosed || c.Status == StatusPending {
		c.Status = StatusPosted
	}
	c.SnoozedUntil = time.Time{}
}

// stamp fixes what the mail of a posted interaction is, before the first try to
// send it: every try sends the same.
func (d *Desk) stamp(ctx context.Context, tx Tx, c Conversation, mailbox Mailbox, i *Interaction) error {
	i.PostedAt, i.PostedByID = d.svc.now(), d.userID
	if err := d.addressed(ctx, tx, c, i); err != nil || i.Scheduled() {
		return err
	}
	return d.svc.identify(ctx, tx, c, mailbox, i)
}

// identify gives a mail its Message-ID, and says what it answers and ends with.
func (s *Service) identify(ctx context.Context, tx Tx, c Conversation, mailbox Mailbox, i *Interaction) error {
	id, err := s.random(16)
	if err != nil {
		return err
	}
	_, domain, found := cutLast(mailbox.EmailKey, "@") // in ASCII, as a msg-id must be
	if !found {
		domain = s.cfg.IntakeDomain
	}
	i.MessageID = hex.EncodeToString(id) + "@" + domain
	thread, err := tx.Thread(ctx, c.ID, 50)
	if err != nil {
		return err
	}
	if i.References, err = references(ctx, tx, thread); err != nil {
		return err
	}
	return s.end(ctx, tx, c, mailbox, i)
}

// addressed makes sure that an answer has recipients.
func (d *Desk) addressed(ctx context.Context, tx Tx, c Conversation, i *Interaction) error {
	if len(i.To) > 0 {
		return nil
	}
	to, err := d.svc.answered(ctx, tx.Reader(), d.scope.AccountID, c)
	if err == nil && len(to) == 0 {
		err = fault.Field("to", "is required: the customer's mail names no sender")
	}
	i.To = to
	return err
}

// references lists the mails of a thread with the one that is answered last: the
// customer's newest, if there is one. In front are those that it refers to itself, of
// which some may never have come here (RFC 5322 section 3.6.4).
func references(ctx context.Context, tx Tx, thread []MessageRef) ([]string, error) {
	if len(thread) == 0 {
		return nil, nil
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
	parent, err := tx.Interactions().Get(ctx, thread[answered].InteractionID)
	if err != nil {
		return nil, err
	}
	before := slices.DeleteFunc(slices.Clone(parent.References), func(id string) bool { return slices.Contains(known, id) })
	return append(before, known...), nil
}

// send enqueues the mail of a posted interaction and changes c: the customer has
// an answer, unless it is to leave later.
func (d *Desk) send(ctx context.Context, tx Tx, c *Conversation, i Interaction) error {
	if err := d.svc.overtake(ctx, tx, *c, i); err != nil {
		return err
	}
	if i.Scheduled() {
		return d.schedule(ctx, tx, c, i)
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
	if err := d.markRead(ctx, tx, c.ID); err != nil {
		return err
	}
	job := storage.Job{Kind: JobSendMail, AccountID: d.scope.AccountID, Subject: i.ID, RunAt: sendAt}
	if err := tx.Enqueue(ctx, job); err != nil {
		return err
	}
	return d.emitIn(ctx, tx, "interaction.posted", i.ID, *c)
}

// answeredBy changes a conversation for an answer that leaves.
func (c *Conversation) answeredBy(i Interaction) {
	if i.IsForward {
		return
	}
	c.AwaitingSince = time.Time{}
	c.Preview = mailhtml.Preview(i.Body, previewLength, i.answers())
}

// queue makes one delivery for every recipient, whose field is the first it
// stands in, and notes them as taking part.
func (d *Desk) queue(ctx context.Context, tx Tx, i Interaction, sendAt time.Time) error {
	var deliveries []Delivery
	var keys []string
	for _, list := range []struct {
		field     string
		addresses []string
	}{{"to", i.To}, {"cc", i.Cc}, {"bcc", i.Bcc}} {
		for _, address := range list.addresses {
			key := EmailKey(address)
			if slices.Contains(keys, key) {
				continue
			}
			keys = append(keys, key)
			deliveries = append(deliveries, Delivery{
				InteractionID: i.ID, Address: address, AddressKey: key, Field: list.field, State: DeliveryQueued,
				NextAttemptAt: sendAt, CreatedAt: i.PostedAt, UpdatedAt: i.PostedAt,
			})
		}
	}
	if err := tx.Deliveries().Insert(ctx, storage.Pointers(deliveries)...); err != nil {
		return err
	}
	return tx.AddParticipants(ctx, i.ConversationID, keys)
}

// inConversation makes sure that an interaction belongs to the conversation it was
// asked for.
func inConversation(i Interaction, conversationID int64, err error) (Interaction, error) {
	if err == nil && i.ConversationID != conversationID {
		err = fault.Missing("interaction", i.ID)
	}
	if err != nil {
		return Interaction{}, err
	}
	return i, nil
}

// Interaction returns one interaction of a conversation. It needs interactions.view.
func (d *Desk) Interaction(ctx context.Context, conversationID, id int64) (Interaction, error) {
	r, err := d.guard.Read(InteractionsView)
	if err != nil {
		return Interaction{}, err
	}
	i, err := r.Interactions().Get(ctx, id)
	i, err = inConversation(i, conversationID, err)
	return d.concealed(ctx, InteractionsView, i, err)
}

// Interactions lists a conversation's interactions in their order: as they came, and
// mails from the backlog of a mailbox as they were sent. It needs interactions.view.
func (d *Desk) Interactions(ctx context.Context, conversationID int64, req storage.PageRequest) (storage.Page[Interaction], error) {
	r, err := d.guard.Read(InteractionsView)
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

// Deliveries returns how far posted user interactions got on their way. It needs
// interactions.view.
func (d *Desk) Deliveries(ctx context.Context, interactionIDs []int64) ([]Delivery, error) {
	r, err := d.guard.Read(InteractionsView)
	if err != nil || len(interactionIDs) == 0 {
		return nil, err
	}
	return r.Deliveries().List(ctx, DeliveryFilter{InteractionIDs: interactionIDs}, storage.Seek{Limit: storage.NoLimit})
}

// UpdateInteraction changes an interaction. Drafts, notes and customers' may be
// changed at any time; a posted user's only until its sending begins, after that a
// change of body, recipients or kind is a Conflict fault. Setting the status of a
// draft to posted sends it, in the name of the caller. It needs interactions.update,
// and interactions.create to post.
func (d *Desk) UpdateInteraction(ctx context.Context, conversationID, id int64, in InteractionUpdate) (Interaction, error) {
	begin, err := d.guard.Write(InteractionsUpdate)
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
		if old, err = inConversation(old, conversationID, err); err != nil {
			return err
		}
		if i, err = d.changed(old, in); err != nil {
			return err
		}
		if old.Status == StatusDraft && i.Status == StatusPosted {
			if err := d.checkCrossing(ctx, tx, c.ID, in.Seen); err != nil {
				return err
			}
		}
		return d.change(ctx, tx, c, old, &i)
	})
	return d.concealed(ctx, InteractionsUpdate, i, err)
}

// changed validates an update and returns what the interaction becomes.
func (d *Desk) changed(old Interaction, in InteractionUpdate) (Interaction, error) {
	var problems fault.Collector
	i := old
	if in.Body.IsSet() {
		i.Body = d.cleanBody(&problems, "body", in.Body.Or(""))
	}
	if old.Type == TypeUser {
		i.Status = in.Status.Or(old.Status)
		problems.Check(i.Status == StatusPosted || i.Status == StatusDraft, "status", "must be posted or draft")
		for _, list := range []struct {
			field string
			in    storage.Opt[[]string]
			out   *[]string
		}{{"to", in.To, &i.To}, {"cc", in.Cc, &i.Cc}, {"bcc", in.Bcc, &i.Bcc}} {
			if list.in.IsSet() {
				*list.out = recipients(&problems, list.field, list.in.Or(nil))
			}
		}
		problems.Check(len(i.To)+len(i.Cc)+len(i.Bcc) <= MaxRecipients, "to", "more than 100 recipients in all")
		i.IsForward = in.IsForward.Or(old.IsForward)
		if in.SendAt.IsSet() {
			i.SendAt = d.sendAt(&problems, "send_at", in.SendAt.Or(time.Time{}))
		}
		problems.Check(i.SendAt.IsZero() || i.Status == StatusPosted, "send_at", "is only for answers that are posted")
	}
	if old.Type == TypeCustomer {
		i.Source = cleanLine(in.Source.Or(old.Source))
		bounded(&problems, "source", i.Source, 50)
	}
	if i.Type == TypeCustomer || i.Status == StatusPosted && i.Type == TypeUser {
		problems.Check(!blank(i.Body), "body", "is required")
	}
	return i, problems.Err()
}

// transition is what an update does to an interaction.
type transition struct {
	posting  bool // a draft is sent
	requeued bool // a mail that waits changes its recipients, its text or its time
	edited   bool // body, recipients or kind are others
}

// transitionOf decides what an update does, and whether it may.
func transitionOf(old, i Interaction) (transition, error) {
	wasPosted := old.Type == TypeUser && old.Status == StatusPosted
	edited := old.Body != i.Body || old.IsForward != i.IsForward ||
		!slices.Equal(old.To, i.To) || !slices.Equal(old.Cc, i.Cc) || !slices.Equal(old.Bcc, i.Bcc)
	retimed := wasPosted && !old.SendAt.Equal(i.SendAt)
	if wasPosted && i.Status != StatusPosted {
		return transition{}, fault.New(fault.Conflict, "A posted interaction cannot become a draft again.")
	}
	if wasPosted && edited && !old.SendStartedAt.IsZero() {
		return transition{}, fault.New(fault.Conflict, "The mail was sent already: its text and its recipients cannot be changed.")
	}
	if retimed && !old.Scheduled() {
		return transition{}, fault.New(fault.Conflict, "The mail is on its way already: call it back to send it later.")
	}
	posting := i.Type == TypeUser && i.Status == StatusPosted && !wasPosted || retimed && !i.Scheduled()
	return transition{posting: posting, requeued: wasPosted && !posting && (edited || retimed), edited: edited}, nil
}

// change writes a changed interaction and does what its transition demands.
func (d *Desk) change(ctx context.Context, tx Tx, c Conversation, old Interaction, i *Interaction) error {
	does, err := transitionOf(old, *i)
	if err != nil {
		return err
	}
	i.UpdatedAt = d.svc.now()
	if does.posting {
		if err := d.prepareToSend(ctx, tx, c, i); err != nil {
			return err
		}
	}
	if does.requeued {
		if err := d.addressed(ctx, tx, c, i); err != nil {
			return err
		}
	}
	if err := d.linkMentions(ctx, tx, c.MailboxID, i); err != nil {
		return err
	}
	if err := tx.Interactions().Update(ctx, i); err != nil {
		return err
	}
	if i.Type == TypeNote && old.Body != i.Body {
		before, _ := mailhtml.Mentions(old.Body)
		if err := d.tellSaid(ctx, tx, c, *i, before); err != nil {
			return err
		}
	}
	switch {
	case does.posting:
		if err = tx.DeleteDeliveries(ctx, i.ID); err == nil { // of one that was to leave later
			err = d.send(ctx, tx, &c, *i)
		}
	case does.requeued:
		err = d.requeue(ctx, tx, &c, *i)
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
	if old.Body != i.Body {
		if err := reindex(ctx, tx, c); err != nil {
			return err
		}
	}
	return d.emitIn(ctx, tx, "interaction.updated", i.ID, c)
}

// prepareToSend makes a draft a mail, if the caller may send.
func (d *Desk) prepareToSend(ctx context.Context, tx Tx, c Conversation, i *Interaction) error {
	if _, err := d.guard.Write(InteractionsCreate); err != nil {
		return err
	}
	mailbox, err := tx.Mailboxes().Get(ctx, c.MailboxID)
	if err != nil {
		return err
	}
	return d.stamp(ctx, tx, c, mailbox, i)
}

// requeue gives a mail whose sending has not begun its new recipients. It is sent
// when it was to be sent before.
func (d *Desk) requeue(ctx context.Context, tx Tx, c *Conversation, i Interaction) error {
	old, err := tx.Deliveries().List(ctx, DeliveryFilter{InteractionIDs: []int64{i.ID}}, storage.Seek{Limit: storage.NoLimit})
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
		return d.schedule(ctx, tx, c, i)
	}
	if err := d.queue(ctx, tx, i, sendAt); err != nil {
		return err
	}
	return refreshPreview(ctx, tx, c)
}

// refreshPreview makes the preview anew from the last message that the customer
// can see.
func refreshPreview(ctx context.Context, tx Tx, c *Conversation) error {
	last, err := tx.Interactions().List(ctx, InteractionFilter{ConversationID: c.ID}, storage.Seek{Desc: true, Limit: 50})
	if err != nil {
		return err
	}
	c.Preview = ""
	for _, i := range last {
		if i.Type != TypeNote && i.Status == StatusPosted && !i.IsForward && !i.Scheduled() {
			c.Preview = mailhtml.Preview(i.Body, previewLength, i.answers())
			return nil
		}
	}
	return nil
}

// DeleteInteraction removes an interaction. A mail whose sending has not begun is
// not sent any more; one that was sent cannot be called back. It needs
// interactions.delete.
func (d *Desk) DeleteInteraction(ctx context.Context, conversationID, id int64) error {
	begin, err := d.guard.Write(InteractionsDelete)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		c, err := tx.Conversations().Lock(ctx, conversationID)
		if err != nil {
			return err
		}
		i, err := tx.Interactions().Lock(ctx, id)
		if _, err = inConversation(i, conversationID, err); err != nil {
			return err
		}
		attachments, err := tx.Attachments().List(ctx, AttachmentFilter{InteractionIDs: []int64{id}}, storage.Seek{Limit: storage.NoLimit})
		if err != nil {
			return err
		}
		keys := make([]string, len(attachments))
		for n, a := range attachments {
			keys[n] = a.BlobKey
		}
		if err := tx.Interactions().Delete(ctx, id); err != nil {
			return err
		}
		if err := tx.Enqueue(ctx, purgeKeys(d.scope.AccountID, keys)...); err != nil {
			return err
		}
		if err := refreshPreview(ctx, tx, &c); err != nil {
			return err
		}
		c.UpdatedAt = d.svc.now()
		if err := tx.Conversations().Update(ctx, &c); err != nil {
			return err
		}
		if err := reindex(ctx, tx, c); err != nil {
			return err
		}
		return d.emitIn(ctx, tx, "interaction.deleted", id, c)
	})
}

// InteractionFilter says of which conversation interactions are listed.
type InteractionFilter struct{ ConversationID int64 }
