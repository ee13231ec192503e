package helpdesk

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// roleNoun declares the rows of roles. A store refuses to delete a role that a membership has: that is a Conflict fault.
func roleNoun() storage.Declared[identity.Role, storage.NoFilter] {
	return storage.Declared[identity.Role, storage.NoFilter]{
		Noun: storage.Noun[identity.Role]{Name: "role", ID: func(r *identity.Role) *int64 { return &r.ID }},
		Key:  "role", Plural: "roles",
		Columns: []storage.Column[identity.Role]{
			{Name: "role_key", Field: func(r *identity.Role) any { return &r.Key }},
			{Name: "name", Field: func(r *identity.Role) any { return &r.Name }},
			{Name: "description", Field: func(r *identity.Role) any { return &r.Description }},
			{Name: "permissions", Field: func(r *identity.Role) any { return storage.Texts(&r.Permissions) }},
			{Name: "created_at", Field: func(r *identity.Role) any { return &r.CreatedAt }},
			{Name: "updated_at", Field: func(r *identity.Role) any { return &r.UpdatedAt }},
		},
	}
}

// maxRoles limits the number of roles in an account, including the built-in ones.
const maxRoles = 200

// Roles are the account's roles, each a set of permissions.
type Roles struct{ *desk }

// Roles returns the handle of roles.
func (d *Desk) Roles() Roles { return Roles{&d.desk} }

// List lists the roles by id. It needs roles.view.
func (d Roles) List(ctx context.Context, req storage.PageRequest) (storage.Page[identity.Role], error) {
	r, err := d.guard.Read(identity.RolesView)
	if err != nil {
		return storage.Page[identity.Role]{}, err
	}
	all, err := roleNoun().Reader(r).List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return storage.Page[identity.Role]{}, err
	}
	all = d.svc.registry.Resolve(all)
	return storage.List(req, false, func(r identity.Role) storage.Position { return storage.Position{ID: r.ID} },
		func(seek storage.Seek) ([]identity.Role, error) { return cutRoles(all, seek), nil })
}

// cutRoles returns the page of a short list that seek selects.
func cutRoles(all []identity.Role, seek storage.Seek) []identity.Role {
	all = slices.Clone(all)
	if seek.Desc {
		slices.Reverse(all)
	}
	if seek.From != nil {
		all = slices.DeleteFunc(all, func(r identity.Role) bool {
			return !seek.Desc && r.ID <= seek.From.ID || seek.Desc && r.ID >= seek.From.ID
		})
	}
	return all[:min(len(all), seek.Limit)]
}

// Get returns a role. It needs roles.view.
func (d Roles) Get(ctx context.Context, id int64) (identity.Role, error) {
	r, err := d.guard.Read(identity.RolesView)
	if err != nil {
		return identity.Role{}, err
	}
	return d.svc.roleOf(ctx, r, id)
}

func (s *Service) roleOf(ctx context.Context, r Reader, id int64) (identity.Role, error) {
	role, err := roleNoun().Reader(r).Get(ctx, id)
	if err != nil {
		return identity.Role{}, err
	}
	return s.registry.Resolve([]identity.Role{role})[0], nil
}

// Create creates a custom role. It needs roles.create and every permission that the role grants. An account has at most
// 200 roles.
func (d Roles) Create(ctx context.Context, in identity.RoleInput) (identity.Role, error) {
	begin, err := d.guard.Write(identity.RolesCreate)
	if err != nil {
		return identity.Role{}, err
	}
	if err := d.svc.validateRole(&in); err != nil {
		return identity.Role{}, err
	}
	now := d.svc.now()
	role := identity.Role{CreatedAt: now, UpdatedAt: now}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := d.fillRole(ctx, tx, &role, in); err != nil {
			return err
		}
		if err := roleNoun().Rows(tx).Insert(ctx, &role); err != nil {
			return err
		}
		return d.emit(ctx, tx, "role.created", role.ID, 0)
	})
	return role, err
}

