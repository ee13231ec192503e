package webpush

import (
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
}

var _ helpdesk.PushSender = (*Push)(nil)

const (
	keyItem    = "webpush/key"
	keyContext = "web push key"
	keyLock    = time.Minute
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
		return &fault.Error{Kind: fault.NotFound, Message: "The browser no longer takes push notifications.", Err: err}
	case errors.Is(err, ErrBusy):
		return &fault.Error{Kind: fault.Unavailable, Message: "The push service cannot be reached.", Err: err}
	}
	return err
}

// ready returns the sender with the server's key.
func (p *Push) ready(ctx context.Context) (*Sender, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sender != nil {
		return p.sender, nil
	}
	key, err := p.read(ctx)
	if fault.Is(err, fault.NotFound) {
		key, err = p.make(ctx)
	}
	if err != nil {
		return nil, err
	}
	p.sender = NewSender(Config{Key: key, Contact: p.cfg.Contact, Dial: p.cfg.Dial, Client: p.cfg.Client, Now: p.cfg.Now})
	return p.sender, nil
}

// read reads the key. One that cannot be opened is not found.
func (p *Push) read(ctx context.Context) (Key, error) {
	item, err := p.cfg.Vault.Item(ctx, keyItem)
	if err != nil {
		return Key{}, err
	}
	raw, err := p.cfg.Sealer.Open(item.Value, keyContext)
	if err != nil {
		return Key{}, fault.Missing("key", 0)
	}
	return ParseKey(raw)
}

// make makes the key, unless another process does so.
func (p *Push) make(ctx context.Context) (Key, error) {
	holder := rand.Text()
	mine, err := p.cfg.Vault.TakeLock(ctx, keyItem, holder, p.cfg.Now(), p.cfg.Now().Add(keyLock))
	if err != nil {
		return Key{}, err
	}
	if !mine {
		return Key{}, fault.New(fault.Unavailable, "Another server is preparing push notifications. Try again.")
	}
	defer func() { _ = p.cfg.Vault.FreeLock(context.WithoutCancel(ctx), keyItem, holder) }() // it ends by itself
	if key, err := p.read(ctx); !fault.Is(err, fault.NotFound) {
		return key, err // made meanwhile
	}
	key, err := NewKey()
	if err != nil {
		return Key{}, err
	}
	raw, err := key.Bytes()
	if err != nil {
		return Key{}, fmt.Errorf("webpush: %w", err)
	}
	sealed, err := p.cfg.Sealer.Seal(raw, keyContext)
	if err != nil {
		return Key{}, fault.Wrap(fault.Internal, "sealing the key of push notifications", err)
	}
	return key, p.cfg.Vault.SetItem(ctx, storage.VaultItem{Key: keyItem, Value: sealed, Modified: p.cfg.Now()})
}
