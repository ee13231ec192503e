package identity

import (
	"time"

	"github.com/helpwright/helpwright/storage"
)

// Role is a set of permissions that memberships refer to. The permissions of built-in roles are defined in code, so that a
// release can extend them; their rows contain only the key.
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

// RoleInput is a custom role.
type RoleInput struct {
	Name        string // required, at most 100 characters; unique in the account, ignoring case
	Description storage.Opt[string]
	Permissions storage.Opt[[]Permission]
}
