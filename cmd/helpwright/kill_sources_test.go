package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/testenv"
)

// maildir puts a mail into the INBOX of a Dovecot user.
func maildir(t *testing.T, server testenv.DovecotServer, user, raw string) {
	t.Helper()
	root := filepath.Join(filepath.Dir(server.Ctl), "mail")
	owner, err := os.Stat(root)
	if err != nil {
		testenv.Skip(t, "the mail of this Dovecot is somewhere else")
	}
	own := func(path string) {
		if sys, ok := owner.Sys().(*syscall.Stat_t); ok && os.Getuid() == 0 {
			if err := os.Chown(path, int(sys.Uid), int(sys.Gid)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, folder := range []string{"", "tmp", "new", "cur"} {
		if err := os.MkdirAll(filepath.Join(root, user, folder), 0o700); err != nil {
			t.Fatal(err)
		}
		own(filepath.Join(root, user, folder))
	}
	name := testenv.Name(fmt.Sprint(time.Now().UnixNano())) + ".test"
	path := filepath.Join(root, user, "tmp", name)
	if err := os.WriteFile(path, []byte(raw), 0o600); err != nil {
		t.Fatal(err)
	}
	own(path)
	if err := os.Rename(path, filepath.Join(root, user, "new", name)); err != nil {
		t.Fatal(err)
	}
}

// pop3Form is a mailbox fetched by POP3.
func pop3Form(t *testing.T, dovecot testenv.DovecotServer, user, email string) url.Values {
	t.Helper()
	host, port, err := net.SplitHostPort(dovecot.POP3Addr)
	if err != nil {
		t.Fatal(err)
	}
	in := "connection[inbound]"
	return url.Values{
		"name": {user}, "email": {email}, in + "[type]": {"POP3"}, in + "[host]": {host}, in + "[port]": {port}, in + "[username]": {user},
		in + "[password]": {dovecot.Password}, in + "[encryption]": {"TLS"}, in + "[validate_certificate]": {"0"},
	}
}

// TestKillWhileMailTrickles kills the server at any moment of fetching and filing, while mails arrive one by one in an IMAP
// and a POP3 mailbox, and then while it only waits for mail (IDLE): in the end every mail is filed exactly once, and none
// was deleted on the server.
func TestKillWhileMailTrickles(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		const deaths, idleDeaths, trickled = 8, 3, 100
		dovecot := testenv.POP3(t)
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL, "HELPWRIGHT_ALLOW_PRIVATE_HOSTS=true", "HELPWRIGHT_FETCH_INTERVAL=1s")
		users := map[string]string{"imap": testenv.Name("imap"), "pop3": testenv.Name("pop3")}
		deliver := func(i int) {
			for kind, user := range users {
				maildir(t, dovecot, user, head(i, fmt.Sprintf("Message-ID: <%s-%d@example.com>\n\nText %d.\n", kind, i, i)))
			}
		}
		for i := range trickled / 3 { // a start
			deliver(i)
		}
		boxes := map[string]int64{
			"imap": s.mailbox(imapForm(dovecot, users["imap"], "imap@example.org")).ID,
			"pop3": s.mailbox(pop3Form(t, dovecot, users["pop3"], "pop3@example.org")).ID,
		}
		filed := func(want int) {
			t.Helper()
			for kind, id := range boxes {
				testenv.Moving(t, kind+": every mail is filed", func() (string, bool) {
					filed, waiting := len(ledgerOf(s, id, "filed")), len(ledgerOf(s, id, "received"))
					return fmt.Sprintf("%d are filed, %d wait", filed, waiting), filed >= want && waiting == 0
				})
			}
		}
		delivered := make(chan struct{})
		go func() {
			defer close(delivered)
			for i := trickled / 3; i < trickled; i++ {
				deliver(i)
				time.Sleep(time.Duration(rand.IntN(100)) * time.Millisecond)
			}
		}()
		seen := map[int64]int{}
		for range deaths {
			time.Sleep(time.Duration(rand.IntN(1000)) * time.Millisecond)
			s.spare([]int64{boxes["imap"], boxes["pop3"]}, seen)
			s.kill()
			s.start()
		}
		<-delivered
		for death := range idleDeaths {
			filed(trickled + death)
			testenv.Eventually(t, "it waits for mail", func() bool {
				var status object[struct{ Connected bool }]
				s.ok("GET", mailboxPath(boxes["imap"])+"/status", nil, &status)
				return status.Data.Connected
			})
			time.Sleep(time.Duration(rand.IntN(100)) * time.Millisecond)
			s.kill()
			deliver(trickled + death) // it is not notified of this one
			s.start()
		}
		const each = trickled + idleDeaths
		filed(each)
		for kind, id := range boxes {
			if all := ledgerOf(s, id); len(all) != each {
				t.Errorf("%s: %d mails in the ledger, want %d", kind, len(all), each)
			}
			var r object[struct {
				Folders []struct {
					OnServer               int `json:"on_server"`
					Waiting, Missing, Gone int
				}
			}]
			s.ok("POST", mailboxPath(id)+"/reconcile", nil, &r)
			if f := r.Data.Folders[0]; f.OnServer != each || f.Waiting+f.Missing+f.Gone != 0 {
				t.Errorf("%s: the server and the ledger differ: %+v", kind, f)
			}
		}
		if n := len(s.conversations()); n != 2*each {
			t.Errorf("%d conversations, want %d", n, 2*each)
		}
	})
}
