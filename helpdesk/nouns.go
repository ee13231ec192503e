package helpdesk

import (
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
)

// Declarations are those of the nouns whose rows a store keeps.
type Declarations struct {
	Attachments       storage.Noun[Attachment]
	BlockedSenders    storage.Noun[BlockedSender]
	Conversations     storage.Noun[Conversation]
	Deliveries        storage.Noun[sending.Delivery]
	Domains           storage.Noun[sending.Domain]
	Erasures          storage.Noun[Erasure]
	Interactions      storage.Noun[Interaction]
	Invitations       storage.Noun[identity.Invitation]
	JoinRules         storage.Noun[identity.JoinRule]
	Mailboxes         storage.Noun[Mailbox]
	MemberMails       storage.Noun[MemberMail]
	Memberships       storage.Noun[identity.Membership]
	Notifications     storage.Noun[Notification]
	PGPKeys           storage.Noun[PGPKey]
	PortalKeys        storage.Noun[PortalKey]
	PushDevices       storage.Noun[PushDevice]
	ReplyFiles        storage.Noun[ReplyFile]
	Roles             storage.Noun[identity.Role]
	SavedReplies      storage.Noun[SavedReply]
	Signatures        storage.Noun[Signature]
	Suppressions      storage.Noun[sending.Suppression]
	Tags              storage.Noun[Tag]
	Teams             storage.Noun[Team]
	Views             storage.Noun[View]
	WebhookDeliveries storage.Noun[subscription.WebhookDelivery]
	Webhooks          storage.Noun[subscription.Webhook]
}

// Nouns declares the rows of [Rows], for stores and for storagetest.
func Nouns() Declarations {
	return Declarations{
		Attachments: storage.Noun[Attachment]{
			Name:        "attachment",
			ID:          func(a *Attachment) *int64 { return &a.ID },
			InMailboxes: true,
		},
		BlockedSenders: blockedSenderNoun(),
		Conversations: storage.Noun[Conversation]{
			Name:        "conversation",
			ID:          func(c *Conversation) *int64 { return &c.ID },
			InMailboxes: true,
		},
		Deliveries: storage.Noun[sending.Delivery]{
			Name:        "delivery",
			ID:          func(d *sending.Delivery) *int64 { return &d.ID },
			InMailboxes: true,
		},
		Domains: storage.Noun[sending.Domain]{
			Name:    "domain",
			ID:      func(d *sending.Domain) *int64 { return &d.ID },
			Account: func(d *sending.Domain) *int64 { return &d.AccountID },
			Unique: []storage.Unique[sending.Domain]{
				{Code: sending.UniqueDomain, Fields: func(d *sending.Domain) []any { return []any{&d.Name} }},
			},
		},
		Erasures: erasureNoun(),
		Interactions: storage.Noun[Interaction]{
			Name:        "interaction",
			ID:          func(i *Interaction) *int64 { return &i.ID },
			InMailboxes: true,
		},
		Invitations: storage.Noun[identity.Invitation]{
			Name:    "invitation",
			ID:      func(i *identity.Invitation) *int64 { return &i.ID },
			Account: func(i *identity.Invitation) *int64 { return &i.AccountID },
		},
		JoinRules: joinRuleNoun(),
		Mailboxes: storage.Noun[Mailbox]{
			Name:        "mailbox",
			ID:          func(m *Mailbox) *int64 { return &m.ID },
			Account:     func(m *Mailbox) *int64 { return &m.AccountID },
			InMailboxes: true,
			Unique: []storage.Unique[Mailbox]{
				{Code: UniqueMailboxEmail, Fields: func(m *Mailbox) []any { return []any{&m.EmailKey} }, Optional: true},
				{Code: UniqueMailboxLocal, Fields: func(m *Mailbox) []any { return []any{&m.InternalLocal} }, Everywhere: true},
			},
		},
		Memberships: storage.Noun[identity.Membership]{
			Name: "membership",
			ID:   func(m *identity.Membership) *int64 { return &m.ID },
			Unique: []storage.Unique[identity.Membership]{
				{Code: identity.UniqueMembership, Fields: func(m *identity.Membership) []any { return []any{&m.UserID} }},
			},
		},
		Notifications: notificationNoun(),
		PGPKeys: storage.Noun[PGPKey]{
			Name: "key",
			ID:   func(k *PGPKey) *int64 { return &k.ID },
			Unique: []storage.Unique[PGPKey]{
				{Code: UniquePGPKey, Fields: func(k *PGPKey) []any { return []any{&k.CustomerEmailID, &k.Fingerprint} }},
			},
		},
		PortalKeys: storage.Noun[PortalKey]{
			Name: "key",
			ID:   func(k *PortalKey) *int64 { return &k.ID },
		},
		Roles: storage.Noun[identity.Role]{
			Name: "role",
			ID:   func(r *identity.Role) *int64 { return &r.ID },
		},
		MemberMails:  memberMailNoun(),
		PushDevices:  pushDeviceNoun(),
		ReplyFiles:   replyFileNoun(),
		SavedReplies: savedReplyNoun(),
		Signatures:   signatureNoun(),
		Suppressions: storage.Noun[sending.Suppression]{
			Name: "suppression",
			ID:   func(s *sending.Suppression) *int64 { return &s.ID },
			Unique: []storage.Unique[sending.Suppression]{
				{Code: sending.UniqueSuppression, Fields: func(s *sending.Suppression) []any { return []any{&s.Key} }},
			},
		},
		Tags: storage.Noun[Tag]{
			Name: "tag",
			ID:   func(t *Tag) *int64 { return &t.ID },
			Unique: []storage.Unique[Tag]{
				{Code: UniqueTag, Fields: func(t *Tag) []any { return []any{&t.Key} }},
			},
		},
		Teams: teamNoun(),
		Views: storage.Noun[View]{
			Name: "view",
			ID:   func(v *View) *int64 { return &v.ID },
		},
		WebhookDeliveries: webhookDeliveryNoun(),
		Webhooks: storage.Noun[subscription.Webhook]{
			Name: "webhook",
			ID:   func(w *subscription.Webhook) *int64 { return &w.ID },
		},
	}
}
