package transport

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// account as the API shows it.
type account struct {
	ID                     int64             `json:"id"`
	Name                   string            `json:"name"`
	RealtimeChannel        string            `json:"realtime_channel" description:"Channel of the account's events."`
	NextConversationNumber int64             `json:"next_conversation_number"`
	DefaultSitesDomain     *string           `json:"default_sites_domain" deprecated:"true" description:"Always null."`
	DefaultLocale          string            `json:"default_locale"`
	SendHold               int64             `json:"send_hold" description:"Seconds that an answer waits before it is sent, so that it can be called back."`
	RemoteImages           string            `json:"remote_images" enum:"block,proxy" description:"Images on other servers in mails: not loaded, or through our proxy, which hides who looks."`
	TrackSeen              bool              `json:"track_seen" description:"Answers hold an image that tells when they are opened: seen_at."`
	RequireSecondFactor    bool              `json:"require_second_factor" description:"Members with a password work here once they have a second factor: until then 403 with code second_factor_required."`
	Languages              []accountLanguage `json:"languages,omitzero" description:"With expand=languages."`
}

type accountInput struct {
	expanding
	Name          string                `json:"name" required:"true" maxLength:"200" example:"Acme"`
	NextNumber    storage.Opt[int64]    `json:"next_conversation_number" minimum:"1" description:"Number of the next conversation; 1 in a new account."`
	DefaultLocale storage.Opt[string]   `json:"default_locale" example:"en" description:"BCP 47; en in a new account."`
	SendHold      storage.Opt[int64]    `json:"send_hold" minimum:"0" maximum:"600" description:"Seconds that an answer waits before it is sent; 0 in a new account."`
	Languages     storage.Opt[[]string] `json:"languages" description:"Codes in the order of the reader's menu."`
}

type accountUpdate struct {
	accountInput
	RemoteImages        storage.Opt[string] `json:"remote_images" enum:"block,proxy"`
	TrackSeen           storage.Opt[bool]   `json:"track_seen"`
	RequireSecondFactor storage.Opt[bool]   `json:"require_second_factor" description:"Members with a password work here once they have a second factor."`
}

type accountList struct {
	expanding
	Paging
}

func (a *api) addAccounts(t *Table) {
	expand := []string{"languages"}
	Handle(t, a.admin, Operation{
		ID: "createAccount", Method: http.MethodPost, Path: "/accounts", Tag: "Accounts", Status: http.StatusCreated, Expand: expand,
		Summary:     "Create an account",
		Description: "The caller becomes its Owner. Needs accounts.create in some account of the caller.",
	}, a.createAccount)
	HandlePage(t, a.admin, Operation{
		ID: "listAccounts", Method: http.MethodGet, Path: "/accounts", Tag: "Accounts", Expand: expand,
		Summary:     "List the caller's accounts",
		Description: "Those the caller is a member of, oldest first. A token with scopes needs accounts.view.",
	}, a.listAccounts)
	Handle(t, a.desk, Operation{
		ID: "getAccount", Method: http.MethodGet, Path: accountPath, Tag: "Accounts", Expand: expand,
		Summary:     "Retrieve an account",
		Description: "Needs accounts.view.",
	}, a.getAccount)
	Handle(t, a.desk, Operation{
		ID: "updateAccount", Method: http.MethodPut, Path: accountPath, Tag: "Accounts", Expand: expand,
		Summary:     "Update an account",
		Description: "Fields that are left out stay as they are. Needs accounts.update.",
	}, a.updateAccount)
	HandleEmpty(t, a.desk, Operation{
		ID: "deleteAccount", Method: http.MethodDelete, Path: accountPath, Tag: "Accounts",
		Summary:     "Delete an account",
		Description: "Deletes all that is in it. Needs accounts.delete.",
	}, a.deleteAccount)
}

func (a *api) createAccount(ctx context.Context, admin *helpdesk.Admin, in accountInput) (account, error) {
	number, given := in.NextNumber.Get()
	if given && number == 0 {
		number = -1 // 0 means "the default" to the service, and is no number to a client
	}
	created, err := admin.CreateAccount(ctx, helpdesk.AccountInput{
		Name: in.Name, NextNumber: number, DefaultLocale: in.DefaultLocale.Or(""), Languages: in.Languages.Or(nil),
		SendHold: ofSeconds(in.SendHold.Or(0)),
	}, 0)
	return showAccount(created, in.Expand), err
}

func (a *api) listAccounts(ctx context.Context, admin *helpdesk.Admin, in accountList) (storage.Page[account], error) {
	page, err := admin.Accounts(ctx, in.Request())
	return mapPage(page, func(one helpdesk.Account) account { return showAccount(one, in.Expand) }), err
}

func (a *api) getAccount(ctx context.Context, d *helpdesk.Desk, in expanding) (account, error) {
	found, err := d.Account(ctx)
	return showAccount(found, in.Expand), err
}

func (a *api) updateAccount(ctx context.Context, d *helpdesk.Desk, in accountUpdate) (account, error) {
	update := helpdesk.AccountUpdate{
		Name: in.Name, NextNumber: in.NextNumber, DefaultLocale: in.DefaultLocale, Languages: in.Languages,
		RemoteImages: asNamed[helpdesk.RemoteImages](in.RemoteImages), TrackSeen: in.TrackSeen, RequireSecondFactor: in.RequireSecondFactor,
	}
	if in.SendHold.IsSet() {
		update.SendHold = storage.Some(ofSeconds(in.SendHold.Or(0)))
	}
	changed, err := d.UpdateAccount(ctx, update)
	return showAccount(changed, in.Expand), err
}

// ofSeconds is a duration of n seconds; one too large to be counted is just too large.
func ofSeconds(n int64) time.Duration {
	return time.Duration(max(-1, min(n, 1<<30))) * time.Second
}

func (a *api) deleteAccount(ctx context.Context, d *helpdesk.Desk, _ struct{}) error {
	return d.DeleteAccount(ctx)
}

func showAccount(one helpdesk.Account, expand Expand) account {
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

// mapPage shows every object of a page.
func mapPage[T, U any](page storage.Page[T], show func(T) U) storage.Page[U] {
	out := storage.Page[U]{Items: make([]U, len(page.Items)), Next: page.Next, Prev: page.Prev}
	for i, one := range page.Items {
		out.Items[i] = show(one)
	}
	return out
}
