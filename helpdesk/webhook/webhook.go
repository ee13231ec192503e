// Package webhook delivers accounts' events to their webhooks. [Sender.Run] turns new events in the logs into deliveries.
// [Sender.Handle] posts these, signed, until the receiver accepts them or they are given up.
//
// A request is a CloudEvent in the structured mode of its HTTP binding (application/cloudevents+json) with the headers and
// signatures of Standard Webhooks. Events are delivered at least once, and in no guaranteed order.
package webhook

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/netguard"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Config configures a [Sender].
type Config struct {
	Dispatch *helpdesk.Dispatch // required
	// Dial connects to a receiver; required. It restricts the allowed addresses: see netguard.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Notifier wakes the sender when logs have grown. nil: it only polls.
	Notifier storage.EventNotifier

	Timeout  time.Duration // of one attempt, including the response; 0 means 15 s, the maximum is 30 s
	Parallel int           // concurrent attempts per webhook, over all processes; 0 means 4
	Poll     time.Duration // polling interval of the logs; 0 means 2 s

	// Tracer hears of each try, but not of its address. nil: nothing is traced.
	Tracer storage.Tracer

	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: discards
}

// Sender sends events to webhooks. It is safe for concurrent use; several processes may each run one.
type Sender struct {
	cfg    Config
	client *http.Client
	wake   chan struct{}

	mu       sync.Mutex
	followed map[int64]bool // known accounts with an active webhook
	grown    map[int64]bool // those whose log has grown
	all      bool           // any log may have grown
}

// New returns a sender; it starts nothing. A missing required field of cfg is an Invalid fault.
func New(cfg Config) (*Sender, error) {
	var problems fault.Collector
	problems.Check(cfg.Dispatch != nil, "Dispatch", "is required")
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if cfg.Dial == nil {
		cfg.Dial = netguard.Dialer(false, 10*time.Second)
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 15 * time.Second
	}
	cfg.Timeout = min(cfg.Timeout, 30*time.Second) // a delivery is held for a minute
	if cfg.Parallel <= 0 {
		cfg.Parallel = 4
	}
	if cfg.Poll <= 0 {
		cfg.Poll = 2 * time.Second
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Sender{
		cfg: cfg, client: newClient(cfg), wake: make(chan struct{}, 1), followed: map[int64]bool{}, grown: map[int64]bool{}, all: true,
	}, nil
}

const (
	// pruning is the interval of removing old deliveries.
	pruning = time.Hour
	// turn is the number of batches of one account before others get their turn.
	turn = 20
)

// Run turns events into deliveries and removes old deliveries until ctx ends, which is not an error. It must be called only
// once. Accounts without an active webhook cost nothing.
func (s *Sender) Run(ctx context.Context) error {
	defer s.client.CloseIdleConnections()
	if s.cfg.Notifier != nil {
		stop := s.cfg.Notifier.NotifyEvents(s.notify)
		defer stop()
	}
	ticker := time.NewTicker(s.cfg.Poll)
	defer ticker.Stop()
	var pruned time.Time
	for {
		s.round(ctx)
		if now := s.cfg.Now(); now.Sub(pruned) >= pruning {
			if err := s.cfg.Dispatch.Prune(ctx); err != nil && ctx.Err() == nil {
				s.cfg.Logger.WarnContext(ctx, "webhook: old deliveries cannot be removed", "error", err)
			}
			pruned = now
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
		case <-ticker.C:
			s.notify(0)
		}
	}
}

// notify records that an account's log has grown, or with 0, that any may have. An account that is not followed, but has a
// new webhook, is found when all are checked.
func (s *Sender) notify(account int64) {
	s.mu.Lock()
	known := account == 0 || s.followed[account]
	switch {
	case account == 0:
		s.all = true
	case known:
		s.grown[account] = true
	}
	s.mu.Unlock()
	if known {
		select {
		case s.wake <- struct{}{}:
		default: // an unread value means the same
		}
	}
}

// round distributes the events of all accounts whose logs may have grown.
func (s *Sender) round(ctx context.Context) {
	s.mu.Lock()
	all, grown := s.all, s.grown
	s.all, s.grown = false, map[int64]bool{}
	s.mu.Unlock()
	if !all {
		for account := range grown {
			s.distribute(ctx, account)
		}
		return
	}
	for after := int64(0); ctx.Err() == nil; {
		behind, err := s.cfg.Dispatch.Behind(ctx, after)
		if err != nil {
			if ctx.Err() == nil {
				s.cfg.Logger.WarnContext(ctx, "webhook: accounts with new events cannot be found", "error", err)
			}
			return
		}
		for _, account := range behind {
			s.distribute(ctx, account)
			after = account
		}
		if len(behind) == 0 {
			return
		}
	}
}

// distribute turns the new events of an account into deliveries.
func (s *Sender) distribute(ctx context.Context, account int64) {
	more, err := true, error(nil)
	for n := 0; n < turn && more && err == nil && ctx.Err() == nil; n++ {
		more, err = s.cfg.Dispatch.Distribute(ctx, account)
	}
	s.mu.Lock()
	if s.followed[account] = true; fault.Is(err, fault.NotFound) {
		delete(s.followed, account)
	}
	s.mu.Unlock()
	switch {
	case fault.Is(err, fault.NotFound), ctx.Err() != nil:
	case err != nil:
		s.cfg.Logger.WarnContext(ctx, "webhook: the events of an account cannot be distributed", "account_id", account, "error", err)
	case more:
		s.notify(account)
	}
}
