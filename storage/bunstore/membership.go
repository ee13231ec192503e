package bunstore

import (
	"context"
	"database/sql"
	"slices"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

type membershipRow struct {
	bun.BaseModel `bun:"table:hw_memberships,alias:hw_memberships"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	UserID        int64
	LastActivity  int64
	CreatedAt     int64
	UpdatedAt     int64
	ForceOffline  bool
	WhileInApp    bool
	UseSchedule   bool
	Schedule      items[workingHours]
	Timezone      string
}

func membershipRowOf(account int64, m *helpdesk.Membership) membershipRow {
	return membershipRow{
		ID: m.ID, AccountID: account, UserID: m.UserID, LastActivity: micros(m.LastActivity),
		CreatedAt: micros(m.CreatedAt), UpdatedAt: micros(m.UpdatedAt),
		ForceOffline: m.Availability.ForceOffline, WhileInApp: m.Availability.WhileInApp, UseSchedule: m.Availability.UseSchedule,
		Schedule: scheduleOf(m.Availability.Schedule), Timezone: m.Availability.Timezone,
	}
}

// membershipParts completes a WITH clause that selects memberships as m: one statement, and so one snapshot, returns
// them with their roles and mailboxes. The columns mean what the row's kind says. CROSS JOIN keeps SQLite from beginning elsewhere.
const membershipParts = `
	SELECT 0 AS kind, m.id AS membership, 0 AS position, m.user_id AS other, m.last_activity, m.created_at, m.updated_at,
		m.force_offline, m.while_in_app, m.use_schedule, m.schedule, m.timezone
	FROM m
	UNION ALL SELECT 1, r.membership_id, r.position, r.role_id, 0, 0, 0, FALSE, FALSE, FALSE, '', '' FROM m CROSS JOIN hw_membership_roles AS r
		WHERE r.account_id = m.account_id AND r.membership_id = m.id
	UNION ALL SELECT 2, b.membership_id, b.position, b.mailbox_id, 0, 0, 0, FALSE, FALSE, FALSE, '', '' FROM m CROSS JOIN hw_membership_mailboxes AS b
		WHERE b.account_id = m.account_id AND b.membership_id = m.id`

// memberships reads what a query for membershipRow selects, by id.
func (s *querier) memberships(ctx context.Context, selected *bun.SelectQuery, desc bool) ([]helpdesk.Membership, error) {
	if err := s.state(); err != nil {
		return nil, err
	}
	rows, err := s.rows(ctx, "WITH m AS (?) "+membershipParts+" ORDER BY kind, membership, position", selected)
	if err != nil {
		return nil, failure(ctx, err, "membership", 0)
	}
	defer rows.Close()
	var all []helpdesk.Membership
	for rows.Next() {
		if all, err = scanMembership(rows, all); err != nil {
			return nil, failure(ctx, err, "membership", 0)
		}
	}
	if desc {
		slices.Reverse(all)
	}
	return all, failure(ctx, rows.Err(), "membership", 0)
}

// scanMembership reads one row of membershipParts; the memberships come first, by id.
func scanMembership(rows *sql.Rows, all []helpdesk.Membership) ([]helpdesk.Membership, error) {
	var kind int
	var id, position, other, active, created, updated int64
	var a helpdesk.Availability
	var schedule string
	err := rows.Scan(&kind, &id, &position, &other, &active, &created, &updated,
		&a.ForceOffline, &a.WhileInApp, &a.UseSchedule, &schedule, &a.Timezone)
	if err != nil {
		return nil, err
	}
	if kind == 0 {
		var hours items[workingHours]
		if err := hours.Scan(schedule); err != nil {
			return nil, err
		}
		a.Schedule = mapped(hours, (*workingHours).hours)
		return append(all, helpdesk.Membership{
			ID: id, UserID: other, LastActivity: timeOf(active), CreatedAt: timeOf(created), UpdatedAt: timeOf(updated), Availability: a,
		}), nil
	}
	i, _ := slices.BinarySearchFunc(all, id, func(m helpdesk.Membership, id int64) int { return int(m.ID - id) })
	if kind == 1 {
		all[i].RoleIDs = append(all[i].RoleIDs, other)
	} else {
		all[i].MailboxIDs = append(all[i].MailboxIDs, other)
	}
	return all, nil
}

// Membership implements [helpdesk.AccountReader].
func (r reader) Membership(ctx context.Context, id int64) (helpdesk.Membership, error) {
	selected := r.selects((*membershipRow)(nil)).ApplyQueryBuilder(r.account).Where("id = ?", id)
	all, err := r.memberships(ctx, selected, false)
	if err != nil {
		return helpdesk.Membership{}, err
	}
	if len(all) == 0 {
		return helpdesk.Membership{}, fault.Missing("membership", id)
	}
	return all[0], nil
}

// Memberships implements [helpdesk.AccountReader].
func (r reader) Memberships(ctx context.Context, seek storage.Seek) ([]helpdesk.Membership, error) {
	selected := r.selects((*membershipRow)(nil)).ApplyQueryBuilder(r.account)
	return r.memberships(ctx, page(selected, "id", seek), seek.Desc)
}

// Grant implements [helpdesk.Directory].
func (d directory) Grant(ctx context.Context, userID, accountID int64) (helpdesk.Grant, error) {
	selected := d.selects((*membershipRow)(nil)).Where("user_id = ?", userID).Where("account_id = ?", accountID)
	all, err := d.memberships(ctx, selected, false)
	if err != nil {
		return helpdesk.Grant{}, err
	}
	if len(all) == 0 {
		return helpdesk.Grant{}, fault.Missing("membership", 0)
	}
	grant := helpdesk.Grant{Membership: all[0]}
	if len(grant.Membership.RoleIDs) == 0 {
		return grant, nil
	}
	var roles []roleRow
	err = d.selects(&roles).Where("account_id = ?", accountID).
		Where("id IN (?)", bun.List(grant.Membership.RoleIDs)).Order("id").Scan(ctx)
	grant.Roles = mapped(roles, (*roleRow).role)
	return grant, failure(ctx, err, "role", 0)
}

// InsertMembership implements [helpdesk.AccountWriter].
func (w writer) InsertMembership(ctx context.Context, m *helpdesk.Membership) error {
	row := membershipRowOf(w.scope.AccountID, m)
	row.ID = 0
	if _, err := w.inserts(&row).Exec(ctx); err != nil {
		return failure(ctx, err, "membership", 0)
	}
	if err := w.insertGrants(ctx, row.ID, m); err != nil {
		return err
	}
	m.ID = row.ID
	return nil
}

// UpdateMembership implements [helpdesk.AccountWriter].
func (w writer) UpdateMembership(ctx context.Context, m *helpdesk.Membership) error {
	row := membershipRowOf(w.scope.AccountID, m)
	res, err := w.updates(&row).ApplyQueryBuilder(w.account).Where("id = ?", m.ID).Exec(ctx)
	if err := changed(ctx, res, err, "membership", m.ID); err != nil {
		return err
	}
	for _, table := range []string{"hw_membership_roles", "hw_membership_mailboxes"} {
		_, err := w.raw("DELETE FROM ? WHERE account_id = ? AND membership_id = ?",
			bun.Ident(table), w.scope.AccountID, m.ID).Exec(ctx)
		if err != nil {
			return failure(ctx, err, "membership", m.ID)
		}
	}
	return w.insertGrants(ctx, m.ID, m)
}

type membershipRoleRow struct {
	bun.BaseModel `bun:"table:hw_membership_roles,alias:hw_membership_roles"`
	AccountID     int64
	MembershipID  int64
	Position      int
	RoleID        int64
}

type membershipMailboxRow struct {
	bun.BaseModel `bun:"table:hw_membership_mailboxes,alias:hw_membership_mailboxes"`
	AccountID     int64
	MembershipID  int64
	Position      int
	MailboxID     int64
}

// insertGrants writes the roles and mailboxes of a membership.
func (w writer) insertGrants(ctx context.Context, id int64, m *helpdesk.Membership) error {
	if len(m.RoleIDs) > 0 {
		roles := make([]membershipRoleRow, len(m.RoleIDs))
		for i, role := range m.RoleIDs {
			roles[i] = membershipRoleRow{AccountID: w.scope.AccountID, MembershipID: id, Position: i, RoleID: role}
		}
		if _, err := w.inserts(&roles).Exec(ctx); err != nil {
			return failure(ctx, err, "membership", id)
		}
	}
	if len(m.MailboxIDs) > 0 {
		mailboxes := make([]membershipMailboxRow, len(m.MailboxIDs))
		for i, mailbox := range m.MailboxIDs {
			mailboxes[i] = membershipMailboxRow{AccountID: w.scope.AccountID, MembershipID: id, Position: i, MailboxID: mailbox}
		}
		if _, err := w.inserts(&mailboxes).Exec(ctx); err != nil {
			return failure(ctx, err, "membership", id)
		}
	}
	return nil
}

// DeleteMembership implements [helpdesk.AccountWriter].
func (w writer) DeleteMembership(ctx context.Context, id int64) error {
	res, err := w.deletes((*membershipRow)(nil)).ApplyQueryBuilder(w.account).Where("id = ?", id).Exec(ctx)
	return changed(ctx, res, err, "membership", id)
}
