package helpdesk

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/net/idna"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// maxJoinRules bounds the rules of an account.
const maxJoinRules = 100

func joinRuleNoun() storage.Declared[identity.JoinRule, identity.JoinRuleFilter] {
	return storage.Declared[identity.JoinRule, identity.JoinRuleFilter]{
		Noun: storage.Noun[identity.JoinRule]{
			Name:    "join rule",
			ID:      func(r *identity.JoinRule) *int64 { return &r.ID },
			Account: func(r *identity.JoinRule) *int64 { return &r.AccountID },
			Unique: []storage.Unique[identity.JoinRule]{
				{Code: identity.UniqueJoinRule, Index: "domain", AccountLast: true, Fields: func(r *identity.JoinRule) []any { return []any{&r.Domain, &r.Issuer} }},
			},
		},
		Key: "join_rule", Plural: "join_rules",
		Columns: []storage.Column[identity.JoinRule]{
			{Name: "issuer", Field: func(r *identity.JoinRule) any { return &r.Issuer }},
			{Name: "domain", Field: func(r *identity.JoinRule) any { return &r.Domain }},
			{Name: "role_ids", Field: func(r *identity.JoinRule) any { return storage.IDs(&r.RoleIDs) }, Refers: "role"},
			{Name: "mailbox_ids", Field: func(r *identity.JoinRule) any { return storage.IDs(&r.MailboxIDs) }, Refers: "mailbox", Loose: true, Limits: true},
			{Name: "user_id", Field: func(r *identity.JoinRule) any { return &r.UserID }, Refers: "user"},
			{Name: "created_at", Field: func(r *identity.JoinRule) any { return &r.CreatedAt }},
			{Name: "updated_at", Field: func(r *identity.JoinRule) any { return &r.UpdatedAt }},
		},
		Where: func(f identity.JoinRuleFilter) []storage.Condition {
			if f.Domain == "" {
				return nil
			}
			return []storage.Condition{storage.OneOf("domain", []string{f.Domain}), storage.OneOf("issuer", []string{f.Issuer})}
		},
	}
}

// JoinRules let people of a mail domain join the account by themselves.
type JoinRules struct{ *desk }

// JoinRules returns the handle of the rules by which people join.
func (d *Desk) JoinRules() JoinRules { return JoinRules{&d.desk} }

// List lists the rules by id. It needs memberships.view.
func (d JoinRules) List(ctx context.Context, req storage.PageRequest) (storage.Page[identity.JoinRule], error) {
	r, err := d.guard.Read(identity.MembershipsView)
	if err != nil {
		return storage.Page[identity.JoinRule]{}, err
	}
	return storage.List(req, false, func(r identity.JoinRule) storage.Position { return storage.Position{ID: r.ID} },
		func(seek storage.Seek) ([]identity.JoinRule, error) {
			return joinRuleNoun().Reader(r).List(ctx, identity.JoinRuleFilter{}, seek)
		})
}

// Get returns a rule. It needs memberships.view.
func (d JoinRules) Get(ctx context.Context, id int64) (identity.JoinRule, error) {
	r, err := d.guard.Read(identity.MembershipsView)
	if err != nil {
		return identity.JoinRule{}, err
	}
	return joinRuleNoun().Reader(r).Get(ctx, id)
}

// Apply are the ids of those of the account's rules that make members now: the provider is still configured and
// believed about the domain, and the maker may still grant what the rule grants. It needs memberships.view.
func (d JoinRules) Apply(ctx context.Context, rules []identity.JoinRule) (map[int64]bool, error) {
	if _, err := d.guard.Read(identity.MembershipsView); err != nil {
		return nil, err
	}
	var open []identity.JoinRule
	for _, rule := range rules {
		p, known := d.svc.providerOf(rule.Issuer)
		if known && p.Vouches(rule.Domain) && rule.AccountID == d.scope.AccountID {
			open = append(open, rule)
		}
	}
	return d.svc.rulesHold(ctx, d.scope.AccountID, open)
}

