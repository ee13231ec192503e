package bunstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/sqlite"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/testenv"
)

var errRefused = errors.New("the transaction does not want to be committed")

// writing is a transaction that writes.
type writing func(ctx context.Context, tx helpdesk.SystemTx) error

// inserts inserts a number, which must not be there. Numbers below zero roll the whole transaction of the database back.
func inserts(n int) writing {
	return func(ctx context.Context, tx helpdesk.SystemTx) error {
		return bunstore.ExecIn(ctx, tx, fmt.Sprintf("INSERT INTO numbers (n) VALUES (%d)", n))
	}
}

// ignores is inserts, whatever error that returns.
func ignores(n int) writing {
	return func(ctx context.Context, tx helpdesk.SystemTx) error {
		_ = inserts(n)(ctx, tx)
		return nil
	}
}

// then does one after the other.
func (w writing) then(next func(ctx context.Context) error) writing {
	return func(ctx context.Context, tx helpdesk.SystemTx) error {
		if err := w(ctx, tx); err != nil {
			return err
		}
		return next(ctx)
	}
}

func fails(context.Context) error { return errRefused }

func openNumbers(t *testing.T) *bunstore.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "numbers.db"), bunstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for _, statement := range []string{
		"CREATE TABLE numbers (n INTEGER PRIMARY KEY)",
		"CREATE TRIGGER positive BEFORE INSERT ON numbers WHEN NEW.n < 0 BEGIN SELECT RAISE(ROLLBACK, 'negative'); END",
	} {
		if err := bunstore.Exec(t.Context(), db, statement); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

// numbers are those that are committed, as text.
func numbers(t *testing.T, db *bunstore.DB) (all string) {
	t.Helper()
	if err := bunstore.QueryRow(t.Context(), db, "SELECT COALESCE(GROUP_CONCAT(n, ' '), '') FROM (SELECT n FROM numbers ORDER BY n)").Scan(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

// outcome is what becomes of a transaction.
func outcome(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, errRefused):
		return "refused"
	case errors.Is(err, context.Canceled):
		return "ended"
	}
	return fault.Of(err).String()
}

// together runs transactions that wait for the same one to end, and returns their outcomes. It calls queued before that ends.
func together(t *testing.T, db *bunstore.DB, queued func(), run func(n int) error, count int) []string {
	t.Helper()
	begun, release, got := make(chan struct{}), make(chan struct{}), make([]string, count)
	var all sync.WaitGroup
	var holding error
	all.Go(func() {
		holding = db.InSystemTx(t.Context(), func(context.Context, helpdesk.SystemTx) error {
			close(begun)
			<-release
			return errRefused
		})
	})
	<-begun
	pool, _ := bunstore.Plain(db)
	before := pool.Stats().WaitCount
	for n := range count {
		all.Go(func() { got[n] = outcome(run(n)) })
	}
	testenv.Eventually(t, fmt.Sprint(count, " transactions wait"), func() bool { return pool.Stats().WaitCount-before == int64(count) })
	queued()
	close(release)
	all.Wait()
	if !errors.Is(holding, errRefused) {
		t.Error(holding)
	}
	return got
}

// Of the transactions that wait for each other, one that fails takes nobody along.
func TestWritersFailAlone(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		queue   []writing
		want    []string
		numbers string
	}{
		{
			name: "all succeed", queue: []writing{inserts(1), inserts(2), inserts(3)},
			want: []string{"ok", "ok", "ok"}, numbers: "1 2 3",
		},
		{
			name: "one fails", queue: []writing{inserts(1), inserts(2).then(fails), inserts(3)},
			want: []string{"ok", "refused", "ok"}, numbers: "1 3",
		},
		{
			name: "all fail", queue: []writing{inserts(1).then(fails), inserts(2).then(fails), inserts(3).then(fails)},
			want: []string{"refused", "refused", "refused"},
		},
		{
			name: "a failed statement is forgiven", queue: []writing{inserts(1), func(ctx context.Context, tx helpdesk.SystemTx) error {
				_ = inserts(2).then(func(context.Context) error { return inserts(2)(ctx, tx) })(ctx, tx)
				return inserts(3)(ctx, tx)
			}},
			want: []string{"ok", "ok"}, numbers: "1 2 3",
		},
		{
			name: "SQLite rolls one back", queue: []writing{inserts(1), inserts(2), inserts(-1), inserts(3)},
			want: []string{"ok", "ok", "internal", "ok"}, numbers: "1 2 3",
		},
		{
			name: "SQLite rolls one back, which it ignores", queue: []writing{inserts(1), ignores(-1), inserts(2), inserts(3)},
			want: []string{"ok", "internal", "ok", "ok"}, numbers: "1 2 3",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			db := openNumbers(t)
			got := together(t, db, func() {}, func(n int) error { return db.InSystemTx(t.Context(), test.queue[n]) }, len(test.queue))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.numbers, numbers(t, db)); diff != "" {
				t.Error(diff)
			}
			if err := db.InSystemTx(t.Context(), inserts(9)); err != nil {
				t.Error("afterwards:", err)
			}
		})
	}
}

