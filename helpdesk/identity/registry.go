package identity

import (
	"fmt"
	"maps"
	"slices"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Registry knows the permissions and the event areas of all domains that share the accounts. It is safe for concurrent use.
type Registry struct {
	permissions []Permission          // sorted
	builtIn     []Role                // without ids
	areas       map[string]Permission // that viewing events needs, by area
}

// NewRegistry registers domains. An Invalid fault lists what two domains announce, and areas and roles with permissions that
// none does.
func NewRegistry(domains ...storage.Domain) (*Registry, error) {
	r := &Registry{areas: map[string]Permission{}}
	var problems fault.Collector
	held := map[string][]Permission{}
	for i, d := range domains {
		field := fmt.Sprintf("Domains[%d]", i)
		for _, p := range d.Permissions {
			problems.Check(!slices.Contains(r.permissions, Permission(p)), field, "announces "+p+", which another domain has")
			r.permissions = append(r.permissions, Permission(p))
		}
		for key, permissions := range d.Roles {
			for _, p := range permissions {
				problems.Check(slices.Contains(d.Permissions, p), field, "grants "+p+" to the role "+key+", which it does not announce")
				held[key] = append(held[key], Permission(p))
			}
		}
		for area, p := range d.Areas {
			problems.Check(r.areas[area] == "", field, "announces events of "+area+", which another domain has")
			problems.Check(slices.Contains(d.Permissions, p), field, "shows events of "+area+" for "+p+", which it does not announce")
			r.areas[area] = Permission(p)
		}
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	slices.Sort(r.permissions)
	held[RoleOwner] = r.permissions
	held[RoleAdmin] = slices.DeleteFunc(slices.Clone(r.permissions), func(p Permission) bool { return p == AccountsDelete })
	for _, role := range []Role{
		{Key: RoleOwner, Name: "Owner", Description: "May do everything."},
		{Key: RoleAdmin, Name: "Admin", Description: "May do everything but delete the account."},
		{Key: RoleAgent, Name: "Agent", Description: "Works on conversations and customers, reads the settings."},
		{Key: RoleCollaborator, Name: "Collaborator", Description: "Reads conversations and writes notes."},
		{Key: RoleEditor, Name: "Editor", Description: "Works on the knowledge base only."},
	} {
		role.Permissions = held[role.Key]
		r.builtIn = append(r.builtIn, role)
	}
	return r, nil
}

// Permissions returns all permissions, sorted.
func (r *Registry) Permissions() []Permission { return slices.Clone(r.permissions) }

// Knows reports whether a domain announced the permission.
func (r *Registry) Knows(p Permission) bool {
	_, found := slices.BinarySearch(r.permissions, p)
	return found
}

// BuiltInRoles returns the roles that every account has, without ids.
func (r *Registry) BuiltInRoles() []Role { return slices.Clone(r.builtIn) }

// Resolve sets the permissions of built-in roles, and returns the same roles.
func (r *Registry) Resolve(roles []Role) []Role {
	for i, role := range roles {
		if at := slices.IndexFunc(r.builtIn, func(b Role) bool { return role.Key != "" && b.Key == role.Key }); at >= 0 {
			roles[i].Permissions = r.builtIn[at].Permissions
		} else if role.Key != "" {
			roles[i].Permissions = nil
		}
	}
	return roles
}

// Areas returns the areas of all events, sorted.
func (r *Registry) Areas() []string { return slices.Sorted(maps.Keys(r.areas)) }

// Views returns the permission that viewing the events of an area needs, and whether a domain announced the area.
func (r *Registry) Views(area string) (p Permission, known bool) {
	p, known = r.areas[area]
	return p, known
}
