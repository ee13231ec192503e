package postgres_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/postgres"
	"github.com/helpwright/helpwright/storage/testenv"
)

// A pool is closed when the server no longer runs its queries, even if they were canceled just before.
func TestCloseAfterCancel(t *testing.T) {
	t.Parallel()
	address := testenv.Postgres(t)
	other, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	running := func() (n int) {
		const query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'SELECT pg_sleep%' AND state = 'active'"
		if err := other.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for range 10 {
		pool, err := postgres.Pool(address, bunstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { _, err := pool.ExecContext(ctx, "SELECT pg_sleep(60)"); ended <- err }()
		testenv.Eventually(t, "the query runs", func() bool { return running() == 1 })
		cancel()
		if err := <-ended; err == nil {
			t.Fatal("the query was not canceled")
		}
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
		if n := running(); n != 0 {
			t.Errorf("%d queries are running", n)
		}
	}
}
