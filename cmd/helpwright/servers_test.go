package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/testenv"
)

// TestTwoServers runs two servers on one database: both fetch the same mailbox, file and send, and every mail is filed once
// and every answer sent once.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	onServers(t, testTwoServers)
}

// onServers tests several servers on one database, without a pooler and with one.
func onServers(t *testing.T, test func(t *testing.T, database string)) {
	t.Helper()
	for name, database := range map[string]func(testing.TB) string{"PostgreSQL": testenv.Postgres, "PgBouncer": testenv.PgBouncer} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, database(t))
		})
	}
}

func testTwoServers(t *testing.T, database string) {
	t.Helper()
	dovecot := testenv.Dovecot(t)
	user := testenv.Name("replicas")
	const fetched, answers = 500, 100
	appendAll(t, dovecot, user, numbered(0, fetched))
	relay := newSink(t, 0)
	shared := sharing(t, database, "HELPWRIGHT_ALLOW_PRIVATE_HOSTS=true", "HELPWRIGHT_SMTP_URL=smtp://"+relay.address+"?tls=none")
	s, other := newServer(t, shared...), newServer(t, shared...)
	m := s.mailbox(imapForm(dovecot, user, "support@example.org"))
	for i := range answers {
		on := []*process{s, other}[i%2]
		on.ok("POST", "/accounts/1/conversations", url.Values{
			"channel": {"email"}, "to": {fmt.Sprintf("answered%d@example.com", i)}, "subject": {fmt.Sprintf("Answer %d", i)},
			"interactions[0][type]": {"user"}, "interactions[0][body]": {"Text."},
		}, nil)
	}
	testenv.Eventually(t, "all mails are filed", func() bool { return len(ledgerOf(other, m.ID, "filed")) == fetched })
	testenv.Eventually(t, "all answers are sent", func() bool { n, _ := relay.counts(); return n == answers })
	subjects, numbers := map[string]int{}, map[int64]int{}
	for _, c := range other.conversations() {
		subjects[c.Subject]++
		numbers[c.Number]++
	}
	if len(subjects) != fetched+answers || len(numbers) != fetched+answers || numbers[fetched+answers] != 1 {
		t.Errorf("%d subjects and %d numbers of %d conversations", len(subjects), len(numbers), fetched+answers)
	}
	if n := len(ledgerOf(s, m.ID)); n != fetched {
		t.Errorf("the ledger has %d rows for %d mails", n, fetched)
	}
	if _, again := relay.counts(); again != 0 {
		t.Errorf("%d answers were sent again", again)
	}
	s.stop()
	other.stop()
}

// TestUnreachableRelay keeps an answer and reports the problem.
func TestUnreachableRelay(t *testing.T) {
	t.Parallel()
	s := newServer(t, "HELPWRIGHT_SMTP_URL=smtp://127.0.0.1:1?tls=none")
	s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
	s.ok("POST", "/accounts/1/conversations", url.Values{
		"channel": {"email"}, "to": {"ada@example.com"}, "interactions[0][type]": {"user"}, "interactions[0][body]": {"Text."},
	}, nil)
	testenv.Eventually(t, "the delivery is deferred", func() bool {
		d := s.interactions(1)[0].Deliveries
		return len(d) == 1 && d[0].State == "deferred" && strings.Contains(d[0].Response, "connect")
	})
}

// TestRollingRestart restarts three servers behind nginx one after the other, as the manual describes, while clients read
// and write: no request fails, and each note exists once.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	onServers(t, testRollingRestart)
}

func testRollingRestart(t *testing.T, database string) {
	t.Helper()
	shared := sharing(t, database, "HELPWRIGHT_TRUSTED_PROXIES=127.0.0.1,::1", "HELPWRIGHT_RATE_LIMIT=0")
	servers := []*process{newServer(t, shared...), newServer(t, shared...), newServer(t, shared...)}
	via := *servers[0]
	via.http = freeAddress(t)
	startNginx(t, via.http, servers[0].http, servers[1].http, servers[2].http)
	testenv.Eventually(t, "the proxy answers", func() bool { status, _ := read("http://" + via.http + "/readyz"); return status == http.StatusOK })
	via.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
	notes, _, _ := strings.Cut(via.notes(), "/1/attachments")
	before := len(all[interactionView](&via, notes))
	var (
		written atomic.Int64
		workers sync.WaitGroup
		stop    = make(chan struct{})
	)
	finish := sync.OnceFunc(func() { close(stop); workers.Wait() })
	defer finish() // also when a server does not start
	for range 6 {
		workers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				status, form := 0, url.Values(nil)
				if n%2 == 0 {
					form = url.Values{"type": {"note"}, "body": {"A note."}}
				}
				if status = via.try(notes, form); status >= http.StatusBadRequest || status == 0 {
					t.Errorf("a request got the status %d", status)
				} else if form != nil {
					written.Add(1)
				}
			}
		})
	}
	for range 2 {
		for _, s := range servers {
			time.Sleep(300 * time.Millisecond)
			s.stop()
			s.start()
		}
	}
	finish()
	if got := len(all[interactionView](&via, notes)); got-before != int(written.Load()) || got < 50 {
		t.Errorf("%d notes were answered, %d are there", written.Load(), got)
	}
}

// try sends a form, or requests a page without one; 0 means no answer.
func (s *process) try(path string, form url.Values) int {
	method, body := http.MethodGet, io.Reader(nil)
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, "http://"+s.http+apiBase+path, body)
	if err != nil {
		return 0
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Authorization", "Bearer "+s.token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}
