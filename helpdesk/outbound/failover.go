package outbound

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage/fault"
)

// FailoverConfig is what a [Failover] is made of.
type FailoverConfig struct {
	// Relays in the order of preference; at least one. With another to turn to, the
	// default of DialTimeout is 10 s.
	Relays []RelayConfig
	// Rest is how long a relay that could not be used is left alone, doubled with each
	// failure up to ten times as long; 0 means 30 s.
	Rest time.Duration
	// Patience is how long mails wait for a relay that another mail tries and that has not
	// answered yet, from the beginning of that try on; 0 means 10 s. After six times as
	// long another mail tries it too.
	Patience time.Duration
	Now      func() time.Time // nil: time.Now
	Logger   *slog.Logger     // nil: discards
}

// Failover is a [Transport] over several relays. A mail goes to the first that
// works. Recipients whom that one defers, or whose mail it cannot carry, go to the
// next; refusals for good are final. Where a connection ended while a relay may have
// taken the mail, no other gets it in the same try: it would come twice.
//
// A relay that cannot be used rests for a while; then one mail tries it again, and
// the others do not wait for it. So it is with one that nobody has used a moment ago: one
// mail tries it first, so that a relay that swallows all and says nothing holds one mail.
// One that falls silent while mails are under way holds those that it has whole for
// SubmitTimeout at most, for nobody knows what becomes of them, and the others for Silence.
// Run by package jobs, they hold no workers.
type Failover struct {
	cfg    FailoverConfig
	relays []*Relay

	mu     sync.Mutex
	health []health
}

// health is what is known of a relay.
type health struct {
	failures int       // in a row
	until    time.Time // it rests
	probed   bool      // a mail tries it again now
	last     error
	worked   time.Time     // when it took a mail last
	trial    chan struct{} // closed once the mail has an outcome that tries it first; nil: none does
	began    time.Time     // of the trial
}

// proven is how long a relay that has worked is used without trying it first.
const proven = 10 * time.Second

