package bunstore_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/both"
	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testnet"
)

// A job of a dead process is taken over long before its lease expires; one of a live process is not.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func(t *testing.T) string{
		"SQLite":     func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "h.db") },
		"PostgreSQL": func(t *testing.T) string { return testenv.Postgres(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := url(t)
			living, heir := open(t, address, bunstore.Config{}), open(t, address, bunstore.Config{})
			dying, err := both.Open(t.Context(), address, bunstore.Config{})
			if err != nil {
				t.Fatal(err)
			}
			enqueueKinds(t, living, "spared", "orphaned")
			now := time.Now()
			lease := now.Add(time.Hour)
			if got := claim(t, living, "spared", now, lease); len(got) != 1 {
				t.Fatalf("claimed %v", got)
			}
			if got := claim(t, dying, "orphaned", now, lease); len(got) != 1 {
				t.Fatalf("claimed %v", got)
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{}, 2)
			for _, db := range []*bunstore.DB{living, heir} {
				go func() { _ = db.Run(ctx); done <- struct{}{} }()
			}
			defer func() { cancel(); <-done; <-done }()
			bunstore.Die(dying)
			var got []storage.ClaimedJob
			testenv.Eventually(t, "the dead one's job is taken over", func() bool {
				got = claim(t, heir, "orphaned", time.Now(), lease)
				return len(got) > 0
			})
			if len(got) != 1 || got[0].Attempt != 2 {
				t.Errorf("took over %v", got)
			}
			time.Sleep(3 * time.Second) // a reaper has checked again
			if got := claim(t, heir, "spared", time.Now(), lease); len(got) != 0 {
				t.Errorf("took a living one's over: %v", got)
			}
		})
	}
}

func enqueueKinds(t *testing.T, db *bunstore.DB, kinds ...string) {
	t.Helper()
	err := db.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error {
		for _, kind := range kinds {
			if err := tx.Within(helpdesk.Scope{}).Enqueue(ctx, storage.Job{Kind: kind}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func claim(t *testing.T, db *bunstore.DB, kind string, now, lease time.Time) []storage.ClaimedJob {
	t.Helper()
	jobs, err := db.Claim(t.Context(), map[string]int{kind: 1}, now, lease)
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}

// Processes that share the database can tell which of them are alive.
func TestLives(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func(t *testing.T) string{
		"SQLite":     func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "h.db") },
		"PostgreSQL": func(t *testing.T) string { return testenv.Postgres(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, address := t.Context(), url(t)
			here, living := open(t, address, bunstore.Config{}), open(t, address, bunstore.Config{})
			dying, err := both.Open(ctx, address, bunstore.Config{})
			if err != nil {
				t.Fatal(err)
			}
			names := map[string]bool{"": false, "1": false, "../1": false, "x": false}
			for db, lives := range map[*bunstore.DB]bool{here: true, living: true, dying: false} {
				first, err := db.Process(ctx)
				if err != nil || first == "" {
					t.Fatalf("%q, %v", first, err)
				}
				if again, err := db.Process(ctx); again != first || err != nil {
					t.Errorf("%q and then %q, %v", first, again, err)
				}
				names[first] = lives
			}
			bunstore.Die(dying)
			for name, want := range names {
				// PostgreSQL notices with a delay that a connection has ended.
				testenv.Eventually(t, fmt.Sprintf("%q lives: %v", name, want), func() bool {
					got, err := here.Lives(ctx, name)
					if err != nil {
						t.Fatal(err)
					}
					return got == want
				})
			}
		})
	}
}

// A server that has not noticed a broken connection keeps its session and its locks, possibly for hours: their owner still
// continues under its name at once.
func TestServerKeepsSession(t *testing.T) {
	t.Parallel()
	ctx, dsn := t.Context(), testenv.Postgres(t)
	proxy, through := testnet.ProxyTo(t, dsn)
	db := open(t, through, bunstore.Config{})
	enqueueKinds(t, db, "one", "two")
	claim(t, db, "one", time.Now(), time.Now().Add(time.Hour))
	name, err := db.Process(ctx)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := plainPostgres(t, dsn).Conn(ctx) // the session that the server keeps alive
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = kept.Close() }()
	if _, err := kept.ExecContext(ctx, "SELECT pg_advisory_lock_shared("+name+")"); err != nil {
		t.Fatal(err)
	}
	proxy.Cut()
	run, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { _ = db.Run(run); close(done) }()
	defer func() { cancel(); <-done }()
	testenv.Eventually(t, "the job is claimed", func() bool {
		limited, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		got, err := db.Claim(limited, map[string]int{"two": 1}, time.Now(), time.Now().Add(time.Hour))
		return err == nil && len(got) == 1
	})
	if again, err := db.Process(ctx); again != name || err != nil {
		t.Errorf("it is %q now and was %q, %v", again, name, err)
	}
}
