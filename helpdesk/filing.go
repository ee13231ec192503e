package helpdesk

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/filetype"
	"github.com/helpwright/helpwright/storage/guard"
	"github.com/helpwright/helpwright/storage/plain"
)

var unknownSender = mailaddr.Address{Name: "Unknown sender", Email: ledger.UnknownSender}

// File files a received message as an interaction of the conversation that it replies to, or of a new one. The returned row
// contains the result: filed, ignored as a duplicate or as our own, or quarantined. Filing again changes nothing.
func (in *Intake) File(ctx context.Context, accountID, id int64, mail ledger.Incoming) (ledger.Mail, error) {
	rows, err := in.FileAll(ctx, accountID, []ledger.Parsed{{ID: id, Mail: mail}})
	if err != nil {
		return ledger.Mail{}, err
	}
	return rows[0], nil
}

// FileAll is [Intake.File] for several messages, in order and in one transaction. After an error none is filed; the caller
// should then file them one by one, so that the faulty one does not hold up the others. Other writers in the account may
// have to wait, so there should be few messages. A member's command mail has its own transaction, which ends the one before.
func (in *Intake) FileAll(ctx context.Context, accountID int64, mails []ledger.Parsed) ([]ledger.Mail, error) {
	begin, err := in.desk(accountID).Write(receive)
	if err != nil {
		return nil, err
	}
	now := in.svc.now()
	all, members := make([]*filing, len(mails)), map[string]int64{}
	for i, m := range mails {
		cleanIncoming(&m.Mail)
		f := &filing{svc: in.svc, accountID: accountID, ledgerID: m.ID, mail: m.Mail, now: now, users: members}
		f.prepareBody()
		for _, a := range speakers(&f.mail) {
			key := mailaddr.Key(a.Email)
			if _, asked := members[key]; asked {
				continue
			}
			if members[key], err = in.findMember(ctx, key); err != nil {
				return nil, err
			}
		}
		if err := in.findForward(ctx, f); err != nil {
			return nil, err
		}
		if err := in.findWork(ctx, f); err != nil {
			return nil, err
		}
		all[i] = f
	}
	for _, f := range all {
		if err := f.putFiles(ctx); err != nil {
			discardAll(ctx, all, err)
			return nil, err
		}
	}
	var rows []ledger.Mail
	for rest := all; len(rest) > 0; {
		n, file := workless(rest), in.fileTogether
		if n == 0 {
			n, file = 1, in.fileWorks
		}
		some, err := file(ctx, begin, rest[:n])
		discardAll(ctx, rest[:n], err)
		if err != nil {
			discardAll(ctx, rest[n:], err)
			return nil, err
		}
		rows, rest = append(rows, some...), rest[n:]
	}
	return rows, nil
}

// workless returns the number of messages before the first command mail.
func workless(all []*filing) int {
	if n := slices.IndexFunc(all, func(f *filing) bool { return f.work != nil }); n >= 0 {
		return n
	}
	return len(all)
}

