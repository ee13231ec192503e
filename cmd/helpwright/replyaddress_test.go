package main

import (
	"fmt"
	"net/mail"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/helpwright/helpwright/storage/testenv"
)

// delivery is a Postfix that delivers the mail of a domain to users of a Dovecot.
type delivery struct {
	testenv.PostfixServer
	dovecot testenv.DovecotServer
}

// deliver makes one for the local parts, each a user of that name. configuration is put behind its own.
func deliver(t *testing.T, dovecot testenv.DovecotServer, users []string, configuration ...string) delivery {
	t.Helper()
	root := filepath.Join(filepath.Dir(dovecot.Ctl), "mail")
	info, err := os.Stat(root)
	if err != nil {
		testenv.Skip(t, "the mail of this Dovecot is somewhere else")
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		testenv.Skip(t, "it cannot be seen who owns the mail of this Dovecot")
	}
	account, err := user.LookupId(fmt.Sprint(owner.Uid)) // the folder's group may be root's, which Postfix delivers to no mail as
	if err != nil {
		t.Fatal(err)
	}
	maps := ""
	for _, name := range users {
		maps += fmt.Sprintf(" %s@box.test=%s/", name, name)
	}
	return delivery{dovecot: dovecot, PostfixServer: testenv.OwnPostfix(t, append([]string{
		"virtual_mailbox_base = " + root, "virtual_mailbox_maps = inline:{" + maps + " }",
		"virtual_uid_maps = static:" + account.Uid, "virtual_gid_maps = static:" + account.Gid,
	}, configuration...)...)}
}

// inbox returns the unread mails delivered to a user.
func (d delivery) inbox(t *testing.T, user string) []*mail.Message {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(filepath.Dir(d.dovecot.Ctl), "mail", user, "new", "*"))
	if err != nil {
		t.Fatal(err)
	}
	var mails []*mail.Message
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		m, err := mail.ReadMessage(strings.NewReader(string(raw)))
		if err != nil {
			t.Fatal(err)
		}
		mails = append(mails, m)
	}
	return mails
}

type taggedView struct {
	State, Text string
	Address     string
}

