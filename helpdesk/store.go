package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/storage"
)

// Scope is the part of the data that a handle may touch: one account, and in it
// the conversations of some mailboxes. A nil Mailboxes means all of them; an empty
// one, none.
//
// Mailboxes limits mailboxes themselves, conversations, interactions, attachments,
// deliveries and the ledger. Customers are shared by the account.
type Scope struct {
	AccountID int64
	Mailboxes []int64
}

// Store keeps the help desk's data. It stores and finds; all rules are the
// service's. bunstore and memstore implement it, and so may you: storagetest
// proves it. What is added to it later breaks your build, and the
// changelog tells it.
//
// Errors are faults: NotFound for a row that is absent or outside the scope (the
// two must be indistinguishable; lists leave it out), Conflict for a broken
// uniqueness (Code names which, see the Unique constants), Unavailable while the
// database cannot be reached. Strings are valid UTF-8 without NUL; times are UTC microseconds and the
// zero time means none. Insert methods set the ID of what they are given.
type Store interface {
	Directory
	// Within gives the readers of a scope, each call on its own snapshot.
	Within(s Scope) Reader
	// InTx runs fn in one transaction: all of it is committed when fn returns nil,
	// none of it otherwise. It may run fn again after a passing conflict of the
	// database, so fn has no effects outside; those are jobs put into the outbox.
	InTx(ctx context.Context, s Scope, fn func(ctx context.Context, tx Tx) error) error
	// InSystemTx is InTx for what belongs to no account yet.
	InSystemTx(ctx context.Context, fn func(ctx context.Context, tx SystemTx) error) error
}

// Codes of the Conflict faults that a store returns for a broken uniqueness.
const (
	UniqueUserEmail     = "user_email"     // a user's EmailKey, over all accounts
	UniqueMembership    = "membership"     // (account, user)
	UniqueMailboxEmail  = "mailbox_email"  // (account, mailbox EmailKey) when not empty
	UniqueMailboxLocal  = "mailbox_local"  // InternalLocal, over all accounts
	UniqueCustomerEmail = "customer_email" // (account, customer email Key)
	UniqueIdentity      = "mail_identity"  // (account, mailbox, Identity) of ledger rows, when not empty
	UniqueMailPosition  = "mail_position"  // (account, mailbox, Source, Position) of ledger rows, when not empty
	UniqueDomain        = "domain"         // (account, domain Name)
	UniquePGPKey        = "pgp_key"        // (account, CustomerEmailID, Fingerprint)
	UniqueTag           = "tag"            // (account, tag Key)
	UniqueSuppression   = "suppression"    // (account, suppression Key)
)

// Directory finds what is needed before an account is known.
type Directory interface {
	PeopleDirectory
	WebhookDirectory
	// TokenByHash finds an access token by the hash of its secret, and whether its user is disabled.
	TokenByHash(ctx context.Context, hash []byte) (AccessToken, error)
	// User finds a user by id.
	User(ctx context.Context, id int64) (User, error)
	// UserByEmail finds a user by EmailKey.
	UserByEmail(ctx context.Context, key string) (User, error)
	// HasUsers reports whether there is any user at all.
	HasUsers(ctx context.Context) (bool, error)
	// Grant finds a user's membership of an account with its roles, in one go.
	Grant(ctx context.Context, userID, accountID int64) (Grant, error)
	// AccountsOf lists the accounts a user is a member of, by id.
	AccountsOf(ctx context.Context, userID int64, seek storage.Seek) ([]Account, error)
	// MailboxByLocal finds a mailbox by the local part of its internal address.
	MailboxByLocal(ctx context.Context, local string) (Mailbox, error)
	// MailboxesToFetch lists the mailboxes of all accounts whose inbound type is not
	// FWD, by id.
	MailboxesToFetch(ctx context.Context, seek storage.Seek) ([]Mailbox, error)
}