// rulesHold are the ids of those rules of an account whose makers may make them now.
func (s *Service) rulesHold(ctx context.Context, accountID int64, rules []identity.JoinRule) (map[int64]bool, error) {
	var roleIDs, mailboxIDs []int64
	makers := map[int64]*desk{} // nil: not a member any more
	for _, rule := range rules {
		roleIDs, mailboxIDs, makers[rule.UserID] = append(roleIDs, rule.RoleIDs...), append(mailboxIDs, rule.MailboxIDs...), nil
	}
	hold := map[int64]bool{}
	if len(rules) == 0 {
		return hold, nil
	}
	for id := range makers {
		_, err := s.stillMay(ctx, accountID, id, func(maker *desk) error {
			_, err := maker.guard.Write(identity.MembershipsCreate)
			if err == nil {
				makers[id] = maker
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	r := s.cfg.Store.Within(Scope{AccountID: accountID})
	roles, err := roleNoun().Reader(r).ByIDs(ctx, distinct(roleIDs))
	if err != nil {
		return nil, err
	}
	roles = s.registry.Resolve(roles)
	var boxes []Mailbox
	if ids := distinct(mailboxIDs); len(ids) > 0 {
		if boxes, err = r.Mailboxes().ByIDs(ctx, ids); err != nil {
			return nil, err
		}
	}
	for _, rule := range rules {
		granted := slices.DeleteFunc(slices.Clone(roles), func(r identity.Role) bool { return !slices.Contains(rule.RoleIDs, r.ID) })
		gone := func(id int64) bool { return !slices.ContainsFunc(boxes, func(m Mailbox) bool { return m.ID == id }) }
		maker := makers[rule.UserID]
		hold[rule.ID] = rule.UserID == 0 || maker != nil && len(granted) == len(distinct(rule.RoleIDs)) &&
			!slices.ContainsFunc(rule.MailboxIDs, gone) && maker.covers(granted, rule.MailboxIDs)
	}
	return hold, nil
}

// mayRule refuses a rule that grants more than the caller holds, and one with an unknown mailbox that old has not.
func (d *desk) mayRule(ctx context.Context, r Reader, rule, old identity.JoinRule) error {
	if _, err := d.guard.Write(identity.MembershipsCreate); err != nil {
		return err
	}
	if err := d.findMailboxes(ctx, r, rule.MailboxIDs, old.MailboxIDs...); err != nil {
		return err
	}
	return d.mayGrant(ctx, r, rule.RoleIDs, rule.MailboxIDs)
}

// Create makes a rule, which applies to those who sign in from then on. It needs memberships.create; what it grants
// is limited as in [Members.Update]. A second rule for a domain and provider, and a domain that the provider is not
// believed about, are Invalid faults on domain.
func (d JoinRules) Create(ctx context.Context, in identity.JoinRuleInput) (identity.JoinRule, error) {
	begin, err := d.guard.Write(identity.MembershipsCreate)
	if err != nil {
		return identity.JoinRule{}, err
	}
	if err := d.lasting("the rule"); err != nil {
		return identity.JoinRule{}, err
	}
	rule, err := d.newJoinRule(in)
	if err != nil {
		return identity.JoinRule{}, err
	}
	rule.CreatedAt = rule.UpdatedAt
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.LockAccount(ctx); err != nil {
			return err
		}
		all, err := joinRuleNoun().Rows(tx).List(ctx, identity.JoinRuleFilter{}, storage.Seek{Limit: maxJoinRules})
		if err != nil {
			return err
		}
		if len(all) >= maxJoinRules {
			return fault.Newf(fault.Conflict, "An account has at most %d rules.", maxJoinRules)
		}
		if err := d.mayRule(ctx, tx.Reader(), rule, identity.JoinRule{}); err != nil {
			return err
		}
		rule.ID = 0 // fn of a transaction may run again
		if err := joinRuleNoun().Rows(tx).Insert(ctx, &rule); err != nil {
			return takenField(err, identity.UniqueJoinRule, "domain")
		}
		return d.emit(ctx, tx, "join_rule.created", rule.ID, 0)
	})
	return rule, err
}

// Update changes a rule, of which the caller becomes the maker. It applies again to those who sign in from then on,
// also to members who were removed. It needs memberships.create, and all that the rule granted and is to grant.
func (d JoinRules) Update(ctx context.Context, id int64, in identity.JoinRuleInput) (identity.JoinRule, error) {
	begin, err := d.guard.Write(identity.MembershipsCreate)
	if err != nil {
		return identity.JoinRule{}, err
	}
	if err := d.lasting("the rule"); err != nil {
		return identity.JoinRule{}, err
	}
	rule, err := d.newJoinRule(in)
	if err != nil {
		return identity.JoinRule{}, err
	}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.LockAccount(ctx); err != nil {
			return err
		}
		old, err := joinRuleNoun().Rows(tx).Get(ctx, id)
		if err != nil {
			return err
		}
		if err := d.mayEndRule(ctx, tx.Reader(), old); err != nil {
			return err
		}
		if err := d.mayRule(ctx, tx.Reader(), rule, old); err != nil {
			return err
		}
		rule.ID, rule.CreatedAt = id, old.CreatedAt
		if err := joinRuleNoun().Rows(tx).Update(ctx, &rule); err != nil {
			return takenField(err, identity.UniqueJoinRule, "domain")
		}
		what, err := ofRule(ctx, tx.Reader(), old, rule)
		if err != nil {
			return err
		}
		return d.emitChanged(ctx, tx, "join_rule.updated", rule.ID, 0, what)
	})
	return rule, err
}

