package helpdesk

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/helpwright/helpwright/storage"
)

// Kinds of jobs. The program that runs the jobs registers a handler for each: see helpdesk/ingest, helpdesk/outbound,
// helpdesk/webhook and [Jobs.PurgeBlobs].
const (
	JobFileMail    = "mail.file"     // Subject: mailbox whose received messages are to be filed
	JobRefetchMail = "mail.refetch"  // Subject: ledger row of an incomplete message
	JobBackfill    = "mail.backfill" // Subject: mailbox; Payload: a Backfill
	JobReplayMail  = "mail.replay"   // Subject: mailbox; Payload: a Replay
	JobSendMail    = "mail.send"     // Subject: interaction to be sent
	JobPurgeBlobs  = "blobs.purge"   // Payload: what to remove
	JobInvite      = "mail.invite"   // Subject: invitation to be sent
	JobProbe       = "mail.probe"    // Subject: mailbox whose tagged addresses are to be tested
	// JobAutoReply answers a mail by itself, see [Jobs.AutoReply]; Subject is the customer's interaction.
	JobAutoReply = "mail.auto_reply"
	// JobAskRating asks the customer of a closed conversation for a rating; Subject is the conversation. See [Jobs.AskRating].
	JobAskRating = "ratings.ask"
	// JobRetention applies the retention policies of an account in a night; Payload: which. See [Jobs.Retain].
	JobRetention  = "retention.run"
	JobRules      = "rules.run"    // Subject: conversation at whose events rules are to run, see [Jobs.RunRules]
	JobRuleClock  = "rules.clock"  // Subject: rule that acts when time has passed, see [Jobs.TickRule]
	JobReturnMail = "mail.return"  // Subject: ledger row of a message returned to a member; Payload: the explanation
	JobWebhook    = "webhook.send" // Subject: webhook that may have due deliveries
	// JobUnassign unassigns the conversations of a former member; Subject is the user. See [Jobs.Unassign].
	JobUnassign = "conversations.unassign"
	// JobDisband removes a deleted team from its conversations; Subject is the team.
	JobDisband = "conversations.disband"
	// JobHandOut hands out the conversations that wait in a team's queue; Subject is the team. See [Jobs.HandOut].
	JobHandOut = "teams.hand_out"
	// JobSLA says what is due in a conversation; Subject is its id. See [Jobs.TellDue].
	JobSLA = "slas.due"
	// JobReplay finds out what a rule would have done; Subject is the replay. See [Jobs.ReplayRule].
	JobReplay = "rules.replay"
	// JobFacts folds what has happened into what reports know of conversations. See [Jobs.FoldFacts].
	JobFacts = "reports.fold"
	// JobMeasure computes the targets of conversations again. See [Jobs.MeasureAll].
	JobMeasure = "slas.measure"
	// JobIndexCustomer gives the new search terms of a customer to the customer's conversations; Subject is the customer. See
	// [Jobs.IndexCustomer].
	JobIndexCustomer = "customers.index"
	// JobCompany gives customers the new name of their company, and those at its new domains the company; Subject is the company.
	// See [Jobs.SettleCompany].
	JobCompany = "companies.settle"
	// JobWake wakes a snoozed conversation; Subject is its id. See [Jobs.Wake].
	JobWake = "conversations.wake"
	// JobNotify notifies members of an event; its payload describes it. See [Jobs.Notify].
	JobNotify = "notifications.tell"
	// JobMailNotifications mails a member's notifications; Subject is the user. See [Jobs.MailNotifications].
	JobMailNotifications = "notifications.mail"
	// JobTellMail sends a mail to a member; Subject is the user, the payload its content.
	JobTellMail = "mail.tell"
	// JobPasswordMail sends the mail for a forgotten password; its payload identifies the user.
	JobPasswordMail = "mail.password"
	// JobCredentialMail tells a user that what they sign in with was changed; Subject is the user.
	JobCredentialMail = "mail.credential"
	// JobPush sends a push message to a device of a member; Subject is the device. See [Jobs.Push].
	JobPush = "notifications.push"
	// JobPruneNotifications removes old notifications. See [Jobs.PruneNotifications].
	JobPruneNotifications = "notifications.prune"
)

// JobKinds returns the kinds of all help desk jobs. Each needs a handler.
func JobKinds() []string {
	return []string{
		JobFileMail, JobRefetchMail, JobBackfill, JobReplayMail, JobSendMail, JobPurgeBlobs, JobInvite, JobProbe, JobReturnMail, JobWebhook, JobUnassign,
		JobDisband, JobIndexCustomer, JobCompany, JobWake, JobNotify, JobMailNotifications, JobTellMail, JobPruneNotifications, JobPasswordMail, JobCredentialMail,
		JobPush, JobAutoReply, JobRules, JobRuleClock, JobHandOut, JobSLA, JobMeasure, JobReplay, JobAskRating, JobRetention, JobFacts,
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

// Jobs has the work that a queue does later, a method for each kind of job; errors have the job tried again.
type Jobs struct{ svc *Service }

// Jobs returns the handle of work that a queue does.
func (s *Service) Jobs() Jobs { return Jobs{s} }

// PurgeBlobs runs a job of kind [JobPurgeBlobs]: it removes files whose rows are gone. It is idempotent.
func (j Jobs) PurgeBlobs(ctx context.Context, job storage.ClaimedJob) error {
	return storage.RunBlobPurge(ctx, j.svc.cfg.Blobs, job)
}
