// Package notify calls functions when event logs have grown.
package notify

import "sync"

// Watchers is a set of functions to call with an account's id. The zero value is empty.
type Watchers struct {
	mu   sync.RWMutex
	last int
	fns  map[int]func(accountID int64)
}

// Add registers fn until stop is called.
func (w *Watchers) Add(fn func(accountID int64)) (stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fns == nil {
		w.fns = map[int]func(int64){}
	}
	w.last++
	id := w.last
	w.fns[id] = fn
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.fns, id)
	}
}

// Notify calls all registered functions.
func (w *Watchers) Notify(accountID int64) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	for _, fn := range w.fns {
		fn(accountID)
	}
}