// Update changes a custom role for all its members. It needs roles.update and every permission that the role granted
// before or grants after. A member limited to some mailboxes may not change it, since others hold the role in all of them. A
// built-in role is a Conflict fault with code built_in_role.
func (d Roles) Update(ctx context.Context, id int64, in identity.RoleInput) (identity.Role, error) {
	begin, err := d.guard.Write(identity.RolesUpdate)
	if err != nil {
		return identity.Role{}, err
	}
	if err := d.reachesAll(); err != nil {
		return identity.Role{}, err
	}
	if err := d.svc.validateRole(&in); err != nil {
		return identity.Role{}, err
	}
	var role identity.Role
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if role, err = d.customRole(ctx, tx, id); err != nil {
			return err
		}
		old := role
		if err := d.fillRole(ctx, tx, &role, in); err != nil {
			return err
		}
		role.UpdatedAt = d.svc.now()
		if err := roleNoun().Rows(tx).Update(ctx, &role); err != nil {
			return err
		}
		return d.emitChanged(ctx, tx, "role.updated", role.ID, 0, ofRole(old, role))
	})
	return role, err
}

// Delete removes a custom role. It needs roles.delete and every permission that the role grants. A role that a member,
// an open invitation or a join rule has is a Conflict fault with code role_in_use; a built-in role is a Conflict fault, too.
func (d Roles) Delete(ctx context.Context, id int64) error {
	begin, err := d.guard.Write(identity.RolesDelete)
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
		err := eachInvitation(ctx, tx.Reader(), func(i identity.Invitation) error {
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
		err = roleNoun().Rows(tx).Delete(ctx, id)
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
func (d *desk) customRole(ctx context.Context, tx Tx, id int64) (identity.Role, error) {
	if err := tx.LockAccount(ctx); err != nil {
		return identity.Role{}, err
	}
	role, err := d.svc.roleOf(ctx, tx.Reader(), id)
	switch {
	case err != nil:
		return identity.Role{}, err
	case role.Key != "":
		return identity.Role{}, &fault.Error{Kind: fault.Conflict, Code: "built_in_role", Message: "A built-in role cannot be changed or deleted."}
	case !d.holdsAll(role.Permissions):
		return identity.Role{}, fault.New(fault.Forbidden, "The role grants more than you have.")
	}
	return role, nil
}

func (s *Service) validateRole(in *identity.RoleInput) error {
	in.Name = plain.Line(in.Name)
	var problems fault.Collector
	required(&problems, "name", in.Name, 100)
	bounded(&problems, "description", in.Description.Or(""), 1000)
	s.checkPermissions(&problems, "permissions", in.Permissions.Or(nil))
	return problems.Err()
}

func (s *Service) checkPermissions(problems *fault.Collector, field string, all []identity.Permission) {
	problems.Check(len(all) <= 1000, field, "has more than 1000 items")
	for _, p := range all[:min(len(all), 1000)] {
		problems.Check(s.registry.Knows(p), field, "has an unknown permission: "+plain.Cut(plain.Text(string(p)), 64))
	}
}

// fillRole copies the validated input. It locks the account, so that names stay unique.
func (d *desk) fillRole(ctx context.Context, tx Tx, role *identity.Role, in identity.RoleInput) error {
	role.Name = in.Name
	role.Description = plain.Text(in.Description.Or(role.Description))
	role.Permissions = identity.Set(in.Permissions.Or(role.Permissions)).Sorted()
	if !d.holdsAll(role.Permissions) {
		return fault.New(fault.Forbidden, "You cannot grant more than you have.")
	}
	if err := tx.LockAccount(ctx); err != nil {
		return err
	}
	all, err := roleNoun().Rows(tx).List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return err
	}
	if role.ID == 0 && len(all) >= maxRoles {
		return fault.Newf(fault.Conflict, "An account has at most %d roles.", maxRoles)
	}
	if slices.ContainsFunc(all, func(r identity.Role) bool {
		return r.ID != role.ID && tagKey(r.Name) == tagKey(role.Name)
	}) {
		return fault.Field("name", "is already taken")
	}
	return nil
}
