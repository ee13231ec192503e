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

	"github.com/helpwright/helpwright/storage/testenv"
)

// kills is how often a run is ended by SIGKILL, at random moments.
const kills = 20

// killing kills and restarts servers in turn at random moments. No mail that waits in the mailboxes is the next one at more than
// a few deaths: at the fourth the server would take it for the cause and set it aside, and a busy machine may need longer for
// one than a server lives here.
func killing(boxes []int64, servers ...*process) {
	killTimes(kills, map[int64]int{}, boxes, servers...)
}

// killTimes is killing with some number of kills, and what is known of the deaths at mails.
func killTimes(n int, deaths map[int64]int, boxes []int64, servers ...*process) {
	for i := range n {
		s := servers[i%len(servers)]
		time.Sleep(time.Duration(20+rand.IntN(500)) * time.Millisecond)
		s.spare(boxes, deaths)
		s.kill()
		s.start()
	}
}

// spare waits until the mails that are filed next in some mailboxes have not seen too many deaths, and notes one more.
func (s *process) spare(boxes []int64, deaths map[int64]int) {
	s.t.Helper()
	for _, box := range boxes {
		next := int64(0)
		testenv.Moving(s.t, "the next mail is filed", func() (string, bool) {
			next = 0
			for _, m := range ledgerOf(s, box, "received") {
				next = m.ID // the oldest is the last
			}
			return fmt.Sprint(next), deaths[next] < 2
		})
		if next != 0 {
			deaths[next]++
		}
	}
}

// insist repeats what a server that dies may not have answered until it has, as relays and clients do.
func insist(t *testing.T, what string, do func() bool) {
	for end := time.Now().Add(testenv.Patience); !do(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("it is never accepted: %s", what)
			return
		}
	}
}

// handIn hands a mail to one of the servers' intakes until it is accepted, as a relay does.
func handIn(from, to, raw string, servers ...*process) {
	insist(servers[0].t, "a mail from "+from, func() bool {
		return smtp.SendMail(servers[rand.IntN(len(servers))].intake, nil, from, []string{to}, []byte(raw)) == nil
	})
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
		wait.Go(func() { submitAll(s, forward.InternalEmailAddress, submitted) })
		killing([]int64{m.ID, forward.ID}, s)
		wait.Wait()
		s.ok("POST", mailboxPath(m.ID)+"/test", nil, nil) // after so many deaths it would rest for a minute
		testenv.Moving(t, "every mail is filed", func() (string, bool) {
			waiting, filed := len(ledgerOf(s, m.ID, "received"))+len(ledgerOf(s, forward.ID, "received")), len(s.conversations())
			return fmt.Sprintf("%d mails wait, %d are filed", waiting, filed), waiting == 0 && filed >= fetched+submitted
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
func submitAll(s *process, to string, n int) {
	for i := range n {
		handIn("a@example.com", to, crlf(head(100_000+i, fmt.Sprintf("Message-ID: <submitted-%d@example.com>\n\nText %d.\n", i, i))), s)
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
		killing(nil, s)
		sent := map[int64]bool{} // a delivery that is sent stays so
		testenv.Moving(t, "every answer is sent", func() (string, bool) {
			for _, c := range s.conversations() {
				if sent[c.ID] {
					continue
				}
				if i := s.interactions(c.ID)[0]; len(i.Deliveries) != 1 || i.Deliveries[0].State != "sent" {
					break
				}
				sent[c.ID] = true
			}
			return fmt.Sprint(len(sent)), len(sent) == answers
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
