package helpdesk

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// invitationLife is how long an invitation is valid.
const invitationLife = 7 * 24 * time.Hour

// invitationToken derives the token from a nonce.
func invitationToken(key, nonce []byte) string {
	return identity.InvitationPrefix + ofNonce(key, "invitation", nonce)
}

// proofSize is the length of the suffix that mailedToken adds.
const proofSize = 26

// mailedToken returns the token as mailed. The inviting member also knows the plain token, so only the mailed suffix proves
// ownership of the address.
func mailedToken(key, nonce []byte) string {
	return invitationToken(key, nonce) + ofNonce(key, "invitation mail", nonce)[:proofSize]
}

func ofNonce(key []byte, use string, nonce []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(use + "\x00"))
	mac.Write(nonce)
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(mac.Sum(nil))
}

// invitationNoun declares the rows of invitations.
func invitationNoun() storage.Declared[identity.Invitation, identity.InvitationFilter] {
	return storage.Declared[identity.Invitation, identity.InvitationFilter]{
		Noun: storage.Noun[identity.Invitation]{
			Name:    "invitation",
			ID:      func(i *identity.Invitation) *int64 { return &i.ID },
			Account: func(i *identity.Invitation) *int64 { return &i.AccountID },
			Unique: []storage.Unique[identity.Invitation]{
				{Code: identity.UniqueInvitation, Index: "hash", Everywhere: true, Fields: func(i *identity.Invitation) []any { return []any{&i.Hash} }},
			},
		},
		Key: "invitation", Plural: "invitations",
		Columns: []storage.Column[identity.Invitation]{
			{Name: "email", Field: func(i *identity.Invitation) any { return &i.Email }},
			{Name: "email_key", Field: func(i *identity.Invitation) any { return &i.EmailKey }},
			{Name: "name", Field: func(i *identity.Invitation) any { return &i.Name }},
			{Name: "role_ids", Field: func(i *identity.Invitation) any { return storage.IDs(&i.RoleIDs) }, Refers: "role"},
			{Name: "mailbox_ids", Field: func(i *identity.Invitation) any { return storage.IDs(&i.MailboxIDs) }, Refers: "mailbox", Loose: true, Limits: true},
			{Name: "nonce", Field: func(i *identity.Invitation) any { return &i.Nonce }},
			{Name: "hash", Field: func(i *identity.Invitation) any { return &i.Hash }},
			{Name: "user_id", Field: func(i *identity.Invitation) any { return &i.UserID }, Refers: "user"},
			{Name: "expires_at", Field: func(i *identity.Invitation) any { return &i.ExpiresAt }},
			{Name: "created_at", Field: func(i *identity.Invitation) any { return &i.CreatedAt }},
		},
		Where: func(f identity.InvitationFilter) []storage.Condition {
			if f.Hash == nil {
				return nil
			}
			return storage.AnyOf("hash", [][]byte{f.Hash})
		},
	}
}

// invitationByHash finds an invitation of any account by the hash of its token.
func (s *Service) invitationByHash(ctx context.Context, hash []byte) (identity.Invitation, error) {
	found, err := invitationNoun().Find(ctx, s.cfg.Store, identity.InvitationFilter{Hash: hash})
	if err == nil && len(found) == 0 {
		err = fault.Missing("invitation", 0)
	}
	if err != nil {
		return identity.Invitation{}, err
	}
	return found[0], nil
}

// invitationOf returns the invitation of a token, and whether it is the mailed token.
func (s *Service) invitationOf(ctx context.Context, token string) (i identity.Invitation, mailed bool, err error) {
	plain := token
	if n := len(invitationToken(nil, nil)); len(token) == n+proofSize {
		plain, mailed = token[:n], true
	}
	i, err = s.invitationByHash(ctx, hashSecret(plain))
	proven := !mailed || s.signedBy(func(key []byte) bool { return hmac.Equal([]byte(token), []byte(mailedToken(key, i.Nonce))) })
	if err == nil && (!i.ExpiresAt.After(s.now()) || !proven) {
		err = fault.Missing("invitation", 0)
	}
	return i, mailed, err
}

