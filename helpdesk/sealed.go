package helpdesk

import (
	"context"
	"fmt"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// sealedField is a field of a row that is sealed. What is declared here is sealed anew when the secret key changes; a test
// fails for fields named Sealed... that are not.
type sealedField[T any] struct {
	name    string // path of the field in T
	value   func(row *T) *[]byte
	context func(accountID int64, row *T) string
}

func sealedOfMailboxes() []sealedField[Mailbox] {
	return []sealedField[Mailbox]{
		{"Inbound.SealedPassword", func(m *Mailbox) *[]byte { return &m.Inbound.SealedPassword }, func(_ int64, m *Mailbox) string { return passwordContext(m) }},
		{"Outbound.SealedPassword", func(m *Mailbox) *[]byte { return &m.Outbound.SealedPassword }, func(_ int64, m *Mailbox) string { return outboundContext(m) }},
		{"Inbound.OAuth.SealedSecrets", func(m *Mailbox) *[]byte { return &m.Inbound.OAuth.SealedSecrets }, func(_ int64, m *Mailbox) string { return oauthContext(m) }},
	}
}

func sealedOfDomains() []sealedField[sending.Domain] {
	return []sealedField[sending.Domain]{
		{"SealedKey", func(d *sending.Domain) *[]byte { return &d.SealedKey }, func(_ int64, d *sending.Domain) string { return sending.DKIMContext(d) }},
	}
}

func sealedOfWebhooks() []sealedField[subscription.Webhook] {
	context := func(accountID int64, w *subscription.Webhook) string { return w.SecretContext(accountID) }
	return []sealedField[subscription.Webhook]{
		{"SealedSecret", func(w *subscription.Webhook) *[]byte { return &w.SealedSecret }, context},
		{"SealedFormer", func(w *subscription.Webhook) *[]byte { return &w.SealedFormer }, context},
	}
}

func sealedOfPortalKeys() []sealedField[PortalKey] {
	return []sealedField[PortalKey]{
		{"SealedSecret", func(k *PortalKey) *[]byte { return &k.SealedSecret }, func(accountID int64, k *PortalKey) string { return k.secretContext(accountID) }},
	}
}

func sealedOfAccounts() []sealedField[identity.Account] {
	return []sealedField[identity.Account]{
		{"SealedErasureKeys", func(a *identity.Account) *[]byte { return &a.SealedErasureKeys }, func(_ int64, a *identity.Account) string { return erasureContext(a) }},
	}
}

func sealedOfUsers() []sealedField[identity.User] {
	return []sealedField[identity.User]{
		{"SealedSecondFactor", func(u *identity.User) *[]byte { return &u.SealedSecondFactor }, func(_ int64, u *identity.User) string { return u.FactorContext() }},
	}
}

// SealedValues counts stored secrets by the ids of the keys they are sealed with, see [storage.KeyedSealer].
type SealedValues map[string]int

// Resealed says what [Service.Reseal] did.
type Resealed struct {
	Done int // values that are sealed with the first key now
	Lost int // values that no key opens; they stay as they are
}

// CountSealed counts the secrets that the store keeps. It reads every account, mailbox, domain, webhook, portal key and user.
func (s *Service) CountSealed(ctx context.Context) (SealedValues, error) {
	r, err := s.newResealer()
	if err != nil {
		return nil, err
	}
	return r.found, r.resealAll(ctx)
}

// Reseal seals every stored secret that another key has sealed with the first key of Config.Sealer, each row in a
// transaction of its own, so that nobody waits for it. Called again, it goes on where it was interrupted. progress, which
// may be nil, hears of each value that was sealed anew.
//
// Every process on the store must have the first key before: see [storage.NewSealer]. A Sealer that is no
// [storage.KeyedSealer] is an Invalid fault.
func (s *Service) Reseal(ctx context.Context, progress func()) (Resealed, error) {
	r, err := s.newResealer()
	if err != nil {
		return Resealed{}, err
	}
	r.write, r.progress = true, progress
	err = r.resealAll(ctx)
	return r.done, err
}

// resealer goes through all that is sealed.
type resealer struct {
	svc      *Service
	sealer   storage.KeyedSealer
	first    string
	write    bool
	progress func()
	found    SealedValues
	done     Resealed
}

func (s *Service) newResealer() (*resealer, error) {
	sealer, ok := s.cfg.Sealer.(storage.KeyedSealer)
	if !ok {
		return nil, fault.Field("Sealer", "cannot tell which key sealed what")
	}
	return &resealer{svc: s, sealer: sealer, first: sealer.KeyIDs()[0], found: SealedValues{}}, nil
}

func (r *resealer) resealAll(ctx context.Context) error {
	store := r.svc.cfg.Store
	users := func(seek storage.Seek) ([]identity.User, error) { return store.Users(ctx, seek) }
	if err := each(users, func(u identity.User) int64 { return u.ID }, func(u identity.User) error { return r.resealUser(ctx, u) }); err != nil {
		return err
	}
	accounts := func(seek storage.Seek) ([]identity.Account, error) { return store.Accounts(ctx, seek) }
	return each(accounts, func(a identity.Account) int64 { return a.ID }, func(a identity.Account) error {
		err := r.resealAccount(ctx, Scope{AccountID: a.ID})
		if fault.Is(err, fault.NotFound) {
			return nil // deleted meanwhile
		}
		return err
	})
}

func (r *resealer) resealAccount(ctx context.Context, scope Scope) error {
	in, nouns := r.svc.cfg.Store.Within(scope), Nouns()
	if err := r.resealKeys(ctx, scope); err != nil {
		return err
	}
	err := resealRows(ctx, r, scope, sealedOfMailboxes(), nouns.Mailboxes, in.Mailboxes(), Tx.Mailboxes)
	if err == nil {
		err = resealDeclared(ctx, r, scope, sealedOfDomains(), nouns.Domains)
	}
	if err == nil {
		err = resealDeclared(ctx, r, scope, sealedOfWebhooks(), nouns.Webhooks)
	}
	if err == nil {
		err = resealDeclared(ctx, r, scope, sealedOfPortalKeys(), nouns.PortalKeys)
	}
	return err
}

// resealDeclared is resealRows for a plain noun.
func resealDeclared[T any](ctx context.Context, r *resealer, scope Scope, fields []sealedField[T], noun storage.Declared[T, storage.NoFilter]) error {
	rows := func(tx Tx) storage.Rows[T, storage.NoFilter] { return noun.Rows(tx) }
	return resealRows(ctx, r, scope, fields, noun.Noun, noun.Reader(r.svc.cfg.Store.Within(scope)), rows)
}

// resealRows goes through the rows of one noun. What is to be sealed anew is read again under a lock: it may have changed.
func resealRows[T any](
	ctx context.Context, r *resealer, scope Scope, fields []sealedField[T], noun storage.Noun[T],
	reader storage.RowReader[T, storage.NoFilter], of func(Tx) storage.Rows[T, storage.NoFilter],
) error {
	list := func(seek storage.Seek) ([]T, error) { return reader.List(ctx, storage.NoFilter{}, seek) }
	return each(list, func(row T) int64 { return *noun.ID(&row) }, func(row T) error {
		if !needs(r, fields, &row) {
			return nil
		}
		var done Resealed
		err := r.svc.cfg.Store.InTx(ctx, scope, func(ctx context.Context, tx Tx) error {
			locked, err := of(tx).Lock(ctx, *noun.ID(&row))
			if err != nil {
				return err
			}
			if done, err = reseal(r, fields, scope.AccountID, &locked); err != nil || done.Done == 0 {
				return err
			}
			return of(tx).Update(ctx, &locked)
		})
		return r.record(done, err)
	})
}

// resealKeys seals the account's own secrets anew.
func (r *resealer) resealKeys(ctx context.Context, scope Scope) error {
	a, err := r.svc.cfg.Store.Within(scope).Account(ctx)
	if err != nil || !needs(r, sealedOfAccounts(), &a) {
		return err
	}
	var done Resealed
	err = r.svc.cfg.Store.InTx(ctx, scope, func(ctx context.Context, tx Tx) error {
		if err := tx.LockAccount(ctx); err != nil {
			return err
		}
		locked, err := tx.Account(ctx)
		if err != nil {
			return err
		}
		if done, err = reseal(r, sealedOfAccounts(), scope.AccountID, &locked); err != nil || done.Done == 0 {
			return err
		}
		return tx.UpdateAccount(ctx, &locked)
	})
	return r.record(done, err)
}

func (r *resealer) resealUser(ctx context.Context, u identity.User) error {
	if !needs(r, sealedOfUsers(), &u) {
		return nil
	}
	var done Resealed
	err := r.svc.cfg.Store.InSystemTx(ctx, func(ctx context.Context, tx SystemTx) error {
		locked, err := tx.UserForUpdate(ctx, u.ID)
		if err != nil {
			return err
		}
		if done, err = reseal(r, sealedOfUsers(), 0, &locked); err != nil || done.Done == 0 {
			return err
		}
		return tx.UpdateUser(ctx, &locked)
	})
	return r.record(done, err)
}

// record adds what was done to one row, unless the row was deleted meanwhile.
func (r *resealer) record(done Resealed, err error) error {
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	r.done.Done += done.Done
	r.done.Lost += done.Lost
	for range done.Done {
		if r.progress != nil {
			r.progress()
		}
	}
	return nil
}

// needs counts what is sealed in a row, and reports whether some of it is to be sealed anew.
func needs[T any](r *resealer, fields []sealedField[T], row *T) (some bool) {
	for _, f := range fields {
		if id := r.sealer.KeyOf(*f.value(row)); id != "" {
			r.found[id]++
			some = some || r.write && id != r.first
		}
	}
	return some
}

// reseal seals anew what another key has sealed in a row.
func reseal[T any](r *resealer, fields []sealedField[T], accountID int64, row *T) (done Resealed, err error) {
	for _, f := range fields {
		value, context := f.value(row), f.context(accountID, row)
		if id := r.sealer.KeyOf(*value); id == "" || id == r.first {
			continue
		}
		secret, err := r.sealer.Open(*value, context)
		if err != nil {
			done.Lost++
			continue
		}
		if *value, err = r.sealer.Seal(secret, context); err != nil {
			return done, fault.Wrap(fault.Internal, fmt.Sprintf("sealing %s anew", f.name), err)
		}
		done.Done++
	}
	return done, nil
}
