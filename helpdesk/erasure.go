package helpdesk

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// Erasure is the tombstone of an address of an erased customer. It contains no personal data, only a keyed hash by which the
// address is recognized, so that no import, refetched mail or restored backup silently brings the customer back. It is kept
// for as long as the account.
type Erasure struct {
	ID         int64
	CustomerID int64  // the erased customer, as audit log and events name it; 0: of an account that was imported
	Digest     []byte // HMAC-SHA256 of the mailaddr.Key under an erasure key of the account; unique in the account
	UserID     int64  // who erased the customer; 0: the operator
	ErasedAt   time.Time
}

// UniqueErasure is the code of a store's Conflict fault for a duplicate (account, Digest).
const UniqueErasure = "erasure"

func erasureNoun() storage.Declared[Erasure, ErasureFilter] {
	return storage.Declared[Erasure, ErasureFilter]{
		Noun: storage.Noun[Erasure]{
			Name: "erasure",
			ID:   func(t *Erasure) *int64 { return &t.ID },
			Unique: []storage.Unique[Erasure]{
				{Code: UniqueErasure, Index: "digest", Fields: func(t *Erasure) []any { return []any{&t.Digest} }},
			},
		},
		Key: "erasure", Plural: "erasures",
		Columns: []storage.Column[Erasure]{
			{Name: "customer_id", Field: func(t *Erasure) any { return &t.CustomerID }, Refers: "customer", Loose: true},
			{Name: "digest", Field: func(t *Erasure) any { return &t.Digest }},
			{Name: "user_id", Field: func(t *Erasure) any { return &t.UserID }, Refers: "user"},
			{Name: "erased_at", Field: func(t *Erasure) any { return &t.ErasedAt }},
		},
		Where: func(f ErasureFilter) []storage.Condition { return storage.AnyOf("digest", f.Digests) },
	}
}

// ErasureFilter narrows a list of erasures.
type ErasureFilter struct {
	Digests [][]byte // with any of these; empty: all
}

// ErasedCustomer is the address of the placeholder customer that stands for all erased customers of an account. Mail to it
// is never delivered (RFC 6761 section 6.4), and it is never a participant.
const ErasedCustomer = "erased-customer@mail.invalid"

var erasedCustomer = mailaddr.Address{Name: "Erased customer", Email: ErasedCustomer}

// Unreachable reports whether an address is a placeholder, [ledger.UnknownSender] or [ErasedCustomer].
func Unreachable(email string) bool { return email == ledger.UnknownSender || email == ErasedCustomer }

// erasedBody replaces the text of erased messages.
const erasedBody = "<p>Erased.</p>"

// erasedMail is the reason why messages of erased customers are ignored.
const erasedMail = "its sender was erased as a customer"

// Lengths of the keys that digests are made with. An account has one key, unless it received the tombstones of another
// account.
const (
	erasureKeySize = 32
	maxErasureKeys = 16
)

// erasureKeys are the keys of an account. The first makes new digests; all are tried.
type erasureKeys [][]byte

func (k erasureKeys) digest(n int, emailKey string) []byte {
	h := hmac.New(sha256.New, k[n])
	h.Write([]byte(emailKey))
	return h.Sum(nil)
}

// digests returns the digests of an address under all keys.
func (k erasureKeys) digests(emailKey string) [][]byte {
	all := make([][]byte, len(k))
	for n := range k {
		all[n] = k.digest(n, emailKey)
	}
	return all
}

func erasureContext(a *identity.Account) string { return fmt.Sprintf("account/%d/erasure-keys", a.ID) }

// keysOf opens the keys of an account; none if nothing was ever erased in it.
func keysOf(sealer storage.Sealer, a identity.Account) (erasureKeys, error) {
	if len(a.SealedErasureKeys) == 0 {
		return nil, nil
	}
	plain, err := sealer.Open(a.SealedErasureKeys, erasureContext(&a))
	if err == nil && len(plain)%erasureKeySize != 0 {
		err = fmt.Errorf("%d bytes", len(plain))
	}
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "opening the erasure keys of the account", err)
	}
	return slices.Collect(slices.Chunk(plain, erasureKeySize)), nil
}

// ErasureKeys returns the keys of the account's tombstones. It is for exports.
func ErasureKeys(ctx context.Context, r identity.AccountReader, sealer storage.Sealer) ([][]byte, error) {
	a, err := r.Account(ctx)
	if err != nil {
		return nil, err
	}
	return keysOf(sealer, a)
}

// AddErasureKeys adds keys to the account, so that tombstones made with them are recognized. Known keys are ignored. More
// than 16 keys, or one that does not have 32 bytes, are an Invalid fault. It is for imports.
func AddErasureKeys(ctx context.Context, tx Tx, sealer storage.Sealer, keys [][]byte) error {
	_, err := addErasureKeys(ctx, tx, sealer, keys)
	return err
}

