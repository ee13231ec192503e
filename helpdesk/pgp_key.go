package helpdesk

import (
	"context"
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// PGPKey is an OpenPGP public key for encrypting mail to one of a customer's addresses. It is removed with the address.
type PGPKey struct {
	ID              int64
	CustomerEmailID int64
	Name            string
	Fingerprint     string // upper-case hex; unique per address
	Content         []byte // the key's packets (RFC 9580 section 10.1)
	ExpiresAt       time.Time
	CreatedAt       time.Time
	UpdatedAt       time.Time
}

// pgpKeyNoun declares the rows of keys, which are removed with their addresses.
func pgpKeyNoun() storage.Declared[PGPKey, PGPKeyFilter] {
	return storage.Declared[PGPKey, PGPKeyFilter]{
		Noun: storage.Noun[PGPKey]{
			Name: "key",
			ID:   func(k *PGPKey) *int64 { return &k.ID },
			Unique: []storage.Unique[PGPKey]{
				{Code: UniquePGPKey, Index: "fingerprint", Fields: func(k *PGPKey) []any { return []any{&k.CustomerEmailID, &k.Fingerprint} }},
			},
		},
		Key: "pgp_key", Plural: "pgp_keys",
		Columns: []storage.Column[PGPKey]{
			{Name: "customer_email_id", Field: func(k *PGPKey) any { return &k.CustomerEmailID }, Refers: "customer_email", Owner: "hw_customer_emails"},
			{Name: "name", Field: func(k *PGPKey) any { return &k.Name }},
			{Name: "fingerprint", Field: func(k *PGPKey) any { return &k.Fingerprint }},
			{Name: "content", Field: func(k *PGPKey) any { return &k.Content }},
			{Name: "expires_at", Field: func(k *PGPKey) any { return &k.ExpiresAt }},
			{Name: "created_at", Field: func(k *PGPKey) any { return &k.CreatedAt }},
			{Name: "updated_at", Field: func(k *PGPKey) any { return &k.UpdatedAt }},
		},
		Where: func(f PGPKeyFilter) []storage.Condition {
			return []storage.Condition{storage.OneOf("customer_email_id", f.CustomerEmailIDs)}
		},
	}
}

// keyOfAddress is a key with the mailaddr.Key of its address.
type keyOfAddress struct {
	PGPKey
	EmailKey string
}

// keysOfAddresses lists, by id, the keys of the customers' addresses with the given Keys.
func keysOfAddresses(ctx context.Context, r Reader, keys []string) ([]keyOfAddress, error) {
	emails, err := r.EmailsByKey(ctx, keys)
	if err != nil || len(emails) == 0 {
		return nil, err
	}
	of := map[int64]string{}
	for _, e := range emails {
		of[e.ID] = e.Key
	}
	ids := slices.Collect(maps.Keys(of))
	found, err := pgpKeyNoun().Reader(r).List(ctx, PGPKeyFilter{CustomerEmailIDs: ids}, storage.Seek{Limit: storage.NoLimit})
	all := make([]keyOfAddress, len(found))
	for i, k := range found {
		all[i] = keyOfAddress{k, of[k.CustomerEmailID]}
	}
	return all, err
}

// AddressedKey is a key with its address.
type AddressedKey struct {
	PGPKey
	Email    string
	Customer Customer // owner of the address
}

// addressed joins a key with its address, one of the customer's.
func addressed(c Customer, k PGPKey) AddressedKey {
	out := AddressedKey{PGPKey: k, Customer: c}
	for _, e := range c.Emails {
		if e.ID == k.CustomerEmailID {
			out.Email = e.Email
		}
	}
	return out
}

// PublicKey is a key parsed by Config.ParseKey.
type PublicKey struct {
	UserID      string   // the primary user ID
	Emails      []string // of all valid user IDs
	Fingerprint string   // upper-case hex
	ExpiresAt   time.Time
	Content     []byte // its packets
}

// MaxPGPKey is the maximum size of a key in bytes, armored or not.
const MaxPGPKey = 256 << 10

// maxPGPKeys limits the keys of one customer.
const maxPGPKeys = 50

// PGPKeyInput is a new key.
type PGPKeyInput struct {
	CustomerEmailID int64  // required, of the customer
	Name            string // at most 200 characters; empty: the primary user ID
	Content         string // required: base64 (RFC 4648) of the armored text or of the packets
}

// pgpEnabled returns a Disabled fault without Config.ParseKey.
func (s *Service) pgpEnabled() error {
	if s.cfg.ParseKey == nil {
		return fault.New(fault.Disabled, "PGP encryption is turned off on this server.")
	}
	return nil
}

// EncryptsMail reports whether Config.ParseKey is set: if not, all methods for keys are Disabled faults.
func (s *Service) EncryptsMail() bool { return s.cfg.ParseKey != nil }

// PGPKeys are the OpenPGP keys of customers.
type PGPKeys struct{ *desk }

// PGPKeys returns the handle of the OpenPGP keys of customers.
func (d *Desk) PGPKeys() PGPKeys { return PGPKeys{&d.desk} }

// Create adds a key to one of a customer's addresses. It needs pgp_keys.create. A key that cannot encrypt mail, or
// that is not for the address, is an Invalid fault on content with the reason. Like all methods for keys, it is a Disabled
// fault without Config.ParseKey.
func (d PGPKeys) Create(ctx context.Context, customerID int64, in PGPKeyInput) (AddressedKey, error) {
	begin, err := d.guard.Write(identity.PGPKeysCreate)
	if err != nil {
		return AddressedKey{}, err
	}
	if err := d.svc.pgpEnabled(); err != nil {
		return AddressedKey{}, err
	}
	now := d.svc.now()
	key := PGPKey{CustomerEmailID: in.CustomerEmailID, Name: plain.Line(in.Name), CreatedAt: now, UpdatedAt: now}
	var problems fault.Collector
	problems.Check(in.CustomerEmailID != 0, "customer_email_id", "is required")
	namedIfGiven(&problems, "name", key.Name, 200)
	public, problem := d.svc.parseKey(in.Content, now)
	problems.Check(problem == "", "content", problem)
	if key.Name == "" {
		key.Name = plain.Cut(plain.Line(public.UserID), 200)
	}
	key.Fingerprint, key.Content, key.ExpiresAt = public.Fingerprint, public.Content, public.ExpiresAt
	var c Customer
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if c, err = tx.Customer(ctx, customerID); err != nil {
			return err
		}
		if err := keyFits(ctx, tx, problems, c, key, public); err != nil {
			return err
		}
		if err := d.reachesWhole(ctx, tx.Reader(), customerID); err != nil {
			return err
		}
		if err := pgpKeyNoun().Rows(tx).Insert(ctx, &key); err != nil {
			return err
		}
		return d.emit(ctx, tx, "pgp_key.created", key.ID, 0)
	})
	if isUnique(err, UniquePGPKey) {
		return AddressedKey{}, fault.Field("content", "is already a key of this address")
	}
	if err != nil {
		return AddressedKey{}, err
	}
	return addressed(c, key), nil
}

