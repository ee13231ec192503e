package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// joinRule as the API shows it.
type joinRule struct {
	ID        int64          `json:"id"`
	Provider  *string        `json:"provider" example:"oidc" description:"Key of the identity provider. Null: it is no longer configured."`
	Issuer    string         `json:"issuer" example:"https://id.example.org" description:"Of the identity provider."`
	Domain    string         `json:"domain" example:"example.org" description:"Domain of the address, without subdomains."`
	Roles     []int64        `json:"roles" description:"Ids of the roles that members get."`
	Mailboxes []int64        `json:"mailboxes" description:"Ids of the mailboxes they can reach. Empty: all."`
	Applies   bool           `json:"applies" description:"Whether it makes members now. A rule pauses while its last editor could not grant what it grants."`
	UserID    *int64         `json:"user_id" description:"Who created or changed it last."`
	CreatedAt transport.Time `json:"created_at"`
	UpdatedAt transport.Time `json:"updated_at"`
}

type joinRuleInput struct {
	Provider  string  `json:"provider" maxLength:"32" example:"work" description:"Key of the identity provider. May be omitted if there is only one."`
	Domain    string  `json:"domain" required:"true" maxLength:"255" example:"example.org" description:"Domain of the address, without subdomains. Not one where anybody can have an address."`
	Roles     []int64 `json:"roles" required:"true" maxItems:"1000" description:"Ids."`
	Mailboxes []int64 `json:"mailboxes" maxItems:"1000" description:"Ids. Empty: all."`
}

func (in joinRuleInput) rule() identity.JoinRuleInput {
	return identity.JoinRuleInput{Provider: in.Provider, Domain: in.Domain, RoleIDs: in.Roles, MailboxIDs: in.Mailboxes}
}

type joinRuleID struct {
	JoinRuleID int64 `path:"join_rule_id"`
}

type joinRuleUpdate struct {
	joinRuleID
	joinRuleInput
}

const (
	joinRulesPath = accountPath + "/join-rules"
	joinRulePath  = joinRulesPath + "/{join_rule_id}"
)

func (a *api) addJoinRules(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Join rules", Summary: summary, Description: description}
	}
	const limits = " 422 if the domain has a rule for the provider already, if the provider is not trusted with its addresses, and for domains " +
		"where anybody can have an address. 403 to grant more than the caller has. Needs memberships.create."
	create := op("createJoinRule", http.MethodPost, joinRulesPath, "Create a join rule",
		"People who sign in with the identity provider and have a verified address of the domain become members. It applies to sign-ins "+
			"from now on. At most 100 per account."+limits)
	create.Status = http.StatusCreated
	transport.Handle(t, a.desk, create, func(ctx context.Context, d *helpdesk.Desk, in joinRuleInput) (joinRule, error) {
		made, err := d.JoinRules().Create(ctx, in.rule())
		return a.showJoinRule(ctx, d, made, err)
	})
	transport.HandlePage(t, a.desk, op("listJoinRules", http.MethodGet, joinRulesPath, "List join rules", "Oldest first. Needs memberships.view."),
		a.listJoinRules)
	transport.Handle(t, a.desk, op("getJoinRule", http.MethodGet, joinRulePath, "Retrieve a join rule", "Needs memberships.view."),
		func(ctx context.Context, d *helpdesk.Desk, in joinRuleID) (joinRule, error) {
			found, err := d.JoinRules().Get(ctx, in.JoinRuleID)
			return a.showJoinRule(ctx, d, found, err)
		})
	transport.Handle(t, a.desk, op("updateJoinRule", http.MethodPut, joinRulePath, "Update a join rule",
		"It applies again to sign-ins from now on, also to those of members who were removed."+limits),
		func(ctx context.Context, d *helpdesk.Desk, in joinRuleUpdate) (joinRule, error) {
			changed, err := d.JoinRules().Update(ctx, in.JoinRuleID, in.rule())
			return a.showJoinRule(ctx, d, changed, err)
		})
	transport.HandleEmpty(t, a.desk, op("deleteJoinRule", http.MethodDelete, joinRulePath, "Delete a join rule",
		"Members whom it made stay. 403 if it grants more than the caller has. Needs memberships.delete."),
		func(ctx context.Context, d *helpdesk.Desk, in joinRuleID) error {
			return d.JoinRules().Delete(ctx, in.JoinRuleID)
		})
}

func (a *api) listJoinRules(ctx context.Context, d *helpdesk.Desk, in transport.Paging) (storage.Page[joinRule], error) {
	page, err := d.JoinRules().List(ctx, in.Request())
	if err != nil {
		return storage.Page[joinRule]{}, err
	}
	applies, err := d.JoinRules().Apply(ctx, page.Items)
	out := storage.Page[joinRule]{Items: []joinRule{}, Next: page.Next, Prev: page.Prev}
	for _, r := range page.Items {
		out.Items = append(out.Items, a.joinRuleOf(r, applies[r.ID]))
	}
	return out, err
}

func (a *api) showJoinRule(ctx context.Context, d *helpdesk.Desk, r identity.JoinRule, err error) (joinRule, error) {
	if err != nil {
		return joinRule{}, err
	}
	applies, err := d.JoinRules().Apply(ctx, []identity.JoinRule{r})
	if errors.Is(err, helpdesk.ErrForbidden) { // a token that may create rules is not always permitted to list them
		err = nil
	}
	return a.joinRuleOf(r, applies[r.ID]), err
}

func (a *api) joinRuleOf(r identity.JoinRule, applies bool) joinRule {
	return joinRule{
		ID: r.ID, Provider: a.providerKey(r.Issuer), Issuer: r.Issuer, Domain: r.Domain, Roles: append([]int64{}, r.RoleIDs...),
		Mailboxes: append([]int64{}, r.MailboxIDs...), Applies: applies, UserID: idOrNull(r.UserID),
		CreatedAt: transport.Time(r.CreatedAt), UpdatedAt: transport.Time(r.UpdatedAt),
	}
}

// providerKey returns the key of the identity provider with an issuer, nil if it is not configured.
func (a *api) providerKey(issuer string) *string {
	for _, p := range a.svc.SignIn().Providers() {
		if p.Issuer == issuer {
			return &p.Key
		}
	}
	return nil
}
