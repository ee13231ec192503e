package bunstore

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
)

// items is a column with a JSON array; an empty one is nil.
type items[T any] []T

// Value implements [driver.Valuer].
func (l items[T]) Value() (driver.Value, error) {
	if len(l) == 0 {
		return "[]", nil
	}
	text, err := json.Marshal([]T(l))
	return string(text), err
}

// Scan implements [sql.Scanner].
func (l *items[T]) Scan(src any) error {
	*l = nil
	if err := scanJSON(src, (*[]T)(l)); err != nil {
		return err
	}
	if len(*l) == 0 {
		*l = nil
	}
	return nil
}

// workingHours is one day of a schedule.
type workingHours struct {
	Day  int    `json:"day"`
	From string `json:"from"`
	To   string `json:"to"`
}

func (h *workingHours) hours() identity.WorkingHours {
	return identity.WorkingHours{Day: time.Weekday(h.Day), From: h.From, To: h.To}
}

func scheduleOf(all []identity.WorkingHours) items[workingHours] {
	return mapped(all, func(h *identity.WorkingHours) workingHours {
		return workingHours{Day: int(h.Day), From: h.From, To: h.To}
	})
}

// Users implements [identity.PeopleDirectory].
func (d directory) Users(ctx context.Context, seek storage.Seek) ([]identity.User, error) {
	var rows []userRow
	err := page(d.selects(&rows), "id", seek).Scan(ctx)
	return mapped(rows, (*userRow).user), failure(ctx, err, "user", 0)
}

// UserForUpdate implements [identity.UserWriter].
func (t systemTx) UserForUpdate(ctx context.Context, id int64) (identity.User, error) {
	var row userRow
	q := t.forChange(t.selects(&row).Where("id = ?", id))
	if err := one(ctx, q, "user", id); err != nil {
		return identity.User{}, err
	}
	return row.user(), nil
}

// DeleteUser implements [identity.UserWriter]; the tokens and identities go with the row.
func (t systemTx) DeleteUser(ctx context.Context, id int64) error {
	res, err := t.deletes((*userRow)(nil)).Where("id = ?", id).Exec(ctx)
	return removed(ctx, res, err, "user", id)
}

// TokensOf implements [identity.PeopleDirectory].
func (d directory) TokensOf(ctx context.Context, userID int64, sessions bool, seek storage.Seek) ([]identity.AccessToken, error) {
	var rows []tokenRow
	q := d.selects(&rows).Where("user_id = ?", userID).Where("session = ?", sessions)
	err := page(q, "id", seek).Scan(ctx)
	return mapped(rows, (*tokenRow).token), failure(ctx, err, "token", 0)
}

// UpdateUser implements [identity.UserWriter].
func (t systemTx) UpdateUser(ctx context.Context, u *identity.User) error {
	row := userRowOf(u)
	res, err := t.updates(&row).Where("id = ?", u.ID).Exec(ctx)
	return changed(ctx, res, err, "user", u.ID)
}

// DeleteToken implements [identity.UserWriter].
func (t systemTx) DeleteToken(ctx context.Context, userID, id int64) error {
	res, err := t.deletes((*tokenRow)(nil)).Where("user_id = ?", userID).Where("id = ?", id).Exec(ctx)
	return removed(ctx, res, err, "token", id)
}

// DeleteSessions implements [identity.UserWriter].
func (t systemTx) DeleteSessions(ctx context.Context, userID int64, by time.Time) error {
	_, err := t.deletes((*tokenRow)(nil)).Where("user_id = ?", userID).Where("session = TRUE").
		Where("expires_at <= ?", micros(by)).Exec(ctx)
	return failure(ctx, err, "token", 0)
}

// LockAccount implements [identity.MemberWriter].
func (w writer) LockAccount(ctx context.Context) error {
	var row accountRow
	q := w.forChange(w.selects(&row).Column("id").Where("id = ?", w.scope.AccountID))
	if err := one(ctx, q, "account", w.scope.AccountID); err != nil {
		return err
	}
	w.foundAccount()
	return nil
}

// Whole implements [helpdesk.Tx].
func (w writer) Whole() helpdesk.Reader {
	whole := w.reader
	whole.scope.Mailboxes = nil
	return whole
}

// TouchMembership implements [identity.MemberWriter].
func (w writer) TouchMembership(ctx context.Context, id int64, at time.Time) error {
	res, err := w.raw("UPDATE hw_memberships SET last_activity = ? WHERE account_id = ? AND id = ?",
		micros(at), w.scope.AccountID, id).Exec(ctx)
	return changed(ctx, res, err, "membership", id)
}

// DeleteOtherSessions implements [identity.UserWriter].
func (t systemTx) DeleteOtherSessions(ctx context.Context, userID, id int64) error {
	_, err := t.deletes((*tokenRow)(nil)).Where("user_id = ?", userID).Where("session = TRUE").Where("id <> ?", id).Exec(ctx)
	return failure(ctx, err, "token", 0)
}
