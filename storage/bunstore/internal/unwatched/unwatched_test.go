package unwatched_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/bunstore/internal/unwatched"
	"github.com/helpwright/helpwright/storage/storagetest/testenv"
)

// watching is a driver that claims to watch the contexts of its queries.
type watching struct{}

func (watching) Connect(context.Context) (driver.Conn, error) { return watching{}, nil }
func (watching) Driver() driver.Driver                        { return unwatched.Driver{} }
func (watching) Prepare(string) (driver.Stmt, error)          { return nil, errors.ErrUnsupported }
func (watching) Begin() (driver.Tx, error)                    { return nil, errors.ErrUnsupported }
func (watching) Close() error                                 { return nil }
func (watching) Columns() []string                            { return nil }
func (watching) Next([]driver.Value) error                    { return io.EOF }

func (w watching) QueryContext(ctx context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	if query == "fails" {
		return nil, errors.ErrUnsupported
	}
	unwatched.Watched(ctx)
	return w, nil
}

// A query that waits for a connection ends with its context, whoever else takes the last free connection at that moment.
func TestWaiting(t *testing.T) {
	t.Parallel()
	pool := sql.OpenDB(watching{})
	defer func() { _ = pool.Close() }()
	pool.SetMaxOpenConns(1)
	busy, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := pool.QueryContext(unwatched.Context(ctx), "waits") //nolint:rowserrcheck,sqlclosecheck // it fails
		ended <- err
	}()
	for pool.Stats().WaitCount == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(testenv.Patience):
		t.Error("it waits for a connection, whatever becomes of its context")
	}
}

// Package sql starts no goroutine for a query, nor keeps one.
func TestNoGoroutine(t *testing.T) { //nolint:paralleltest // it counts the goroutines of the process
	pool := sql.OpenDB(watching{})
	defer func() { _ = pool.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, test := range []struct {
		name string
		ctx  context.Context //nolint:containedctx // what is tested
		more int
	}{{"hidden", unwatched.Context(ctx), 0}, {"as it is", ctx, 1}} { // the goroutine of the last one may live on for a moment
		if _, err := pool.QueryContext(test.ctx, "fails"); !errors.Is(err, errors.ErrUnsupported) { //nolint:rowserrcheck,sqlclosecheck // it fails
			t.Errorf("%s: %v", test.name, err)
		}
		before := runtime.NumGoroutine()
		rows, err := pool.QueryContext(test.ctx, "works")
		if err != nil {
			t.Fatal(err)
		}
		if more := runtime.NumGoroutine() - before; more != test.more {
			t.Errorf("%s: %d more goroutines", test.name, more)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Error(err)
		}
	}
}
