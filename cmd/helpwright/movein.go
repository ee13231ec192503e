package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/helpwright/helpwright/helpdesk/movein"
	"github.com/helpwright/helpwright/helpdesk/movein/foreign"
	"github.com/helpwright/helpwright/helpdesk/movein/freescout"
	"github.com/helpwright/helpwright/helpdesk/movein/helpscout"
	"github.com/helpwright/helpwright/helpdesk/movein/zendesk"
)

type importCmd struct {
	Zendesk   zendeskCmd   `cmd:"" help:"Import tickets, users and macros from Zendesk: its JSON export, or saved responses of its API."`
	Helpscout helpscoutCmd `cmd:"" help:"Import conversations, customers and saved replies from Help Scout: saved responses of its Mailbox API 2.0."`
	Freescout freescoutCmd `cmd:"" help:"Import conversations and customers from FreeScout: saved responses of its API & Webhooks module."`
}

type zendeskCmd struct{ moveInCmd }

type helpscoutCmd struct{ moveInCmd }

// Run imports.
func (c *helpscoutCmd) Run(s *session) error { return c.run(s, helpscout.Open) }

type freescoutCmd struct{ moveInCmd }

// Run imports.
func (c *freescoutCmd) Run(s *session) error { return c.run(s, freescout.Open) }

// Run imports. It works while a server runs, and can be interrupted and repeated.
func (c *zendeskCmd) Run(s *session) error {
	return c.run(s, func(ctx context.Context, cfg foreign.Config) (foreign.Source, error) { return zendesk.Open(ctx, cfg) })
}

// moveInCmd is the common part of the commands for all help desks.
type moveInCmd struct {
	Mailbox string `required:"" help:"Address of the mailbox that gets the conversations." placeholder:"ADDRESS"`
	Account int64  `help:"Account that the mailbox belongs to." default:"1"`
	DryRun  bool   `help:"Only read everything, and print what would be made, what has no place here, and what cannot be taken."`
	Folder  string `arg:"" help:"Folder with the files of the export, unpacked. The files of messages lie in its folder attachments."`
}

func (c *moveInCmd) run(s *session, open func(context.Context, foreign.Config) (foreign.Source, error)) error {
	a, err := s.open(false)
	if err != nil {
		return err
	}
	defer a.close()
	mailbox, err := a.mailbox(c.Account, c.Mailbox)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(c.Folder)
	if err != nil {
		return usageError{fmt.Errorf("nothing was imported: %w", err)}
	}
	defer func() { _ = root.Close() }() // only read
	source, err := open(s.ctx, foreign.Config{Files: root.FS()})
	if err != nil {
		return fmt.Errorf("%s cannot be read, nothing was imported: %w", c.Folder, err)
	}
	format := source.Format()
	bar := newProgress(s.stderr, "import")
	importer, err := movein.New(movein.Config{
		MoveIn: a.Service().MoveIn(), AccountID: c.Account, MailboxID: mailbox.ID,
		Progress: func(done int) { bar.say(fmt.Sprintf("%d %ss", done, format.What)) },
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(s.stdout, "reading %s (%s)\n", format.Title, format.Document)
	done, err := importer.Import(s.ctx, source, c.DryRun)
	bar.done()
	if err != nil {
		return fmt.Errorf("%d conversations were made, run the command again to take the rest: %w", done.Conversations, err)
	}
	c.reportResult(s, source.Report(), done)
	if done.Conversations+done.ChangedConversations+done.Known+done.Deleted+done.Erased+done.ErasedCustomers+done.Customers+done.Replies == 0 && done.ChangedCustomers == 0 && len(done.Agents.Counts()) == 0 {
		return errors.New("there is nothing to import: is this the folder of the unpacked export?")
	}
	return nil
}

// reportResult prints the content found, and the objects created.
func (c *moveInCmd) reportResult(s *session, report *foreign.Report, done *movein.Result) {
	for _, part := range []struct {
		title string
		tally *foreign.Tally
	}{
		{"agents", &done.Agents}, {"status", &report.Statuses}, {"not assigned", &done.Unassigned}, {"kept in a note", &report.Kept},
		{"unknown field, kept in a note", &report.Unknown}, {"not taken", &report.LeftOut}, {"problem", &report.Problems}, {"problem", &done.Problems},
	} {
		for _, count := range part.tally.Counts() {
			fmt.Fprintf(s.stdout, "%s: %s\n", part.title, count)
		}
	}
	begin, more, here, end := "imported", "got more", "were here already", ""
	if c.DryRun {
		begin, more, here, end = "to import", "get more", "are here already", "; nothing was changed"
	}
	fmt.Fprintf(s.stdout, "%s: %s, %s with %s and %s, %s; %d conversations and %d customers %s, %d conversations %s%s\n",
		begin, some(done.Customers, "customer"), some(done.Conversations, "conversation"), some(done.Messages, "message"), some(done.Files, "file"),
		some(done.Replies, "saved reply"), done.ChangedConversations, done.ChangedCustomers, more, done.Known, here, end)
	if done.Deleted > 0 {
		fmt.Fprintf(s.stdout, "%s left out: deleted here\n", some(done.Deleted, "conversation"))
	}
	tellErased(s, done)
	if done.KnownReplies > 0 {
		fmt.Fprintf(s.stdout, "%s left out: the name is taken\n", some(done.KnownReplies, "saved reply"))
	}
}

// tellErased prints what was left out because its customers were erased.
func tellErased(s *session, done *movein.Result) {
	if done.Erased+done.ErasedCustomers > 0 {
		fmt.Fprintf(s.stdout, "%s and %s left out: erased here\n", some(done.ErasedCustomers, "customer"), some(done.Erased, "conversation"))
	}
}

// some formats a number of things.
func some(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case what == "saved reply":
		what = "saved replie"
	}
	return fmt.Sprintf("%d %ss", n, what)
}
