package server

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/blobs"
)

// Kinds of the housekeeping jobs. The queue gives each to one process at a time.
const (
	jobSweepBlobs = "blobs.sweep"
	jobPrune      = "retention.prune"
)

// Housekeeping runs at fixed times of the day; the server checks periodically that the next time is scheduled. A time missed
// while no server ran is made up for at the next start.
const (
	sweepInterval = 6 * time.Hour
	sweepCheck    = 10 * time.Minute
)

// sweepBlobs is the handler of jobSweepBlobs.
func (s *Server) sweepBlobs(ctx context.Context, _ storage.ClaimedJob) error {
	began := time.Now()
	found, err := blobs.Sweep(ctx, blobs.SweepConfig{Blobs: s.blobs, Rows: []storage.BlobRows{s.rows}, Logger: s.cfg.Logger})
	s.swept.Store(&found)
	s.cfg.Logger.InfoContext(ctx, "removed unreferenced files", "looked_at", found.Looked, "removed", found.Removed, "bytes", found.Bytes,
		"failed", found.Failed, "temporary", found.Temporary, "young", found.Young, "took", time.Since(began).Round(time.Millisecond), "complete", err == nil)
	return err
}

// prune is the handler of jobPrune.
func (s *Server) prune(ctx context.Context, _ storage.ClaimedJob) error {
	began := time.Now()
	done, err := s.service.Prune(ctx)
	s.cfg.Logger.InfoContext(ctx, "removed expired rows", "audit", done.Audit, "events", done.Events, "sessions", done.Sessions,
		"buried_jobs", done.FailedJobs, "periods", done.Periods, "took", time.Since(began).Round(time.Millisecond), "complete", err == nil)
	return err
}

// housekeeping are the kinds of jobs that run at fixed times.
func (s *Server) housekeeping() []string {
	if s.rows == nil {
		return []string{jobPrune}
	}
	return []string{jobSweepBlobs, jobPrune}
}

// scheduleSweeps schedules the next housekeeping jobs, until ctx ends.
func (s *Server) scheduleSweeps(ctx context.Context) error {
	ticker := time.NewTicker(sweepCheck)
	defer ticker.Stop()
	for {
		at := s.cfg.Now().UTC().Truncate(sweepInterval).Add(sweepInterval)
		var jobs []storage.Job
		for _, kind := range s.housekeeping() {
			jobs = append(jobs, storage.Job{Kind: kind, UniqueKey: kind, RunAt: at})
		}
		err := s.cfg.Store.InTx(ctx, helpdesk.Scope{}, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Enqueue(ctx, jobs...) })
		if err != nil && ctx.Err() == nil {
			s.cfg.Logger.WarnContext(ctx, "cannot schedule the next housekeeping", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
