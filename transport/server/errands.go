package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/customercsv"
	"github.com/helpwright/helpwright/helpdesk/ingest"
	mailarchive "github.com/helpwright/helpwright/helpdesk/ingest/archive"
	"github.com/helpwright/helpwright/helpdesk/movein"
	"github.com/helpwright/helpwright/helpdesk/movein/foreign"
	"github.com/helpwright/helpwright/helpdesk/movein/freescout"
	"github.com/helpwright/helpwright/helpdesk/movein/helpscout"
	"github.com/helpwright/helpwright/helpdesk/movein/zendesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/blobs"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/transfer"
	"github.com/helpwright/helpwright/transport/desk"
	"github.com/helpwright/helpwright/transport/errand"
)

// makeErrands makes what runs imports and exports that members begin in the desk, if the store can keep them.
func (s *Server) makeErrands() (err error) {
	cfg := s.cfg.Errands
	if vault, ok := s.cfg.Store.(storage.Vault); ok {
		fill(&cfg.Vault, vault)
	}
	if cfg.Vault == nil {
		return nil
	}
	fill[storage.Blobs](&cfg.Blobs, s.blobs)
	fill(&cfg.Now, s.cfg.Now)
	fill(&cfg.Logger, s.cfg.Logger)
	cfg.Accounts = s.hasAccount
	cfg.Works = map[string]errand.Work{desk.ErrandImport: s.importForeign, desk.ErrandExport: s.exportWhole, customercsv.Kind: s.importTable}
	s.errands, err = errand.New(cfg)
	return err
}

