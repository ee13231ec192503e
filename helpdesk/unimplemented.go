package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// UnimplementedStore answers every method of [Store] with a Disabled fault. A
// backend embeds it, so that methods added to Store later do not break its build.
type UnimplementedStore struct{}

// UnimplementedTx answers every method of [Reader] and [Tx] with a Disabled fault;
// it is embedded as [UnimplementedStore] is. What implements [SystemTx] embeds
// [UnimplementedSystemTx].
type UnimplementedTx struct{}

// UnimplementedSystemTx answers every method of [SystemTx] with a Disabled fault.
type UnimplementedSystemTx struct{ UnimplementedStore }

var (
	_ Store    = UnimplementedStore{}
	_ Tx       = UnimplementedTx{}
	_ SystemTx = UnimplementedSystemTx{}
)

func errUnimplemented() error {
	return fault.New(fault.Disabled, "This store cannot do this.")
}

// TokenByHash implements [Store].
func (UnimplementedStore) TokenByHash(context.Context, []byte) (AccessToken, error) {
	return AccessToken{}, errUnimplemented()
}

// User implements [Store].
func (UnimplementedStore) User(context.Context, int64) (User, error) {
	return User{}, errUnimplemented()
}

// UserByEmail implements [Store].
func (UnimplementedStore) UserByEmail(context.Context, string) (User, error) {
	return User{}, errUnimplemented()
}

// HasUsers implements [Store].
func (UnimplementedStore) HasUsers(context.Context) (bool, error) {
	return false, errUnimplemented()
}

// Grant implements [Store].
func (UnimplementedStore) Grant(context.Context, int64, int64) (Grant, error) {
	return Grant{}, errUnimplemented()
}

// AccountsOf implements [Store].
func (UnimplementedStore) AccountsOf(context.Context, int64, storage.Seek) ([]Account, error) {
	return nil, errUnimplemented()
}

// MailboxByLocal implements [Store].
func (UnimplementedStore) MailboxByLocal(context.Context, string) (Mailbox, error) {
	return Mailbox{}, errUnimplemented()
}

// MailboxesToFetch implements [Store].
func (UnimplementedStore) MailboxesToFetch(context.Context, storage.Seek) ([]Mailbox, error) {
	return nil, errUnimplemented()
}

// Within implements [Store].
func (UnimplementedStore) Within(Scope) Reader {
	return UnimplementedTx{}
}

// InTx implements [Store].
func (UnimplementedStore) InTx(context.Context, Scope, func(ctx context.Context, tx Tx) error) error {
	return errUnimplemented()
}

// InSystemTx implements [Store].
func (UnimplementedStore) InSystemTx(context.Context, func(ctx context.Context, tx SystemTx) error) error {
	return errUnimplemented()
}

// Account implements [Tx].
func (UnimplementedTx) Account(context.Context) (Account, error) {
	return Account{}, errUnimplemented()
}

// Roles implements [Tx].
func (UnimplementedTx) Roles(context.Context) ([]Role, error) {
	return nil, errUnimplemented()
}

// Membership implements [Tx].
func (UnimplementedTx) Membership(context.Context, int64) (Membership, error) {
	return Membership{}, errUnimplemented()
}

// Memberships implements [Tx].
func (UnimplementedTx) Memberships(context.Context, storage.Seek) ([]Membership, error) {
	return nil, errUnimplemented()
}

// UsersByID implements [Tx].
func (UnimplementedTx) UsersByID(context.Context, []int64) ([]User, error) {
	return nil, errUnimplemented()
}

// Mailbox implements [Tx].
func (UnimplementedTx) Mailbox(context.Context, int64) (Mailbox, error) {
	return Mailbox{}, errUnimplemented()
}

// Mailboxes implements [Tx].
func (UnimplementedTx) Mailboxes(context.Context, storage.Seek) ([]Mailbox, error) {
	return nil, errUnimplemented()
}

