package main

import (
	"fmt"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/testenv"
)

// autoReply is the form of an automatic reply to every mail.
func autoReply() url.Values {
	return url.Values{"name": {"Thanks"}, "on": {"every"}, "once_per": {"0"}, "translations[en][body]": {"Thank you."}}
}

// spoken returns the interactions of all conversations of a server: those sent by itself, and all.
func spoken(s *process) (automatic, all int) {
	for _, c := range s.conversations() {
		for _, i := range s.interactions(c.ID) {
			if all++; i.Type == "user" && i.Source == "auto" {
				automatic++
			}
		}
	}
	return automatic, all
}

// TestDesksAnswerEachOther has a member of one help desk write to another, both of which answer every mail by themselves: the
// other answers once, and that is all.
func TestDesksAnswerEachOther(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		p := testenv.Postfix(t)
		desk := func(database string) (*process, string, string) {
			intake := freeAddress(t)
			_, port, _ := net.SplitHostPort(intake)
			domain := p.Relayed(port)
			env := []string{"HELPWRIGHT_SMTP_URL=smtp://" + p.Addr + "?tls=none", "HELPWRIGHT_INTAKE_LISTEN=" + intake, "HELPWRIGHT_INTAKE_DOMAIN=" + domain}
			if database != "" {
				env = append(env, "HELPWRIGHT_DATABASE_URL="+database)
			}
			s := newServer(t, env...)
			box := s.mailbox(url.Values{"name": {"Support"}})
			s.ok("POST", "/accounts/1/auto-replies", autoReply(), nil)
			return s, box.InternalEmailAddress, domain
		}
		one, _, domainOne := desk(databaseURL)
		other, address, domainOther := desk("")
		one.ok("POST", "/accounts/1/conversations", url.Values{
			"channel": {"email"}, "to": {address}, "subject": {"Hello"}, "interactions[0][type]": {"user"}, "interactions[0][body]": {"Are you there?"},
		}, nil)
		testenv.Eventually(t, "the answer arrives", func() bool {
			_, all := spoken(one)
			return all == 2
		})
		for range 3 {
			time.Sleep(time.Second)
			testenv.Eventually(t, "no mail is on its way", func() bool { return !queued(t, p, domainOne) && !queued(t, p, domainOther) })
		}
		automatic, all := spoken(one)
		if automatic != 0 || all != 2 {
			t.Errorf("the one that wrote has %d interactions, %d of them automatic", all, automatic)
		}
		if automatic, all = spoken(other); automatic != 1 || all != 2 {
			t.Errorf("the other has %d interactions, %d of them automatic", all, automatic)
		}
	})
}

// TestKillWhileAnsweringByItself kills the server while customers' mail comes in and is answered by itself: in the end each
// has one answer, which the relay has got under one Message-ID.
func TestKillWhileAnsweringByItself(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		const customers = 150
		relay := newSink(t, 20*time.Millisecond)
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL, "HELPWRIGHT_SMTP_URL=smtp://"+relay.address+"?tls=none")
		box := s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
		s.ok("POST", "/accounts/1/auto-replies", autoReply(), nil)
		var wait sync.WaitGroup
		wait.Go(func() {
			for i := range customers {
				from := fmt.Sprintf("customer%d@example.com", i)
				raw := crlf(fmt.Sprintf("From: %s\nTo: support@example.org\nSubject: Mail %d\nDate: Mon, 02 Nov 2026 10:00:00 +0100\nMessage-ID: <auto-%d@example.com>\n\nText.\n", from, i, i))
				handIn(from, box.InternalEmailAddress, raw, s)
			}
		})
		killing([]int64{box.ID}, s)
		wait.Wait()
		testenv.Moving(t, "every mail is answered", func() (string, bool) {
			mails, _ := relay.counts()
			waiting := len(ledgerOf(s, box.ID, "received"))
			return fmt.Sprintf("%d mails wait, %d answers have left", waiting, mails), mails >= customers && waiting == 0
		})
		if automatic, all := spoken(s); automatic != customers || all != 2*customers {
			t.Errorf("%d mails have %d interactions, %d of them automatic", customers, all, automatic)
		}
		mails, again := relay.counts()
		if mails != customers {
			t.Errorf("the relay accepted %d mails, want %d", mails, customers)
		}
		t.Logf("%d kills; %d mails answered once each; %d answers came again with the same Message-ID", kills, mails, again)
	})
}
