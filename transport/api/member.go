package api

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// Paths of members, users and roles.
const (
	membershipsPath  = accountPath + "/memberships"
	membershipPath   = membershipsPath + "/{membership_id}"
	availabilityPath = membershipPath + "/preferences/availability"
	rolesPath        = accountPath + "/roles"
	rolePath         = rolesPath + "/{role_id}"
	invitationsPath  = accountPath + "/invitations"
	tokensPath       = "/user/tokens" // a path
)

type membershipID struct {
	MembershipID int64 `path:"membership_id"`
}

type membershipList struct {
	expanding
	transport.Paging
}

type membershipRef struct {
	membershipID
	expanding
}

type membershipUpdate struct {
	membershipID
	expanding
	Roles     []int64              `json:"roles" alias:"role_ids" required:"true" maxItems:"1000" description:"Ids."`
	Mailboxes storage.Opt[[]int64] `json:"mailboxes" alias:"mailbox_ids" maxItems:"1000" description:"Ids of the mailboxes the member can reach. Null: all. Empty: all, but a member whose mailboxes were all deleted stays limited to these. Omitted, they stay unchanged."`
}

func (a *api) addMembers(t *transport.Table) {
	expand := []string{"user", "account", "roles", "mailboxes"}
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Memberships", Summary: summary, Description: description, Expand: expand}
	}
	transport.HandlePage(t, a.desk, op("listMemberships", http.MethodGet, membershipsPath, "List memberships",
		"Oldest first. Needs memberships.view, and the permission to view expanded objects."), a.listMemberships)
	transport.Handle(t, a.desk, op("getMembership", http.MethodGet, membershipPath, "Retrieve a membership",
		"Needs memberships.view, and the permission to view expanded objects."), a.getMembership)
	transport.Handle(t, a.desk, op("updateMembership", http.MethodPut, membershipPath, "Change what a member may do",
		"403 to change a member with more permissions than the caller, or to grant more than the caller has. 409 with code "+
			"last_owner to change the last owner. Needs memberships.update."), a.updateMembership)
	transport.HandleEmpty(t, a.desk, transport.Operation{
		ID: "deleteMembership", Method: http.MethodDelete, Path: membershipPath, Tag: "Memberships",
		Summary:     "End a membership",
		Description: "Also the caller's own. 409 with code last_owner for the last owner. Needs memberships.delete.",
	}, a.deleteMembership)
	const touched = " 403 for the caller and for members with more permissions. 409 with code other_accounts for a member of other accounts: only the operator can do this. Needs memberships.update."
	transport.HandleEmpty(t, a.desk, transport.Operation{
		ID: "disableMember", Method: http.MethodPost, Path: membershipPath + "/disable", Tag: "Memberships",
		Summary: "Disable a member",
		Description: "Until enabled again, the user cannot sign in, sessions end and access tokens are refused. " +
			"Membership and assignments stay." + touched,
	}, func(ctx context.Context, d *helpdesk.Desk, in membershipID) error {
		return d.Members().Disable(ctx, in.MembershipID)
	})
	transport.HandleEmpty(t, a.desk, transport.Operation{
		ID: "enableMember", Method: http.MethodPost, Path: membershipPath + "/enable", Tag: "Memberships",
		Summary:     "Enable a member",
		Description: "The user must sign in again; access tokens work again." + touched,
	}, func(ctx context.Context, d *helpdesk.Desk, in membershipID) error {
		return d.Members().Enable(ctx, in.MembershipID)
	})
	transport.HandleEmpty(t, a.desk, transport.Operation{
		ID: "resetSecondFactor", Method: http.MethodDelete, Path: membershipPath + "/second-factor", Tag: "Memberships",
		Summary: "Remove a member's second factor",
		Description: "For who has lost it: the user signs in with the password alone then, and sessions end. " +
			"Make sure first that it is the member who asks." + touched,
	}, func(ctx context.Context, d *helpdesk.Desk, in membershipID) error {
		return d.Members().ResetSecondFactor(ctx, in.MembershipID)
	})
}

func (a *api) listMemberships(ctx context.Context, d *helpdesk.Desk, in membershipList) (storage.Page[membership], error) {
	page, err := d.Members().List(ctx, in.Request())
	if err != nil {
		return storage.Page[membership]{}, err
	}
	shown, err := showMemberships(ctx, d, page.Items, in.Expand)
	return storage.Page[membership]{Items: shown, Next: page.Next, Prev: page.Prev}, err
}

func (a *api) getMembership(ctx context.Context, d *helpdesk.Desk, in membershipRef) (membership, error) {
	m, err := d.Members().Get(ctx, in.MembershipID)
	return one(ctx, d, m, err, in.Expand, showMemberships)
}

func (a *api) updateMembership(ctx context.Context, d *helpdesk.Desk, in membershipUpdate) (membership, error) {
	if err := mayExpand(d, in.Expand); err != nil {
		return membership{}, err
	}
	m, err := d.Members().Update(ctx, in.MembershipID, identity.MembershipUpdate{RoleIDs: in.Roles, MailboxIDs: in.Mailboxes})
	return one(ctx, d, m, err, in.Expand, showMemberships)
}

func (a *api) deleteMembership(ctx context.Context, d *helpdesk.Desk, in membershipID) error {
	return d.Members().Remove(ctx, in.MembershipID)
}
