package helpdesk

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// Notifications are mailed in two steps. When a member's first one is due, a job takes all pending ones of the same
// conversation, marks them as mailed and orders one mail, in one transaction. Another job sends it. So each is mailed once,
// and a mail sent twice after an uncertain failure has the same Message-ID.

const (
	// maxMailsPerHour limits notification mails to a member per hour. Further notifications wait, and share a mail if there is no
	// room for one per conversation.
	maxMailsPerHour = 30
	// maxMailsAtOnce limits the separate mails for conversations that are due together; more share one mail.
	maxMailsAtOnce = 10
	// notificationMailLife is how long the delivery of a mail is retried.
	notificationMailLife = 24 * time.Hour
	// maxQuotedInteractions and maxQuotedText limit the quoted text in a mail, maxListedConversations the number of conversations.
	maxQuotedInteractions  = 10
	maxQuotedText          = 4000
	maxListedConversations = 50
)

// notificationMailOrder is the payload of a job of kind [JobTellMail], whose Subject is the member.
type notificationMailOrder struct {
	IDs          []int64   `json:"ids"` // of the notifications, ascending
	Conversation int64     `json:"conversation,omitempty"`
	Interactions []int64   `json:"interactions,omitempty"` // to quote, in order
	Many         bool      `json:"many,omitempty"`         // covers several conversations
	At           time.Time `json:"at"`
}

// mailSoon returns the jobs that mail rows to members who chose mail.
func mailSoon(accountID int64, rows []Notification) []storage.Job {
	at := map[int64]time.Time{}
	var jobs []storage.Job
	for _, row := range rows {
		if _, known := at[row.UserID]; row.MailAt.IsZero() || known {
			continue
		}
		at[row.UserID] = row.MailAt
		jobs = append(jobs, storage.Job{Kind: JobMailNotifications, AccountID: accountID, Subject: row.UserID, RunAt: row.MailAt})
	}
	return jobs
}

// MailNotifications runs a [JobMailNotifications] job: it orders mails of a member's due, unread notifications. Running it
// again does not mail any of them twice.
func (j Jobs) MailNotifications(ctx context.Context, job storage.ClaimedJob) error {
	err := j.svc.cfg.Store.InTx(ctx, Scope{AccountID: job.AccountID}, func(ctx context.Context, tx Tx) error {
		return j.svc.mailNotifications(ctx, tx, job.AccountID, job.Subject)
	})
	if fault.Is(err, fault.NotFound) {
		return nil // the account was deleted
	}
	return err
}

func (s *Service) mailNotifications(ctx context.Context, tx Tx, accountID, userID int64) error {
	now := s.now()
	if ids, _, err := dueMailsOf(ctx, tx, userID, now); err != nil || len(ids) == 0 {
		return err // without the lock, for which everybody who posts would wait
	}
	if err := tx.LockAccount(ctx); err != nil { // two jobs of a member must not take the same notifications
		return err
	}
	ids, letters, err := dueMailsOf(ctx, tx, userID, now)
	if err != nil || len(ids) == 0 {
		return err
	}
	free, again, err := s.mailBudget(ctx, tx, userID)
	if err != nil {
		return err
	}
	if free == 0 && len(letters) > 0 {
		return tx.Enqueue(ctx, storage.Job{
			Kind: JobMailNotifications, AccountID: accountID, Subject: userID, RunAt: again,
			UniqueKey: fmt.Sprintf("notifications.mail/%d/%d/%d", accountID, userID, again.UnixMicro()),
		})
	}
	if len(letters) > min(free, maxMailsAtOnce) {
		letters = []notificationMailOrder{combineMails(letters)}
	}
	if _, err := tx.MarkNotifications(ctx, NotificationFilter{UserID: userID, IDs: ids}, MarkedMailed, now); err != nil {
		return err
	}
	var jobs []storage.Job
	for _, letter := range letters {
		letter.At = now
		if letter.Interactions, err = interactionsToQuote(ctx, tx, letter); err != nil {
			return err
		}
		payload, err := json.Marshal(letter)
		if err != nil {
			return fault.Wrap(fault.Internal, "making a job", err)
		}
		jobs = append(jobs, storage.Job{Kind: JobTellMail, AccountID: accountID, Subject: userID, Payload: payload, RunAt: now})
		m := MemberMail{UserID: userID, Key: fmt.Sprintf("told/%d", letter.last()), Outcome: MemberMailTold, CreatedAt: now}
		if err := memberMailNoun().Rows(tx).Insert(ctx, &m); err != nil {
			return err
		}
	}
	return tx.Enqueue(ctx, jobs...)
}