// NewFailover makes a transport over several relays. It connects with the first
// mail.
func NewFailover(cfg FailoverConfig) (*Failover, error) {
	if len(cfg.Relays) == 0 {
		return nil, fault.Field("Relays", "is required")
	}
	if cfg.Rest <= 0 {
		cfg.Rest = 30 * time.Second
	}
	if cfg.Patience <= 0 {
		cfg.Patience = 10 * time.Second
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	f := &Failover{cfg: cfg, health: make([]health, len(cfg.Relays))}
	for _, one := range cfg.Relays {
		if one.DialTimeout == 0 && len(cfg.Relays) > 1 {
			one.DialTimeout = 10 * time.Second
		}
		relay, err := NewRelay(one)
		if err != nil {
			return nil, err
		}
		f.relays = append(f.relays, relay)
	}
	return f, nil
}

// Close ends the idle connections.
func (f *Failover) Close() error {
	var errs []error
	for _, r := range f.relays {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

// Why a mail is deferred while no relay is tried for it.
var (
	errResting = errors.New("no mail relay could be used a moment ago")
	errSilent  = errors.New("the mail relay gives no answer")
)

// Send hands one mail to the first relay that takes it, recipient by recipient. Its
// error means that no relay could be used.
func (f *Failover) Send(ctx context.Context, from string, to []string, m *Mail) ([]Result, error) {
	results := make([]Result, len(to))
	left := make([]int, len(to)) // recipients without a final result
	for i := range to {
		left[i] = i
	}
	reached := false
	var failure error = &RelayError{Step: "connect", Err: errResting}
	for n, relay := range f.relays {
		if len(left) == 0 || ctx.Err() != nil {
			break
		}
		done, err := f.admit(ctx, n)
		if done == nil {
			if err != nil {
				failure = err
			}
			continue
		}
		addresses := make([]string, len(left))
		for k, i := range left {
			addresses[k] = to[i]
		}
		part, doubt, err := relay.send(ctx, from, addresses, m)
		if err != nil {
			if ctx.Err() == nil {
				f.failed(ctx, n, err)
			}
			done()
			failure = err
			continue
		}
		f.works(ctx, n, slices.ContainsFunc(part, func(r Result) bool { return r.Code != 0 }))
		done()
		reached = true
		var next []int
		for k, i := range left {
			results[i] = part[k]
			if !doubt && elsewhere(part[k]) {
				next = append(next, i)
			}
		}
		left = next
	}
	if !reached {
		return nil, failure
	}
	return results, nil
}

// elsewhere reports whether another relay may do better: this one defers, or it was
// we who said that it cannot carry the mail.
func elsewhere(r Result) bool {
	return r.State != helpdesk.DeliverySent && r.State != helpdesk.DeliveryFailed || r.State == helpdesk.DeliveryFailed && r.Code == 0
}

// admit lets a mail use a relay, and the mail calls done when it has the outcome. One that
// is to use another relay gets no done, and why if that is known.
func (f *Failover) admit(ctx context.Context, n int) (done func(), why error) {
	for {
		last, rests := f.rests(n)
		if rests {
			return nil, last
		}
		trial, mine, patience := f.try(n)
		if mine {
			return func() { f.tried(n, trial) }, nil
		}
		if trial == nil {
			return func() {}, nil
		}
		timer := time.NewTimer(patience)
		select {
		case <-trial:
			timer.Stop()
		case <-timer.C:
			return nil, &RelayError{Step: "connect", Err: errSilent}
		case <-ctx.Done():
			timer.Stop()
			return nil, &RelayError{Step: "connect", Err: context.Cause(ctx)}
		}
	}
}

// try makes the mail that asks the one that tries a relay first, if there has to be one
// and there is none, or none that may still be hoped for; else trial is that of the other,
// and how long to wait for it, or nil.
func (f *Failover) try(n int) (trial chan struct{}, mine bool, patience time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h, now := &f.health[n], f.cfg.Now()
	if age := now.Sub(h.began); h.trial != nil && age < 6*f.cfg.Patience {
		return h.trial, false, max(0, f.cfg.Patience-age)
	}
	if h.trial == nil && now.Sub(h.worked) < proven {
		return nil, false, 0
	}
	h.trial, h.began = make(chan struct{}), now
	return h.trial, true, 0
}

// tried ends a trial, unless another has taken its place.
func (f *Failover) tried(n int, trial chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.health[n].trial == trial {
		f.health[n].trial = nil
	}
	close(trial)
}

// rests reports whether a relay is left alone. Of those who come when its rest is
// over, the first tries it and the others see it rest until the outcome is known.
func (f *Failover) rests(n int) (last error, rests bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h, now := &f.health[n], f.cfg.Now()
	if h.failures == 0 {
		return nil, false
	}
	if now.Before(h.until) {
		return h.last, true
	}
	h.until, h.probed = now.Add(f.cfg.Rest), true
	return h.last, false
}

func (f *Failover) failed(ctx context.Context, n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := &f.health[n]
	if !h.probed && h.failures > 0 {
		return // began before it was found out, and says nothing new
	}
	h.probed = false
	h.failures++
	rest := f.cfg.Rest
	for range h.failures - 1 {
		rest = min(2*rest, 10*f.cfg.Rest)
	}
	h.until, h.last = f.cfg.Now().Add(rest), err
	f.cfg.Logger.WarnContext(ctx, "outbound: a relay cannot be used", "relay", n+1, "of", len(f.relays), "rest", rest, "error", err)
}

// works notes that a relay can be used. answered: it has said something of a mail, so that
// others need not wait for one that tries it.
func (f *Failover) works(ctx context.Context, n int, answered bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.health[n].failures > 0 {
		f.cfg.Logger.InfoContext(ctx, "outbound: a relay works again", "relay", n+1, "of", len(f.relays))
	}
	h := health{worked: f.health[n].worked, trial: f.health[n].trial, began: f.health[n].began}
	if answered {
		h.worked = f.cfg.Now()
	}
	f.health[n] = h
}
