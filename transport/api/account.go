package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// account as the API shows it.
type account struct {
	ID                     int64             `json:"id"`
	Name                   string            `json:"name"`
	RealtimeChannel        string            `json:"realtime_channel" description:"Realtime channel of the account's events."`
	NextConversationNumber int64             `json:"next_conversation_number"`
	DefaultSitesDomain     *string           `json:"default_sites_domain" deprecated:"true" description:"Always null."`
	DefaultLocale          string            `json:"default_locale"`
	SendHold               int64             `json:"send_hold" description:"Seconds that an answer waits before it is sent, so that sending can be undone."`
	RemoteImages           string            `json:"remote_images" enum:"block,proxy" description:"What to do with remote images in mails: block them, or load them through this server's proxy, which hides the reader."`
	TrackSeen              bool              `json:"track_seen" description:"Whether answers contain an image that reports when they are opened (seen_at)."`
	RequireSecondFactor    bool              `json:"require_second_factor" description:"Whether members with a password need a second factor to work here. Until they have one: 403 with code second_factor_required."`
	Languages              []accountLanguage `json:"languages,omitzero" description:"With expand=languages."`
}

type accountInput struct {
	expanding
	Name          string                `json:"name" required:"true" maxLength:"200" example:"Acme"`
	NextNumber    storage.Opt[int64]    `json:"next_conversation_number" minimum:"1" description:"Number of the next conversation. Default: 1."`
	DefaultLocale storage.Opt[string]   `json:"default_locale" example:"en" description:"BCP 47. Default: en."`
	SendHold      storage.Opt[int64]    `json:"send_hold" minimum:"0" maximum:"600" description:"Seconds that an answer waits before it is sent. Default: 0."`
	Languages     storage.Opt[[]string] `json:"languages" description:"Language codes, in the order of the readers' menu."`
}

type accountUpdate struct {
	accountInput
	RemoteImages        storage.Opt[string] `json:"remote_images" enum:"block,proxy"`
	TrackSeen           storage.Opt[bool]   `json:"track_seen"`
	RequireSecondFactor storage.Opt[bool]   `json:"require_second_factor" description:"Whether members with a password need a second factor to work here."`
}

type accountList struct {
	expanding
	transport.Paging
}

func (a *api) addAccounts(t *transport.Table) {
	expand := []string{"languages"}
	transport.Handle(t, a.admin, transport.Operation{
		ID: "createAccount", Method: http.MethodPost, Path: "/accounts", Tag: "Accounts", Status: http.StatusCreated, Expand: expand,
		Summary:     "Create an account",
		Description: "The caller becomes its Owner. Needs accounts.create in some account of the caller.",
	}, a.createAccount)
	transport.HandlePage(t, a.admin, transport.Operation{
		ID: "listAccounts", Method: http.MethodGet, Path: "/accounts", Tag: "Accounts", Expand: expand,
		Summary:     "List the caller's accounts",
		Description: "Accounts the caller is a member of, oldest first. A token with scopes needs accounts.view.",
	}, a.listAccounts)
	transport.Handle(t, a.desk, transport.Operation{
		ID: "getAccount", Method: http.MethodGet, Path: accountPath, Tag: "Accounts", Expand: expand,
		Summary:     "Retrieve an account",
		Description: "Needs accounts.view.",
	}, a.getAccount)
	transport.Handle(t, a.desk, transport.Operation{
		ID: "updateAccount", Method: http.MethodPut, Path: accountPath, Tag: "Accounts", Expand: expand,
		Summary:     "Update an account",
		Description: "Omitted fields stay unchanged. Needs accounts.update.",
	}, a.updateAccount)
	transport.HandleEmpty(t, a.desk, transport.Operation{
		ID: "deleteAccount", Method: http.MethodDelete, Path: accountPath, Tag: "Accounts", Slow: true,
		Summary:     "Delete an account",
		Description: "Deletes the account with everything in it. Needs accounts.delete.",
	}, a.deleteAccount)
}

func (a *api) createAccount(ctx context.Context, admin *helpdesk.Admin, in accountInput) (account, error) {
	number, given := in.NextNumber.Get()
	if given && number == 0 {
		number = -1 // 0 means "the default" to the service, and a client must not send it
	}
	created, err := admin.CreateAccount(ctx, identity.AccountInput{
		Name: in.Name, NextNumber: number, DefaultLocale: in.DefaultLocale.Or(""), Languages: in.Languages.Or(nil),
		SendHold: ofSeconds(in.SendHold.Or(0)),
	}, 0)
	return showAccount(created, in.Expand), err
}

func (a *api) listAccounts(ctx context.Context, admin *helpdesk.Admin, in accountList) (storage.Page[account], error) {
	page, err := admin.Accounts(ctx, in.Request())
	return mapPage(page, func(one identity.Account) account { return showAccount(one, in.Expand) }), err
}

func (a *api) getAccount(ctx context.Context, d *helpdesk.Desk, in expanding) (account, error) {
	found, err := d.Account().Get(ctx)
	return showAccount(found, in.Expand), err
}

func (a *api) updateAccount(ctx context.Context, d *helpdesk.Desk, in accountUpdate) (account, error) {
	update := identity.AccountUpdate{
		Name: in.Name, NextNumber: in.NextNumber, DefaultLocale: in.DefaultLocale, Languages: in.Languages,
		RemoteImages: asNamed[identity.RemoteImages](in.RemoteImages), TrackSeen: in.TrackSeen, RequireSecondFactor: in.RequireSecondFactor,
	}
	if in.SendHold.IsSet() {
		update.SendHold = storage.Some(ofSeconds(in.SendHold.Or(0)))
	}
	changed, err := d.Account().Update(ctx, update)
	return showAccount(changed, in.Expand), err
}

// ofSeconds returns a duration of n seconds, saturated rather than overflowing.
func ofSeconds(n int64) time.Duration {
	return time.Duration(max(-1, min(n, 1<<30))) * time.Second
}

func (a *api) deleteAccount(ctx context.Context, d *helpdesk.Desk, _ struct{}) error {
	return d.Account().Delete(ctx)
}

func showAccount(one identity.Account, expand transport.Expand) account {
	out := account{
		ID: one.ID, Name: one.Name, RealtimeChannel: fmt.Sprintf("accounts.%d", one.ID),
		NextConversationNumber: one.NextNumber, DefaultLocale: one.DefaultLocale,
		SendHold:     int64(one.SendHold / time.Second),
		RemoteImages: string(one.RemoteImages), TrackSeen: one.TrackSeen, RequireSecondFactor: one.RequireSecondFactor,
	}
	if expand.Has("languages") {
		out.Languages = showLanguages(one.Languages)
	}
	return out
}

// mapPage converts every object of a page.
func mapPage[T, U any](page storage.Page[T], show func(T) U) storage.Page[U] {
	out := storage.Page[U]{Items: make([]U, len(page.Items)), Next: page.Next, Prev: page.Prev}
	for i, one := range page.Items {
		out.Items[i] = show(one)
	}
	return out
}