// dueMailsOf is dueMails for the notifications of a member.
func dueMailsOf(ctx context.Context, tx Tx, userID int64, now time.Time) (ids []int64, letters []notificationMailOrder, err error) {
	waiting, err := tx.Notifications().List(ctx, NotificationFilter{UserID: userID, ToMail: true}, storage.Seek{Limit: keepNotifications})
	if err != nil {
		return nil, nil, err
	}
	ids, letters = dueMails(waiting, now)
	return ids, letters, nil
}

func (o notificationMailOrder) last() int64 { return o.IDs[len(o.IDs)-1] }

// dueMails returns a letter for each conversation and each mailbox with a due notification. Read notifications are in no
// letter, but in ids as settled.
func dueMails(waiting []Notification, now time.Time) (ids []int64, letters []notificationMailOrder) {
	type about struct{ conversation, mailbox int64 }
	due := map[about]bool{}
	for _, n := range waiting {
		if !n.MailAt.After(now) {
			due[about{n.ConversationID, n.MailboxID}] = true
		}
	}
	at := map[about]int{}
	for _, n := range waiting {
		of := about{n.ConversationID, n.MailboxID}
		if !due[of] {
			continue
		}
		ids = append(ids, n.ID)
		if !n.ReadAt.IsZero() {
			continue
		}
		i, known := at[of]
		if !known {
			i, at[of] = len(letters), len(letters)
			letters = append(letters, notificationMailOrder{Conversation: n.ConversationID})
		}
		letters[i].IDs = append(letters[i].IDs, n.ID)
		if n.InteractionID != 0 && !slices.Contains(letters[i].Interactions, n.InteractionID) {
			letters[i].Interactions = append(letters[i].Interactions, n.InteractionID)
		}
	}
	return ids, letters
}

// combineMails merges all letters into one.
func combineMails(letters []notificationMailOrder) notificationMailOrder {
	one := notificationMailOrder{Many: true}
	for _, letter := range letters {
		one.IDs = append(one.IDs, letter.IDs...)
	}
	slices.Sort(one.IDs)
	return one
}

// mailBudget returns how many mails may be sent to a member now, and if none, when the next one may. It also removes old
// records.
func (s *Service) mailBudget(ctx context.Context, tx Tx, userID int64) (free int, again time.Time, err error) {
	now := s.now()
	if err := forgetMemberMails(ctx, tx, userID, now); err != nil {
		return 0, again, err
	}
	last, err := memberMailNoun().Rows(tx).List(ctx, MemberMailFilter{UserID: userID}, storage.Seek{Desc: true, Limit: 200})
	free = maxMailsPerHour
	for _, m := range last {
		if m.Outcome == MemberMailTold && now.Sub(m.CreatedAt) < time.Hour {
			free, again = free-1, m.CreatedAt.Add(time.Hour)
		}
	}
	return max(0, free), again, err
}

// interactionsToQuote returns the interactions to quote in a letter: those of the notifications, or the customer's latest one.
func interactionsToQuote(ctx context.Context, tx Tx, letter notificationMailOrder) ([]int64, error) {
	if letter.Conversation == 0 || letter.Many {
		return nil, nil
	}
	if n := len(letter.Interactions); n > 0 {
		return letter.Interactions[max(0, n-maxQuotedInteractions):], nil
	}
	last, err := tx.Interactions().List(ctx, InteractionFilter{ConversationID: letter.Conversation}, storage.Seek{Desc: true, Limit: 20})
	if err != nil {
		return nil, err
	}
	for _, i := range last {
		if i.Type == TypeCustomer {
			return []int64{i.ID}, nil
		}
	}
	return nil, nil
}