// Reader reads within a scope.
type Reader interface {
	Finder
	// Attachments are listed of the interactions that the filter names, and of no others.
	Attachments() storage.RowReader[Attachment, AttachmentFilter]
	// BlockedSenders are listed by id.
	BlockedSenders() storage.RowReader[BlockedSender, BlockedSenderFilter]
	// Conversations are listed in the order that the filter names; the key of a position is
	// what Conversation.SortKey returns.
	Conversations() storage.RowReader[Conversation, ConversationOrder]
	// Deliveries are listed of the interactions that the filter names, and of no others.
	Deliveries() storage.RowReader[Delivery, DeliveryFilter]
	Domains() storage.RowReader[Domain, storage.NoFilter]
	// Interactions are listed of one conversation, by SortKey and id.
	Interactions() storage.RowReader[Interaction, InteractionFilter]
	Invitations() storage.RowReader[Invitation, storage.NoFilter]
	Mailboxes() storage.RowReader[Mailbox, storage.NoFilter]
	// MemberMails are listed of the user that the filter names, and of no others.
	MemberMails() storage.RowReader[MemberMail, MemberMailFilter]
	Memberships() storage.RowReader[Membership, storage.NoFilter]
	// Notifications are listed of the user that the filter names, and of no others. Those of
	// a conversation are of its mailbox, others of theirs.
	Notifications() storage.RowReader[Notification, NotificationFilter]
	// PGPKeys are listed of the addresses that the filter names, and of no others.
	PGPKeys() storage.RowReader[PGPKey, PGPKeyFilter]
	PortalKeys() storage.RowReader[PortalKey, storage.NoFilter]
	// ReplyFiles are listed of the saved replies that the filter names, and of no others.
	ReplyFiles() storage.RowReader[ReplyFile, ReplyFileFilter]
	Roles() storage.RowReader[Role, storage.NoFilter]
	// SavedReplies are listed of the users that the filter names, and of no others.
	SavedReplies() storage.RowReader[SavedReply, SavedReplyFilter]
	// Signatures are listed of the users that the filter names, and of no others.
	Signatures() storage.RowReader[Signature, SignatureFilter]
	Suppressions() storage.RowReader[Suppression, storage.NoFilter]
	Tags() storage.RowReader[Tag, storage.NoFilter]
	Teams() storage.RowReader[Team, storage.NoFilter]
	Views() storage.RowReader[View, storage.NoFilter]
	// WebhookDeliveries are listed of the webhook that the filter names, and of no other. Those
	// of events of mailboxes outside the scope are left out; those of no mailbox are not.
	WebhookDeliveries() storage.RowReader[WebhookDelivery, WebhookDeliveryFilter]
	Webhooks() storage.RowReader[Webhook, storage.NoFilter]
}

// Rows are the rows of a scope in a transaction. How their nouns are declared is what
// [Nouns] returns.
type Rows interface {
	Attachments() storage.Rows[Attachment, AttachmentFilter]
	BlockedSenders() storage.Rows[BlockedSender, BlockedSenderFilter]
	// Conversations: Delete is DeleteConversations of one that is there.
	Conversations() storage.Rows[Conversation, ConversationOrder]
	Deliveries() storage.Rows[Delivery, DeliveryFilter]
	Domains() storage.Rows[Domain, storage.NoFilter]
	// Interactions: Delete removes one with attachments and deliveries; its ledger row becomes
	// a tombstone as in DeleteConversations. Lock its conversation first where both are needed.
	Interactions() storage.Rows[Interaction, InteractionFilter]
	Invitations() storage.Rows[Invitation, storage.NoFilter]
	// Mailboxes: Delete removes a mailbox with its ledger and cursors. One that has
	// conversations is a Conflict fault. Sites of the knowledge base lose it.
	Mailboxes() storage.Rows[Mailbox, storage.NoFilter]
	MemberMails() storage.Rows[MemberMail, MemberMailFilter]
	Memberships() storage.Rows[Membership, storage.NoFilter]
	// Notifications are removed with their conversations, and go with them into others.
	Notifications() storage.Rows[Notification, NotificationFilter]
	// PGPKeys are removed with their addresses.
	PGPKeys() storage.Rows[PGPKey, PGPKeyFilter]
	PortalKeys() storage.Rows[PortalKey, storage.NoFilter]
	// ReplyFiles are removed with their saved replies.
	ReplyFiles() storage.Rows[ReplyFile, ReplyFileFilter]
	// Roles: one that a membership has cannot be deleted.
	Roles() storage.Rows[Role, storage.NoFilter]
	SavedReplies() storage.Rows[SavedReply, SavedReplyFilter]
	Signatures() storage.Rows[Signature, SignatureFilter]
	Suppressions() storage.Rows[Suppression, storage.NoFilter]
	// Tags: Delete also takes a tag from the conversations that have it.
	Tags() storage.Rows[Tag, storage.NoFilter]
	// Teams: what a conversation has of one that is deleted stays.
	Teams() storage.Rows[Team, storage.NoFilter]
	Views() storage.Rows[View, storage.NoFilter]
	// WebhookDeliveries: neither the events nor their mailboxes are looked up.
	WebhookDeliveries() storage.Rows[WebhookDelivery, WebhookDeliveryFilter]
	// Webhooks: Delete removes a webhook with its deliveries.
	Webhooks() storage.Rows[Webhook, storage.NoFilter]
}