// The context of a transaction ends while it waits for another one, in the middle of it, or in a statement. The others are
// committed, whatever their places.
func TestEndedWriters(t *testing.T) {
	t.Parallel()
	const endless = "INSERT INTO numbers (n) WITH RECURSIVE all_numbers (n) AS (SELECT 100 UNION ALL SELECT n + 1 FROM all_numbers LIMIT 300000) SELECT n FROM all_numbers"
	for name, during := range map[string]func(ctx context.Context, tx helpdesk.SystemTx, end func()) error{
		"between statements": func(ctx context.Context, tx helpdesk.SystemTx, end func()) error {
			err := inserts(50)(ctx, tx)
			end()
			return errors.Join(err, inserts(51)(ctx, tx))
		},
		"before the commit": func(ctx context.Context, tx helpdesk.SystemTx, end func()) error {
			defer end()
			return inserts(50)(ctx, tx)
		},
		"in a write": func(ctx context.Context, tx helpdesk.SystemTx, end func()) error {
			time.AfterFunc(5*time.Millisecond, end)
			return bunstore.ExecIn(ctx, tx, endless)
		},
		"while it does something else": func(ctx context.Context, tx helpdesk.SystemTx, end func()) error {
			err := inserts(50)(ctx, tx)
			end()
			<-ctx.Done()
			time.Sleep(20 * time.Millisecond) // others may go on meanwhile
			return errors.Join(err, inserts(52)(context.WithoutCancel(ctx), tx))
		},
		"while it waits": nil,
	} {
		for place := range 3 {
			t.Run(fmt.Sprint(name, ", place ", place), func(t *testing.T) {
				t.Parallel()
				db := openNumbers(t)
				ctx, end := context.WithCancel(t.Context())
				defer end()
				queued, gone := func() {}, make(chan struct{})
				if during == nil {
					queued = func() {
						end()
						<-gone
					}
				}
				got := together(t, db, queued, func(n int) error {
					if n != place {
						return db.InSystemTx(t.Context(), inserts(n))
					}
					defer close(gone)
					return db.InSystemTx(ctx, func(ctx context.Context, tx helpdesk.SystemTx) error { return during(ctx, tx, end) })
				}, 3)
				want, stays := []string{"ok", "ok", "ok"}, []string{"1 2", "0 2", "0 1"}[place]
				want[place] = "ended"
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
				if diff := cmp.Diff(stays, numbers(t, db)); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// The context of a transaction ends while the transaction begins: it waits for the connection, or nobody knows how far it is.
// The connection is free for the next one.
func TestWritersEndAtTheirBeginning(t *testing.T) {
	t.Parallel()
	db := openNumbers(t)
	pool, _ := bunstore.Plain(db)
	held, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- db.InSystemTx(ctx, inserts(1)) }()
	testenv.Eventually(t, "it waits for the connection", func() bool { return pool.Stats().WaitCount > 0 })
	end()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error("while it waits for the connection:", err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	want := ""
	for n := range 200 {
		ctx, end := context.WithCancel(t.Context())
		go end()
		switch err := db.InSystemTx(ctx, inserts(1000+n)); {
		case err == nil:
			want += fmt.Sprint(1000+n, " ")
		case fault.Of(err) == fault.OutcomeUnknown:
			if err := bunstore.Exec(t.Context(), db, fmt.Sprint("DELETE FROM numbers WHERE n = ", 1000+n)); err != nil {
				t.Fatal(err)
			}
		case !errors.Is(err, context.Canceled):
			t.Error(err)
		}
	}
	if diff := cmp.Diff(strings.TrimSpace(want), numbers(t, db)); diff != "" {
		t.Error(diff)
	}
	if used := pool.Stats().InUse; used != 0 {
		t.Errorf("%d connections are not given back", used)
	}
}

// A panic in one transaction takes no other along.
func TestPanicOfWriter(t *testing.T) {
	t.Parallel()
	db := openNumbers(t)
	got := together(t, db, func() {}, func(n int) (err error) {
		defer func() {
			if recover() == "one" {
				err = errRefused
			}
		}()
		return db.InSystemTx(t.Context(), inserts(n).then(func(context.Context) error {
			if n == 1 {
				panic("one")
			}
			return nil
		}))
	}, 3)
	if diff := cmp.Diff([]string{"ok", "refused", "ok"}, got); diff != "" || numbers(t, db) != "0 2" {
		t.Error(numbers(t, db), diff)
	}
}

// Many writers at once, of which some fail, end, panic or lose the transaction of the database: exactly what was reported as
// committed is there.
func TestManyWriters(t *testing.T) {
	t.Parallel()
	db := openNumbers(t)
	const writers, each = 12, 60
	var all sync.WaitGroup
	ok := make([][]int, writers)
	for w := range writers {
		all.Go(func() {
			for i := range each {
				n := w*each + i
				ctx, end := context.WithCancel(t.Context())
				err := func() (err error) {
					defer end()
					defer func() {
						if p := recover(); p != nil {
							err = errRefused
						}
					}()
					return db.InSystemTx(ctx, inserts(n).then(func(context.Context) error {
						switch rand.IntN(12) {
						case 0:
							return errRefused
						case 1:
							end()
						case 2:
							go end()
						case 3:
							panic("a bug")
						}
						return nil
					}))
				}()
				switch got := outcome(err); got {
				case "ok":
					ok[w] = append(ok[w], n)
				case "refused", "ended":
				default:
					t.Errorf("%d: %s: %v", n, got, err)
				}
			}
		})
	}
	all.Wait()
	want := ""
	for _, numbers := range ok {
		for _, n := range numbers {
			want += fmt.Sprint(" ", n)
		}
	}
	if diff := cmp.Diff(want, " "+numbers(t, db)); diff != "" {
		t.Error(diff)
	}
	if stats := db.PoolStats()["write"]; stats.WaitCount == 0 || stats.WaitDuration == 0 {
		t.Errorf("nobody seems to have waited: %+v", stats)
	}
}