func (s *Server) hasAccount(ctx context.Context, id int64) (bool, error) {
	_, err := s.cfg.Desk.Store.Within(helpdesk.Scope{AccountID: id}).Account(ctx)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// exportWhole writes the archive of an account. Secrets are left out: they need a passphrase, which is not stored.
func (s *Server) exportWhole(ctx context.Context, t *errand.Task) error {
	account, err := s.cfg.Desk.Store.Within(helpdesk.Scope{AccountID: t.AccountID}).Account(ctx)
	if err != nil {
		return err
	}
	var end transfer.End
	err = blobs.Hold(ctx, s.blobs, func(ctx context.Context) error {
		read, write := io.Pipe()
		written := make(chan error, 1)
		go func() {
			err := s.writeArchive(ctx, t, write, account.Name, &end)
			_ = write.CloseWithError(err) // ended by nil
			written <- err
		}()
		err := t.Store(ctx, read)
		_ = read.CloseWithError(errors.Join(err, io.ErrClosedPipe)) // so that no writer blocks forever
		if failed := <-written; failed != nil && !errors.Is(failed, io.ErrClosedPipe) {
			err = failed
		}
		return err
	})
	if err != nil {
		return err
	}
	var rows int64
	for _, n := range end.Rows {
		rows += n
	}
	t.Tell(errand.Progress{Done: rows, Bytes: end.Bytes})
	t.Count("rows", int(rows))
	t.Count("files", int(end.Files))
	t.Count("missing_files", int(end.Missing))
	for _, note := range end.Notes {
		t.Note("note", note)
	}
	return nil
}

func (s *Server) writeArchive(ctx context.Context, t *errand.Task, to io.Writer, name string, end *transfer.End) error {
	w, err := transfer.NewWriter(to, transfer.WriterConfig{
		Blobs: s.blobs, Manifest: transfer.Manifest{Program: "helpwright", Account: t.AccountID, Name: name},
		Progress: func(rows, _, bytes int64) { t.Tell(errand.Progress{Done: rows, Bytes: bytes}) },
	})
	if err != nil {
		return err
	}
	err = s.ExportAccount(ctx, t.AccountID, w)
	*end = w.End()
	return err
}

// importForeign imports the data of another help desk, or old mail.
func (s *Server) importForeign(ctx context.Context, t *errand.Task) error {
	files, err := t.Unpack(ctx)
	if err != nil {
		return err
	}
	mailbox, _ := strconv.ParseInt(t.Input["mailbox"], 10, 64) // 0 is not found
	if t.Step == desk.StepImport {
		t.Spend()
	}
	switch source := t.Input["source"]; source {
	case desk.SourceMail:
		return s.importMail(ctx, t, files, mailbox)
	default:
		return s.importDesk(ctx, t, source, files, mailbox)
	}
}

// errNothing is the error for a file that is not what the member said.
func errNothing() error {
	return fault.New(fault.Invalid, "There is nothing to import in this file. Check that it is an export of the source you chose.")
}

func (s *Server) importDesk(ctx context.Context, t *errand.Task, name string, files fs.FS, mailbox int64) error {
	var source foreign.Source
	var err error
	cfg := foreign.Config{Files: files}
	switch name {
	case "zendesk":
		source, err = zendesk.Open(ctx, cfg)
	case "helpscout":
		source, err = helpscout.Open(ctx, cfg)
	case "freescout":
		source, err = freescout.Open(ctx, cfg)
	default:
		err = fault.Field("source", "is not known")
	}
	if err != nil {
		return err
	}
	importer, err := movein.New(movein.Config{
		MoveIn: s.service.MoveIn(), AccountID: t.AccountID, MailboxID: mailbox,
		Progress: func(done int) { t.Tell(errand.Progress{Done: int64(done), Total: t.Progress.Total}) },
	})
	if err != nil {
		return err
	}
	done, err := importer.Import(ctx, source, t.Step == desk.StepCheck)
	if err != nil {
		return err
	}
	whole := done.Conversations + done.ChangedConversations + done.Known + done.Deleted + done.Erased
	if whole+done.Customers+done.ChangedCustomers+done.Replies+done.KnownReplies+done.ErasedCustomers == 0 {
		return errNothing()
	}
	t.Tell(errand.Progress{Done: int64(whole), Total: int64(whole)})
	for _, c := range []struct {
		what string
		n    int
	}{
		{"customers", done.Customers}, {"conversations", done.Conversations}, {"messages", done.Messages}, {"files", done.Files}, {"saved_replies", done.Replies},
		{"changed_conversations", done.ChangedConversations}, {"changed_customers", done.ChangedCustomers}, {"known", done.Known},
		{"deleted", done.Deleted}, {"erased", done.Erased + done.ErasedCustomers}, {"known_replies", done.KnownReplies},
	} {
		t.Count(c.what, c.n)
	}
	report := source.Report()
	for _, part := range []struct {
		about string
		tally *foreign.Tally
	}{
		{"problem", &report.Problems}, {"problem", &done.Problems}, {"not taken", &report.LeftOut}, {"not assigned", &done.Unassigned}, {"agents", &done.Agents},
		{"kept in a note", &report.Kept}, {"unknown field, kept in a note", &report.Unknown}, {"status", &report.Statuses},
	} {
		for _, count := range part.tally.Counts() {
			t.Note(part.about, count.String())
		}
	}
	return nil
}

func (s *Server) importMail(ctx context.Context, t *errand.Task, files fs.FS, mailbox int64) error {
	found, err := mailarchive.Open(ctx, mailarchive.Config{Files: files})
	if err != nil {
		return err
	}
	if len(found.Mails) == 0 {
		return errNothing()
	}
	filing := s.cfg.Filing
	filing.Intake = s.service.Intake()
	filer, err := ingest.NewFiler(filing)
	if err != nil {
		return err
	}
	importer, err := ingest.NewImporter(ingest.ImporterConfig{
		Intake: filing.Intake, Filer: filer, AccountID: t.AccountID, MailboxID: mailbox,
		Progress: func(done int) { t.Tell(errand.Progress{Done: int64(done), Total: int64(len(found.Mails))}) },
	})
	if err != nil {
		return err
	}
	done, err := importer.Import(ctx, found, t.Step == desk.StepCheck)
	if err != nil {
		return err
	}
	t.Count("mails", done.Mails-done.Known-done.Erased)
	t.Count("known", done.Known)
	t.Count("erased", done.Erased)
	for _, one := range found.Skipped {
		text := filepath.ToSlash(one.Path) + ": " + one.Reason
		if one.Mails > 0 {
			text = fmt.Sprintf("%s (%d)", text, one.Mails)
		}
		t.Note("not taken", cmp.Or(text, one.Reason))
	}
	return nil
}