// Finder finds what is more than rows of one noun, or finds them by more than their ids.
type Finder interface {
	AccountReader
	MailboxReader
	CustomerReader
	ConversationReader
	InteractionReader
	AttachmentReader
	LedgerReader
	PGPKeyReader
	TagReader
	UnreadReader
	MergeReader
	SuppressionReader
	TrafficReader
	EventReader
	CorrespondenceReader
	CrossingReader
	ScheduleReader
	CountReader
	MailFlowReader
	PresenceReader
	NotificationReader
	AuditReader
	BuriedJobReader
	WebhookReader
}

// AccountReader reads the account, its roles and its members.
type AccountReader interface {
	Account(ctx context.Context) (Account, error)
	// UsersByID returns those of ids who are members of the account, in any order.
	UsersByID(ctx context.Context, ids []int64) ([]User, error)
}

// MailboxReader reads how fetching goes.
type MailboxReader interface {
	// FetchStatus of a mailbox; the zero value when nothing was reported yet.
	FetchStatus(ctx context.Context, mailboxID int64) (FetchStatus, error)
	// FetchCursor of a folder; the zero value when nothing was fetched yet.
	FetchCursor(ctx context.Context, mailboxID int64, folder string) (FetchCursor, error)
}

// CustomerReader reads customers with their emails, phones and websites.
type CustomerReader interface {
	Customer(ctx context.Context, id int64) (Customer, error)
	// Customers lists by id.
	Customers(ctx context.Context, filter CustomerFilter, seek storage.Seek) ([]Customer, error)
	CustomersByID(ctx context.Context, ids []int64) ([]Customer, error)
	// CustomerByEmail finds by the Key of one of its emails.
	CustomerByEmail(ctx context.Context, key string) (Customer, error)
	// CustomerStats counts the conversations of a customer within the scope.
	CustomerStats(ctx context.Context, id int64) (CustomerStats, error)
	// CustomerBeyond reports whether the customer has conversations, or messages in those of
	// others, that the scope does not reach.
	CustomerBeyond(ctx context.Context, id int64) (bool, error)
}

// ConversationReader reads conversations.
type ConversationReader interface {
	// Participants returns the address keys that take part in a conversation, in
	// bytewise order, at most n.
	Participants(ctx context.Context, conversationID int64, n int) ([]string, error)
	// Participant reports whether any of the address keys took part in a conversation.
	Participant(ctx context.Context, conversationID int64, keys []string) (bool, error)
}

// InteractionReader reads interactions and the deliveries of those that were sent.
type InteractionReader interface {
	// Messages finds mails of a mailbox, in or out, by their Message-IDs, newest
	// first, at most 100. Mails of a conversation that others were merged into are of
	// their mailboxes too, and those that were moved of the mailboxes they came from.
	Messages(ctx context.Context, mailboxID int64, messageIDs []string) ([]MessageRef, error)
	// LastArrived returns the highest id of a conversation's interactions, 0 if it has none.
	LastArrived(ctx context.Context, conversationID int64) (int64, error)
	// Thread returns the last n mails of a conversation that have a Message-ID and
	// are neither drafts nor forwards, oldest first.
	Thread(ctx context.Context, conversationID int64, n int) ([]MessageRef, error)
}

// AttachmentReader reads attachments.
type AttachmentReader interface {
	// BlobKeys returns the keys of all attachments and raw mails of conversations.
	BlobKeys(ctx context.Context, conversationIDs []int64) ([]string, error)
}

