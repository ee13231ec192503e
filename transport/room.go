package transport

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

const (
	// rowCost is how many times a byte of a row is in memory until the answer is written: as read, as shown, and in an encoding
	// that grows.
	rowCost = 4
	// unbounded is the memory that a request may use without being counted; nearly all requests stay below it.
	unbounded = 256 << 10
	// roomWait is how long a request waits for others to release memory, and roomLook is the interval of the search for clients
	// that can be cut off.
	roomWait = 20 * time.Second
	roomLook = 250 * time.Millisecond
	// stuckTime is how long a client must have read nothing before it may be cut off in favour of another.
	stuckTime = 3 * time.Second
)

// errFull is the error of a read for which there is no memory now.
var errFull = fault.New(fault.Unavailable, "The server is overloaded. Try again later.")

// errCut is the error of a write to a client that was cut off in favour of others.
var errCut = errors.New("transport: cut off: it took nothing while others waited for the memory")

// room bounds the memory that all requests together use for rows and answers. Rows are counted as they arrive, so a read
// that does not fit ends early; it waits and starts again, in the order of how little memory its client uses. Written bytes
// count until the client has read them. When memory is short, clients that read nothing are cut off, starting with the one
// that uses most. No client may use more than half.
type room struct {
	total int64

	mu      sync.Mutex
	held    int64
	by      map[string]int64 // by the client's key
	shares  map[*share]bool  // those with a size above zero
	waiting []*waiter        // in the order of admission
	looked  time.Time        // when clients that read nothing were last looked for
}

// waiter waits for memory.
type waiter struct {
	share *share
	want  int64
	done  chan struct{} // closed once the share holds it
}

func newRoom(total int64) *room {
	return &room{total: total, by: map[string]int64{}, shares: map[*share]bool{}}
}

// share is the memory that one request uses.
type share struct {
	of     *room
	client func() string
	read   atomic.Int64 // the cost of the rows read so far

	// The fields below are guarded by of.mu.
	key   string
	held  int64
	cut   func()    // ends the writing; nil if nothing is written
	since time.Time // since when the client has data that it has not read
	gone  bool      // it was cut off, or the request has ended
}

// meter counts what is read for the request.
func (s *share) meter() *storage.Meter {
	return &storage.Meter{Take: s.take, Page: int(s.of.total / 16)}
}

// Hold counts bytes that an operation keeps in memory for its answer, such as a file that is not read from a disk. If there
// is no memory for them, it returns an Unavailable fault.
func Hold(ctx context.Context, bytes int) error {
	if m := storage.MeterOf(ctx); m != nil {
		return m.Take(bytes / rowCost)
	}
	return nil
}

func (s *share) take(n int) error {
	if want := s.read.Add(int64(n) * rowCost); want > unbounded {
		return s.of.grow(s, want)
	}
	return nil
}

// grow lets a share grow to a size, if there is room.
func (m *room) grow(s *share, want int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	want = min(want, m.total/2)
	more := want - s.held
	if more <= 0 || s.gone {
		return nil
	}
	if s.key == "" {
		s.key = s.client()
	}
	if !m.fits(s, more) || m.othersFirst(s) {
		m.relieve(s.key, more, more)
		return errFull
	}
	m.set(s, want)
	return nil
}

func (m *room) fits(s *share, more int64) bool {
	return m.held+more <= m.total && m.by[s.key]+more <= m.total/2
}

// othersFirst reports whether there is a waiter whose client uses no more memory than the client of s.
func (m *room) othersFirst(s *share) bool {
	return slices.ContainsFunc(m.waiting, func(w *waiter) bool {
		return m.by[w.share.key] <= m.by[s.key] && m.by[w.share.key]+w.want <= m.total/2
	})
}

// set sets the size of a share.
func (m *room) set(s *share, held int64) {
	m.held += held - s.held
	m.by[s.key] += held - s.held
	if m.by[s.key] == 0 {
		delete(m.by, s.key)
	}
	less := held < s.held
	if s.held = held; held > 0 {
		m.shares[s] = true
	} else {
		delete(m.shares, s)
	}
	if less && len(m.waiting) > 0 {
		m.admit()
	}
}

