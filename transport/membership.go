package transport

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage/fault"
)

// membership as the API shows it.
type membership struct {
	ID           int64     `json:"id"`
	UserID       int64     `json:"user_id"`
	AccountID    int64     `json:"account_id"`
	User         *fullUser `json:"user,omitempty" description:"With expand=user."`
	Account      *account  `json:"account,omitempty" description:"With expand=account."`
	Roles        []role    `json:"roles,omitzero" description:"With expand=roles."`
	Mailboxes    []mailbox `json:"mailboxes,omitzero" description:"With expand=mailboxes. Empty: the member reaches all mailboxes."`
	Permissions  []string  `json:"permissions" description:"Of all roles together, as far as the access token goes."`
	IsOnline     bool      `json:"is_online"`
	LastActivity *Time     `json:"last_activity"`
	CreatedAt    Time      `json:"created_at"`
	UpdatedAt    Time      `json:"updated_at"`
}

// fullUser is a user to the members of the account.
type fullUser struct {
	ID              int64  `json:"id"`
	Name            string `json:"name"`
	Initials        string `json:"initials"`
	Email           string `json:"email"`
	EmailVerifiedAt *Time  `json:"email_verified_at"`
	CreatedAt       Time   `json:"created_at"`
	UpdatedAt       Time   `json:"updated_at"`
}

// user is who assigned, wrote or sent something.
type user struct {
	ID       int64   `json:"id"`
	Name     string  `json:"name"`
	Initials string  `json:"initials"`
	IsMe     bool    `json:"is_me"`
	Avatar   *string `json:"avatar" description:"URL of an image; null without one."`
}

// me is the caller.
type me struct {
	ID       int64  `json:"id"`
	Name     string `json:"name"`
	Email    string `json:"email"`
	Initials string `json:"initials"`
}

type role struct {
	ID          int64  `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

func (a *api) addMemberships(t *Table) {
	Handle(t, a.admin, Operation{
		ID: "getUser", Method: http.MethodGet, Path: "/user", Tag: "Users",
		Summary: "Retrieve the caller",
	}, a.getUser)
	Handle(t, a.desk, Operation{
		ID: "getOwnMembership", Method: http.MethodGet, Path: accountPath + "/membership", Tag: "Memberships",
		Expand:      []string{"user", "account", "roles", "mailboxes"},
		Summary:     "Retrieve the caller's own membership",
		Description: "To expand needs what seeing the objects needs: accounts.view, mailboxes.view.",
	}, a.getOwnMembership)
}

func (a *api) getUser(ctx context.Context, admin *helpdesk.Admin, _ struct{}) (me, error) {
	u, err := admin.Me(ctx)
	return me{ID: u.ID, Name: u.Name, Email: u.Email, Initials: u.Initials()}, err
}

func ownUser(ctx context.Context, d *helpdesk.Desk) (helpdesk.User, error) {
	users, err := d.UsersByID(ctx, []int64{d.UserID()})
	if err == nil && len(users) == 0 {
		err = fault.Missing("user", d.UserID())
	}
	if err != nil {
		return helpdesk.User{}, err
	}
	return users[0], nil
}

func (a *api) getOwnMembership(ctx context.Context, d *helpdesk.Desk, in expanding) (membership, error) {
	m, err := d.Membership(ctx)
	if err != nil {
		return membership{}, err
	}
	out := membership{
		ID: m.ID, UserID: m.UserID, AccountID: d.AccountID(), Permissions: []string{}, IsOnline: d.Online(m),
		LastActivity: TimePtr(&m.LastActivity), CreatedAt: Time(m.CreatedAt), UpdatedAt: Time(m.UpdatedAt),
	}
	for _, p := range d.Permissions() {
		out.Permissions = append(out.Permissions, string(p))
	}
	return out, a.expandMembership(ctx, d, m, &out, in.Expand)
}

func (a *api) expandMembership(ctx context.Context, d *helpdesk.Desk, m helpdesk.Membership, out *membership, expand Expand) error {
	if expand.Has("user") {
		u, err := ownUser(ctx, d)
		if err != nil {
			return err
		}
		out.User = &fullUser{
			ID: u.ID, Name: u.Name, Initials: u.Initials(), Email: u.Email, EmailVerifiedAt: TimePtr(&u.EmailVerifiedAt),
			CreatedAt: Time(u.CreatedAt), UpdatedAt: Time(u.UpdatedAt),
		}
	}
	if expand.Has("account") {
		found, err := d.Account(ctx)
		if err != nil {
			return err
		}
		shown := showAccount(found, nil)
		out.Account = &shown
	}
	if expand.Has("roles") {
		roles, err := d.Roles(ctx)
		if err != nil {
			return err
		}
		known := byID(roles, func(r helpdesk.Role) int64 { return r.ID })
		out.Roles = []role{}
		for _, id := range m.RoleIDs {
			if r, ok := known[id]; ok {
				out.Roles = append(out.Roles, role{ID: r.ID, Name: r.Name, Description: r.Description})
			}
		}
	}
	if expand.Has("mailboxes") {
		found, err := d.MailboxesByID(ctx, m.MailboxIDs)
		if err != nil {
			return err
		}
		known := byID(found, func(m helpdesk.Mailbox) int64 { return m.ID })
		out.Mailboxes = []mailbox{}
		for _, id := range m.MailboxIDs {
			if one, ok := known[id]; ok {
				out.Mailboxes = append(out.Mailboxes, showMailbox(d, one))
			}
		}
	}
	return nil
}

// users finds users by id for showing them.
func findUsers(ctx context.Context, d *helpdesk.Desk, ids []int64) (map[int64]user, error) {
	found, err := d.UsersByID(ctx, ids)
	shown := make(map[int64]user, len(found))
	for _, u := range found {
		shown[u.ID] = user{ID: u.ID, Name: u.Name, Initials: u.Initials(), IsMe: u.ID == d.UserID()}
	}
	return shown, err
}

// pick is the object of an id, nil when there is none: a user may have left.
func pick[T any](shown map[int64]T, id int64) *T {
	if one, ok := shown[id]; ok {
		return &one
	}
	return nil
}