func eachInvitation(ctx context.Context, r Reader, visit func(identity.Invitation) error) error {
	list := func(seek storage.Seek) ([]identity.Invitation, error) {
		return invitationNoun().Reader(r).List(ctx, identity.InvitationFilter{}, seek)
	}
	return each(list, func(i identity.Invitation) int64 { return i.ID }, visit)
}

// Invitations lists the invitations that were not accepted, including expired ones, by id. It needs memberships.view.
func (d Members) Invitations(ctx context.Context, req storage.PageRequest) (storage.Page[identity.Invitation], error) {
	r, err := d.guard.Read(identity.MembershipsView)
	if err != nil {
		return storage.Page[identity.Invitation]{}, err
	}
	return storage.List(req, false, func(i identity.Invitation) storage.Position { return storage.Position{ID: i.ID} },
		func(seek storage.Seek) ([]identity.Invitation, error) {
			return invitationNoun().Reader(r).List(ctx, identity.InvitationFilter{}, seek)
		})
}

// Invite creates an invitation, mails it and returns its token, which is not stored. It is valid for seven days and replaces
// an earlier one to the same address. It needs memberships.create; its grants are limited as in [Members.Update]. The
// address of a member is an Invalid fault.
func (d Members) Invite(ctx context.Context, in identity.InvitationInput) (identity.Invitation, string, error) {
	begin, err := d.guard.Write(identity.MembershipsCreate)
	if err != nil {
		return identity.Invitation{}, "", err
	}
	if err := d.lasting("the membership"); err != nil {
		return identity.Invitation{}, "", err
	}
	in.Email, in.Name = plain.Line(in.Email), plain.Line(in.Name)
	var problems fault.Collector
	problems.Check(mailaddr.Valid(in.Email), "email", "is not an email address")
	namedIfGiven(&problems, "name", in.Name, 200)
	validateGrants(&problems, in.RoleIDs, in.MailboxIDs)
	if err := problems.Err(); err != nil {
		return identity.Invitation{}, "", err
	}
	nonce, err := d.svc.random(16)
	if err != nil {
		return identity.Invitation{}, "", err
	}
	now, token := d.svc.now(), invitationToken(d.svc.cfg.SigningKey, nonce)
	invitation := identity.Invitation{
		AccountID: d.scope.AccountID, Email: in.Email, EmailKey: mailaddr.Key(in.Email), Name: in.Name,
		RoleIDs: distinct(in.RoleIDs), MailboxIDs: distinct(in.MailboxIDs), Nonce: nonce, Hash: hashSecret(token),
		UserID: d.userID, ExpiresAt: now.Add(invitationLife), CreatedAt: now,
	}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.LockAccount(ctx); err != nil {
			return err
		}
		if err := d.findMailboxes(ctx, tx.Reader(), invitation.MailboxIDs); err != nil {
			return err
		}
		if err := d.mayGrant(ctx, tx.Reader(), invitation.RoleIDs, invitation.MailboxIDs); err != nil {
			return err
		}
		if err := makeRoom(ctx, tx, invitation.EmailKey, now); err != nil {
			return err
		}
		if err := invitationNoun().Rows(tx).Insert(ctx, &invitation); err != nil {
			return err
		}
		job := storage.Job{Kind: JobInvite, AccountID: d.scope.AccountID, Subject: invitation.ID, RunAt: now}
		if err := tx.Enqueue(ctx, job); err != nil {
			return err
		}
		return d.emit(ctx, tx, "invitation.created", invitation.ID, 0)
	})
	if err != nil {
		return identity.Invitation{}, "", err
	}
	return invitation, token, nil
}

// makeRoom returns a fault for an address of a member, and removes invitations that are expired or to the same address.
func makeRoom(ctx context.Context, tx Tx, key string, now time.Time) error {
	var users []int64
	err := eachMember(ctx, tx.Reader(), func(m identity.Membership) error {
		users = append(users, m.UserID)
		return nil
	})
	if err != nil {
		return err
	}
	members, err := tx.UsersByID(ctx, users)
	if err != nil {
		return err
	}
	for _, u := range members {
		if u.EmailKey == key {
			return fault.Field("email", "already belongs to a member")
		}
	}
	var gone []int64
	err = eachInvitation(ctx, tx.Reader(), func(i identity.Invitation) error {
		if i.EmailKey == key || !i.ExpiresAt.After(now) {
			gone = append(gone, i.ID)
		}
		return nil
	})
	for _, id := range gone {
		if err == nil {
			err = invitationNoun().Rows(tx).Delete(ctx, id)
		}
	}
	return err
}