// Delete removes a rule; who joined by it stays a member. It needs memberships.delete, and all that the rule grants,
// as in [Members.Update].
func (d JoinRules) Delete(ctx context.Context, id int64) error {
	begin, err := d.guard.Write(identity.MembershipsDelete)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		rule, err := joinRuleNoun().Rows(tx).Get(ctx, id)
		if err != nil {
			return err
		}
		if err := d.mayEndRule(ctx, tx.Reader(), rule); err != nil {
			return err
		}
		if err := joinRuleNoun().Rows(tx).Delete(ctx, id); err != nil {
			return err
		}
		return d.emit(ctx, tx, "join_rule.deleted", id, 0)
	})
}

// mayEndRule refuses a rule that grants more than the caller holds. A role that is gone grants nothing.
func (d *desk) mayEndRule(ctx context.Context, r Reader, rule identity.JoinRule) error {
	err := d.mayGrant(ctx, r, rule.RoleIDs, rule.MailboxIDs)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// newJoinRule reads what a rule is to say.
func (d *desk) newJoinRule(in identity.JoinRuleInput) (identity.JoinRule, error) {
	var problems fault.Collector
	p, known := d.svc.chosenProvider(in.Provider)
	problems.Check(known, "provider", "is no identity provider of this server")
	domain, why := joinDomain(in.Domain)
	switch {
	case why != "":
		problems.Add("domain", why)
	case known && !p.Vouches(domain):
		problems.Add("domain", "is not one whose addresses "+p.Name+" vouches for: ask the operator of this server")
	}
	validateGrants(&problems, in.RoleIDs, in.MailboxIDs)
	return identity.JoinRule{
		AccountID: d.scope.AccountID, Issuer: p.Issuer, Domain: domain, RoleIDs: distinct(in.RoleIDs), MailboxIDs: distinct(in.MailboxIDs),
		UserID: d.userID, UpdatedAt: d.svc.now(),
	}, problems.Err()
}

// joinDomain is a domain as rules keep it, or what is wrong with it.
func joinDomain(text string) (domain, why string) {
	text = strings.TrimSuffix(strings.TrimPrefix(plain.Line(text), "@"), ".")
	if text == "" {
		return "", "is required"
	}
	domain, err := idna.Lookup.ToASCII(text)
	if err != nil || !strings.Contains(domain, ".") || !mailaddr.Valid("a@"+domain) || len(domain) > 253 {
		return "", "is no domain, such as example.org"
	}
	if domain = mailaddr.Fold(domain); isSuffix(domain) || publicProvider(domain) {
		return "", "is one where anybody can have an address"
	}
	return domain, ""
}

// ruledRole refuses to delete a role that a rule grants.
func ruledRole(ctx context.Context, r Reader, id int64) error {
	rules, err := joinRuleNoun().Reader(r).List(ctx, identity.JoinRuleFilter{}, storage.Seek{Limit: maxJoinRules})
	if err != nil {
		return err
	}
	if slices.ContainsFunc(rules, func(rule identity.JoinRule) bool { return slices.Contains(rule.RoleIDs, id) }) {
		return roleInUse("A rule for people who sign in grants this role.", nil)
	}
	return nil
}
