package helpdesk

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
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

// SourceAuto is the Source of a user interaction that was sent by itself. It has no author.
const SourceAuto = "auto"

// Automatic reports whether the interaction is an automatic reply. It answers nobody: the customer still waits, and it is no
// reply in any figure.
func (i Interaction) Automatic() bool { return i.Type == TypeUser && i.AutoSubmitted }

// AutoResponse records that an automatic reply answered a mail, so that it does so once, and says why.
type AutoResponse struct {
	ID            int64
	AutoReplyID   int64
	MailKey       string   // of the mail; unique among the automatic reply's
	CauseID       int64    // the interaction that it answered; it may be gone
	InteractionID int64    // the answer; likewise
	CustomerID    int64    // likewise
	Version       int      // of the automatic reply
	When          AutoWhen // the condition that held
	CalendarID    int64    // whose hours were asked; 0: none
	Locale        string   // of the text
	CreatedAt     time.Time
}

// UniqueAutoResponse is the code of a store's Conflict fault for a duplicate (account, AutoReplyID, MailKey).
const UniqueAutoResponse = "auto_response"

// AutoResponseFilter narrows a list of responses by one of its fields.
type AutoResponseFilter struct {
	AutoReplyID    int64   // of this automatic reply
	CustomerID     int64   // with AutoReplyID: to this customer
	MailKey        string  // with AutoReplyID: to this mail
	InteractionIDs []int64 // without AutoReplyID: that are these answers
}

// autoResponseNoun declares the rows of responses.
func autoResponseNoun() storage.Declared[AutoResponse, AutoResponseFilter] {
	return storage.Declared[AutoResponse, AutoResponseFilter]{
		Noun: storage.Noun[AutoResponse]{
			Name: "automatic response",
			ID:   func(t *AutoResponse) *int64 { return &t.ID },
			Unique: []storage.Unique[AutoResponse]{
				{Code: UniqueAutoResponse, Index: "key", Fields: func(t *AutoResponse) []any { return []any{&t.AutoReplyID, &t.MailKey} }},
			},
		},
		Key: "auto_response", Plural: "auto_responses",
		Columns: []storage.Column[AutoResponse]{
			{Name: "auto_reply_id", Field: func(t *AutoResponse) any { return &t.AutoReplyID }, Refers: "auto_reply", Owner: "hw_auto_replies"},
			{Name: "mail_key", Field: func(t *AutoResponse) any { return &t.MailKey }},
			{Name: "cause_id", Field: func(t *AutoResponse) any { return &t.CauseID }, Refers: "interaction", Loose: true},
			{Name: "interaction_id", Field: func(t *AutoResponse) any { return &t.InteractionID }, Refers: "interaction", Loose: true},
			{Name: "customer_id", Field: func(t *AutoResponse) any { return &t.CustomerID }, Refers: "customer", Loose: true},
			{Name: "version", Field: func(t *AutoResponse) any { return &t.Version }},
			{Name: "applied", Field: func(t *AutoResponse) any { return (*string)(&t.When) }},
			{Name: "calendar_id", Field: func(t *AutoResponse) any { return &t.CalendarID }, Refers: "calendar", Loose: true},
			{Name: "locale", Field: func(t *AutoResponse) any { return &t.Locale }},
			{Name: "created_at", Field: func(t *AutoResponse) any { return &t.CreatedAt }},
		},
		Where: func(f AutoResponseFilter) []storage.Condition {
			if f.AutoReplyID == 0 {
				return []storage.Condition{storage.OneOf("interaction_id", f.InteractionIDs)}
			}
			where := []storage.Condition{storage.OneOf("auto_reply_id", []int64{f.AutoReplyID})}
			if f.CustomerID != 0 {
				where = append(where, storage.OneOf("customer_id", []int64{f.CustomerID}))
			}
			if f.MailKey != "" {
				where = append(where, storage.OneOf("mail_key", []string{f.MailKey}))
			}
			return where
		},
	}
}