// LedgerReader reads the ledger of received mails.
type LedgerReader interface {
	InboundMail(ctx context.Context, id int64) (InboundMail, error)
	// InboundMails lists by id.
	InboundMails(ctx context.Context, filter InboundFilter, seek storage.Seek) ([]InboundMail, error)
	// InboundByIdentity returns the rows of all mailboxes that have one of the
	// identities, by id. The empty identity is none.
	InboundByIdentity(ctx context.Context, identities [][]byte) ([]InboundMail, error)
	// InboundOf returns the rows that an interaction was filed from, by id.
	InboundOf(ctx context.Context, interactionID int64) ([]InboundMail, error)
	// InboundPositions returns those of the positions, in bytewise order, that are in
	// the ledger of a mailbox as ones of the source. The empty position never is.
	InboundPositions(ctx context.Context, mailboxID int64, source string, positions []string) ([]string, error)
	// InboundCounts counts the rows of a mailbox that are not filed.
	InboundCounts(ctx context.Context, mailboxID int64) (InboundCounts, error)
}

// Tx reads and writes within a scope, in one transaction. It has no InTx: nesting
// cannot be written. When one of its methods has failed, return the error: some
// databases do not go on with the transaction. It is used up when fn returns; its
// methods are Internal faults from then on.
type Tx interface {
	Rows
	Finder
	// Reader is the transaction for who only reads.
	Reader() Reader
	AccountWriter
	MailboxWriter
	CustomerWriter
	ConversationWriter
	InteractionWriter
	LedgerWriter
	TagWriter
	UnreadWriter
	PresenceWriter
	NotificationWriter
	MergeWriter
	MemberWriter
	storage.Outbox
	RowLocks
	SearchIndex
	CustomerMover
	SeenWriter
	PortalKeyWriter
	storage.AuditWriter
	BuriedJobWriter
	WebhookWriter
	WebhookQueue
	RetentionWriter
}

// RetentionWriter removes what is old. Each method removes at most n rows, oldest first, and returns how many.
type RetentionWriter interface {
	// PruneAudit removes entries of the audit log that were made before a time.
	PruneAudit(ctx context.Context, before time.Time, n int) (int, error)
	// PruneEvents removes those of the account's first n events that happened before a time. It keeps what webhooks still
	// need, which is all behind the webhook cursor and all from the first event of a pending delivery on, and the newest
	// event.
	PruneEvents(ctx context.Context, before time.Time, n int) (int, error)
}

// AccountWriter changes the account and its members.
type AccountWriter interface {
	// UpdateAccount writes all fields; NextNumber is never lowered below what was
	// taken, see TakeNumber.
	UpdateAccount(ctx context.Context, a *Account) error
	// DeleteAccount removes the account and every row in it.
	DeleteAccount(ctx context.Context) error
	// TakeNumber returns the next conversation number and moves it on. Numbers taken
	// by transactions that commit have neither gaps nor doubles.
	TakeNumber(ctx context.Context) (int64, error)
}

// MailboxWriter records how fetching goes.
type MailboxWriter interface {
	SaveFetchStatus(ctx context.Context, s FetchStatus) error
	SaveFetchCursor(ctx context.Context, mailboxID int64, folder string, c FetchCursor) error
}

// CustomerWriter changes customers.
type CustomerWriter interface {
	// InsertCustomer stores the customer with its items and sets all ids.
	InsertCustomer(ctx context.Context, c *Customer) error
	// UpdateCustomer writes the customer and makes its items those given: items with
	// an id are changed, those without get one, those missing are removed.
	UpdateCustomer(ctx context.Context, c *Customer) error
	// DeleteCustomer removes a customer. One that has conversations or interactions,
	// in the scope or not, is a Conflict fault.
	DeleteCustomer(ctx context.Context, id int64) error
}

// ConversationWriter changes conversations.
type ConversationWriter interface {
	// DeleteConversations removes conversations with all that is in them. Ledger rows
	// stay as tombstones: they lose InteractionID, ConversationID, RawKey and MailHead and
	// keep their Identity, so that the mails are not imported again. Conversations that
	// refer to them refer to none. An id that is not there is passed over.
	DeleteConversations(ctx context.Context, ids []int64) error
	// AddParticipants notes address keys that take part; known ones are passed over.
	AddParticipants(ctx context.Context, conversationID int64, keys []string) error
}

// InteractionWriter changes interactions and deliveries.
type InteractionWriter interface {
	// DeleteDeliveries removes those of one interaction.
	DeleteDeliveries(ctx context.Context, interactionID int64) error
}

