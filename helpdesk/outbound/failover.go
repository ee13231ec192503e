package outbound

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage/fault"
)

// FailoverConfig configures a [Failover].
type FailoverConfig struct {
	// Relays are in order of preference; at least one is required. With more than one, the default of DialTimeout is 10 s.
	Relays []RelayConfig
	// Rest is how long a failed relay is not used. It doubles with each failure, up to ten times; 0 means 30 s.
	Rest time.Duration
	// Patience is how long messages wait for a relay that another message is trying and that has not answered yet, from the
	// start of that attempt; 0 means 10 s. After six times as long, another message tries it, too.
	Patience time.Duration
	Now      func() time.Time // nil: time.Now
	Logger   *slog.Logger     // nil: discards
}

// Failover is a [Transport] over several relays. A message goes to the first that works. Recipients that it defers, and
// messages that it cannot carry, go to the next; permanent rejections are final. If a connection ends when a relay may have
// taken the message, no other relay gets it in the same attempt, since it could arrive twice.
//
// A failed relay rests for a while. Then one message tries it again, and the others do not wait for it. The same applies to
// a relay that was not used recently, so that an unresponsive relay delays only one message. A relay that becomes
// unresponsive during transfers delays messages that it has received completely for SubmitTimeout at most, since their
// outcome is unknown, and the others for Silence. Run by package jobs, waiting messages hold no workers.
type Failover struct {
	cfg    FailoverConfig
	relays []*Relay

	mu     sync.Mutex
	health []health
}

// health is the state of a relay.
type health struct {
	failures int       // consecutive failures
	until    time.Time // end of its rest
	probed   bool      // a message is trying it again
	last     error
	worked   time.Time     // last success
	trial    chan struct{} // closed when the message that tries it first has an outcome; nil: none does
	began    time.Time     // of the trial
}

// proven is how long after a success a relay is used without a trial.
const proven = 10 * time.Second

// NewFailover returns a transport over several relays. It connects with the first message.
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

// Close closes the idle connections.
func (f *Failover) Close() error {
	var errs []error
	for _, r := range f.relays {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

// Reasons for deferring a message while no relay is tried for it.
var (
	errResting = errors.New("no mail relay could be used a moment ago")
	errSilent  = errors.New("the mail relay gives no answer")
)

// Send hands one message to the first relay that takes it, for each recipient. An error means that no relay could be used.
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

// elsewhere reports whether another relay may do better: this one deferred, or our side found that it cannot carry the
// message.
func elsewhere(r Result) bool {
	return r.State != sending.Sent && r.State != sending.Failed || r.State == sending.Failed && r.Code == 0
}

// admit admits a message to a relay; the message calls done when it has an outcome. If the message must use another relay,
// done is nil, and why is the reason if known.
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

// try makes the caller's message the one that tries a relay first, if a trial is needed and none is in progress or the
// current one is overdue. Otherwise trial is the other message's, with how long to wait for it, or nil.
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

// tried ends a trial, unless another has replaced it.
func (f *Failover) tried(n int, trial chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.health[n].trial == trial {
		f.health[n].trial = nil
	}
	close(trial)
}

// rests reports whether a relay must not be used. After its rest, the first message tries it, and others see it as resting
// until the outcome is known.
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
		return // began before the failure was known
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

// works records that a relay works. answered means that it replied about a message, so that others need not wait for a
// trial.
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
