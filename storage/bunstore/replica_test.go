package bunstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/postgres"
	"github.com/helpwright/helpwright/storage/bunstore/sqlite"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/storagetest"
	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testnet"
)

// replicated is a store with a replica, and another on the same primary that stands for another server.
type replicated struct {
	t          *testing.T
	servers    testenv.Replicated
	db, other  *bunstore.DB
	log        *testenv.Output
	replica    *sql.DB
	scope      helpdesk.Scope
	customerAt int
}

func newReplicated(t *testing.T) *replicated {
	t.Helper()
	s := &replicated{t: t, servers: testenv.OwnReplicated(t), log: &testenv.Output{}}
	open := func(cfg bunstore.Config) *bunstore.DB {
		db, err := postgres.Open(t.Context(), s.servers.PrimaryURL, cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	s.other = open(bunstore.Config{MaxConns: 4})
	if err := s.other.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	account := identity.Account{Name: "Some name"}
	err := s.other.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error { return tx.InsertAccount(ctx, &account) })
	if err != nil {
		t.Fatal(err)
	}
	s.scope = helpdesk.Scope{AccountID: account.ID, MayLag: true}
	s.db = open(bunstore.Config{MaxConns: 4, Replica: s.servers.ReplicaURL, Logger: slog.New(slog.NewTextHandler(s.log, nil))})
	if s.replica, err = sql.Open("pgx", s.servers.ReplicaURL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.replica.Close() })
	s.waitFor(bunstore.ReplicaCurrent)
	return s
}

// waitFor waits until the replica has a state.
func (s *replicated) waitFor(state bunstore.ReplicaState) {
	s.t.Helper()
	s.eventually("the replica is "+string(state), func() bool { return s.db.Replica().State == state })
}

// add inserts a customer through one of the stores.
func (s *replicated) add(through *bunstore.DB) {
	s.t.Helper()
	s.customerAt++
	c := helpdesk.Customer{FirstName: fmt.Sprint("No. ", s.customerAt)}
	err := through.InTx(s.t.Context(), s.scope, func(ctx context.Context, tx helpdesk.Tx) error { return tx.InsertCustomer(ctx, &c) })
	if err != nil {
		s.t.Fatal(err)
	}
}

// listed returns how many customers a list has, and whether the replica answered.
func (s *replicated) listed() (n int, byReplica bool) {
	s.t.Helper()
	before := s.db.Replica().Served
	all, err := s.db.Within(s.scope).Customers(s.t.Context(), helpdesk.CustomerFilter{}, storage.Seek{Limit: 1000})
	if err != nil {
		s.t.Fatal(err)
	}
	return len(all), s.db.Replica().Served > before
}

// served waits until the replica answers with all customers. Those of another server may be missing for a second.
func (s *replicated) served() {
	s.t.Helper()
	s.eventually("the replica serves", func() bool { n, yes := s.listed(); return yes && n == s.customerAt })
}

// alwaysLagging reads with scopes that may lag.
type alwaysLagging struct{ *bunstore.DB }

func (s alwaysLagging) Within(scope helpdesk.Scope) helpdesk.Reader {
	scope.MayLag = true
	return s.DB.Within(scope)
}

// With a replica, all promises of the store hold for scopes that may lag.
func TestReplicaStore(t *testing.T) {
	t.Parallel()
	servers := testenv.OwnReplicated(t)
	var served atomic.Int64
	t.Cleanup(func() {
		if !t.Failed() && served.Load() == 0 {
			t.Error("the replica served nothing")
		}
	})
	storagetest.Run(t, func(t *testing.T) storagetest.Backend {
		primary, replica := servers.Database(t)
		db := open(t, primary, bunstore.Config{Replica: replica})
		t.Cleanup(func() { served.Add(db.Replica().Served) })
		return storagetest.Backend{Store: alwaysLagging{db}, Jobs: db, Events: db, KB: db.KB()}
	})
}