// TestReplyAddressOfPostfix uses a mailbox at a Postfix and a Dovecot. With Postfix's default configuration, without "+"
// addresses, a probe is refused, answers can be replied to, and bounces are attributed by their content; with support for
// them, the probe arrives, and answers and their envelopes use such addresses from then on.
func TestReplyAddressOfPostfix(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		database  string
		delimiter string
		state     string
		want      string
	}{
		"as it comes":      {"SQLite", "", "refused", "plain"},
		"with a delimiter": {"PostgreSQL", "+", "arrived", "subaddress"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dovecot := testenv.Dovecot(t)
			support, customer := testenv.Name("support"), testenv.Name("customer")
			p := deliver(t, dovecot, []string{support, customer}, "recipient_delimiter = "+test.delimiter)
			t.Cleanup(func() {
				if text, err := os.ReadFile(filepath.Join(filepath.Dir(p.Ctl), "log")); err == nil && t.Failed() {
					t.Logf("Postfix says:\n%s", text)
				}
			})
			s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databases[test.database](t), "HELPWRIGHT_ALLOW_PRIVATE_HOSTS=true", "HELPWRIGHT_SMTP_URL=smtp://"+p.Addr+"?tls=none")
			box := s.mailbox(imapForm(dovecot, support, p.Box(support)))
			path := mailboxPath(box.ID)
			var replies object[struct {
				ReplyAddress string `json:"reply_address"`
			}]
			if s.ok("GET", path, nil, &replies); replies.Data.ReplyAddress != "plain" {
				t.Errorf("before, reply_address is %s", replies.Data.ReplyAddress)
			}
			var tested object[struct {
				OK     bool
				Tagged taggedView `json:"tagged_address"`
			}]
			s.ok("POST", path+"/test", nil, &tested)
			if !tested.Data.OK || tested.Data.Tagged.State != "pending" || !strings.HasPrefix(tested.Data.Tagged.Address, support+"+p-") {
				t.Fatalf("the test is %+v", tested.Data)
			}
			var status object[struct {
				Tagged taggedView `json:"tagged_address"`
			}]
			testenv.Eventually(t, "the probe has ended", func() bool {
				s.ok("GET", path+"/status", nil, &status)
				return status.Data.Tagged.State != "pending"
			})
			if s.ok("GET", path, nil, &replies); status.Data.Tagged.State != test.state || replies.Data.ReplyAddress != test.want {
				t.Fatalf("the probe is %+v, reply_address %s", status.Data.Tagged, replies.Data.ReplyAddress)
			}

			// A customer writes, gets an answer together with an unknown recipient, and replies.
			var refusal atomic.Value
			refusal.Store("550 5.1.1 There is nobody of that name")
			gone := "gone@" + p.Relayed(refuser(t, &refusal))
			raw := "From: " + p.Box(customer) + "\nTo: " + p.Box(support) + "\nMessage-ID: <1@box.test>\nSubject: Door\n\nIt is stuck.\n"
			if err := submit(p.PostfixServer, p.Box(support), crlf(raw)); err != nil {
				t.Fatal(err)
			}
			testenv.Eventually(t, "the mail is filed", func() bool { return len(s.conversations()) == 1 })
			id := s.conversations()[0].ID
			s.ok("POST", fmt.Sprintf("/accounts/1/conversations/%d/interactions", id), url.Values{"type": {"user"}, "body": {"Pull."}, "cc[]": {gone}}, nil)
			testenv.Eventually(t, "the answer arrives", func() bool { return len(p.inbox(t, customer)) == 1 })
			answer := p.inbox(t, customer)[0].Header
			reply := answer.Get("Reply-To")
			if reply == "" {
				reply = answer.Get("From")
			}
			to, err := mail.ParseAddress(reply)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(to.Address, "+r-") != (test.want == "subaddress") || strings.Contains(answer.Get("Return-Path"), "+b-") != (test.want == "subaddress") {
				t.Errorf("replies go to %s, the envelope came from %s", to.Address, answer.Get("Return-Path"))
			}
			raw = "From: " + p.Box(customer) + "\nTo: " + to.Address + "\nMessage-ID: <2@box.test>\nIn-Reply-To: " + answer.Get("Message-Id") + "\nSubject: Re: Delivery problem with my door: could not be delivered\n\nIt works.\n"
			if err := submit(p.PostfixServer, to.Address, crlf(raw)); err != nil {
				t.Fatalf("the answer cannot be replied to: %v", err)
			}
			rule := "references"
			if test.want == "subaddress" {
				rule = "token"
			}
			testenv.Eventually(t, "the reply is filed", func() bool { return len(s.interactions(id)) == 3 })
			if got := s.interactions(id)[2].Threading.Rule; got != rule {
				t.Errorf("the reply is filed by %s", got)
			}
			// The bounce is about the unknown recipient.
			state := func(address string) string {
				for _, d := range s.interactions(id)[1].Deliveries {
					if d.Address == address {
						return d.State
					}
				}
				return ""
			}
			testenv.Eventually(t, "the bounce is known", func() bool { return state(gone) == "bounced" })
			if got := state(p.Box(customer)); got != "sent" {
				t.Errorf("the delivery to the customer is %s", got)
			}
			// Of two recipients, only the one identified beyond doubt is suppressed.
			listed := all[struct{ Email string }](s, "/accounts/1/suppressions")
			if (len(listed) == 1) != (test.want == "subaddress") || len(listed) == 1 && listed[0].Email != gone {
				t.Errorf("suppressed are %+v", listed)
			}
			if n := len(s.conversations()); n != 1 || len(s.interactions(id)) != 3 {
				t.Errorf("%d conversations, %d interactions", n, len(s.interactions(id)))
			}
			if rows := ledgerOf(s, box.ID, "ignored"); len(rows) != 1 && test.want == "subaddress" || len(rows) > 0 && !strings.Contains(rows[0].Reason, "our own test") {
				t.Errorf("ignored are %+v", rows)
			}
		})
	}
}