// admit admits waiters as far as there is room: first those whose clients use least, and among these the latest, as those
// that have waited long will be told to retry. For the first waiter that lacks nothing but room, room is reserved.
func (m *room) admit() {
	for {
		slices.SortStableFunc(m.waiting, func(a, b *waiter) int { return cmp.Compare(m.by[a.share.key], m.by[b.share.key]) })
		next := slices.IndexFunc(m.waiting, func(w *waiter) bool { return m.by[w.share.key]+w.want <= m.total/2 })
		if next < 0 || m.held+m.waiting[next].want > m.total {
			return
		}
		w := m.waiting[next]
		m.waiting = slices.Delete(m.waiting, next, next+1)
		m.set(w.share, w.want)
		close(w.done)
	}
}

// relieve cuts off clients that read nothing, until that much more memory is free, for all and for the given client.
func (m *room) relieve(client string, more, ofClient int64) {
	short, own := m.held+more-m.total, m.by[client]+ofClient-m.total/2
	var stuck []*share
	for one := range m.shares {
		switch {
		case one.gone: // a share that was cut off keeps its memory for a moment
			short -= one.held
			if one.key == client {
				own -= one.held
			}
		case one.cut != nil && time.Since(one.since) >= stuckTime:
			stuck = append(stuck, one)
		}
	}
	slices.SortFunc(stuck, func(a, b *share) int {
		return cmp.Or(cmp.Compare(m.by[b.key], m.by[a.key]), a.since.Compare(b.since))
	})
	for _, one := range stuck {
		mine := one.key == client
		if short <= 0 && (own <= 0 || !mine) {
			continue
		}
		one.gone = true
		one.cut()
		short -= one.held
		if mine {
			own -= one.held
		}
	}
}

// wait releases all memory of the request, waits until there is room for a page of the largest size, and reports whether
// there is. If so, the request may start again and will complete.
func (s *share) wait(ctx context.Context, until time.Time) bool {
	m := s.of
	m.mu.Lock()
	w := &waiter{share: s, want: min(max(s.read.Swap(0), m.total/4), m.total/2), done: make(chan struct{})}
	m.set(s, 0)
	m.waiting = slices.Insert(m.waiting, 0, w)
	m.admit()
	m.mu.Unlock()
	timeout, look := time.NewTimer(time.Until(until)), time.NewTicker(roomLook)
	defer timeout.Stop()
	defer look.Stop()
	for {
		select {
		case <-w.done:
			return true
		case <-ctx.Done():
			return m.leave(w)
		case <-timeout.C:
			return m.leave(w)
		case <-look.C:
			m.look()
		}
	}
}

// look cuts off clients that read nothing, on behalf of all waiters.
func (m *room) look() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.looked) < roomLook/2 { // another waiter did so already
		return
	}
	m.looked = time.Now()
	wanted := map[string]int64{}
	for _, w := range m.waiting {
		wanted[w.share.key] += w.want
	}
	total := int64(0)
	for _, more := range wanted {
		total += min(more, m.total/2)
	}
	for client, more := range wanted {
		m.relieve(client, total, more)
	}
}

// leave ends the waiting, and reports whether the waiter was admitted in the meantime.
func (m *room) leave(w *waiter) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.Index(m.waiting, w)
	if i < 0 {
		return true
	}
	m.waiting = slices.Delete(m.waiting, i, i+1)
	m.admit() // the others may have waited for this one
	return false
}

// keep reduces the share to the answer that is now written. Completed work is always reported to the client, even if memory
// is short.
func (s *share) keep(n int, cut func()) {
	want := int64(n)
	if want <= unbounded {
		want = 0
	}
	m := s.of
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.gone || want == 0 && s.held == 0 {
		return
	}
	if s.key == "" {
		s.key = s.client()
	}
	s.cut, s.since = cut, time.Now()
	m.set(s, want)
	if m.held > m.total {
		m.relieve(s.key, 0, 0)
	}
}

// next begins to write a piece: patience gives the client time for it.
func (s *share) next(patience func()) error {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if s.gone {
		return errCut
	}
	s.since = time.Now()
	patience()
	return nil
}

// end releases the memory of the request.
func (s *share) end() {
	m := s.of
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.gone = true; s.held > 0 {
		m.set(s, 0)
	}
}
