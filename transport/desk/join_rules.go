package desk

import (
	"net/http"
	"slices"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// ruleRow is a rule by which users join when they sign in.
type ruleRow struct {
	Domain, Provider, Roles, Boxes, Action string
	Paused                                 bool
}

// fillRules shows the rules, if the desk signs users in.
func (v *visit) fillRules(view *membersView, roles []identity.Role) error {
	if v.h.cfg.Authenticate != nil {
		return nil
	}
	view.RuleAction, view.RuleDomain = v.at("/settings/join-rules"), v.r.PostFormValue("domain")
	providers := v.service().SignIn().Providers()
	for _, p := range providers {
		if len(p.Domains) > 0 { // otherwise it does not verify addresses
			view.Providers = append(view.Providers, tick{ID: p.Key, Text: p.Name, On: p.Key == v.r.PostFormValue("provider")})
		}
	}
	page, err := v.JoinRules().List(v.ctx(), storage.PageRequest{Limit: storage.MaxLimit})
	if err != nil {
		return err
	}
	applies, err := v.JoinRules().Apply(v.ctx(), page.Items)
	if err != nil {
		return err
	}
	var boxes []tick
	if slices.ContainsFunc(page.Items, func(r identity.JoinRule) bool { return len(r.MailboxIDs) > 0 }) {
		if boxes, err = v.boxTicks(nil); err != nil {
			return err
		}
	}
	for _, rule := range page.Items {
		row := ruleRow{Domain: rule.Domain, Provider: rule.Issuer, Paused: !applies[rule.ID], Action: v.at("/settings/join-rules/" + itoa(rule.ID))}
		for _, p := range providers {
			if p.Issuer == rule.Issuer {
				row.Provider = p.Name
			}
		}
		var names []string
		for _, r := range roles {
			if slices.Contains(rule.RoleIDs, r.ID) {
				names = append(names, v.roleName(r))
			}
		}
		row.Roles = v.words.list(names)
		row.Boxes = v.namesOf(boxes, rule.MailboxIDs)
		view.Rules = append(view.Rules, row)
	}
	return nil
}

// namesOf returns the names of the chosen mailboxes that the member sees.
func (v *visit) namesOf(boxes []tick, ids []int64) string {
	var names []string
	for _, b := range boxes {
		if slices.Contains(ids, number(b.ID)) {
			names = append(names, b.Text)
		}
	}
	return v.words.list(names)
}

func (v *visit) addRule() error {
	in := identity.JoinRuleInput{
		Provider: v.r.PostFormValue("provider"), Domain: v.r.PostFormValue("domain"), RoleIDs: v.ticked("role"), MailboxIDs: v.ticked("mailbox"),
	}
	rule, err := v.JoinRules().Create(v.ctx(), in)
	if fault.Is(err, fault.Invalid) {
		return v.listMembers("", v.problems(err), http.StatusUnprocessableEntity)
	}
	return v.unless(err, "members", v.words.T("Added %s", rule.Domain))
}

// ruleAgain reactivates a rule on the member's authority.
func (v *visit) ruleAgain() error {
	rule, err := v.JoinRules().Get(v.ctx(), v.number("id"))
	if err != nil {
		return err
	}
	in := identity.JoinRuleInput{Domain: rule.Domain, RoleIDs: rule.RoleIDs, MailboxIDs: rule.MailboxIDs}
	for _, p := range v.service().SignIn().Providers() {
		if p.Issuer == rule.Issuer {
			in.Provider = p.Key
		}
	}
	_, err = v.JoinRules().Update(v.ctx(), rule.ID, in)
	return v.unless(err, "members", v.words.T("The rule now applies to everyone who signs in"))
}

func (v *visit) deleteRule() error {
	return v.unless(v.JoinRules().Delete(v.ctx(), v.number("id")), "members", v.words.T("Rule deleted"))
}

func (v *visit) disconnectMember() error {
	return v.memberUser(func(id int64) error { return v.Members().Unlink(v.ctx(), id) }, v.words.T("Disconnected"))
}
