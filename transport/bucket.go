package transport

import (
	"context"
	"sync"
	"time"
)

// BucketsConfig configures [Buckets].
type BucketsConfig struct {
	Policy string           // name in the headers: letters and digits; default "default"
	Limit  int              // requests per Window, also at once; required, at least 1
	Window time.Duration    // default one minute
	Keys   int              // maximum number of keys counted separately; default 100,000, some 10 MB
	Now    func() time.Time // default time.Now
}

// Buckets is a [Limiter] in the memory of the process, with a token bucket for each key: after a pause the whole limit may
// be used at once, and then the bucket refills steadily. Each process counts separately.
//
// Memory is bounded: with more than Keys keys in one window, the least recently used start again with full buckets.
type Buckets struct {
	cfg      BucketsConfig
	interval time.Duration // time between two requests at the limit

	mu        sync.Mutex
	turned    time.Time            // when young last became old
	young     map[string]time.Time // by key: when the bucket is full again
	old       map[string]time.Time // keys not used since turned
	lastSeen  time.Time            // the clock may go backwards
	youngMost int
}

// NewBuckets makes full buckets.
func NewBuckets(cfg BucketsConfig) *Buckets {
	if cfg.Policy == "" {
		cfg.Policy = "default"
	}
	cfg.Limit = max(1, cfg.Limit)
	if cfg.Window <= 0 {
		cfg.Window = time.Minute
	}
	if cfg.Keys <= 0 {
		cfg.Keys = 100_000
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Buckets{
		cfg: cfg, interval: max(1, cfg.Window/time.Duration(cfg.Limit)), turned: cfg.Now(),
		young: map[string]time.Time{}, youngMost: max(1, cfg.Keys/2),
	}
}

// Take implements [Limiter]. Refused requests cost nothing.
func (b *Buckets) Take(_ context.Context, key string) Quota {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.cfg.Now()
	if now.Before(b.lastSeen) {
		now = b.lastSeen
	}
	b.lastSeen = now
	if len(b.young) >= b.youngMost || now.Sub(b.turned) >= b.cfg.Window {
		// A bucket not used for a whole window is full and need not be kept.
		b.old, b.young, b.turned = b.young, map[string]time.Time{}, now
	}
	full, known := b.young[key]
	if !known {
		full = b.old[key]
	}
	if full.Before(now) {
		full = now
	}
	q := Quota{Policy: b.cfg.Policy, Limit: b.cfg.Limit, Window: b.cfg.Window}
	most := b.interval * time.Duration(b.cfg.Limit)
	if next := full.Add(b.interval); next.Sub(now) <= most {
		full = next
	} else {
		q.Wait = next.Sub(now) - most
	}
	b.young[key] = full
	q.Reset = full.Sub(now)
	q.Remaining = int((most - q.Reset) / b.interval)
	return q
}
