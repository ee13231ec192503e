package transport

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// Paths of what is about people.
const (
	membershipsPath  = accountPath + "/memberships"
	membershipPath   = membershipsPath + "/{membership_id}"
	availabilityPath = membershipPath + "/preferences/availability"
	rolesPath        = accountPath + "/roles"
	rolePath         = rolesPath + "/{role_id}"
	invitationsPath  = accountPath + "/invitations"
	tokensPath       = "/user/tokens" //nolint:gosec // a path
)

type membershipID struct {
	MembershipID int64 `path:"membership_id"`
}

type membershipList struct {
	expanding
	Paging
}

type membershipRef struct {
	membershipID
	expanding
}

type membershipUpdate struct {
	membershipID
	expanding
	Roles     []int64              `json:"roles" required:"true" maxItems:"1000" description:"Ids."`
	Mailboxes storage.Opt[[]int64] `json:"mailboxes" maxItems:"1000" description:"Ids of the mailboxes that the member reaches; empty: all. Left out, they stay as they are."`
}

// addPeople adds members, roles, availability, invitations, tokens and sessions.
func (a *api) addPeople(t *Table) {
	expand := []string{"user", "account", "roles", "mailboxes"}
	op := func(id, method, path, summary, description string) Operation {
		return Operation{ID: id, Method: method, Path: path, Tag: "Memberships", Summary: summary, Description: description, Expand: expand}
	}
	HandlePage(t, a.desk, op("listMemberships", http.MethodGet, membershipsPath, "List memberships",
		"Oldest first. Needs memberships.view, and to expand what seeing the objects needs."), a.listMemberships)
	Handle(t, a.desk, op("getMembership", http.MethodGet, membershipPath, "Retrieve a membership",
		"Needs memberships.view, and to expand what seeing the objects needs."), a.getMembership)
	Handle(t, a.desk, op("updateMembership", http.MethodPut, membershipPath, "Change what a member may do",
		"Neither can who holds more than the caller be changed nor more be granted than the caller holds: 403. "+
			"The last owner keeps the role: 409 with code last_owner. Needs memberships.update."), a.updateMembership)
	HandleEmpty(t, a.desk, Operation{
		ID: "deleteMembership", Method: http.MethodDelete, Path: membershipPath, Tag: "Memberships",
		Summary:     "End a membership",
		Description: "Also the caller's own. The last owner stays: 409 with code last_owner. Needs memberships.delete.",
	}, a.deleteMembership)
	const touched = " Neither the caller nor who holds more. 409 with code other_accounts for who works in other accounts too: about them the operator decides. Needs memberships.update."
	HandleEmpty(t, a.desk, Operation{
		ID: "disableMember", Method: http.MethodPost, Path: membershipPath + "/disable", Tag: "Memberships",
		Summary: "Keep a member out",
		Description: "The user cannot sign in, sessions end, and access tokens are refused until the member is enabled. " +
			"The membership and what is assigned stay." + touched,
	}, func(ctx context.Context, d *helpdesk.Desk, in membershipID) error {
		return d.DisableMember(ctx, in.MembershipID)
	})
	HandleEmpty(t, a.desk, Operation{
		ID: "enableMember", Method: http.MethodPost, Path: membershipPath + "/enable", Tag: "Memberships",
		Summary:     "Let a member in again",
		Description: "The user has to sign in again; access tokens work again." + touched,
	}, func(ctx context.Context, d *helpdesk.Desk, in membershipID) error {
		return d.EnableMember(ctx, in.MembershipID)
	})
	HandleEmpty(t, a.desk, Operation{
		ID: "resetSecondFactor", Method: http.MethodDelete, Path: membershipPath + "/second-factor", Tag: "Memberships",
		Summary: "Remove a member's second factor",
		Description: "For who has lost it: the user signs in with the password alone then, and sessions end. " +
			"Make sure first that it is the member who asks." + touched,
	}, func(ctx context.Context, d *helpdesk.Desk, in membershipID) error {
		return d.ResetMemberSecondFactor(ctx, in.MembershipID)
	})
	a.addAvailability(t)
	a.addRoles(t)
	a.addInvitations(t)
	a.addTokens(t)
	a.addSessions(t)
}

func (a *api) listMemberships(ctx context.Context, d *helpdesk.Desk, in membershipList) (storage.Page[membership], error) {
	page, err := d.Members(ctx, in.Request())
	if err != nil {
		return storage.Page[membership]{}, err
	}
	shown, err := showMemberships(ctx, d, page.Items, in.Expand)
	return storage.Page[membership]{Items: shown, Next: page.Next, Prev: page.Prev}, err
}

func (a *api) getMembership(ctx context.Context, d *helpdesk.Desk, in membershipRef) (membership, error) {
	m, err := d.Member(ctx, in.MembershipID)
	return one(ctx, d, m, err, in.Expand, showMemberships)
}

func (a *api) updateMembership(ctx context.Context, d *helpdesk.Desk, in membershipUpdate) (membership, error) {
	if err := mayExpand(d, in.Expand); err != nil {
		return membership{}, err
	}
	m, err := d.UpdateMember(ctx, in.MembershipID, helpdesk.MembershipUpdate{RoleIDs: in.Roles, MailboxIDs: in.Mailboxes})
	return one(ctx, d, m, err, in.Expand, showMemberships)
}

func (a *api) deleteMembership(ctx context.Context, d *helpdesk.Desk, in membershipID) error {
	return d.RemoveMember(ctx, in.MembershipID)
}
