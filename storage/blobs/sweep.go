// Package blobs keeps a store of blobs and the databases whose rows name them together: [Sweep] removes what no row
// names any more, and [Tie] notices when the two do not belong together.
package blobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Prefix begins the keys of all blobs that rows name. Nothing else is swept.
const Prefix = "accounts/"

// DefaultGrace is how old a blob is at least before it is swept. A blob is stored before its row: the grace is far above
// what an upload and its transaction take.
const DefaultGrace = 24 * time.Hour

// minGrace is the least that is taken for a grace: requests and their transactions end long before.
const minGrace = 10 * time.Minute

// SweepConfig says what is swept. Blobs and Rows are required.
type SweepConfig struct {
	Blobs storage.Blobs
	Rows  []storage.BlobRows // every store whose rows name blobs of Blobs
	Grace time.Duration      // default DefaultGrace; at least ten minutes
	Dry   bool               // removes nothing, and only counts
	// Each is told of every blob that is removed, or would be; nil: nobody.
	Each   func(storage.BlobInfo)
	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // nil: discards
}

// Swept is what a sweep has found.
type Swept struct {
	Looked    int   // blobs that were looked at
	Young     int   // of those, the ones within the grace: nobody asked for their rows
	Removed   int   // without a row, and removed unless Dry
	Bytes     int64 // of those removed
	Failed    int   // that could not be removed
	Temporary int   // files that a crash left, and were removed unless Dry
}

// Sweep removes the blobs that no row names and that are older than the grace, and temporary files as old. It goes once
// through all of them, some at a time. The keys of blobs are made at random for each upload, and a key without a row
// after the grace gets none any more: nothing is removed that a row could still come to name.
//
// A blob is kept when a store does not answer, and the error returned with what was done until then.
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
	before time.Time // what was modified since is left alone
}

// batch looks at some blobs.
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

// remove removes a blob. One that cannot be removed stops nothing, blobs that cannot be reached do.
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