// DeleteInvitation revokes an invitation. It needs memberships.delete and everything that the invitation grants, as in
// [Members.Update].
func (d Members) DeleteInvitation(ctx context.Context, id int64) error {
	begin, err := d.guard.Write(identity.MembershipsDelete)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		i, err := invitationNoun().Rows(tx).Get(ctx, id)
		if err != nil {
			return err
		}
		// A role deleted in the meantime grants nothing.
		if err := d.mayGrant(ctx, tx.Reader(), i.RoleIDs, i.MailboxIDs); err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		if err := invitationNoun().Rows(tx).Delete(ctx, id); err != nil {
			return err
		}
		return d.emit(ctx, tx, "invitation.deleted", id, 0)
	})
}

// Invited returns what a page for accepting an invitation shows. A token that [SignIn.AcceptInvitation] would reject is a
// NotFound fault.
func (s SignIn) Invited(ctx context.Context, token string) (identity.Invited, error) {
	i, _, err := s.svc.invitationOf(ctx, token)
	if err != nil {
		return identity.Invited{}, err
	}
	if err := s.svc.stillCovered(ctx, i); err != nil {
		return identity.Invited{}, err
	}
	account, err := s.svc.cfg.Store.Within(Scope{AccountID: i.AccountID}).Account(ctx)
	return identity.Invited{Account: account.Name, Email: i.Email, Name: i.Name}, err
}

// AcceptInvitation makes the holder of an invitation's token a member, once. A token that is unknown, used or expired is a
// NotFound fault, and so is one whose inviter no longer holds what it grants.
//
// If the address belongs to an existing user, the caller must be that user, or be anonymous and give that user's password;
// otherwise it is an Unauthenticated fault, because the inviter knows the token, too. Another user, or a token with scopes,
// is a Forbidden fault. For a new address, a user is created with name and password. An existing member is a Conflict fault.
// The new access token expires with the caller's own.
//
// Only the mailed token verifies the address. It also reclaims the address from a user that someone created without
// verifying it: the given password replaces theirs, and all their sessions and tokens end. A user with a second factor is
// not reclaimed, so that someone who reads their mail cannot take over: it is an Unauthenticated fault until
// [Admin.ResetSecondFactor].
func (s SignIn) AcceptInvitation(ctx context.Context, c Caller, token string, in identity.AcceptInput) (identity.Accepted, error) {
	invitation, mailed, err := s.svc.invitationOf(ctx, token)
	if err != nil {
		return identity.Accepted{}, err
	}
	if err := s.svc.stillCovered(ctx, invitation); err != nil {
		return identity.Accepted{}, err
	}
	user, taken, err := s.svc.invited(ctx, c, invitation, in, mailed)
	if err != nil {
		return identity.Accepted{}, err
	}
	if mailed && user.EmailVerifiedAt.IsZero() {
		user.EmailVerifiedAt = s.svc.now()
	}
	var accepted identity.Accepted
	err = s.svc.beginSystem(c.tokenID)(ctx, func(ctx context.Context, tx SystemTx) error {
		accepted, err = s.svc.join(ctx, tx, invitation, c, user, taken)
		return err
	})
	return accepted, err
}

// stillCovered returns a fault if the inviter may no longer make the invitation.
func (s *Service) stillCovered(ctx context.Context, i identity.Invitation) error {
	may, err := s.stillMay(ctx, i.AccountID, i.UserID, func(maker *desk) error {
		if _, err := maker.guard.Write(identity.MembershipsCreate); err != nil {
			return err
		}
		return maker.mayGrant(ctx, s.cfg.Store.Within(Scope{AccountID: i.AccountID}), i.RoleIDs, i.MailboxIDs)
	})
	if err == nil && !may {
		return fault.Missing("invitation", 0)
	}
	return err
}

