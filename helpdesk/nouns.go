package helpdesk

import (
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
)

// Declarations are those of the nouns whose rows a store keeps.
type Declarations struct {
	Attachments           storage.Noun[Attachment]
	AutoReplies           storage.Declared[AutoReply, storage.NoFilter]
	AutoResponses         storage.Declared[AutoResponse, AutoResponseFilter]
	BlockedSenders        storage.Declared[BlockedSender, BlockedSenderFilter]
	Calendars             storage.Declared[Calendar, storage.NoFilter]
	Companies             storage.Declared[Company, CompanyFilter]
	CompanyKeys           storage.Declared[CompanyKey, CompanyKeyFilter]
	ConversationFacts     storage.Declared[ConversationFact, ConversationFactFilter]
	Conversations         storage.Noun[Conversation]
	Deliveries            storage.Noun[sending.Delivery]
	Domains               storage.Declared[sending.Domain, storage.NoFilter]
	Erasures              storage.Declared[Erasure, ErasureFilter]
	FactLogs              storage.Declared[FactLog, storage.NoFilter]
	Fields                storage.Declared[Field, FieldFilter]
	Interactions          storage.Noun[Interaction]
	Invitations           storage.Declared[identity.Invitation, identity.InvitationFilter]
	JoinRules             storage.Declared[identity.JoinRule, identity.JoinRuleFilter]
	Mailboxes             storage.Noun[Mailbox]
	MemberMails           storage.Declared[MemberMail, MemberMailFilter]
	Memberships           storage.Noun[identity.Membership]
	Notifications         storage.Noun[Notification]
	PGPKeys               storage.Declared[PGPKey, PGPKeyFilter]
	PortalKeys            storage.Declared[PortalKey, storage.NoFilter]
	PushDevices           storage.Declared[PushDevice, PushDeviceFilter]
	Ratings               storage.Declared[Rating, RatingFilter]
	Readings              storage.Declared[SiteReading, ReadingFilter]
	ReplyFiles            storage.Declared[ReplyFile, ReplyFileFilter]
	RetentionPolicies     storage.Declared[RetentionPolicy, storage.NoFilter]
	Roles                 storage.Declared[identity.Role, storage.NoFilter]
	ReplayedConversations storage.Declared[ReplayedConversation, ReplayedFilter]
	RuleReplays           storage.Declared[RuleReplay, storage.NoFilter]
	RulePasses            storage.Declared[RulePass, RulePassFilter]
	RuleRuns              storage.Declared[RuleRun, RuleRunFilter]
	RuleSets              storage.Declared[RuleSet, storage.NoFilter]
	Rules                 storage.Declared[Rule, storage.NoFilter]
	SLAs                  storage.Declared[SLA, storage.NoFilter]
	SavedReplies          storage.Declared[SavedReply, SavedReplyFilter]
	Signatures            storage.Declared[Signature, SignatureFilter]
	Surveys               storage.Declared[Survey, storage.NoFilter]
	Suppressions          storage.Declared[sending.Suppression, sending.SuppressionFilter]
	Tags                  storage.Declared[Tag, storage.NoFilter]
	Teams                 storage.Declared[Team, storage.NoFilter]
	Views                 storage.Declared[View, ViewReader]
	WebhookDeliveries     storage.Noun[subscription.WebhookDelivery]
	Webhooks              storage.Declared[subscription.Webhook, storage.NoFilter]
}

// Nouns declares the rows of [Rows], for stores and for storagetest.
func Nouns() Declarations {
	return Declarations{
		Attachments: storage.Noun[Attachment]{
			Name:        "attachment",
			ID:          func(a *Attachment) *int64 { return &a.ID },
			InMailboxes: true,
		},
		AutoReplies:       autoReplyNoun(),
		AutoResponses:     autoResponseNoun(),
		BlockedSenders:    blockedSenderNoun(),
		Calendars:         calendarNoun(),
		Companies:         companyNoun(),
		CompanyKeys:       companyKeyNoun(),
		ConversationFacts: conversationFactNoun(),
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
		Domains:  domainNoun(),
		Erasures: erasureNoun(),
		FactLogs: factLogNoun(),
		Fields:   fieldNoun(),
		Interactions: storage.Noun[Interaction]{
			Name:        "interaction",
			ID:          func(i *Interaction) *int64 { return &i.ID },
			InMailboxes: true,
		},
		Invitations: invitationNoun(),
		JoinRules:   joinRuleNoun(),
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
		Notifications:         notificationNoun(),
		PGPKeys:               pgpKeyNoun(),
		PortalKeys:            portalKeyNoun(),
		RetentionPolicies:     retentionPolicyNoun(),
		Roles:                 roleNoun(),
		MemberMails:           memberMailNoun(),
		PushDevices:           pushDeviceNoun(),
		Ratings:               ratingNoun(),
		Readings:              readingNoun(),
		ReplyFiles:            replyFileNoun(),
		RulePasses:            rulePassNoun(),
		ReplayedConversations: replayedNoun(),
		RuleReplays:           replayNoun(),
		RuleRuns:              ruleRunNoun(),
		RuleSets:              ruleSetNoun(),
		Rules:                 ruleNoun(),
		SLAs:                  slaNoun(),
		SavedReplies:          savedReplyNoun(),
		Signatures:            signatureNoun(),
		Suppressions:          suppressionNoun(),
		Surveys:               surveyNoun(),
		Tags:                  tagNoun(),
		Teams:                 teamNoun(),
		Views:                 viewNoun(),
		WebhookDeliveries:     webhookDeliveryNoun(),
		Webhooks:              webhookNoun(),
	}
}

// Plain lists the plain nouns, those that others refer to first. Stores, archives and storagetest follow it.
func (d Declarations) Plain() []storage.PlainNoun {
	return []storage.PlainNoun{
		d.Roles, d.Invitations, d.JoinRules, d.Tags, d.Teams, d.SavedReplies, d.ReplyFiles, d.Signatures, d.BlockedSenders, d.Erasures, d.Domains, d.PortalKeys, d.PGPKeys, d.Views, d.PushDevices, d.Webhooks, d.MemberMails,
		d.Suppressions, d.Calendars, d.AutoReplies, d.AutoResponses,
		d.Companies, d.CompanyKeys, d.Fields,
		d.SLAs, d.Rules, d.RuleSets, d.RuleRuns, d.RulePasses, d.RuleReplays, d.ReplayedConversations,
		d.Surveys, d.Ratings, d.RetentionPolicies,
		d.ConversationFacts, d.FactLogs, d.Readings,
	}
}

// Tables returns the tables of the plain nouns.
func (d Declarations) Tables() []*storage.Table {
	var all []*storage.Table
	for _, noun := range d.Plain() {
		all = append(all, noun.Table())
	}
	return all
}
