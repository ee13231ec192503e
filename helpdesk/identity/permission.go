package identity

import (
	"slices"
)

// Permission is an operation that a member may do, as <area>.<action>.
type Permission string

// The permissions of the help desk. The list only ever grows.
const (
	AccountsView            Permission = "accounts.view"
	AccountsCreate          Permission = "accounts.create"
	AccountsUpdate          Permission = "accounts.update"
	AccountsDelete          Permission = "accounts.delete"
	AccountsExport          Permission = "accounts.export"
	MembershipsView         Permission = "memberships.view"
	MembershipsCreate       Permission = "memberships.create"
	MembershipsUpdate       Permission = "memberships.update"
	MembershipsDelete       Permission = "memberships.delete"
	RolesView               Permission = "roles.view"
	RolesCreate             Permission = "roles.create"
	RolesUpdate             Permission = "roles.update"
	RolesDelete             Permission = "roles.delete"
	MailboxesView           Permission = "mailboxes.view"
	MailboxesCreate         Permission = "mailboxes.create"
	MailboxesUpdate         Permission = "mailboxes.update"
	MailboxesDelete         Permission = "mailboxes.delete"
	MailboxesConnection     Permission = "mailboxes.connection" // view and set how mail is fetched
	CustomersView           Permission = "customers.view"
	CustomersCreate         Permission = "customers.create"
	CustomersUpdate         Permission = "customers.update"
	CustomersDelete         Permission = "customers.delete"
	CompaniesView           Permission = "companies.view"
	CompaniesCreate         Permission = "companies.create"
	CompaniesUpdate         Permission = "companies.update"
	CompaniesDelete         Permission = "companies.delete"
	ConversationsView       Permission = "conversations.view"
	ConversationsCreate     Permission = "conversations.create"
	ConversationsUpdate     Permission = "conversations.update"
	ConversationsDelete     Permission = "conversations.delete"
	ConversationsAssign     Permission = "conversations.assign"
	InteractionsView        Permission = "interactions.view"
	InteractionsCreate      Permission = "interactions.create" // every type; for notes, NotesCreate is enough
	InteractionsUpdate      Permission = "interactions.update"
	InteractionsDelete      Permission = "interactions.delete"
	NotesCreate             Permission = "interactions.note"
	TagsView                Permission = "tags.view"
	TagsCreate              Permission = "tags.create"
	TagsUpdate              Permission = "tags.update"
	TagsDelete              Permission = "tags.delete"
	FieldsView              Permission = "fields.view"
	FieldsCreate            Permission = "fields.create"
	FieldsUpdate            Permission = "fields.update"
	FieldsDelete            Permission = "fields.delete"
	ViewsView               Permission = "views.view"
	ViewsCreate             Permission = "views.create"
	ViewsUpdate             Permission = "views.update"
	ViewsDelete             Permission = "views.delete"
	DomainsView             Permission = "domains.view"
	DomainsCreate           Permission = "domains.create"
	DomainsUpdate           Permission = "domains.update"
	DomainsDelete           Permission = "domains.delete"
	PGPKeysView             Permission = "pgp_keys.view"
	PGPKeysCreate           Permission = "pgp_keys.create"
	PGPKeysUpdate           Permission = "pgp_keys.update"
	PGPKeysDelete           Permission = "pgp_keys.delete"
	WebhooksView            Permission = "webhooks.view"
	WebhooksCreate          Permission = "webhooks.create"
	WebhooksUpdate          Permission = "webhooks.update"
	WebhooksDelete          Permission = "webhooks.delete"
	SLAsView                Permission = "slas.view"
	SLAsCreate              Permission = "slas.create"
	SLAsUpdate              Permission = "slas.update"
	SLAsDelete              Permission = "slas.delete"
	CalendarsView           Permission = "calendars.view"
	CalendarsCreate         Permission = "calendars.create"
	CalendarsUpdate         Permission = "calendars.update"
	CalendarsDelete         Permission = "calendars.delete"
	AutoRepliesView         Permission = "auto_replies.view"
	AutoRepliesCreate       Permission = "auto_replies.create"
	AutoRepliesUpdate       Permission = "auto_replies.update"
	AutoRepliesDelete       Permission = "auto_replies.delete"
	RulesView               Permission = "rules.view"
	RulesCreate             Permission = "rules.create"
	RulesUpdate             Permission = "rules.update"
	RulesDelete             Permission = "rules.delete"
	ReportsView             Permission = "reports.view"
	SurveysView             Permission = "surveys.view"
	SurveysCreate           Permission = "surveys.create"
	SurveysUpdate           Permission = "surveys.update"
	SurveysDelete           Permission = "surveys.delete"
	RetentionPoliciesView   Permission = "retention_policies.view"
	RetentionPoliciesCreate Permission = "retention_policies.create"
	RetentionPoliciesUpdate Permission = "retention_policies.update"
	RetentionPoliciesDelete Permission = "retention_policies.delete"
	AuditLogView            Permission = "audit_log.view"
)

// Set is the set of a caller's permissions in one account, in any order, some perhaps more than once. It is not to be
// changed, as it may be part of a role.
type Set []Permission

// Has reports whether a permission is in the set. A set has some dozens, which take less time to look through than to put
// into a map for each request.
func (s Set) Has(p Permission) bool { return slices.Contains(s, p) }

// Sorted returns the permissions by name, each once.
func (s Set) Sorted() []Permission {
	all := slices.Sorted(slices.Values(s))
	if all == nil {
		return []Permission{}
	}
	return slices.Compact(all)
}

// PermissionsOf returns the union of the roles' permissions, sorted.
func PermissionsOf(roles []Role) []Permission {
	set := Set{}
	for _, r := range roles {
		set = append(set, r.Permissions...)
	}
	return set.Sorted()
}
