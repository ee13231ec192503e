package transfer

import (
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
	fields        *rows[helpdesk.Field]
	traits        *rows[fieldValues]
	values        *rows[fieldValues]
	teams         *rows[helpdesk.Team]
	companies     *rows[helpdesk.Company]
	companyKeys   *rows[helpdesk.CompanyKey]
	companyValues *rows[fieldValues]
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
	history       *rows[happening]
	memberMails   *rows[helpdesk.MemberMail]
	calendars     *rows[helpdesk.Calendar]
	autoReplies   *rows[helpdesk.AutoReply]
	autoResponses *rows[helpdesk.AutoResponse]
	rules         *rows[helpdesk.Rule]
	ruleSets      *rows[helpdesk.RuleSet]
	slas          *rows[helpdesk.SLA]
	surveys       *rows[helpdesk.Survey]
	ratings       *rows[helpdesk.Rating]
	retention     *rows[helpdesk.RetentionPolicy]
	suppressions  *rows[sending.Suppression]
	notifications *rows[helpdesk.Notification]
	choices       *rows[helpdesk.NotifyChoices]
	settings      *rows[settings]
	memberships   *rows[identity.Membership]
	audit         *rows[helpdesk.AuditEntry]
}

// all returns the nouns, in the order of an archive.
func (n *nouns) all() []transfer.Noun[*target] {
	return []transfer.Noun[*target]{
		n.account, n.users, n.roles, n.mailboxes, n.cursors, n.domains, n.tags, n.fields, n.teams, n.companies, n.companyKeys, n.companyValues, n.replies, n.replyFiles, n.signatures, n.blocked,
		n.erasureKeys, n.erasures, n.portalKeys, n.webhooks, n.customers, n.traits, n.pgpKeys, n.views, n.calendars, n.slas, n.conversations, n.labels, n.values, n.participants, n.followers, n.redirects,
		n.references, n.interactions, n.attachments, n.deliveries, n.moves, n.marks, n.mails, n.retention, n.rules, n.ruleSets, n.history, n.memberMails, n.suppressions,
		n.autoReplies, n.autoResponses, n.surveys, n.ratings,
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

// people declares the account, its members and their settings.
func (n *nouns) people() {
	n.account = &rows[identity.Account]{Noun: "account", Insert: insertAccount, Walk: func(v visit, a *identity.Account) { v.Own("account", &a.ID) }}
	n.users = &rows[user]{Noun: "users", Insert: insertUsers, Valid: validUser, Walk: func(v visit, u *user) { v.Own("user", &u.ID) }}
	n.roles = plainRows(helpdesk.Nouns().Roles)
	n.teams = plainRows(helpdesk.Nouns().Teams)
	n.teams.Insert = insertTeams
	n.companies = plainRows(helpdesk.Nouns().Companies)
	n.companyKeys = plainRows(helpdesk.Nouns().CompanyKeys)
	n.companyValues = valuesOf("company_values", helpdesk.FieldOfCompany)
	n.replies = plainRows(helpdesk.Nouns().SavedReplies)
	n.replyFiles = plainRows(helpdesk.Nouns().ReplyFiles)
	n.signatures = plainRows(helpdesk.Nouns().Signatures)
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

// limits walks the mailboxes that something is limited to, see [storage.Column.Limits]. It stays limited even if all of them are gone.
func limits(v visit, ids *[]int64) {
	limited := len(*ids) > 0
	v.LooseEach("mailbox", ids)
	if limited && len(*ids) == 0 {
		*ids = []int64{-1}
	}
}

// desk declares mailboxes and the account's other data besides conversations.
func (n *nouns) desk() {
	n.mailboxes = &rows[helpdesk.Mailbox]{Noun: "mailboxes", Insert: insertMailboxes, Walk: func(v visit, m *helpdesk.Mailbox) { v.Own("mailbox", &m.ID) }}
	n.cursors = &rows[cursor]{Noun: "fetch_cursors", Insert: insertCursors, Walk: func(v visit, c *cursor) { v.To("mailbox", &c.MailboxID) }}
	n.domains = plainRows(helpdesk.Nouns().Domains)
	n.domains.Insert = insertDomains
	n.tags = plainRows(helpdesk.Nouns().Tags)
	n.fields = plainRows(helpdesk.Nouns().Fields)
	n.traits = valuesOf("customer_values", helpdesk.FieldOfCustomer)
	n.blocked = plainRows(helpdesk.Nouns().BlockedSenders)
	n.erasureKeys = &rows[erasureKeys]{Noun: "erasure_keys", Insert: insertErasureKeys}
	n.erasures = plainRows(helpdesk.Nouns().Erasures)
	n.portalKeys = plainRows(helpdesk.Nouns().PortalKeys)
	n.portalKeys.Insert = insertPortalKeys
	n.webhooks = plainRows(helpdesk.Nouns().Webhooks)
	n.webhooks.Insert = insertWebhooks
	n.customers = &rows[helpdesk.Customer]{Noun: "customers", Insert: insertCustomers, Walk: func(v visit, c *helpdesk.Customer) {
		v.Own("customer", &c.ID)
		v.Loose("company", &c.CompanyID)
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
	n.pgpKeys = plainRows(helpdesk.Nouns().PGPKeys)
	n.views = plainRows(helpdesk.Nouns().Views)
	n.suppressions = plainRows(helpdesk.Nouns().Suppressions)
}

// talk declares conversations and their contents.
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
			v.Loose("sla", &c.SLAID)
			v.To("user", &c.HeldByID)
		},
	}
	n.labels = &rows[labels]{Noun: "conversation_tags", Insert: insertLabels, Walk: func(v visit, l *labels) {
		v.To("conversation", &l.ConversationID)
		v.Each("tag", l.TagIDs)
	}}
	n.values = valuesOf("conversation_values", helpdesk.FieldOfConversation)
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

// valuesOf declares the values of the fields of a kind.
func valuesOf(noun string, kind helpdesk.FieldKind) *rows[fieldValues] {
	return &rows[fieldValues]{
		Noun: noun,
		Insert: func(ctx ctx, x *target, all []*fieldValues) error {
			for _, v := range all {
				if err := v.insert(ctx, x, kind); err != nil {
					return err
				}
			}
			return nil
		},
		Walk: func(v visit, f *fieldValues) {
			v.To(string(kind), &f.SubjectID)
			for i := range f.Values {
				v.To("field", &f.Values[i].FieldID)
			}
		},
	}
}

func walkInteraction(v visit, i *helpdesk.Interaction) {
	v.Own("interaction", &i.ID)
	v.To("conversation", &i.ConversationID)
	v.To("user", &i.UserID)
	v.To("user", &i.PostedByID)
	v.To("customer", &i.CustomerID)
	v.Loose("customer_email", &i.CustomerEmailID)
	v.LooseEach("interaction", &i.Ending.Quotes)
	v.LooseEach("attachment", &i.Ending.Files)
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

// rest declares the ledger and the notifications.
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
	n.history = &rows[happening]{Noun: "history", Insert: insertHistory, Walk: walkHistory, Valid: validHappening}
	n.memberMails = plainRows(helpdesk.Nouns().MemberMails)
	n.calendars = plainRows(helpdesk.Nouns().Calendars)
	n.autoReplies = plainRows(helpdesk.Nouns().AutoReplies)
	n.autoResponses = plainRows(helpdesk.Nouns().AutoResponses)
	n.rules = plainRows(helpdesk.Nouns().Rules)
	n.surveys = plainRows(helpdesk.Nouns().Surveys)
	n.ratings = plainRows(helpdesk.Nouns().Ratings)
	n.retention = plainRows(helpdesk.Nouns().RetentionPolicies)
	n.slas = plainRows(helpdesk.Nouns().SLAs)
	n.ruleSets = plainRows(helpdesk.Nouns().RuleSets)
	n.notifications = &rows[helpdesk.Notification]{Noun: "notifications", Insert: insertNotifications, Walk: func(v visit, o *helpdesk.Notification) {
		v.Own("notification", &o.ID)
		v.To("user", &o.UserID)
		v.To("conversation", &o.ConversationID)
		v.Loose("interaction", &o.InteractionID)
		v.Loose("mailbox", &o.MailboxID)
		v.To("user", &o.ActorID)
	}}
}

// walkAudit walks the subject of an entry, which the prefix of its action determines.
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
	problems.Check(u.Gone || mailaddr.Valid(u.Email), "Email", "must be an email address")
	return problems.Err()
}

// plainRows declares the rows of a plain noun.
func plainRows[T, F any](noun storage.Declared[T, F]) *rows[T] {
	r := &rows[T]{
		Noun:   noun.Plural,
		Insert: func(ctx ctx, x *target, rows []*T) error { return noun.Rows(x.Tx).Insert(ctx, rows...) },
		Walk: func(v visit, t *T) {
			v.Own(noun.Key, noun.ID(t))
			for _, c := range noun.Columns {
				walkColumn(v, c, c.Field(t))
			}
			if noun.Names != nil {
				noun.Names(t, v.Loose)
			}
		},
	}
	for _, c := range noun.Columns {
		if c.File {
			r.File = func(t *T) *string { return c.Field(t).(*string) } //nolint:forcetypeassert // a key is text
			r.Key = func(x *target, _ *T, name string) string { return x.fileKey(name) }
		}
	}
	return r
}

// walkColumn walks the ids in a column.
func walkColumn[T any](v visit, c storage.Column[T], field any) {
	if c.Refers == "" {
		return
	}
	switch field := field.(type) {
	case *int64:
		if c.Loose {
			v.Loose(c.Refers, field)
		} else {
			v.To(c.Refers, field)
		}
	case storage.IDList:
		if c.Limits {
			limits(v, field.IDs())
			return
		}
		v.LooseEach(c.Refers, field.IDs())
	}
}

// inserted is the Insert of a noun whose rows are stored as they are.
func inserted[T, F any](of func(tx helpdesk.Tx) storage.Rows[T, F]) insertFunc[T] {
	return func(ctx ctx, x *target, rows []*T) error { return of(x.Tx).Insert(ctx, rows...) }
}

func updated[T, F any](of func(tx helpdesk.Tx) storage.Rows[T, F]) insertFunc[T] {
	return func(ctx ctx, x *target, rows []*T) error { return of(x.Tx).Update(ctx, rows...) }
}
