package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
)

// Scope is the part of the data that a handle may touch: one account, and in it
// the conversations of some mailboxes. A nil Mailboxes means all of them; an empty
// one, none.
//
// Mailboxes limits mailboxes themselves, conversations, interactions, attachments, deliveries and the ledger. Customers are
// shared by the account.
type Scope struct {
	AccountID int64
	Mailboxes []int64
	// MayLag lets a reader of [Store.Within] answer Conversations().List, Customers and Count from a replica: up to one second
	// old, but with all that was committed in the account through the same Store. It has no effect in transactions. Stores
	// without replicas ignore it.
	MayLag bool
	// Alone has an InTx wait for the account's running transactions to end, and later ones wait for it. It is for deleting rows
	// that many others refer to. Stores with a single writer ignore it.
	Alone bool
}

// alone returns the scope with Alone set.
func (s Scope) alone() Scope {
	s.Alone = true
	return s
}

// Store keeps the help desk's data. It stores and finds rows; all rules are in the service. Packages bunstore and memstore
// implement it. Package storagetest verifies an implementation of your own. Later versions may add methods, which breaks
// such an implementation's build; the changelog lists them.
//
// Errors are faults: NotFound for a row that is absent or outside the scope (indistinguishably; lists omit it), Conflict for
// a uniqueness violation (Code is one of the Unique constants), Unavailable while the database cannot be reached. Strings
// are valid UTF-8 without NUL. Times are UTC microseconds, and the zero time means none. Insert methods set the ID of their
// argument.
type Store interface {
	Directory
	// Within returns a reader for a scope. Each call reads its own snapshot.
	Within(s Scope) Reader
	// InTx runs fn in one transaction, which commits when fn returns nil and rolls back otherwise. It may run fn again after a
	// transient conflict of the database, so fn must have no outside effects; those are jobs in the outbox.
	InTx(ctx context.Context, s Scope, fn func(ctx context.Context, tx Tx) error) error
	// InSnapshot runs fn once with a reader that sees one state of the scope, whatever is written meanwhile. It may take long
	// and, unless the store has a single connection, does not block writers. The reader must not be used after fn returns.
	InSnapshot(ctx context.Context, s Scope, fn func(ctx context.Context, r Reader) error) error
	// InSystemTx is InTx for data above accounts.
	InSystemTx(ctx context.Context, fn func(ctx context.Context, tx SystemTx) error) error
}

// Codes of the Conflict faults that a store returns for uniqueness violations.
const (
	UniqueMailboxEmail     = "mailbox_email"     // (account, mailbox EmailKey) when not empty
	UniqueMailboxLocal     = "mailbox_local"     // InternalLocal, over all accounts
	UniqueCustomerEmail    = "customer_email"    // (account, customer email Key)
	UniqueCustomerExternal = "customer_external" // (account, customer ExternalID) when not empty
	UniquePGPKey           = "pgp_key"           // (account, CustomerEmailID, Fingerprint)
	UniqueTag              = "tag"               // (account, tag Key)
)

// Directory finds data that is needed before an account is known.
type Directory interface {
	identity.PeopleDirectory
	identity.SignOnDirectory
	identity.PasskeyDirectory
	subscription.WebhookDirectory
	storage.RecordFinder // of the plain nouns
	// TokenByHash finds an access token by the hash of its secret, and whether its user is disabled.
	TokenByHash(ctx context.Context, hash []byte) (identity.AccessToken, error)
	// User finds a user by id.
	User(ctx context.Context, id int64) (identity.User, error)
	// UserByEmail finds a user by mailaddr.Key.
	UserByEmail(ctx context.Context, key string) (identity.User, error)
	// HasUsers reports whether there is any user at all.
	HasUsers(ctx context.Context) (bool, error)
	// Grant finds a user's membership of an account together with its roles.
	Grant(ctx context.Context, userID, accountID int64) (identity.Grant, error)
	// AccountsOf lists the accounts a user is a member of, by id.
	AccountsOf(ctx context.Context, userID int64, seek storage.Seek) ([]identity.Account, error)
	// MailboxByLocal finds a mailbox by the local part of its internal address.
	MailboxByLocal(ctx context.Context, local string) (Mailbox, error)
	// MailboxesToFetch lists the mailboxes of all accounts whose inbound type is not FWD, by id.
	MailboxesToFetch(ctx context.Context, seek storage.Seek) ([]Mailbox, error)
}

