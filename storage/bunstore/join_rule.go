package bunstore

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
)

type joinRuleRow struct {
	bun.BaseModel `bun:"table:hw_join_rules,alias:hw_join_rules"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	Issuer        string
	Domain        string
	RoleIDs       items[int64] `bun:"role_ids"`
	MailboxIDs    items[int64] `bun:"mailbox_ids"`
	UserID        int64
	CreatedAt     int64
	UpdatedAt     int64
}

func (r *joinRuleRow) rule() identity.JoinRule {
	return identity.JoinRule{
		ID: r.ID, AccountID: r.AccountID, Issuer: r.Issuer, Domain: r.Domain, RoleIDs: r.RoleIDs, MailboxIDs: r.MailboxIDs, UserID: r.UserID,
		CreatedAt: timeOf(r.CreatedAt), UpdatedAt: timeOf(r.UpdatedAt),
	}
}

func joinRuleRowOf(account int64, j *identity.JoinRule) joinRuleRow {
	return joinRuleRow{
		ID: j.ID, AccountID: account, Issuer: j.Issuer, Domain: j.Domain, RoleIDs: j.RoleIDs, MailboxIDs: j.MailboxIDs, UserID: j.UserID,
		CreatedAt: micros(j.CreatedAt), UpdatedAt: micros(j.UpdatedAt),
	}
}

var joinRules = table[writer, identity.JoinRule, storage.NoFilter, joinRuleRow]{
	Noun: nouns.JoinRules, row: joinRuleRowOf, item: (*joinRuleRow).rule,
}

// JoinRules implements [helpdesk.Reader].
func (r reader) JoinRules() storage.RowReader[identity.JoinRule, storage.NoFilter] {
	return rowsOf(r.placed(), &joinRules)
}

// JoinRules implements [helpdesk.Rows].
func (w writer) JoinRules() storage.Rows[identity.JoinRule, storage.NoFilter] {
	return storedOf(w, &joinRules)
}

// JoinRulesFor implements [identity.SignOnDirectory].
func (d directory) JoinRulesFor(ctx context.Context, issuer, domain string) ([]identity.JoinRule, error) {
	var rows []joinRuleRow
	err := d.selects(&rows).Err(checkText(issuer)).Err(checkText(domain)).Where("domain = ?", domain).Where("issuer = ?", issuer).OrderExpr("+id").Scan(ctx)
	return mapped(rows, (*joinRuleRow).rule), failure(ctx, err, "join rule", 0)
}
