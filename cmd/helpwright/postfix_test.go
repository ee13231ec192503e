package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/smtp"
	"net/textproto"
	"net/url"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/testenv"
)

// submit hands mails to Postfix over one connection.
func submit(p testenv.PostfixServer, to string, raws ...string) error {
	c, err := smtp.Dial(p.Addr)
	if err != nil {
		return err
	}
	defer c.Close()
	for _, raw := range raws {
		if err := errors.Join(c.Mail(testenv.Discarded), c.Rcpt(to)); err != nil {
			return err
		}
		w, err := c.Data()
		if err != nil {
			return err
		}
		_, err = w.Write([]byte(raw))
		if err := errors.Join(err, w.Close()); err != nil {
			return err
		}
	}
	return nil
}

// queued reports whether Postfix still has a mail for a domain. It looks twice: Postfix lists the active mails before the
// deferred ones, and a first look misses those that become active meanwhile, which may be all.
func queued(t *testing.T, p testenv.PostfixServer, domain string) bool {
	t.Helper()
	for range 2 {
		out, err := exec.Command(p.Ctl, "queue").Output()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(out), "@"+domain+`"`) {
			return true
		}
	}
	return false
}

// TestPostfixAsSource kills the server repeatedly while Postfix delivers 200 mails to it, by SMTP or by LMTP. Postfix keeps
// mails that were not accepted and retries: in the end its queue is empty, and each mail is filed exactly once.
func TestPostfixAsSource(t *testing.T) {
	t.Parallel()
	const mails, deaths = 200, 5
	p := testenv.Postfix(t)
	for name, tc := range map[string]struct {
		database string
		setting  string
		domain   func(port string) string
	}{
		"SMTP to SQLite":     {"SQLite", "HELPWRIGHT_INTAKE_LISTEN=", p.Relayed},
		"LMTP to PostgreSQL": {"PostgreSQL", "HELPWRIGHT_LMTP_LISTEN=", p.Delivered},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			intake := freeAddress(t)
			_, port, _ := net.SplitHostPort(intake)
			domain := tc.domain(port)
			s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databases[tc.database](t), tc.setting+intake, "HELPWRIGHT_INTAKE_DOMAIN="+domain)
			box := s.mailbox(url.Values{"name": {"Support"}})
			var raws []string
			want := map[string]int{}
			for i := range mails {
				raws = append(raws, crlf(head(i, fmt.Sprintf("Message-ID: <%d@example.com>\n\n.Text %d.\n", i, i))))
				want[fmt.Sprintf("Mail %d", i)] = 1
			}
			submitted := make(chan error, 1)
			go func() { submitted <- submit(p, box.InternalEmailAddress, raws...) }()
			for death := range deaths { // each in the midst of it
				testenv.Eventually(t, "mails come in", func() bool { return len(ledgerOf(s, box.ID)) >= (death+1)*mails/(deaths+2) })
				time.Sleep(time.Duration(rand.IntN(50)) * time.Millisecond)
				s.kill()
				s.start()
			}
			if err := <-submitted; err != nil {
				t.Fatal(err)
			}
			testenv.Eventually(t, "every mail is filed", func() bool {
				return !queued(t, p, domain) && len(ledgerOf(s, box.ID, "received")) == 0
			})
			subjects := map[string]int{}
			for _, c := range s.conversations() {
				subjects[c.Subject]++
			}
			if diff := cmp.Diff(want, subjects); diff != "" {
				t.Error(diff)
			}
			if n := len(ledgerOf(s, box.ID, "filed")); n != mails {
				t.Errorf("%d mails are filed, want %d", n, mails)
			}
			if bad := ledgerOf(s, box.ID, "quarantined"); len(bad) > 0 {
				t.Errorf("in quarantine are %+v", bad)
			}
			t.Logf("%d mails came again after a lost answer and were recognised", len(ledgerOf(s, box.ID, "ignored")))
		})
	}
}

// refuser is a mail server that takes no mail: it gives one answer to all recipients.
func refuser(t *testing.T, answer *atomic.Value) (port string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				c := textproto.NewConn(conn)
				_ = c.PrintfLine("220 refuser ESMTP")
				for {
					line, err := c.ReadLine()
					if err != nil {
						return
					}
					say := "250 fine"
					switch verb, _, _ := strings.Cut(strings.ToUpper(line), " "); verb {
					case "RCPT":
						say, _ = answer.Load().(string)
					case "DATA":
						say = "503 5.5.1 nobody is accepted"
					}
					_ = c.PrintfLine("%s", say)
				}
			}()
		}
	}()
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port
}

// TestBouncesOfPostfix sends an answer through Postfix to an existing recipient and one that the server refuses, at first
// temporarily and then permanently. Postfix's reports arrive as mail and are attributed to the answer and to the right
// recipient.
func TestBouncesOfPostfix(t *testing.T) {
	t.Parallel()
	p := testenv.Postfix(t)
	var refusal atomic.Value
	refusal.Store("450 4.2.2 The mailbox is full just now")
	gone, there := "gone@"+p.Relayed(refuser(t, &refusal)), testenv.Name("there")
	s := newServer(t, "HELPWRIGHT_SMTP_URL=smtp://"+p.Addr+"?tls=none")
	// The company's address is forwarded to the intake, so reports come that way too.
	_, port, _ := net.SplitHostPort(s.intake)
	s.stop()
	s.env = append(s.env, "HELPWRIGHT_INTAKE_DOMAIN="+p.Relayed(port))
	s.start()
	box := s.mailbox(url.Values{"name": {"Support"}})
	local, _, _ := strings.Cut(box.InternalEmailAddress, "@")
	s.ok("PUT", mailboxPath(box.ID), url.Values{"name": {"Support"}, "email": {p.Forwarded(local, port)}}, nil)
	var c object[conversationView]
	s.ok("POST", "/accounts/1/conversations", url.Values{
		"channel": {"email"}, "to": {gone}, "subject": {"Order"},
		"interactions[0][type]": {"user"}, "interactions[0][body]": {"Ready."}, "interactions[0][cc][]": {p.Box(there)},
	}, &c)
	path := fmt.Sprintf("/accounts/1/conversations/%d", c.Data.ID)
	state := func(address string) (state, response string) {
		for _, d := range s.interactions(c.Data.ID)[0].Deliveries {
			if d.Address == address {
				return d.State, d.Response
			}
		}
		return "", ""
	}
	testenv.Eventually(t, "a delay is reported", func() bool {
		_, response := state(gone)
		return strings.HasPrefix(response, "Delayed on its way") && strings.Contains(response, "full just now")
	})
	if now, _ := state(gone); now != "sent" {
		t.Errorf("after a report of a delay the delivery is %s", now)
	}
	s.ok("PUT", path, url.Values{"subject": {"Order"}, "status": {"closed"}}, nil)
	refusal.Store("550 5.1.1 There is nobody of that name")
	testenv.Eventually(t, "a failure is reported", func() bool {
		now, response := state(gone)
		return now == "bounced" && strings.Contains(response, "nobody of that name")
	})
	if now, _ := state(p.Box(there)); now != "sent" {
		t.Errorf("the delivery to who is there is %s", now)
	}
	s.ok("GET", path, nil, &c)
	if c.Data.Status != "posted" {
		t.Errorf("the conversation is %s", c.Data.Status)
	}
	if n := len(s.conversations()); n != 1 {
		t.Errorf("%d conversations, want 1: reports are no messages", n)
	}
	if n := len(p.Mails(t, there)); n != 1 {
		t.Errorf("%d mails arrived, want 1", n)
	}
}