// MailboxesByID implements [Tx].
func (UnimplementedTx) MailboxesByID(context.Context, []int64) ([]Mailbox, error) {
	return nil, errUnimplemented()
}

// FetchStatus implements [Tx].
func (UnimplementedTx) FetchStatus(context.Context, int64) (FetchStatus, error) {
	return FetchStatus{}, errUnimplemented()
}

// FetchCursor implements [Tx].
func (UnimplementedTx) FetchCursor(context.Context, int64, string) (FetchCursor, error) {
	return FetchCursor{}, errUnimplemented()
}

// Customer implements [Tx].
func (UnimplementedTx) Customer(context.Context, int64) (Customer, error) {
	return Customer{}, errUnimplemented()
}

// Customers implements [Tx].
func (UnimplementedTx) Customers(context.Context, CustomerFilter, storage.Seek) ([]Customer, error) {
	return nil, errUnimplemented()
}

// CustomersByID implements [Tx].
func (UnimplementedTx) CustomersByID(context.Context, []int64) ([]Customer, error) {
	return nil, errUnimplemented()
}

// CustomerByEmail implements [Tx].
func (UnimplementedTx) CustomerByEmail(context.Context, string) (Customer, error) {
	return Customer{}, errUnimplemented()
}

// CustomerBeyond implements [Tx].
func (UnimplementedTx) CustomerBeyond(context.Context, int64) (bool, error) {
	return false, errUnimplemented()
}

// CustomerStats implements [Tx].
func (UnimplementedTx) CustomerStats(context.Context, int64) (CustomerStats, error) {
	return CustomerStats{}, errUnimplemented()
}

// Conversation implements [Tx].
func (UnimplementedTx) Conversation(context.Context, int64) (Conversation, error) {
	return Conversation{}, errUnimplemented()
}

// Conversations implements [Tx].
func (UnimplementedTx) Conversations(context.Context, ConversationFilter, ConversationSort, storage.Seek) ([]Conversation, error) {
	return nil, errUnimplemented()
}

// ConversationsByID implements [Tx].
func (UnimplementedTx) ConversationsByID(context.Context, []int64) ([]Conversation, error) {
	return nil, errUnimplemented()
}

// Participants implements [Tx].
func (UnimplementedTx) Participants(context.Context, int64, int) ([]string, error) {
	return nil, errUnimplemented()
}

// Participant implements [Tx].
func (UnimplementedTx) Participant(context.Context, int64, []string) (bool, error) {
	return false, errUnimplemented()
}

// Interaction implements [Tx].
func (UnimplementedTx) Interaction(context.Context, int64) (Interaction, error) {
	return Interaction{}, errUnimplemented()
}

// InteractionsByID implements [Tx].
func (UnimplementedTx) InteractionsByID(context.Context, []int64) ([]Interaction, error) {
	return nil, errUnimplemented()
}

// Interactions implements [Tx].
func (UnimplementedTx) Interactions(context.Context, int64, storage.Seek) ([]Interaction, error) {
	return nil, errUnimplemented()
}

// LastArrived implements [Tx].
func (UnimplementedTx) LastArrived(context.Context, int64) (int64, error) {
	return 0, errUnimplemented()
}

// Messages implements [Tx].
func (UnimplementedTx) Messages(context.Context, int64, []string) ([]MessageRef, error) {
	return nil, errUnimplemented()
}

// Thread implements [Tx].
func (UnimplementedTx) Thread(context.Context, int64, int) ([]MessageRef, error) {
	return nil, errUnimplemented()
}

// Deliveries implements [Tx].
func (UnimplementedTx) Deliveries(context.Context, []int64) ([]Delivery, error) {
	return nil, errUnimplemented()
}

// Attachment implements [Tx].
func (UnimplementedTx) Attachment(context.Context, int64) (Attachment, error) {
	return Attachment{}, errUnimplemented()
}