// Reader reads within a scope.
type Reader interface {
	Finder
	storage.RecordReader // of the plain nouns
	// Attachments lists the attachments of the interactions that the filter names, and no others.
	Attachments() storage.RowReader[Attachment, AttachmentFilter]
	// Conversations lists in the order that the filter names. A position's key is Conversation.SortKey.
	Conversations() storage.RowReader[Conversation, ConversationOrder]
	// Deliveries lists the deliveries of the interactions that the filter names, and no others.
	Deliveries() storage.RowReader[sending.Delivery, sending.DeliveryFilter]
	// Interactions lists the interactions of one conversation, by SortKey and id.
	Interactions() storage.RowReader[Interaction, InteractionFilter]
	Mailboxes() storage.RowReader[Mailbox, storage.NoFilter]
	Memberships() storage.RowReader[identity.Membership, storage.NoFilter]
	// Notifications lists the notifications of the user that the filter names, and no others. A notification about a
	// conversation has that conversation's mailbox; others have their own.
	Notifications() storage.RowReader[Notification, NotificationFilter]
	// WebhookDeliveries lists the deliveries of the webhook that the filter names, and no others. It omits those of events in
	// mailboxes outside the scope, but not those of events without a mailbox.
	WebhookDeliveries() storage.RowReader[subscription.WebhookDelivery, subscription.WebhookDeliveryFilter]
}

// rowsOf returns what a reader returns for each noun, by the name of the method.
func rowsOf(r Reader) map[string]any {
	return map[string]any{
		"Attachments": r.Attachments(), "Conversations": r.Conversations(), "Deliveries": r.Deliveries(),
		"Interactions": r.Interactions(),
		"Mailboxes":    r.Mailboxes(), "Memberships": r.Memberships(), "Notifications": r.Notifications(),
		"WebhookDeliveries": r.WebhookDeliveries(),
	}
}

// Rows accesses the rows of a scope in a transaction. [Nouns] returns their declarations.
type Rows interface {
	storage.RecordWriter // of the plain nouns
	Attachments() storage.Rows[Attachment, AttachmentFilter]
	// Conversations: Delete works like DeleteConversations for one existing conversation.
	Conversations() storage.Rows[Conversation, ConversationOrder]
	Deliveries() storage.Rows[sending.Delivery, sending.DeliveryFilter]
	// Interactions: Delete also removes attachments and deliveries. The ledger row becomes a tombstone as in
	// DeleteConversations. If both need a lock, lock the conversation first.
	Interactions() storage.Rows[Interaction, InteractionFilter]
	// Mailboxes: Delete also removes the ledger and cursors. A mailbox that has conversations is a Conflict fault. Knowledge
	// base sites that refer to the mailbox lose the reference.
	Mailboxes() storage.Rows[Mailbox, storage.NoFilter]
	Memberships() storage.Rows[identity.Membership, storage.NoFilter]
	// Notifications are removed with their conversations, and follow them through merges.
	Notifications() storage.Rows[Notification, NotificationFilter]
	// WebhookDeliveries: the store does not check that the events or their mailboxes exist.
	WebhookDeliveries() storage.Rows[subscription.WebhookDelivery, subscription.WebhookDeliveryFilter]
}

// Finder offers queries that go beyond one noun's rows or their ids.
type Finder interface {
	identity.AccountReader
	ledger.FetchReader
	CustomerReader
	ConversationReader
	InteractionReader
	FactReader
	AttachmentReader
	ledger.Reader
	MarksReader
	FieldReader
	MergeReader
	SearchReader
	TrafficReader
	subscription.EventReader
	CorrespondenceReader
	CrossingReader
	ScheduleReader
	CountReader
	MailFlowReader
	NotificationReader
	AuditReader
	FailedJobReader
	TransferReader
}

// CustomerReader reads customers with their emails, phones and websites.
type CustomerReader interface {
	Customer(ctx context.Context, id int64) (Customer, error)
	// Customers lists customers by id.
	Customers(ctx context.Context, filter CustomerFilter, seek storage.Seek) ([]Customer, error)
	CustomersByID(ctx context.Context, ids []int64) ([]Customer, error)
	// CustomerByEmail finds a customer by the Key of one of its emails.
	CustomerByEmail(ctx context.Context, key string) (Customer, error)
	// EmailsByKey lists, by id, the addresses of customers with the given Keys.
	EmailsByKey(ctx context.Context, keys []string) ([]CustomerEmail, error)
	// CustomerStats counts the conversations of a customer within the scope.
	CustomerStats(ctx context.Context, id int64) (CustomerStats, error)
	// CustomerBeyond reports whether the customer has conversations outside the scope, or messages in other customers'
	// conversations outside it.
	CustomerBeyond(ctx context.Context, id int64) (bool, error)
}

