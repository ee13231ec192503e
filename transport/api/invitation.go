package api

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport"
)

// invitation as the API shows it; its token only once.
type invitation struct {
	ID        int64          `json:"id"`
	Email     string         `json:"email"`
	Name      string         `json:"name"`
	Roles     []int64        `json:"roles" description:"Ids."`
	Mailboxes []int64        `json:"mailboxes" description:"Ids. Empty: all mailboxes."`
	ExpiresAt transport.Time `json:"expires_at"`
	CreatedAt transport.Time `json:"created_at"`
	Token     string         `json:"token,omitempty" description:"Returned only on creation. The mail contains it as a link."`
}

type invitationID struct {
	InvitationID int64 `path:"invitation_id"`
}

type invitationInput struct {
	Email     string  `json:"email" required:"true" example:"ada@example.org"`
	Name      string  `json:"name" maxLength:"200" example:"Ada Lovelace"`
	Roles     []int64 `json:"roles" required:"true" maxItems:"1000" description:"Ids."`
	Mailboxes []int64 `json:"mailboxes" maxItems:"1000" description:"Ids of the mailboxes the member can reach. Empty: all."`
}

type acceptInput struct {
	Token    string `path:"token"`
	Name     string `json:"name" maxLength:"200" description:"Default: the name in the invitation."`
	Password string `json:"password" maxLength:"200" description:"8 to 200 characters. If the address belongs to a user with a password, that password."`
	Code     string `json:"code" maxLength:"50" example:"123456" description:"Code from the authenticator app, for a user with a second factor who signs in with a password. Without it: 401 with code second_factor_required."`
}

// accepted is the result of accepting an invitation.
type accepted struct {
	Membership membership `json:"membership"`
	Token      string     `json:"token" description:"An access token of the member."`
}

func (a *api) addInvitations(t *transport.Table) {
	transport.Handle(t, a.desk, transport.Operation{
		ID: "createInvitation", Method: http.MethodPost, Path: invitationsPath, Tag: "Invitations", Status: http.StatusCreated,
		Summary: "Invite somebody",
		Description: "Mails a link that works once, within seven days. An earlier invitation to the same address becomes invalid. 403 to " +
			"grant more than the caller has. Needs memberships.create.",
	}, a.createInvitation)
	transport.HandlePage(t, a.desk, transport.Operation{
		ID: "listInvitations", Method: http.MethodGet, Path: invitationsPath, Tag: "Invitations",
		Summary:     "List open invitations",
		Description: "Oldest first. Needs memberships.view.",
	}, a.listInvitations)
	transport.HandleEmpty(t, a.desk, transport.Operation{
		ID: "deleteInvitation", Method: http.MethodDelete, Path: invitationsPath + "/{invitation_id}", Tag: "Invitations",
		Summary:     "Withdraw an invitation",
		Description: "Needs memberships.delete.",
	}, a.deleteInvitation)
	transport.Handle(t, a.visitor, transport.Operation{
		ID: "acceptInvitation", Method: http.MethodPost, Path: "/invitations/{token}/accept", Tag: "Invitations", Public: true,
		Summary: "Accept an invitation",
		Description: "By the signed-in user with that address, with that user's password, or as a new user with name and password. 404 for an " +
			"unknown, used or expired token. 409 for an existing member.",
	}, a.acceptInvitation)
}

// visitor is the handle of operations that also work without credentials.
type visitor struct {
	svc    *helpdesk.Service
	caller helpdesk.Caller
}

// visitor is the resolver of operations that also work without credentials.
func (a *api) visitor(ctx context.Context, r *transport.Request) (visitor, error) {
	caller, err := a.caller(ctx, r)
	if fault.Is(err, fault.Unauthenticated) && r.Header("Authorization") == "" {
		caller, err = helpdesk.Caller{}, nil
	}
	return visitor{svc: a.service(r), caller: caller}, err
}

func (a *api) createInvitation(ctx context.Context, d *helpdesk.Desk, in invitationInput) (invitation, error) {
	created, token, err := d.Members().Invite(ctx, identity.InvitationInput{
		Email: in.Email, Name: in.Name, RoleIDs: in.Roles, MailboxIDs: in.Mailboxes,
	})
	out := showInvitation(created)
	out.Token = token
	return out, err
}

func (a *api) listInvitations(ctx context.Context, d *helpdesk.Desk, in transport.Paging) (storage.Page[invitation], error) {
	page, err := d.Members().Invitations(ctx, in.Request())
	return mapPage(page, showInvitation), err
}

func (a *api) deleteInvitation(ctx context.Context, d *helpdesk.Desk, in invitationID) error {
	return d.Members().DeleteInvitation(ctx, in.InvitationID)
}

func (a *api) acceptInvitation(ctx context.Context, v visitor, in acceptInput) (accepted, error) {
	got, err := v.svc.SignIn().AcceptInvitation(ctx, v.caller, in.Token, identity.AcceptInput{Name: in.Name, Password: in.Password, Code: in.Code})
	if err != nil {
		return accepted{}, err
	}
	d, err := v.svc.Desk(ctx, v.svc.As(got.Membership.UserID), got.AccountID)
	if err != nil {
		return accepted{}, err
	}
	shown, err := one(ctx, d, got.Membership, nil, nil, showMemberships)
	return accepted{Membership: shown, Token: got.Secret}, err
}

func showInvitation(i identity.Invitation) invitation {
	return invitation{
		ID: i.ID, Email: i.Email, Name: i.Name, Roles: listed(i.RoleIDs), Mailboxes: listed(i.MailboxIDs),
		ExpiresAt: transport.Time(i.ExpiresAt), CreatedAt: transport.Time(i.CreatedAt),
	}
}
