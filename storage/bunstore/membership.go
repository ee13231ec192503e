package bunstore

import (
	"context"
	"database/sql"
	"slices"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk/identity"
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

func membershipRowOf(account int64, m *identity.Membership) membershipRow {
	return membershipRow{
		ID: m.ID, AccountID: account, UserID: m.UserID, LastActivity: micros(m.LastActivity),
		CreatedAt: micros(m.CreatedAt), UpdatedAt: micros(m.UpdatedAt),
		ForceOffline: m.Availability.ForceOffline, WhileInApp: m.Availability.WhileInApp, UseSchedule: m.Availability.UseSchedule,
		Schedule: scheduleOf(m.Availability.Schedule), Timezone: m.Availability.Timezone,
	}
}

// membershipParts completes a WITH clause that selects memberships as m: a single statement, and thus a single snapshot,
// returns them with their roles and mailboxes. The kind of a row determines the meaning of its columns. CROSS JOIN keeps
// SQLite from starting elsewhere.
const membershipParts = `
	SELECT 0 AS kind, m.id AS membership, 0 AS position, m.user_id AS other, m.last_activity, m.created_at, m.updated_at,
		m.force_offline, m.while_in_app, m.use_schedule, m.schedule, m.timezone
	FROM m
	UNION ALL SELECT 1, r.membership_id, r.position, r.role_id, 0, 0, 0, FALSE, FALSE, FALSE, '', '' FROM m CROSS JOIN hw_membership_roles AS r
		WHERE r.account_id = m.account_id AND r.membership_id = m.id
	UNION ALL SELECT 2, b.membership_id, b.position, b.mailbox_id, 0, 0, 0, FALSE, FALSE, FALSE, '', '' FROM m CROSS JOIN hw_membership_mailboxes AS b
		WHERE b.account_id = m.account_id AND b.membership_id = m.id`

// memberships reads the memberships that a query for membershipRow selects, by id.
func (s *querier) memberships(ctx context.Context, selected *bun.SelectQuery, desc bool) ([]identity.Membership, error) {
	var all []identity.Membership
	err := s.rows(ctx, func(rows *sql.Rows) (err error) {
		all, err = scanMembership(rows, all)
		return err
	}, "WITH m AS (?) "+membershipParts+" ORDER BY kind, membership, position", selected)
	if err != nil {
		return nil, failure(ctx, err, "membership", 0)
	}
	if desc {
		slices.Reverse(all)
	}
	return all, nil
}

// scanMembership reads one row of membershipParts; the memberships come first, by id.
func scanMembership(rows *sql.Rows, all []identity.Membership) ([]identity.Membership, error) {
	var kind int
	var id, position, other, active, created, updated int64
	var a identity.Availability
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
		return append(all, identity.Membership{
			ID: id, UserID: other, LastActivity: timeOf(active), CreatedAt: timeOf(created), UpdatedAt: timeOf(updated), Availability: a,
		}), nil
	}
	i, _ := slices.BinarySearchFunc(all, id, func(m identity.Membership, id int64) int { return int(m.ID - id) })
	if kind == 1 {
		all[i].RoleIDs = append(all[i].RoleIDs, other)
	} else {
		all[i].MailboxIDs = append(all[i].MailboxIDs, other)
	}
	return all, nil
}

var memberships = table[writer, identity.Membership, storage.NoFilter, membershipRow]{
	Noun: nouns.Memberships, row: membershipRowOf,
	read: func(ctx context.Context, s *querier, selected *bun.SelectQuery, desc bool) ([]identity.Membership, error) {
		return s.memberships(ctx, selected, desc)
	},
	inserted: func(ctx context.Context, w writer, m *identity.Membership) error { return w.insertGrants(ctx, m.ID, m) },
	updated:  func(ctx context.Context, w writer, m *identity.Membership) error { return w.updateGrants(ctx, m) },
}

// Memberships implements [helpdesk.Reader].
func (r reader) Memberships() storage.RowReader[identity.Membership, storage.NoFilter] {
	return rowsOf(r.placed(), &memberships)
}

// Memberships implements [helpdesk.Rows].
func (w writer) Memberships() storage.Rows[identity.Membership, storage.NoFilter] {
	return storedOf(w, &memberships)
}