// ConversationReader reads conversations.
type ConversationReader interface {
	// Participants returns at most n address keys of a conversation's participants, in bytewise order.
	Participants(ctx context.Context, conversationID int64, n int) ([]string, error)
	// Participant reports whether any of the address keys is a participant of a conversation.
	Participant(ctx context.Context, conversationID int64, keys []string) (bool, error)
	// Involving lists, by id, the conversations that a customer has, wrote in, or takes part in by one of the address keys.
	Involving(ctx context.Context, customerID int64, keys []string, seek storage.Seek) ([]Conversation, error)
}

// InteractionReader reads interactions and the deliveries of sent ones.
type InteractionReader interface {
	// Messages finds incoming and outgoing messages of a mailbox by Message-ID, newest first, at most 100: by their own, or else
	// by the first of their deliveries' that is among messageIDs; each has the id that was found. Messages of a merged
	// conversation also belong to the mailboxes of the conversations merged into it. Moved messages also belong to the
	// mailboxes that they came from.
	Messages(ctx context.Context, mailboxID int64, messageIDs []string) ([]MessageRef, error)
	// LastArrived returns the highest id of a conversation's interactions, 0 if it has none.
	LastArrived(ctx context.Context, conversationID int64) (int64, error)
	// Thread returns the last n messages of a conversation that have a Message-ID and are neither drafts nor forwards, oldest
	// first.
	Thread(ctx context.Context, conversationID int64, n int) ([]MessageRef, error)
}

// AttachmentReader reads attachments.
type AttachmentReader interface {
	// BlobKeys returns the keys of all attachments and raw mails of conversations.
	BlobKeys(ctx context.Context, conversationIDs []int64) ([]string, error)
}

// Tx reads and writes within a scope, in one transaction. It has no InTx, so transactions cannot nest. When a method fails,
// fn must return the error, because some databases cannot continue the transaction. The Tx is invalid after fn returns; its
// methods then return Internal faults.
type Tx interface {
	Rows
	Finder
	// Reader returns the transaction as a read-only Reader.
	Reader() Reader
	identity.AccountWriter
	ledger.FetchWriter
	CustomerWriter
	ConversationWriter
	InteractionWriter
	FactWriter
	ledger.Writer
	TagWriter
	FieldWriter
	UnreadWriter
	PresenceWriter
	NotificationWriter
	MergeWriter
	identity.MemberWriter
	storage.Outbox
	RowLocks
	SearchIndex
	CustomerMover
	SeenWriter
	storage.AuditWriter
	FailedJobWriter
	subscription.WebhookWriter
	subscription.WebhookQueue
	RetentionWriter
	TransferWriter
	// Whole returns the transaction as a Reader of all mailboxes of the account.
	Whole() Reader
}

// RetentionWriter removes old rows. Each method removes at most n rows, oldest first, and returns the number removed.
type RetentionWriter interface {
	// PruneRawMails clears the RawKey of filed and ignored messages received before a time, and returns these keys. The caller
	// removes the blobs.
	PruneRawMails(ctx context.Context, before time.Time, n int) ([]string, error)
	// PruneAudit removes audit log entries created before a time.
	PruneAudit(ctx context.Context, before time.Time, n int) (int, error)
	// PruneEvents removes those of the account's first n events that happened before a time. It keeps the events that webhooks
	// still need (all after the webhook cursor, and all from the first event of a pending delivery on) and the newest event.
	PruneEvents(ctx context.Context, before time.Time, n int) (int, error)
}

// PeriodDropper removes old rows of all accounts at once, as databases with partitions do. A [Store] may implement it;
// without it, rows are removed one by one. A store that wraps another one may pass it on.
type PeriodDropper interface {
	// DropPeriods drops the periods of the audit log and of the logs of events that ended before a time. What
	// [RetentionWriter] would keep is kept; what it drops may be less than what is old. It works in transactions of its own,
	// and returns how many periods were dropped.
	DropPeriods(ctx context.Context, before Periods) (dropped int, err error)
}

// Periods are the times before which rows are old. The zero time: none are.
type Periods struct{ Audit, Events time.Time }

