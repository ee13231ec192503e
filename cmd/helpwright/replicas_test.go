package main

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/storagetest/testenv"
)

// TestTwoServers runs two servers on one database: both fetch the same mailbox,
// file and send, and every mail is filed once and every answer sent once.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	dovecot := testenv.Dovecot(t)
	user := testenv.Name("replicas")
	const fetched, answers = 500, 100
	var mails []folderMail
	for i := range fetched {
		mails = append(mails, folderMail{"INBOX", crlf(head(i, fmt.Sprintf("Message-ID: <r%d@example.com>\n\nText %d.\n", i, i)))})
	}
	appendAll(t, dovecot, user, mails)
	relay := newSink(t, 0)
	shared := []string{
		"HELPWRIGHT_DATABASE_URL=" + testenv.Postgres(t), "HELPWRIGHT_BLOB_URL=file:" + filepath.Join(t.TempDir(), "blobs"),
		"HELPWRIGHT_SECRET_KEY=" + strings.Repeat("k", 32), "HELPWRIGHT_ALLOW_PRIVATE_HOSTS=true",
		"HELPWRIGHT_SMTP_URL=smtp://" + relay.address + "?tls=none",
	}
	s, other := newServer(t, shared...), newServer(t, shared...)
	m := s.mailbox(imapForm(dovecot, user, "support@example.org"))
	for i := range answers {
		on := []*process{s, other}[i%2]
		on.ok("POST", "/accounts/1/conversations", url.Values{
			"channel": {"email"}, "to": {fmt.Sprintf("answered%d@example.com", i)}, "subject": {fmt.Sprintf("Answer %d", i)},
			"interactions[0][type]": {"user"}, "interactions[0][body]": {"Text."},
		}, nil)
	}
	eventually(t, "all mails are filed", 2*time.Minute, func() bool { return len(ledger(other, m.ID, "filed")) == fetched })
	eventually(t, "all answers are sent", time.Minute, func() bool { n, _ := relay.counts(); return n == answers })
	subjects, numbers := map[string]int{}, map[int64]int{}
	for _, c := range other.conversations() {
		subjects[c.Subject]++
		numbers[c.Number]++
	}
	if len(subjects) != fetched+answers || len(numbers) != fetched+answers || numbers[fetched+answers] != 1 {
		t.Errorf("%d subjects and %d numbers of %d conversations", len(subjects), len(numbers), fetched+answers)
	}
	if n := len(ledger(s, m.ID)); n != fetched {
		t.Errorf("the ledger has %d rows for %d mails", n, fetched)
	}
	if _, again := relay.counts(); again != 0 {
		t.Errorf("%d answers were sent again", again)
	}
	s.stop()
	other.stop()
}

// TestUnreachableRelay keeps an answer and says what is wrong with it.
func TestUnreachableRelay(t *testing.T) {
	t.Parallel()
	s := newServer(t, "HELPWRIGHT_SMTP_URL=smtp://127.0.0.1:1?tls=none")
	s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
	s.ok("POST", "/accounts/1/conversations", url.Values{
		"channel": {"email"}, "to": {"ada@example.com"}, "interactions[0][type]": {"user"}, "interactions[0][body]": {"Text."},
	}, nil)
	eventually(t, "the delivery is deferred", 30*time.Second, func() bool {
		d := s.interactions(1)[0].Deliveries
		return len(d) == 1 && d[0].State == "deferred" && strings.Contains(d[0].Response, "connect")
	})
}