func TestReplica(t *testing.T) {
	t.Parallel()
	s := newReplicated(t)
	s.add(s.other)
	s.served()

	// Lists come from the replica, and nothing else does.
	r, five := s.db.Within(s.scope), storage.Seek{Limit: 5}
	for _, read := range []struct {
		table     string
		byReplica bool
		run       func() error
	}{
		{"hw_customers", true, func() error { _, err := r.Customers(t.Context(), helpdesk.CustomerFilter{}, five); return err }},
		{"hw_conversations", true, func() error {
			_, err := r.Conversations().List(t.Context(), helpdesk.ConversationOrder{}, five)
			return err
		}},
		{"hw_conversation_counts", true, func() error { _, err := r.Count(t.Context(), helpdesk.CountQuery{Maintained: true}); return err }},
		{"hw_mailboxes", false, func() error { _, err := r.Mailboxes().List(t.Context(), storage.NoFilter{}, five); return err }},
		{"hw_users", false, func() error { _, err := r.UsersByID(t.Context(), []int64{1}); return err }},
		{"hw_interactions", false, func() error {
			_, err := r.Interactions().List(t.Context(), helpdesk.InteractionFilter{ConversationID: 1}, five)
			return err
		}},
	} {
		if err := read.run(); err != nil {
			t.Fatal(err)
		}
		if got := s.answered(read.table); got != read.byReplica {
			t.Errorf("the replica answered about %s: %v", read.table, got)
		}
	}
	before := s.db.Replica()
	still := s.scope
	still.MayLag = false
	_, _ = s.db.Within(still).Customers(t.Context(), helpdesk.CustomerFilter{}, storage.Seek{Limit: 5})
	err := s.db.InTx(t.Context(), s.scope, func(ctx context.Context, tx helpdesk.Tx) error {
		_, err := tx.Reader().Customers(ctx, helpdesk.CustomerFilter{}, storage.Seek{Limit: 5})
		return err
	})
	if after := s.db.Replica(); err != nil || after.Served != before.Served || after.Primary != before.Primary {
		t.Errorf("reads that may not lag count: %+v, %+v, %v", before, after, err)
	}

	// A write of this process is in each list from then on, also while the replica lags; one of another within a second.
	s.served()
	s.servers.PauseReplay(t)
	want, _ := s.listed()
	s.add(s.db)
	want++
	for range 10 {
		if n, byReplica := s.listed(); n != want || byReplica {
			t.Errorf("%d customers by the replica %v, want %d by the primary", n, byReplica, want)
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.waitFor(bunstore.ReplicaBehind)
	s.add(s.other)
	want++
	if n, byReplica := s.listed(); n != want || byReplica {
		t.Errorf("behind: %d customers by the replica %v, want %d by the primary", n, byReplica, want)
	}
	if lag := s.db.Replica().Lag; lag < time.Second {
		t.Errorf("the lag is %v", lag)
	}
	s.servers.ResumeReplay(t)
	s.served()
	if n, _ := s.listed(); n != want {
		t.Errorf("%d customers after it caught up, want %d", n, want)
	}

	// An idle primary does not make it lag.
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if state := s.db.Replica(); state.State != bunstore.ReplicaCurrent {
			t.Fatalf("the replica of an idle primary: %+v", state)
		}
	}
}

// answered reports whether a session of the store on the replica ran its last statement on a table.
func (s *replicated) answered(table string) (yes bool) {
	s.t.Helper()
	err := s.replica.QueryRowContext(s.t.Context(), `SELECT EXISTS (SELECT 1 FROM pg_stat_activity
		WHERE application_name = 'helpwright' AND query LIKE '%FROM "' || $1 || '"%')`, table).Scan(&yes)
	if err != nil {
		s.t.Fatal(err)
	}
	return yes
}

// A replica of another server's writes: at every moment a list has all customers that were there a second ago.
func TestReplicaStaleness(t *testing.T) {
	t.Parallel()
	s := newReplicated(t)
	s.served()
	var mu sync.Mutex
	var at []time.Time // when each customer was committed
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
	defer cancel()
	var writers sync.WaitGroup
	writers.Go(func() {
		for ctx.Err() == nil {
			s.add(s.other)
			mu.Lock()
			at = append(at, time.Now())
			mu.Unlock()
			time.Sleep(10 * time.Millisecond)
		}
	})
	writers.Go(func() {
		for ctx.Err() == nil {
			time.Sleep(700 * time.Millisecond)
			s.servers.PauseReplay(t)
			time.Sleep(1300 * time.Millisecond)
			s.servers.ResumeReplay(t)
		}
	})
	replies := 0
	for ctx.Err() == nil {
		begun := time.Now()
		n, byReplica := s.listed()
		if byReplica {
			replies++
		}
		mu.Lock()
		if n < len(at) && begun.Sub(at[n]) > time.Second {
			t.Errorf("a list lacks a customer of %v ago (by the replica: %v)", begun.Sub(at[n]), byReplica)
		}
		mu.Unlock()
	}
	writers.Wait()
	if replies == 0 {
		t.Error("the replica served nothing")
	}
}

func TestReplicaDown(t *testing.T) {
	t.Parallel()
	s := newReplicated(t)
	s.add(s.other)
	s.served()
	stop := make(chan struct{})
	var slowest time.Duration
	var readers sync.WaitGroup
	readers.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			begun := time.Now()
			if n, _ := s.listed(); n != 1 {
				t.Errorf("%d customers", n)
			}
			slowest = max(slowest, time.Since(begun))
		}
	})
	s.servers.Kill(t)
	s.waitFor(bunstore.ReplicaUnreachable)
	before := s.db.Replica().Served
	time.Sleep(500 * time.Millisecond)
	if after := s.db.Replica().Served; after != before {
		t.Errorf("a dead replica served %d reads", after-before)
	}
	s.servers.Start(t)
	s.waitFor(bunstore.ReplicaCurrent)
	close(stop)
	readers.Wait()
	s.served()
	if slowest > 2*time.Second {
		t.Errorf("a read took %v", slowest)
	}
	log := s.log.String()
	if n := strings.Count(log, "does not answer"); n != 1 || strings.Contains(log, "127.0.0.1") {
		t.Errorf("it is logged %d times, or with the address: %s", n, log)
	}
}

