package helpdesk

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Kinds of jobs. Whoever runs the jobs registers a handler for each: see
// helpdesk/ingest, helpdesk/outbound, helpdesk/webhook and [Service.PurgeBlobs].
const (
	JobFileMail    = "mail.file"     // Subject: mailbox whose received mails are to be filed
	JobRefetchMail = "mail.refetch"  // Subject: mail of the ledger of which only a part is there
	JobBackfill    = "mail.backfill" // Subject: mailbox; Payload: a Backfill
	JobReplayMail  = "mail.replay"   // Subject: mailbox; Payload: a Replay
	JobSendMail    = "mail.send"     // Subject: interaction to be sent
	JobPurgeBlobs  = "blobs.purge"   // Payload: what to remove
	JobInvite      = "mail.invite"   // Subject: invitation to be sent
	JobProbe       = "mail.probe"    // Subject: mailbox whose tagged addresses are to be tried
	JobWebhook     = "webhook.send"  // Subject: webhook of which deliveries may be due
	// JobUnassign takes the conversations of somebody who has left from them; Subject is
	// the user. See [Service.Unassign].
	JobUnassign = "conversations.unassign"
)

func accountPrefix(accountID int64) string { return fmt.Sprintf("accounts/%d/", accountID) }

func mailboxPrefix(accountID, mailboxID int64) string {
	return fmt.Sprintf("%smailboxes/%d/", accountPrefix(accountID), mailboxID)
}

// rawKey is where a raw mail lies: named by its content, so that taking the same
// mail again writes the same blob.
func rawKey(accountID, mailboxID int64, sum [32]byte) string {
	return fmt.Sprintf("%sraw/%x", mailboxPrefix(accountID, mailboxID), sum)
}

// purge is the payload of JobPurgeBlobs.
type purge struct {
	Prefix string   `json:"prefix,omitempty"`
	Keys   []string `json:"keys,omitempty"`
}

func purgePrefix(prefix string) storage.Job {
	payload, _ := json.Marshal(purge{Prefix: prefix})
	return storage.Job{Kind: JobPurgeBlobs, Payload: payload}
}

// purgeKeys makes jobs of at most 200 keys each: a payload is limited.
func purgeKeys(accountID int64, keys []string) []storage.Job {
	var jobs []storage.Job
	for len(keys) > 0 {
		n := min(200, len(keys))
		payload, _ := json.Marshal(purge{Keys: keys[:n]})
		jobs = append(jobs, storage.Job{Kind: JobPurgeBlobs, AccountID: accountID, Payload: payload})
		keys = keys[n:]
	}
	return jobs
}

// PurgeBlobs does a job of kind [JobPurgeBlobs]: it removes files whose rows are
// gone. Doing it again is harmless.
func (s *Service) PurgeBlobs(ctx context.Context, job storage.ClaimedJob) error {
	var p purge
	if err := json.Unmarshal(job.Payload, &p); err != nil {
		return fault.Wrap(fault.Internal, "Service.PurgeBlobs", err)
	}
	for _, key := range p.Keys {
		if err := s.cfg.Blobs.Delete(ctx, key); err != nil {
			return err
		}
	}
	for p.Prefix != "" {
		blobs, err := s.cfg.Blobs.List(ctx, p.Prefix, "", 500)
		if err != nil {
			return err
		}
		for _, b := range blobs {
			if err := s.cfg.Blobs.Delete(ctx, b.Key); err != nil {
				return err
			}
		}
		if len(blobs) < 500 {
			return nil
		}
	}
	return nil
}
