package bunstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/sqlite"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/storagetest/testenv"
)

var errTurn = errors.New("the transaction does not want to be committed")

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

func fails(context.Context) error { return errTurn }

func openTurns(t *testing.T) *bunstore.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "turns.db"), bunstore.Config{})
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
	case errors.Is(err, errTurn):
		return "refused"
	case errors.Is(err, context.Canceled):
		return "ended"
	}
	return fault.Of(err).String()
}

// awaitTurns waits until so many transactions wait for their turn.
func awaitTurns(t *testing.T, db *bunstore.DB, want int) {
	t.Helper()
	testenv.Eventually(t, fmt.Sprint(want, " transactions wait"), func() bool { _, waiting := bunstore.Commits(db); return waiting == want })
}

// inTurn runs transactions, of which each waits for the turn of the one before, and returns their outcomes. It calls queued
// before the first one begins.
func inTurn(t *testing.T, db *bunstore.DB, queued func(), run func(n int) error, count int) []string {
	t.Helper()
	begun, release, got := make(chan struct{}), make(chan struct{}), make([]string, count)
	var all sync.WaitGroup
	var holding error
	all.Go(func() {
		holding = db.InSystemTx(t.Context(), func(context.Context, helpdesk.SystemTx) error {
			close(begun)
			<-release
			return errTurn
		})
	})
	<-begun
	for n := range count {
		all.Go(func() { got[n] = outcome(run(n)) })
		awaitTurns(t, db, n+1)
	}
	queued()
	close(release)
	all.Wait()
	if !errors.Is(holding, errTurn) {
		t.Error(holding)
	}
	return got
}

// A commit takes in the transactions that wait for their turn. One that fails takes nobody along.
func TestSharedCommits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		queue   []writing
		alone   int // 1: the second one, and so on
		want    []string
		numbers string
		commits int64
	}{
		{
			name: "all of them", queue: []writing{inserts(1), inserts(2), inserts(3)},
			want: []string{"ok", "ok", "ok"}, numbers: "1 2 3", commits: 1,
		},
		{
			name: "the first fails", queue: []writing{inserts(1).then(fails), inserts(2), inserts(3)},
			want: []string{"refused", "ok", "ok"}, numbers: "2 3", commits: 1,
		},
		{
			name: "the second fails", queue: []writing{inserts(1), inserts(2).then(fails), inserts(3)},
			want: []string{"ok", "refused", "ok"}, numbers: "1 3", commits: 1,
		},
		{
			name: "the last fails", queue: []writing{inserts(1), inserts(2), inserts(3).then(fails)},
			want: []string{"ok", "ok", "refused"}, numbers: "1 2", commits: 1,
		},
		{
			name: "all fail", queue: []writing{inserts(1).then(fails), inserts(2).then(fails), inserts(3).then(fails)},
			want: []string{"refused", "refused", "refused"},
		},
		{
			name: "they exclude each other", queue: []writing{inserts(1), inserts(1), inserts(2)},
			want: []string{"ok", "conflict", "ok"}, numbers: "1 2", commits: 1,
		},
		{
			name: "a failed statement is forgiven", queue: []writing{inserts(1), func(ctx context.Context, tx helpdesk.SystemTx) error {
				_ = inserts(1)(ctx, tx)
				return inserts(2)(ctx, tx)
			}},
			want: []string{"ok", "ok"}, numbers: "1 2", commits: 1,
		},
		{
			name: "one that is alone", queue: []writing{inserts(1), inserts(2), inserts(3), inserts(4)}, alone: 1,
			want: []string{"ok", "ok", "ok", "ok"}, numbers: "1 2 3 4", commits: 3,
		},
		{
			name: "SQLite rolls all of them back", queue: []writing{inserts(1), inserts(2), inserts(-1), inserts(3)},
			want: []string{"ok", "ok", "internal", "ok"}, numbers: "1 2 3",
		},
		{
			name: "SQLite rolls all of them back, which the last one ignores", queue: []writing{inserts(1), inserts(2), ignores(-1)},
			want: []string{"ok", "ok", "internal"}, numbers: "1 2",
		},
		{
			name: "SQLite rolls the first one back, which it ignores", queue: []writing{ignores(-1), inserts(1), inserts(2)},
			want: []string{"internal", "ok", "ok"}, numbers: "1 2",
		},
		{
			name: "SQLite rolls all of them back, which one in the middle ignores", queue: []writing{inserts(1), ignores(-1), inserts(2), inserts(3)},
			want: []string{"ok", "internal", "ok", "ok"}, numbers: "1 2 3",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			db := openTurns(t)
			bunstore.ShareForLong(db)
			before, _ := bunstore.Commits(db)
			got := inTurn(t, db, func() {}, func(n int) error {
				ctx := t.Context()
				if test.alone > 0 && n == test.alone {
					ctx = storage.Alone(ctx)
				}
				return db.InSystemTx(ctx, test.queue[n])
			}, len(test.queue))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.numbers, numbers(t, db)); diff != "" {
				t.Error(diff)
			}
			after, waiting := bunstore.Commits(db)
			if test.commits > 0 && after-before != test.commits || waiting != 0 {
				t.Errorf("%d commits, %d still wait", after-before, waiting)
			}
			if err := db.InSystemTx(t.Context(), inserts(9)); err != nil {
				t.Error("afterwards:", err)
			}
		})
	}
}

