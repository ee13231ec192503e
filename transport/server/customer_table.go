package server

import (
	"context"
	"io"
	"io/fs"

	"github.com/helpwright/helpwright/helpdesk/customercsv"
	"github.com/helpwright/helpwright/transport/errand"
)

// importTable imports customers from a table, with the rights of the member who began it.
func (s *Server) importTable(ctx context.Context, t *errand.Task) error {
	files, err := t.Unpack(ctx)
	if err != nil {
		return err
	}
	name, err := firstFile(files)
	if err != nil {
		return err
	}
	table, err := customercsv.Open(ctx, func() (io.ReadCloser, error) { return files.Open(name) })
	if err != nil {
		return err
	}
	desk, err := s.service.Desk(ctx, s.service.As(t.UserID), t.AccountID)
	if err != nil {
		return err
	}
	cfg := customercsv.Config{
		Desk: desk, Table: table, DryRun: t.Step == customercsv.StepCheck,
		Progress: func(done, total int) { t.Tell(errand.Progress{Done: int64(done), Total: int64(total)}) },
	}
	if list, given := t.Input["columns"]; given {
		cfg.Fields, _ = customercsv.Parse(list) // checked when it was given
	}
	t.Tell(errand.Progress{Total: int64(table.Rows)})
	result, err := customercsv.Import(ctx, cfg)
	if err != nil {
		return err
	}
	t.Tell(errand.Progress{Done: int64(table.Rows), Total: int64(table.Rows)})
	t.Count("created", result.Created)
	t.Count("updated", result.Updated)
	t.Count("unchanged", result.Unchanged)
	t.Count("failed", result.Failed)
	for _, p := range result.Problems {
		t.Note(p.About(), p.Text)
	}
	return nil
}

// firstFile returns the first file of an upload, which usually is the only one.
func firstFile(files fs.FS) (name string, err error) {
	err = fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, err = path, fs.SkipAll
		}
		return err
	})
	if err == nil && name == "" {
		err = errNothing()
	}
	return name, err
}
