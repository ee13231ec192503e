package webpush

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// PushConfig configures a [Push].
type PushConfig struct {
	Vault   storage.Vault  // keeps the server's key; required
	Sealer  storage.Sealer // seals it; required
	Contact string         // mailto or https address for the operators of push services; required
	// Dial connects to push services; required without Client. It restricts the allowed addresses: see netguard.Dialer.
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
	Client *http.Client     // replaces the client for all requests, and Dial; nil: see [Config]
	Now    func() time.Time // nil: time.Now
}

// Push is a [helpdesk.PushSender] whose key is made on first use and shared by all processes on a store. A key that the sealer
// cannot open is replaced: browsers subscribe anew when their members next use the desk.
type Push struct {
	cfg    PushConfig
	mu     sync.Mutex
	sender *Sender // nil: not made yet
	sealed []byte  // the key of sender in the vault
	read   time.Time
}

var _ helpdesk.PushSender = (*Push)(nil)

const (
	keyItem    = "webpush/key"
	keyContext = "web push key"
	keyLock    = time.Minute
	// keyFresh is how long a process uses a key that was replaced: see [Renew].
	keyFresh = time.Minute
)

// NewPush returns a push; it reads nothing yet.
func NewPush(cfg PushConfig) *Push {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Push{cfg: cfg}
}

// PublicKey implements [helpdesk.PushSender].
func (p *Push) PublicKey(ctx context.Context) (string, error) {
	sender, err := p.ready(ctx)
	if err != nil {
		return "", err
	}
	return sender.Key().Public()
}

// Push implements [helpdesk.PushSender].
func (p *Push) Push(ctx context.Context, d helpdesk.PushDevice, message []byte, life time.Duration) error {
	sender, err := p.ready(ctx)
	if err != nil {
		return err
	}
	err = sender.Send(ctx, Subscription{Endpoint: d.Endpoint, PublicKey: d.PublicKey, Auth: d.Auth}, message, life)
	switch {
	case errors.Is(err, ErrGone):
		return &fault.Error{Kind: fault.NotFound, Message: "The browser no longer accepts push notifications.", Err: err}
	case errors.Is(err, ErrBusy):
		return &fault.Error{Kind: fault.Unavailable, Message: "The push service cannot be reached.", Err: err}
	}
	return err
}

// ready returns the sender with the server's key.
func (p *Push) ready(ctx context.Context) (*Sender, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sender != nil && p.cfg.Now().Sub(p.read) < keyFresh {
		return p.sender, nil
	}
	key, sealed, err := p.load(ctx)
	if fault.Is(err, fault.NotFound) {
		key, sealed, err = p.make(ctx)
	}
	if err != nil {
		return nil, err
	}
	p.read = p.cfg.Now()
	if p.sender != nil && bytes.Equal(p.sealed, sealed) {
		return p.sender, nil
	}
	p.sealed, p.sender = sealed, NewSender(Config{Key: key, Contact: p.cfg.Contact, Dial: p.cfg.Dial, Client: p.cfg.Client, Now: p.cfg.Now})
	return p.sender, nil
}

// load reads the key. One that cannot be opened is not found.
func (p *Push) load(ctx context.Context) (key Key, sealed []byte, err error) {
	item, err := p.cfg.Vault.Item(ctx, keyItem)
	if err != nil {
		return key, nil, err
	}
	raw, err := p.cfg.Sealer.Open(item.Value, keyContext)
	if err != nil {
		return key, nil, fault.Missing("key", 0)
	}
	key, err = ParseKey(raw)
	return key, item.Value, err
}

// make makes the key, unless another process does so.
func (p *Push) make(ctx context.Context) (key Key, sealed []byte, err error) {
	holder := rand.Text()
	mine, err := p.cfg.Vault.TakeLock(ctx, keyItem, holder, p.cfg.Now(), p.cfg.Now().Add(keyLock))
	if err != nil {
		return key, nil, err
	}
	if !mine {
		return key, nil, fault.New(fault.Unavailable, "Another server is preparing push notifications. Try again.")
	}
	defer func() { _ = p.cfg.Vault.FreeLock(context.WithoutCancel(ctx), keyItem, holder) }() // it ends by itself
	if key, sealed, err := p.load(ctx); !fault.Is(err, fault.NotFound) {
		return key, sealed, err // made meanwhile
	}
	if key, err = NewKey(); err != nil {
		return key, nil, err
	}
	raw, err := key.Bytes()
	if err != nil {
		return key, nil, fmt.Errorf("webpush: %w", err)
	}
	if sealed, err = p.cfg.Sealer.Seal(raw, keyContext); err != nil {
		return key, nil, fault.Wrap(fault.Internal, "sealing the key of push notifications", err)
	}
	return key, sealed, p.cfg.Vault.SetItem(ctx, storage.VaultItem{Key: keyItem, Value: sealed, Modified: p.cfg.Now()})
}

// SealedWith returns the id of the key that seals the server's key, "" if there is none yet.
func SealedWith(ctx context.Context, vault storage.Vault, sealer storage.KeyedSealer) (string, error) {
	item, err := vault.Item(ctx, keyItem)
	if fault.Is(err, fault.NotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return sealer.KeyOf(item.Value), nil
}

// Reseal seals the server's key with the first key of a sealer, and reports whether it was sealed with another. Devices notice
// nothing.
func Reseal(ctx context.Context, vault storage.Vault, sealer storage.KeyedSealer) (bool, error) {
	item, err := vault.Item(ctx, keyItem)
	if fault.Is(err, fault.NotFound) || err == nil && sealer.KeyOf(item.Value) == sealer.KeyIDs()[0] {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	raw, err := sealer.Open(item.Value, keyContext)
	if err != nil {
		return false, nil //nolint:nilerr // as good as gone: servers replace it
	}
	sealed, err := sealer.Seal(raw, keyContext)
	if err != nil {
		return false, fault.Wrap(fault.Internal, "sealing the key of push notifications", err)
	}
	return vault.ReplaceValue(ctx, keyItem, item.Value, sealed)
}

// Renew has servers make another key within a minute. Push services then refuse what is sent to the devices that know the
// former one, and they are removed; each subscribes anew when its member next opens the desk there.
func Renew(ctx context.Context, vault storage.Vault) error { return vault.DeleteItems(ctx, keyItem) }
