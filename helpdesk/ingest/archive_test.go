package ingest_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ingest"
	"github.com/helpwright/helpwright/helpdesk/ingest/archive"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/storage/testenv"
)

// importer imports into the mailbox of the bundle.
func (b *bundle) importer(change func(*ingest.ImporterConfig)) *ingest.Importer {
	b.t.Helper()
	cfg := ingest.ImporterConfig{Intake: b.intake, Filer: b.filer, AccountID: b.desk.AccountID(), MailboxID: b.mailbox}
	if change != nil {
		change(&cfg)
	}
	return check(ingest.NewImporter(cfg))(b.t)
}

// said lists the interactions of all conversations, with their customers and texts.
func (b *bundle) said() []string {
	b.t.Helper()
	var all []string
	for _, c := range check(b.desk.Conversations().List(b.t.Context(), helpdesk.ConversationQuery{}, storage.PageRequest{Limit: 100}))(b.t).Items {
		for _, i := range check(b.desk.Interactions().List(b.t.Context(), c.ID, storage.PageRequest{Limit: 100}))(b.t).Items {
			all = append(all, fmt.Sprintf("%s %s %s: %s", c.CustomerEmail, i.Type, i.At.Format(time.DateOnly), i.Body))
		}
	}
	slices.Sort(all)
	return all
}

// archived is a mail as stored in an archive.
func archived(id, from, to, answers string, day int, text string) string {
	raw := fmt.Sprintf("From: %s\r\nTo: %s\r\nSubject: The door\r\nDate: %d Mar 2020 10:00:00 +0000\r\nMessage-ID: <%s@x.example>\r\n", from, to, day, id)
	if answers != "" {
		raw += "In-Reply-To: <" + answers + "@x.example>\r\n"
	}
	return raw + "\r\n" + text + "\r\n"
}

var (
	archivedInbox = []string{
		archived("q1", "ada@example.com", "support@example.org", "", 2, "It sticks."), archived("q2", "ada@example.com", "support@example.org", "a1", 4, "Thank you."),
	}
	archivedSent = []string{archived("a1", "support@example.org", "ada@example.com", "q1", 3, "Pull.")}
	archivedSaid = []string{
		"ada@example.com customer 2020-03-02: It sticks.", "ada@example.com customer 2020-03-04: Thank you.", "ada@example.com user 2020-03-03: Pull.",
	}
)

// An archive is imported once, however often it is, whole or in parts, wherever its mails lie.
func TestImport(t *testing.T) {
	t.Parallel()
	b := newBundle(t, memblob.New())
	files := fstest.MapFS{"a.eml": {Data: []byte(archivedInbox[0])}, "b.eml": {Data: []byte(archivedInbox[1])}, "Sent/a.eml": {Data: []byte(archivedSent[0])}, "copy/a.eml": {Data: []byte(archivedInbox[0])}}
	large := strings.Replace(archivedInbox[0], "It sticks.", strings.Repeat("It sticks. ", 100_000), 1)
	files["large.eml"] = &fstest.MapFile{Data: []byte(strings.Replace(large, "q1@", "q9@", 1))}
	found := check(archive.Open(t.Context(), archive.Config{Files: files}))(t)
	im := b.importer(func(c *ingest.ImporterConfig) { c.MaxMail = 1 << 20 })
	if got := check(im.Import(t.Context(), found, true))(t); got != (ingest.Imported{Mails: 5, Known: 1}) || len(b.ledger()) != 0 {
		t.Errorf("a dry run: %+v, %d in the ledger", got, len(b.ledger()))
	}
	for _, want := range []ingest.Imported{{Mails: 5, Known: 1}, {Mails: 5, Known: 5}} {
		if got := check(im.Import(t.Context(), found, false))(t); got.Mails != want.Mails || got.Known != want.Known {
			t.Errorf("%+v, not %+v", got, want)
		}
		if diff := gocmp.Diff(archivedSaid, b.said()); diff != "" {
			t.Error(diff)
		}
	}
	states := map[ledger.State]int{}
	for _, row := range b.ledger() {
		states[row.State]++
		if row.State == ledger.Quarantined && !strings.Contains(row.Reason, "it is too large: 1100") {
			t.Error(row.Reason)
		}
	}
	if diff := gocmp.Diff(map[ledger.State]int{ledger.Filed: 3, ledger.Quarantined: 1}, states); diff != "" {
		t.Error(diff)
	}
}

