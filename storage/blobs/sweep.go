// Package blobs keeps blobs and the databases that refer to them consistent: [Sweep] deletes blobs that no row refers to,
// and [Tie] detects when blobs and database do not belong together.
package blobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Prefix is the key prefix of all blobs that rows refer to. Nothing else is swept.
const Prefix = "accounts/"

// DefaultGrace is the minimum age of a blob to be swept. A blob is stored before its row; the grace period is far longer
// than an upload and its transaction.
const DefaultGrace = 24 * time.Hour

// minGrace is the minimum grace period: requests and their transactions end long before.
const minGrace = 10 * time.Minute

// SweepConfig says what to sweep. Blobs and Rows are required.
type SweepConfig struct {
	Blobs storage.Blobs
	Rows  []storage.BlobRows // every store whose rows refer to blobs of Blobs
	Grace time.Duration      // default DefaultGrace; at least ten minutes
	Dry   bool               // only counts, deletes nothing
	// Each is called for every blob that is deleted, or would be; nil: no reports.
	Each   func(storage.BlobInfo)
	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // nil: discards
}

// Swept is the result of a sweep.
type Swept struct {
	Looked    int   // blobs examined
	Young     int   // of those, within the grace period: not looked up
	Removed   int   // without a row, deleted unless Dry
	Bytes     int64 // of the deleted blobs
	Failed    int   // blobs that could not be deleted
	Temporary int   // files left by crashes, deleted unless Dry
}

// Sweep deletes blobs that no row refers to and that are older than the grace period, and temporary files as old. It walks
// through all blobs once, in batches. Each upload gets a random key, and a key without a row after the grace period never
// gets one: Sweep deletes nothing that a row could still refer to.
//
// When a store does not answer, Sweep keeps the blob and returns the error with the results so far.
func Sweep(ctx context.Context, cfg SweepConfig) (Swept, error) {
	var problems fault.Collector
	problems.Check(cfg.Blobs != nil, "Blobs", "is required")
	problems.Check(len(cfg.Rows) > 0, "Rows", "is required")
	if err := problems.Err(); err != nil {
		return Swept{}, err
	}
	if cfg.Grace <= 0 {
		cfg.Grace = DefaultGrace
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := sweep{SweepConfig: cfg, before: cfg.Now().Add(-max(cfg.Grace, minGrace))}
	err := storage.WalkBlobs(ctx, cfg.Blobs, Prefix, func(found []storage.BlobInfo) error { return s.batch(ctx, found) })
	if tidier, ok := cfg.Blobs.(storage.BlobTidier); ok && err == nil {
		s.Temporary, err = tidier.Tidy(ctx, s.before, cfg.Dry)
	}
	return s.Swept, err
}

type sweep struct {
	SweepConfig
	Swept
	before time.Time // blobs modified since are left alone
}

// batch examines some blobs.
func (s *sweep) batch(ctx context.Context, found []storage.BlobInfo) error {
	s.Looked += len(found)
	var keys []string
	for _, b := range found {
		if b.Modified.Before(s.before) {
			keys = append(keys, b.Key)
		}
	}
	s.Young += len(found) - len(keys)
	named, err := s.named(ctx, keys)
	if err != nil {
		return err
	}
	for _, b := range found {
		if named[b.Key] || !b.Modified.Before(s.before) {
			continue
		}
		if err := s.remove(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

func (s *sweep) named(ctx context.Context, keys []string) (map[string]bool, error) {
	named := map[string]bool{}
	if len(keys) == 0 {
		return named, nil
	}
	for _, rows := range s.Rows {
		found, err := rows.NamedBlobs(ctx, keys)
		if err != nil {
			return nil, err
		}
		for _, key := range found {
			named[key] = true
		}
	}
	return named, nil
}

// remove deletes a blob. A failure for one blob does not end the sweep, an unreachable store does.
func (s *sweep) remove(ctx context.Context, b storage.BlobInfo) error {
	if !s.Dry {
		if err := s.Blobs.Delete(ctx, b.Key); err != nil {
			if fault.Passes(err) || ctx.Err() != nil {
				return err
			}
			s.Failed++
			s.Logger.WarnContext(ctx, "a file without a row cannot be removed", "error", err)
			return nil
		}
	}
	s.Removed++
	s.Bytes += b.Size
	if s.Each != nil {
		s.Each(b)
	}
	return nil
}