// Attachments implements [Tx].
func (UnimplementedTx) Attachments(context.Context, []int64) ([]Attachment, error) {
	return nil, errUnimplemented()
}

// BlobKeys implements [Tx].
func (UnimplementedTx) BlobKeys(context.Context, []int64) ([]string, error) {
	return nil, errUnimplemented()
}

// InboundMail implements [Tx].
func (UnimplementedTx) InboundMail(context.Context, int64) (InboundMail, error) {
	return InboundMail{}, errUnimplemented()
}

// InboundMails implements [Tx].
func (UnimplementedTx) InboundMails(context.Context, InboundFilter, storage.Seek) ([]InboundMail, error) {
	return nil, errUnimplemented()
}

// InboundByIdentity implements [Tx].
func (UnimplementedTx) InboundByIdentity(context.Context, [][]byte) ([]InboundMail, error) {
	return nil, errUnimplemented()
}

// InboundPositions implements [Tx].
func (UnimplementedTx) InboundPositions(context.Context, int64, string, []string) ([]string, error) {
	return nil, errUnimplemented()
}

// InboundCounts implements [Tx].
func (UnimplementedTx) InboundCounts(context.Context, int64) (InboundCounts, error) {
	return InboundCounts{}, errUnimplemented()
}

// UpdateAccount implements [Tx].
func (UnimplementedTx) UpdateAccount(context.Context, *Account) error {
	return errUnimplemented()
}

// DeleteAccount implements [Tx].
func (UnimplementedTx) DeleteAccount(context.Context) error {
	return errUnimplemented()
}

// TakeNumber implements [Tx].
func (UnimplementedTx) TakeNumber(context.Context) (int64, error) {
	return 0, errUnimplemented()
}

// InsertRole implements [Tx].
func (UnimplementedTx) InsertRole(context.Context, *Role) error {
	return errUnimplemented()
}

// InsertMembership implements [Tx].
func (UnimplementedTx) InsertMembership(context.Context, *Membership) error {
	return errUnimplemented()
}

// UpdateMembership implements [Tx].
func (UnimplementedTx) UpdateMembership(context.Context, *Membership) error {
	return errUnimplemented()
}

// DeleteMembership implements [Tx].
func (UnimplementedTx) DeleteMembership(context.Context, int64) error {
	return errUnimplemented()
}

// InsertMailbox implements [Tx].
func (UnimplementedTx) InsertMailbox(context.Context, *Mailbox) error {
	return errUnimplemented()
}

// UpdateMailbox implements [Tx].
func (UnimplementedTx) UpdateMailbox(context.Context, *Mailbox) error {
	return errUnimplemented()
}

// DeleteMailbox implements [Tx].
func (UnimplementedTx) DeleteMailbox(context.Context, int64) error {
	return errUnimplemented()
}

// SaveFetchStatus implements [Tx].
func (UnimplementedTx) SaveFetchStatus(context.Context, FetchStatus) error {
	return errUnimplemented()
}

// SaveFetchCursor implements [Tx].
func (UnimplementedTx) SaveFetchCursor(context.Context, int64, string, FetchCursor) error {
	return errUnimplemented()
}

// InsertCustomer implements [Tx].
func (UnimplementedTx) InsertCustomer(context.Context, *Customer) error {
	return errUnimplemented()
}

// UpdateCustomer implements [Tx].
func (UnimplementedTx) UpdateCustomer(context.Context, *Customer) error {
	return errUnimplemented()
}

// DeleteCustomer implements [Tx].
func (UnimplementedTx) DeleteCustomer(context.Context, int64) error {
	return errUnimplemented()
}

// ConversationForUpdate implements [Tx].
func (UnimplementedTx) ConversationForUpdate(context.Context, int64) (Conversation, error) {
	return Conversation{}, errUnimplemented()
}

// InsertConversation implements [Tx].
func (UnimplementedTx) InsertConversation(context.Context, *Conversation) error {
	return errUnimplemented()
}

