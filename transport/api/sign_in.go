package api

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// identityProvider as the API shows it.
type identityProvider struct {
	Key     string   `json:"key" example:"oidc" description:"Names it in requests."`
	Name    string   `json:"name" example:"Example ID"`
	Issuer  string   `json:"issuer" example:"https://id.example.org" description:"Its address. Identities and join rules are kept with it."`
	Domains []string `json:"domains" description:"Domains whose addresses it is trusted with. *: all."`
}

// identityObject is an identity as the API shows it.
type identityObject struct {
	ID        int64          `json:"id"`
	Provider  *string        `json:"provider" example:"oidc" description:"Key of the identity provider. Null: it is no longer configured."`
	Issuer    string         `json:"issuer" example:"https://id.example.org" description:"Of the identity provider."`
	Email     string         `json:"email" description:"Address that the provider reported last. May be empty."`
	CreatedAt transport.Time `json:"created_at"`
	UsedAt    transport.Time `json:"used_at" description:"Last sign-in."`
}

// passkey as the API shows it.
type passkey struct {
	ID        int64           `json:"id"`
	Name      string          `json:"name"`
	BackedUp  bool            `json:"backed_up" description:"Whether it exists on several devices, or in an account."`
	CreatedAt transport.Time  `json:"created_at"`
	UsedAt    *transport.Time `json:"used_at" description:"Last sign-in. Null: never."`
}

// proof is the caller's proof of identity.
type proof struct {
	CurrentPassword string `json:"current_password" maxLength:"200" description:"The caller's password. Required if there is one."`
}

type identityRef struct {
	IdentityID int64 `path:"identity_id"`
	proof
}

type passkeyID struct {
	PasskeyID int64 `path:"passkey_id"`
}

type passkeyRef struct {
	passkeyID
	proof
}

type passkeyUpdate struct {
	passkeyID
	Name string `json:"name" required:"true" maxLength:"100" example:"My laptop"`
}

func (a *api) addSignIns(t *transport.Table) {
	transport.HandlePage(t, a.admin, transport.Operation{
		ID: "listIdentityProviders", Method: http.MethodGet, Path: "/identity-providers", Tag: "Join rules",
		Summary: "List the identity providers", Description: "Servers that people can sign in with, as they are configured. All in one page.",
	}, a.listIdentityProviders)
	transport.HandlePage(t, a.admin, transport.Operation{
		ID: "listIdentities", Method: http.MethodGet, Path: "/user/identities", Tag: "Users",
		Summary:     "List the caller's identities",
		Description: "Accounts at identity providers that the caller can sign in with, oldest first. All in one page. Not allowed with a token that has scopes.",
	}, a.listIdentities)
	const proven = " The current password is required if there is one. 409 with code last_sign_in for the last way to sign in. Not allowed with a token that has scopes."
	transport.HandleEmpty(t, a.admin, transport.Operation{
		ID: "removeIdentity", Method: http.MethodPost, Path: "/user/identities/{identity_id}/remove", Tag: "Users",
		Summary: "Remove an identity", Description: "The caller can no longer sign in with it." + proven,
	}, func(ctx context.Context, admin *helpdesk.Admin, in identityRef) error {
		return admin.Unlink(ctx, in.CurrentPassword, in.IdentityID)
	})
	transport.HandlePage(t, a.admin, transport.Operation{
		ID: "listPasskeys", Method: http.MethodGet, Path: "/user/passkeys", Tag: "Users",
		Summary:     "List the caller's passkeys",
		Description: "Oldest first. All in one page. They are added in the browser, in the profile. Not allowed with a token that has scopes.",
	}, a.listPasskeys)
	transport.Handle(t, a.admin, transport.Operation{
		ID: "updatePasskey", Method: http.MethodPut, Path: "/user/passkeys/{passkey_id}", Tag: "Users",
		Summary: "Rename a passkey", Description: "Not allowed with a token that has scopes.",
	}, func(ctx context.Context, admin *helpdesk.Admin, in passkeyUpdate) (passkey, error) {
		renamed, err := admin.RenamePasskey(ctx, in.PasskeyID, in.Name)
		return passkeyOf(renamed), err
	})
	transport.HandleEmpty(t, a.admin, transport.Operation{
		ID: "removePasskey", Method: http.MethodPost, Path: "/user/passkeys/{passkey_id}/remove", Tag: "Users",
		Summary: "Remove a passkey", Description: "The caller can no longer sign in with it." + proven,
	}, func(ctx context.Context, admin *helpdesk.Admin, in passkeyRef) error {
		return admin.RemovePasskey(ctx, in.CurrentPassword, in.PasskeyID)
	})
	const touched = " Sessions end. 403 for the caller and for members with more permissions. 409 with code other_accounts for a member of other accounts: only the operator can do this. Needs memberships.update."
	transport.HandleEmpty(t, a.desk, transport.Operation{
		ID: "removeMemberIdentities", Method: http.MethodDelete, Path: membershipPath + "/identities", Tag: "Memberships",
		Summary: "Remove a member's identities", Description: "For an address with a new owner at the identity provider." + touched,
	}, func(ctx context.Context, d *helpdesk.Desk, in membershipID) error {
		return d.Members().Unlink(ctx, in.MembershipID)
	})
	transport.HandleEmpty(t, a.desk, transport.Operation{
		ID: "removeMemberPasskeys", Method: http.MethodDelete, Path: membershipPath + "/passkeys", Tag: "Memberships",
		Summary: "Remove a member's passkeys", Description: "For a member who has lost a device." + touched,
	}, func(ctx context.Context, d *helpdesk.Desk, in membershipID) error {
		return d.Members().RemovePasskeys(ctx, in.MembershipID)
	})
}

func (a *api) listIdentityProviders(context.Context, *helpdesk.Admin, struct{}) (storage.Page[identityProvider], error) {
	out := storage.Page[identityProvider]{Items: []identityProvider{}}
	for _, p := range a.svc.SignIn().Providers() {
		out.Items = append(out.Items, identityProvider{Key: p.Key, Name: p.Name, Issuer: p.Issuer, Domains: append([]string{}, p.Domains...)})
	}
	return out, nil
}

func (a *api) listIdentities(ctx context.Context, admin *helpdesk.Admin, _ struct{}) (storage.Page[identityObject], error) {
	all, err := admin.Identities(ctx)
	out := storage.Page[identityObject]{Items: []identityObject{}}
	for _, i := range all {
		out.Items = append(out.Items, identityObject{
			ID: i.ID, Provider: a.providerKey(i.Issuer), Issuer: i.Issuer, Email: i.Email, CreatedAt: transport.Time(i.CreatedAt), UsedAt: transport.Time(i.UsedAt),
		})
	}
	return out, err
}

func (a *api) listPasskeys(ctx context.Context, admin *helpdesk.Admin, _ struct{}) (storage.Page[passkey], error) {
	all, err := admin.Passkeys(ctx)
	out := storage.Page[passkey]{Items: []passkey{}}
	for _, p := range all {
		out.Items = append(out.Items, passkeyOf(p))
	}
	return out, err
}

func passkeyOf(p identity.Passkey) passkey {
	return passkey{ID: p.ID, Name: p.Name, BackedUp: p.BackedUp, CreatedAt: transport.Time(p.CreatedAt), UsedAt: transport.TimePtr(&p.UsedAt)}
}
