package bunstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testnet"
)

// A committed claim whose response was lost leaves jobs without a worker: they are claimed again long before their leases
// expire, without counting as lost attempts. Jobs that were handed out stay claimed, whatever happens to their results.
func TestLostClaim(t *testing.T) {
	t.Parallel()
	dsn := testenv.Postgres(t)
	proxy, through := testnet.ProxyTo(t, dsn)
	db := open(t, through, bunstore.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { _ = db.Run(ctx); close(done) }()
	defer func() { cancel(); <-done }()
	enqueueKinds(t, db, "kept", "finished", "lost")
	lease := time.Now().Add(time.Hour)
	kept, finished := claim(t, db, "kept", time.Now(), lease), claim(t, db, "finished", time.Now(), lease)
	if len(kept) != 1 || len(finished) != 1 {
		t.Fatalf("claimed %v and %v", kept, finished)
	}

	unheardClaim(t, db, proxy, dsn, "lost", lease)
	limited, stop := context.WithTimeout(ctx, 3*time.Second)
	defer stop()
	if err := db.Finish(limited, finished...); err == nil {
		t.Fatal("finished without an answer")
	}
	proxy.Cut()
	proxy.Pass()

	var got []storage.ClaimedJob
	testenv.Eventually(t, "the lost claim is handed out again", func() bool {
		got = claim(t, db, "lost", time.Now(), lease)
		return len(got) > 0
	})
	if len(got) != 1 || got[0].Attempt != 2 || got[0].Lost != 0 {
		t.Errorf("after the lost claim: %+v", got)
	}
	time.Sleep(5 * time.Second) // the database has been checked again
	for _, kind := range []string{"kept", "finished", "lost"} {
		if again := claim(t, db, kind, time.Now(), lease); len(again) != 0 {
			t.Errorf("what is in hand or done was handed out again: %+v", again)
		}
	}
	if err := db.Finish(ctx, append(kept, append(finished, got...)...)...); err != nil {
		t.Error(err)
	}
	if err := db.Extend(ctx, kept[0], lease); err == nil {
		t.Error("a job that was kept could not be finished")
	}
}

// unheardClaim has the database claim a job of a kind while the proxy drops the response. On a connection that was idle or is
// new, the driver waits for another response before it sends the claim: then unheardClaim tries again.
func unheardClaim(t *testing.T, db *bunstore.DB, proxy *testnet.Proxy, dsn, kind string, lease time.Time) {
	t.Helper()
	plain, _ := bunstore.Plain(open(t, dsn, bunstore.Config{}))
	claimed := func() (claimed bool) {
		if err := plain.QueryRowContext(t.Context(), "SELECT attempt = 1 FROM hw_jobs WHERE kind = $1", kind).Scan(&claimed); err != nil {
			t.Fatal(err)
		}
		return claimed
	}
	testenv.Eventually(t, "the database hears a claim", func() bool {
		for range 3 { // so that a connection has just been used, and knows the statement
			if _, err := db.Claim(t.Context(), map[string]int{"none": 1}, time.Now(), lease); err != nil {
				return false
			}
		}
		proxy.Mute()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		done := make(chan error, 1)
		go func() {
			_, err := db.Claim(ctx, map[string]int{kind: 1}, time.Now(), lease)
			done <- err
		}()
		for !claimed() && ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
		}
		cancel()
		if <-done == nil {
			t.Fatal("claimed without an answer")
		}
		if claimed() {
			return true
		}
		proxy.Cut()
		proxy.Pass()
		return false
	})
}
