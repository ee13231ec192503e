// Package notify keeps who wants to know that event logs have grown.
package notify

import "sync"

// Watchers are functions to be called with an account's id. The zero value has none.
type Watchers struct {
	mu   sync.RWMutex
	last int
	fns  map[int]func(accountID int64)
}

// Add has fn called from now on, until stop.
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

// Notify calls all of them.
func (w *Watchers) Notify(accountID int64) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	for _, fn := range w.fns {
		fn(accountID)
	}
}