// UpdateConversation implements [Tx].
func (UnimplementedTx) UpdateConversation(context.Context, *Conversation) error {
	return errUnimplemented()
}

// DeleteConversations implements [Tx].
func (UnimplementedTx) DeleteConversations(context.Context, []int64) error {
	return errUnimplemented()
}

// AddParticipants implements [Tx].
func (UnimplementedTx) AddParticipants(context.Context, int64, []string) error {
	return errUnimplemented()
}

// InteractionForUpdate implements [Tx].
func (UnimplementedTx) InteractionForUpdate(context.Context, int64) (Interaction, error) {
	return Interaction{}, errUnimplemented()
}

// InsertInteraction implements [Tx].
func (UnimplementedTx) InsertInteraction(context.Context, *Interaction) error {
	return errUnimplemented()
}

// UpdateInteraction implements [Tx].
func (UnimplementedTx) UpdateInteraction(context.Context, *Interaction) error {
	return errUnimplemented()
}

// DeleteInteraction implements [Tx].
func (UnimplementedTx) DeleteInteraction(context.Context, int64) error {
	return errUnimplemented()
}

// InsertDeliveries implements [Tx].
func (UnimplementedTx) InsertDeliveries(context.Context, []Delivery) error {
	return errUnimplemented()
}

// UpdateDeliveries implements [Tx].
func (UnimplementedTx) UpdateDeliveries(context.Context, []Delivery) error {
	return errUnimplemented()
}

// DeleteDeliveries implements [Tx].
func (UnimplementedTx) DeleteDeliveries(context.Context, int64) error {
	return errUnimplemented()
}

// InsertAttachments implements [Tx].
func (UnimplementedTx) InsertAttachments(context.Context, []*Attachment) error {
	return errUnimplemented()
}

// DeleteAttachment implements [Tx].
func (UnimplementedTx) DeleteAttachment(context.Context, int64) error {
	return errUnimplemented()
}

// InsertInbound implements [Tx].
func (UnimplementedTx) InsertInbound(context.Context, []*InboundMail) error {
	return errUnimplemented()
}

// UpdateInbound implements [Tx].
func (UnimplementedTx) UpdateInbound(context.Context, *InboundMail) error {
	return errUnimplemented()
}

// InboundForUpdate implements [Tx].
func (UnimplementedTx) InboundForUpdate(context.Context, int64) (InboundMail, error) {
	return InboundMail{}, errUnimplemented()
}

// SetInboundState implements [Tx].
func (UnimplementedTx) SetInboundState(context.Context, []int64, InboundState, InboundState, time.Time) ([]int64, error) {
	return nil, errUnimplemented()
}

// Enqueue implements [Tx].
func (UnimplementedTx) Enqueue(context.Context, ...storage.Job) error {
	return errUnimplemented()
}

// Emit implements [Tx].
func (UnimplementedTx) Emit(context.Context, ...storage.Event) error {
	return errUnimplemented()
}

// InsertUser implements [SystemTx].
func (UnimplementedSystemTx) InsertUser(context.Context, *User) error {
	return errUnimplemented()
}

// InsertToken implements [SystemTx].
func (UnimplementedSystemTx) InsertToken(context.Context, *AccessToken) error {
	return errUnimplemented()
}

// TouchToken implements [SystemTx].
func (UnimplementedSystemTx) TouchToken(context.Context, int64, time.Time) error {
	return errUnimplemented()
}

// InsertAccount implements [SystemTx].
func (UnimplementedSystemTx) InsertAccount(context.Context, *Account) error {
	return errUnimplemented()
}

// Within implements [SystemTx].
func (UnimplementedSystemTx) Within(Scope) Tx {
	return UnimplementedTx{}
}

// Domain implements [Tx].
func (UnimplementedTx) Domain(context.Context, int64) (Domain, error) {
	return Domain{}, errUnimplemented()
}

