package bunstore

import (
	"context"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

type accountRow struct {
	bun.BaseModel       `bun:"table:hw_accounts,alias:hw_accounts"`
	ID                  int64 `bun:",pk,autoincrement"`
	Name                string
	NextNumber          int64
	DefaultLocale       string
	DefaultMailboxID    int64
	Languages           list[string]
	SendHold            int64 // seconds
	RemoteImages        string
	TrackSeen           bool
	RequireSecondFactor bool
	SealedErasureKeys   []byte
	Origin              string
	OriginFinishedAt    int64
	Listens             list[string]
	CreatedAt           int64
	UpdatedAt           int64
}

func (r *accountRow) account() identity.Account {
	return identity.Account{
		ID: r.ID, Name: r.Name, NextNumber: r.NextNumber, DefaultLocale: r.DefaultLocale, Languages: r.Languages, DefaultMailboxID: r.DefaultMailboxID,
		SendHold:     time.Duration(r.SendHold) * time.Second,
		RemoteImages: identity.RemoteImages(r.RemoteImages), TrackSeen: r.TrackSeen, RequireSecondFactor: r.RequireSecondFactor,
		SealedErasureKeys: empty(r.SealedErasureKeys),
		Origin:            identity.Origin{Archive: r.Origin, FinishedAt: timeOf(r.OriginFinishedAt)},
		Listens:           r.Listens,
		CreatedAt:         timeOf(r.CreatedAt), UpdatedAt: timeOf(r.UpdatedAt),
	}
}

func accountRowOf(a *identity.Account) accountRow {
	return accountRow{
		ID: a.ID, Name: a.Name, NextNumber: a.NextNumber, DefaultLocale: a.DefaultLocale, Languages: a.Languages, DefaultMailboxID: a.DefaultMailboxID,
		SendHold:     int64(a.SendHold / time.Second),
		RemoteImages: string(a.RemoteImages), TrackSeen: a.TrackSeen, RequireSecondFactor: a.RequireSecondFactor,
		SealedErasureKeys: empty(a.SealedErasureKeys),
		Origin:            a.Origin.Archive, OriginFinishedAt: micros(a.Origin.FinishedAt),
		Listens:   a.Listens,
		CreatedAt: micros(a.CreatedAt), UpdatedAt: micros(a.UpdatedAt),
	}
}

// Account implements [identity.AccountReader].
func (r reader) Account(ctx context.Context) (identity.Account, error) {
	var row accountRow
	err := one(ctx, r.selects(&row).Where("id = ?", r.scope.AccountID), "account", r.scope.AccountID)
	if err != nil {
		return identity.Account{}, err
	}
	return row.account(), nil
}

// InsertAccount implements [helpdesk.SystemTx].
func (t systemTx) InsertAccount(ctx context.Context, a *identity.Account) error {
	row := accountRowOf(a)
	row.ID = 0
	if _, err := t.inserts(&row).Exec(ctx); err != nil {
		return failure(ctx, err, "account", 0)
	}
	a.ID = row.ID
	t.tx.accounts[a.ID] = true
	return nil
}

// UpdateAccount implements [identity.AccountWriter].
func (w writer) UpdateAccount(ctx context.Context, a *identity.Account) error {
	id := w.scope.AccountID
	if a.ID != id {
		return fault.Missing("account", a.ID)
	}
	row := accountRowOf(a)
	greatest := "max"
	if w.store.postgres {
		greatest = "greatest"
	}
	res, err := w.updates(&row).ExcludeColumn("next_number").
		Set("next_number = ?(next_number, ?)", bun.Safe(greatest), a.NextNumber).
		Where("id = ?", id).Exec(ctx)
	return changed(ctx, res, err, "account", id)
}

// ofAccounts are what an account has most of, besides its conversations.
var ofAccounts = []dependent{
	{table: "hw_articles", of: "account_id", cost: 20},
	{table: "hw_customers", of: "account_id", cost: 3, index: "hw_customer_search"}, {table: "hw_inbound_mails", of: "account_id"},
	{table: "hw_webhook_deliveries", of: "account_id"}, {table: "hw_notifications", of: "account_id"},
	{table: "hw_audit", of: "account_id"}, {table: "hw_events", of: "account_id", key: "seq"},
}

// TrimAccount implements [identity.AccountWriter].
func (w writer) TrimAccount(ctx context.Context, n int) (trimmed bool, err error) {
	if err := w.LockAccount(ctx); err != nil {
		return false, err
	}
	// Conversations first, which leaves tombstones: should the account stay, no mail may be filed twice. Others go once there are
	// none, because conversations refer to them.
	limit := max(1, n/10)
	var some []int64
	err = w.selects((*conversationRow)(nil)).Column("id").ApplyQueryBuilder(w.account).Order("id").Limit(int64(limit)+1).Scan(ctx, &some)
	if err != nil {
		return false, failure(ctx, err, "conversation", 0)
	}
	if len(some) <= limit {
		many, err := w.excess(ctx, w.scope.AccountID, w.scope.AccountID, n, ofAccounts)
		if err != nil || many == nil {
			return false, err
		}
		if len(some) == 0 {
			return true, w.cut(ctx, *many, w.scope.AccountID, w.scope.AccountID, n)
		}
	}
	return true, w.deleteConversations(ctx, some[:min(limit, len(some))])
}

// DeleteAccount implements [identity.AccountWriter]. Referring rows are deleted before the rows they refer to.
func (w writer) DeleteAccount(ctx context.Context) error {
	id := w.scope.AccountID
	// Lock first: from here on no other transaction adds anything to the account.
	var locked int64
	q := w.forUpdate(w.selects((*accountRow)(nil)).Column("id").Where("id = ?", id))
	if err := q.Scan(ctx, &locked); err != nil {
		return failure(ctx, err, "account", id)
	}
	_, err := w.raw("DELETE FROM hw_idempotency WHERE conversation_id IN (SELECT id FROM hw_conversations WHERE account_id = ?)", id).Exec(ctx)
	if err != nil {
		return failure(ctx, err, "idempotency key", 0)
	}
	for _, table := range append(slices.Clone(siteTables),
		"hw_sites", "hw_inbound_mails", "hw_conversations", "hw_conversation_counts", "hw_customers", "hw_mailboxes", "hw_memberships", "hw_roles", "hw_invitations",
	) {
		if _, err := w.raw("DELETE FROM ? WHERE account_id = ?", bun.Ident(table), id).Exec(ctx); err != nil {
			return inUse(ctx, err, "account", id)
		}
	}
	res, err := w.raw("DELETE FROM hw_accounts WHERE id = ?", id).Exec(ctx)
	if err := removed(ctx, res, err, "account", id); err != nil {
		return err
	}
	w.tx.accounts[id] = false
	return nil
}

// TakeNumber implements [identity.AccountWriter].
func (w writer) TakeNumber(ctx context.Context) (int64, error) {
	var number int64
	err := w.raw("UPDATE hw_accounts SET next_number = next_number + 1 WHERE id = ? RETURNING next_number - 1",
		w.scope.AccountID).Scan(ctx, &number)
	if err != nil {
		return 0, failure(ctx, err, "account", w.scope.AccountID)
	}
	w.foundAccount()
	return number, nil
}

// UsersByID implements [identity.AccountReader].
func (r reader) UsersByID(ctx context.Context, ids []int64) ([]identity.User, error) {
	if len(ids) == 0 {
		return nil, r.state()
	}
	var rows []userRow
	err := r.selects(&rows).Where("id IN (?)", bun.List(ids)).
		Where("EXISTS (SELECT 1 FROM hw_memberships AS m WHERE m.user_id = hw_users.id AND m.account_id = ?)",
			r.scope.AccountID).Order("id").Scan(ctx)
	return mapped(rows, (*userRow).user), failure(ctx, err, "user", 0)
}

// AccountsOf implements [helpdesk.Directory].
func (d directory) AccountsOf(ctx context.Context, userID int64, seek storage.Seek) ([]identity.Account, error) {
	var rows []accountRow
	q := d.selects(&rows).Where(
		"id IN (SELECT m.account_id FROM hw_memberships AS m WHERE m.user_id = ?)", userID)
	err := page(q, "id", seek).Scan(ctx)
	return mapped(rows, (*accountRow).account), failure(ctx, err, "account", 0)
}
