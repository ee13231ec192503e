package transfer

import (
	"strconv"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/transfer"
)

type rows[T any] = transfer.Rows[*target, T]

// nouns declares how the rows of each noun travel, in the order of an archive.
type nouns struct {
	account       *rows[identity.Account]
	users         *rows[user]
	roles         *rows[identity.Role]
	mailboxes     *rows[helpdesk.Mailbox]
	cursors       *rows[cursor]
	domains       *rows[sending.Domain]
	tags          *rows[helpdesk.Tag]
	teams         *rows[helpdesk.Team]
	replies       *rows[helpdesk.SavedReply]
	replyFiles    *rows[helpdesk.ReplyFile]
	signatures    *rows[helpdesk.Signature]
	blocked       *rows[helpdesk.BlockedSender]
	erasureKeys   *rows[erasureKeys]
	erasures      *rows[helpdesk.Erasure]
	portalKeys    *rows[helpdesk.PortalKey]
	webhooks      *rows[subscription.Webhook]
	customers     *rows[helpdesk.Customer]
	pgpKeys       *rows[helpdesk.PGPKey]
	views         *rows[helpdesk.View]
	conversations *rows[helpdesk.Conversation]
	labels        *rows[labels]
	participants  *rows[helpdesk.Participants]
	followers     *rows[helpdesk.Follower]
	redirects     *rows[helpdesk.Redirect]
	references    *rows[reference]
	interactions  *rows[helpdesk.Interaction]
	attachments   *rows[helpdesk.Attachment]
	deliveries    *rows[sending.Delivery]
	moves         *rows[helpdesk.Move]
	marks         *rows[helpdesk.ReadMark]
	mails         *rows[ledger.Mail]
	memberMails   *rows[helpdesk.MemberMail]
	suppressions  *rows[sending.Suppression]
	notifications *rows[helpdesk.Notification]
	choices       *rows[helpdesk.NotifyChoices]
	settings      *rows[settings]
	memberships   *rows[identity.Membership]
	audit         *rows[helpdesk.AuditEntry]
}

// all are the nouns, in the order of an archive.
func (n *nouns) all() []transfer.Noun[*target] {
	return []transfer.Noun[*target]{
		n.account, n.users, n.roles, n.mailboxes, n.cursors, n.domains, n.tags, n.teams, n.replies, n.replyFiles, n.signatures, n.blocked,
		n.erasureKeys, n.erasures, n.portalKeys, n.webhooks, n.customers, n.pgpKeys, n.views, n.conversations, n.labels, n.participants, n.followers, n.redirects,
		n.references, n.interactions, n.attachments, n.deliveries, n.moves, n.marks, n.mails, n.memberMails, n.suppressions,
		n.notifications, n.choices, n.settings, n.memberships, n.audit,
	}
}

// visit is the type of all Walk functions.
type visit = *transfer.Visitor

func newNouns() *nouns {
	n := &nouns{}
	n.people()
	n.desk()
	n.talk()
	n.rest()
	return n
}

