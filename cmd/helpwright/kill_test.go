package main

import (
	"fmt"
	"math/rand/v2"
	"net/smtp"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/storagetest/testenv"
)

// kills is how often a run is ended by SIGKILL, at random moments.
const kills = 20

// killing kills and restarts the server at random moments.
func killing(s *process) {
	for range kills {
		time.Sleep(time.Duration(20+rand.IntN(500)) * time.Millisecond)
		s.kill()
		s.start()
	}
}

// TestKillDuringImport kills the server while mails come in from Dovecot and by SMTP: in the end every mail is filed exactly
// once.
func TestKillDuringImport(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		dovecot := testenv.Dovecot(t)
		user := testenv.Name("kill")
		const fetched, submitted = 1500, 150
		var mails []folderMail
		for i := range fetched {
			mails = append(mails, folderMail{"INBOX", crlf(head(i, fmt.Sprintf("Message-ID: <fetched-%d@example.com>\n\nText %d.\n", i, i)))})
		}
		appendAll(t, dovecot, user, mails)
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL, "HELPWRIGHT_ALLOW_PRIVATE_HOSTS=true")
		forward := s.mailbox(url.Values{"name": {"Forwarded"}, "email": {"forwarded@example.org"}})
		m := s.mailbox(imapForm(dovecot, user, "support@example.org"))
		var wait sync.WaitGroup
		wait.Go(func() { submitAll(s.intake, forward.InternalEmailAddress, submitted) })
		killing(s)
		wait.Wait()
		testenv.Eventually(t, "every mail is filed", func() bool {
			return len(ledgerOf(s, m.ID, "received")) == 0 && len(ledgerOf(s, forward.ID, "received")) == 0 && len(s.conversations()) >= fetched+submitted
		})
		subjects := map[string]int{}
		for _, c := range s.conversations() {
			subjects[c.Subject]++
		}
		for subject, n := range subjects {
			if n != 1 {
				t.Errorf("%q was filed %d times", subject, n)
			}
		}
		if len(subjects) != fetched+submitted {
			t.Errorf("%d mails were filed, want %d", len(subjects), fetched+submitted)
		}
		doubles := len(ledgerOf(s, forward.ID, "ignored"))
		t.Logf("%d kills; %d fetched and %d submitted mails filed once each; %d submitted again after a lost 250 and recognised", kills, fetched, submitted, doubles)
		if bad := append(ledgerOf(s, m.ID, "quarantined", "ignored"), ledgerOf(s, forward.ID, "quarantined")...); len(bad) > 0 {
			t.Errorf("%d mails were not filed, the first: %+v", len(bad), bad[0])
		}
	})
}

func crlf(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }

// submitAll hands mails to the intake, each until it is accepted, as a relay does.
func submitAll(intake, to string, n int) {
	for i := range n {
		raw := crlf(head(100_000+i, fmt.Sprintf("Message-ID: <submitted-%d@example.com>\n\nText %d.\n", i, i)))
		for try := 0; try < 1000 && smtp.SendMail(intake, nil, "a@example.com", []string{to}, []byte(raw)) != nil; try++ {
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// TestKillDuringSending kills the server while answers leave: in the end the relay accepted each, and where one came twice
// it is the same mail.
func TestKillDuringSending(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		const answers = 400
		relay := newSink(t, 150*time.Millisecond)
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL, "HELPWRIGHT_SMTP_URL=smtp://"+relay.address+"?tls=none")
		s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
		for i := range answers {
			s.ok("POST", "/accounts/1/conversations", url.Values{
				"channel": {"email"}, "to": {fmt.Sprintf("customer%d@example.com", i)}, "subject": {fmt.Sprintf("Answer %d", i)},
				"interactions[0][type]": {"user"}, "interactions[0][body]": {fmt.Sprintf("Text %d.", i)},
			}, nil)
		}
		killing(s)
		sent := map[int64]bool{} // a delivery that is sent stays so
		testenv.Eventually(t, "every answer is sent", func() bool {
			for _, c := range s.conversations() {
				if !sent[c.ID] {
					i := s.interactions(c.ID)[0]
					sent[c.ID] = len(i.Deliveries) == 1 && i.Deliveries[0].State == "sent"
					if !sent[c.ID] {
						return false
					}
				}
			}
			return len(sent) == answers
		})
		mails, again := relay.counts()
		if mails != answers {
			t.Errorf("the relay accepted %d mails, want %d", mails, answers)
		}
		if limit := kills * 8; again > limit {
			t.Errorf("%d mails came again, more than were on their way at %d kills", again, kills)
		}
		t.Logf("%d kills; %d answers accepted once each; %d came again with the same Message-ID", kills, mails, again)
	})
}

// TestMigrationKilled kills the making of a new database at random moments: the next command finishes it.
func TestMigrationKilled(t *testing.T) {
	t.Parallel()
	for name, open := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range kills / 2 {
				s := &process{t: t, dir: t.TempDir(), env: []string{"HELPWRIGHT_DATABASE_URL=" + open(t)}}
				s.killed(400*time.Millisecond, "migrate")
				if out, err := s.command("migrate"); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			}
		})
	}
}