// Domains implements [Tx].
func (UnimplementedTx) Domains(context.Context, storage.Seek) ([]Domain, error) {
	return nil, errUnimplemented()
}

// DomainForUpdate implements [Tx].
func (UnimplementedTx) DomainForUpdate(context.Context, int64) (Domain, error) {
	return Domain{}, errUnimplemented()
}

// InsertDomain implements [Tx].
func (UnimplementedTx) InsertDomain(context.Context, *Domain) error {
	return errUnimplemented()
}

// UpdateDomain implements [Tx].
func (UnimplementedTx) UpdateDomain(context.Context, *Domain) error {
	return errUnimplemented()
}

// DeleteDomain implements [Tx].
func (UnimplementedTx) DeleteDomain(context.Context, int64) error {
	return errUnimplemented()
}

// PGPKey implements [Tx].
func (UnimplementedTx) PGPKey(context.Context, int64) (PGPKey, error) {
	return PGPKey{}, errUnimplemented()
}

// PGPKeys implements [Tx].
func (UnimplementedTx) PGPKeys(context.Context, []int64, storage.Seek) ([]PGPKey, error) {
	return nil, errUnimplemented()
}

// PGPKeysByAddress implements [Tx].
func (UnimplementedTx) PGPKeysByAddress(context.Context, []string) ([]KeyOfAddress, error) {
	return nil, errUnimplemented()
}

// InsertPGPKey implements [Tx].
func (UnimplementedTx) InsertPGPKey(context.Context, *PGPKey) error {
	return errUnimplemented()
}

// UpdatePGPKey implements [Tx].
func (UnimplementedTx) UpdatePGPKey(context.Context, *PGPKey) error {
	return errUnimplemented()
}

// DeletePGPKey implements [Tx].
func (UnimplementedTx) DeletePGPKey(context.Context, int64) error {
	return errUnimplemented()
}

// CustomerForUpdate implements [Tx].
func (UnimplementedTx) CustomerForUpdate(context.Context, int64) (Customer, error) {
	return Customer{}, errUnimplemented()
}

// MailboxForUpdate implements [Tx].
func (UnimplementedTx) MailboxForUpdate(context.Context, int64) (Mailbox, error) {
	return Mailbox{}, errUnimplemented()
}

// MembershipForUpdate implements [Tx].
func (UnimplementedTx) MembershipForUpdate(context.Context, int64) (Membership, error) {
	return Membership{}, errUnimplemented()
}

// SearchTerms implements [Tx].
func (UnimplementedTx) SearchTerms(context.Context, int64) ([]string, error) {
	return nil, errUnimplemented()
}

// SetSearchTerms implements [Tx].
func (UnimplementedTx) SetSearchTerms(context.Context, int64, []string) error {
	return errUnimplemented()
}

// SetCustomerTerms implements [Tx].
func (UnimplementedTx) SetCustomerTerms(context.Context, int64, []string) error {
	return errUnimplemented()
}

// MoveCustomer implements [Tx].
func (UnimplementedTx) MoveCustomer(context.Context, int64, int64) error {
	return errUnimplemented()
}

// Tag implements [Tx].
func (UnimplementedTx) Tag(context.Context, int64) (Tag, error) {
	return Tag{}, errUnimplemented()
}

// Tags implements [Tx].
func (UnimplementedTx) Tags(context.Context, storage.Seek) ([]Tag, error) {
	return nil, errUnimplemented()
}

// TagsByID implements [Tx].
func (UnimplementedTx) TagsByID(context.Context, []int64) ([]Tag, error) {
	return nil, errUnimplemented()
}

// Taggings implements [Tx].
func (UnimplementedTx) Taggings(context.Context, []int64) ([]Tagging, error) {
	return nil, errUnimplemented()
}

// InsertTag implements [Tx].
func (UnimplementedTx) InsertTag(context.Context, *Tag) error {
	return errUnimplemented()
}

