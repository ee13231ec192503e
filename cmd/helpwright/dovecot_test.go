package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/testenv"
)

// TestImportFromDovecot imports 2,000 mails of all kinds from a real server and counts the results exactly.
func TestImportFromDovecot(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		dovecot := testenv.Dovecot(t)
		user := testenv.Name("import")
		mails, want := mixture(2000)
		appendAll(t, dovecot, user, mails)
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL, "HELPWRIGHT_ALLOW_PRIVATE_HOSTS=true")
		m := s.mailbox(imapForm(dovecot, user, "support@example.org", "INBOX", "Archive"))
		testenv.Eventually(t, "all mails are in the ledger and none waits", func() bool {
			return len(ledgerOf(s, m.ID)) == len(mails) && len(ledgerOf(s, m.ID, "received")) == 0
		})
		got := tally{Ignored: len(ledgerOf(s, m.ID, "ignored")), Quarantined: len(ledgerOf(s, m.ID, "quarantined"))}
		for _, c := range s.conversations() {
			got.Conversations++
			for _, i := range s.interactions(c.ID) {
				got.Interactions++
				got.Attachments += i.attachments(s, c.ID)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s\n%v", diff, reasons(s, m.ID))
		}
		for _, folder := range []string{"INBOX", "Archive"} {
			for _, flags := range flagsOf(t, dovecot, user, folder) {
				if strings.Contains(flags, `\Seen`) || strings.Contains(flags, `\Deleted`) {
					t.Fatalf("a mail in %s was marked: %s", folder, flags)
				}
			}
		}
		var status object[struct {
			Connected     bool
			LastSuccessAt string `json:"last_success_at"`
		}]
		s.ok("GET", mailboxPath(m.ID)+"/status", nil, &status)
		if !status.Data.Connected || status.Data.LastSuccessAt == "" {
			t.Errorf("the status is %+v", status.Data)
		}
		// Mail that comes now is noticed by IDLE.
		appendAll(t, dovecot, user, []folderMail{{"INBOX", strings.ReplaceAll(head(9999, "\nLate.\n"), "\n", "\r\n")}})
		testenv.Within(t, time.Minute, "a late mail is filed", func() bool { return len(s.conversations()) == want.Conversations+1 })
		s.stop()
	})
}

// reasons counts why mails were not filed.
func reasons(s *process, mailbox int64) map[string]int {
	counts := map[string]int{}
	for _, f := range ledgerOf(s, mailbox, "quarantined", "ignored") {
		reason, _, _ := strings.Cut(f.Reason, " of mail ")
		counts[f.State+": "+reason]++
	}
	return counts
}