// invited finds or prepares the invitation's user. taken reports that someone else created the user without owning the
// address.
func (s *Service) invited(ctx context.Context, c Caller, i identity.Invitation, in identity.AcceptInput, mailed bool) (user identity.User, taken bool, err error) {
	user, err = s.cfg.Store.UserByEmail(ctx, i.EmailKey)
	known := err == nil
	switch {
	case err != nil && !fault.Is(err, fault.NotFound):
		return identity.User{}, false, err
	case c.userID != 0 && (!known || c.userID != user.ID || len(c.scopes) > 0):
		return identity.User{}, false, fault.New(fault.Forbidden, "The invitation is for another user, or your token is limited by scopes.")
	case known && user.Disabled():
		return identity.User{}, false, fault.New(fault.Forbidden, "This user is disabled.")
	case c.userID != 0:
		return user, false, nil
	case known:
		err = s.prove(ctx, user, i.Email, in.Password)
		wrong := fault.Is(err, fault.Unauthenticated) || fault.Is(err, fault.RateLimited)
		taken = wrong && mailed && user.EmailVerifiedAt.IsZero() && !user.HasSecondFactor()
		if err == nil && user.HasSecondFactor() {
			if in.Code == "" {
				return identity.User{}, false, s.needsCode(ctx, user)
			}
			err = s.takeCode(ctx, user, in.Code)
		}
		if !taken {
			return user, false, err
		}
		user.Name = ""
	default:
		user = identity.User{Email: i.Email, EmailKey: i.EmailKey, CreatedAt: s.now(), UpdatedAt: s.now()}
	}
	if user.Name = plain.Line(in.Name); user.Name == "" {
		user.Name = i.Name
	}
	var problems fault.Collector
	required(&problems, "name", user.Name, 200)
	problems.Check(plain.Length(in.Password) >= 8 && plain.Length(in.Password) <= 200, "password", "must have 8 to 200 characters")
	if err := problems.Err(); err != nil {
		return identity.User{}, false, err
	}
	user.PasswordHash, err = s.hashPassword(ctx, in.Password)
	return user, taken, err
}

// join consumes an invitation; a user without an ID is new.
func (s *Service) join(ctx context.Context, system SystemTx, i identity.Invitation, c Caller, user identity.User, taken bool) (identity.Accepted, error) {
	tx, now := system.Within(Scope{AccountID: i.AccountID}), s.now()
	// Delete first, so that one of two concurrent callers finds it gone.
	if err := invitationNoun().Rows(tx).Delete(ctx, i.ID); err != nil {
		return identity.Accepted{}, err
	}
	if err := s.settleUser(ctx, system, &user, taken); err != nil {
		return identity.Accepted{}, err
	}
	m := newMembership(user.ID, i.RoleIDs, now)
	m.MailboxIDs = i.MailboxIDs
	if err := tx.Memberships().Insert(ctx, &m); err != nil {
		return identity.Accepted{}, err
	}
	in := identity.TokenInput{Name: fmt.Sprintf("Invitation %d", i.ID)}
	if !c.session {
		in.ExpiresAt = c.expires
	}
	token, err := s.newToken(user.ID, &in)
	if err != nil {
		return identity.Accepted{}, err
	}
	if err := system.InsertToken(ctx, &token); err != nil {
		return identity.Accepted{}, err
	}
	event := func(kind string, id int64) storage.Event {
		return storage.Event{Type: kind, Subject: id, ActorID: user.ID, Data: eventData(id), Time: now}
	}
	err = tx.Emit(ctx, event("invitation.accepted", i.ID), event("membership.created", m.ID))
	return identity.Accepted{Membership: m, AccountID: i.AccountID, Secret: in.Secret}, err
}