// UpdateTag implements [Tx].
func (UnimplementedTx) UpdateTag(context.Context, *Tag) error {
	return errUnimplemented()
}

// DeleteTag implements [Tx].
func (UnimplementedTx) DeleteTag(context.Context, int64) error {
	return errUnimplemented()
}

// SetTags implements [Tx].
func (UnimplementedTx) SetTags(context.Context, []int64, []int64) error {
	return errUnimplemented()
}

// Unread implements [Tx].
func (UnimplementedTx) Unread(context.Context, int64, []int64) ([]UnreadCount, error) {
	return nil, errUnimplemented()
}

// SaveReadMark implements [Tx].
func (UnimplementedTx) SaveReadMark(context.Context, ReadMark) error {
	return errUnimplemented()
}

// View implements [Tx].
func (UnimplementedTx) View(context.Context, int64) (View, error) {
	return View{}, errUnimplemented()
}

// Views implements [Tx].
func (UnimplementedTx) Views(context.Context, storage.Seek) ([]View, error) {
	return nil, errUnimplemented()
}

// InsertView implements [Tx].
func (UnimplementedTx) InsertView(context.Context, *View) error {
	return errUnimplemented()
}

// UpdateView implements [Tx].
func (UnimplementedTx) UpdateView(context.Context, *View) error {
	return errUnimplemented()
}

// DeleteView implements [Tx].
func (UnimplementedTx) DeleteView(context.Context, int64) error {
	return errUnimplemented()
}

// MergedInto implements [Tx].
func (UnimplementedTx) MergedInto(context.Context, int64) (Conversation, error) {
	return Conversation{}, errUnimplemented()
}

// MergeConversation implements [Tx].
func (UnimplementedTx) MergeConversation(context.Context, Move) error {
	return errUnimplemented()
}

// MoveInteractions implements [Tx].
func (UnimplementedTx) MoveInteractions(context.Context, []int64, Move) error {
	return errUnimplemented()
}

// Moves implements [Tx].
func (UnimplementedTx) Moves(context.Context, []int64) ([]Move, error) {
	return nil, errUnimplemented()
}

// TokensOf implements [Store].
func (UnimplementedStore) TokensOf(context.Context, int64, storage.Seek) ([]AccessToken, error) {
	return nil, errUnimplemented()
}

// InvitationByHash implements [Store].
func (UnimplementedStore) InvitationByHash(context.Context, []byte) (Invitation, error) {
	return Invitation{}, errUnimplemented()
}

// Invitation implements [Tx].
func (UnimplementedTx) Invitation(context.Context, int64) (Invitation, error) {
	return Invitation{}, errUnimplemented()
}

// Invitations implements [Tx].
func (UnimplementedTx) Invitations(context.Context, storage.Seek) ([]Invitation, error) {
	return nil, errUnimplemented()
}

// LockAccount implements [Tx].
func (UnimplementedTx) LockAccount(context.Context) error {
	return errUnimplemented()
}

// TouchMembership implements [Tx].
func (UnimplementedTx) TouchMembership(context.Context, int64, time.Time) error {
	return errUnimplemented()
}

// UpdateRole implements [Tx].
func (UnimplementedTx) UpdateRole(context.Context, *Role) error {
	return errUnimplemented()
}

// DeleteRole implements [Tx].
func (UnimplementedTx) DeleteRole(context.Context, int64) error {
	return errUnimplemented()
}

// InsertInvitation implements [Tx].
func (UnimplementedTx) InsertInvitation(context.Context, *Invitation) error {
	return errUnimplemented()
}

// DeleteInvitation implements [Tx].
func (UnimplementedTx) DeleteInvitation(context.Context, int64) error {
	return errUnimplemented()
}

// UpdateUser implements [SystemTx].
func (UnimplementedSystemTx) UpdateUser(context.Context, *User) error {
	return errUnimplemented()
}

