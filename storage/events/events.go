// Package events follows the event logs of accounts as they grow: with one reader in the process for each followed account,
// and any number of streams.
//
// A stream is just a position in the log. It reads from the newest events of its account, which the hub keeps in memory, or
// else from the log itself: a slow stream, or one that starts far back, loses nothing and costs no memory.
package events

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Config configures a [Hub]. Log is required; the other fields have defaults.
type Config struct {
	// Log is the event log to read. An [storage.EventNotifier] wakes the hub.
	Log  storage.EventLog
	Poll time.Duration // how often the logs of followed accounts are read when nothing wakes the hub; default 2 seconds
	// Pause is how long the hub rests after it has read events; default 10 milliseconds. Events of this time are read together at
	// its end, so that the many streams of a busy account do not wake for each of them.
	Pause time.Duration
	Keep  int // how many of the newest events of an account are kept in memory; default 256
	Batch int // the most events read at once; default 100
	// Lag is called with the age of the newest event in each batch delivered to streams. nil: no reports.
	Lag    func(time.Duration)
	Logger *slog.Logger // nil: discards
}

// Hub distributes the logs to streams. It implements [storage.EventFeed]. Create it with [New].
type Hub struct {
	cfg  Config
	wake chan struct{}
	done chan struct{} // closed when Run has ended

	mu     sync.Mutex
	ended  bool
	all    bool // any log may have grown
	topics map[int64]*topic
}

// topic is a followed account.
type topic struct {
	streams int
	grown   bool
	head    int64           // Seq of the last known event; -1: none is known yet
	newest  []storage.Event // without gaps up to head
	changed chan struct{}   // closed and replaced when streams should look again
}

