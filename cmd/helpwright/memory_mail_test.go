package main

import (
	"encoding/base64"
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

// mostMailMemory is the maximum memory of a server in MiB while large mails arrive: twice the 200 MiB that the intake
// receives at a time.
const mostMailMemory = 400

// largeMail is a mail of so many MiB, with an attachment that is like no other.
func largeMail(n, size int) string {
	content := make([]byte, size<<20*3/4*76/78)
	r := rand.NewChaCha8([32]byte{byte(n)})
	_, _ = r.Read(content) // never fails
	var text strings.Builder
	fmt.Fprintf(&text, "From: Ada %d <ada%[1]d@example.com>\r\nTo: box@example.org\r\nSubject: Large %[1]d\r\nMessage-ID: <large%[1]d@example.com>\r\n"+
		"MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\nContent-Type: text/plain\r\n\r\nSee there.\r\n"+
		"--x\r\nContent-Type: application/octet-stream\r\nContent-Disposition: attachment; filename=large.bin\r\nContent-Transfer-Encoding: base64\r\n\r\n", n)
	for encoded := base64.StdEncoding.EncodeToString(content); encoded != ""; {
		line := encoded[:min(76, len(encoded))]
		encoded = encoded[len(line):]
		text.WriteString(line + "\r\n")
	}
	return text.String() + "--x--\r\n"
}

// TestMemoryOfLargeMails has many mails of 30 MB come at once, over SMTP and from a mail server, for mailboxes that are
// filed side by side. All are filed, and the memory stays within bounds.
func TestMemoryOfLargeMails(t *testing.T) {
	t.Parallel()
	n := crowd(6, 50)
	const boxes = 4 // as many as are filed at a time
	mails := make([]string, n)
	for i := range mails {
		mails[i] = largeMail(i, 30)
	}
	for name, c := range map[string]func(t *testing.T, s *process) []mailboxView{
		"SMTP": func(t *testing.T, s *process) (all []mailboxView) {
			for i := range boxes {
				all = append(all, s.mailbox(url.Values{"name": {"Box"}, "email_address": {fmt.Sprintf("box%d@example.org", i)}}))
			}
			var senders sync.WaitGroup
			for i, raw := range mails {
				senders.Go(func() {
					var err error
					for range 600 { // whom a full intake puts off comes back
						if err = smtp.SendMail(s.intake, nil, "ada@example.com", []string{all[i%boxes].InternalEmailAddress}, []byte(raw)); err == nil {
							return
						}
						time.Sleep(500 * time.Millisecond)
					}
					t.Error(err)
				})
			}
			senders.Wait()
			return all
		},
		"IMAP": func(t *testing.T, s *process) (all []mailboxView) {
			dovecot := testenv.Dovecot(t)
			for b := range boxes {
				user := testenv.Name("large")
				var own []folderMail
				for i := b; i < len(mails); i += boxes {
					own = append(own, folderMail{"INBOX", mails[i]})
				}
				appendAll(t, dovecot, user, own)
				all = append(all, s.mailbox(imapForm(dovecot, user, fmt.Sprintf("box%d@example.org", b))))
			}
			return all
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, "HELPWRIGHT_DATABASE_URL=sqlite:data/helpwright.db", "HELPWRIGHT_ALLOW_PRIVATE_HOSTS=true", "HELPWRIGHT_MAIL_PER_ADDRESS=0")
			before := s.peak()
			all := c(t, s)
			testenv.Eventually(t, "all mails are filed", func() bool {
				filed := 0
				for _, b := range all {
					filed += len(ledgerOf(s, b.ID, "filed"))
				}
				return filed == n
			})
			most := s.peak()
			t.Logf("%d mails of 30 MB by %s: from %d to at most %d MiB", n, name, before, most)
			if most > mostMailMemory {
				t.Errorf("%d MiB, at most %d are allowed", most, mostMailMemory)
			}
		})
	}
}