// AutoResponses returns why automatic replies among interactions were sent, by interaction. Those whose automatic reply was
// deleted are missing. It needs interactions.view.
func (d Interactions) AutoResponses(ctx context.Context, interactions []Interaction) (map[int64]AutoResponse, error) {
	r, err := d.guard.Read(identity.InteractionsView)
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, i := range interactions {
		if i.Automatic() {
			ids = append(ids, i.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil //nolint:nilnil // there are none
	}
	found, err := autoResponseNoun().Reader(r).List(ctx, AutoResponseFilter{InteractionIDs: ids}, storage.Seek{Limit: storage.NoLimit})
	by := map[int64]AutoResponse{}
	for _, a := range found {
		by[a.InteractionID] = a
	}
	return by, err
}

// autoReplyWithin is how old a mail may be that is answered by itself: an answer to an older one would surprise.
const autoReplyWithin = 24 * time.Hour

// toAnswer is the payload of [JobAutoReply].
type toAnswer struct {
	Locale string `json:"locale,omitempty"` // of the mail; "": not known
}

// answerable reports whether a filed message may be answered by itself at all, as far as the message tells. Messages that forbid
// it (RFC 3834 section 2), reports, lists, floods, spam, what a member passed on, and mail that was imported or is older than a
// day are not.
func (f *filing) answerable(row ledger.Mail, c Conversation, i Interaction, flood bool) bool {
	m := &f.mail
	switch {
	case i.AutoSubmitted, m.NoAutoReply, m.NullReturnPath, m.Report != nil, m.ListID != "", m.Rewritten:
		return false
	case flood, c.IsSpam(), f.auth.Refused(), i.Threading.Rule == RuleReport, i.Threading.ForwardedBy != 0, i.IsForward, f.forward != nil:
		return false
	case m.Archived, row.Source == ledger.SourceImport, i.At.Before(f.now.Add(-autoReplyWithin)):
		return false
	case ofAnyAge(row) && !m.Date.IsZero() && f.now.Sub(m.Date) > autoReplyWithin:
		return false
	}
	return !unread(m.ReturnPath) && !unread(i.author()) && !unread(i.CustomerEmail) && !Unreachable(i.CustomerEmail)
}

// answerByItself enqueues the job that answers a filed message, if an automatic reply may.
func (f *filing) answerByItself(ctx context.Context, tx Tx, row ledger.Mail, c Conversation, i Interaction, flood bool, shared *filingTogether) error {
	if !f.answerable(row, c, i, flood) {
		return nil
	}
	if !shared.autoRepliesRead {
		all, err := autoReplyNoun().Rows(tx).List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
		if err != nil {
			return err
		}
		shared.autoReplies, shared.autoRepliesRead = all, true
	}
	if !slices.ContainsFunc(shared.autoReplies, func(a AutoReply) bool { return a.considers(c.MailboxID, i.IsStarter) }) {
		return nil
	}
	return enqueueAutoReply(ctx, tx, f.accountID, i, f.mail.Language)
}

// enqueueAutoReply enqueues the job that answers a message in a language; "": that of its text.
func enqueueAutoReply(ctx context.Context, tx Tx, accountID int64, i Interaction, locale string) error {
	payload, _ := json.Marshal(toAnswer{Locale: cmp.Or(locale, tongue(mailhtml.Text(mailhtml.Unquoted(i.Body, i.answers()))))}) // text always encodes
	return tx.Enqueue(ctx, storage.Job{Kind: JobAutoReply, AccountID: accountID, Subject: i.ID, Payload: payload})
}

// answerWritten enqueues the job that answers a message from a contact form or the portal, if an automatic reply may.
func (s *Service) answerWritten(ctx context.Context, tx Tx, accountID int64, c Conversation, i Interaction, locale string) error {
	if c.IsSpam() || unread(i.CustomerEmail) || Unreachable(i.CustomerEmail) {
		return nil
	}
	all, err := autoReplyNoun().Rows(tx).List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	if err != nil || !slices.ContainsFunc(all, func(a AutoReply) bool { return a.considers(c.MailboxID, i.IsStarter) }) {
		return err
	}
	if !validLocale(locale) {
		locale = ""
	}
	return enqueueAutoReply(ctx, tx, accountID, i, locale)
}

// considers reports whether an automatic reply answers mail of a mailbox at some time.
func (a AutoReply) considers(mailboxID int64, starts bool) bool {
	return a.IsActive && (a.On == AutoEvery || starts) && (len(a.MailboxIDs) == 0 || slices.Contains(a.MailboxIDs, mailboxID))
}

// answers reports whether an automatic reply answers a mail that arrived at a time. One whose calendar is missing does not.
func (a AutoReply) answers(mailboxID int64, starts bool, at time.Time, calendars []Calendar) bool {
	if !a.considers(mailboxID, starts) || a.When == AutoAlways {
		return a.considers(mailboxID, starts)
	}
	n := slices.IndexFunc(calendars, func(c Calendar) bool { return c.ID == a.CalendarID })
	if n < 0 {
		return false
	}
	hours, err := calendars[n].Hours()
	return err == nil && hours.Open(at) == (a.When == AutoInside)
}

// byPreference orders automatic replies so that the first that answers is the one that acts: those for some hours before those
// for always, those of some mailboxes before those of all, older before newer.
func byPreference(all []AutoReply) []AutoReply {
	rank := func(a AutoReply) int {
		n := 0
		if a.When == AutoAlways {
			n += 2
		}
		if len(a.MailboxIDs) == 0 {
			n++
		}
		return n
	}
	return slices.SortedFunc(slices.Values(all), func(a, b AutoReply) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.ID, b.ID))
	})
}