// people are the account, its members and what they work with.
func (n *nouns) people() {
	n.account = &rows[identity.Account]{Noun: "account", Insert: insertAccount, Walk: func(v visit, a *identity.Account) { v.Own("account", &a.ID) }}
	n.users = &rows[user]{Noun: "users", Insert: insertUsers, Valid: validUser, Walk: func(v visit, u *user) { v.Own("user", &u.ID) }}
	n.roles = &rows[identity.Role]{Noun: "roles", Insert: inserted(helpdesk.Tx.Roles), Walk: func(v visit, r *identity.Role) { v.Own("role", &r.ID) }}
	n.teams = &rows[helpdesk.Team]{Noun: "teams", Insert: inserted(helpdesk.Tx.Teams), Walk: func(v visit, t *helpdesk.Team) {
		v.Own("team", &t.ID)
		v.LooseEach("user", &t.MemberIDs)
	}}
	n.replies = &rows[helpdesk.SavedReply]{Noun: "saved_replies", Insert: inserted(helpdesk.Tx.SavedReplies), Walk: func(v visit, r *helpdesk.SavedReply) {
		v.Own("saved_reply", &r.ID)
		v.To("user", &r.UserID)
	}}
	n.replyFiles = &rows[helpdesk.ReplyFile]{
		Noun: "reply_files", Insert: inserted(helpdesk.Tx.ReplyFiles), File: func(f *helpdesk.ReplyFile) *string { return &f.BlobKey },
		Key: func(x *target, _ *helpdesk.ReplyFile, name string) string { return x.fileKey(name) },
		Walk: func(v visit, f *helpdesk.ReplyFile) {
			v.Own("reply_file", &f.ID)
			v.To("saved_reply", &f.ReplyID)
		},
	}
	n.signatures = &rows[helpdesk.Signature]{Noun: "signatures", Insert: inserted(helpdesk.Tx.Signatures), Walk: func(v visit, s *helpdesk.Signature) {
		v.Own("signature", &s.ID)
		v.To("user", &s.UserID)
	}}
	n.memberships = &rows[identity.Membership]{Noun: "memberships", Insert: inserted(helpdesk.Tx.Memberships), Walk: func(v visit, m *identity.Membership) {
		v.Own("membership", &m.ID)
		v.To("user", &m.UserID)
		v.Each("role", m.RoleIDs)
		limits(v, &m.MailboxIDs)
	}}
	n.choices = &rows[helpdesk.NotifyChoices]{Noun: "notify_choices", Insert: insertChoices, Walk: func(v visit, c *helpdesk.NotifyChoices) {
		v.To("user", &c.UserID)
	}}
	n.audit = &rows[helpdesk.AuditEntry]{Noun: "audit", Insert: insertAudit, Walk: walkAudit}
	n.settings = &rows[settings]{Noun: "settings", Insert: insertSettings, Walk: func(v visit, s *settings) { v.Loose("mailbox", &s.DefaultMailboxID) }}
}

// limits shows the mailboxes that something is limited to. It stays limited when they are all gone.
func limits(v visit, ids *[]int64) {
	limited := len(*ids) > 0
	v.LooseEach("mailbox", ids)
	if limited && len(*ids) == 0 {
		*ids = []int64{-1}
	}
}

// desk are mailboxes, and what an account has beside conversations.
func (n *nouns) desk() {
	n.mailboxes = &rows[helpdesk.Mailbox]{Noun: "mailboxes", Insert: insertMailboxes, Walk: func(v visit, m *helpdesk.Mailbox) { v.Own("mailbox", &m.ID) }}
	n.cursors = &rows[cursor]{Noun: "fetch_cursors", Insert: insertCursors, Walk: func(v visit, c *cursor) { v.To("mailbox", &c.MailboxID) }}
	n.domains = &rows[sending.Domain]{Noun: "domains", Insert: insertDomains, Walk: func(v visit, d *sending.Domain) { v.Own("domain", &d.ID) }}
	n.tags = &rows[helpdesk.Tag]{Noun: "tags", Insert: inserted(helpdesk.Tx.Tags), Walk: func(v visit, t *helpdesk.Tag) { v.Own("tag", &t.ID) }}
	n.blocked = &rows[helpdesk.BlockedSender]{Noun: "blocked_senders", Insert: inserted(helpdesk.Tx.BlockedSenders), Walk: func(v visit, b *helpdesk.BlockedSender) {
		v.Own("blocked_sender", &b.ID)
		v.To("user", &b.UserID)
	}}
	n.erasureKeys = &rows[erasureKeys]{Noun: "erasure_keys", Insert: insertErasureKeys}
	n.erasures = &rows[helpdesk.Erasure]{Noun: "erasures", Insert: inserted(helpdesk.Tx.Erasures), Walk: func(v visit, e *helpdesk.Erasure) {
		v.Own("erasure", &e.ID)
		v.Loose("customer", &e.CustomerID)
		v.To("user", &e.UserID)
	}}
	n.portalKeys = &rows[helpdesk.PortalKey]{Noun: "portal_keys", Insert: insertPortalKeys, Walk: func(v visit, k *helpdesk.PortalKey) {
		v.Own("portal_key", &k.ID)
		v.To("user", &k.UserID)
	}}
	n.webhooks = &rows[subscription.Webhook]{Noun: "webhooks", Insert: insertWebhooks, Walk: func(v visit, w *subscription.Webhook) {
		v.Own("webhook", &w.ID)
		v.To("user", &w.UserID)
		limits(v, &w.MailboxIDs)
	}}
	n.customers = &rows[helpdesk.Customer]{Noun: "customers", Insert: insertCustomers, Walk: func(v visit, c *helpdesk.Customer) {
		v.Own("customer", &c.ID)
		for i := range c.Emails {
			v.Own("customer_email", &c.Emails[i].ID)
		}
		for i := range c.Phones {
			v.Own("customer_phone", &c.Phones[i].ID)
		}
		for i := range c.Websites {
			v.Own("customer_website", &c.Websites[i].ID)
		}
	}}
	n.pgpKeys = &rows[helpdesk.PGPKey]{Noun: "pgp_keys", Insert: inserted(helpdesk.Tx.PGPKeys), Walk: func(v visit, k *helpdesk.PGPKey) {
		v.Own("pgp_key", &k.ID)
		v.To("customer_email", &k.CustomerEmailID)
	}}
	n.views = &rows[helpdesk.View]{Noun: "views", Insert: inserted(helpdesk.Tx.Views), Walk: func(v visit, o *helpdesk.View) {
		v.Own("view", &o.ID)
		v.To("user", &o.UserID)
		v.Loose("mailbox", &o.Filter.MailboxID)
		v.Loose("customer", &o.Filter.CustomerID)
		v.Loose("team", &o.Filter.TeamID)
		v.LooseEach("tag", &o.Filter.TagIDs)
		if id, err := strconv.ParseInt(o.Filter.Agent, 10, 64); err == nil && id != 0 {
			v.Loose("user", &id)
			o.Filter.Agent = strconv.FormatInt(id, 10)
		}
	}}
	n.suppressions = &rows[sending.Suppression]{Noun: "suppressions", Insert: inserted(helpdesk.Tx.Suppressions), Walk: func(v visit, s *sending.Suppression) {
		v.Own("suppression", &s.ID)
		v.To("user", &s.UserID)
		v.Loose("interaction", &s.InteractionID)
	}}
}

