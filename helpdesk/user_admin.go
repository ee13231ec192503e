package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func disabledUser() error {
	return &fault.Error{Kind: fault.Unauthenticated, Code: identity.UserDisabled, Message: "This user is disabled. Ask an admin to enable it."}
}

// Users lists all users by id; operators only.
func (a *Admin) Users(ctx context.Context, req storage.PageRequest) (storage.Page[identity.User], error) {
	dir, err := a.guard.Read(operate)
	if err != nil {
		return storage.Page[identity.User]{}, err
	}
	return storage.List(req, false, func(u identity.User) storage.Position { return storage.Position{ID: u.ID} },
		func(seek storage.Seek) ([]identity.User, error) { return dir.Users(ctx, seek) })
}

// DisableUser blocks a user: sessions end, access tokens and password links stop working, no mail is sent to the user, and
// mail from the user is not treated as a member's. It takes effect with the next request, and on event streams at once.
// Memberships stay. It overrides an admin's disabling, so that admins cannot enable the user any more. Operators only.
func (a *Admin) DisableUser(ctx context.Context, id int64) (identity.User, error) {
	return a.setDisabled(ctx, id, true)
}

// EnableUser reverts [Admin.DisableUser]. The user has to sign in again; access tokens work again. Operators only.
func (a *Admin) EnableUser(ctx context.Context, id int64) (identity.User, error) {
	return a.setDisabled(ctx, id, false)
}

func (a *Admin) setDisabled(ctx context.Context, id int64, disabled bool) (identity.User, error) {
	begin, err := a.guard.Write(operate)
	if err != nil {
		return identity.User{}, err
	}
	var user identity.User
	err = begin(ctx, func(ctx context.Context, tx SystemTx) error {
		user, err = a.svc.disable(ctx, tx, id, disabled, 0, 0)
		return err
	})
	return user, err
}

// disable disables or enables a user, records the acting token, and emits an event in all the user's accounts.
func (s *Service) disable(ctx context.Context, tx SystemTx, id int64, disabled bool, actorID, tokenID int64) (identity.User, error) {
	user, err := tx.UserForUpdate(ctx, id)
	if err != nil {
		return user, err
	}
	byOperator := user.Disabled() && user.DisabledByID == 0
	switch {
	case byOperator && !disabled && actorID != 0:
		return user, fault.New(fault.Forbidden, "The operator of this server disabled this user, and only the operator can enable it.")
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
	return user, s.eachMembership(ctx, tx, id, func(tx Tx, m identity.Membership) error {
		// The event tells followers of the log that the member's permissions changed.
		e := storage.Event{Type: "membership.updated", Subject: m.ID, ActorID: actorID, Data: eventData(m.ID), Time: now}
		return emitChanged(ctx, tx, e, ofAccess(disabled))
	})
}

// eachMembership calls visit for a user's memberships, by account.
func (s *Service) eachMembership(ctx context.Context, tx SystemTx, userID int64, visit func(tx Tx, m identity.Membership) error) error {
	var accounts []int64
	list := func(seek storage.Seek) ([]identity.Account, error) { return tx.AccountsOf(ctx, userID, seek) }
	err := each(list, func(a identity.Account) int64 { return a.ID }, func(a identity.Account) error {
		accounts = append(accounts, a.ID)
		return nil
	})
	for _, id := range accounts {
		if err != nil {
			return err
		}
		var grant identity.Grant
		if grant, err = tx.Grant(ctx, userID, id); err == nil {
			err = visit(tx.Within(Scope{AccountID: id}), grant.Membership)
		}
	}
	return err
}

// DeleteUser removes a user with sessions and access tokens, and ends all memberships as [Members.Remove] does. What the
// user wrote stays, attributed to a former member. The last owner of an account is a Conflict fault with code last_owner,
// and nothing changes. Operators only.
func (a *Admin) DeleteUser(ctx context.Context, id int64) error {
	begin, err := a.guard.Write(operate)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, system SystemTx) error {
		if _, err := system.UserForUpdate(ctx, id); err != nil {
			return err
		}
		err := a.svc.eachMembership(ctx, system, id, func(tx Tx, m identity.Membership) error {
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

// Disable does [Admin.DisableUser] for a member who works in no other account; otherwise it is a Conflict fault with
// code other_accounts. It needs memberships.update. The caller, and members who hold more, are Forbidden faults.
func (d Members) Disable(ctx context.Context, id int64) error {
	return d.aboutUser(ctx, id, func(ctx context.Context, tx SystemTx, userID int64) error {
		return errOnly(d.svc.disable(ctx, tx, userID, true, d.userID, d.caller.tokenID))
	})
}

// Enable reverts [Members.Disable], under the same conditions. A user disabled by the operator is a Forbidden
// fault.
func (d Members) Enable(ctx context.Context, id int64) error {
	return d.aboutUser(ctx, id, func(ctx context.Context, tx SystemTx, userID int64) error {
		return errOnly(d.svc.disable(ctx, tx, userID, false, d.userID, d.caller.tokenID))
	})
}

func errOnly[T any](_ T, err error) error { return err }

// aboutUser calls do for the user of a membership, if an admin of this account may decide about that user.
func (d *desk) aboutUser(ctx context.Context, membershipID int64, do func(ctx context.Context, tx SystemTx, userID int64) error) error {
	if _, err := d.guard.Write(identity.MembershipsUpdate); err != nil {
		return err
	}
	return d.svc.beginSystem(d.caller.tokenID)(ctx, func(ctx context.Context, tx SystemTx) error {
		in := tx.Within(d.scope)
		m, err := in.Memberships().Get(ctx, membershipID)
		if err != nil {
			return err
		}
		// Lock the user first, as deleting a user does, to avoid a deadlock.
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
				Kind: fault.Conflict, Resource: "membership", ID: m.ID, Code: identity.OtherAccounts,
				Message: "The user is a member of other accounts too. Remove the member from this one, or ask the operator.",
			}
		}
		return do(ctx, tx, m.UserID)
	})
}
