package certs

import (
	"errors"
	"sync"
	"time"
)

const (
	firstWait   = time.Minute
	longestWait = 6 * time.Hour
	maxFailures = 30 // per hour, for all hosts ordered on demand
	maxRefused  = 10_000
)

var errWait = errors.New("an order for this host has failed recently")

// refusals limits the repetition of failing orders: authorities allow few failures, and a client may request hosts that
// point elsewhere.
type refusals struct {
	now func() time.Time

	mu     sync.Mutex
	hosts  map[string]refusal
	recent []time.Time // of failures within the last hour
}

type refusal struct {
	wait  time.Duration
	until time.Time
}

func newRefusals(now func() time.Time) *refusals {
	return &refusals{now: now, hosts: map[string]refusal{}}
}

// wait returns an error while a host must not be ordered.
func (r *refusals) wait(host string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	for len(r.recent) > 0 && now.Sub(r.recent[0]) >= time.Hour {
		r.recent = r.recent[1:]
	}
	if len(r.recent) >= maxFailures || r.hosts[host].until.After(now) {
		return errWait
	}
	return nil
}

// note records the outcome of an order.
func (r *refusals) note(host string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		delete(r.hosts, host)
		return
	}
	now := r.now()
	for name, one := range r.hosts {
		if len(r.hosts) < maxRefused {
			break
		}
		if !one.until.After(now) || len(r.hosts) >= 2*maxRefused {
			delete(r.hosts, name)
		}
	}
	wait := min(max(2*r.hosts[host].wait, firstWait), longestWait)
	r.hosts[host] = refusal{wait, now.Add(wait)}
	r.recent = append(r.recent, now)
}
