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
	// roomWait is how long a request waits for others to release memory. It tries again after roomLook, then after twice as long
	// each time, up to a second: who came last comes first, as who has waited long will be told to retry.
	roomWait = 20 * time.Second
	roomLook = 30 * time.Millisecond
	// stuckTime is how long a client must have read nothing before it may be cut off in favour of another.
	stuckTime = 2 * time.Second
)

// errFull is the error of a read for which there is no memory now.
var errFull = fault.New(fault.Unavailable, "The server is overloaded. Try again later.")

// errCut is the error of a write to a client that was cut off in favour of others.
var errCut = errors.New("transport: cut off: it took nothing while others waited for the memory")

// room bounds the memory that all requests together use for rows and answers. Rows are counted as they arrive, so a read
// that does not fit ends early, waits and starts again. Written bytes count until the client has read them. When memory is
// short, clients that read nothing are cut off, starting with the one that uses most. No client may use more than half.
type room struct {
	total int64

	mu     sync.Mutex
	held   int64
	by     map[string]int64 // by the client's key
	shares map[*share]bool  // those with a size above zero
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
	gone  bool      // it was cut off
}

// meter counts what is read for the request.
func (s *share) meter() *storage.Meter {
	return &storage.Meter{Take: s.reserve, Page: int(s.of.total / 16)}
}

// Hold counts bytes that an operation keeps in memory for its answer, such as a file that is not read from a disk. If there
// is no memory for them, it returns an Unavailable fault.
func Hold(ctx context.Context, bytes int) error {
	if m := storage.MeterOf(ctx); m != nil {
		return m.Take(bytes / rowCost)
	}
	return nil
}

func (s *share) reserve(n int) error {
	if want := s.read.Add(int64(n) * rowCost); want > unbounded && !s.of.fit(s, want) {
		return errFull
	}
	return nil
}

// fit lets a share grow to a size and reports whether there is room for it. If there is none, it cuts off clients that read
// nothing, so that a later call may succeed.
func (m *room) fit(s *share, want int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	want = min(want, m.total/2)
	more := want - s.held
	if more <= 0 || s.gone {
		return true
	}
	if s.key == "" {
		s.key = s.client()
	}
	if m.held+more > m.total || m.by[s.key]+more > m.total/2 {
		m.relieve(s.key, more)
		return false
	}
	m.set(s, want)
	return true
}

// set sets the size of a share.
func (m *room) set(s *share, held int64) {
	m.held += held - s.held
	m.by[s.key] += held - s.held
	if m.by[s.key] == 0 {
		delete(m.by, s.key)
	}
	if s.held = held; held > 0 {
		m.shares[s] = true
	} else {
		delete(m.shares, s)
	}
}

// relieve cuts off clients that read nothing, until the given client has room for that much more.
func (m *room) relieve(client string, more int64) {
	short, own := m.held+more-m.total, m.by[client]+more-m.total/2
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
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	want := max(s.read.Swap(0), s.of.total/4)
	s.end()
	for look := roomLook; !s.of.fit(s, want); look = min(2*look, time.Second) {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(look):
		}
	}
	return true
}

// shrinkTo reduces the share to the answer that is now written. Completed work is always reported to the client, even if memory
// is short.
func (s *share) shrinkTo(n int, cut func()) {
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
		m.relieve(s.key, 0)
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

// end gives back the memory of the request.
func (s *share) end() {
	m := s.of
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.held > 0 {
		m.set(s, 0)
	}
}
