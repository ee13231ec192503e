package sqlite

import (
	"context"
	"io"
	"sync"
	"sync/atomic"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// The driver starts a goroutine with each statement to wait for the end of its context. A watch does the same with a function
// that the context calls, which costs a fraction.

// watch interrupts a statement when its context ends. A nil watch does nothing.
type watch struct {
	ctx    context.Context //nolint:containedctx // of the statement
	handle uintptr
	stop   func() bool

	fired atomic.Bool
	mu    sync.Mutex
	ended bool // the statement
}

// watch begins to watch a context. It returns the context that the driver should have, or an error if the context has ended.
func (c *preparedConn) watch(ctx context.Context) (*watch, context.Context, error) {
	if ctx.Done() == nil || c.handle == 0 {
		return nil, ctx, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	w := &watch{ctx: ctx, handle: c.handle}
	w.stop = context.AfterFunc(ctx, w.interrupt)
	return w, context.Background(), nil
}

func (w *watch) interrupt() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	w.fired.Store(true)
	tls := libc.NewTLS() // that of the connection is in use
	defer tls.Close()
	sqlite3.Xsqlite3_interrupt(tls, w.handle)
}

// end must be called before another statement begins, which would be interrupted otherwise.
func (w *watch) end() {
	if w == nil || w.stop() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
}

// cause returns the error of the context in place of one of an interrupted statement.
func (w *watch) cause(err error) error {
	if w == nil || err == nil || err == io.EOF || !w.fired.Load() { //nolint:errorlint // drivers return it as it is
		return err
	}
	return w.ctx.Err()
}

// err returns the error of the context if it has ended: SQLite forgets an interrupt before the first step.
func (w *watch) err() error {
	if w == nil || !w.fired.Load() {
		return nil
	}
	return w.ctx.Err()
}