// CustomerWriter changes customers.
type CustomerWriter interface {
	// InsertCustomer stores the customer with its items and sets all IDs.
	InsertCustomer(ctx context.Context, c *Customer) error
	// UpdateCustomer writes the customer and replaces its items: items with an ID are updated, those without one are inserted,
	// missing ones are removed.
	UpdateCustomer(ctx context.Context, c *Customer) error
	// ForgetEmails clears about n of the references to addresses of a customer that UpdateCustomer would clear when it removes
	// them, if there are more than that, and reports whether it did. Once it reports false, UpdateCustomer is short.
	ForgetEmails(ctx context.Context, customerID int64, emailIDs []int64, n int) (forgot bool, err error)
	// DeleteCustomer removes a customer. A customer who has conversations or interactions, even outside the scope, is a
	// Conflict fault.
	DeleteCustomer(ctx context.Context, id int64) error
}

// ConversationWriter changes conversations.
type ConversationWriter interface {
	// DeleteConversations removes conversations with all their contents. Ledger rows stay as tombstones: they lose
	// InteractionID, ConversationID, RawKey and Head but keep their Identity, so that the messages are not imported again.
	// RefersTo of other conversations is cleared. Absent ids are ignored.
	DeleteConversations(ctx context.Context, ids []int64) error
	// ForgetNotes deletes the notes about conversations, see [storage.Note], which DeleteConversations does too. Absent ids are
	// ignored. A store that keeps no notes does nothing.
	ForgetNotes(ctx context.Context, conversationIDs []int64) error
	// AddParticipants adds address keys as participants; known ones are ignored.
	AddParticipants(ctx context.Context, conversationID int64, keys []string) error
	// RemoveParticipants removes address keys from a conversation's participants; unknown ones are ignored.
	RemoveParticipants(ctx context.Context, conversationID int64, keys []string) error
}

// InteractionWriter changes interactions and deliveries.
type InteractionWriter interface {
	// DeleteDeliveries removes the deliveries of one interaction.
	DeleteDeliveries(ctx context.Context, interactionID int64) error
}

// SystemTx writes data above accounts, in one transaction.
type SystemTx interface {
	Directory
	InsertUser(ctx context.Context, u *identity.User) error
	InsertToken(ctx context.Context, t *identity.AccessToken) error
	// TouchToken sets LastUsedAt of a token.
	TouchToken(ctx context.Context, id int64, at time.Time) error
	InsertAccount(ctx context.Context, a *identity.Account) error
	// Within returns the writer of a scope in the same transaction.
	Within(s Scope) Tx
	identity.UserWriter
	identity.SignOnWriter
	identity.PasskeyWriter
}

// RowLocks reads rows for update: it locks them until the transaction ends.
type RowLocks interface {
	CustomerForUpdate(ctx context.Context, id int64) (Customer, error)
}

// SearchReader reads what a search shows.
type SearchReader interface {
	// KnownTerms returns those of some terms that any conversation of the account has, sorted, whatever its mailbox.
	KnownTerms(ctx context.Context, terms []string) ([]string, error)
	// PassagesByID returns the last n interactions of each conversation that are no drafts, the last one of a conversation first.
	PassagesByID(ctx context.Context, conversationIDs []int64, n int) ([]Passage, error)
}

// Passage is the beginning of an interaction of a conversation.
type Passage struct {
	ConversationID int64
	InteractionID  int64
	Subject        string
	Body           string // HTML; at most MaxSearchText characters of it
}

// SearchIndex keeps the search terms of customers and conversations, see [SearchTerm]. The service makes the terms; the
// store compares them byte by byte. Their only ASCII characters are a-z and 0-9, they have at most 64 characters, and a list
// has no duplicates. Removed terms no longer match.
type SearchIndex interface {
	// SearchTerms returns a conversation's own terms as they were set, in any order.
	SearchTerms(ctx context.Context, conversationID int64) ([]string, error)
	// SetSearchTerms replaces a conversation's own terms, and copies those of its customer to it. Searches match both. A
	// conversation whose own terms were never set matches nothing.
	SetSearchTerms(ctx context.Context, conversationID int64, terms []string) error
	// SetCustomerTerms replaces the terms of a customer. The copies in conversations stay, see SpreadCustomerTerms.
	SetCustomerTerms(ctx context.Context, customerID int64, terms []string) error
	// SpreadCustomerTerms copies the terms of a customer to those of the conversations that are the customer's, even outside the
	// scope. Other ids are ignored.
	SpreadCustomerTerms(ctx context.Context, customerID int64, conversationIDs []int64) error
}