func addErasureKeys(ctx context.Context, tx Tx, sealer storage.Sealer, keys [][]byte) (erasureKeys, error) {
	if err := tx.LockAccount(ctx); err != nil {
		return nil, err
	}
	a, err := tx.Account(ctx)
	if err != nil {
		return nil, err
	}
	all, err := keysOf(sealer, a)
	if err != nil {
		return nil, err
	}
	known := len(all)
	for _, key := range keys {
		if len(key) != erasureKeySize {
			return nil, fault.Field("keys", "must have 32 bytes each")
		}
		if !slices.ContainsFunc(all, func(k []byte) bool { return bytes.Equal(k, key) }) {
			all = append(all, key)
		}
	}
	if len(all) > maxErasureKeys {
		return nil, fault.Field("keys", fmt.Sprintf("would exceed the account's limit of %d", maxErasureKeys))
	}
	if len(all) == known {
		return all, nil
	}
	if a.SealedErasureKeys, err = sealer.Seal(bytes.Join(all, nil), erasureContext(&a)); err != nil {
		return nil, fault.Wrap(fault.Internal, "sealing the erasure keys of the account", err)
	}
	return all, tx.UpdateAccount(ctx, &a)
}

// erased returns when addresses were erased, by mailaddr.Key; addresses that never were are absent. An address may belong to
// a customer nevertheless, who wrote again since.
func (s *Service) erased(ctx context.Context, r Reader, emailKeys []string) (map[string]time.Time, error) {
	keys, err := ErasureKeys(ctx, r, s.cfg.Sealer)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	return erasedUnder(ctx, r, keys, emailKeys)
}

func erasedUnder(ctx context.Context, r Reader, keys erasureKeys, emailKeys []string) (map[string]time.Time, error) {
	at := map[string]time.Time{}
	for some := range slices.Chunk(emailKeys, maxIdentities/maxErasureKeys) {
		of, digests := map[string]string{}, [][]byte(nil)
		for _, key := range some {
			if key == "" || Unreachable(key) {
				continue
			}
			for _, d := range keys.digests(key) {
				of[string(d)] = key
				digests = append(digests, d)
			}
		}
		if len(digests) == 0 {
			continue
		}
		found, err := erasureNoun().Reader(r).List(ctx, ErasureFilter{Digests: digests}, storage.Seek{Limit: storage.NoLimit})
		if err != nil {
			return nil, err
		}
		for _, e := range found {
			if key := of[string(e.Digest)]; e.ErasedAt.After(at[key]) {
				at[key] = e.ErasedAt
			}
		}
	}
	return at, nil
}

// Erasures lists the tombstones of erased customers, one for each address that they had, newest first. A non-empty address
// limits the list to its own. It needs audit_log.view and all mailboxes.
func (d Account) Erasures(ctx context.Context, email string, req storage.PageRequest) (storage.Page[Erasure], error) {
	var none storage.Page[Erasure]
	r, err := d.guard.Read(identity.AuditLogView)
	if err == nil {
		err = d.reachesAll()
	}
	if err != nil {
		return none, err
	}
	return d.svc.erasures(ctx, r, email, req)
}

// Erasures is [Account.Erasures] for an account; operators only.
func (a *Admin) Erasures(ctx context.Context, accountID int64, email string, req storage.PageRequest) (storage.Page[Erasure], error) {
	r, err := a.account(accountID)
	if err != nil {
		return storage.Page[Erasure]{}, err
	}
	if _, err := r.Account(ctx); err != nil {
		return storage.Page[Erasure]{}, err
	}
	return a.svc.erasures(ctx, r, email, req)
}

// account returns a reader of an account for the operator.
func (a *Admin) account(accountID int64) (Reader, error) {
	if _, err := a.guard.Read(operate); err != nil {
		return nil, err
	}
	return a.svc.cfg.Store.Within(Scope{AccountID: accountID}), nil
}

func (s *Service) erasures(ctx context.Context, r Reader, email string, req storage.PageRequest) (storage.Page[Erasure], error) {
	var filter ErasureFilter
	if email = plain.Cut(plain.Line(email), 320); email != "" {
		keys, err := ErasureKeys(ctx, r, s.cfg.Sealer)
		if err != nil || len(keys) == 0 {
			return storage.Page[Erasure]{}, err
		}
		filter.Digests = erasureKeys(keys).digests(mailaddr.Key(email))
	}
	return storage.List(req, true, func(e Erasure) storage.Position { return storage.Position{ID: e.ID} },
		func(seek storage.Seek) ([]Erasure, error) { return erasureNoun().Reader(r).List(ctx, filter, seek) })
}

