package transport

import (
	"context"
	"fmt"
	"net/http"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

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
	Languages              []accountLanguage `json:"languages,omitzero" description:"With expand=languages."`
}

// accountLanguage is a language of an account; its id is its place in the menu.
type accountLanguage struct {
	ID     int64  `json:"id"`
	Name   string `json:"name" description:"In English."`
	Native string `json:"native" description:"In the language itself."`
	Code   string `json:"code"`
}

type accountInput struct {
	expanding
	Name          string                `json:"name" required:"true" maxLength:"200" example:"Acme"`
	NextNumber    storage.Opt[int64]    `json:"next_conversation_number" minimum:"1" description:"Number of the next conversation; 1 in a new account."`
	DefaultLocale storage.Opt[string]   `json:"default_locale" example:"en" description:"BCP 47; en in a new account."`
	Languages     storage.Opt[[]string] `json:"languages" description:"Codes in the order of the reader's menu."`
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
		Description: "Those the caller is a member of, oldest first.",
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

func (a *api) updateAccount(ctx context.Context, d *helpdesk.Desk, in accountInput) (account, error) {
	changed, err := d.UpdateAccount(ctx, helpdesk.AccountUpdate{
		Name: in.Name, NextNumber: in.NextNumber, DefaultLocale: in.DefaultLocale, Languages: in.Languages,
	})
	return showAccount(changed, in.Expand), err
}

func (a *api) deleteAccount(ctx context.Context, d *helpdesk.Desk, _ struct{}) error {
	return d.DeleteAccount(ctx)
}

func showAccount(one helpdesk.Account, expand Expand) account {
	out := account{
		ID: one.ID, Name: one.Name, RealtimeChannel: fmt.Sprintf("accounts.%d", one.ID),
		NextConversationNumber: one.NextNumber, DefaultLocale: one.DefaultLocale,
	}
	if expand.Has("languages") {
		out.Languages = showLanguages(one.Languages)
	}
	return out
}

func showLanguages(codes []string) []accountLanguage {
	names := display.English.Tags()
	list := make([]accountLanguage, len(codes))
	for i, code := range codes {
		tag := language.Make(code)
		list[i] = accountLanguage{ID: int64(i + 1), Name: names.Name(tag), Native: display.Self.Name(tag), Code: code}
		if list[i].Native == "" { // the tables do not have every language
			list[i].Native = list[i].Name
		}
	}
	return list
}

// mapPage shows every object of a page.
func mapPage[T, U any](page storage.Page[T], show func(T) U) storage.Page[U] {
	out := storage.Page[U]{Items: make([]U, len(page.Items)), Next: page.Next, Prev: page.Prev}
	for i, one := range page.Items {
		out.Items[i] = show(one)
	}
	return out
}
