package identity

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/storage"
)

// Codes of the Conflict faults that a store returns for uniqueness violations.
const (
	UniqueUserEmail    = "user_email"    // a user's mailaddr.Key, over all accounts
	UniqueMembership   = "membership"    // (account, user)
	UniqueUserIdentity = "user_identity" // (Issuer, Subject) of an identity, over all users
	UniquePasskey      = "passkey"       // CredentialID of a passkey, over all users
	UniqueJoinRule     = "join_rule"     // (account, Issuer, Domain) of a join rule
	UniqueInvitation   = "invitation"    // Hash of an invitation, over all accounts
)

// AccountReader reads the account, its roles and its members.
type AccountReader interface {
	Account(ctx context.Context) (Account, error)
	// UsersByID returns the users with the given ids who are members of the account, in any order.
	UsersByID(ctx context.Context, ids []int64) ([]User, error)
	// Picture returns the picture of a user who is a member of the account. It is a NotFound fault if there is none.
	Picture(ctx context.Context, userID int64) ([]byte, error)
}

// AccountWriter changes the account and its members.
type AccountWriter interface {
	// UpdateAccount writes all fields, but never lowers NextNumber below a number already taken, see TakeNumber.
	UpdateAccount(ctx context.Context, a *Account) error
	// DeleteAccount removes the account and every row in it.
	DeleteAccount(ctx context.Context) error
	// TrimAccount removes about n of the rows that DeleteAccount would remove, if there are more than that, and reports whether
	// it did, see [storage.Rows].Trim. It leaves those that decide what members may do.
	TrimAccount(ctx context.Context, n int) (trimmed bool, err error)
	// TakeNumber returns the next conversation number and increments it. The numbers taken by committed transactions have no
	// gaps and no duplicates.
	TakeNumber(ctx context.Context) (int64, error)
}

// PeopleDirectory finds users' data above accounts.
type PeopleDirectory interface {
	// Accounts lists all accounts by id.
	Accounts(ctx context.Context, seek storage.Seek) ([]Account, error)
	// Users lists all users by id.
	Users(ctx context.Context, seek storage.Seek) ([]User, error)
	// TokensOf lists a user's access tokens by id: either only the sessions, or all tokens but sessions.
	TokensOf(ctx context.Context, userID int64, sessions bool, seek storage.Seek) ([]AccessToken, error)
}

// SignOnDirectory finds users' identities at identity providers, and the accounts' rules for them.
type SignOnDirectory interface {
	// IdentityBySubject finds an identity by issuer and subject, byte by byte.
	IdentityBySubject(ctx context.Context, issuer, subject string) (Identity, error)
	// IdentitiesOf lists a user's identities by id.
	IdentitiesOf(ctx context.Context, userID int64) ([]Identity, error)
}

// SignOnWriter changes users' identities at identity providers.
type SignOnWriter interface {
	InsertIdentity(ctx context.Context, i *Identity) error
	// UpdateIdentity sets Email and UsedAt of an identity of a user. Another user's is a NotFound fault.
	UpdateIdentity(ctx context.Context, i *Identity) error
	// DeleteIdentity removes an identity of a user. Another user's is a NotFound fault.
	DeleteIdentity(ctx context.Context, userID, id int64) error
}

// PasskeyDirectory finds users' passkeys.
type PasskeyDirectory interface {
	// PasskeyByCredential finds a passkey by its CredentialID.
	PasskeyByCredential(ctx context.Context, credentialID []byte) (Passkey, error)
	// PasskeysOf lists a user's passkeys by id.
	PasskeysOf(ctx context.Context, userID int64) ([]Passkey, error)
}

// PasskeyWriter changes users' passkeys.
type PasskeyWriter interface {
	InsertPasskey(ctx context.Context, p *Passkey) error
	// UpdatePasskey sets Name, SignCount, BackedUp, ChallengeAt and UsedAt of a passkey of a user. Another user's is a NotFound
	// fault.
	UpdatePasskey(ctx context.Context, p *Passkey) error
	// DeletePasskey removes a passkey of a user. Another user's is a NotFound fault.
	DeletePasskey(ctx context.Context, userID, id int64) error
}

// MemberWriter changes roles, invitations and members' last activity.
type MemberWriter interface {
	// LockAccount blocks other transactions that lock the account until this one ends, so that the members, roles and
	// invitations it reads stay current.
	LockAccount(ctx context.Context) error
	// TouchMembership sets only LastActivity.
	TouchMembership(ctx context.Context, id int64, at time.Time) error
}

// UserWriter changes users and their tokens.
type UserWriter interface {
	// UserForUpdate reads a user and locks the row until the transaction ends.
	UserForUpdate(ctx context.Context, id int64) (User, error)
	UpdateUser(ctx context.Context, u *User) error
	// SetPicture stores a user's picture, at most 64 KiB; nil removes it. It leaves User.Picture to UpdateUser.
	SetPicture(ctx context.Context, userID int64, content []byte) error
	// DeleteUser removes a user with all their tokens, identities and passkeys. A user who is a member of an account is a
	// Conflict fault.
	DeleteUser(ctx context.Context, id int64) error
	// DeleteToken removes an access token of a user. A token of another user is a NotFound fault.
	DeleteToken(ctx context.Context, userID, id int64) error
	// DeleteSessions removes a user's sessions that had expired by a time.
	DeleteSessions(ctx context.Context, userID int64, by time.Time) error
	// DeleteOtherSessions removes all sessions of a user except the one with the given id.
	DeleteOtherSessions(ctx context.Context, userID, id int64) error
	// PruneSessions removes at most n sessions, of all users, that expired before a time, earliest expiry first. It returns the
	// number removed.
	PruneSessions(ctx context.Context, before time.Time, n int) (int, error)
	// PruneFailedJobs removes at most n jobs, of all accounts, that were given up and were due before a time, by id. It returns
	// the number removed.
	PruneFailedJobs(ctx context.Context, before time.Time, n int) (int, error)
}
