package helpdesk

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

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
	JobReturnMail  = "mail.return"   // Subject: mail of the ledger that goes back to a member; Payload: what to say
	JobWebhook     = "webhook.send"  // Subject: webhook of which deliveries may be due
	// JobUnassign takes the conversations of somebody who has left from them; Subject is
	// the user. See [Service.Unassign].
	JobUnassign = "conversations.unassign"
	// JobDisband takes its conversations from a team that was deleted; Subject is the team.
	JobDisband = "conversations.disband"
	// JobWake wakes a conversation that sleeps; Subject is its id. See [Service.Wake].
	JobWake = "conversations.wake"
	// JobNotify tells members what happened; its payload says what. See [Service.Notify].
	JobNotify = "notifications.tell"
	// JobMailNotifications has what a member was told mailed; Subject is the user. See
	// [Service.MailNotifications].
	JobMailNotifications = "notifications.mail"
	// JobTellMail is a mail that tells a member something; Subject is the user, the payload
	// says what.
	JobTellMail = "mail.tell"
	// JobPasswordMail is the mail to who has forgotten a password; its payload says who.
	JobPasswordMail = "mail.password"
	// JobPruneNotifications removes what is too old. See [Service.PruneNotifications].
	JobPruneNotifications = "notifications.prune"
)

// JobKinds returns the kinds of all jobs of the help desk, each of which needs a handler.
func JobKinds() []string {
	return []string{
		JobFileMail, JobRefetchMail, JobBackfill, JobReplayMail, JobSendMail, JobPurgeBlobs, JobInvite, JobProbe, JobReturnMail, JobWebhook, JobUnassign,
		JobDisband, JobWake, JobNotify, JobMailNotifications, JobTellMail, JobPruneNotifications, JobPasswordMail,
	}
}

func accountPrefix(accountID int64) string { return fmt.Sprintf("accounts/%d/", accountID) }

func mailboxPrefix(accountID, mailboxID int64) string {
	return fmt.Sprintf("%smailboxes/%d/", accountPrefix(accountID), mailboxID)
}

// rawKey is where a raw mail lies, each time it is taken at another place: of a file
// that no row names nobody is about to make a row, and it can be removed.
func rawKey(accountID, mailboxID int64) string {
	return mailboxPrefix(accountID, mailboxID) + "raw/" + strings.ToLower(rand.Text())
}

// fileKey is where an attachment lies.
func fileKey(accountID int64) string {
	return accountPrefix(accountID) + "attachments/" + strings.ToLower(rand.Text())
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

// discardTime bounds how long files are removed that no row came to name.
const discardTime = 10 * time.Second

// discard removes files that no row came to name because of err. When the outcome is unknown a row may name them: they
// stay, and where none does the sweep of storage/blobs finds them.
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
