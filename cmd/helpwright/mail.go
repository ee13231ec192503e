package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ingest"
	"github.com/helpwright/helpwright/helpdesk/ingest/archive"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage"
)

type mailCmd struct {
	Import mailImportCmd `cmd:"" help:"Import mbox files, Maildirs and .eml files into a mailbox, as conversations."`
}

type mailImportCmd struct {
	Mailbox string `required:"" help:"Address of the mailbox." placeholder:"ADDRESS"`
	Account int64  `help:"Account that the mailbox belongs to." default:"1"`
	DryRun  bool   `help:"Read everything and print what would be imported, without importing."`
	Path    string `arg:"" help:"An mbox file, a Maildir, an .eml file, or a folder of them. Folders of drafts, deleted mail and spam are skipped unless named here."`
}

// Run imports. It works while a server runs, and can be interrupted and repeated.
func (c *mailImportCmd) Run(s *session) error {
	a, err := s.open(false)
	if err != nil {
		return err
	}
	defer a.close()
	mailbox, err := a.mailbox(c.Account, c.Mailbox)
	if err != nil {
		return err
	}
	found, err := c.read(s.ctx)
	if err != nil {
		return fmt.Errorf("%s cannot be read, nothing was imported: %w", c.Path, err)
	}
	c.describe(s.stdout, found, mailbox)
	if len(found.Mails) == 0 {
		return errors.New("there are no mails")
	}
	reader := a.db.Within(helpdesk.Scope{AccountID: c.Account})
	before, err := reader.InboundCounts(s.ctx, mailbox.ID)
	if err != nil {
		return err
	}
	filing := a.config(nil).Filing
	filing.Intake, filing.Logger = a.Service().Intake(), a.log
	filer, err := ingest.NewFiler(filing)
	if err != nil {
		return err
	}
	bar := newProgress(s.stderr, "import")
	importer, err := ingest.NewImporter(ingest.ImporterConfig{
		Intake: filing.Intake, Filer: filer, AccountID: c.Account, MailboxID: mailbox.ID,
		Progress: func(done int) { bar.say(fmt.Sprintf("%d of %d mails", done, len(found.Mails))) },
	})
	if err != nil {
		return err
	}
	done, err := importer.Import(s.ctx, found, c.DryRun)
	bar.done()
	if err != nil {
		return fmt.Errorf("%d of %d mails were taken, run the command again to take the rest: %w", done.Mails, len(found.Mails), err)
	}
	if c.DryRun {
		fmt.Fprintf(s.stdout, "%d mails to import, %d were imported before; nothing was changed\n", done.Mails-done.Known-done.Erased, done.Known)
		c.tellErased(s, done)
		return nil
	}
	after, err := reader.InboundCounts(s.ctx, mailbox.ID)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.stdout, "%s imported, %d were before\n", wereMails(done.Mails-done.Known-done.Erased), done.Known)
	c.tellErased(s, done)
	if n := after.Ignored - before.Ignored; n > 0 {
		fmt.Fprintf(s.stdout, "%d of them ignored: doubles, and copies of answers that are here already\n", n)
	}
	if n := after.Quarantined - before.Quarantined; n > 0 {
		fmt.Fprintf(s.stdout, "%d of them kept, but not filed: see Settings, Unreadable mail in the desk\n", n)
	}
	return nil
}

// tellErased prints how many mails are left out because their customers were erased.
func (c *mailImportCmd) tellErased(s *session, done ingest.Imported) {
	if done.Erased > 0 {
		fmt.Fprintf(s.stdout, "%d left out: their senders were erased as customers\n", done.Erased)
	}
}

func wereMails(n int) string {
	if n == 1 {
		return "1 mail was"
	}
	return fmt.Sprintf("%d mails were", n)
}

// read reads the file or folder.
func (c *mailImportCmd) read(ctx context.Context) (*archive.Archive, error) {
	info, err := os.Stat(c.Path)
	if err != nil {
		return nil, err
	}
	folder, name := c.Path, ""
	if !info.IsDir() {
		folder, name = filepath.Split(filepath.Clean(c.Path))
	}
	if folder == "" {
		folder = "."
	}
	return archive.Open(ctx, archive.Config{Files: os.DirFS(folder), Path: name})
}

// describe prints the content of the files, and what is left out.
func (c *mailImportCmd) describe(w io.Writer, found *archive.Archive, mailbox helpdesk.Mailbox) {
	for _, s := range found.Skipped {
		if s.Mails > 0 {
			fmt.Fprintf(w, "left out: %s: %s (%d)\n", s.Path, s.Reason, s.Mails)
		} else {
			fmt.Fprintf(w, "left out: %s: %s\n", s.Path, s.Reason)
		}
	}
	if len(found.Mails) == 0 {
		return
	}
	files, sent, size := map[string]bool{}, 0, int64(0)
	for _, m := range found.Mails {
		files[m.Path] = true
		size += m.Size
		if mailaddr.Key(m.From) == mailbox.EmailKey {
			sent++
		}
	}
	day := func(t time.Time) string {
		if t.IsZero() {
			return "no date"
		}
		return t.Format("2 January 2006")
	}
	fmt.Fprintf(w, "mails: %d, files: %d, %s, from %s to %s; sent by %s: %d\n", len(found.Mails), len(files), megabytes(size),
		day(found.Mails[0].At), day(found.Mails[len(found.Mails)-1].At), mailbox.Email, sent)
}

// mailbox finds a mailbox of an account by its address.
func (a *app) mailbox(accountID int64, address string) (helpdesk.Mailbox, error) {
	all, err := a.db.Within(helpdesk.Scope{AccountID: accountID}).Mailboxes().List(a.ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return helpdesk.Mailbox{}, err
	}
	known := make([]string, len(all))
	for i, m := range all {
		if m.EmailKey == mailaddr.Key(address) && m.EmailKey != "" {
			return m, nil
		}
		known[i] = m.Email
	}
	if len(known) == 0 {
		return helpdesk.Mailbox{}, fmt.Errorf("account %d has no mailbox yet: make one in the desk first, under Settings, Mailboxes", accountID)
	}
	return helpdesk.Mailbox{}, fmt.Errorf("account %d has no mailbox %s; it has %s", accountID, address, strings.Join(known[:min(len(known), 20)], ", "))
}