// A statement that the replica cancels, because it conflicts with recovery or takes too long, runs on the primary.
func TestReplicaCancels(t *testing.T) {
	t.Parallel()
	s := newReplicated(t)
	s.add(s.other)
	s.served()
	lock, err := sql.Open("pgx", s.servers.PrimaryURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }()
	tx, err := lock.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "LOCK TABLE hw_customers IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	// The lock reaches the replica with the log, and stays there after the primary released it, while the replay pauses.
	s.eventually("the replica has the lock", func() bool {
		var n int
		err := s.replica.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND relation = 'hw_customers'::regclass").Scan(&n)
		return err == nil && n > 0
	})
	s.servers.PauseReplay(t)
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if n, byReplica := s.listed(); n != 1 || byReplica || time.Since(begun) > 3*time.Second {
		t.Errorf("%d customers by the replica %v after %v", n, byReplica, time.Since(begun))
	}
	s.servers.ResumeReplay(t)
	s.served()
}

func (s *replicated) eventually(what string, is func() bool) {
	s.t.Helper()
	defer func() {
		if s.t.Failed() {
			s.t.Logf("the replica is %+v; %s", s.db.Replica(), s.log)
		}
	}()
	testenv.Eventually(s.t, what, is)
}

// Of several servers the one that takes writes is used, in whatever order they are named.
func TestSeveralServers(t *testing.T) {
	t.Parallel()
	servers := testenv.OwnReplicated(t)
	first, err := postgres.Open(t.Context(), servers.PrimaryURL, bunstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Close() }()
	if err := first.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	host := func(address string) string {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		return u.Host
	}
	primary, standby, dead := host(servers.PrimaryURL), host(servers.ReplicaURL), "127.0.0.1:1"
	silent := testnet.Listen(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	for name, tc := range map[string]struct {
		hosts, setting string
		opens, writes  bool
	}{
		"the primary first":        {primary + "," + standby, "", true, true},
		"the standby first":        {standby + "," + primary, "", true, true},
		"a dead server first":      {dead + "," + standby + "," + primary, "", true, true},
		"a silent server first":    {silent + "," + primary, "", true, true},
		"no primary":               {dead + "," + standby, "", false, false},
		"any server":               {standby + "," + primary, "&target_session_attrs=any", true, false},
		"the standby is asked for": {primary + "," + standby, "&target_session_attrs=standby", true, false},
		"a standby alone":          {standby, "", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 9*time.Second) // less than the limit for connecting to one server
			defer cancel()
			db, err := postgres.Open(ctx, strings.Replace(servers.PrimaryURL, primary, tc.hosts, 1)+tc.setting, bunstore.Config{})
			if tc.opens != (err == nil) || err != nil && !fault.Is(err, fault.Unavailable) {
				t.Fatalf("opening: %v", err)
			}
			if err != nil {
				return
			}
			defer func() { _ = db.Close() }()
			testenv.Eventually(t, "the schema is there", func() bool { done, err := db.Applied(t.Context()); return err == nil && len(done) > 0 })
			if err := db.CheckWrite(t.Context()); tc.writes != (err == nil) || err != nil && !fault.Is(err, fault.Unavailable) {
				t.Errorf("writing: %v", err)
			}
		})
	}
}

// What is no replica of the database is refused with the reason.
func TestWrongReplica(t *testing.T) {
	t.Parallel()
	servers := testenv.OwnReplicated(t)
	for name, tc := range map[string]struct{ database, replica, want string }{
		"another server":   {servers.PrimaryURL, testenv.Postgres(t), "another database server"},
		"the primary":      {servers.PrimaryURL, servers.PrimaryURL, "not a standby"},
		"another database": {servers.PrimaryURL, strings.Replace(servers.ReplicaURL, "/postgres?", "/template1?", 1), "another database or schema"},
		"no address":       {servers.PrimaryURL, "nothing", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := postgres.Open(t.Context(), tc.database, bunstore.Config{Replica: tc.replica})
			want := fault.Disabled
			if tc.want == "" {
				want = fault.Invalid
			}
			if !fault.Is(err, want) || !strings.Contains(fmt.Sprint(err), tc.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := sqlite.Open(t.Context(), sqlite.Memory, bunstore.Config{Replica: servers.ReplicaURL}); !fault.Is(err, fault.Invalid) {
		t.Errorf("SQLite with a replica: %v", err)
	}
}

// A replica that does not answer at the start is only logged.
func TestReplicaAway(t *testing.T) {
	t.Parallel()
	log := &testenv.Output{}
	db, err := postgres.Open(t.Context(), testenv.Postgres(t), bunstore.Config{
		Replica: "postgres://127.0.0.1:1/postgres", Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if state := db.Replica(); state.State != bunstore.ReplicaUnreachable || state.Lag >= 0 || !strings.Contains(log.String(), "does not answer") {
		t.Errorf("%+v; %s", state, log)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}