// notificationMail is the state of building a mail of a [JobTellMail] job.
type notificationMail struct {
	*Service
	order     notificationMailOrder
	links     sending.MailLinks
	accountID int64
	user      identity.User
	desk      *desk
	r         Reader // what the member may see

	notifications []Notification // that the member may see, by id
	conversations map[int64]Conversation
	mailboxes     map[int64]Mailbox
	users         map[int64]identity.User
	customers     map[int64]Customer
}

// notificationMail builds the mail of a [JobTellMail] job, unless the member has read everything or may no longer see it.
func (s *Service) notificationMail(ctx context.Context, r Reader, job storage.ClaimedJob, links sending.MailLinks) (sending.SystemMail, error) {
	t := &notificationMail{Service: s, links: links, accountID: job.AccountID}
	if err := json.Unmarshal(job.Payload, &t.order); err != nil {
		return sending.SystemMail{}, fault.Wrap(fault.Internal, "reading a job", err)
	}
	if s.now().Sub(t.order.At) > notificationMailLife {
		return sending.SystemMail{}, fault.Missing("mail", job.ID)
	}
	opened, err := s.Desk(ctx, s.As(job.Subject), job.AccountID)
	if err != nil {
		return sending.SystemMail{}, err
	}
	t.desk = &opened.desk
	if t.user, err = s.memberToMail(ctx, r, job.Subject, ""); err != nil {
		return sending.SystemMail{}, err
	}
	if err := t.read(ctx, r); err != nil {
		return sending.SystemMail{}, err
	}
	unread := slices.ContainsFunc(t.notifications, func(n Notification) bool { return n.ReadAt.IsZero() })
	switch {
	case !unread:
		return sending.SystemMail{}, fault.Missing("mail", job.ID)
	case t.order.Many:
		return t.ofMany(ctx, r)
	case t.order.Conversation == 0:
		return t.ofMailbox(ctx, r)
	}
	return t.ofConversation(ctx)
}

// memberToMail returns a member whose address may get mail, with the given address if it is not "". Otherwise it logs the
// reason and returns a NotFound fault.
func (s *Service) memberToMail(ctx context.Context, r Reader, userID int64, email string) (identity.User, error) {
	users, err := r.UsersByID(ctx, []int64{userID})
	if err != nil {
		return identity.User{}, err
	}
	if len(users) == 0 {
		return identity.User{}, fault.Missing("user", userID)
	}
	u := users[0]
	if u.Disabled() {
		return identity.User{}, fault.Missing("user", userID)
	}
	if email != "" {
		u.Email, u.EmailKey = email, mailaddr.Key(email)
	}
	why, err := s.unmailable(ctx, r, u)
	if err == nil && why != "" {
		s.cfg.Logger.WarnContext(ctx, "a member cannot be notified by mail", "user_id", userID, "reason", why)
		err = fault.Missing("mail address", userID)
	}
	return u, err
}

// unmailable returns the reason why a member is not mailed; "" if there is none.
func (s *Service) unmailable(ctx context.Context, r Reader, u identity.User) (string, error) {
	if _, host, _ := plain.CutLast(u.EmailKey, "@"); !mailaddr.Valid(u.Email) || host == "localhost" {
		return "mail cannot be sent to this address", nil
	}
	suppressed, err := suppressionsOf(ctx, suppressionNoun().Reader(r), []string{u.EmailKey})
	if err != nil {
		return "", err
	}
	if len(suppressed) > 0 {
		return "the address is suppressed", nil
	}
	own := false
	list := func(seek storage.Seek) ([]Mailbox, error) { return r.Mailboxes().List(ctx, storage.NoFilter{}, seek) }
	err = each(list, func(m Mailbox) int64 { return m.ID }, func(m Mailbox) error {
		own = own || u.EmailKey == m.EmailKey || u.EmailKey == mailaddr.Key(s.InternalAddress(m))
		return nil
	})
	if own {
		return "the address belongs to a mailbox", err
	}
	return "", err
}