// fileWorks files command mail from members, each in its own transaction.
func (in *Intake) fileWorks(ctx context.Context, _ guard.Begin[Tx], all []*filing) ([]ledger.Mail, error) {
	rows := make([]ledger.Mail, len(all))
	for i, f := range all {
		var err error
		if rows[i], err = in.fileWork(ctx, f); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// fileTogether files messages in one transaction.
func (in *Intake) fileTogether(ctx context.Context, begin guard.Begin[Tx], all []*filing) ([]ledger.Mail, error) {
	rows := make([]ledger.Mail, len(all))
	err := retryUnique(func() error {
		return begin(ctx, func(ctx context.Context, tx Tx) error {
			shared := &filingTogether{mailboxes: map[int64]Mailbox{}, all: all}
			for i, f := range all {
				var err error
				f.taken = false
				if rows[i], err = f.file(ctx, tx, shared); err != nil {
					return err
				}
				if err := endOperation(ctx, tx); err != nil {
					return err
				}
			}
			if err := in.svc.notifyAfterCommit(ctx, tx, all[0].accountID, shared.told...); err != nil {
				return err
			}
			return shared.index.write(ctx, tx)
		})
	}, UniqueCustomerEmail, ledger.UniqueIdentity)
	return rows, err
}

// discardAll removes stored parts without rows: all parts after an error, otherwise those of messages that others have
// handled.
func discardAll(ctx context.Context, all []*filing, err error) {
	for _, f := range all {
		if err == nil && f.taken {
			continue
		}
		for _, a := range f.parts() {
			f.svc.discard(ctx, err, a.BlobKey)
		}
	}
}

// clean makes all texts valid for storage.
func cleanIncoming(m *ledger.Incoming) {
	m.MessageID = plain.Cut(plain.Line(m.MessageID), 998)
	m.InReplyTo, m.References = cleanIDs(m.InReplyTo), cleanIDs(m.References)
	m.Original = mailaddr.Address{Name: plain.Cut(plain.Line(m.Original.Name), 200), Email: plain.Cut(plain.Line(m.Original.Email), 320)}
	m.ReturnPath = plain.Cut(plain.Line(m.ReturnPath), 320)
	m.From, m.Sender, m.ReplyTo = cleanAddresses(m.From), cleanAddresses(m.Sender), cleanAddresses(m.ReplyTo)
	m.To, m.Cc, m.Bcc = cleanAddresses(m.To), cleanAddresses(m.Cc), cleanAddresses(m.Bcc)
	if len(m.From) == 0 {
		m.From = []mailaddr.Address{unknownSender}
	}
	if m.Date.Year() < 1 || m.Date.Year() > 9999 {
		m.Date = time.Time{}
	}
	m.Subject = plain.Cut(plain.Line(m.Subject), 998)
	m.Language = cleanLocale(m.Language)
	m.HTML, m.Text = plain.Text(m.HTML), plain.Text(m.Text)
	cleanSecurity(&m.Security)
	for i, a := range m.Attachments {
		a.Filename = filetype.SafeName(a.Filename)
		if a.Filename == "" {
			a.Filename = fmt.Sprintf("attachment-%d", i+1)
		}
		a.ContentType, a.ContentID = plain.Cut(plain.Line(a.ContentType), 200), plain.Cut(plain.Line(a.ContentID), 998)
		m.Attachments[i] = a
	}
	if m.Attached != nil {
		attached := *m.Attached
		cleanIncoming(&attached)
		m.Attached = &attached
	}
}

// maxThread limits the ids and addresses of a message that are examined.
const maxThread = 100

func cleanIDs(ids []string) []string {
	var out []string
	for _, id := range ids[max(0, len(ids)-maxThread):] {
		if id = plain.Cut(plain.Line(id), 998); id != "" {
			out = append(out, id)
		}
	}
	return out
}

func cleanAddresses(all []mailaddr.Address) []mailaddr.Address {
	var out []mailaddr.Address
	for _, a := range all[:min(len(all), maxThread)] {
		if email := plain.Cut(plain.Line(a.Email), 320); email != "" {
			out = append(out, mailaddr.Address{Name: plain.Cut(plain.Line(a.Name), 200), Email: email})
		}
	}
	return out
}

// filing is the state of filing one message.
type filing struct {
	svc       *Service
	accountID int64
	ledgerID  int64
	mail      ledger.Incoming
	now       time.Time
	body      string
	files     []Attachment
	users     map[string]int64 // users of any account whom the message names as its author, by mailaddr.Key
	customer  mailaddr.Address // the customer it is filed under
	forOthers bool             // From is a form, a list or a group, and not a participant
	fromUs    bool             // From is an address of our own, and the message names no author instead
	claimsUs  bool             // as fromUs, but nothing shows that we sent it
	taken     bool             // the ledger was not done with the message, so its parts are named or purged
	auth      ledger.Authentication
	passed    *forward    // possible forward by a member; nil: none
	forward   *forward    // the forward; decided in the transaction
	about     returned    // the delivery that it reports on, if filed with it; else zero
	work      *memberWork // a member's command mail; nil: none
	asked     *string     // text of a member above a forward, with the commands

	// For a filed message that is threaded again:
	interactionID int64
	token         int64 // conversation of its reply token; 0: none recorded
}

// prepareBody prepares the displayed body. A body over [MaxBody] is truncated and also attached as a whole, so that nothing
// is lost.
func (f *filing) prepareBody() {
	html, text := f.mail.HTML, strings.TrimRight(f.mail.Text, " \t\r\n")
	f.body = mailhtml.Clean(f.linkParts(f.whole(html, "message.html", "text/html; charset=utf-8")))
	if blank(f.body) && text != "" {
		f.body = mailhtml.FromText(f.whole(text, "message.txt", "text/plain; charset=utf-8"))
	}
	if blank(f.body) {
		if text := standIn(f.mail.Security); text != "" {
			f.body = mailhtml.FromText(text)
		}
	}
}

// whole returns a body, or if it is too large, its beginning, and attaches the whole.
func (f *filing) whole(body, filename, contentType string) string {
	if len(body) <= MaxBody {
		return body
	}
	f.mail.Attachments = append(slices.Clone(f.mail.Attachments), message.Part{Filename: filename, ContentType: contentType, Body: []byte(body)})
	return strings.ToValidUTF8(body[:MaxBody], "")
}

// putFiles stores the message's files.
func (f *filing) putFiles(ctx context.Context) error {
	if err := f.put(ctx, f.mail.Attachments, &f.files); err != nil {
		return err
	}
	if f.passed == nil || !f.passed.attached {
		return nil
	}
	return f.put(ctx, f.mail.Attached.Attachments, &f.passed.files)
}

func (f *filing) put(ctx context.Context, parts []message.Part, files *[]Attachment) error {
	for _, a := range parts {
		key := fileKey(f.accountID)
		if _, err := f.svc.cfg.Blobs.Put(ctx, key, bytes.NewReader(a.Body)); err != nil {
			return err
		}
		*files = append(*files, Attachment{
			Filename: a.Filename, ContentType: filetype.TrueImage(a.ContentType, a.Body[:min(len(a.Body), filetype.HeadSize)]), ContentID: a.ContentID, Size: int64(len(a.Body)),
			IsInline: a.Inline, BlobKey: key, CreatedAt: f.now,
		})
	}
	return nil
}

// parts returns all stored files of the message.
func (f *filing) parts() []Attachment {
	if f.passed == nil {
		return f.files
	}
	return slices.Concat(f.files, f.passed.files)
}

// filingTogether is shared by the messages of a transaction.
type filingTogether struct {
	mailboxes map[int64]Mailbox // already read
	own       *ownAddresses     // nil: not read yet
	index     indexing
	all       []*filing
	blocks    map[string]BlockedSender // by Key, for all possible customers of the messages; nil: not read yet
	erased    map[string]time.Time     // when addresses were erased, by mailaddr.Key, likewise
	told      []occurrence             // notifications for members

	autoReplies     []AutoReply // of the account, if they were read
	autoRepliesRead bool
}

func (f *filing) file(ctx context.Context, tx Tx, shared *filingTogether) (ledger.Mail, error) {
	row, err := tx.InboundForUpdate(ctx, f.ledgerID)
	if err != nil || row.State != ledger.Received {
		return row, err
	}
	f.taken, tx = true, actAs(tx, subscription.Actor{Type: subscription.ActorMail, ID: row.ID})
	row.Head = ledger.Head{Subject: f.mail.Subject, From: f.mail.FirstAuthor()}
	row.MessageID, f.auth = f.mail.MessageID, f.authentication(row)
	mailbox, known := shared.mailboxes[row.MailboxID]
	if !known {
		if mailbox, err = tx.Mailboxes().Get(ctx, row.MailboxID); err != nil {
			return row, err
		}
		shared.mailboxes[row.MailboxID] = mailbox
	}
	double, err := f.doubled(ctx, tx, row)
	if err != nil {
		return row, err
	}
	if double != "" {
		return row, f.drop(ctx, tx, &row, ledger.Ignored, double)
	}
	if err := f.chooseCustomer(ctx, tx, shared); err != nil {
		return row, err
	}
	f.claimsUs = f.fromUs && !f.sentByUs(row)
	if gone, err := f.dropErased(ctx, tx, &row, shared, f.mail.FirstAuthor(), f.customer); gone || err != nil {
		return row, err
	}
	own, err := f.ownMessage(ctx, tx, mailbox)
	if err != nil {
		return row, err
	}
	if own {
		return row, f.drop(ctx, tx, &row, ledger.Ignored, "it is our own answer, sent from this mailbox")
	}
	if probe, err := f.probed(ctx, tx, &row); probe || err != nil {
		return row, err
	}
	if taken, err := f.bounce(ctx, tx, &row, mailbox); taken || err != nil {
		return row, err
	}
	to, userID, err := f.ownAnswer(ctx, tx, shared)
	if err != nil {
		return row, err
	}
	if len(to) > 0 {
		return f.unlessErased(ctx, tx, row, shared, to, func() (ledger.Mail, error) {
			return f.fileAnswer(ctx, tx, row, mailbox, to, userID, shared)
		})
	}
	notForwarded, err := f.believeForward(ctx, tx, shared, mailbox)
	if err == nil && f.passed != nil && f.passed.explicit && f.forward == nil {
		err = refuse("%s", cmp.Or(notForwarded, "a form, a list or a group has sent it"))
	}
	if err != nil {
		return row, err
	}
	return f.unlessErased(ctx, tx, row, shared, f.passedOn(), func() (ledger.Mail, error) {
		return f.insert(ctx, tx, row, mailbox, notForwarded, shared)
	})
}

// drop finishes a message that is not filed and removes its parts; the raw message stays.
func (f *filing) drop(ctx context.Context, tx Tx, row *ledger.Mail, state ledger.State, reason string) error {
	if err := f.purge(ctx, tx, f.parts()); err != nil {
		return err
	}
	return setFinalState(ctx, tx, row, state, reason, f.now)
}

// purge removes stored parts after the commit.
func (f *filing) purge(ctx context.Context, tx Tx, files []Attachment) error {
	keys := make([]string, len(files))
	for i, a := range files {
		keys[i] = a.BlobKey
	}
	return tx.Enqueue(ctx, purgeKeys(f.accountID, keys)...)
}

// setFinalState sets the final state of a message that is not filed.
func setFinalState(ctx context.Context, tx Tx, row *ledger.Mail, state ledger.State, reason string, now time.Time) error {
	row.State, row.Reason, row.Deaths, row.UpdatedAt = state, plain.Cut(plain.Line(reason), 500), 0, now
	if err := tx.UpdateInbound(ctx, row); err != nil {
		return err
	}
	return tx.Emit(ctx, storage.Event{
		Type: "mail." + string(state), Subject: row.ID, MailboxID: row.MailboxID, Data: eventData(row.ID), Time: now,
	})
}

// ownMessage recognizes a copy of one of our replies, for example in a Sent folder. A matching Message-ID is not sufficient,
// since recipients know it. Nor is the mailbox's address in From, since a group may put it into all messages sent to it; our
// replies have no other address in Reply-To.
func (f *filing) ownMessage(ctx context.Context, tx Tx, mailbox Mailbox) (bool, error) {
	if f.mail.MessageID == "" || !f.fromUs {
		return false, nil
	}
	known, err := messages(ctx, tx, mailbox.ID, []string{f.mail.MessageID})
	ours := func(m MessageRef) bool { return m.Type == TypeUser }
	return slices.ContainsFunc(known, ours), err
}

// belongs finds the message's conversation and customer. Only for a forwarded message does one depend on the other.
func (f *filing) belongs(ctx context.Context, tx Tx, mailbox Mailbox, shared *filingTogether) (m match, customer Customer, created bool, err error) {
	if f.forward != nil {
		if m.why.Rule = RuleNew; !f.forward.explicit {
			if m, err = f.thread(ctx, tx, mailbox); err != nil {
				return m, customer, false, err
			}
		}
		if m.why.Rule == RuleNew {
			f.customer = f.forward.customer
		} else {
			f.forward = nil
		}
	}
	if customer, created, err = findCustomer(ctx, tx, f.customer.Email, f.customer.Name, f.now, &shared.index); err != nil {
		return m, customer, false, err
	}
	if m.why.Rule == "" {
		m, err = f.thread(ctx, tx, mailbox)
	}
	if err == nil {
		err = m.judge(ctx, tx, f, shared)
	}
	return m, customer, created, err
}

// insert adds the message to its conversation, and its search terms to index. notForwarded is the reason why it was not
// treated as a member's forward.
func (f *filing) insert(ctx context.Context, tx Tx, row ledger.Mail, mailbox Mailbox, notForwarded string, shared *filingTogether) (ledger.Mail, error) {
	index := &shared.index
	match, customer, created, err := f.belongs(ctx, tx, mailbox, shared)
	if err != nil {
		return row, err
	}
	if match.why.Rule == RuleNew {
		match.why.NotForwarded = notForwarded
	}
	var events []storage.Event
	event := func(kind string, subject int64, c Conversation) {
		events = append(events, storage.Event{
			Type: kind, Subject: subject, MailboxID: c.MailboxID, ConversationID: c.ID, Data: eventData(subject), Time: f.now,
		})
	}
	if created {
		event("customer.created", customer.ID, Conversation{})
	}
	tx = actAs(tx, subscription.Actor{Type: subscription.ActorCustomer, ID: customer.ID})
	email := customer.emailByKey(mailaddr.Key(f.customer.Email))
	at, err := f.place(ctx, tx, match, f.sentAt(row, mailbox))
	if err != nil {
		return row, err
	}
	c, isNew := match.conversation, match.conversation.ID == 0
	if !isNew {
		if dropped, err := f.dropTwice(ctx, tx, &row, c.ID, events); dropped || err != nil {
			return row, err
		}
	} else {
		c = f.open(mailbox, customer, email, at, match)
	}
	flood, err := f.overBudget(ctx, tx.Reader(), row, email.ID)
	if err != nil {
		return row, err
	}
	i := f.interaction(customer, email, match)
	i.IsStarter, i.At, i.ReceivedAt = isNew, at, f.receivedAt(row)
	old := c
	c.received(at, i, i.AutoSubmitted || flood)
	if flood && isNew {
		c.Status = StatusClosed
	}
	if f.mail.Archived {
		c.receivedBefore(old, at, f.now)
	}
	if err := f.save(ctx, tx, &c); err != nil {
		return row, err
	}
	if isNew {
		event("conversation.created", c.ID, c)
	}
	i.ConversationID = c.ID
	if err := f.fillIn(ctx, tx, &c, &i, match, mailbox, index); err != nil {
		return row, err
	}
	event("interaction.created", i.ID, c)
	if err := f.svc.overtake(ctx, tx, c, &recent{conversationID: c.ID, whole: isNew}, i); err != nil {
		return row, err
	}
	noted, err := f.fileNote(ctx, tx, c, index)
	if err != nil {
		return row, err
	}
	events = append(events, noted...)
	for _, kind := range changedTo(old, c) {
		event(kind, c.ID, c)
		events[len(events)-1] = becauseOf(events[len(events)-1], i.ID)
	}
	if !flood && !at.Before(f.now) { // floods and old messages notify nobody
		shared.told = append(shared.told, said(c, i, isNew, i.Threading.ForwardedBy)...)
	}
	if err := f.answerByItself(ctx, tx, row, c, i, flood, shared); err != nil {
		return row, err
	}
	row.State, row.Reason, row.UpdatedAt = ledger.Filed, "", f.now
	if flood {
		row.Reason = tooManyMails
	}
	row.Identity, row.ConversationID, row.InteractionID = f.mail.Identity, c.ID, i.ID
	if err := tx.UpdateInbound(ctx, &row); err != nil {
		return row, err
	}
	return row, tx.Emit(ctx, events...)
}

// fillIn inserts the interaction with its files, search terms and participants.
func (f *filing) fillIn(ctx context.Context, tx Tx, c *Conversation, i *Interaction, m match, mailbox Mailbox, index *indexing) error {
	if err := f.putIn(ctx, tx, c, i); err != nil {
		return err
	}
	if i.IsStarter {
		index.addConversation(c.ID)
	}
	if err := index.add(ctx, tx, *c, *i); err != nil {
		return err
	}
	if err := attach(ctx, tx, *i, f.mailFiles()); err != nil {
		return err
	}
	if err := f.purge(ctx, tx, f.unused()); err != nil {
		return err
	}
	if m.why.Rule == RuleReport { // the mail system that sends a report is no participant
		return nil
	}
	return tx.AddParticipants(ctx, c.ID, f.svc.bringsIn(f.accountID, mailbox, i.CustomerEmail, slices.Concat(i.To, i.Cc), m.answersForward))
}

// putIn inserts the interaction. One from the backlog may precede existing ones.
func (f *filing) putIn(ctx context.Context, tx Tx, c *Conversation, i *Interaction) error {
	if i.IsStarter || !i.At.Before(f.now) {
		return tx.Interactions().Insert(ctx, i)
	}
	last, err := tx.Interactions().List(ctx, InteractionFilter{ConversationID: c.ID, Brief: true}, storage.Seek{Desc: true, Limit: 1})
	if err != nil {
		return err
	}
	if len(last) == 0 || !last[0].At.After(i.At) {
		return tx.Interactions().Insert(ctx, i)
	}
	starters, err := firsts(ctx, tx, c.ID)
	if err != nil {
		return err
	}
	if err := tx.Interactions().Insert(ctx, i); err != nil {
		return err
	}
	if err := oneStarter(ctx, tx, c.ID, starters); err != nil {
		return err
	}
	if err := refreshPreview(ctx, tx, c); err != nil {
		return err
	}
	return tx.Conversations().Update(ctx, c)
}

// dropTwice drops the message if the conversation already contains it. events are those of the work so far.
func (f *filing) dropTwice(ctx context.Context, tx Tx, row *ledger.Mail, conversationID int64, events []storage.Event) (bool, error) {
	twice, err := f.isThere(ctx, tx, *row, conversationID)
	if err != nil || twice == "" {
		return false, err
	}
	row.Identity = f.mail.Identity // prevents importing it again after the conversation is deleted
	if err := tx.Emit(ctx, events...); err != nil {
		return true, err
	}
	return true, f.drop(ctx, tx, row, ledger.Ignored, twice)
}

// open starts a conversation with the message.
func (f *filing) open(mailbox Mailbox, customer Customer, email CustomerEmail, at time.Time, m match) Conversation {
	subject := f.mail.Subject
	if f.forward != nil {
		subject = f.forward.subject(subject)
	}
	c := newConversation(mailbox.ID, customer.ID, email, at)
	c.Subject, c.RefersTo = subject, m.thread
	if m.why.Blocked != "" {
		c.Status, c.SpamAt = StatusClosed, f.now
	}
	return c
}

// save writes a conversation, new or existing, once.
func (f *filing) save(ctx context.Context, tx Tx, c *Conversation) error {
	if c.ID != 0 {
		return tx.Conversations().Update(ctx, c)
	}
	return c.insert(ctx, tx)
}

func (f *filing) interaction(customer Customer, email CustomerEmail, match match) Interaction {
	posted := f.mail.Date.UTC().Truncate(time.Microsecond)
	if posted.Year() < 1970 || posted.After(f.now) {
		posted = f.now // its Date cannot be right
	}
	refs := f.mail.References
	if n := len(f.mail.InReplyTo); n > 0 && !slices.Contains(refs, f.mail.InReplyTo[n-1]) {
		refs = append(slices.Clone(refs), f.mail.InReplyTo[n-1])
	}
	i := Interaction{
		Type: TypeCustomer, Status: StatusPosted, Body: f.body, Subject: f.mail.Subject, Source: channelEmail,
		CustomerID: customer.ID, CustomerEmailID: email.ID, CustomerEmail: email.Email, To: emails(f.mail.To), Cc: emails(f.mail.Cc), Mail: headerOf(&f.mail),
		IsForward: match.answersForward, AutoSubmitted: f.mail.AutoSubmitted, PostedAt: posted,
		MessageID: f.mail.MessageID, References: refs, Threading: match.why, Security: f.mail.Security, Authentication: f.auth, CreatedAt: f.now, UpdatedAt: f.now,
	}
	if f.forward != nil {
		f.forward.apply(&i)
	}
	return i
}

func emails(all []mailaddr.Address) []string {
	var out []string
	for _, a := range all {
		out = append(out, a.Email)
	}
	return out
}

// attach inserts files of an interaction.
func attach(ctx context.Context, tx Tx, i Interaction, files []Attachment) error {
	if len(files) == 0 {
		return nil
	}
	rows := make([]*Attachment, len(files))
	for n, a := range files {
		a.InteractionID, a.ConversationID = i.ID, i.ConversationID
		rows[n] = &a
	}
	return tx.Attachments().Insert(ctx, rows...)
}

// bringsIn returns the participants that a customer's message adds to a conversation. The author of an answer to a forward
// writes only to the agents and adds nobody.
func (s *Service) bringsIn(accountID int64, mailbox Mailbox, from string, others []string, answersForward bool) []string {
	var keys []string
	if !Unreachable(from) {
		keys = []string{mailaddr.Key(from)}
	}
	if answersForward {
		return keys
	}
	for _, address := range others {
		key := mailaddr.Key(address)
		if _, domain, _ := plain.CutLast(key, "@"); domain == s.cfg.IntakeDomain || key == mailbox.EmailKey {
			continue // our own
		}
		if !s.isOurs(accountID, key) && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}
