package main

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testnet"
)

// deadly is an IMAP server that ends the process that selects a folder, as a server does that exhausts its memory.
type deadly struct {
	addr  string
	tame  atomic.Bool // it does no harm any more
	kills chan struct{}
}

func newDeadly(t *testing.T) *deadly {
	d := &deadly{kills: make(chan struct{}, 100)}
	d.addr = testnet.Listen(t, func(conn net.Conn) {
		fmt.Fprint(conn, "* OK [CAPABILITY IMAP4rev1] ready\r\n")
		lines := bufio.NewReader(conn)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			tag, command, _ := strings.Cut(strings.TrimSpace(line), " ")
			switch word, _, _ := strings.Cut(command, " "); {
			case word == "EXAMINE" && !d.tame.Load():
				d.kills <- struct{}{}
				_, _ = lines.ReadString('\n') // until it is dead
				return
			case word == "EXAMINE":
				fmt.Fprint(conn, "* 0 EXISTS\r\n* OK [UIDVALIDITY 1] valid\r\n")
			case word == "CAPABILITY":
				fmt.Fprint(conn, "* CAPABILITY IMAP4rev1\r\n")
			}
			fmt.Fprintf(conn, "%s OK done\r\n", tag)
		}
	})
	return d
}

// A mailbox at which the process dies three times is no longer fetched. The others are, however often the process is killed
// while they are idle or fetched at the same time.
func TestDeadlyMailboxIsParked(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		dovecot := testenv.Dovecot(t)
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL, "HELPWRIGHT_ALLOW_PRIVATE_HOSTS=true", "HELPWRIGHT_FETCH_INTERVAL=1s")
		user, mails := testenv.Name("healthy"), 0
		healthy := s.mailbox(imapForm(dovecot, user, "healthy@example.org")).ID
		type status struct {
			State     string
			Connected bool
			LastError string `json:"last_error"`
		}
		of := func(id int64) status {
			var st object[status]
			s.ok("GET", mailboxPath(id)+"/status", nil, &st)
			return st.Data
		}
		works := func(when string) {
			t.Helper()
			maildir(t, dovecot, user, head(mails, fmt.Sprintf("Message-ID: <%d.%s@example.com>\n\nText.\n", mails, user)))
			mails++
			testenv.Eventually(t, when+", mail comes", func() bool {
				if of(healthy).State == "parked" {
					t.Fatalf("%s, a healthy mailbox is parked", when)
				}
				return len(ledgerOf(s, healthy, "filed")) == mails
			})
			testenv.Eventually(t, when+", it waits for mail", func() bool { return of(healthy).Connected })
		}
		works("at first")
		for range 4 { // while it does nothing
			time.Sleep(200 * time.Millisecond) // the work that led to the status ends
			s.kill()
			s.start()
			works("after a kill")
		}
		d := newDeadly(t)
		form := imapForm(testenv.DovecotServer{Addr: d.addr, Password: "x"}, "u", "deadly@example.org")
		form["connection[inbound][encryption]"] = []string{"NONE"}
		box := s.mailbox(form).ID
		for range 3 {
			select {
			case <-d.kills:
			case <-time.After(testenv.Patience):
				t.Fatal("the deadly server is not asked")
			}
			s.kill()
			s.start()
		}
		testenv.Eventually(t, "it is parked", func() bool { return of(box).State == "parked" })
		if st := of(box); !strings.Contains(st.LastError, "Test the connection") {
			t.Errorf("the status is %+v", st)
		}
		works("beside a parked one")
		s.kill()
		s.start()
		works("after a restart beside a parked one")
		if n := len(d.kills); n != 0 {
			t.Errorf("a parked mailbox was fetched %d times", n)
		}
		d.tame.Store(true)
		var test object[struct{ OK bool }]
		s.ok("POST", mailboxPath(box)+"/test", nil, &test)
		if !test.Data.OK {
			t.Error("the test of a tame server fails")
		}
		testenv.Within(t, 50*time.Second, "it is fetched again", func() bool { return of(box).State == "connected" })
	})
}