// read reads the notifications and their subjects, as far as the member may see them.
func (t *notificationMail) read(ctx context.Context, r Reader) error {
	all, err := r.Notifications().ByIDs(ctx, t.order.IDs)
	if err != nil {
		return err
	}
	t.conversations, t.mailboxes, t.users, t.customers = map[int64]Conversation{}, map[int64]Mailbox{}, map[int64]identity.User{}, map[int64]Customer{}
	var conversations, boxes, users []int64
	for _, n := range all {
		if n.ConversationID == 0 {
			boxes = append(boxes, n.MailboxID)
		} else {
			conversations = append(conversations, n.ConversationID)
		}
		users = append(users, n.ActorID)
	}
	if err := t.readWhere(ctx, sortedSet(conversations), sortedSet(boxes)); err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b Notification) int { return cmp.Compare(a.ID, b.ID) })
	for _, n := range all {
		_, in := t.conversations[n.ConversationID]
		if n.ConversationID == 0 {
			_, in = t.mailboxes[n.MailboxID]
			in = in && t.desk.guard.Allows(identity.MailboxesUpdate)
		}
		if in && n.UserID == t.user.ID {
			t.notifications = append(t.notifications, n)
		}
	}
	return t.readNames(ctx, sortedSet(users), nil)
}

// readWhere reads conversations and mailboxes.
func (t *notificationMail) readWhere(ctx context.Context, conversations, boxes []int64) error {
	r, err := t.desk.guard.Read(identity.ConversationsView)
	if err == nil {
		_, err = t.desk.guard.Read(identity.InteractionsView)
	}
	if err == nil && len(conversations) > 0 {
		t.r = r
		found, err := r.Conversations().ByIDs(ctx, conversations)
		if err != nil {
			return err
		}
		for _, c := range found {
			t.conversations[c.ID] = c
			t.customers[c.CustomerID] = Customer{}
			boxes = append(boxes, c.MailboxID)
		}
	}
	if err != nil && !fault.Is(err, fault.Forbidden) {
		return err
	}
	if r, err = t.desk.guard.Read(anyMember); err != nil || len(boxes) == 0 {
		return err
	}
	found, err := r.Mailboxes().ByIDs(ctx, sortedSet(boxes))
	for _, m := range found {
		t.mailboxes[m.ID] = m
	}
	return err
}

// readNames reads the names in the mail, besides the conversations' customers.
func (t *notificationMail) readNames(ctx context.Context, users, customers []int64) error {
	for id := range t.customers {
		customers = append(customers, id)
	}
	if t.r != nil && len(customers) > 0 {
		found, err := t.r.CustomersByID(ctx, sortedSet(customers))
		if err != nil {
			return err
		}
		for _, c := range found {
			t.customers[c.ID] = c
		}
	}
	r, err := t.desk.guard.Read(anyMember)
	if err != nil || len(users) == 0 {
		return err
	}
	found, err := r.UsersByID(ctx, users)
	for _, u := range found {
		t.users[u.ID] = u
	}
	return err
}

func (t *notificationMail) member(id int64) string {
	return cmp.Or(t.users[id].Name, "A colleague")
}

func (t *notificationMail) customer(id int64) string {
	if name := t.customers[id].Name(); name != "" {
		return name
	}
	return "A customer"
}

// happened describes a notification as a heading and as a sentence, and names the actor.
func (t *notificationMail) happened(n Notification) (short, long, who string) {
	switch n.Kind {
	case NotifyAssigned:
		whom := "you"
		if c := t.conversations[n.ConversationID]; c.TeamID != 0 && c.UserID != t.user.ID {
			whom = "your team"
		}
		if n.ActorID == 0 {
			return "Assigned to " + whom, "The conversation was assigned to " + whom + ".", ""
		}
		who = t.member(n.ActorID)
		return "Assigned to " + whom, who + " assigned the conversation to " + whom + ".", who
	case NotifyUnassigned:
		who = t.customer(t.conversations[n.ConversationID].CustomerID)
		return "New", who + " started a conversation; it is unassigned.", who
	case NotifyReplied:
		who = t.customer(t.conversations[n.ConversationID].CustomerID)
		return "New reply", who + " replied.", who
	case NotifyMentioned:
		who = t.member(n.ActorID)
		return "Mentioned you", who + " mentioned you.", who
	case NotifyFailed:
		return "Not delivered", "A reply was not delivered.", ""
	case NotifyRule:
		if n.ActorID != 0 { // with a macro
			who = t.member(n.ActorID)
			return "For your attention", who + " points you to the conversation.", who
		}
		return "For your attention", "A rule of your account points you to the conversation.", ""
	case NotifyMailbox:
		return "Mailbox needs attention", "Its mail is no longer being fetched.", ""
	}
	return "Update", "There is new activity.", ""
}

