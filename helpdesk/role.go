package helpdesk

import (
	"context"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
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

// resolve sets the permissions of built-in roles.
func resolve(roles []Role) []Role {
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

// maxRoles limits the number of roles in an account, including the built-in ones.
const maxRoles = 200

// RoleInput is a custom role.
type RoleInput struct {
	Name        string // required, at most 100 characters; unique in the account, ignoring case
	Description storage.Opt[string]
	Permissions storage.Opt[[]Permission]
}

// PermissionsOf returns the union of the roles' permissions, sorted.
func PermissionsOf(roles []Role) []Permission {
	set := permissionSet{}
	for _, r := range roles {
		for _, p := range r.Permissions {
			set[p] = true
		}
	}
	return set.sorted()
}

// ListRoles lists the roles by id. It needs roles.view.
func (d *Desk) ListRoles(ctx context.Context, req storage.PageRequest) (storage.Page[Role], error) {
	r, err := d.guard.Read(RolesView)
	if err != nil {
		return storage.Page[Role]{}, err
	}
	all, err := r.Roles().List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return storage.Page[Role]{}, err
	}
	all = resolve(all)
	return storage.List(req, false, func(r Role) storage.Position { return storage.Position{ID: r.ID} },
		func(seek storage.Seek) ([]Role, error) { return cutRoles(all, seek), nil })
}

// cutRoles returns the page of a short list that seek selects.
func cutRoles(all []Role, seek storage.Seek) []Role {
	all = slices.Clone(all)
	if seek.Desc {
		slices.Reverse(all)
	}
	if seek.From != nil {
		all = slices.DeleteFunc(all, func(r Role) bool {
			return !seek.Desc && r.ID <= seek.From.ID || seek.Desc && r.ID >= seek.From.ID
		})
	}
	return all[:min(len(all), seek.Limit)]
}

// Role returns a role. It needs roles.view.
func (d *Desk) Role(ctx context.Context, id int64) (Role, error) {
	r, err := d.guard.Read(RolesView)
	if err != nil {
		return Role{}, err
	}
	return roleOf(ctx, r, id)
}

func roleOf(ctx context.Context, r Reader, id int64) (Role, error) {
	role, err := r.Roles().Get(ctx, id)
	if err != nil {
		return Role{}, err
	}
	return resolve([]Role{role})[0], nil
}

// CreateRole creates a custom role. It needs roles.create and every permission that the role
// grants. An account has at most 200 roles.
func (d *Desk) CreateRole(ctx context.Context, in RoleInput) (Role, error) {
	begin, err := d.guard.Write(RolesCreate)
	if err != nil {
		return Role{}, err
	}
	if err := validateRole(&in); err != nil {
		return Role{}, err
	}
	now := d.svc.now()
	role := Role{CreatedAt: now, UpdatedAt: now}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := d.fillRole(ctx, tx, &role, in); err != nil {
			return err
		}
		if err := tx.Roles().Insert(ctx, &role); err != nil {
			return err
		}
		return d.emit(ctx, tx, "role.created", role.ID, 0)
	})
	return role, err
}

// UpdateRole changes a custom role for all its members. It needs roles.update and every permission
// that the role granted before or grants after. A member limited to some mailboxes may not change
// it, since others hold the role in all of them. A built-in role is a Conflict fault with code
// built_in_role.
func (d *Desk) UpdateRole(ctx context.Context, id int64, in RoleInput) (Role, error) {
	begin, err := d.guard.Write(RolesUpdate)
	if err != nil {
		return Role{}, err
	}
	if err := d.reachesAll(); err != nil {
		return Role{}, err
	}
	if err := validateRole(&in); err != nil {
		return Role{}, err
	}
	var role Role
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if role, err = d.customRole(ctx, tx, id); err != nil {
			return err
		}
		if err := d.fillRole(ctx, tx, &role, in); err != nil {
			return err
		}
		role.UpdatedAt = d.svc.now()
		if err := tx.Roles().Update(ctx, &role); err != nil {
			return err
		}
		return d.emit(ctx, tx, "role.updated", role.ID, 0)
	})
	return role, err
}

