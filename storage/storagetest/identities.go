package storagetest

import (
	"context"
	"fmt"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
)

func (w *world) newIdentity(subject string) identity.Identity {
	return identity.Identity{UserID: w.user.ID, Issuer: "https://id.example", Subject: subject + " " + w.mark, Email: w.address(subject), CreatedAt: base, UsedAt: at(3)}
}

func (w *world) newJoinRule(local string) identity.JoinRule {
	return identity.JoinRule{AccountID: w.account.ID, Issuer: "https://id.example", Domain: local + "." + w.mark + ".example", RoleIDs: []int64{w.role.ID},
		MailboxIDs: []int64{w.mailbox.ID, w.empty.ID}, UserID: w.user.ID, CreatedAt: base, UpdatedAt: at(1)}
}

// testIdentities finds identities, and keeps them apart by issuer, subject and user.
func testIdentities(t *testing.T, b Backend) {
	w, other := newAccount(t, b), newAccount(t, b)
	elsewhere, alike := w.newIdentity("held"), other.newIdentity("x")
	elsewhere.Issuer, alike.Subject = "https://other.example", w.identity.Subject
	var unknown []identity.Identity
	for _, subject := range []string{"", "HELD " + w.mark, "held", w.identity.Subject + " "} {
		unknown = append(unknown, identity.Identity{Issuer: w.identity.Issuer, Subject: subject})
	}
	credentials[identity.Identity]{
		noun: "identity", of: helpdesk.Store.IdentitiesOf, insert: helpdesk.SystemTx.InsertIdentity, update: helpdesk.SystemTx.UpdateIdentity,
		remove: helpdesk.SystemTx.DeleteIdentity, ids: func(i *identity.Identity) (id, userID *int64) { return &i.ID, &i.UserID },
		find: func(ctx context.Context, i identity.Identity) (identity.Identity, error) {
			return b.Store.IdentityBySubject(ctx, i.Issuer, i.Subject)
		},
		first: w.identity, others: other.identity, second: elsewhere, unknown: unknown, alike: alike, unique: identity.UniqueUserIdentity,
		moved:   func(i *identity.Identity) { i.Email, i.UsedAt = w.address("moved"), at(9) },
		ignored: func(i *identity.Identity) { i.Subject, i.CreatedAt = "ignored", at(99) },
	}.test(t, b, w)
}

// testFindJoinRules finds the rules of all accounts.
func testFindJoinRules(t *testing.T, b Backend) {
	w, other := newAccount(t, b), newAccount(t, b)
	alike := other.newJoinRule("x")
	alike.Domain = w.joinRule.Domain
	elsewhere := w.newJoinRule("held")
	elsewhere.Issuer = "https://other.example"
	other.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return helpdesk.Nouns().JoinRules.Rows(tx).Insert(ctx, &alike)
	})
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return helpdesk.Nouns().JoinRules.Rows(tx).Insert(ctx, &elsewhere)
	})
	find := func(issuer, domain string, want ...identity.JoinRule) {
		t.Helper()
		got, err := helpdesk.Nouns().JoinRules.Find(t.Context(), b.Store, identity.JoinRuleFilter{Issuer: issuer, Domain: domain})
		ok(t, err)
		same(t, "found in all accounts", append([]identity.JoinRule{}, want...), got)
	}
	find(w.joinRule.Issuer, w.joinRule.Domain, w.joinRule, alike)
	find(elsewhere.Issuer, elsewhere.Domain, elsewhere)
	find(w.joinRule.Issuer, "held")
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.DeleteAccount(ctx) })
	find(w.joinRule.Issuer, w.joinRule.Domain, alike)
	find(elsewhere.Issuer, elsewhere.Domain)
}

func (g *generator) readJoinRule(seen content, seek storage.Seek) operation {
	if g.IntN(2) == 0 {
		return operation{method: "JoinRules.Get", args: []any{g.either("JoinRule", oneOf(g, seen.JoinRules).ID)}}
	}
	return operation{method: "JoinRules.List", args: []any{identity.JoinRuleFilter{}, ordered{g.from(seek, "JoinRule"), "JoinRule"}}}
}

func (g *generator) writeJoinRule(seen content) operation {
	rule := oneOf(g, seen.JoinRules)
	switch g.IntN(3) {
	case 0:
		return operation{method: "JoinRules.Delete", args: []any{g.either("JoinRule", rule.ID)}}
	case 1:
		rule.RoleIDs, rule.UpdatedAt = g.roles(seen), g.time(false)
		return operation{method: "JoinRules.Update", args: []any{[]*identity.JoinRule{&rule}}}
	}
	rule = identity.JoinRule{Issuer: "https://id.example", Domain: fmt.Sprint("d", g.IntN(6)), RoleIDs: g.roles(seen), MailboxIDs: g.mailboxes(seen),
		UserID: oneOf(g, g.pool["User"]), CreatedAt: base, UpdatedAt: g.time(false)}
	return operation{method: "JoinRules.Insert", args: []any{[]*identity.JoinRule{&rule}}, clash: true}
}

func (g *generator) identitySystem() operation {
	user := one64("User", g.any("User"))
	switch g.IntN(3) {
	case 0:
		return operation{method: "DeleteIdentity", args: []any{user, one64("Identity", g.any("Identity"))}}
	case 1:
		i := &identity.Identity{ID: g.any("Identity"), UserID: g.any("User"), Email: g.text(), UsedAt: g.time(false)}
		return operation{method: "UpdateIdentity", args: []any{i}}
	}
	i := &identity.Identity{UserID: oneOf(g, g.pool["User"]), Issuer: "i", Subject: fmt.Sprint("s", g.IntN(6)), CreatedAt: base, UsedAt: base}
	return operation{method: "InsertIdentity", args: []any{i}}
}

func (g *generator) identityDirectory() operation {
	switch g.IntN(3) {
	case 0:
		return operation{method: "IdentityBySubject", args: []any{"i", fmt.Sprint("s", g.IntN(7))}}
	case 1:
		return operation{method: "IdentitiesOf", args: []any{one64("User", g.any("User"))}}
	}
	return operation{method: "JoinRules.Find", args: []any{identity.JoinRuleFilter{Issuer: "https://id.example", Domain: fmt.Sprint("d", g.IntN(6))}}}
}
