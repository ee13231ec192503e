package server

import (
	"context"

	desktransfer "github.com/helpwright/helpwright/helpdesk/transfer"
	kbtransfer "github.com/helpwright/helpwright/kb/transfer"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/transfer"
)

// ExportAccount writes a whole account into an archive: the help desk and the sites of its knowledge base. It works while
// the server runs. No files may be removed meanwhile, see blobs.Hold. It is for the operator and checks no permissions.
func (s *Server) ExportAccount(ctx context.Context, accountID int64, w *transfer.Writer) error {
	var sites func(context.Context) error
	if s.kb != nil {
		sites = func(ctx context.Context) error { return kbtransfer.Export(ctx, s.cfg.KB.Store, accountID, w) }
	}
	err := desktransfer.Export(ctx, desktransfer.Config{Store: s.cfg.Desk.Store, Sealer: s.sealer, Now: s.cfg.Now}, accountID, w, sites)
	if err != nil {
		return err
	}
	return w.Close(ctx)
}

// ImportConfig configures [Server.ImportAccount].
type ImportConfig struct {
	// Open opens the archive. It is read twice: to check it, and to import it. Required.
	Open func() (*transfer.Reader, error)
	// Passphrase opens the secrets in the archive; if "", they are left out.
	Passphrase string
	// DryRun only checks the archive.
	DryRun bool
	// Tell is called with the progress of the import; nil: not called.
	Tell func(what string, p transfer.Progress)
}

// Imported is the result of [Server.ImportAccount].
type Imported struct {
	Archive transfer.Manifest
	End     transfer.End
	Account int64 // here; 0 if none was created
	Rows    int64 // imported now
	Known   int64 // imported by an earlier call
	Already bool  // the archive was imported before, and nothing was done
}

// ImportAccount imports an archive as a new account. It works while the server runs, may be interrupted at any moment, and
// continues when it is called again; it does nothing for an archive that was imported before. The account cannot be accessed
// before it is complete. It is for the operator and checks no permissions.
func (s *Server) ImportAccount(ctx context.Context, cfg ImportConfig) (done Imported, err error) {
	if cfg.Open == nil {
		return done, fault.Field("Open", "is required")
	}
	if cfg.Tell == nil {
		cfg.Tell = func(string, transfer.Progress) {}
	}
	im, err := s.newImport(ctx, cfg, &done)
	if err != nil || done.Already {
		return done, err
	}
	_, err = im.read(func(r *transfer.Reader) (transfer.Progress, error) {
		p, err := transfer.Check(ctx, r, im.parts, func(p transfer.Progress) { cfg.Tell("checked", p) })
		done.End = r.End()
		return p, err
	})
	if err != nil || cfg.DryRun {
		return done, err
	}
	p, err := im.read(func(r *transfer.Reader) (transfer.Progress, error) {
		return transfer.Apply(ctx, r, im.parts, s.blobs, func(p transfer.Progress) { cfg.Tell("imported", p) })
	})
	done.Account, done.Rows, done.Known = im.desk.Account(), p.Rows-p.Known, p.Known
	if err != nil {
		return done, err
	}
	return done, im.desk.Finish(ctx)
}

type importing struct {
	open  func() (*transfer.Reader, error)
	id    string
	desk  *desktransfer.Importer
	parts []transfer.Part
}

// newImport reads the beginning of the archive to identify it.
func (s *Server) newImport(ctx context.Context, cfg ImportConfig, done *Imported) (*importing, error) {
	r, err := cfg.Open()
	if err != nil {
		return nil, err
	}
	done.Archive = r.Manifest()
	if err := r.Close(); err != nil {
		return nil, err
	}
	im := &importing{open: cfg.Open, id: done.Archive.ID}
	desk := desktransfer.Config{Store: s.cfg.Desk.Store, Sealer: s.sealer, Now: s.cfg.Now}
	if cfg.Passphrase != "" {
		if desk.Secrets, err = transfer.OpenSecrets(done.Archive, cfg.Passphrase); err != nil {
			return nil, err
		}
	}
	if im.desk, err = desktransfer.NewImporter(ctx, desk, done.Archive); err != nil {
		return nil, err
	}
	done.Account = im.desk.Account()
	if done.Already, err = im.desk.Finished(ctx); err != nil {
		return nil, err
	}
	if done.Already {
		return im, im.desk.Finish(ctx)
	}
	im.parts = []transfer.Part{im.desk}
	if s.kb != nil {
		sites, err := kbtransfer.NewImporter(kbtransfer.Config{Store: s.cfg.KB.Store, Account: im.desk.Account}, done.Archive)
		if err != nil {
			return nil, err
		}
		im.parts = append(im.parts, sites)
	}
	return im, nil
}

// read reads the archive once.
func (im *importing) read(fn func(r *transfer.Reader) (transfer.Progress, error)) (transfer.Progress, error) {
	r, err := im.open()
	if err != nil {
		return transfer.Progress{}, err
	}
	defer func() { _ = r.Close() }()
	if r.Manifest().ID != im.id {
		return transfer.Progress{}, fault.New(fault.Conflict, "The archive was replaced by another one while it was read.")
	}
	return fn(r)
}