// However fast commits are, some of the transactions that wait share one.
func TestSharedAtLeast(t *testing.T) {
	t.Parallel()
	db := openTurns(t)
	bunstore.SharePace(db, 0)
	before, _ := bunstore.Commits(db)
	count := bunstore.MinShared + 1
	got := inTurn(t, db, func() {}, func(n int) error { return db.InSystemTx(t.Context(), inserts(n)) }, count)
	if diff := cmp.Diff(slices.Repeat([]string{"ok"}, count), got); diff != "" {
		t.Error(diff)
	}
	if after, _ := bunstore.Commits(db); after-before != 2 {
		t.Errorf("%d transactions had %d commits, not 2", count, after-before)
	}
}

// Statements on the queue of jobs share commits with transactions, and are not undone when one of these fails.
func TestQueueSharesCommits(t *testing.T) {
	t.Parallel()
	const kind, other, lease = "test", "other", time.Hour
	now := time.Unix(1e9, 0).UTC()
	for _, test := range []struct {
		name    string
		between writing // after the statements on the queue
		want    string
		commits int64
	}{
		{name: "all succeed", between: inserts(2), want: "ok", commits: 1},
		{name: "one fails", between: inserts(2).then(fails), want: "refused", commits: 1},
		{name: "SQLite rolls all back", between: inserts(-1), want: "internal"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			db := openTurns(t)
			if err := db.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			claim := func(kind string) ([]storage.ClaimedJob, error) {
				return db.Claim(t.Context(), map[string]int{kind: 10}, now, now.Add(lease))
			}
			job := func(kind string, subject int64) storage.Job {
				return storage.Job{Kind: kind, Subject: subject, RunAt: now}
			}
			err := db.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error {
				return tx.Within(helpdesk.Scope{}).Enqueue(ctx, job(other, 1), job(other, 2), job(other, 3), job(other, 4), job(kind, 5))
			})
			if err != nil {
				t.Fatal(err)
			}
			held, err := claim(other)
			if err != nil || len(held) != 4 {
				t.Fatal(held, err)
			}
			var claimed []storage.ClaimedJob
			works := []func() error{
				func() error { return db.InSystemTx(t.Context(), inserts(1)) },
				func() (err error) { claimed, err = claim(kind); return err },
				func() error { return db.Finish(t.Context(), held[0]) },
				func() error { return db.Retry(t.Context(), held[1], now.Add(lease), "later") },
				func() error { return db.Bury(t.Context(), held[2], "never") },
				func() error { return db.Extend(t.Context(), held[3], now.Add(2*lease)) },
				func() error {
					return db.Note(t.Context(), storage.Note{Key: []byte("key"), Request: []byte("request"), Holder: "me", Until: now.Add(lease)}, now)
				},
				func() error { return db.InSystemTx(t.Context(), test.between) },
				func() error { return db.InSystemTx(t.Context(), inserts(3)) },
			}
			bunstore.ShareForLong(db)
			before, _ := bunstore.Commits(db)
			got := inTurn(t, db, func() {}, func(n int) error { return works[n]() }, len(works))
			if diff := cmp.Diff([]string{"ok", "ok", "ok", "ok", "ok", "ok", "ok", test.want, "ok"}, got); diff != "" {
				t.Error(diff)
			}
			if after, _ := bunstore.Commits(db); test.commits > 0 && after-before != test.commits {
				t.Errorf("%d commits", after-before)
			}
			if len(claimed) != 1 || claimed[0].Subject != 5 || claimed[0].Attempt != 1 {
				t.Error("claimed:", claimed)
			}
			var left string
			const jobs = `SELECT GROUP_CONCAT(subject || ' ' || (lease_until > 0) || ' ' || buried, ', ') FROM (SELECT * FROM hw_jobs ORDER BY subject)`
			if err := bunstore.QueryRow(t.Context(), db, jobs).Scan(&left); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff("2 0 0, 3 0 1, 4 1 0, 5 1 0", left); diff != "" {
				t.Error(diff)
			}
			if note, err := db.Noted(t.Context(), []byte("key"), now); err != nil || note.Holder != "me" {
				t.Error(note, err)
			}
		})
	}
}