// DeleteRole removes a custom role. It needs roles.delete and every permission that the role
// grants. A role that a member, an open invitation or a join rule has is a Conflict fault with code
// role_in_use; a built-in role is a Conflict fault, too.
func (d *Desk) DeleteRole(ctx context.Context, id int64) error {
	begin, err := d.guard.Write(RolesDelete)
	if err != nil {
		return err
	}
	if err := d.reachesAll(); err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		if _, err := d.customRole(ctx, tx, id); err != nil {
			return err
		}
		err := eachInvitation(ctx, tx.Reader(), func(i Invitation) error {
			if slices.Contains(i.RoleIDs, id) && i.ExpiresAt.After(d.svc.now()) {
				return roleInUse("An invitation grants this role.", nil)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := ruledRole(ctx, tx.Reader(), id); err != nil {
			return err
		}
		err = tx.Roles().Delete(ctx, id)
		if fault.Is(err, fault.Conflict) {
			return roleInUse("A member has this role.", err)
		}
		if err != nil {
			return err
		}
		return d.emit(ctx, tx, "role.deleted", id, 0)
	})
}

func roleInUse(message string, err error) error {
	return &fault.Error{Kind: fault.Conflict, Code: "role_in_use", Message: message, Err: err}
}

// customRole returns a role that the caller may change, and locks the account.
func (d *Desk) customRole(ctx context.Context, tx Tx, id int64) (Role, error) {
	if err := tx.LockAccount(ctx); err != nil {
		return Role{}, err
	}
	role, err := roleOf(ctx, tx.Reader(), id)
	switch {
	case err != nil:
		return Role{}, err
	case role.Key != "":
		return Role{}, &fault.Error{Kind: fault.Conflict, Code: "built_in_role", Message: "A built-in role cannot be changed or deleted."}
	case !d.holdsAll(role.Permissions):
		return Role{}, fault.New(fault.Forbidden, "The role grants more than you have.")
	}
	return role, nil
}

func validateRole(in *RoleInput) error {
	in.Name = plain.Line(in.Name)
	var problems fault.Collector
	required(&problems, "name", in.Name, 100)
	bounded(&problems, "description", in.Description.Or(""), 1000)
	checkPermissions(&problems, "permissions", in.Permissions.Or(nil))
	return problems.Err()
}

func checkPermissions(problems *fault.Collector, field string, all []Permission) {
	known := setOf(Permissions())
	problems.Check(len(all) <= 1000, field, "has more than 1000 items")
	for _, p := range all[:min(len(all), 1000)] {
		problems.Check(known[p], field, "has an unknown permission: "+plain.Cut(plain.Text(string(p)), 64))
	}
}

// fillRole copies the validated input. It locks the account, so that names stay unique.
func (d *Desk) fillRole(ctx context.Context, tx Tx, role *Role, in RoleInput) error {
	role.Name = in.Name
	role.Description = plain.Text(in.Description.Or(role.Description))
	role.Permissions = setOf(in.Permissions.Or(role.Permissions)).sorted()
	if !d.holdsAll(role.Permissions) {
		return fault.New(fault.Forbidden, "You cannot grant more than you have.")
	}
	if err := tx.LockAccount(ctx); err != nil {
		return err
	}
	all, err := tx.Roles().List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return err
	}
	if role.ID == 0 && len(all) >= maxRoles {
		return fault.Newf(fault.Conflict, "An account has at most %d roles.", maxRoles)
	}
	if slices.ContainsFunc(all, func(r Role) bool { return r.ID != role.ID && mailaddr.Fold(r.Name) == mailaddr.Fold(role.Name) }) {
		return fault.Field("name", "is already taken")
	}
	return nil
}
