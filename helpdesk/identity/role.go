package identity

import (
	"time"

	"github.com/helpwright/helpwright/storage"
)

// Role is a set of permissions that memberships refer to. The permissions of built-in roles are
// defined in code, so that a release can extend them; their rows contain only the key.
type Role struct {
	ID          int64
	Key         string // "owner", "admin", "agent", "collaborator" or "editor"; "" for a custom role
	Name        string
	Description string
	Permissions []Permission // of a custom role as stored; the service fills in those of a built-in one
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Keys of the built-in roles.
const (
	RoleOwner        = "owner"
	RoleAdmin        = "admin"
	RoleAgent        = "agent"
	RoleCollaborator = "collaborator"
	RoleEditor       = "editor"
)

// BuiltInRoles returns the roles that every account has, without ids.
func BuiltInRoles() []Role {
	return []Role{
		{Key: RoleOwner, Name: "Owner", Description: "May do everything.", Permissions: Permissions()},
		{Key: RoleAdmin, Name: "Admin", Description: "May do everything but delete the account.",
			Permissions: without(Permissions(), AccountsDelete)},
		{Key: RoleAgent, Name: "Agent", Description: "Works on conversations and customers, reads the settings.",
			Permissions: []Permission{
				AccountsView, MembershipsView, RolesView, MailboxesView,
				CustomersView, CustomersCreate, CustomersUpdate,
				ConversationsView, ConversationsCreate, ConversationsUpdate, ConversationsDelete, ConversationsAssign,
				InteractionsView, InteractionsCreate, InteractionsUpdate, InteractionsDelete, NotesCreate,
				TagsView, TagsCreate, ViewsView, ViewsCreate, ViewsUpdate, ViewsDelete, DomainsView, PGPKeysView,
				"sites.view", "collections.view", "categories.view", "articles.view", "feedback.view", "files.view", "themes.view",
			}},
		{Key: RoleCollaborator, Name: "Collaborator", Description: "Reads conversations and writes notes.",
			Permissions: []Permission{
				AccountsView, MembershipsView, RolesView, MailboxesView, CustomersView,
				ConversationsView, InteractionsView, NotesCreate, TagsView, ViewsView,
			}},
		{Key: RoleEditor, Name: "Editor", Description: "Works on the knowledge base only.",
			Permissions: append([]Permission{AccountsView}, knowledgeBase...)},
	}
}

func without(all []Permission, p Permission) []Permission {
	var rest []Permission
	for _, q := range all {
		if q != p {
			rest = append(rest, q)
		}
	}
	return rest
}

// Resolve sets the permissions of built-in roles.
func Resolve(roles []Role) []Role {
	builtIn := map[string][]Permission{}
	for _, r := range BuiltInRoles() {
		builtIn[r.Key] = r.Permissions
	}
	for i, r := range roles {
		if r.Key != "" {
			roles[i].Permissions = builtIn[r.Key]
		}
	}
	return roles
}

// RoleInput is a custom role.
type RoleInput struct {
	Name        string // required, at most 100 characters; unique in the account, ignoring case
	Description storage.Opt[string]
	Permissions storage.Opt[[]Permission]
}