// New returns a hub, which does nothing before Run. It fails when Config.Log is missing.
func New(cfg Config) (*Hub, error) {
	if cfg.Log == nil {
		return nil, fault.Field("Log", "is required")
	}
	if cfg.Poll <= 0 {
		cfg.Poll = 2 * time.Second
	}
	if cfg.Pause <= 0 {
		cfg.Pause = 10 * time.Millisecond
	}
	if cfg.Keep <= 0 {
		cfg.Keep = 256
	}
	if cfg.Batch <= 0 {
		cfg.Batch = 100
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Hub{cfg: cfg, wake: make(chan struct{}, 1), done: make(chan struct{}), topics: map[int64]*topic{}}, nil
}

// Run reads the logs until ctx ends, which is not an error, and then ends all streams. It may be called once.
func (h *Hub) Run(ctx context.Context) error {
	if notifier, ok := h.cfg.Log.(storage.EventNotifier); ok {
		stop := notifier.NotifyEvents(h.notify)
		defer stop()
	}
	defer func() {
		h.mu.Lock()
		h.ended = true
		h.mu.Unlock()
		close(h.done)
	}()
	ticker := time.NewTicker(h.cfg.Poll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.wake:
		case <-ticker.C:
			h.notify(0)
		}
		for _, account := range h.due() {
			if err := h.refresh(ctx, account); err != nil && ctx.Err() == nil {
				h.cfg.Logger.WarnContext(ctx, "the events of an account cannot be read", "account_id", account, "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(h.cfg.Pause):
		}
	}
}

// notify records that the log of an account has grown; 0 means any account.
func (h *Hub) notify(account int64) {
	h.mu.Lock()
	t := h.topics[account]
	if t != nil {
		t.grown = true
	}
	h.all = h.all || account == 0
	h.mu.Unlock()
	if t == nil && account != 0 {
		return
	}
	select {
	case h.wake <- struct{}{}:
	default: // an untaken value says the same
	}
}

// due returns the accounts whose logs may have grown, and clears them.
func (h *Hub) due() []int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	var accounts []int64
	for account, t := range h.topics {
		if t.grown || h.all {
			accounts = append(accounts, account)
		}
		t.grown = false
	}
	h.all = false
	return accounts
}

// refresh reads the new events of an account and wakes its streams.
func (h *Hub) refresh(ctx context.Context, account int64) error {
	for {
		h.mu.Lock()
		t := h.topics[account]
		if t == nil {
			h.mu.Unlock()
			return nil // no longer followed
		}
		head := t.head
		if head < 0 { // its streams are still reading up to the end by themselves
			t.wakeAll()
			h.mu.Unlock()
			return nil
		}
		h.mu.Unlock()
		events, err := h.cfg.Log.Events(ctx, account, head, h.cfg.Batch)
		if err != nil || len(events) == 0 {
			return err
		}
		h.mu.Lock()
		t.append(events, h.cfg.Keep)
		h.mu.Unlock()
		if h.cfg.Lag != nil {
			h.cfg.Lag(max(0, time.Since(events[len(events)-1].Time)))
		}
		if len(events) < h.cfg.Batch {
			return nil
		}
	}
}

// append adds the events after head and skips those that a stream has added meanwhile.
func (t *topic) append(events []storage.Event, keep int) {
	for _, e := range events {
		if e.Seq <= t.head {
			continue
		}
		if e.Seq != t.head+1 {
			t.newest = nil // the events in between are not kept, and newest has no gaps
		}
		t.newest = append(t.newest, e)
		t.head = e.Seq
	}
	if extra := len(t.newest) - keep; extra > 0 {
		t.newest = append([]storage.Event(nil), t.newest[extra:]...)
	}
	t.wakeAll()
}

func (t *topic) wakeAll() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// errEnded is the fault of streams whose hub has ended.
func errEnded() error {
	return fault.New(fault.Unavailable, "The server is stopping. Connect again.")
}

// stream implements [storage.EventStream].
type stream struct {
	hub      *Hub
	account  int64
	position int64
	closed   bool
}

// Follow implements [storage.EventFeed].
func (h *Hub) Follow(accountID, after int64) storage.EventStream {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[accountID]
	if t == nil {
		t = &topic{head: -1, changed: make(chan struct{})}
		h.topics[accountID] = t
	}
	t.streams++
	return &stream{hub: h, account: accountID, position: after}
}

// Next implements [storage.EventStream].
func (s *stream) Next(ctx context.Context) ([]storage.Event, error) {
	for {
		events, changed, err := s.known()
		if err == nil && changed == nil && events == nil {
			events, changed, err = s.read(ctx)
		}
		if err != nil {
			return nil, err
		}
		if len(events) > 0 {
			s.position = events[len(events)-1].Seq
			return events, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.hub.done:
			return nil, errEnded()
		case <-changed:
		}
	}
}

// known looks for events in memory; when it returns nothing the log must be read.
func (s *stream) known() (events []storage.Event, changed chan struct{}, err error) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if s.hub.ended || s.closed {
		return nil, nil, errEnded()
	}
	t := s.hub.topics[s.account]
	switch {
	case t.head < 0:
		return nil, nil, nil
	case s.position >= t.head:
		return nil, t.changed, nil
	case len(t.newest) == 0 || s.position+1 < t.newest[0].Seq:
		return nil, nil, nil
	}
	first := int(s.position + 1 - t.newest[0].Seq)
	last := min(first+s.hub.cfg.Batch, len(t.newest))
	return t.newest[first:last:last], nil, nil // its elements never change
}

// read reads the log itself. Once at its end, the stream relies on the hub.
func (s *stream) read(ctx context.Context) ([]storage.Event, chan struct{}, error) {
	s.hub.mu.Lock()
	changed := s.hub.topics[s.account].changed // taken before reading: later events close this one
	s.hub.mu.Unlock()
	events, err := s.hub.cfg.Log.Events(ctx, s.account, s.position, s.hub.cfg.Batch)
	if err != nil || len(events) > 0 {
		return events, nil, err
	}
	s.hub.mu.Lock()
	t := s.hub.topics[s.account]
	ahead := t.head < s.position
	if ahead {
		t.head, t.newest = s.position, nil
	}
	s.hub.mu.Unlock()
	if ahead { // events that arrived before the hub knew where to begin
		s.hub.notify(s.account)
	}
	return nil, changed, nil
}

// Close implements [storage.EventStream].
func (s *stream) Close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	t := s.hub.topics[s.account]
	if t.streams--; t.streams == 0 {
		delete(s.hub.topics, s.account)
	}
}
