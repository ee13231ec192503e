package helpdesk

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// How often a password may be wrong before the next try has to wait, twice as long each time.
//
// Who guesses from few addresses is held up there, and nobody else is. Who guesses one user's password from
// very many is held up by the count of that user; from the addresses that the user signs in from, that count
// does not hold, so that nobody can shut a user out from elsewhere.
var (
	limitPair    = attempts{free: 5, longest: 5 * time.Minute}  //nolint:gochecknoglobals // constants: one user from one address
	limitAddress = attempts{free: 30, longest: time.Minute}     //nolint:gochecknoglobals // any users from one address
	limitCode    = attempts{free: 5, longest: 5 * time.Minute}  //nolint:gochecknoglobals // codes of one user's second factor
	limitUser    = attempts{free: 30, longest: 5 * time.Minute} //nolint:gochecknoglobals // one user from unusual addresses
)

const (
	forgetTries = time.Hour // after the last one
	maxTries    = 100_000   // counts that are kept
	maxUsual    = 100_000   // usual addresses that are kept; others are found in the audit log
	noteEvery   = time.Hour // failures of one user from one address are noted once in this time
	maxNotes    = 10        // failures of one user that are noted in this time, from whatever addresses
)

// attempts is how many failures are free and how long the wait grows.
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

// tryKey says what is counted: tries for a user, from an address, or both.
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

// tries are those that failed, or have not ended yet.
type tries struct {
	failures    int
	last, until time.Time // the next one may come from until on
	noted       int       // in the audit log, since notedAt
	notedAt     time.Time
}

// throttle counts tries to sign in, in this process. All services made of one share it.
type throttle struct {
	mu    sync.Mutex
	tries map[tryKey]*tries
	usual map[usualAddress]bool
}

// usualAddress is a network that a user signed in from.
type usualAddress struct {
	user    int64
	network string
}

func newThrottle() *throttle {
	return &throttle{tries: map[tryKey]*tries{}, usual: map[usualAddress]bool{}}
}

// network is what of an address is one household or office: an IPv6 host may take any of a /64.
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

// try counts a try as failed until it has succeeded, so that many at once count as many. It returns how long to
// wait instead, when that is not 0.
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

// at is what is counted, nil when that is nothing or long ago.
func (t *throttle) at(now time.Time, k tryKey) *tries {
	one := t.tries[k]
	if one != nil && now.Sub(one.last) >= forgetTries {
		delete(t.tries, k)
		return nil
	}
	return one
}

// makeRoom bounds what is kept: what is long over goes first, then any.
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

// succeed takes a try back that begin counted, and remembers where the user signs in.
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

// release takes a try back that was neither right nor wrong.
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

// held reports whether tries for a user have to wait.
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

// worthNoting reports whether a failure goes into the audit log: one of an address in an hour, and ten of a user.
func (t *throttle) worthNoting(now time.Time, user, address string) bool {
	return t.within(now, tryKey{"noted " + user, address}, 1, noteEvery) && t.within(now, tryKey{"noted " + user, ""}, maxNotes, noteEvery)
}

// within counts something that may happen so often in a time, and reports whether it may now.
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

// retryLater is why a try has to wait.
type retryLater time.Duration

func (r retryLater) Error() string             { return "wait " + time.Duration(r).String() }
func (r retryLater) RetryAfter() time.Duration { return time.Duration(r) }

// attempt begins a try of a user's password. It is a RateLimited fault when too many were wrong; else what it returns
// is called with what came of it: nil, Unauthenticated, or an error that says nothing about the password. Where
// nobody knows who asks, nothing is counted.
func (s *Service) attempt(ctx context.Context, userID int64, email string) (done func(error), err error) {
	if s.address == "" {
		return func(error) {}, nil
	}
	now, user, from := s.now(), EmailKey(email), network(s.address)
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
			Message: "Too many wrong passwords. Wait as long as Retry-After says, then try again.",
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

// signedInFrom looks for a network in the last sign-ins of a user that accounts have noted.
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