// parseKey decodes base64 and parses the key in it; problem is the reason why it is unusable.
func (s *Service) parseKey(content string, now time.Time) (public PublicKey, problem string) {
	if content == "" {
		return PublicKey{}, "is required"
	}
	if len(content) > 2*MaxPGPKey {
		return PublicKey{}, "is too long for a key"
	}
	bare := strings.TrimRight(strings.Join(strings.Fields(content), ""), "=")
	raw, err := base64.RawStdEncoding.DecodeString(bare)
	if err != nil {
		return PublicKey{}, "is no base64"
	}
	if len(raw) > MaxPGPKey {
		return PublicKey{}, "is too long for a key"
	}
	public, err = s.cfg.ParseKey(raw, now)
	if err != nil {
		return PublicKey{}, plain.Text(err.Error())
	}
	return public, ""
}

// keyFits adds problems if a key is not for the address, or the customer has too many keys.
func keyFits(ctx context.Context, tx Tx, problems fault.Collector, c Customer, key PGPKey, public PublicKey) error {
	at := slices.IndexFunc(c.Emails, func(e CustomerEmail) bool { return e.ID == key.CustomerEmailID })
	if key.CustomerEmailID != 0 {
		problems.Check(at >= 0, "customer_email_id", "is not an address of this customer")
	}
	if err := problems.Err(); err != nil {
		return err
	}
	fits := slices.ContainsFunc(public.Emails, func(e string) bool { return mailaddr.Key(e) == c.Emails[at].Key })
	if !fits {
		return fault.Field("content", "is not a key for "+c.Emails[at].Email)
	}
	keys, err := pgpKeyNoun().Rows(tx).List(ctx, PGPKeyFilter{CustomerEmailIDs: emailIDs(c)}, storage.Seek{Limit: maxPGPKeys})
	if err == nil && len(keys) >= maxPGPKeys {
		err = fault.New(fault.Conflict, "The customer already has the maximum number of keys.")
	}
	return err
}