// grantSQL runs for every request, so it is one statement of indexed joins. It returns a row for each pair of role and
// mailbox: both are few.
const grantSQL = `SELECT m.id, m.last_activity, m.created_at, m.updated_at,
	m.force_offline, m.while_in_app, m.use_schedule, m.schedule, m.timezone, u.disabled_at, u.password_hash <> '', u.second_factor_at, a.require_second_factor,
	g.position, g.role_id, r.role_key, r.name, r.description, r.permissions, r.created_at, r.updated_at, b.mailbox_id
	FROM hw_memberships AS m
	JOIN hw_users AS u ON u.id = m.user_id
	JOIN hw_accounts AS a ON a.id = m.account_id
	LEFT JOIN hw_membership_roles AS g ON g.account_id = m.account_id AND g.membership_id = m.id
	LEFT JOIN hw_roles AS r ON r.account_id = g.account_id AND r.id = g.role_id
	LEFT JOIN hw_membership_mailboxes AS b ON b.account_id = m.account_id AND b.membership_id = m.id
	WHERE m.user_id = ? AND m.account_id = ? ORDER BY g.position, b.position`

// Grant implements [helpdesk.Directory].
func (d directory) Grant(ctx context.Context, userID, accountID int64) (identity.Grant, error) {
	grant := identity.Grant{Membership: identity.Membership{UserID: userID}}
	first := int64(-1) // position of the first role: only its rows list the mailboxes
	err := d.rows(ctx, func(rows *sql.Rows) error { return scanGrant(rows, &grant, &first) }, grantSQL, userID, accountID)
	if err != nil {
		return identity.Grant{}, failure(ctx, err, "membership", 0)
	}
	if grant.Membership.ID == 0 {
		return identity.Grant{}, fault.Missing("membership", 0)
	}
	slices.SortFunc(grant.Roles, func(a, b identity.Role) int { return int(a.ID - b.ID) })
	return grant, nil
}

func scanGrant(rows *sql.Rows, grant *identity.Grant, first *int64) error {
	var active, created, updated, disabled, factor int64
	var position, roleID, roleCreated, roleUpdated, mailbox sql.NullInt64
	var key, name, description, granted sql.NullString
	var schedule string
	m := &grant.Membership
	a := &m.Availability
	err := rows.Scan(&m.ID, &active, &created, &updated, &a.ForceOffline, &a.WhileInApp, &a.UseSchedule, &schedule, &a.Timezone, &disabled, &grant.HasPassword, &factor, &grant.RequireSecondFactor, &position, &roleID, &key, &name, &description, &granted,
		&roleCreated, &roleUpdated, &mailbox)
	if err != nil {
		return err
	}
	m.LastActivity, m.CreatedAt, m.UpdatedAt = timeOf(active), timeOf(created), timeOf(updated)
	grant.Disabled, grant.HasSecondFactor = !timeOf(disabled).IsZero(), !timeOf(factor).IsZero()
	var hours items[workingHours]
	if err := hours.Scan(schedule); err != nil {
		return err
	}
	a.Schedule = mapped(hours, (*workingHours).hours)
	if *first < 0 {
		*first = position.Int64
	}
	if mailbox.Valid && position.Int64 == *first {
		m.MailboxIDs = append(m.MailboxIDs, mailbox.Int64)
	}
	if n := len(m.RoleIDs); !roleID.Valid || n > int(position.Int64-*first) {
		return nil // no role, or a repeated one with another mailbox
	}
	m.RoleIDs = append(m.RoleIDs, roleID.Int64)
	var permissions list[identity.Permission]
	if granted.Valid {
		if err := permissions.Scan(granted.String); err != nil {
			return err
		}
	}
	if key.Valid && !slices.ContainsFunc(grant.Roles, func(r identity.Role) bool { return r.ID == roleID.Int64 }) {
		grant.Roles = append(grant.Roles, identity.Role{
			ID: roleID.Int64, Key: key.String, Name: name.String, Description: description.String, Permissions: permissions,
			CreatedAt: timeOf(roleCreated.Int64), UpdatedAt: timeOf(roleUpdated.Int64),
		})
	}
	return nil
}

// updateGrants writes the roles and mailboxes of a membership if they have changed.
func (w writer) updateGrants(ctx context.Context, m *identity.Membership) error {
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
func (w writer) insertGrants(ctx context.Context, id int64, m *identity.Membership) error {
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
