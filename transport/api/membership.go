package api

import (
	"context"
	"net/http"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/transport"
)

// membership as the API shows it.
type membership struct {
	ID           int64           `json:"id"`
	UserID       int64           `json:"user_id"`
	AccountID    int64           `json:"account_id"`
	User         *fullUser       `json:"user,omitempty" description:"With expand=user."`
	Account      *account        `json:"account,omitempty" description:"With expand=account."`
	RoleIDs      []int64         `json:"role_ids" description:"Roles of the member."`
	Roles        []role          `json:"roles,omitzero" description:"With expand=roles."`
	MailboxIDs   []int64         `json:"mailbox_ids" description:"Mailboxes the member can reach, with those that were deleted. Empty: all mailboxes."`
	Mailboxes    []mailbox       `json:"mailboxes,omitzero" description:"With expand=mailboxes. Empty: all mailboxes, or none if those in mailbox_ids were deleted."`
	Permissions  []string        `json:"permissions" description:"Permissions of all roles together, limited by the access token."`
	IsOnline     bool            `json:"is_online"`
	LastActivity *transport.Time `json:"last_activity"`
	CreatedAt    transport.Time  `json:"created_at"`
	UpdatedAt    transport.Time  `json:"updated_at"`
}

// fullUser is a user as members of the account see it.
type fullUser struct {
	ID              int64           `json:"id"`
	Name            string          `json:"name"`
	Initials        string          `json:"initials"`
	Email           string          `json:"email"`
	EmailVerifiedAt *transport.Time `json:"email_verified_at"`
	DisabledAt      *transport.Time `json:"disabled_at" description:"Since when the user is disabled. Null: not disabled."`
	SecondFactorAt  *transport.Time `json:"second_factor_at" description:"When the second factor was set up. Null: none."`
	CreatedAt       transport.Time  `json:"created_at"`
	UpdatedAt       transport.Time  `json:"updated_at"`
}

// user is the user who assigned, wrote or sent something.
type user struct {
	ID       int64   `json:"id"`
	Name     string  `json:"name"`
	Initials string  `json:"initials"`
	IsMe     bool    `json:"is_me"`
	Avatar   *string `json:"avatar" description:"URL of an image. Null if there is none."`
}

// me is the caller.
type me struct {
	ID       int64  `json:"id"`
	Name     string `json:"name"`
	Email    string `json:"email"`
	Initials string `json:"initials"`

	HasPicture  bool            `json:"has_picture" description:"Whether the user has a picture, see getPicture."`
	Preferences userPreferences `json:"preferences" description:"How the user wants to work, in all accounts."`
}

// userPreferences as the API shows them.
type userPreferences struct {
	Language      *string `json:"language" description:"Of the desk. Null: the browser's."`
	TimeZone      *string `json:"time_zone" description:"Of dates in the desk. Null: the browser's."`
	AfterSending  *string `json:"after_sending" enum:"stay,next,list" description:"Where the desk leads after an answer was sent. Null: only closing leads on."`
	AssignOnReply bool    `json:"assign_on_reply" description:"Whether answering in the desk assigns a conversation that nobody has to the user."`
}