// settleUser writes an invitation's user if it is new or its address was verified. For a reclaimed user it ends all sessions
// and tokens.
func (s *Service) settleUser(ctx context.Context, system SystemTx, user *identity.User, taken bool) error {
	if user.ID == 0 {
		return takenField(system.InsertUser(ctx, user), identity.UniqueUserEmail, "email")
	}
	now, err := system.UserForUpdate(ctx, user.ID)
	if err != nil || now.EmailVerifiedAt.Equal(user.EmailVerifiedAt) && !taken {
		return err
	}
	if taken && (!now.EmailVerifiedAt.IsZero() || now.HasSecondFactor()) { // in the meantime
		return fault.New(fault.Unauthenticated, "The email address or password is incorrect.")
	}
	now.EmailVerifiedAt, now.UpdatedAt = user.EmailVerifiedAt, s.now()
	if !taken {
		return system.UpdateUser(ctx, &now)
	}
	now.Name, now.PasswordHash = user.Name, user.PasswordHash
	now.SealedSecondFactor = nil // set up by whoever took the address
	if err := system.DeleteOtherSessions(ctx, user.ID, 0); err != nil {
		return err
	}
	var tokens []int64
	list := func(seek storage.Seek) ([]identity.AccessToken, error) {
		return system.TokensOf(ctx, user.ID, false, seek)
	}
	err = each(list, func(t identity.AccessToken) int64 { return t.ID }, func(t identity.AccessToken) error {
		tokens = append(tokens, t.ID)
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range tokens {
		if err := system.DeleteToken(ctx, user.ID, id); err != nil {
			return err
		}
	}
	if err := system.UpdateUser(ctx, &now); err != nil {
		return err
	}
	if err := s.forgetSignIns(ctx, system, user.ID); err != nil {
		return err
	}
	return s.ownCredentialChanged(ctx, system, auditPassword, user.ID, user.ID, 0, "")
}

// forgetSignIns removes the identities and passkeys of a reclaimed user: they are those of whoever took the address.
func (s *Service) forgetSignIns(ctx context.Context, tx SystemTx, userID int64) error {
	identities, err := tx.IdentitiesOf(ctx, userID)
	if err != nil {
		return err
	}
	for _, i := range identities {
		if err := tx.DeleteIdentity(ctx, userID, i.ID); err != nil {
			return err
		}
		if err := s.note(ctx, tx, auditIdentityGone, i.ID, userID, 0); err != nil {
			return err
		}
	}
	passkeys, err := tx.PasskeysOf(ctx, userID)
	if err != nil {
		return err
	}
	for _, p := range passkeys {
		if err := tx.DeletePasskey(ctx, userID, p.ID); err != nil {
			return err
		}
		if err := s.note(ctx, tx, auditPasskeyGone, p.ID, userID, 0); err != nil {
			return err
		}
	}
	return nil
}

// invitationMail returns the mail of an invitation, unless it is accepted, deleted or expired.
func (s *Service) invitationMail(ctx context.Context, r Reader, job storage.ClaimedJob, links sending.MailLinks) (sending.SystemMail, error) {
	i, err := invitationNoun().Reader(r).Get(ctx, job.Subject)
	if err != nil {
		return sending.SystemMail{}, err
	}
	if !i.ExpiresAt.After(s.now()) {
		return sending.SystemMail{}, fault.Missing("invitation", i.ID)
	}
	users, err := r.UsersByID(ctx, []int64{i.UserID})
	if err != nil {
		return sending.SystemMail{}, err
	}
	var token string
	if !s.signedBy(func(key []byte) bool {
		token = invitationToken(key, i.Nonce)
		known := bytes.Equal(hashSecret(token), i.Hash)
		token = mailedToken(key, i.Nonce)
		return known
	}) {
		return sending.SystemMail{}, fault.New(fault.Internal, "The invitation was signed with a key that this server no longer has. Ask for a new one.")
	}
	from, _, err := s.sender(ctx, r, 0)
	if err != nil {
		return sending.SystemMail{}, err
	}
	who := from.Name // the account's name
	if len(users) > 0 {
		who = users[0].Name
	}
	return sending.SystemMail{
		MessageID: fmt.Sprintf("invitation.%d.%d@%s", job.AccountID, i.ID, s.cfg.IntakeDomain), Date: i.CreatedAt,
		From: from, To: mailaddr.Address{Name: i.Name, Email: i.Email}, Subject: "Invitation to the help desk of " + from.Name,
		Text: paragraphs(
			greeting(i.Name),
			who+" invited you to join the "+from.Name+" help desk. To accept, open",
			links.Invitation(token),
			"The link works once and expires on "+i.ExpiresAt.UTC().Format("2 January 2006 15:04 UTC")+".",
			"If you were not expecting this email, you can ignore it.",
		),
	}, nil
}