// ofConversation builds a mail about one conversation, which the member can reply to.
func (t *notificationMail) ofConversation(ctx context.Context) (sending.SystemMail, error) {
	c := t.conversations[t.notifications[0].ConversationID]
	m, found := t.mailboxes[c.MailboxID]
	if !found {
		return sending.SystemMail{}, fault.Missing("mailbox", c.MailboxID)
	}
	said, err := t.said(ctx, c)
	if err != nil {
		return sending.SystemMail{}, err
	}
	token := memberToken{account: t.accountID, user: t.user.ID, conversation: t.order.Conversation, expires: tokenDay(t.order.At.Add(mailWorkLife))}
	if n := len(t.order.Interactions); n > 0 {
		token.seen = t.order.Interactions[n-1]
	}
	replyTo, footer := t.mailWork(m, token)
	if footer == "" {
		footer = "Reply in the desk. Replies to this email do not reach the customer."
	}
	heading, lead, who := t.summary()
	subject := cmp.Or(plain.Cut(plain.Line(c.Subject), 200), fmt.Sprintf("Conversation %d", c.Number))
	from := t.mailFrom(m)
	if who == "" {
		who = fromName(m, "")
	}
	text := append([]string{lead}, said...)
	text = append(text, "Conversation "+fmt.Sprint(c.Number)+" with "+t.customer(c.CustomerID)+":\n"+t.links.Conversation(t.accountID, c.ID), t.foot(footer))
	return sending.SystemMail{
		MessageID: t.memberMessageID(token, t.order.last(), from), Date: t.order.At,
		InReplyTo: t.memberMessageID(memberToken{account: t.accountID, user: t.user.ID, conversation: t.order.Conversation}, 0, from), // the common thread root
		From:      mailaddr.Address{Name: plain.Cut(plain.Line(who), 200), Email: from}, ReplyTo: replyTo, To: mailaddr.Address{Name: t.user.Name, Email: t.user.Email},
		Subject: "[" + heading + "] " + subject, Text: paragraphs(text...),
	}, nil
}

// summary describes the events, and names the actor if there is only one.
func (t *notificationMail) summary() (heading, lead, who string) {
	var leads []string
	for i, n := range t.notifications {
		short, long, one := t.happened(n)
		if i > 0 && who != one {
			one = ""
		}
		heading, who = short, one
		if !slices.Contains(leads, long) {
			leads = append(leads, long)
		}
	}
	return heading, strings.Join(leads, "\n"), who
}

// foot returns the footer.
func (t *notificationMail) foot(work string) string {
	return "-- \n" + work + "\n\nNotification settings: " + t.links.Notifications(t.accountID)
}

// said returns the quoted interactions with file names. Members' replies to customers are not quoted, since they may have
// been sent encrypted.
func (t *notificationMail) said(ctx context.Context, c Conversation) ([]string, error) {
	found, err := t.r.Interactions().ByIDs(ctx, t.order.Interactions)
	if err != nil {
		return nil, err
	}
	var ids, users, customers []int64
	for _, i := range found {
		ids, users, customers = append(ids, i.ID), append(users, i.UserID), append(customers, i.CustomerID)
	}
	if err := t.readNames(ctx, sortedSet(users), customers); err != nil {
		return nil, err
	}
	files := map[int64][]string{}
	if len(ids) > 0 {
		all, err := t.r.Attachments().List(ctx, AttachmentFilter{InteractionIDs: ids}, storage.Seek{Limit: storage.NoLimit})
		if err != nil {
			return nil, err
		}
		for _, a := range all {
			files[a.InteractionID] = append(files[a.InteractionID], plain.Cut(plain.Line(a.Filename), 100)+" ("+a.SizeHuman()+")")
		}
	}
	slices.SortFunc(found, func(a, b Interaction) int {
		return cmp.Or(cmp.Compare(a.SortKey(), b.SortKey()), cmp.Compare(a.ID, b.ID))
	})
	var parts []string
	for _, i := range found {
		if i.ConversationID != c.ID || i.Type == TypeUser {
			continue
		}
		who := t.customer(i.CustomerID) + " wrote:"
		if i.Type == TypeNote {
			who = t.member(i.UserID) + " added a private note:"
		}
		parts = append(parts, who, quotedBody(mailhtml.Unquoted(i.Body, i.answers())))
		if names := files[i.ID]; len(names) > 0 {
			parts = append(parts, "Files: "+strings.Join(names[:min(len(names), 10)], ", "))
		}
	}
	return parts, nil
}

