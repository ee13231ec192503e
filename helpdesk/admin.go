package helpdesk

import (
	"context"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// Admin is the handle above accounts: it creates accounts, users and tokens.
type Admin struct {
	svc    *Service
	guard  systemGuard
	userID int64 // 0: the operator
	caller Caller
}

// operate is the permission of operations that are for the operator only.
const operate identity.Permission = "operator"

// holdsSomewhere reports whether the caller holds p in any account.
func (s *Service) holdsSomewhere(ctx context.Context, c Caller, p identity.Permission) (bool, error) {
	var from *storage.Position
	for {
		accounts, err := s.cfg.Store.AccountsOf(ctx, c.userID, storage.Seek{From: from, Limit: 100})
		if err != nil {
			return false, err
		}
		for _, a := range accounts {
			grant, err := s.cfg.Store.Grant(ctx, c.userID, a.ID)
			if err != nil && !fault.Is(err, fault.NotFound) {
				return false, err
			}
			if err == nil && !grant.Disabled && s.held(grant, c.scopes).Has(p) {
				return true, nil
			}
			from = &storage.Position{ID: a.ID}
		}
		if len(accounts) < 100 {
			return false, nil
		}
	}
}

// CreateAccount creates an account with the built-in roles and its owner. Operators name the owner in ownerID; for other
// callers, the caller becomes the owner and ownerID is ignored. It needs accounts.create in one of the caller's accounts.
func (a *Admin) CreateAccount(ctx context.Context, in identity.AccountInput, ownerID int64) (identity.Account, error) {
	begin, err := a.guard.Write(identity.AccountsCreate)
	if err != nil {
		return identity.Account{}, err
	}
	if a.userID != 0 {
		ownerID = a.userID
	}
	in.Name = plain.Line(in.Name)
	if in.NextNumber == 0 {
		in.NextNumber = 1
	}
	if in.DefaultLocale == "" {
		in.DefaultLocale = "en"
	}
	if in.Languages == nil {
		in.Languages = []string{in.DefaultLocale}
	}
	var problems fault.Collector
	validateAccount(&problems, in.Name, in.NextNumber, in.DefaultLocale, in.Languages)
	validateHold(&problems, in.SendHold)
	if err := problems.Err(); err != nil {
		return identity.Account{}, err
	}
	now := a.svc.now()
	account := identity.Account{
		Name: in.Name, NextNumber: in.NextNumber, DefaultLocale: in.DefaultLocale, Languages: in.Languages, SendHold: in.SendHold,
		RemoteImages: identity.BlockImages, CreatedAt: now, UpdatedAt: now,
	}
	err = begin(ctx, func(ctx context.Context, tx SystemTx) error {
		fresh := account
		if err := tx.InsertAccount(ctx, &fresh); err != nil {
			return err
		}
		account.ID = fresh.ID
		return a.svc.populate(ctx, tx.Within(Scope{AccountID: fresh.ID}), fresh.ID, ownerID, now)
	})
	if err != nil {
		return identity.Account{}, err
	}
	return account, nil
}

// populate inserts a new account's roles and its owner.
func (s *Service) populate(ctx context.Context, tx Tx, accountID, ownerID int64, now time.Time) error {
	for _, role := range s.registry.BuiltInRoles() {
		role.CreatedAt, role.UpdatedAt = now, now
		role.Permissions = nil
		if err := roleNoun().Rows(tx).Insert(ctx, &role); err != nil {
			return err
		}
		if role.Key != identity.RoleOwner {
			continue
		}
		m := newMembership(ownerID, []int64{role.ID}, now)
		if err := tx.Memberships().Insert(ctx, &m); err != nil {
			return err
		}
	}
	return tx.Emit(ctx, storage.Event{
		Type: "account.created", Subject: accountID, ActorID: ownerID, Data: eventData(accountID), Time: now,
	})
}

// accountsOf lists the accounts that the caller is a member of, and all of them for the operator, by id.
func (a *Admin) accountsOf(ctx context.Context, dir Directory, seek storage.Seek) ([]identity.Account, error) {
	if a.userID == 0 {
		return dir.Accounts(ctx, seek)
	}
	return dir.AccountsOf(ctx, a.userID, seek)
}

// Accounts lists the accounts that the caller is a member of, and all of them for the operator, by id. A token with scopes
// needs accounts.view.
func (a *Admin) Accounts(ctx context.Context, req storage.PageRequest) (storage.Page[identity.Account], error) {
	dir, err := a.guard.Read(identity.AccountsView)
	if err != nil {
		return storage.Page[identity.Account]{}, err
	}
	return storage.List(req, false, func(a identity.Account) storage.Position { return storage.Position{ID: a.ID} },
		func(seek storage.Seek) ([]identity.Account, error) { return a.accountsOf(ctx, dir, seek) })
}

// AccountIDs returns the ids above after of the accounts that Accounts lists, in ascending order, at most [storage.MaxLimit].
func (a *Admin) AccountIDs(ctx context.Context, after int64) ([]int64, error) {
	dir, err := a.guard.Read(anyMember)
	if err != nil {
		return nil, err
	}
	accounts, err := a.accountsOf(ctx, dir, storage.Seek{From: &storage.Position{ID: after}, Limit: storage.MaxLimit})
	ids := make([]int64, len(accounts))
	for i, account := range accounts {
		ids[i] = account.ID
	}
	return ids, err
}

// AccountsOfUser lists the accounts of any user; operators only.
func (a *Admin) AccountsOfUser(ctx context.Context, userID int64, req storage.PageRequest) (storage.Page[identity.Account], error) {
	dir, err := a.guard.Read(operate)
	if err != nil {
		return storage.Page[identity.Account]{}, err
	}
	return storage.List(req, false, func(a identity.Account) storage.Position { return storage.Position{ID: a.ID} },
		func(seek storage.Seek) ([]identity.Account, error) { return dir.AccountsOf(ctx, userID, seek) })
}

// CreateUser creates a user; operators only. An address that another user has is an Invalid fault on email.
func (a *Admin) CreateUser(ctx context.Context, in identity.UserInput) (identity.User, error) {
	begin, err := a.guard.Write(operate)
	if err != nil {
		return identity.User{}, err
	}
	in.Email, in.Name = plain.Line(in.Email), plain.Line(in.Name)
	var problems fault.Collector
	// The bootstrap user's address owner@localhost has a domain without a dot, which is valid.
	problems.Check(mailaddr.Valid(in.Email), "email", "is not an email address")
	bounded(&problems, "name", in.Name, 200)
	problems.Check(in.Password == "" || plain.Length(in.Password) >= 8 && plain.Length(in.Password) <= 200, "password", "must have 8 to 200 characters")
	if err := problems.Err(); err != nil {
		return identity.User{}, err
	}
	if in.Name == "" {
		in.Name, _, _ = plain.CutLast(in.Email, "@")
	}
	now := a.svc.now()
	user := identity.User{Name: in.Name, Email: in.Email, EmailKey: mailaddr.Key(in.Email), CreatedAt: now, UpdatedAt: now}
	if in.Password != "" {
		if user.PasswordHash, err = a.svc.hashPassword(ctx, in.Password); err != nil {
			return identity.User{}, err
		}
	}
	err = begin(ctx, func(ctx context.Context, tx SystemTx) error { return tx.InsertUser(ctx, &user) })
	if err != nil {
		return identity.User{}, takenField(err, identity.UniqueUserEmail, "email")
	}
	return user, nil
}

// HasUsers reports whether there is any user at all; operators only.
func (a *Admin) HasUsers(ctx context.Context) (bool, error) {
	dir, err := a.guard.Read(operate)
	if err != nil {
		return false, err
	}
	return dir.HasUsers(ctx)
}

// Me returns the caller's user. The operator is no user and gets a NotFound fault.
func (a *Admin) Me(ctx context.Context) (identity.User, error) {
	dir, err := a.guard.Read(anyMember)
	if err != nil {
		return identity.User{}, err
	}
	return dir.User(ctx, a.userID)
}

// UserByEmail finds a user; operators only.
func (a *Admin) UserByEmail(ctx context.Context, email string) (identity.User, error) {
	dir, err := a.guard.Read(operate)
	if err != nil {
		return identity.User{}, err
	}
	return dir.UserByEmail(ctx, mailaddr.Key(email))
}

// AddMember adds a user to an account with the built-in role of a key; operators only. An unknown role is an Invalid fault
// on role.
func (a *Admin) AddMember(ctx context.Context, accountID, userID int64, roleKey string) (identity.Membership, error) {
	begin, err := a.guard.Write(operate)
	if err != nil {
		return identity.Membership{}, err
	}
	now := a.svc.now()
	m := newMembership(userID, nil, now)
	err = begin(ctx, func(ctx context.Context, system SystemTx) error {
		tx := system.Within(Scope{AccountID: accountID})
		if _, err := tx.Account(ctx); err != nil {
			return err
		}
		roles, err := roleNoun().Rows(tx).List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
		if err != nil {
			return err
		}
		at := slices.IndexFunc(roles, func(r identity.Role) bool { return r.Key == roleKey && roleKey != "" })
		if at < 0 {
			return fault.Field("role", "must be owner, admin, agent, collaborator or editor")
		}
		m.RoleIDs = []int64{roles[at].ID}
		if err := tx.Memberships().Insert(ctx, &m); err != nil {
			return takenField(err, identity.UniqueMembership, "email")
		}
		return tx.Emit(ctx, storage.Event{Type: "membership.created", Subject: m.ID, Data: eventData(m.ID), Time: now})
	})
	if err != nil {
		return identity.Membership{}, err
	}
	return m, nil
}

// CreateToken creates an access token for a user and returns its secret, which is not stored; operators only.
func (a *Admin) CreateToken(ctx context.Context, userID int64, in identity.TokenInput) (identity.AccessToken, string, error) {
	begin, err := a.guard.Write(operate)
	if err != nil {
		return identity.AccessToken{}, "", err
	}
	token, err := a.svc.newToken(userID, &in)
	if err != nil {
		return identity.AccessToken{}, "", err
	}
	err = begin(ctx, func(ctx context.Context, tx SystemTx) error {
		if _, err := tx.User(ctx, userID); err != nil {
			return err
		}
		if err := tx.InsertToken(ctx, &token); err != nil {
			return err
		}
		return a.svc.noteFor(ctx, tx, userID, a.svc.entry(auditToken, token.ID, 0, 0, a.svc.now()))
	})
	if err != nil {
		return identity.AccessToken{}, "", err
	}
	return token, in.Secret, nil
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
