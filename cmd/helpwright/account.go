package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage/backup"
	"github.com/helpwright/helpwright/storage/blobs"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/transfer"
	"github.com/helpwright/helpwright/transport/server"
)

type accountCmd struct {
	Export accountExportCmd `cmd:"" help:"Write a whole account to an archive while the server runs: mail, customers, help centres, members and settings."`
	Import accountImportCmd `cmd:"" help:"Create a new account from an archive, on either database. An interrupted import continues when run again."`
}

type passphraseArg struct {
	PassphraseFile string `help:"File whose first line, of at least 12 characters, encrypts passwords, DKIM keys and other secrets in the archive. Without it they are left out and listed." placeholder:"FILE"`
}

// passphrase reads the first line of the file; "" without one.
func (a passphraseArg) passphrase() (string, error) {
	if a.PassphraseFile == "" {
		return "", nil
	}
	text, err := os.ReadFile(a.PassphraseFile)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	if line = strings.TrimRight(line, "\r"); len([]rune(line)) < transfer.MinPassphrase {
		return "", usageError{fmt.Errorf("--passphrase-file: the first line must have at least %d characters", transfer.MinPassphrase)}
	}
	return line, nil
}

type accountExportCmd struct {
	Account int64 `help:"The account." default:"1"`
	passphraseArg
	To string `arg:"" name:"file" help:"A new file, an empty folder (which receives the archive as separate files), or - for standard output."`
}

// Run exports.
func (c *accountExportCmd) Run(s *session) error {
	passphrase, err := c.passphrase()
	if err != nil {
		return err
	}
	a, err := s.open(false)
	if err != nil {
		return err
	}
	defer a.close()
	account, err := a.db.Within(helpdesk.Scope{AccountID: c.Account}).Account(s.ctx)
	if err != nil {
		return fmt.Errorf("account %d: %w", c.Account, err)
	}
	bar := newProgress(s.stderr, "exported")
	cfg := transfer.WriterConfig{
		Blobs: a.files, Manifest: transfer.Manifest{Program: version(), Account: account.ID, Name: account.Name},
		Progress: func(rows, files, bytes int64) { bar.say(transferred(rows, files, bytes)) },
	}
	if passphrase != "" {
		if cfg.Secrets, err = transfer.NewSecrets(passphrase); err != nil {
			return err
		}
	}
	var end transfer.End
	err = blobs.Hold(s.ctx, a.files, func(ctx context.Context) error {
		return c.open(s, cfg, func(w *transfer.Writer) error {
			err := a.ExportAccount(ctx, account.ID, w)
			end = w.End()
			return err
		})
	})
	bar.done()
	if err != nil {
		return fmt.Errorf("no archive was written: %w", err)
	}
	return c.reportContent(s, end)
}

// open makes the archive that export writes.
func (c *accountExportCmd) open(s *session, cfg transfer.WriterConfig, export func(*transfer.Writer) error) error {
	whole := func(to io.Writer) error {
		w, err := transfer.NewWriter(to, cfg)
		if err != nil {
			return err
		}
		return export(w)
	}
	if c.To == "-" {
		out := bufio.NewWriterSize(s.stdout, 1<<20)
		return errors.Join(whole(out), out.Flush())
	}
	if info, err := os.Stat(c.To); err == nil && info.IsDir() {
		w, err := transfer.NewFolderWriter(c.To, cfg)
		if err != nil {
			return err
		}
		return export(w)
	}
	err := backup.Create(c.To, func(w io.Writer, _ string) error { return whole(w) })
	if errors.Is(err, fs.ErrExist) {
		err = usageError{fmt.Errorf("%s already exists: choose a new file or an empty folder", c.To)}
	}
	return err
}

// reportContent reports the content of the archive, and what it lacks.
func (c *accountExportCmd) reportContent(s *session, end transfer.End) error {
	var rows int64
	for _, n := range end.Rows {
		rows += n
	}
	fmt.Fprintf(s.stderr, "%s has account %d: %s\n", c.To, c.Account, transferred(rows, end.Files, end.Bytes))
	for _, note := range end.Notes {
		fmt.Fprintln(s.stderr, "note:", note)
	}
	if end.Missing > 0 {
		return incomplete("archive", end.Missing)
	}
	return nil
}

func transferred(rows, files, bytes int64) string {
	return fmt.Sprintf("%d rows, %d files, %s", rows, files, megabytes(bytes))
}

type accountImportCmd struct {
	passphraseArg
	DryRun bool   `help:"Only check the archive and print what it contains."`
	From   string `arg:"" name:"file" help:"The archive: a file or folder written by export."`
}

// Run imports.
func (c *accountImportCmd) Run(s *session) error {
	passphrase, err := c.passphrase()
	if err != nil {
		return err
	}
	a, err := s.open(!c.DryRun)
	if err != nil {
		return err
	}
	defer a.close()
	bar := newProgress(s.stderr, "import")
	done, err := a.ImportAccount(s.ctx, server.ImportConfig{
		Open: func() (*transfer.Reader, error) { return transfer.Open(c.From) }, Passphrase: passphrase, DryRun: c.DryRun,
		Tell: func(what string, p transfer.Progress) { bar.say(what + " " + transferred(p.Rows, p.Files, p.Bytes)) },
	})
	bar.done()
	var rows int64
	for _, n := range done.End.Rows {
		rows += n
	}
	switch f, _ := errors.AsType[*fault.Error](err); {
	case f != nil && f.Fields["passphrase"] != nil:
		return usageError{errors.New("--passphrase-file: the passphrase is not that of the archive")}
	case err != nil && done.Account != 0 && done.Rows > 0:
		return fmt.Errorf("the import is incomplete, run the same command again to continue: %w", err)
	case err != nil:
		return err
	case done.Already:
		fmt.Fprintf(s.stdout, "nothing to do: the archive was imported before, as account %d\n", done.Account)
		return nil
	case c.DryRun:
		fmt.Fprintf(s.stdout, "whole: account %q as of %s: %s; nothing was changed\n", done.Archive.Name, done.Archive.Created.Format("2006-01-02 15:04 UTC"),
			transferred(rows, done.End.Files, done.End.Bytes))
	default:
		fmt.Fprintf(s.stdout, "account %d is %q as of %s: %s\n", done.Account, done.Archive.Name, done.Archive.Created.Format("2006-01-02 15:04 UTC"),
			transferred(rows, done.End.Files, done.End.Bytes))
	}
	if len(done.Archive.Salt) > 0 && passphrase == "" {
		fmt.Fprintln(s.stdout, "note: the secrets of the archive are left out, as no --passphrase-file is given: they are to be set again")
	}
	for _, note := range done.End.Notes {
		fmt.Fprintln(s.stdout, "note:", note)
	}
	return nil
}
