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

// Kinds of jobs. The program that runs the jobs registers a handler for each: see helpdesk/ingest, helpdesk/outbound,
// helpdesk/webhook and [Service.PurgeBlobs].
const (
	JobFileMail    = "mail.file"     // Subject: mailbox whose received messages are to be filed
	JobRefetchMail = "mail.refetch"  // Subject: ledger row of an incomplete message
	JobBackfill    = "mail.backfill" // Subject: mailbox; Payload: a Backfill
	JobReplayMail  = "mail.replay"   // Subject: mailbox; Payload: a Replay
	JobSendMail    = "mail.send"     // Subject: interaction to be sent
	JobPurgeBlobs  = "blobs.purge"   // Payload: what to remove
	JobInvite      = "mail.invite"   // Subject: invitation to be sent
	JobProbe       = "mail.probe"    // Subject: mailbox whose tagged addresses are to be tested
	JobReturnMail  = "mail.return"   // Subject: ledger row of a message returned to a member; Payload: the explanation
	JobWebhook     = "webhook.send"  // Subject: webhook that may have due deliveries
	// JobUnassign unassigns the conversations of a former member; Subject is the user. See [Service.Unassign].
	JobUnassign = "conversations.unassign"
	// JobDisband removes a deleted team from its conversations; Subject is the team.
	JobDisband = "conversations.disband"
	// JobIndexCustomer gives the new search terms of a customer to the customer's conversations; Subject is the customer. See
	// [Service.IndexCustomer].
	JobIndexCustomer = "customers.index"
	// JobWake wakes a snoozed conversation; Subject is its id. See [Service.Wake].
	JobWake = "conversations.wake"
	// JobNotify notifies members of an event; its payload describes it. See [Service.Notify].
	JobNotify = "notifications.tell"
	// JobMailNotifications mails a member's notifications; Subject is the user. See [Service.MailNotifications].
	JobMailNotifications = "notifications.mail"
	// JobTellMail sends a mail to a member; Subject is the user, the payload its content.
	JobTellMail = "mail.tell"
	// JobPasswordMail sends the mail for a forgotten password; its payload identifies the user.
	JobPasswordMail = "mail.password"
	// JobCredentialMail tells a user that what they sign in with was changed; Subject is the user.
	JobCredentialMail = "mail.credential"
	// JobPush sends a push message to a device of a member; Subject is the device. See [Service.PushNotification].
	JobPush = "notifications.push"
	// JobPruneNotifications removes old notifications. See [Service.PruneNotifications].
	JobPruneNotifications = "notifications.prune"
)

// JobKinds returns the kinds of all help desk jobs. Each needs a handler.
func JobKinds() []string {
	return []string{
		JobFileMail, JobRefetchMail, JobBackfill, JobReplayMail, JobSendMail, JobPurgeBlobs, JobInvite, JobProbe, JobReturnMail, JobWebhook, JobUnassign,
		JobDisband, JobIndexCustomer, JobWake, JobNotify, JobMailNotifications, JobTellMail, JobPruneNotifications, JobPasswordMail, JobCredentialMail,
		JobPush,
	}
}

func accountPrefix(accountID int64) string { return fmt.Sprintf("accounts/%d/", accountID) }

func mailboxPrefix(accountID, mailboxID int64) string {
	return fmt.Sprintf("%smailboxes/%d/", accountPrefix(accountID), mailboxID)
}

// rawKey returns a new blob key for a raw message. Keys are never reused, so a file without a row can be removed safely.
func rawKey(accountID, mailboxID int64) string {
	return mailboxPrefix(accountID, mailboxID) + "raw/" + strings.ToLower(rand.Text())
}

// fileKey returns a new blob key for an attachment.
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

// purgeKeys returns jobs of at most 200 keys each, since payloads are limited.
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

// discardTime limits the time for removing files that no row refers to.
const discardTime = 10 * time.Second

// discard removes files whose rows were not written because of err. If the outcome is unknown, a row may refer to them, so
// they stay; the sweep of storage/blobs finds those without a row.
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

// PurgeBlobs runs a job of kind [JobPurgeBlobs]: it removes files whose rows are gone. It is idempotent.
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
