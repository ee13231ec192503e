package bunstore

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk/identity"
)

// directory implements [helpdesk.Directory].
type directory struct{ *querier }

type userRow struct {
	bun.BaseModel      `bun:"table:hw_users,alias:hw_users"`
	ID                 int64 `bun:",pk,autoincrement"`
	Name               string
	Email              string
	EmailKey           string
	EmailVerifiedAt    int64
	PasswordHash       string
	DisabledAt         int64
	DisabledByID       int64
	SecondFactorAt     int64
	SealedSecondFactor []byte
	Picture            string
	Language           string
	TimeZone           string
	AfterSending       identity.AfterSending
	LeaveUnassigned    bool
	CreatedAt          int64
	UpdatedAt          int64
}

func (r *userRow) user() identity.User {
	return identity.User{
		ID: r.ID, Name: r.Name, Email: r.Email, EmailKey: r.EmailKey, EmailVerifiedAt: timeOf(r.EmailVerifiedAt),
		PasswordHash: r.PasswordHash, DisabledAt: timeOf(r.DisabledAt), DisabledByID: r.DisabledByID, SecondFactorAt: timeOf(r.SecondFactorAt),
		SealedSecondFactor: empty(r.SealedSecondFactor), Picture: r.Picture,
		Preferences: identity.Preferences{
			Language: r.Language, TimeZone: r.TimeZone, AfterSending: r.AfterSending, LeaveUnassigned: r.LeaveUnassigned,
		},
		CreatedAt: timeOf(r.CreatedAt), UpdatedAt: timeOf(r.UpdatedAt),
	}
}

// User implements [helpdesk.Directory].
func (d directory) User(ctx context.Context, id int64) (identity.User, error) {
	var row userRow
	if err := one(ctx, d.selects(&row).Where("id = ?", id), "user", id); err != nil {
		return identity.User{}, err
	}
	return row.user(), nil
}

// UserByEmail implements [helpdesk.Directory].
func (d directory) UserByEmail(ctx context.Context, key string) (identity.User, error) {
	var row userRow
	q := d.selects(&row).Err(checkText(key)).Where("email_key = ?", key)
	if err := one(ctx, q, "user", 0); err != nil {
		return identity.User{}, err
	}
	return row.user(), nil
}

func userRowOf(u *identity.User) userRow {
	return userRow{
		ID: u.ID, Name: u.Name, Email: u.Email, EmailKey: u.EmailKey, EmailVerifiedAt: micros(u.EmailVerifiedAt),
		PasswordHash: u.PasswordHash, DisabledAt: micros(u.DisabledAt), DisabledByID: u.DisabledByID, SecondFactorAt: micros(u.SecondFactorAt),
		SealedSecondFactor: filled(u.SealedSecondFactor), Picture: u.Picture,
		Language: u.Preferences.Language, TimeZone: u.Preferences.TimeZone, AfterSending: u.Preferences.AfterSending,
		LeaveUnassigned: u.Preferences.LeaveUnassigned,
		CreatedAt:       micros(u.CreatedAt), UpdatedAt: micros(u.UpdatedAt),
	}
}

// InsertUser implements [helpdesk.SystemTx].
func (t systemTx) InsertUser(ctx context.Context, u *identity.User) error {
	row := userRowOf(u)
	row.ID = 0
	if _, err := t.inserts(&row).Exec(ctx); err != nil {
		return failure(ctx, err, "user", 0)
	}
	u.ID = row.ID
	return nil
}

type pictureRow struct {
	bun.BaseModel `bun:"table:hw_user_pictures,alias:hw_user_pictures"`
	UserID        int64 `bun:",pk"`
	Content       []byte
}

// Picture implements [identity.AccountReader].
func (r reader) Picture(ctx context.Context, userID int64) ([]byte, error) {
	var row pictureRow
	q := r.selects(&row).Where("user_id = ?", userID).
		Where("EXISTS (SELECT 1 FROM hw_memberships AS m WHERE m.user_id = hw_user_pictures.user_id AND m.account_id = ?)", r.scope.AccountID)
	if err := one(ctx, q, "picture", userID); err != nil {
		return nil, err
	}
	return row.Content, nil
}

// SetPicture implements [identity.UserWriter].
func (t systemTx) SetPicture(ctx context.Context, userID int64, content []byte) error {
	if _, err := t.deletes((*pictureRow)(nil)).Where("user_id = ?", userID).Exec(ctx); err != nil || content == nil {
		return failure(ctx, err, "user", userID)
	}
	_, err := t.inserts(&pictureRow{UserID: userID, Content: content}).Exec(ctx)
	return failure(ctx, err, "user", userID)
}

type tokenRow struct {
	bun.BaseModel `bun:"table:hw_tokens,alias:hw_tokens"`
	ID            int64 `bun:",pk,autoincrement"`
	UserID        int64
	Name          string
	Hash          []byte
	Scopes        list[identity.Permission]
	ExpiresAt     int64
	LastUsedAt    int64
	CreatedAt     int64
	Session       bool
	Factors       int
	UserDisabled  bool `bun:",scanonly"`
}

func (r *tokenRow) token() identity.AccessToken {
	return identity.AccessToken{
		ID: r.ID, UserID: r.UserID, Name: r.Name, Hash: r.Hash, Scopes: r.Scopes,
		ExpiresAt: timeOf(r.ExpiresAt), LastUsedAt: timeOf(r.LastUsedAt), CreatedAt: timeOf(r.CreatedAt), Session: r.Session, Factors: r.Factors,
		UserDisabled: r.UserDisabled,
	}
}

// TokenByHash implements [helpdesk.Directory].
func (d directory) TokenByHash(ctx context.Context, hash []byte) (identity.AccessToken, error) {
	var row tokenRow
	q := d.selects(&row).ColumnExpr("?TableColumns").ColumnExpr("u.disabled_at <> ? AS user_disabled", micros(time.Time{})).
		Join("JOIN hw_users AS u ON u.id = hw_tokens.user_id").Where("hw_tokens.hash = ?", hash)
	if err := one(ctx, q, "token", 0); err != nil {
		return identity.AccessToken{}, err
	}
	return row.token(), nil
}

// InsertToken implements [helpdesk.SystemTx].
func (t systemTx) InsertToken(ctx context.Context, token *identity.AccessToken) error {
	row := tokenRow{
		UserID: token.UserID, Name: token.Name, Hash: filled(token.Hash), Scopes: token.Scopes,
		ExpiresAt: micros(token.ExpiresAt), LastUsedAt: micros(token.LastUsedAt), CreatedAt: micros(token.CreatedAt),
		Session: token.Session, Factors: token.Factors,
	}
	if _, err := t.inserts(&row).Exec(ctx); err != nil {
		return failure(ctx, err, "token", 0)
	}
	token.ID = row.ID
	return nil
}

// TouchToken implements [helpdesk.SystemTx].
func (t systemTx) TouchToken(ctx context.Context, id int64, at time.Time) error {
	res, err := t.raw("UPDATE hw_tokens SET last_used_at = ? WHERE id = ?", micros(at), id).Exec(ctx)
	return changed(ctx, res, err, "token", id)
}

// filled keeps an empty column value from becoming NULL.
func filled(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// empty is the inverse of filled.
func empty(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

// HasUsers implements [helpdesk.Directory].
func (d directory) HasUsers(ctx context.Context) (bool, error) {
	found, err := d.selects((*userRow)(nil)).Exists(ctx)
	return found, failure(ctx, err, "user", 0)
}