// LedgerWriter changes the ledger of received mails.
type LedgerWriter interface {
	// InsertInbound stores rows and sets their ids. One whose (mailbox, Source,
	// Position) is there already is left out and keeps id 0.
	InsertInbound(ctx context.Context, mails []*InboundMail) error
	// UpdateInbound writes all fields. An Identity that another row of the mailbox
	// has is a Conflict fault with code UniqueIdentity.
	UpdateInbound(ctx context.Context, m *InboundMail) error
	// InboundForUpdate reads a row and keeps others from changing it until the
	// transaction ends.
	InboundForUpdate(ctx context.Context, id int64) (InboundMail, error)
	// SetInboundState changes those of the rows that are in the state from: they get the
	// state to and UpdatedAt, and Reason, UserID and Note become empty. It returns their
	// ids in order; others are passed over.
	SetInboundState(ctx context.Context, ids []int64, from, to InboundState, at time.Time) ([]int64, error)
}

// SystemTx writes what belongs to no account yet, in one transaction.
type SystemTx interface {
	Directory
	InsertUser(ctx context.Context, u *User) error
	InsertToken(ctx context.Context, t *AccessToken) error
	// TouchToken sets LastUsedAt.
	TouchToken(ctx context.Context, id int64, at time.Time) error
	InsertAccount(ctx context.Context, a *Account) error
	// Within gives the writer of a scope in this same transaction.
	Within(s Scope) Tx
	UserWriter
}

// PeopleDirectory finds what users have above accounts.
type PeopleDirectory interface {
	// Accounts lists all accounts by id.
	Accounts(ctx context.Context, seek storage.Seek) ([]Account, error)
	// Users lists all users by id.
	Users(ctx context.Context, seek storage.Seek) ([]User, error)
	// TokensOf lists a user's access tokens by id: the sessions, or all but those.
	TokensOf(ctx context.Context, userID int64, sessions bool, seek storage.Seek) ([]AccessToken, error)
	// InvitationByHash finds an invitation by the hash of its token.
	InvitationByHash(ctx context.Context, hash []byte) (Invitation, error)
}

// MemberWriter changes roles, invitations and what members did last.
type MemberWriter interface {
	// LockAccount keeps other transactions that lock the account waiting until this
	// one ends: what it reads of members, roles and invitations stays true.
	LockAccount(ctx context.Context) error
	// TouchMembership sets LastActivity and nothing else.
	TouchMembership(ctx context.Context, id int64, at time.Time) error
}

// UserWriter changes users and their tokens.
type UserWriter interface {
	// UserForUpdate is User, and keeps others from changing the user until the transaction ends.
	UserForUpdate(ctx context.Context, id int64) (User, error)
	UpdateUser(ctx context.Context, u *User) error
	// DeleteUser removes a user with all tokens. One who is a member of an account is a Conflict fault.
	DeleteUser(ctx context.Context, id int64) error
	// DeleteToken removes an access token of a user; another's is a NotFound fault.
	DeleteToken(ctx context.Context, userID, id int64) error
	// DeleteSessions removes the sessions of a user that had expired by a time.
	DeleteSessions(ctx context.Context, userID int64, by time.Time) error
	// DeleteOtherSessions removes all sessions of a user but the one with an id.
	DeleteOtherSessions(ctx context.Context, userID, id int64) error
	// PruneSessions removes at most n sessions of all users that expired before a time, the first to expire first, and
	// returns how many.
	PruneSessions(ctx context.Context, before time.Time, n int) (int, error)
	// PruneBuriedJobs removes at most n jobs, of whatever account, that were given up and were due before a time, by id,
	// and returns how many.
	PruneBuriedJobs(ctx context.Context, before time.Time, n int) (int, error)
}

// PGPKeyReader reads the keys of customers' addresses.
type PGPKeyReader interface {
	// PGPKeysByAddress lists those of the customers' addresses with these keys (see
	// EmailKey), by id.
	PGPKeysByAddress(ctx context.Context, keys []string) ([]KeyOfAddress, error)
}

// RowLocks reads what is changed after it was read, and keeps others from changing
// it until the transaction ends.
type RowLocks interface {
	CustomerForUpdate(ctx context.Context, id int64) (Customer, error)
}