// quotedBody returns an interaction's text, shortened.
func quotedBody(body string) string {
	text := strings.TrimSpace(mailhtml.Text(body))
	if text == "" {
		return "(no text)"
	}
	if short := plain.Cut(text, maxQuotedText); short != text {
		return strings.TrimSpace(short) + " …"
	}
	return text
}

// noAnswer returns the Reply-To of a mail about no particular conversation. Mail to it is returned to the member and opens
// no conversation.
func (t *notificationMail) noAnswer(m Mailbox) (token memberToken, replyTo string) {
	token = memberToken{account: t.accountID, user: t.user.ID}
	return token, t.memberAddress(m, token)
}

// general builds a mail without reply address, from the account's first mailbox other than avoid.
func (t *notificationMail) general(ctx context.Context, r Reader, avoid int64, subject string, parts ...string) (sending.SystemMail, error) {
	from, m, err := t.sender(ctx, r, avoid)
	if err != nil {
		return sending.SystemMail{}, err
	}
	token, replyTo := t.noAnswer(m)
	return sending.SystemMail{
		MessageID: t.memberMessageID(token, t.order.last(), from.Email), Date: t.order.At,
		From: from, ReplyTo: replyTo, To: mailaddr.Address{Name: t.user.Name, Email: t.user.Email}, Subject: subject,
		Text: paragraphs(append(parts, t.foot("Replies to this email are not read by anyone."))...),
	}, nil
}

// ofMailbox builds a mail about a mailbox.
func (t *notificationMail) ofMailbox(ctx context.Context, r Reader) (sending.SystemMail, error) {
	m := t.mailboxes[t.notifications[0].MailboxID]
	name := cmp.Or(m.Name, m.Email)
	return t.general(ctx, r, m.ID, "[Mailbox needs attention] "+name,
		"Mail for the mailbox "+name+" is no longer being fetched. Its page explains why and what to do:", t.links.Mailbox(t.accountID, m.ID))
}

// ofMany builds a mail about several conversations.
func (t *notificationMail) ofMany(ctx context.Context, r Reader) (sending.SystemMail, error) {
	var lines []string
	at := map[string]int{}
	for _, n := range t.notifications {
		title, link := "", ""
		if c, found := t.conversations[n.ConversationID]; found {
			title, link = fmt.Sprintf("%d %s", c.Number, c.Subject), t.links.Conversation(t.accountID, c.ID)
		} else {
			m := t.mailboxes[n.MailboxID]
			title, link = cmp.Or(m.Name, m.Email), t.links.Mailbox(t.accountID, m.ID)
		}
		short, _, _ := t.happened(n)
		line := fmt.Sprintf("* %s: %s\n  %s", short, strings.TrimSpace(title), link)
		if i, known := at[link]; known {
			lines[i] = line // the latest event
			continue
		}
		at[link] = len(lines)
		lines = append(lines, line)
	}
	n := len(lines)
	if n > maxListedConversations {
		lines = append(lines[:maxListedConversations], fmt.Sprintf("and %d more", n-maxListedConversations))
	}
	return t.general(ctx, r, 0, fmt.Sprintf("Updates in %d conversations", n),
		"A lot happened in a short time, so here it is in one email.", strings.Join(lines, "\n"))
}
