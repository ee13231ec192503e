package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// UserDisabled is the code of the faults about what a disabled user cannot do.
const UserDisabled = "user_disabled"

// OtherAccounts is the code of the Conflict fault about a user who works in other accounts too: only the operator decides
// about such a user.
const OtherAccounts = "other_accounts"

// Disabled reports whether the user cannot sign in, see [Admin.DisableUser].
func (u User) Disabled() bool { return !u.DisabledAt.IsZero() }

func disabledUser() error {
	return &fault.Error{Kind: fault.Unauthenticated, Code: UserDisabled, Message: "This user is disabled. Ask an admin to enable it."}
}

// Users lists all users by id; operators only.
func (a *Admin) Users(ctx context.Context, req storage.PageRequest) (storage.Page[User], error) {
	dir, err := a.guard.Read(operate)
	if err != nil {
		return storage.Page[User]{}, err
	}
	return storage.List(req, false, func(u User) storage.Position { return storage.Position{ID: u.ID} },
		func(seek storage.Seek) ([]User, error) { return dir.Users(ctx, seek) })
}

// DisableUser keeps a user out: sessions end, access tokens and links to choose a password are good for nothing while the
// user is disabled, no mail is sent to the user, and mail of theirs acts for nobody. It holds from the next request on, and
// for streams of events at once. The memberships stay. A user whom the operator has disabled stays it since then; one whom
// an admin has disabled cannot be enabled by admins any more. Operators only.
func (a *Admin) DisableUser(ctx context.Context, id int64) (User, error) {
	return a.setDisabled(ctx, id, true)
}

// EnableUser takes [Admin.DisableUser] back; the user has to sign in again, and access tokens work again. Operators only.
func (a *Admin) EnableUser(ctx context.Context, id int64) (User, error) {
	return a.setDisabled(ctx, id, false)
}

func (a *Admin) setDisabled(ctx context.Context, id int64, disabled bool) (User, error) {
	begin, err := a.guard.Write(operate)
	if err != nil {
		return User{}, err
	}
	var user User
	err = begin(ctx, func(ctx context.Context, tx SystemTx) error {
		user, err = a.svc.disable(ctx, tx, id, disabled, 0, 0)
		return err
	})
	return user, err
}

// disable makes a user disabled or not, for who came with a token, and tells all accounts of the user.
func (s *Service) disable(ctx context.Context, tx SystemTx, id int64, disabled bool, actorID, tokenID int64) (User, error) {
	user, err := tx.UserForUpdate(ctx, id)
	if err != nil {
		return user, err
	}
	byOperator := user.Disabled() && user.DisabledByID == 0
	switch {
	case byOperator && !disabled && actorID != 0:
		return user, fault.New(fault.Forbidden, "The operator of this server has disabled the user. Ask them.")
	case user.Disabled() == disabled && (!disabled || byOperator || actorID != 0):
		return user, nil
	}
	now, action := s.now(), auditEnabled
	user.DisabledAt, user.DisabledByID, user.UpdatedAt = time.Time{}, 0, now
	if disabled {
		user.DisabledAt, user.DisabledByID, action = now, actorID, auditDisabled
		if err := tx.DeleteOtherSessions(ctx, id, 0); err != nil {
			return user, err
		}
	}
	if err := tx.UpdateUser(ctx, &user); err != nil {
		return user, err
	}
	if err := s.noteFor(ctx, tx, id, s.entry(action, id, actorID, tokenID, now)); err != nil {
		return user, err
	}
	return user, s.eachMembership(ctx, tx, id, func(tx Tx, m Membership) error {
		// Whoever follows the log sees by it that the member may do something else now.
		return tx.Emit(ctx, storage.Event{Type: "membership.updated", Subject: m.ID, ActorID: actorID, Data: eventData(m.ID), Time: now})
	})
}

