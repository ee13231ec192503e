package helpdesk

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/internal/portaltoken"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// Algorithms of portal tokens.
const (
	PortalEdDSA = portaltoken.EdDSA // Ed25519 (RFC 8037)
	PortalHS256 = portaltoken.HS256 // HMAC with SHA-256 (RFC 7518 section 3.2)
)

// PortalSecretPrefix begins the secret of every HS256 key.
const PortalSecretPrefix = "hwk_"

// PortalKey verifies the portal tokens that an application signs, see [Service.AuthenticatePortal]. Tokens refer to it by
// id. It is valid while its creator holds the permissions to create it.
type PortalKey struct {
	ID           int64
	Name         string
	Algorithm    string // PortalEdDSA or PortalHS256
	PublicKey    []byte // of EdDSA: 32 bytes
	SealedSecret []byte // of HS256; never leaves the service
	UserID       int64  // creator; 0: unknown, and the key stays valid until deleted
	LastUsedAt   time.Time
	CreatedAt    time.Time
}

func portalKeyNoun() storage.Declared[PortalKey, storage.NoFilter] {
	return storage.Declared[PortalKey, storage.NoFilter]{
		Noun: storage.Noun[PortalKey]{Name: "key", ID: func(k *PortalKey) *int64 { return &k.ID }},
		Key:  "portal_key", Plural: "portal_keys",
		Columns: []storage.Column[PortalKey]{
			{Name: "name", Field: func(k *PortalKey) any { return &k.Name }},
			{Name: "algorithm", Field: func(k *PortalKey) any { return &k.Algorithm }},
			{Name: "public_key", Field: func(k *PortalKey) any { return &k.PublicKey }},
			{Name: "sealed_secret", Field: func(k *PortalKey) any { return &k.SealedSecret }},
			{Name: "last_used_at", Field: func(k *PortalKey) any { return &k.LastUsedAt }},
			{Name: "created_at", Field: func(k *PortalKey) any { return &k.CreatedAt }},
			{Name: "user_id", Field: func(k *PortalKey) any { return &k.UserID }, Refers: "user"},
		},
	}
}

// PortalKeyInput is a new key.
type PortalKeyInput struct {
	Name      string // required, at most 200 characters
	Algorithm string // required
	// PublicKey is required for EdDSA: PEM, or its 32 bytes in base64. It is unused for HS256.
	PublicKey string
}

// secretContext binds a sealed secret to its key.
func (k PortalKey) secretContext(accountID int64) string {
	return fmt.Sprintf("portal-key/%d/%d/secret", accountID, k.CreatedAt.UnixMicro())
}

// open returns the key in the form that verifies tokens.
func (k PortalKey) open(s *Service, accountID int64) (portaltoken.Key, error) {
	key := portaltoken.Key{Algorithm: k.Algorithm, Public: k.PublicKey}
	if k.Algorithm != PortalHS256 {
		return key, nil
	}
	var err error
	if key.Secret, err = s.cfg.Sealer.Open(k.SealedSecret, k.secretContext(accountID)); err != nil {
		return key, fault.Wrap(fault.Internal, "opening the secret of a portal key", err)
	}
	return key, nil
}

// PortalKeys let other programs open the portal for their users.
type PortalKeys struct{ *desk }

// PortalKeys returns the handle of the keys of the portal.
func (d *Desk) PortalKeys() PortalKeys { return PortalKeys{&d.desk} }

// Create registers a key. For HS256 the service generates the secret and returns it, which is not shown again; the
// secret's text itself is the HMAC key. It needs accounts.update and all that the key grants: conversations.view,
// conversations.create, interactions.view and interactions.create, in all mailboxes. It also needs a caller who is not an
// expiring access token. Otherwise it is a Forbidden fault. Once the creator loses these permissions or leaves, the key's
// tokens are rejected, so another member must create a replacement first.
func (d PortalKeys) Create(ctx context.Context, in PortalKeyInput) (key PortalKey, secret string, err error) {
	begin, err := d.guard.Write(identity.AccountsUpdate)
	if err != nil {
		return PortalKey{}, "", err
	}
	if err := d.mayOpenPortal(); err != nil {
		return PortalKey{}, "", err
	}
	if err := d.lasting("a portal key"); err != nil {
		return PortalKey{}, "", err
	}
	key = PortalKey{Name: plain.Line(in.Name), Algorithm: in.Algorithm, UserID: d.userID, CreatedAt: d.svc.now()}
	var problems fault.Collector
	required(&problems, "name", key.Name, 200)
	switch key.Algorithm {
	case PortalEdDSA:
		if problems.Check(in.PublicKey != "", "public_key", "is required") {
			public, problem := portaltoken.ParsePublicKey(in.PublicKey)
			problems.Check(problem == "", "public_key", problem)
			key.PublicKey = public
		}
	case PortalHS256:
		problems.Check(in.PublicKey == "", "public_key", "must be empty: the server generates the secret")
	case "":
		problems.Add("algorithm", "is required")
	default:
		problems.Add("algorithm", "must be EdDSA or HS256")
	}
	if err := problems.Err(); err != nil {
		return PortalKey{}, "", err
	}
	if key.Algorithm == PortalHS256 {
		secret = PortalSecretPrefix + rand.Text() + rand.Text()
		if key.SealedSecret, err = d.svc.cfg.Sealer.Seal([]byte(secret), key.secretContext(d.scope.AccountID)); err != nil {
			return PortalKey{}, "", fault.Wrap(fault.Internal, "sealing the secret of a portal key", err)
		}
	}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := portalKeyNoun().Rows(tx).Insert(ctx, &key); err != nil {
			return err
		}
		return d.emit(ctx, tx, "portal_key.created", key.ID, 0)
	})
	key.SealedSecret = nil
	return key, secret, err
}

// mayOpenPortal returns a fault if the member lacks a permission that a portal key grants.
func (d *desk) mayOpenPortal() error {
	for _, p := range []identity.Permission{identity.AccountsUpdate, identity.ConversationsView, identity.ConversationsCreate, identity.InteractionsView, identity.InteractionsCreate} {
		if _, err := d.guard.Write(p); err != nil {
			return err
		}
	}
	return d.reachesAll()
}

// List lists the keys by id. It needs accounts.update.
func (d PortalKeys) List(ctx context.Context, req storage.PageRequest) (storage.Page[PortalKey], error) {
	r, err := d.guard.Read(identity.AccountsUpdate)
	if err != nil {
		return storage.Page[PortalKey]{}, err
	}
	return storage.List(req, false, func(k PortalKey) storage.Position { return storage.Position{ID: k.ID} },
		func(seek storage.Seek) ([]PortalKey, error) {
			keys, err := portalKeyNoun().Reader(r).List(ctx, storage.NoFilter{}, seek)
			for i := range keys {
				keys[i].SealedSecret = nil
			}
			return keys, err
		})
}

// Delete removes a key. Its tokens are rejected from then on. It needs accounts.update.
func (d PortalKeys) Delete(ctx context.Context, id int64) error {
	begin, err := d.guard.Write(identity.AccountsUpdate)
	if err != nil {
		return err
	}
	if err := d.reachesAll(); err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := portalKeyNoun().Rows(tx).Delete(ctx, id); err != nil {
			return err
		}
		return d.emit(ctx, tx, "portal_key.deleted", id, 0)
	})
}