// The context of a transaction ends while it waits for its turn, in the middle of it, or in a statement. The others are
// committed, whatever their places.
func TestEndedTurns(t *testing.T) {
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
				db := openTurns(t)
				bunstore.ShareForLong(db)
				ctx, end := context.WithCancel(t.Context())
				defer end()
				queued := func() {}
				if during == nil {
					queued = func() {
						end()
						awaitTurns(t, db, 2)
					}
				}
				got := inTurn(t, db, queued, func(n int) error {
					if n != place {
						return db.InSystemTx(t.Context(), inserts(n))
					}
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
func TestTurnsEndAtTheirBeginning(t *testing.T) {
	t.Parallel()
	db := openTurns(t)
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
func TestPanicInTurn(t *testing.T) {
	t.Parallel()
	db := openTurns(t)
	bunstore.ShareForLong(db)
	got := inTurn(t, db, func() {}, func(n int) (err error) {
		defer func() {
			if recover() == "one" {
				err = errTurn
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
func TestManyTurns(t *testing.T) {
	t.Parallel()
	db := openTurns(t)
	const writers, each = 12, 60
	var all sync.WaitGroup
	ok := make([][]int, writers)
	for w := range writers {
		all.Go(func() {
			for i := range each {
				n := w*each + i
				ctx, end := context.WithCancel(t.Context())
				if rand.IntN(10) == 0 {
					ctx = storage.Alone(ctx)
				}
				err := func() (err error) {
					defer end()
					defer func() {
						if p := recover(); p != nil {
							err = errTurn
						}
					}()
					return db.InSystemTx(ctx, inserts(n).then(func(context.Context) error {
						switch rand.IntN(12) {
						case 0:
							return errTurn
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
	if commits, waiting := bunstore.Commits(db); waiting != 0 {
		t.Errorf("%d commits, %d wait", commits, waiting)
	}
	if stats := db.PoolStats()["write"]; stats.WaitCount == 0 || stats.WaitDuration == 0 {
		t.Errorf("nobody seems to have waited: %+v", stats)
	}
}