type role struct {
	ID          int64  `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

func (a *api) addMemberships(t *transport.Table) {
	transport.Handle(t, a.admin, transport.Operation{
		ID: "getUser", Method: http.MethodGet, Path: "/user", Tag: "Users",
		Summary: "Retrieve the caller",
	}, a.getUser)
	transport.Handle(t, a.desk, transport.Operation{
		ID: "getOwnMembership", Method: http.MethodGet, Path: accountPath + "/membership", Tag: "Memberships",
		Expand:      []string{"user", "account", "roles", "mailboxes"},
		Summary:     "Retrieve the caller's own membership",
		Description: "Expanding needs the permission to view the objects: accounts.view, mailboxes.view.",
	}, a.getOwnMembership)
}

func (a *api) getUser(ctx context.Context, admin *helpdesk.Admin, _ struct{}) (me, error) {
	u, err := admin.Me(ctx)
	return showMe(u), err
}

func (a *api) getOwnMembership(ctx context.Context, d *helpdesk.Desk, in expanding) (membership, error) {
	m, err := d.Membership(ctx)
	return one(ctx, d, m, err, in.Expand, showMemberships)
}

// showMemberships converts a page with one query for each relation.
func showMemberships(ctx context.Context, d *helpdesk.Desk, rows []identity.Membership, expand transport.Expand) ([]membership, error) {
	found, err := findRelations(ctx, d, rows, expand)
	if err != nil {
		return nil, err
	}
	out := make([]membership, len(rows))
	for i, m := range rows {
		out[i] = membership{
			ID: m.ID, UserID: m.UserID, AccountID: d.AccountID(), RoleIDs: listed(m.RoleIDs), MailboxIDs: listed(m.MailboxIDs), Permissions: []string{}, IsOnline: d.Members().Online(m), Account: found.account,
			LastActivity: transport.TimePtr(&m.LastActivity), CreatedAt: transport.Time(m.CreatedAt), UpdatedAt: transport.Time(m.UpdatedAt),
		}
		roles := picked(found.roles, m.RoleIDs)
		permissions := identity.PermissionsOf(roles)
		if m.UserID == d.UserID() {
			permissions = d.Permissions()
		}
		for _, p := range permissions {
			out[i].Permissions = append(out[i].Permissions, string(p))
		}
		if expand.Has("user") {
			out[i].User = pick(found.users, m.UserID)
		}
		if expand.Has("roles") {
			out[i].Roles = []role{}
			for _, r := range roles {
				out[i].Roles = append(out[i].Roles, role{ID: r.ID, Name: r.Name, Description: r.Description})
			}
		}
		if expand.Has("mailboxes") {
			out[i].Mailboxes = listed(picked(found.mailboxes, m.MailboxIDs))
		}
	}
	return out, nil
}

// memberRelations are the objects to which memberships refer.
type memberRelations struct {
	users     map[int64]fullUser
	account   *account
	roles     map[int64]identity.Role
	mailboxes map[int64]mailbox
}

func findRelations(ctx context.Context, d *helpdesk.Desk, rows []identity.Membership, expand transport.Expand) (found memberRelations, err error) {
	others := func(m identity.Membership) bool { return m.UserID != d.UserID() }
	if expand.Has("roles") || slices.ContainsFunc(rows, others) { // the desk has the caller's own permissions
		roles, err := d.Roles().All(ctx)
		if err != nil {
			return memberRelations{}, err
		}
		found.roles = byID(roles, func(r identity.Role) int64 { return r.ID })
	}
	if expand.Has("user") {
		users, err := d.Members().Users(ctx, ids(rows, func(m identity.Membership) []int64 { return []int64{m.UserID} }))
		if err != nil {
			return memberRelations{}, err
		}
		found.users = map[int64]fullUser{}
		for _, u := range users {
			found.users[u.ID] = fullUser{
				ID: u.ID, Name: u.Name, Initials: u.Initials(), Email: u.Email, EmailVerifiedAt: transport.TimePtr(&u.EmailVerifiedAt), DisabledAt: transport.TimePtr(&u.DisabledAt),
				SecondFactorAt: transport.TimePtr(&u.SecondFactorAt),
				CreatedAt:      transport.Time(u.CreatedAt), UpdatedAt: transport.Time(u.UpdatedAt),
			}
		}
	}
	if expand.Has("account") {
		of, err := d.Account().Get(ctx)
		if err != nil {
			return memberRelations{}, err
		}
		shown := showAccount(of, nil)
		found.account = &shown
	}
	if expand.Has("mailboxes") {
		mailboxes, err := d.Mailboxes().ByID(ctx, ids(rows, func(m identity.Membership) []int64 { return m.MailboxIDs }))
		if err != nil {
			return memberRelations{}, err
		}
		found.mailboxes = map[int64]mailbox{}
		for _, m := range mailboxes {
			found.mailboxes[m.ID] = showMailbox(d, m)
		}
	}
	return found, nil
}

// picked returns the objects with the given ids, in that order, without missing ones.
func picked[T any](shown map[int64]T, ids []int64) []T {
	var out []T
	for _, id := range ids {
		if one, ok := shown[id]; ok {
			out = append(out, one)
		}
	}
	return out
}

// findUsers returns users by id, for showing them.
func findUsers(ctx context.Context, d *helpdesk.Desk, ids []int64) (map[int64]user, error) {
	found, err := d.Members().Users(ctx, ids)
	shown := make(map[int64]user, len(found))
	for _, u := range found {
		shown[u.ID] = user{ID: u.ID, Name: u.Name, Initials: u.Initials(), IsMe: u.ID == d.UserID()}
	}
	return shown, err
}

// pick returns the object with an id, nil if it is missing: a user may have left.
func pick[T any](shown map[int64]T, id int64) *T {
	if one, ok := shown[id]; ok {
		return &one
	}
	return nil
}
