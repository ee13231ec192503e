package storage

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"github.com/helpwright/helpwright/storage/fault"
)

// BlobPurge says which blobs are to be deleted, since their rows are gone. It is the payload of jobs.
type BlobPurge struct {
	Prefix string   `json:"prefix,omitempty"` // all whose keys begin so; "": none
	Keys   []string `json:"keys,omitempty"`
}

const (
	purgeKeys = 200 // of a job, since payloads are limited
	purgeList = 500 // keys that are listed at once
	// discardTime limits the time for deleting blobs that no row refers to.
	discardTime = 10 * time.Second
)

// Jobs returns jobs of a kind that delete the blobs.
func (p BlobPurge) Jobs(kind string, accountID int64) (jobs []Job) {
	add := func(part BlobPurge) {
		payload, _ := json.Marshal(part) // texts always encode
		jobs = append(jobs, Job{Kind: kind, AccountID: accountID, Payload: payload})
	}
	if p.Prefix != "" {
		add(BlobPurge{Prefix: p.Prefix})
	}
	for some := range slices.Chunk(p.Keys, purgeKeys) {
		add(BlobPurge{Keys: some})
	}
	return jobs
}

// RunBlobPurge runs such a job. Running it again is harmless.
func RunBlobPurge(ctx context.Context, blobs Blobs, job ClaimedJob) error {
	var p BlobPurge
	if err := json.Unmarshal(job.Payload, &p); err != nil {
		return fault.Wrap(fault.Internal, "storage.RunBlobPurge", err)
	}
	if err := deleteBlobs(ctx, blobs, p.Keys); err != nil || p.Prefix == "" {
		return err
	}
	for {
		some, err := blobs.List(ctx, p.Prefix, "", purgeList)
		if err != nil {
			return err
		}
		for _, b := range some {
			if err := blobs.Delete(ctx, b.Key); err != nil {
				return err
			}
		}
		if len(some) < purgeList {
			return nil
		}
	}
}

func deleteBlobs(ctx context.Context, blobs Blobs, keys []string) error {
	for _, key := range keys {
		if err := blobs.Delete(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// DiscardBlobs deletes blobs whose rows were not written because of an error, also when ctx has ended. When it is unknown
// whether they were written, rows may refer to the blobs, so it keeps them; the sweep of storage/blobs finds those without a
// row.
func DiscardBlobs(ctx context.Context, blobs Blobs, logger *slog.Logger, why error, keys ...string) {
	if !fault.Certain(why) {
		logger.WarnContext(ctx, "files stay until it is known whether rows name them", "files", len(keys), "error", why)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTime)
	defer cancel()
	for _, key := range keys {
		if err := blobs.Delete(ctx, key); err != nil {
			logger.WarnContext(ctx, "a file without a row stays behind", "error", err)
		}
	}
}
