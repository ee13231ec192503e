package helpdesk

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/helpwright/helpwright/storage"
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

func purgePrefix(prefix string) []storage.Job {
	return storage.BlobPurge{Prefix: prefix}.Jobs(JobPurgeBlobs, 0)
}

func purgeKeys(accountID int64, keys []string) []storage.Job {
	return storage.BlobPurge{Keys: keys}.Jobs(JobPurgeBlobs, accountID)
}

// discard deletes files whose rows were not written because of err.
func (s *Service) discard(ctx context.Context, err error, keys ...string) {
	storage.DiscardBlobs(ctx, s.cfg.Blobs, s.cfg.Logger, err, keys...)
}

// PurgeBlobs runs a job of kind [JobPurgeBlobs]: it removes files whose rows are gone. It is idempotent.
func (s *Service) PurgeBlobs(ctx context.Context, job storage.ClaimedJob) error {
	return storage.RunBlobPurge(ctx, s.cfg.Blobs, job)
}
