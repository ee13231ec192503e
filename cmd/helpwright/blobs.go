package main

import (
	"context"
	"fmt"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/blobs"
)

type blobsCmd struct {
	Sweep blobsSweepCmd `cmd:"" help:"Remove files that nothing in the database names; the server does it by itself every six hours."`
}

type blobsSweepCmd struct {
	DryRun bool          `name:"dry-run" help:"Remove nothing; print what would be removed."`
	Grace  time.Duration `help:"How old a file is at least, ten minutes or more: its row is written after it." default:"24h" placeholder:"TIME"`
}

// Run sweeps once and says what it found.
func (c *blobsSweepCmd) Run(s *session) error {
	a, err := s.open(false)
	if err != nil {
		return err
	}
	defer a.close()
	cfg := a.sweepConfig()
	cfg.Grace, cfg.Dry = c.Grace, c.DryRun
	did := "removed"
	if c.DryRun {
		did = "would remove"
		cfg.Each = func(b storage.BlobInfo) {
			fmt.Fprintf(s.stdout, "%s\t%d\t%s\n", b.Modified.Format(time.RFC3339), b.Size, b.Key)
		}
	}
	found, err := blobs.Sweep(s.ctx, cfg)
	fmt.Fprintf(s.stdout, "%s %d of %d files (%d bytes) and %d temporary ones; %d are younger than %s\n",
		did, found.Removed, found.Looked, found.Bytes, found.Temporary, found.Young, c.Grace)
	if err == nil && found.Failed > 0 {
		err = fmt.Errorf("%d files could not be removed: the log says why", found.Failed)
	}
	return err
}

func (a *app) sweepConfig() blobs.SweepConfig {
	return blobs.SweepConfig{Blobs: a.blobs, Rows: []storage.BlobRows{a.db}, Logger: a.log}
}

// jobSweepBlobs is the kind of the job that sweeps. The queue gives it to one process at a time.
const jobSweepBlobs = "blobs.sweep"

// The server sweeps at fixed times of the day, and looks now and then whether the next time is noted: one that was
// missed while no server ran is made up for at the next start.
const (
	sweepInterval = 6 * time.Hour
	sweepNoted    = 10 * time.Minute
)

// sweepBlobs is the handler of jobSweepBlobs.
func (a *app) sweepBlobs(ctx context.Context, _ storage.ClaimedJob) error {
	began := time.Now()
	found, err := blobs.Sweep(ctx, a.sweepConfig())
	a.swept.Store(&found)
	a.log.InfoContext(ctx, "swept files that no row names", "looked_at", found.Looked, "removed", found.Removed, "bytes", found.Bytes,
		"failed", found.Failed, "temporary", found.Temporary, "young", found.Young, "took", time.Since(began).Round(time.Millisecond), "complete", err == nil)
	return err
}

// noteSweeps has the next sweep in the queue, until ctx ends.
func (a *app) noteSweeps(ctx context.Context) error {
	ticker := time.NewTicker(sweepNoted)
	defer ticker.Stop()
	for {
		job := storage.Job{Kind: jobSweepBlobs, UniqueKey: jobSweepBlobs, RunAt: time.Now().UTC().Truncate(sweepInterval).Add(sweepInterval)}
		err := a.db.InTx(ctx, helpdesk.Scope{}, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Enqueue(ctx, job) })
		if err != nil && ctx.Err() == nil {
			a.log.WarnContext(ctx, "the next sweep of files cannot be noted", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
