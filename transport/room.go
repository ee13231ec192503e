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
	// rowCost is how often a byte of a row is held until the answer is written: as it was
	// read, as it is shown, and in an encoding that grows.
	rowCost = 4
	// unbounded is what a request may hold without being counted: such are nearly all.
	unbounded = 256 << 10
	// roomWait is how long a request waits for others to let go of memory, and roomLook how
	// often it looks for clients that can be cut off.
	roomWait = 20 * time.Second
	roomLook = 250 * time.Millisecond
	// stuckTime is how long a client must have taken nothing to be cut off for another.
	stuckTime = 3 * time.Second
)

// errFull is the error of a read for which there is no memory now.
var errFull = fault.New(fault.Unavailable, "The server is overloaded. Try again later.")

// errCut is the error of a write to a client that was cut off for others.
var errCut = errors.New("transport: cut off: it took nothing while others waited for the memory")

// room bounds what all requests together hold of rows and answers. Rows are counted as
// they come in, so that a read for which there is no room ends early; it waits and begins
// anew, those first whose client holds least. What is written counts until the client has
// taken it. When the room is needed, clients that take nothing are cut off, of the client
// first that holds most; and none may hold more than half.
type room struct {
	total int64

	mu      sync.Mutex
	held    int64
	by      map[string]int64 // by the client's key
	shares  map[*share]bool  // of which something is held
	waiting []*waiter        // who goes first is in front
	looked  time.Time        // for clients that take nothing
}

// waiter waits for room.
type waiter struct {
	share *share
	want  int64
	done  chan struct{} // closed once the share holds it
}

func newRoom(total int64) *room {
	return &room{total: total, by: map[string]int64{}, shares: map[*share]bool{}}
}

// share is what one request holds.
type share struct {
	of     *room
	client func() string
	read   atomic.Int64 // what the rows cost that were read

	// The rest is guarded by of.mu.
	key   string
	held  int64
	cut   func()    // ends the writing; nil: nothing is written
	since time.Time // when the client was given what it has not taken yet
	gone  bool      // it was cut off, or the request has ended
}

// meter counts what is read for the request.
func (s *share) meter() *storage.Meter {
	return &storage.Meter{Take: s.take, Page: int(s.of.total / 16)}
}

// Hold counts bytes that an operation keeps in memory for its answer, once, as those of a
// file that is not read from a disk. Without room for them it is an Unavailable fault.
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

// grow lets a share hold so much, if there is room.
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

// othersFirst reports whether somebody waits whose client holds no more than that of s.
func (m *room) othersFirst(s *share) bool {
	return slices.ContainsFunc(m.waiting, func(w *waiter) bool {
		return m.by[w.share.key] <= m.by[s.key] && m.by[w.share.key]+w.want <= m.total/2
	})
}

// set is what a share holds from now on.
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

// admit lets those go on who wait, as far as there is room: those first whose clients hold
// least, of these who came last, as who has waited long will be told to come back. For the
// first one for whom only the room is missing, room is kept.
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

// relieve cuts off clients that take nothing, until there is room for so much more, and for
// so much of one client.
func (m *room) relieve(client string, more, ofClient int64) {
	short, own := m.held+more-m.total, m.by[client]+ofClient-m.total/2
	var stuck []*share
	for one := range m.shares {
		switch {
		case one.gone: // what was cut off holds its memory for a moment
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

// wait gives back all that the request holds, waits until there is room for a page of the
// largest size, and reports whether there is: then it may begin anew, and comes to its end.
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

// look cuts off clients that take nothing, for all who wait.
func (m *room) look() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.looked) < roomLook/2 { // another has
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

// leave ends the waiting, and reports whether there is room meanwhile.
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

// keep makes an answer that is written now all that the request holds. What was done is
// told, whatever room there is.
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

// end gives back what the request holds.
func (s *share) end() {
	m := s.of
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.gone = true; s.held > 0 {
		m.set(s, 0)
	}
}
