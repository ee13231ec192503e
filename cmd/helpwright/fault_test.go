package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testnet"
)

// behind is a proxy before the PostgreSQL of a test, and the URL of the database behind it.
func behind(t *testing.T) (*testnet.Proxy, string) {
	t.Helper()
	dsn := testenv.Postgres(t)
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal("not a URL")
	}
	query := u.Query()
	query.Del("connect_timeout") // the server's own is tested
	u.RawQuery = query.Encode()
	return testnet.ProxyTo(t, u.String())
}

// status sends a request with a short timeout and returns the status, 0 for no answer in time.
func (s *process) status(method, path string, form url.Values, limit time.Duration) (int, http.Header) {
	ctx, cancel := context.WithTimeout(s.t.Context(), limit)
	defer cancel()
	target := "http://" + s.http + path
	req, err := http.NewRequestWithContext(ctx, method, target, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, nil
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode, res.Header
}

// TestFrozenDatabase freezes the network in front of PostgreSQL: requests get 503 in time, even those that find a dead
// connection in the pool, and afterwards the server works as before.
func TestFrozenDatabase(t *testing.T) {
	t.Parallel()
	proxy, dsn := behind(t)
	s := newServer(t, "HELPWRIGHT_DATABASE_URL="+dsn)
	m := s.mailbox(url.Values{"name": {"Support"}})
	for _, freeze := range []func(){proxy.Freeze, proxy.Swallow} {
		freeze()
		var wait sync.WaitGroup
		for n := range 30 {
			wait.Go(func() {
				method, path, form := "GET", apiBase+mailboxPath(m.ID), url.Values(nil)
				if n%3 == 0 {
					method, path, form = "POST", apiBase+"/accounts/1/mailboxes", url.Values{"name": {fmt.Sprint("More ", n)}}
				}
				if status, h := s.status(method, path, form, 50*time.Second); status != http.StatusServiceUnavailable || h.Get("Retry-After") == "" {
					t.Errorf("%s %s: %d", method, path, status)
				}
			})
		}
		wait.Wait()
		if status, _ := s.status("GET", "/readyz", nil, 10*time.Second); status != http.StatusServiceUnavailable {
			t.Errorf("readyz: %d", status)
		}
		proxy.Pass()
		testenv.Within(t, 45*time.Second, "the server works again", func() bool { // before statements time out
			one, _ := s.status("GET", apiBase+mailboxPath(m.ID), nil, 5*time.Second)
			two, _ := s.status("GET", "/readyz", nil, 5*time.Second)
			return one == http.StatusOK && two == http.StatusOK
		})
		s.ok("POST", "/accounts/1/mailboxes", url.Values{"name": {"After"}}, nil)
	}
}

// TestForeignLock holds the write lock of SQLite from outside: reads are not affected, writes are told to retry.
func TestForeignLock(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	m := s.mailbox(url.Values{"name": {"Support"}})
	other, err := sql.Open("sqlite", "file:"+filepath.Join(s.dir, "data", "helpwright.db")+"?_txlock=immediate&_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	other.SetMaxOpenConns(1)
	tx, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s.kill() // a new process has no cache: everything it records while others read is due
	done := make(chan struct{})
	time.AfterFunc(time.Second, func() { _ = tx.Rollback(); close(done) })
	s.start()
	<-done
	if tx, err = other.BeginTx(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		begin := time.Now()
		if status, _ := s.status("GET", apiBase+mailboxPath(m.ID), nil, time.Minute); status != http.StatusOK {
			t.Errorf("GET: %d", status)
		}
		if took := time.Since(begin); took > 4*time.Second { // requests wait five seconds for the lock
			t.Errorf("GET took %v", took)
		}
	}
	if status, h := s.status("POST", apiBase+"/accounts/1/mailboxes", url.Values{"name": {"More"}}, time.Minute); status != http.StatusServiceUnavailable || h.Get("Retry-After") == "" {
		t.Errorf("POST: %d", status)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	s.ok("POST", "/accounts/1/mailboxes", url.Values{"name": {"After"}}, nil)
}

// TestOutageDuringSending takes the database away while answers are sent, and brings it back: no answer is sent twice. On
// SQLite a foreign lock simulates the outage. The second time the server is stopped meanwhile, and started again.
func TestOutageDuringSending(t *testing.T) {
	t.Parallel()
	for name, restart := range map[string]bool{"stays": false, "restarts": true} {
		t.Run("PostgreSQL/"+name, func(t *testing.T) {
			t.Parallel()
			proxy, dsn := behind(t)
			outage(t, dsn, restart, func(*process) (func(), func()) { return proxy.Refuse, proxy.Pass })
		})
		t.Run("SQLite/"+name, func(t *testing.T) {
			t.Parallel()
			outage(t, "sqlite:data/helpwright.db", restart, func(s *process) (func(), func()) {
				other, err := sql.Open("sqlite", "file:"+filepath.Join(s.dir, "data", "helpwright.db")+"?_txlock=immediate&_pragma=busy_timeout(60000)")
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = other.Close() })
				var tx *sql.Tx
				begin := func() {
					if tx, err = other.BeginTx(context.Background(), nil); err != nil {
						t.Error(err)
					}
				}
				return begin, func() { _ = tx.Rollback() }
			})
		})
	}
}

// outageTime is how long the database is away: HELPWRIGHT_TEST_OUTAGE=40s makes it longer than usual.
func outageTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("HELPWRIGHT_TEST_OUTAGE")
	if text == "" {
		return 20 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second || d > 10*time.Minute {
		t.Fatalf("HELPWRIGHT_TEST_OUTAGE=%s: want a duration of at most 10m, such as 40s", text)
	}
	return d
}

func outage(t *testing.T, databaseURL string, restart bool, access func(*process) (away, back func())) {
	t.Helper()
	const answers = 60
	relay := newSink(t, 200*time.Millisecond)
	flow := relay.hold() // all are there before the first leaves, so that they are on their way when the database goes away
	s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL, "HELPWRIGHT_SMTP_URL=smtp://"+relay.address+"?tls=none")
	away, back := access(s)
	s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
	for i := range answers {
		s.ok("POST", "/accounts/1/conversations", url.Values{
			"channel": {"email"}, "to": {fmt.Sprintf("customer%d@example.com", i)}, "subject": {fmt.Sprintf("Answer %d", i)},
			"interactions[0][type]": {"user"}, "interactions[0][body]": {fmt.Sprintf("Text %d.", i)},
		}, nil)
	}
	flow()
	testenv.Eventually(t, "answers leave", func() bool { mails, _ := relay.counts(); return mails >= 8 })
	long := outageTime(t)
	away()
	time.Sleep(long * 2 / 5)
	if restart {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		_ = s.cmd.Wait()
		s.cmd = nil
	} else {
		time.Sleep(long * 3 / 5)
	}
	before, _ := relay.counts()
	back()
	if restart {
		s.start()
	}
	testenv.Eventually(t, "every answer is sent", func() bool {
		for _, c := range s.conversations() {
			if i := s.interactions(c.ID)[0]; len(i.Deliveries) != 1 || i.Deliveries[0].State != "sent" {
				return false
			}
		}
		return true
	})
	mails, again := relay.counts()
	t.Logf("%d of %d answers were accepted before the database was back; %d came again", before, answers, again)
	if mails != answers || again != 0 {
		t.Errorf("the relay accepted %d mails, want %d; %d came again", mails, answers, again)
	}
}