// SearchIndex keeps the terms by which customers and conversations are found, see
// [SearchTerm]. Terms are the service's: the store compares them byte by byte. They
// have no ASCII characters but a-z and 0-9, at most 64 characters, and none is
// given twice. What is removed is not found any more.
type SearchIndex interface {
	// SearchTerms returns a conversation's own terms as they were set, in any order.
	SearchTerms(ctx context.Context, conversationID int64) ([]string, error)
	// SetSearchTerms replaces a conversation's own terms. It is found by these and by
	// those that its customer has, now and after a SetCustomerTerms; without its own
	// ever set, by none.
	SetSearchTerms(ctx context.Context, conversationID int64, terms []string) error
	// SetCustomerTerms replaces the terms of a customer, and of all conversations of
	// the customer, in the scope or not.
	SetCustomerTerms(ctx context.Context, customerID int64, terms []string) error
}

// CustomerMover makes one customer of two.
type CustomerMover interface {
	// MoveCustomer gives everything that belongs to a customer to another, with its
	// ids: emails, phones, websites, and conversations and interactions, in the scope
	// or not. The first is removed. Terms are to be set anew, see [SearchIndex].
	MoveCustomer(ctx context.Context, from, into int64) error
}

// TagReader reads which tags conversations have.
type TagReader interface {
	// Taggings are the tags of conversations, by conversation and tag id.
	Taggings(ctx context.Context, conversationIDs []int64) ([]Tagging, error)
}

// TagWriter changes which tags conversations have.
type TagWriter interface {
	// SetTags makes tags those of each of the conversations. Neither list has an id
	// twice.
	SetTags(ctx context.Context, conversationIDs, tagIDs []int64) error
}

// UnreadReader reads how far users have read.
type UnreadReader interface {
	// Unread counts the customer interactions with an id above the user's read mark
	// for each of the conversations that has any, by conversation.
	Unread(ctx context.Context, userID int64, conversationIDs []int64) ([]UnreadCount, error)
}

// UnreadWriter records how far users have read.
type UnreadWriter interface {
	// SaveReadMark sets a user's mark in a conversation; InteractionID 0 removes it.
	// Neither the user nor the interaction is looked up.
	SaveReadMark(ctx context.Context, m ReadMark) error
}

// MergeReader finds what became of conversations.
type MergeReader interface {
	// MergedInto finds the conversation that one which is gone was merged into, also
	// over several merges.
	MergedInto(ctx context.Context, id int64) (Conversation, error)
	// Moves are those of interactions, in the order in which they were made.
	Moves(ctx context.Context, interactionIDs []int64) ([]Move, error)
}

// MergeWriter merges conversations, and moves interactions between them. Of the
// [Move] given, the store sets InteractionID and MailboxID.
type MergeWriter interface {
	// MergeConversation moves the interactions of the conversation FromID with
	// attachments and deliveries, its participants and its ledger rows into IntoID, notes
	// the move of each interaction and removes the conversation with its tags. MergedInto
	// and Messages of its mailbox find the other one from then on, and conversations that
	// refer to it refer to that, which itself does not; into itself it is an
	// Invalid fault. The read mark of a user who has one in both is the lower of
	// them; other users' marks are removed.
	MergeConversation(ctx context.Context, m Move) error
	// MoveInteractions moves some interactions of the conversation FromID with
	// attachments, deliveries and ledger rows into IntoID and notes it of each; ids that
	// are not in it are passed over. Messages of the mailbox of FromID find them from then
	// on, too; into itself it is an Invalid fault. Each user who has a read mark in either
	// gets the highest in IntoID with which nothing is read that was not.
	MoveInteractions(ctx context.Context, ids []int64, m Move) error
}

// SuppressionReader reads the addresses that get no mail.
type SuppressionReader interface {
	// SuppressionsByKey returns those of addresses, given by their EmailKeys, by id.
	SuppressionsByKey(ctx context.Context, keys []string) ([]Suppression, error)
}

// TrafficReader counts mails of one correspondent. It counts no further than limit.
type TrafficReader interface {
	// Received counts the interactions of a customer's address that were made since a
	// time.
	Received(ctx context.Context, customerEmailID int64, since time.Time, limit int) (int, error)
	// SentTo counts the deliveries to an address, given by its EmailKey, that are sent
	// or bounced and changed since a time.
	SentTo(ctx context.Context, key string, since time.Time, limit int) (int, error)
}

// EventFilter narrows a list of events.
type EventFilter struct {
	Types          []string // any of these; empty: all
	Areas          []string // what their types begin with, up to the dot; nil: all
	ConversationID int64    // 0: all
}