// AutoReply runs a [JobAutoReply] job: at most one automatic reply answers a mail. Of several, those for some hours come before
// those for always, those of some mailboxes before those of all, and older ones before newer ones; the first whose conditions
// held when the mail arrived acts, or none if that one has answered the customer within its OncePer. It answers neither
// ourselves nor blocked, suppressed or unread addresses, nor those that have got Config.MaxMailPerAddress mails within the
// hour, and not once a member has replied. Running the job again sends nothing: an answer is unique for an automatic reply and
// a mail, and written in one transaction with the job that sends it.
//
// One whose last editor could no longer create it is switched off.
func (j Jobs) AutoReply(ctx context.Context, job storage.ClaimedJob) error {
	var in toAnswer
	if err := json.Unmarshal(job.Payload, &in); err != nil {
		return fault.Wrap(fault.Internal, "reading a job", err)
	}
	for {
		again, may := false, map[autoReplyVersion]bool{}
		reader := j.svc.cfg.Store.Within(Scope{AccountID: job.AccountID})
		all, err := autoReplyNoun().Reader(reader).List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
		if err != nil {
			return ignoreMissing(err)
		}
		for _, a := range all {
			if !a.IsActive {
				continue
			}
			if may[versionOf(a)], err = j.svc.stillMay(ctx, job.AccountID, a.UserID, func(d *desk) error { return d.mayHaveMade(a) }); err != nil {
				return err
			}
		}
		err = j.svc.cfg.Store.InTx(ctx, Scope{AccountID: job.AccountID}, func(ctx context.Context, tx Tx) error {
			again, err = j.svc.autoReply(ctx, tx, job, in, may)
			return err
		})
		if fault.Is(err, fault.NotFound) || isUnique(err, UniqueAutoResponse) {
			return nil // the mail or the account is gone, or the job ran before
		}
		if err != nil || !again {
			return err
		}
	}
}

// autoReplyVersion is an automatic reply between two changes.
type autoReplyVersion struct {
	id      int64
	version int
}

func versionOf(a AutoReply) autoReplyVersion { return autoReplyVersion{a.ID, a.Version} }

func ignoreMissing(err error) error {
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// mayHaveMade returns a fault unless the member could create an automatic reply or change it.
func (d *desk) mayHaveMade(a AutoReply) error {
	if !d.guard.Allows(identity.AutoRepliesCreate) {
		if _, err := d.guard.Write(identity.AutoRepliesUpdate); err != nil {
			return err
		}
	}
	return d.mayAutoReply(a)
}

// autoReply answers a mail. may has what the makers of automatic replies may do. If one has changed meanwhile, or was an orphan
// and is now switched off, it is to be called again.
func (s *Service) autoReply(ctx context.Context, tx Tx, job storage.ClaimedJob, in toAnswer, may map[autoReplyVersion]bool) (again bool, err error) {
	cause, c, err := s.causeOf(ctx, tx, job.Subject)
	if err != nil || cause.ID == 0 {
		return false, err
	}
	if err := tx.LockAccount(ctx); err != nil { // so that two mails of a customer do not both find that none was sent
		return false, err
	}
	all, err := autoReplyNoun().Rows(tx).List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return false, err
	}
	calendars, err := calendarNoun().Rows(tx).List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return false, err
	}
	all = byPreference(all)
	n := slices.IndexFunc(all, func(a AutoReply) bool { return a.answers(c.MailboxID, cause.IsStarter, cause.CreatedAt, calendars) })
	if n < 0 {
		return false, nil
	}
	a := all[n]
	held, asked := may[versionOf(a)]
	if !asked {
		return true, nil
	}
	if !held {
		return true, s.orphanAutoReply(ctx, tx, a)
	}
	if due, err := s.mayAnswer(ctx, tx, job.AccountID, a, cause); err != nil || !due {
		return false, err
	}
	return false, s.respond(ctx, tx, job.AccountID, a, c, cause, in)
}

