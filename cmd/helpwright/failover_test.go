package main

import (
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/testenv"
)

// TestFailover kills PostgreSQL under two servers that fetch mails, send answers and stream events, and promotes its
// synchronous standby: the servers go on by themselves, every mail is filed once, every answer sent once, every request with a
// key done once, and every event streamed once.
func TestFailover(t *testing.T) {
	t.Parallel()
	database := testenv.OwnReplicated(t)
	database.Synchronize(t)
	dovecot, user := testenv.Dovecot(t), testenv.Name("failover")
	const fetched, posted = 300, 120
	appendAll(t, dovecot, user, numbered(0, fetched/2))
	relay := newSink(t, 0)
	shared := sharing(t, database.EitherURL(t), "HELPWRIGHT_DATABASE_REPLICA_URL="+database.ReplicaURL,
		"HELPWRIGHT_ALLOW_PRIVATE_HOSTS=true", "HELPWRIGHT_SMTP_URL=smtp://"+relay.address+"?tls=none")
	s, other := newServer(t, shared...), newServer(t, shared...)
	servers := []*process{s, other}
	posts := keyedPosts(s, posted)
	s.knowledge()
	inbox := s.mailbox(imapForm(dovecot, user, "fetched@example.org"))
	reader := follower{servers: servers, last: lastEvent(s)}
	client := &keyedClient{servers: servers}
	var work sync.WaitGroup
	work.Go(func() { reader.run(t) })
	work.Go(func() { client.send(t, posts) })

	testenv.Eventually(t, "answers leave", func() bool { mails, _ := relay.counts(); return mails >= posted/4 })
	_, page := read("http://" + s.http + "/help/en")
	database.Crash(t)
	appendAll(t, dovecot, user, numbered(fetched/2, fetched))
	for _, s := range servers {
		if status, h := s.status(http.MethodGet, apiBase+mailboxPath(inbox.ID), nil, time.Minute); status != http.StatusServiceUnavailable || h.Get("Retry-After") == "" {
			t.Errorf("without a database: %d, Retry-After %q", status, h.Get("Retry-After"))
		}
	}
	if status, kept := read("http://" + s.http + "/help/en"); status != http.StatusOK || kept != page {
		t.Errorf("without a database, a kept page: %d %s", status, kept)
	}
	time.Sleep(3 * time.Second)
	before, _ := relay.counts()
	began := time.Now()
	database.Promote(t)
	testenv.Eventually(t, "answers leave again", func() bool { mails, _ := relay.counts(); return mails > before })
	t.Logf("%d of %d answers had left; the next left %v after the promotion", before, posted, time.Since(began).Round(time.Millisecond))
	testenv.Eventually(t, "all mails are filed", func() bool { return len(ledgerOf(other, inbox.ID, "filed")) == fetched })
	doneOnce(t, other, relay, posted, fetched)
	if n := len(ledgerOf(s, inbox.ID)); n != fetched {
		t.Errorf("the ledger has %d rows for %d mails", n, fetched)
	}
	if _, again := relay.counts(); again != 0 {
		t.Errorf("%d answers were sent again", again)
	}
	reader.end.Store(lastEvent(s) + 1)
	s.ok("POST", "/accounts/1/conversation-tags", url.Values{"tag": {"The last event"}}, nil)
	work.Wait()
	t.Logf("%d tries of %d requests, %d without an answer, %d replays; the reader connected %d times", client.tries.Load(), len(posts),
		client.unanswered.Load(), client.replays.Load(), reader.connected)

	_, out, _ := command(t, s.dir, append(s.env, "HELPWRIGHT_LISTEN=127.0.0.1:0", "HELPWRIGHT_INTAKE_LISTEN="), "doctor")
	says(t, "the doctor", out, "FAIL  replica of the database: it is the primary at the moment")
	database.Rejoin(t) // the first server of the address is a standby now, and the replica the primary
	s.stop()
	s.start()
	s.ok("POST", "/accounts/1/conversation-tags", url.Values{"tag": {"After the return"}}, nil)
	s.stop()
	other.stop()
}

// numbered are mails with the numbers from one to before another.
func numbered(from, to int) (mails []folderMail) {
	for i := from; i < to; i++ {
		mails = append(mails, folderMail{"INBOX", crlf(head(i, fmt.Sprintf("Message-ID: <r%d@example.com>\n\nText %d.\n", i, i)))})
	}
	return mails
}

// follower follows the events of several servers, and connects to the next one whenever it is cut off.
type follower struct {
	servers   []*process
	last      int64
	connected int
	end       atomic.Int64 // the number of the last event, when that is known
}

// run checks that events come in order, each once, up to the end.
func (f *follower) run(t *testing.T) {
	for end := int64(0); end == 0 || f.last < end; end = f.end.Load() {
		f.connected++
		got, err := f.servers[f.connected%len(f.servers)].follow(f.last, 1, f.last+1)
		if t.Context().Err() != nil {
			return
		}
		if err != nil {
			time.Sleep(50 * time.Millisecond)
		}
		for _, id := range got {
			if id != f.last+1 {
				t.Errorf("after event %d came %d", f.last, id)
				return
			}
			f.last = id
		}
	}
}