// EventReader reads the account's log. Events of mailboxes outside the scope are
// left out; those of no mailbox are not.
type EventReader interface {
	// Events lists by Seq, which is the id of a position.
	Events(ctx context.Context, filter EventFilter, seek storage.Seek) ([]storage.Event, error)
	// LastEvent is the Seq of the newest event, in the scope or not; 0: there is none.
	LastEvent(ctx context.Context) (int64, error)
	// EventsBySeq returns those of the events that are there, in the order of their Seq.
	EventsBySeq(ctx context.Context, seqs []int64) ([]storage.Event, error)
}

// CorrespondenceReader reads what was said between a customer and the desk: the
// interactions whose [Interaction.Audience] has any of some keys.
type CorrespondenceReader interface {
	// Correspondence lists those of one conversation, by id.
	Correspondence(ctx context.Context, conversationID int64, keys []string, seek storage.Seek) ([]Interaction, error)
	// LastCorrespondence returns the newest of each of the conversations that has any,
	// by conversation.
	LastCorrespondence(ctx context.Context, conversationIDs []int64, keys []string) ([]Interaction, error)
}

// SeenWriter records what customers have seen.
type SeenWriter interface {
	// MarkSeen sets SeenAt of those of the users' interactions that have none, and
	// nothing else, and returns their ids in order. Others are passed over.
	MarkSeen(ctx context.Context, ids []int64, at time.Time) ([]int64, error)
}

// PortalKeyWriter changes the keys of portal tokens.
type PortalKeyWriter interface {
	// TouchPortalKey sets LastUsedAt.
	TouchPortalKey(ctx context.Context, id int64, at time.Time) error
}

// AuditReader reads the audit log.
type AuditReader interface {
	// AuditLog lists by CreatedAt; the key of a position is its microseconds since
	// 1970. What is about a mailbox outside the scope is left out.
	AuditLog(ctx context.Context, filter AuditFilter, seek storage.Seek) ([]AuditEntry, error)
}

// WebhookDirectory finds the accounts whose webhooks need something.
type WebhookDirectory interface {
	// WebhookBacklog lists, by id, the accounts whose logs have grown beyond their
	// webhook cursors; those without a cursor are none of them.
	WebhookBacklog(ctx context.Context, seek storage.Seek) ([]Account, error)
	// AccountsWithWebhooks lists, by id, those that have any.
	AccountsWithWebhooks(ctx context.Context, seek storage.Seek) ([]Account, error)
}

// WebhookReader finds deliveries of webhooks.
type WebhookReader interface {
	// DueWebhookDeliveries returns at most limit pending deliveries of a webhook whose
	// NextAttemptAt and HeldUntil are not after now, by the later of the two and id.
	DueWebhookDeliveries(ctx context.Context, webhookID int64, now time.Time, limit int) ([]WebhookDelivery, error)
	// HeldWebhookDeliveries returns the pending deliveries of a webhook whose HeldUntil is
	// after now, by id.
	HeldWebhookDeliveries(ctx context.Context, webhookID int64, now time.Time) ([]WebhookDelivery, error)
}

// WebhookWriter changes deliveries of webhooks.
type WebhookWriter interface {
	// FailWebhookDeliveries makes the pending deliveries of a webhook, in the scope or
	// not, failed ones at a time, for a Problem: nobody holds them and no try is to come.
	FailWebhookDeliveries(ctx context.Context, webhookID int64, problem string, at time.Time) error
}

// WebhookQueue keeps how far the account's log was taken for its webhooks, and tidies
// up after them.
type WebhookQueue interface {
	// WebhookCursorForUpdate returns the Seq of the last event that was taken and keeps
	// others from taking more until the transaction ends. Without a cursor it is a
	// NotFound fault.
	WebhookCursorForUpdate(ctx context.Context) (int64, error)
	// StartWebhookCursor makes a cursor at seq. One that is there stays as it is and is
	// kept from others as by WebhookCursorForUpdate.
	StartWebhookCursor(ctx context.Context, seq int64) error
	// SaveWebhookCursor moves the cursor that is there.
	SaveWebhookCursor(ctx context.Context, seq int64) error
	// DeleteWebhookCursor removes the cursor that is there.
	DeleteWebhookCursor(ctx context.Context) error
	// PruneWebhookDeliveries removes at most n deliveries of a webhook, in the scope or
	// not, that are not pending and were made before a time or are not among the newest
	// keep, oldest first, and returns how many there were.
	PruneWebhookDeliveries(ctx context.Context, webhookID int64, before time.Time, keep, n int) (int, error)
}