// causeOf returns the interaction to answer, with its conversation, which it locks; none if it is not to be answered any more.
func (s *Service) causeOf(ctx context.Context, tx Tx, id int64) (Interaction, Conversation, error) {
	cause, err := tx.Interactions().Get(ctx, id)
	if err != nil {
		return Interaction{}, Conversation{}, err
	}
	c, err := tx.Conversations().Lock(ctx, cause.ConversationID)
	if err != nil || c.IsSpam() || cause.Type != TypeCustomer || s.now().Sub(cause.CreatedAt) > autoReplyWithin {
		return Interaction{}, c, err
	}
	last, err := recentOf(ctx, tx, c.ID, recentForReply)
	if err != nil {
		return Interaction{}, c, err
	}
	replied := slices.ContainsFunc(last.last, func(i Interaction) bool {
		return i.Type == TypeUser && i.Status == StatusPosted && !i.Automatic() && !i.IsForward && i.PostedAt.After(cause.CreatedAt)
	})
	if replied {
		return Interaction{}, c, nil
	}
	return cause, c, nil
}

// orphanAutoReply switches off an automatic reply whose last editor could no longer create it.
func (s *Service) orphanAutoReply(ctx context.Context, tx Tx, a AutoReply) error {
	now := s.now()
	a.IsActive, a.Reason, a.Version, a.UpdatedAt = false, AutoOrphaned, a.Version+1, now
	if err := autoReplyNoun().Rows(tx).Update(ctx, &a); err != nil {
		return err
	}
	return tx.Emit(ctx, storage.Event{Type: "auto_reply.updated", Subject: a.ID, Data: eventData(a.ID), Time: now})
}

// mayAnswer reports whether an automatic reply may be sent to the author of a mail now.
func (s *Service) mayAnswer(ctx context.Context, tx Tx, accountID int64, a AutoReply, cause Interaction) (bool, error) {
	if may, err := s.mayWriteTo(ctx, tx, accountID, cause); err != nil || !may {
		return false, err
	}
	return s.onceEnough(ctx, tx, a, cause)
}

// mayWriteTo reports whether anything may be sent by itself to the author of a message now.
func (s *Service) mayWriteTo(ctx context.Context, tx Tx, accountID int64, cause Interaction) (bool, error) {
	own, err := s.ownAddresses(ctx, tx.Reader(), accountID)
	if err != nil {
		return false, err
	}
	address, key := cause.CustomerEmail, mailaddr.Key(cause.CustomerEmail)
	if !mailaddr.Valid(address) || Unreachable(address) || unread(address) || own.receives(address) || own.receives(cause.author()) {
		return false, nil
	}
	open, err := withoutBlocked(ctx, tx.Reader(), []string{address})
	if err != nil || len(open) == 0 {
		return false, err
	}
	suppressed, err := suppressionsOf(ctx, suppressionNoun().Rows(tx), []string{key})
	if err != nil || len(suppressed) > 0 {
		return false, err
	}
	spent, err := s.spent(ctx, tx.Reader(), []sending.Delivery{{AddressKey: key}})
	return err == nil && !s.over(spent, key), err
}

// onceEnough reports whether an automatic reply has not answered this mail yet, nor its customer within OncePer.
func (s *Service) onceEnough(ctx context.Context, tx Tx, a AutoReply, cause Interaction) (bool, error) {
	rows := autoResponseNoun().Rows(tx)
	same, err := rows.List(ctx, AutoResponseFilter{AutoReplyID: a.ID, MailKey: causeKey(cause)}, storage.Seek{Limit: 1})
	if err != nil || len(same) > 0 {
		return false, err
	}
	if a.OncePer == 0 {
		return true, nil
	}
	last, err := rows.List(ctx, AutoResponseFilter{AutoReplyID: a.ID, CustomerID: cause.CustomerID}, storage.Seek{Desc: true, Limit: 1})
	return len(last) == 0 || s.now().Sub(last[0].CreatedAt) >= a.OncePer, err
}