// Erased returns when addresses were erased, by address; those that never were are absent. Imports leave out what these
// addresses wrote before.
func (in *Intake) Erased(ctx context.Context, accountID int64, addresses []string) (map[string]time.Time, error) {
	r, err := in.desk(accountID).Read(receive)
	if err != nil {
		return nil, err
	}
	return in.svc.erasedAddresses(ctx, r, addresses)
}

// erasedAddresses is erased for addresses as they are written.
func (s *Service) erasedAddresses(ctx context.Context, r Reader, addresses []string) (map[string]time.Time, error) {
	keys := make([]string, len(addresses))
	for n, a := range addresses {
		keys[n] = mailaddr.Key(plain.Line(a))
	}
	at, err := s.erased(ctx, r, keys)
	if err != nil || len(at) == 0 {
		return nil, err
	}
	out := map[string]time.Time{}
	for n, key := range keys {
		if when, found := at[key]; found {
			out[addresses[n]] = when
		}
	}
	return out, nil
}

// dropErased ignores a message from before the erasure of one of the given addresses, such as one that is fetched again. It
// leaves nothing of the message but its identity. Whoever writes again is a new customer.
func (f *filing) dropErased(ctx context.Context, tx Tx, row *ledger.Mail, shared *filingTogether, addresses ...mailaddr.Address) (bool, error) {
	erased, err := shared.erasures(ctx, tx, f.svc)
	if err != nil || len(erased) == 0 {
		return false, err
	}
	reached := f.reached(*row)
	for _, a := range addresses {
		if at, found := erased[mailaddr.Key(a.Email)]; !found || reached.After(at) {
			continue
		}
		if err := forgetMail(row, ctx, tx, f.accountID); err != nil {
			return true, err
		}
		row.Identity = f.mail.Identity
		return true, f.drop(ctx, tx, row, ledger.Ignored, erasedMail)
	}
	return false, nil
}

// unlessErased files a message unless dropErased ignores it.
func (f *filing) unlessErased(
	ctx context.Context, tx Tx, row ledger.Mail, shared *filingTogether, addresses []mailaddr.Address, file func() (ledger.Mail, error),
) (ledger.Mail, error) {
	if gone, err := f.dropErased(ctx, tx, &row, shared, addresses...); gone || err != nil {
		return row, err
	}
	return file()
}

// passedOn returns the customer of a message that a member forwarded, if any.
func (f *filing) passedOn() []mailaddr.Address {
	if f.forward == nil {
		return nil
	}
	return []mailaddr.Address{f.forward.customer}
}

// reached returns when a message reached the first server known to have received it. The Date, which the sender's clock
// determines, counts only if nothing else is known.
func (f *filing) reached(row ledger.Mail) time.Time {
	if !ofAnyAge(row) {
		return row.ReceivedAt
	}
	first := time.Time{}
	for _, t := range []time.Time{row.DeliveredAt, f.mail.LastHop} {
		if believable(t, f.mail.Date, row.ReceivedAt) && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	switch {
	case !first.IsZero():
		return first
	case f.mail.Date.Year() >= 1970 && f.mail.Date.Before(row.ReceivedAt):
		return f.mail.Date
	default:
		return row.ReceivedAt
	}
}

// erasures queries once for all messages filed together, with all addresses that they could be filed under. Without the keys
// of the account, which only a wrong secret key explains, mail is filed nevertheless: losing the mail of all would be worse.
func (shared *filingTogether) erasures(ctx context.Context, tx Tx, s *Service) (map[string]time.Time, error) {
	if shared.erased != nil {
		return shared.erased, nil
	}
	shared.erased = map[string]time.Time{}
	a, err := tx.Account(ctx)
	if err != nil || len(a.SealedErasureKeys) == 0 {
		return nil, err
	}
	keys, err := keysOf(s.cfg.Sealer, a)
	if err != nil {
		s.cfg.Logger.ErrorContext(ctx, "mail is filed without looking for erased customers", "account", a.ID, "error", err)
		return nil, nil //nolint:nilnil // losing the mail of all would be worse
	}
	var could []string
	for _, one := range shared.all {
		could = append(could, mailaddr.Key(one.mail.FirstAuthor().Email))
		for _, a := range speakers(&one.mail) {
			could = append(could, mailaddr.Key(a.Email))
		}
		if one.passed != nil {
			for _, a := range append([]mailaddr.Address{one.passed.mail.From}, one.passed.mail.ReplyTo...) {
				could = append(could, mailaddr.Key(a.Email))
			}
		}
		if one.mail.Archived || shared.own != nil && shared.own.receives(one.mail.FirstAuthor().Email) {
			for _, a := range slices.Concat(one.mail.To, one.mail.Cc, one.mail.Bcc) {
				could = append(could, mailaddr.Key(a.Email))
			}
		}
	}
	slices.Sort(could)
	shared.erased, err = erasedUnder(ctx, tx.Reader(), keys, slices.Compact(could))
	return shared.erased, err
}
