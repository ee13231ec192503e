package ingest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/storage/testenv"
)

// forbids matches the headers of mails that must not be answered by a program: RFC 3834, RFC 2919, RFC 2369, and what
// Exchange, ticket systems and mail systems write.
var forbids = regexp.MustCompile(`(?im)^(auto-submitted:\s*auto|precedence:\s*(bulk|list|junk|auto)|list-(id|post|unsubscribe):|x-auto-response-suppress:.*(all|oof|autoreply)|` +
	`x-autoreply:\s*yes|x-autorespond:|x-failed-recipients:|return-path:\s*<>|content-type:\s*multipart/report|from:.*(mailer-daemon|no-?reply)@)`)

// vacations are automatic answers as programs of all kinds write them.
var vacations = map[string]string{
	"RFC 3834":           "Auto-Submitted: auto-replied\nSubject: Out of office\n",
	"a vacation program": "Precedence: bulk\nSubject: Re: Hello (away from my mail)\n",
	"Exchange":           "X-Auto-Response-Suppress: All\nauto-submitted: auto-generated\nSubject: Automatic reply: Hello\n",
	"cPanel":             "X-Autorespond: Hello\nPrecedence: auto_reply\nSubject: Away\n",
	"a ticket system":    "Auto-Submitted: auto-generated (ticket)\nSubject: [#1] We have your message\n",
	"Lotus":              "X-Autoreply: yes\nSubject: I am out\n",
	"a mailing list":     "List-Id: <users.example.com>\nList-Post: <mailto:users@example.com>\nSubject: News\n",
	"a bounce":           "Return-Path: <>\nContent-Type: multipart/report; boundary=x\nSubject: Undelivered\n",
	"a mail system":      "Subject: Warning\n",
	"a broken report":    "Subject: Disposition notification\nContent-Type: multipart/report; report-type=disposition-notification;\nboundary=\"x\"\n",
}

// newAnswering is a bundle whose mailbox answers every mail.
func newAnswering(t *testing.T) (*bundle, *memstore.Store) {
	t.Helper()
	store := memstore.New()
	b := newBundle(t, memblob.New(), func(cfg *helpdesk.Config) { cfg.Store, cfg.MaxMailPerAddress = store, -1 })
	in := helpdesk.AutoReplyInput{
		Name: storage.Some("Thanks"), On: storage.Some(helpdesk.AutoEvery), OncePer: storage.Some(time.Duration(0)),
		Translations: storage.Some(map[string]helpdesk.AutoText{"en": {Body: "Thank you"}}),
	}
	check(b.desk.AutoReplies().Create(t.Context(), in))(t)
	return b, store
}

// answers files what was taken and returns how many automatic replies the jobs send.
func (b *bundle) answers(store *memstore.Store) (sent int) {
	b.t.Helper()
	if err := b.filer.Handle(b.t.Context(), b.job()); err != nil {
		b.t.Fatal(err)
	}
	now := time.Now()
	for _, job := range check(store.Claim(b.t.Context(), map[string]int{helpdesk.JobAutoReply: 100}, now, now.Add(time.Hour)))(b.t) {
		for range 2 { // as after a crash
			if err := b.svc.Jobs().AutoReply(b.t.Context(), job); err != nil {
				b.t.Error(err)
			}
		}
	}
	return len(check(store.Claim(b.t.Context(), map[string]int{helpdesk.JobSendMail: 100}, now.Add(time.Hour), now.Add(2*time.Hour)))(b.t))
}

// Programs that answer are not answered, whatever they are.
func TestAutoRepliesToPrograms(t *testing.T) {
	t.Parallel()
	for name, header := range vacations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, store := newAnswering(t)
			from := "ada@example.com"
			if name == "a mail system" {
				from = "MAILER-DAEMON@example.com"
			}
			b.take("From: " + from + "\nTo: support@example.org\nMessage-ID: <1@example.com>\n" + header + "\nI am away.\n")
			if sent := b.answers(store); sent != 0 {
				t.Errorf("%d answers", sent)
			}
		})
	}
	b, store := newAnswering(t)
	b.take("From: ada@example.com\nTo: support@example.org\nMessage-ID: <1@example.com>\nSubject: Hello\n\nIs anybody there?\n")
	if sent := b.answers(store); sent != 1 {
		t.Errorf("%d answers to a person", sent)
	}
}

// Of the corpus, each mail is answered at most once, and none that forbids it.
func TestAutoRepliesToCorpus(t *testing.T) {
	t.Parallel()
	b, store := newAnswering(t)
	mails, answered, forbidden := 0, 0, 0
	err := filepath.WalkDir(testenv.Corpus(t), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".eml" {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil || len(raw) == 0 {
			return err
		}
		b.take(string(raw))
		sent := b.answers(store)
		mails, answered = mails+1, answered+sent
		header, _, _ := strings.Cut(strings.ReplaceAll(string(raw), "\r\n", "\n"), "\n\n")
		if forbids.MatchString(header) {
			if forbidden++; sent > 0 {
				t.Errorf("%s forbids automatic answers and got %d:\n%s", filepath.Base(path), sent, forbids.FindString(header))
			}
		}
		if sent > 1 {
			t.Errorf("%s got %d answers", filepath.Base(path), sent)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if forbidden == 0 || answered == 0 {
		t.Errorf("of %d mails %d were answered, and %d forbid it", mails, answered, forbidden)
	}
	t.Logf("%d mails: %d forbid automatic answers and got none, %d others got one each", mails, forbidden, answered)
}