// causeKey names a mail, without saying anything about it. Copies that reach several mailboxes have one Message-ID, and are
// answered once.
func causeKey(i Interaction) string {
	if i.MessageID == "" {
		return strconv.FormatInt(i.ID, 10)
	}
	sum := sha256.Sum256([]byte(i.MessageID))
	return hex.EncodeToString(sum[:])
}

// respond adds an automatic reply to a locked conversation and queues its message. The conversation itself stays as it is.
func (s *Service) respond(ctx context.Context, tx Tx, accountID int64, a AutoReply, c Conversation, cause Interaction, in toAnswer) error {
	account, err := tx.Account(ctx)
	if err != nil {
		return err
	}
	mailbox, err := tx.Mailboxes().Get(ctx, c.MailboxID)
	if err != nil {
		return err
	}
	customer, err := tx.Customer(ctx, cause.CustomerID)
	if err != nil {
		return err
	}
	text := a.Text(in.Locale, account.DefaultLocale)
	subject, body := text.fill(c, customer, mailbox)
	i, err := s.sendByItself(ctx, tx, accountID, c, mailbox, cause, subject, body)
	if err != nil {
		return err
	}
	return autoResponseNoun().Rows(tx).Insert(ctx, &AutoResponse{
		AutoReplyID: a.ID, MailKey: causeKey(cause), CauseID: cause.ID, InteractionID: i.ID, CustomerID: cause.CustomerID,
		Version: a.Version, When: a.When, CalendarID: a.CalendarID, Locale: text.Locale, CreatedAt: i.CreatedAt,
	})
}

// sendByItself adds a reply that nobody wrote to a locked conversation, as an answer to cause, and queues its message. The
// conversation itself stays as it is.
func (s *Service) sendByItself(ctx context.Context, tx Tx, accountID int64, c Conversation, mailbox Mailbox, cause Interaction, subject, body string) (Interaction, error) {
	before, err := recentOf(ctx, tx, c.ID, recentForReply)
	if err != nil {
		return Interaction{}, err
	}
	now := s.now()
	i := Interaction{
		ConversationID: c.ID, Type: TypeUser, Status: StatusPosted, Source: SourceAuto, AutoSubmitted: true, To: []string{cause.CustomerEmail},
		Subject: subject, Body: body, PostedAt: now, At: before.notBefore(now), CreatedAt: now, UpdatedAt: now,
	}
	if i.MessageID, err = s.newMessageID(mailbox); err != nil {
		return Interaction{}, err
	}
	i.References = slices.Clone(cause.References)
	if cause.MessageID != "" {
		i.References = append(slices.DeleteFunc(i.References, func(id string) bool { return id == cause.MessageID }), cause.MessageID)
	}
	if err := tx.Interactions().Insert(ctx, &i); err != nil {
		return Interaction{}, err
	}
	d := sending.Delivery{
		InteractionID: i.ID, Address: cause.CustomerEmail, AddressKey: mailaddr.Key(cause.CustomerEmail), Field: "to", State: sending.Queued,
		NextAttemptAt: now, CreatedAt: now, UpdatedAt: now,
	}
	if err := tx.Deliveries().Insert(ctx, &d); err != nil {
		return Interaction{}, err
	}
	if err := indexMore(ctx, tx, c, i); err != nil {
		return Interaction{}, err
	}
	if err := tx.Enqueue(ctx, storage.Job{Kind: JobSendMail, AccountID: accountID, Subject: i.ID, RunAt: now}); err != nil {
		return Interaction{}, err
	}
	var events []storage.Event
	for _, kind := range []string{"interaction.created", "interaction.posted"} {
		events = append(events, storage.Event{Type: kind, Subject: i.ID, MailboxID: c.MailboxID, ConversationID: c.ID, Data: eventData(i.ID), Time: now})
	}
	return i, tx.Emit(ctx, events...)
}

// newMessageID returns the Message-ID of a new message from a mailbox, without angle brackets.
func (s *Service) newMessageID(mailbox Mailbox) (string, error) {
	id, err := s.random(16)
	if err != nil {
		return "", err
	}
	_, domain, found := plain.CutLast(mailbox.EmailKey, "@") // in ASCII, as msg-id requires
	if !found {
		domain = s.cfg.IntakeDomain
	}
	return hex.EncodeToString(id) + "@" + domain, nil
}