func emailIDs(c Customer) []int64 {
	ids := make([]int64, len(c.Emails))
	for i, e := range c.Emails {
		ids[i] = e.ID
	}
	return ids
}

// keyOf finds a key of a customer.
func keyOf(ctx context.Context, r Reader, customerID, id int64) (AddressedKey, error) {
	c, err := r.Customer(ctx, customerID)
	if err != nil {
		return AddressedKey{}, err
	}
	key, err := pgpKeyNoun().Reader(r).Get(ctx, id)
	if err == nil && !slices.Contains(emailIDs(c), key.CustomerEmailID) {
		err = fault.Missing("key", id)
	}
	if err != nil {
		return AddressedKey{}, err
	}
	return addressed(c, key), nil
}

// Get returns a key of a customer. It needs pgp_keys.view.
func (d PGPKeys) Get(ctx context.Context, customerID, id int64) (AddressedKey, error) {
	r, err := d.guard.Read(identity.PGPKeysView)
	if err != nil {
		return AddressedKey{}, err
	}
	if err := d.svc.pgpEnabled(); err != nil {
		return AddressedKey{}, err
	}
	return keyOf(ctx, r, customerID, id)
}

// List lists the keys of a customer, by id. It needs pgp_keys.view.
func (d PGPKeys) List(ctx context.Context, customerID int64, req storage.PageRequest) (storage.Page[AddressedKey], error) {
	r, err := d.guard.Read(identity.PGPKeysView)
	if err != nil {
		return storage.Page[AddressedKey]{}, err
	}
	if err := d.svc.pgpEnabled(); err != nil {
		return storage.Page[AddressedKey]{}, err
	}
	c, err := r.Customer(ctx, customerID)
	if err != nil {
		return storage.Page[AddressedKey]{}, err
	}
	return storage.List(req, false, func(k AddressedKey) storage.Position { return storage.Position{ID: k.ID} },
		func(seek storage.Seek) ([]AddressedKey, error) {
			keys, err := pgpKeyNoun().Reader(r).List(ctx, PGPKeyFilter{CustomerEmailIDs: emailIDs(c)}, seek)
			all := make([]AddressedKey, len(keys))
			for i, k := range keys {
				all[i] = addressed(c, k)
			}
			return all, err
		})
}

// Update renames a key; the name is required. It needs pgp_keys.update.
func (d PGPKeys) Update(ctx context.Context, customerID, id int64, name string) (AddressedKey, error) {
	begin, err := d.guard.Write(identity.PGPKeysUpdate)
	if err != nil {
		return AddressedKey{}, err
	}
	if err := d.svc.pgpEnabled(); err != nil {
		return AddressedKey{}, err
	}
	name = plain.Line(name)
	var problems fault.Collector
	required(&problems, "name", name, 200)
	if err := problems.Err(); err != nil {
		return AddressedKey{}, err
	}
	var key AddressedKey
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if _, err := pgpKeyNoun().Rows(tx).Lock(ctx, id); err != nil {
			return err
		}
		if key, err = keyOf(ctx, tx.Reader(), customerID, id); err != nil {
			return err
		}
		key.Name, key.UpdatedAt = name, d.svc.now()
		if err := pgpKeyNoun().Rows(tx).Update(ctx, &key.PGPKey); err != nil {
			return err
		}
		return d.emit(ctx, tx, "pgp_key.updated", id, 0)
	})
	if err != nil {
		return AddressedKey{}, err
	}
	return key, nil
}

// Delete removes a key. Afterwards, mail to the address is sent unencrypted unless it has another key. It needs
// pgp_keys.delete.
func (d PGPKeys) Delete(ctx context.Context, customerID, id int64) error {
	begin, err := d.guard.Write(identity.PGPKeysDelete)
	if err != nil {
		return err
	}
	if err := d.svc.pgpEnabled(); err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		if _, err := keyOf(ctx, tx.Reader(), customerID, id); err != nil {
			return err
		}
		if err := d.reachesWhole(ctx, tx.Reader(), customerID); err != nil {
			return err
		}
		if err := pgpKeyNoun().Rows(tx).Delete(ctx, id); err != nil {
			return err
		}
		return d.emit(ctx, tx, "pgp_key.deleted", id, 0)
	})
}

// PGPKeyFilter names the addresses, by id, whose keys are listed.
type PGPKeyFilter struct{ CustomerEmailIDs []int64 }