// talk are conversations, and what was said in them.
func (n *nouns) talk() {
	n.conversations = &rows[helpdesk.Conversation]{
		Noun: "conversations", Insert: insertConversations, Update: updated(helpdesk.Tx.Conversations),
		Walk: func(v visit, c *helpdesk.Conversation) {
			v.Own("conversation", &c.ID)
			v.To("mailbox", &c.MailboxID)
			v.To("customer", &c.CustomerID)
			v.Loose("customer_email", &c.CustomerEmailID)
			v.To("user", &c.UserID)
			v.Loose("team", &c.TeamID)
			v.Loose("conversation", &c.RefersTo)
		},
	}
	n.labels = &rows[labels]{Noun: "conversation_tags", Insert: insertLabels, Walk: func(v visit, l *labels) {
		v.To("conversation", &l.ConversationID)
		v.Each("tag", l.TagIDs)
	}}
	n.participants = &rows[helpdesk.Participants]{Noun: "participants", Insert: insertParticipants, Walk: func(v visit, p *helpdesk.Participants) {
		v.To("conversation", &p.ConversationID)
	}}
	n.followers = &rows[helpdesk.Follower]{Noun: "followers", Insert: insertFollowers, Walk: func(v visit, f *helpdesk.Follower) {
		v.To("conversation", &f.ConversationID)
		v.To("user", &f.UserID)
	}}
	n.redirects = &rows[helpdesk.Redirect]{Noun: "redirects", Insert: insertRedirects, Walk: func(v visit, r *helpdesk.Redirect) {
		v.Own("conversation", &r.ConversationID)
		v.Loose("mailbox", &r.MailboxID)
		v.To("conversation", &r.IntoID)
	}}
	n.references = &rows[reference]{Noun: "conversation_references", Insert: insertReferences, Walk: func(v visit, r *reference) {
		v.To("conversation", &r.ConversationID)
		v.To("conversation", &r.RefersTo)
	}}
	n.interactions = &rows[helpdesk.Interaction]{
		Noun: "interactions", Arrive: unscheduled, Insert: insertInteractions, Update: updated(helpdesk.Tx.Interactions), Walk: walkInteraction,
	}
	n.attachments = &rows[helpdesk.Attachment]{
		Noun: "attachments", Insert: inserted(helpdesk.Tx.Attachments), File: func(a *helpdesk.Attachment) *string { return &a.BlobKey },
		Key: func(x *target, _ *helpdesk.Attachment, name string) string { return x.fileKey(name) },
		Walk: func(v visit, a *helpdesk.Attachment) {
			v.Own("attachment", &a.ID)
			v.To("interaction", &a.InteractionID)
			v.To("conversation", &a.ConversationID)
		},
	}
	n.deliveries = &rows[sending.Delivery]{Noun: "deliveries", Insert: insertDeliveries, Walk: func(v visit, d *sending.Delivery) {
		v.Own("delivery", &d.ID)
		v.To("interaction", &d.InteractionID)
	}}
	n.moves = &rows[helpdesk.Move]{Noun: "moves", Insert: insertMoves, Walk: func(v visit, m *helpdesk.Move) {
		v.To("interaction", &m.InteractionID)
		v.Loose("conversation", &m.FromID)
		v.Loose("conversation", &m.IntoID)
		v.Loose("mailbox", &m.MailboxID)
		v.To("user", &m.UserID)
	}}
	n.marks = &rows[helpdesk.ReadMark]{Noun: "read_marks", Insert: insertMarks, Walk: func(v visit, m *helpdesk.ReadMark) {
		v.To("user", &m.UserID)
		v.To("conversation", &m.ConversationID)
		v.To("interaction", &m.InteractionID)
	}}
}

