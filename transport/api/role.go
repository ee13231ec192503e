package api

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// fullRole is a role with its permissions.
type fullRole struct {
	ID          int64          `json:"id"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	IsBuiltIn   bool           `json:"is_built_in" description:"Built-in roles cannot be changed or deleted."`
	Permissions []string       `json:"permissions"`
	CreatedAt   transport.Time `json:"created_at"`
	UpdatedAt   transport.Time `json:"updated_at"`
}

type roleID struct {
	RoleID int64 `path:"role_id"`
}

type roleInput struct {
	Name        string                `json:"name" required:"true" maxLength:"100" example:"Night shift"`
	Description storage.Opt[string]   `json:"description" maxLength:"1000"`
	Permissions storage.Opt[[]string] `json:"permissions" maxItems:"1000" description:"Permissions such as conversations.view. Omitted in an update, they stay unchanged."`
}

type roleUpdate struct {
	roleID
	roleInput
}

func (a *api) addRoles(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Roles", Summary: summary, Description: description}
	}
	transport.HandlePage(t, a.desk, op("listRoles", http.MethodGet, rolesPath, "List roles",
		"Built-in ones first. Needs roles.view."), a.listRoles)
	transport.Handle(t, a.desk, op("getRole", http.MethodGet, rolePath, "Retrieve a role", "Needs roles.view."), a.getRole)
	create := op("createRole", http.MethodPost, rolesPath, "Create a role",
		"Needs roles.create, and every permission that the role grants.")
	create.Status = http.StatusCreated
	transport.Handle(t, a.desk, create, a.createRole)
	transport.Handle(t, a.desk, op("updateRole", http.MethodPut, rolePath, "Update a role",
		"Applies to everybody who has it. 409 with code built_in_role for a built-in role. Needs roles.update, and every "+
			"permission that the role grants before and after."), a.updateRole)
	transport.HandleEmpty(t, a.desk, op("deleteRole", http.MethodDelete, rolePath, "Delete a role",
		"409 with code role_in_use if a member or an open invitation has it. 409 with code built_in_role for a built-in role. "+
			"Needs roles.delete, and every permission that the role grants."), a.deleteRole)
}

func (in roleInput) input() identity.RoleInput {
	out := identity.RoleInput{Name: in.Name, Description: in.Description}
	if in.Permissions.IsSet() {
		out.Permissions = storage.Some(asPermissions(in.Permissions.Or(nil)))
	}
	return out
}

func asPermissions(names []string) []identity.Permission {
	var out []identity.Permission
	for _, name := range names {
		out = append(out, identity.Permission(name))
	}
	return out
}

func permissionNames(permissions []identity.Permission) []string {
	out := make([]string, len(permissions))
	for i, p := range permissions {
		out[i] = string(p)
	}
	return out
}

func (a *api) listRoles(ctx context.Context, d *helpdesk.Desk, in transport.Paging) (storage.Page[fullRole], error) {
	page, err := d.Roles().List(ctx, in.Request())
	return mapPage(page, showRole), err
}

func (a *api) getRole(ctx context.Context, d *helpdesk.Desk, in roleID) (fullRole, error) {
	found, err := d.Roles().Get(ctx, in.RoleID)
	return showRole(found), err
}

func (a *api) createRole(ctx context.Context, d *helpdesk.Desk, in roleInput) (fullRole, error) {
	created, err := d.Roles().Create(ctx, in.input())
	return showRole(created), err
}

func (a *api) updateRole(ctx context.Context, d *helpdesk.Desk, in roleUpdate) (fullRole, error) {
	changed, err := d.Roles().Update(ctx, in.RoleID, in.input())
	return showRole(changed), err
}

func (a *api) deleteRole(ctx context.Context, d *helpdesk.Desk, in roleID) error {
	return d.Roles().Delete(ctx, in.RoleID)
}

func showRole(r identity.Role) fullRole {
	return fullRole{
		ID: r.ID, Name: r.Name, Description: r.Description, IsBuiltIn: r.Key != "", Permissions: permissionNames(r.Permissions),
		CreatedAt: transport.Time(r.CreatedAt), UpdatedAt: transport.Time(r.UpdatedAt),
	}
}