// DeleteToken implements [SystemTx].
func (UnimplementedSystemTx) DeleteToken(context.Context, int64, int64) error {
	return errUnimplemented()
}

// DeleteSessions implements [SystemTx].
func (UnimplementedSystemTx) DeleteSessions(context.Context, int64, time.Time) error {
	return errUnimplemented()
}

// Suppression implements [Tx].
func (UnimplementedTx) Suppression(context.Context, int64) (Suppression, error) {
	return Suppression{}, errUnimplemented()
}

// Suppressions implements [Tx].
func (UnimplementedTx) Suppressions(context.Context, storage.Seek) ([]Suppression, error) {
	return nil, errUnimplemented()
}

// SuppressionsByKey implements [Tx].
func (UnimplementedTx) SuppressionsByKey(context.Context, []string) ([]Suppression, error) {
	return nil, errUnimplemented()
}

// InsertSuppression implements [Tx].
func (UnimplementedTx) InsertSuppression(context.Context, *Suppression) error {
	return errUnimplemented()
}

// DeleteSuppression implements [Tx].
func (UnimplementedTx) DeleteSuppression(context.Context, int64) error {
	return errUnimplemented()
}

// Received implements [Tx].
func (UnimplementedTx) Received(context.Context, int64, time.Time, int) (int, error) {
	return 0, errUnimplemented()
}

// SentTo implements [Tx].
func (UnimplementedTx) SentTo(context.Context, string, time.Time, int) (int, error) {
	return 0, errUnimplemented()
}

// Events implements [Tx].
func (UnimplementedTx) Events(context.Context, EventFilter, storage.Seek) ([]storage.Event, error) {
	return nil, errUnimplemented()
}

// LastEvent implements [Tx].
func (UnimplementedTx) LastEvent(context.Context) (int64, error) {
	return 0, errUnimplemented()
}

// Correspondence implements [Tx].
func (UnimplementedTx) Correspondence(context.Context, int64, []string, storage.Seek) ([]Interaction, error) {
	return nil, errUnimplemented()
}

// LastCorrespondence implements [Tx].
func (UnimplementedTx) LastCorrespondence(context.Context, []int64, []string) ([]Interaction, error) {
	return nil, errUnimplemented()
}

// MarkSeen implements [Tx].
func (UnimplementedTx) MarkSeen(context.Context, []int64, time.Time) ([]int64, error) {
	return nil, errUnimplemented()
}

// PortalKey implements [Tx].
func (UnimplementedTx) PortalKey(context.Context, int64) (PortalKey, error) {
	return PortalKey{}, errUnimplemented()
}

// PortalKeys implements [Tx].
func (UnimplementedTx) PortalKeys(context.Context, storage.Seek) ([]PortalKey, error) {
	return nil, errUnimplemented()
}

// InsertPortalKey implements [Tx].
func (UnimplementedTx) InsertPortalKey(context.Context, *PortalKey) error {
	return errUnimplemented()
}

// TouchPortalKey implements [Tx].
func (UnimplementedTx) TouchPortalKey(context.Context, int64, time.Time) error {
	return errUnimplemented()
}

// DeletePortalKey implements [Tx].
func (UnimplementedTx) DeletePortalKey(context.Context, int64) error {
	return errUnimplemented()
}

// AuditLog implements [Tx].
func (UnimplementedTx) AuditLog(context.Context, AuditFilter, storage.Seek) ([]AuditEntry, error) {
	return nil, errUnimplemented()
}

// InsertAudit implements [Tx].
func (UnimplementedTx) InsertAudit(context.Context, []AuditEntry) error {
	return errUnimplemented()
}

// DeleteOtherSessions implements [SystemTx].
func (UnimplementedSystemTx) DeleteOtherSessions(context.Context, int64, int64) error {
	return errUnimplemented()
}

