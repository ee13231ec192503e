package helpdesk

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
)

// credentialKind is what identities and passkeys have in common: users sign in with them instead of a password, and remove
// them.
type credentialKind[T any] struct {
	noun string
	id   func(T) int64
	of   func(tx SystemTx, ctx context.Context, userID int64) ([]T, error)                                            //nolint:revive // as method expressions have it
	drop func(s *Service, ctx context.Context, tx SystemTx, user *identity.User, one T, actorID, tokenID int64) error //nolint:revive // likewise
}

func identities() credentialKind[identity.Identity] {
	return credentialKind[identity.Identity]{"identity", func(i identity.Identity) int64 { return i.ID }, SystemTx.IdentitiesOf, (*Service).dropIdentity}
}

func passkeys() credentialKind[identity.Passkey] {
	return credentialKind[identity.Passkey]{"passkey", func(p identity.Passkey) int64 { return p.ID }, SystemTx.PasskeysOf, (*Service).dropPasskey}
}

// find is one of a user's.
func (k credentialKind[T]) find(ctx context.Context, tx SystemTx, userID, id int64) (T, error) {
	var none T
	all, err := k.of(tx, ctx, userID)
	if err != nil {
		return none, err
	}
	at := slices.IndexFunc(all, func(one T) bool { return k.id(one) == id })
	if at < 0 {
		return none, fault.Missing(k.noun, id)
	}
	return all[at], nil
}

// removeOwn removes one of the caller's, whose password proves who asks, where there is one. The last way to sign in is a
// Conflict fault.
func (k credentialKind[T]) removeOwn(ctx context.Context, a *Admin, password string, id int64) error {
	begin, err := a.provenBy(ctx, password)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx SystemTx) error {
		user, err := tx.UserForUpdate(ctx, a.userID)
		if err != nil {
			return err
		}
		one, err := k.find(ctx, tx, user.ID, id)
		if err != nil {
			return err
		}
		if err := otherSignIn(ctx, tx, user); err != nil {
			return err
		}
		return k.drop(a.svc, ctx, tx, &user, one, user.ID, a.caller.tokenID)
	})
}

// removeAll removes all of a user's, and ends the user's sessions.
func (k credentialKind[T]) removeAll(ctx context.Context, tx SystemTx, s *Service, userID, actorID, tokenID int64) error {
	user, err := tx.UserForUpdate(ctx, userID)
	if err != nil {
		return err
	}
	all, err := k.of(tx, ctx, userID)
	if err != nil || len(all) == 0 {
		return err
	}
	for _, one := range all {
		if err := k.drop(s, ctx, tx, &user, one, actorID, tokenID); err != nil {
			return err
		}
	}
	return tx.DeleteOtherSessions(ctx, userID, 0)
}

// otherSignIn refuses to take an identity or a passkey from a user who has nothing else to sign in with.
func otherSignIn(ctx context.Context, tx SystemTx, user identity.User) error {
	if user.PasswordHash != "" {
		return nil
	}
	ids, err := tx.IdentitiesOf(ctx, user.ID)
	if err != nil {
		return err
	}
	keys, err := tx.PasskeysOf(ctx, user.ID)
	if err != nil {
		return err
	}
	if len(ids)+len(keys) > 1 {
		return nil
	}
	return &fault.Error{Kind: fault.Conflict, Code: identity.LastSignIn, Message: "You would not be able to sign in. Set a password first."}
}