// CustomerMover merges two customers.
type CustomerMover interface {
	// MoveCustomer moves everything of a customer to another and keeps the IDs: emails, phones, websites, and conversations and
	// interactions even outside the scope. It removes the first customer. The caller must set and spread the terms again, see
	// [SearchIndex].
	MoveCustomer(ctx context.Context, from, into int64) error
	// MoveSome moves about n of the conversations and interactions that MoveCustomer would move, if there are more than that, and
	// reports whether it did. Once it reports false, MoveCustomer is short.
	MoveSome(ctx context.Context, from, into int64, n int) (moved bool, err error)
}

// TagWriter changes the tags of conversations.
type TagWriter interface {
	// SetTags replaces the tags of each conversation. Neither list has duplicates.
	SetTags(ctx context.Context, conversationIDs, tagIDs []int64) error
}

// UnreadWriter writes users' read marks.
type UnreadWriter interface {
	// SaveReadMark sets a user's mark in a conversation; InteractionID 0 removes it. The store does not check that the user or
	// the interaction exists.
	SaveReadMark(ctx context.Context, m ReadMark) error
}

// MergeReader finds merged conversations and moved interactions.
type MergeReader interface {
	// MergedInto finds the conversation that a removed one was merged into, also across several merges.
	MergedInto(ctx context.Context, id int64) (Conversation, error)
	// Moves returns the moves of interactions, in the order in which they were made.
	Moves(ctx context.Context, interactionIDs []int64) ([]Move, error)
}

// MergeWriter merges conversations and moves interactions between them. The store sets InteractionID and MailboxID of the
// given [Move].
type MergeWriter interface {
	// MergeConversation moves all of the conversation FromID (interactions with attachments and deliveries, participants,
	// ledger rows) into IntoID, records a move for each interaction, and removes FromID with its tags. Afterwards, MergedInto
	// and Messages of its mailbox find IntoID. Conversations that refer to FromID refer to IntoID instead, except IntoID
	// itself. Merging a conversation into itself is an Invalid fault. A user who has a read mark in both keeps the lower one;
	// other users' marks are removed.
	MergeConversation(ctx context.Context, m Move) error
	// MoveInteractions moves interactions of the conversation FromID with attachments, deliveries and ledger rows into IntoID
	// and records a move for each. Ids outside FromID are ignored. Messages of FromID's mailbox still find them. Moving into
	// the same conversation is an Invalid fault. Each user with a read mark in either conversation gets the highest mark in
	// IntoID that covers no unread interaction.
	MoveInteractions(ctx context.Context, ids []int64, m Move) error
}

// TrafficReader counts the messages of correspondents.
type TrafficReader interface {
	// Received counts the interactions from a customer's address created since a time, up to limit.
	Received(ctx context.Context, customerEmailID int64, since time.Time, limit int) (int, error)
	// SentTo counts, by address, the deliveries that are sent or bounced and changed since a time. Addresses are given by
	// mailaddr.Key; those without such deliveries are absent.
	SentTo(ctx context.Context, keys []string, since time.Time) (map[string]int, error)
}

// CorrespondenceReader reads the exchange between a customer and the desk: interactions whose [Interaction.Audience]
// contains any of the given keys.
type CorrespondenceReader interface {
	// Correspondence lists the matching interactions of one conversation, by id.
	Correspondence(ctx context.Context, conversationID int64, keys []string, seek storage.Seek) ([]Interaction, error)
	// LastCorrespondence returns the newest matching interaction of each conversation that has any, by conversation.
	LastCorrespondence(ctx context.Context, conversationIDs []int64, keys []string) ([]Interaction, error)
}

// SeenWriter records that customers have seen interactions.
type SeenWriter interface {
	// MarkSeen sets SeenAt of the given user interactions that have none, changes nothing else, and returns their IDs in order.
	// Others are ignored.
	MarkSeen(ctx context.Context, ids []int64, at time.Time) ([]int64, error)
}

// AuditReader reads the audit log.
type AuditReader interface {
	// AuditLog lists entries by CreatedAt; a position's key is its microseconds since 1970. Entries about mailboxes outside the
	// scope are omitted.
	AuditLog(ctx context.Context, filter AuditFilter, seek storage.Seek) ([]AuditEntry, error)
}