func walkInteraction(v visit, i *helpdesk.Interaction) {
	v.Own("interaction", &i.ID)
	v.To("conversation", &i.ConversationID)
	v.To("user", &i.UserID)
	v.To("user", &i.PostedByID)
	v.To("customer", &i.CustomerID)
	v.Loose("customer_email", &i.CustomerEmailID)
	v.LooseEach("interaction", &i.Ending.Quotes)
	v.To("user", &i.Mail.Forwarded.UserID)
	v.To("user", &i.Threading.ForwardedBy)
	v.Loose("conversation", &i.Threading.Token)
	for n := range i.Threading.Refused {
		v.Loose("conversation", &i.Threading.Refused[n].ConversationID)
	}
	if ids, _ := mailhtml.Mentions(i.Body); len(ids) > 0 {
		to := map[int64]int64{}
		for _, id := range ids {
			now := id
			v.Loose("user", &now)
			to[id] = now
		}
		i.Body = mailhtml.MapMentions(i.Body, func(id int64) int64 { return to[id] })
	}
}

// rest are the ledger, and what members were told.
func (n *nouns) rest() {
	n.mails = &rows[ledger.Mail]{
		Noun: "mails", Insert: insertMails, File: func(m *ledger.Mail) *string { return &m.RawKey },
		Key: func(x *target, m *ledger.Mail, name string) string { return x.rawKey(m.MailboxID, name) },
		Walk: func(v visit, m *ledger.Mail) {
			v.Own("mail", &m.ID)
			v.To("mailbox", &m.MailboxID)
			v.To("user", &m.UserID)
			v.Loose("conversation", &m.ConversationID)
			v.Loose("interaction", &m.InteractionID)
		},
	}
	n.memberMails = &rows[helpdesk.MemberMail]{Noun: "member_mails", Insert: inserted(helpdesk.Tx.MemberMails), Walk: func(v visit, m *helpdesk.MemberMail) {
		v.Own("member_mail", &m.ID)
		v.To("user", &m.UserID)
		v.Loose("mail", &m.InboundID)
	}}
	n.notifications = &rows[helpdesk.Notification]{Noun: "notifications", Insert: insertNotifications, Walk: func(v visit, o *helpdesk.Notification) {
		v.Own("notification", &o.ID)
		v.To("user", &o.UserID)
		v.To("conversation", &o.ConversationID)
		v.Loose("interaction", &o.InteractionID)
		v.Loose("mailbox", &o.MailboxID)
		v.To("user", &o.ActorID)
	}}
}

// walkAudit shows what an entry is about, by what its action begins with.
func walkAudit(v visit, e *helpdesk.AuditEntry) {
	v.Own("audit", &e.ID)
	v.Loose("mailbox", &e.MailboxID)
	v.To("user", &e.UserID)
	v.Loose("token", &e.TokenID)
	noun, _, _ := strings.Cut(e.Action, ".")
	v.Loose(noun, &e.Subject)
}

func validUser(u *user) error {
	var problems fault.Collector
	problems.Check(u.Gone || mailaddr.Valid(u.Email), "Email", "must be a mail address")
	return problems.Err()
}

// inserted is the Insert of a noun whose rows are stored as they are.
func inserted[T, F any](of func(tx helpdesk.Tx) storage.Rows[T, F]) insertFunc[T] {
	return func(ctx ctx, x *target, rows []*T) error { return of(x.Tx).Insert(ctx, rows...) }
}

func updated[T, F any](of func(tx helpdesk.Tx) storage.Rows[T, F]) insertFunc[T] {
	return func(ctx ctx, x *target, rows []*T) error { return of(x.Tx).Update(ctx, rows...) }
}
