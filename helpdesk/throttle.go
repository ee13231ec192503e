package helpdesk

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Limits of wrong passwords before the next attempt must wait; the wait doubles each time.
//
// An attacker who guesses from few addresses is delayed there, and nobody else is. One who guesses a single user's password
// from very many addresses is delayed by that user's count. That count does not apply to the addresses that the user usually
// signs in from, so that nobody can lock a user out from elsewhere.
var (
	limitPair    = attempts{free: 5, longest: 5 * time.Minute}  // constants: one user from one address
	limitAddress = attempts{free: 30, longest: time.Minute}     // any users from one address
	limitCode    = attempts{free: 5, longest: 5 * time.Minute}  // codes of one user's second factor
	limitUser    = attempts{free: 30, longest: 5 * time.Minute} // one user from unusual addresses
)

const (
	forgetTries = time.Hour // after the last one
	maxTries    = 100_000   // maximum number of counts
	maxUsual    = 100_000   // maximum number of usual addresses kept; others are looked up in the audit log
	noteEvery   = time.Hour // one failure per user and address is logged in this time
	maxNotes    = 10        // failures of one user that are logged in this time, over all addresses
)

// attempts is a number of free failures and the longest wait.
type attempts struct {
	free    int
	longest time.Duration
}

func (a attempts) wait(failures int) time.Duration {
	if failures < a.free {
		return 0
	}
	return min(time.Second<<min(failures-a.free, 20), a.longest)
}

// tryKey identifies a count: by user, by address, or by both.
type tryKey struct{ user, address string }

func (k tryKey) limit() attempts {
	switch {
	case k.address == codeTries:
		return limitCode
	case k.user == "":
		return limitAddress
	case k.address == "":
		return limitUser
	}
	return limitPair
}

// tries are failed or unfinished attempts.
type tries struct {
	failures    int
	last, until time.Time // until is the earliest next attempt
	noted       int       // logged failures since notedAt
	notedAt     time.Time
}

// throttle counts sign-in attempts in this process. Services derived from one share it.
type throttle struct {
	mu    sync.Mutex
	tries map[tryKey]*tries
	usual map[usualAddress]bool
}

// usualAddress is a network that a user has signed in from.
type usualAddress struct {
	user    int64
	network string
}

func newThrottle() *throttle {
	return &throttle{tries: map[tryKey]*tries{}, usual: map[usualAddress]bool{}}
}

// network returns the part of an address that stands for one household or office: an IPv6 host may use any address of a /64.
func network(address string) string {
	addr, err := netip.ParseAddr(address)
	if err != nil || addr.Is4() {
		return address
	}
	prefix, err := addr.Prefix(64)
	if err != nil {
		return address
	}
	return prefix.String()
}

// try counts an attempt as failed until it succeeds, so that concurrent attempts count, too. A non-zero wait means that the
// attempt must wait instead.
func (t *throttle) try(now time.Time, keys []tryKey) (wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, k := range keys {
		if one := t.at(now, k); one != nil {
			wait = max(wait, one.until.Sub(now))
		}
	}
	if wait > 0 {
		return wait
	}
	for _, k := range keys {
		one := t.at(now, k)
		if one == nil {
			t.makeRoom(now)
			one = &tries{}
			t.tries[k] = one
		}
		one.failures++
		one.last, one.until = now, now.Add(k.limit().wait(one.failures))
	}
	return 0
}

// at returns a count, nil if there is none or it has expired.
func (t *throttle) at(now time.Time, k tryKey) *tries {
	one := t.tries[k]
	if one != nil && now.Sub(one.last) >= forgetTries {
		delete(t.tries, k)
		return nil
	}
	return one
}

// makeRoom limits the number of counts: it drops expired ones first, then arbitrary ones.
func (t *throttle) makeRoom(now time.Time) {
	if len(t.tries) < maxTries {
		return
	}
	for k := range t.tries {
		t.at(now, k)
	}
	for k := range t.tries {
		if len(t.tries) < maxTries-maxTries/10 {
			return
		}
		delete(t.tries, k)
	}
}