// WebhookBacklog implements [Store].
func (UnimplementedStore) WebhookBacklog(context.Context, storage.Seek) ([]Account, error) {
	return nil, errUnimplemented()
}

// AccountsWithWebhooks implements [Store].
func (UnimplementedStore) AccountsWithWebhooks(context.Context, storage.Seek) ([]Account, error) {
	return nil, errUnimplemented()
}

// EventsBySeq implements [Tx].
func (UnimplementedTx) EventsBySeq(context.Context, []int64) ([]storage.Event, error) {
	return nil, errUnimplemented()
}

// Webhook implements [Tx].
func (UnimplementedTx) Webhook(context.Context, int64) (Webhook, error) {
	return Webhook{}, errUnimplemented()
}

// Webhooks implements [Tx].
func (UnimplementedTx) Webhooks(context.Context, storage.Seek) ([]Webhook, error) {
	return nil, errUnimplemented()
}

// WebhookDelivery implements [Tx].
func (UnimplementedTx) WebhookDelivery(context.Context, int64) (WebhookDelivery, error) {
	return WebhookDelivery{}, errUnimplemented()
}

// WebhookDeliveries implements [Tx].
func (UnimplementedTx) WebhookDeliveries(context.Context, WebhookDeliveryFilter, storage.Seek) ([]WebhookDelivery, error) {
	return nil, errUnimplemented()
}

// DueWebhookDeliveries implements [Tx].
func (UnimplementedTx) DueWebhookDeliveries(context.Context, int64, time.Time, int) ([]WebhookDelivery, error) {
	return nil, errUnimplemented()
}

// HeldWebhookDeliveries implements [Tx].
func (UnimplementedTx) HeldWebhookDeliveries(context.Context, int64, time.Time) ([]WebhookDelivery, error) {
	return nil, errUnimplemented()
}

// WebhookForUpdate implements [Tx].
func (UnimplementedTx) WebhookForUpdate(context.Context, int64) (Webhook, error) {
	return Webhook{}, errUnimplemented()
}

// InsertWebhook implements [Tx].
func (UnimplementedTx) InsertWebhook(context.Context, *Webhook) error {
	return errUnimplemented()
}

// UpdateWebhook implements [Tx].
func (UnimplementedTx) UpdateWebhook(context.Context, *Webhook) error {
	return errUnimplemented()
}

// DeleteWebhook implements [Tx].
func (UnimplementedTx) DeleteWebhook(context.Context, int64) error {
	return errUnimplemented()
}

// InsertWebhookDeliveries implements [Tx].
func (UnimplementedTx) InsertWebhookDeliveries(context.Context, []WebhookDelivery) error {
	return errUnimplemented()
}

// UpdateWebhookDeliveries implements [Tx].
func (UnimplementedTx) UpdateWebhookDeliveries(context.Context, []WebhookDelivery) error {
	return errUnimplemented()
}

// FailWebhookDeliveries implements [Tx].
func (UnimplementedTx) FailWebhookDeliveries(context.Context, int64, string, time.Time) error {
	return errUnimplemented()
}

// WebhookCursorForUpdate implements [Tx].
func (UnimplementedTx) WebhookCursorForUpdate(context.Context) (int64, error) {
	return 0, errUnimplemented()
}

// StartWebhookCursor implements [Tx].
func (UnimplementedTx) StartWebhookCursor(context.Context, int64) error {
	return errUnimplemented()
}

// SaveWebhookCursor implements [Tx].
func (UnimplementedTx) SaveWebhookCursor(context.Context, int64) error {
	return errUnimplemented()
}

// DeleteWebhookCursor implements [Tx].
func (UnimplementedTx) DeleteWebhookCursor(context.Context) error {
	return errUnimplemented()
}

// PruneWebhookDeliveries implements [Tx].
func (UnimplementedTx) PruneWebhookDeliveries(context.Context, int64, time.Time, int, int) (int, error) {
	return 0, errUnimplemented()
}
