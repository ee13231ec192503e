package api

import (
	"context"
	"net/http"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// accessToken as the API shows it; its secret only once.
type accessToken struct {
	ID         int64           `json:"id"`
	Name       string          `json:"name"`
	Scopes     []string        `json:"scopes" description:"Permissions. Empty: all of the user's."`
	ExpiresAt  *transport.Time `json:"expires_at" description:"Null: never."`
	LastUsedAt *transport.Time `json:"last_used_at" description:"Accurate to a minute."`
	CreatedAt  transport.Time  `json:"created_at"`
	Token      string          `json:"token,omitempty" description:"The secret. Returned only when the object is created."`
}

type tokenID struct {
	TokenID int64 `path:"token_id"`
}

type tokenInput struct {
	Name      string                 `json:"name" required:"true" maxLength:"200" example:"Backup script"`
	Scopes    []string               `json:"scopes" maxItems:"1000" description:"Permissions. Empty: all of the user's."`
	ExpiresAt storage.Opt[time.Time] `json:"expires_at" description:"Default: never."`
}

type preferencesInput struct {
	Language      storage.Opt[string] `json:"language" maxLength:"35" example:"pt-BR" description:"Of the desk. Null: the browser's."`
	TimeZone      storage.Opt[string] `json:"time_zone" maxLength:"64" example:"Europe/Berlin" description:"Of dates in the desk. Null: the browser's."`
	AfterSending  storage.Opt[string] `json:"after_sending" enum:"stay,next,list" description:"Where the desk leads after an answer was sent. Null: only closing leads on."`
	AssignOnReply storage.Opt[bool]   `json:"assign_on_reply" description:"Whether answering in the desk assigns a conversation that nobody has to the user. Null: true."`
}

type userInput struct {
	Name            storage.Opt[string] `json:"name" maxLength:"200" example:"Ada Lovelace" description:"Required if nothing else changes."`
	Password        string              `json:"password" maxLength:"200" description:"New password, 8 to 200 characters. The caller's other sessions end."`
	CurrentPassword string              `json:"current_password" maxLength:"200" description:"Current password. Required to set a new one if there is one."`
	Preferences     preferencesInput    `json:"preferences" description:"Omitted fields stay unchanged."`
}

func (a *api) addTokens(t *transport.Table) {
	transport.Handle(t, a.admin, transport.Operation{
		ID: "updateUser", Method: http.MethodPut, Path: "/user", Tag: "Users",
		Summary:     "Update the caller",
		Description: "A new password ends the caller's other sessions; access tokens stay valid. Not allowed with a token that has scopes.",
	}, a.updateUser)
	transport.HandlePage(t, a.admin, transport.Operation{
		ID: "listTokens", Method: http.MethodGet, Path: tokensPath, Tag: "Users",
		Summary: "List the caller's access tokens",
	}, a.listTokens)
	transport.Handle(t, a.admin, transport.Operation{
		ID: "createToken", Method: http.MethodPost, Path: tokensPath, Tag: "Users", Status: http.StatusCreated,
		Summary:     "Create an access token",
		Description: "A token with scopes or an expiry can only create tokens within them, else 403.",
	}, a.createToken)
	transport.HandleEmpty(t, a.admin, transport.Operation{
		ID: "deleteToken", Method: http.MethodDelete, Path: tokensPath + "/{token_id}", Tag: "Users",
		Summary:     "Delete an access token",
		Description: "A token with scopes can only delete itself, else 403.",
	}, a.deleteToken)
}

func (a *api) updateUser(ctx context.Context, admin *helpdesk.Admin, in userInput) (me, error) {
	u, err := admin.UpdateMe(ctx, identity.UserUpdate{Name: in.Name, Password: in.Password, CurrentPassword: in.CurrentPassword, Preferences: in.Preferences.update()})
	return showMe(u), err
}

func showMe(u identity.User) me {
	return me{
		ID: u.ID, Name: u.Name, Email: u.Email, Initials: u.Initials(), HasPicture: u.Picture != "",
		Preferences: userPreferences{
			Language: textOrNull(u.Preferences.Language), TimeZone: textOrNull(u.Preferences.TimeZone),
			AfterSending: textOrNull(string(u.Preferences.AfterSending)), AssignOnReply: !u.Preferences.LeaveUnassigned,
		},
	}
}

func (in preferencesInput) update() identity.PreferencesUpdate {
	out := identity.PreferencesUpdate{Language: in.Language, TimeZone: in.TimeZone, AssignOnReply: in.AssignOnReply}
	switch after, given := in.AfterSending.Get(); {
	case given:
		out.AfterSending = storage.Some(identity.AfterSending(after))
	case in.AfterSending.IsNull():
		out.AfterSending = storage.Null[identity.AfterSending]()
	}
	return out
}

func (a *api) listTokens(ctx context.Context, admin *helpdesk.Admin, in transport.Paging) (storage.Page[accessToken], error) {
	page, err := admin.Tokens(ctx, in.Request())
	return mapPage(page, showToken), err
}

func (a *api) createToken(ctx context.Context, admin *helpdesk.Admin, in tokenInput) (accessToken, error) {
	created, secret, err := admin.CreateOwnToken(ctx, identity.TokenInput{
		Name: in.Name, Scopes: asPermissions(in.Scopes), ExpiresAt: in.ExpiresAt.Or(time.Time{}),
	})
	out := showToken(created)
	out.Token = secret
	return out, err
}

func (a *api) deleteToken(ctx context.Context, admin *helpdesk.Admin, in tokenID) error {
	return admin.DeleteOwnToken(ctx, in.TokenID)
}

func showToken(t identity.AccessToken) accessToken {
	return accessToken{
		ID: t.ID, Name: t.Name, Scopes: permissionNames(t.Scopes), ExpiresAt: transport.TimePtr(&t.ExpiresAt),
		LastUsedAt: transport.TimePtr(&t.LastUsedAt), CreatedAt: transport.Time(t.CreatedAt),
	}
}
