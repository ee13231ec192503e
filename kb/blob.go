package kb

import (
	"context"
	"fmt"

	"github.com/helpwright/helpwright/storage"
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

func purgePrefix(accountID int64, prefix string) []storage.Job {
	return storage.BlobPurge{Prefix: prefix}.Jobs(JobPurgeFiles, accountID)
}

func purgeKeys(accountID int64, keys []string) []storage.Job {
	return storage.BlobPurge{Keys: keys}.Jobs(JobPurgeFiles, accountID)
}

// discard deletes blobs whose rows were not written because of err.
func (s *Service) discard(ctx context.Context, err error, keys ...string) {
	storage.DiscardBlobs(ctx, s.cfg.Blobs, s.cfg.Logger, err, keys...)
}

// PurgeFiles runs a job of kind [JobPurgeFiles]. Running it again is harmless.
func (s *Service) PurgeFiles(ctx context.Context, job storage.ClaimedJob) error {
	return storage.RunBlobPurge(ctx, s.cfg.Blobs, job)
}
