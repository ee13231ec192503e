package server

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/blobs"
)

// Kinds of the jobs that tidy up. The queue gives each to one process at a time.
const (
	jobSweepBlobs = "blobs.sweep"
	jobPrune      = "retention.prune"
)

// The server sweeps at fixed times of the day, and looks now and then whether the next time is noted: one that was
// missed while no server ran is made up for at the next start.
const (
	sweepInterval = 6 * time.Hour
	sweepNoted    = 10 * time.Minute
)

// sweepBlobs is the handler of jobSweepBlobs.
func (s *Server) sweepBlobs(ctx context.Context, _ storage.ClaimedJob) error {
	began := time.Now()
	found, err := blobs.Sweep(ctx, blobs.SweepConfig{Blobs: s.blobs, Rows: []storage.BlobRows{s.rows}, Logger: s.cfg.Logger})
	s.swept.Store(&found)
	s.cfg.Logger.InfoContext(ctx, "swept files that no row names", "looked_at", found.Looked, "removed", found.Removed, "bytes", found.Bytes,
		"failed", found.Failed, "temporary", found.Temporary, "young", found.Young, "took", time.Since(began).Round(time.Millisecond), "complete", err == nil)
	return err
}

// prune is the handler of jobPrune.
func (s *Server) prune(ctx context.Context, _ storage.ClaimedJob) error {
	began := time.Now()
	done, err := s.service.Prune(ctx)
	s.cfg.Logger.InfoContext(ctx, "removed what was kept long enough", "audit", done.Audit, "events", done.Events, "sessions", done.Sessions,
		"buried_jobs", done.BuriedJobs, "took", time.Since(began).Round(time.Millisecond), "complete", err == nil)
	return err
}

// tidies are the kinds of jobs that come at fixed times.
func (s *Server) tidies() []string {
	if s.rows == nil {
		return []string{jobPrune}
	}
	return []string{jobSweepBlobs, jobPrune}
}

// noteSweeps has the next jobs that tidy up in the queue, until ctx ends.
func (s *Server) noteSweeps(ctx context.Context) error {
	ticker := time.NewTicker(sweepNoted)
	defer ticker.Stop()
	for {
		at := s.cfg.Now().UTC().Truncate(sweepInterval).Add(sweepInterval)
		var jobs []storage.Job
		for _, kind := range s.tidies() {
			jobs = append(jobs, storage.Job{Kind: kind, UniqueKey: kind, RunAt: at})
		}
		err := s.cfg.Store.InTx(ctx, helpdesk.Scope{}, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Enqueue(ctx, jobs...) })
		if err != nil && ctx.Err() == nil {
			s.cfg.Logger.WarnContext(ctx, "the next time to tidy up cannot be noted", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
