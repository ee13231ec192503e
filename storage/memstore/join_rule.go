package memstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
)

var joinRules = noun[helpdesk.Scope, identity.JoinRule, storage.NoFilter]{
	Noun: nouns.JoinRules, of: func(db *data) *table[identity.JoinRule] { return &db.joinRules },
}

// JoinRules implements [helpdesk.Reader].
func (r reader) JoinRules() storage.RowReader[identity.JoinRule, storage.NoFilter] {
	return rowsOf(r.src, r.scope.AccountID, r.scope, &joinRules)
}

// JoinRules implements [helpdesk.Rows].
func (t tx) JoinRules() storage.Rows[identity.JoinRule, storage.NoFilter] {
	return storedOf(t.src, t.scope.AccountID, t.scope, &joinRules)
}

func (d directory) JoinRulesFor(ctx context.Context, issuer, domain string) ([]identity.JoinRule, error) {
	return query(ctx, d.src, func(db *data) ([]identity.JoinRule, error) {
		var found []identity.JoinRule
		for account := range db.joinRules.rows {
			found = append(found, db.joinRules.where(account, func(r *identity.JoinRule) bool { return r.Issuer == issuer && r.Domain == domain })...)
		}
		slices.SortFunc(found, func(a, b identity.JoinRule) int { return cmp.Compare(a.ID, b.ID) })
		return found, nil
	})
}