// succeed removes an attempt that try counted, and remembers the user's network.
func (t *throttle) succeed(user int64, address string, keys []tryKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, k := range keys {
		if one := t.tries[k]; one != nil {
			if one.failures--; k.user != "" && k.address != "" || one.failures <= 0 {
				delete(t.tries, k)
				continue
			}
			one.until = one.last.Add(k.limit().wait(one.failures - 1))
		}
	}
	if address != "" {
		t.remember(usualAddress{user, network(address)})
	}
}

// release removes an attempt that was neither right nor wrong.
func (t *throttle) release(keys []tryKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, k := range keys {
		if one := t.tries[k]; one != nil {
			one.failures--
			one.until = one.last.Add(k.limit().wait(one.failures))
		}
	}
}

func (t *throttle) remember(u usualAddress) {
	if len(t.usual) >= maxUsual {
		clear(t.usual)
	}
	t.usual[u] = true
}

// held reports whether attempts for a user must wait.
func (t *throttle) held(now time.Time, k tryKey) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.at(now, k)
	return one != nil && one.until.After(now)
}

func (t *throttle) isUsual(u usualAddress) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.usual[u]
}

// worthNoting reports whether a failure is logged in the audit log: one per address and hour, and ten per user.
func (t *throttle) worthNoting(now time.Time, user, address string) bool {
	return t.within(now, tryKey{"noted " + user, address}, 1, noteEvery) && t.within(now, tryKey{"noted " + user, ""}, maxNotes, noteEvery)
}

// within counts an event with a limit per period, and reports whether the limit allows it.
func (t *throttle) within(now time.Time, k tryKey, most int, every time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.at(now, k)
	if one == nil {
		t.makeRoom(now)
		one = &tries{last: now, notedAt: now}
		t.tries[k] = one
	}
	if now.Sub(one.notedAt) >= every {
		one.noted, one.notedAt = 0, now
	}
	one.last = now
	if one.noted >= most {
		return false
	}
	one.noted++
	return true
}

// retryLater is the error of an attempt that must wait.
type retryLater time.Duration

func (r retryLater) Error() string             { return "wait " + time.Duration(r).String() }
func (r retryLater) RetryAfter() time.Duration { return time.Duration(r) }

// attempt starts an attempt with a user's password. After too many wrong ones it is a RateLimited fault. Otherwise the
// caller passes the result to done: nil, an Unauthenticated fault, or an error that is not about the password. Without a
// client address, nothing is counted.
func (s *Service) attempt(ctx context.Context, userID int64, email string) (done func(error), err error) {
	if s.address == "" {
		return func(error) {}, nil
	}
	now, user, from := s.now(), mailaddr.Key(email), network(s.address)
	keys := []tryKey{{user, from}, {"", from}}
	of := tryKey{user, ""}
	usual := s.throttle.isUsual(usualAddress{userID, from})
	if !usual && userID != 0 && s.throttle.held(now, of) {
		if usual, err = s.signedInFrom(ctx, userID, from); err != nil {
			return nil, err
		}
	}
	if !usual {
		keys = append(keys, of)
	}
	if wait := s.throttle.try(now, keys); wait > 0 {
		return nil, &fault.Error{
			Kind: fault.RateLimited, Code: "too_many_attempts", Err: retryLater(wait),
			Message: "Too many incorrect passwords. Try again after the time in Retry-After.",
		}
	}
	return func(err error) {
		switch {
		case err == nil:
			s.throttle.succeed(userID, s.address, keys)
		case !fault.Is(err, fault.Unauthenticated):
			s.throttle.release(keys)
		}
	}, nil
}

// signedInFrom looks for a network in a user's recent sign-ins in accounts' audit logs.
func (s *Service) signedInFrom(ctx context.Context, userID int64, from string) (bool, error) {
	accounts, err := s.cfg.Store.AccountsOf(ctx, userID, storage.Seek{Limit: 10})
	if err != nil {
		return false, err
	}
	for _, a := range accounts {
		r := s.cfg.Store.Within(Scope{AccountID: a.ID})
		filter := AuditFilter{UserID: storage.Some(userID), Action: auditLogin}
		entries, err := r.AuditLog(ctx, filter, storage.Seek{Limit: 100, Desc: true})
		if err != nil {
			return false, err
		}
		for _, e := range entries {
			if network(e.Address) == from {
				s.throttle.mu.Lock()
				s.throttle.remember(usualAddress{userID, from})
				s.throttle.mu.Unlock()
				return true, nil
			}
		}
	}
	return false, nil
}