// eachMembership visits the memberships of a user, by account.
func (s *Service) eachMembership(ctx context.Context, tx SystemTx, userID int64, visit func(tx Tx, m Membership) error) error {
	var accounts []int64
	list := func(seek storage.Seek) ([]Account, error) { return tx.AccountsOf(ctx, userID, seek) }
	err := each(list, func(a Account) int64 { return a.ID }, func(a Account) error {
		accounts = append(accounts, a.ID)
		return nil
	})
	for _, id := range accounts {
		if err != nil {
			return err
		}
		var grant Grant
		if grant, err = tx.Grant(ctx, userID, id); err == nil {
			err = visit(tx.Within(Scope{AccountID: id}), grant.Membership)
		}
	}
	return err
}

// DeleteUser removes a user with sessions and access tokens, and ends all memberships as [Desk.RemoveMember] does: what the
// user wrote stays, by somebody who has left. The last owner of an account is a Conflict fault with code last_owner, and
// nothing is done. Operators only.
func (a *Admin) DeleteUser(ctx context.Context, id int64) error {
	begin, err := a.guard.Write(operate)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, system SystemTx) error {
		if _, err := system.UserForUpdate(ctx, id); err != nil {
			return err
		}
		err := a.svc.eachMembership(ctx, system, id, func(tx Tx, m Membership) error {
			if err := tx.LockAccount(ctx); err != nil {
				return err
			}
			account, err := tx.Account(ctx)
			if err != nil {
				return err
			}
			return a.svc.endMembership(ctx, tx, account.ID, m, func(kind string, subject int64) error {
				return tx.Emit(ctx, storage.Event{Type: kind, Subject: subject, Data: eventData(subject), Time: a.svc.now()})
			})
		})
		if err != nil {
			return err
		}
		return system.DeleteUser(ctx, id)
	})
}

// DisableMember is [Admin.DisableUser] of a member who works in no other account: else it is a Conflict fault with code
// other_accounts. It needs memberships.update; who holds more than the caller, and the caller, cannot be disabled (Forbidden).
func (d *Desk) DisableMember(ctx context.Context, id int64) error {
	return d.aboutUser(ctx, id, func(ctx context.Context, tx SystemTx, userID int64) error {
		return errOnly(d.svc.disable(ctx, tx, userID, true, d.userID, d.caller.tokenID))
	})
}

// EnableMember takes [Desk.DisableMember] back, under the same conditions. A user whom the operator has disabled is a
// Forbidden fault.
func (d *Desk) EnableMember(ctx context.Context, id int64) error {
	return d.aboutUser(ctx, id, func(ctx context.Context, tx SystemTx, userID int64) error {
		return errOnly(d.svc.disable(ctx, tx, userID, false, d.userID, d.caller.tokenID))
	})
}

func errOnly[T any](_ T, err error) error { return err }

// aboutUser decides about the user of a membership, as far as an admin of this account may.
func (d *Desk) aboutUser(ctx context.Context, membershipID int64, do func(ctx context.Context, tx SystemTx, userID int64) error) error {
	if _, err := d.guard.Write(MembershipsUpdate); err != nil {
		return err
	}
	return d.svc.beginSystem(d.caller.tokenID)(ctx, func(ctx context.Context, tx SystemTx) error {
		in := tx.Within(d.scope)
		m, err := in.Memberships().Get(ctx, membershipID)
		if err != nil {
			return err
		}
		// The user first, as who deletes one does: two who want both wait for each other otherwise.
		if _, err := tx.UserForUpdate(ctx, m.UserID); err != nil {
			return err
		}
		if err := in.LockAccount(ctx); err != nil {
			return err
		}
		m, err = in.Memberships().Get(ctx, membershipID)
		if err != nil {
			return err
		}
		if m.UserID == d.userID {
			return fault.New(fault.Forbidden, "You cannot do this to yourself.")
		}
		if err := d.mayTouch(ctx, in.Reader(), m); err != nil {
			return err
		}
		accounts, err := tx.AccountsOf(ctx, m.UserID, storage.Seek{Limit: 2})
		if err != nil {
			return err
		}
		if len(accounts) > 1 {
			return &fault.Error{
				Kind: fault.Conflict, Resource: "membership", ID: m.ID, Code: OtherAccounts,
				Message: "The user works in other accounts too: remove the member from this one, or ask the operator.",
			}
		}
		return do(ctx, tx, m.UserID)
	})
}
