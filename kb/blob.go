package kb

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// JobPurgeFiles is the kind of jobs that delete the blobs of deleted rows. The program that runs the jobs registers
// [Service.PurgeFiles] for it.
const JobPurgeFiles = "kb.purge"

// JobKinds returns the kinds of all jobs of the knowledge base, each of which needs a handler.
func JobKinds() []string { return []string{JobPurgeFiles} }

// sitePrefix begins the keys of all blobs of a site. It is below the account's prefix, so that deleting the account deletes
// them too.
func sitePrefix(accountID, siteID int64) string {
	return fmt.Sprintf("accounts/%d/sites/%d/", accountID, siteID)
}

// purge is the payload of JobPurgeFiles.
type purge struct {
	Prefix string   `json:"prefix,omitempty"`
	Keys   []string `json:"keys,omitempty"`
}

func purgePrefix(accountID int64, prefix string) storage.Job {
	payload, _ := json.Marshal(purge{Prefix: prefix}) // texts always encode
	return storage.Job{Kind: JobPurgeFiles, AccountID: accountID, Payload: payload}
}

// purgeKeys splits keys into jobs of at most 200 each, because payloads are limited.
func purgeKeys(accountID int64, keys []string) []storage.Job {
	var jobs []storage.Job
	for chunk := range slices.Chunk(keys, 200) {
		payload, _ := json.Marshal(purge{Keys: chunk}) // texts always encode
		jobs = append(jobs, storage.Job{Kind: JobPurgeFiles, AccountID: accountID, Payload: payload})
	}
	return jobs
}

// discardTime limits the time for deleting blobs that no row refers to.
const discardTime = 10 * time.Second

// discard deletes blobs whose rows were not written because of err. When the outcome is unknown it keeps them, since rows
// may refer to them; otherwise the sweep of storage/blobs finds them.
func (s *Service) discard(ctx context.Context, err error, keys ...string) {
	if !fault.Certain(err) {
		s.cfg.Logger.WarnContext(ctx, "files stay until it is known whether rows name them", "files", len(keys), "error", err)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTime)
	defer cancel()
	for _, key := range keys {
		if err := s.cfg.Blobs.Delete(ctx, key); err != nil {
			s.cfg.Logger.WarnContext(ctx, "a file without a row stays behind", "error", err)
		}
	}
}

// PurgeFiles runs a job of kind [JobPurgeFiles]. Running it again is harmless.
func (s *Service) PurgeFiles(ctx context.Context, job storage.ClaimedJob) error {
	var p purge
	if err := json.Unmarshal(job.Payload, &p); err != nil {
		return fault.Wrap(fault.Internal, "Service.PurgeFiles", err)
	}
	for _, key := range p.Keys {
		if err := s.cfg.Blobs.Delete(ctx, key); err != nil {
			return err
		}
	}
	const batch = 500
	for p.Prefix != "" {
		blobs, err := s.cfg.Blobs.List(ctx, p.Prefix, "", batch)
		if err != nil {
			return err
		}
		for _, b := range blobs {
			if err := s.cfg.Blobs.Delete(ctx, b.Key); err != nil {
				return err
			}
		}
		if len(blobs) < batch {
			return nil
		}
	}
	return nil
}