// An import that is stopped anywhere goes on where it was.
func TestImportGoesOn(t *testing.T) {
	t.Parallel()
	b := newBundle(t, memblob.New())
	files := fstest.MapFS{}
	for i := range 350 {
		files[fmt.Sprintf("%d.eml", i)] = &fstest.MapFile{Data: []byte(archived(fmt.Sprint("m", i), "ada@example.com", "support@example.org", "", 1+i%28, fmt.Sprint("Mail ", i)))}
	}
	found := check(archive.Open(t.Context(), archive.Config{Files: files}))(t)
	for stop := 1; stop < 4; stop++ {
		ctx, cancel := context.WithCancel(t.Context())
		batches := 0
		im := b.importer(func(c *ingest.ImporterConfig) {
			c.Progress = func(int) {
				if batches++; batches == stop {
					cancel()
				}
			}
		})
		if _, err := im.Import(ctx, found, false); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if got := check(b.importer(nil).Import(t.Context(), found, false))(t); got != (ingest.Imported{Mails: 350, Known: 300}) {
		t.Errorf("%+v", got)
	}
	rows := b.ledger()
	if len(rows) != 350 || slices.ContainsFunc(rows, func(r ledger.Mail) bool { return r.State != ledger.Filed }) {
		t.Errorf("%d rows", len(rows))
	}
}

// Files written by Dovecot can be imported, as Maildir and as mbox.
func TestImportFromDovecot(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"maildir", "mbox"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			dir, err := os.MkdirTemp("/tmp", "hw")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			if err := os.Chmod(dir, 0o777); err != nil { // Dovecot is another user where root tests
				t.Fatal(err)
			}
			server := testenv.OwnDovecot(t, "mail_location = "+format+":"+dir+"/%u")
			newFolder(t, server, "ada", "Archive").add(archivedInbox...)
			newFolder(t, server, "ada", "Sent").add(archivedSent...)
			newFolder(t, server, "ada", "Trash").add(archived("t1", "eve@example.com", "support@example.org", "", 1, "Gone."))
			b := newBundle(t, memblob.New())
			found := check(archive.Open(t.Context(), archive.Config{Files: os.DirFS(filepath.Join(dir, "ada"))}))(t)
			check(b.importer(nil).Import(t.Context(), found, false))(t)
			if diff := gocmp.Diff(archivedSaid, b.said()); diff != "" {
				t.Errorf("%s%+v", diff, found)
			}
		})
	}
}

func ExampleImporter() {
	ctx := context.Background()
	sealer, _ := storage.NewSealer(storage.NewSecretKey())
	svc, err := helpdesk.New(helpdesk.Config{Store: memstore.New(), Blobs: memblob.New(), Sealer: sealer, SigningKey: storage.NewSecretKey()})
	if err != nil {
		panic(err)
	}
	owner, _ := svc.Operator().CreateUser(ctx, identity.UserInput{Email: "olga@example.org"})
	account, _ := svc.Operator().CreateAccount(ctx, identity.AccountInput{Name: "Acme"}, owner.ID)
	desk, _ := svc.Desk(ctx, svc.As(owner.ID), account.ID)
	mailbox, _ := desk.Mailboxes().Create(ctx, helpdesk.MailboxInput{Email: storage.Some("support@example.org")})
	filer, _ := ingest.NewFiler(ingest.FilerConfig{Intake: svc.Intake()})

	files := fstest.MapFS{ // os.DirFS("/var/mail/old") where it is a folder
		"inbox": {Data: []byte("From ada Mon Mar  2 10:00:00 2020\nFrom: ada@example.com\nTo: support@example.org\nMessage-ID: <q@x.example>\n\nIt sticks.\n\n")},
		"sent":  {Data: []byte("From us Tue Mar  3 10:00:00 2020\nFrom: support@example.org\nTo: ada@example.com\nIn-Reply-To: <q@x.example>\n\nPull.\n\n")},
	}
	found, err := archive.Open(ctx, archive.Config{Files: files})
	if err != nil {
		panic(err)
	}
	importer, err := ingest.NewImporter(ingest.ImporterConfig{Intake: svc.Intake(), Filer: filer, AccountID: account.ID, MailboxID: mailbox.ID})
	if err != nil {
		panic(err)
	}
	done, err := importer.Import(ctx, found, false)
	fmt.Println(done.Mails, err)
	said, _ := desk.Interactions().List(ctx, 1, storage.PageRequest{})
	slices.SortFunc(said.Items, func(a, b helpdesk.Interaction) int { return cmp.Compare(a.ID, b.ID) })
	for _, i := range said.Items {
		fmt.Println(i.Type, i.Body)
	}
	// Output:
	// 2 <nil>
	// customer It sticks.
	// user Pull.
}

// Earlier mails of an erased customer are left out, also in a dry run, and our answers to them are set aside.
func TestImportOfErased(t *testing.T) {
	t.Parallel()
	b := newBundle(t, memblob.New())
	ada := check(b.desk.Customers().Create(t.Context(), helpdesk.CustomerInput{FirstName: storage.Some("Ada"), Emails: storage.Some([]helpdesk.Item{{Value: "ADA@example.com"}})}))(t)
	if err := b.desk.Customers().Erase(t.Context(), ada.ID); err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{
		"a.eml": {Data: []byte(archivedInbox[0])}, "b.eml": {Data: []byte(archivedInbox[1])}, "Sent/a.eml": {Data: []byte(archivedSent[0])},
		"c.eml": {Data: []byte(archived("q3", "bob@example.com", "support@example.org", "", 5, "Mine too."))},
	}
	found := check(archive.Open(t.Context(), archive.Config{Files: files}))(t)
	for _, dryRun := range []bool{true, false} {
		if diff := gocmp.Diff(ingest.Imported{Mails: 4, Erased: 2}, check(b.importer(nil).Import(t.Context(), found, dryRun))(t)); diff != "" {
			t.Errorf("dry run %v: %s", dryRun, diff)
		}
	}
	if diff := gocmp.Diff([]string{"bob@example.com customer 2020-03-05: Mine too."}, b.said()); diff != "" {
		t.Error(diff)
	}
	for _, row := range b.ledger() {
		if strings.Contains(fmt.Sprintf("%+v", row), "ada@") {
			t.Errorf("the ledger has %+v", row)
		}
	}
}
