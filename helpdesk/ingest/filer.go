package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/jobs"
)

// FilerConfig configures a [Filer].
type FilerConfig struct {
	Intake *helpdesk.Intake // required
	Limits mail.Limits      // per message; zero: those of package mail
	// TrustedServers are the authserv-ids of mail servers whose Authentication-Results are trusted in fetched and relayed mail.
	// Each server must add the header field to every message, or remove existing ones with its name.
	TrustedServers []string
	// Observe is called with each message's result: filed, ignored or quarantined. nil: none.
	Observe func(ledger.State)
	Now     func() time.Time // nil: time.Now
	Logger  *slog.Logger     // nil: discards
}

// Filer files received messages. It handles jobs of kind [helpdesk.JobFileMail].
type Filer struct {
	cfg FilerConfig

	mu   sync.Mutex
	busy map[int64]bool // mailboxes in progress; true: check again before ending
	owed map[int64]bool // messages with a record of StartMail that could not be cleared

	large chan struct{} // semaphore for one large message
}

// NewFiler returns a filer. A missing required field of cfg is an Invalid fault.
func NewFiler(cfg FilerConfig) (*Filer, error) {
	if cfg.Intake == nil {
		return nil, fault.Field("Intake", "is required")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Filer{cfg: cfg, busy: map[int64]bool{}, owed: map[int64]bool{}, large: make(chan struct{}, 1)}, nil
}

// Handle files all waiting messages of the job's mailbox in order of receipt, so that a reply finds the message it answers.
// A message that cannot be filed is quarantined with the reason and does not hold up others. Only failures that affect all
// messages, such as an unavailable database, are errors.
//
// Each received batch creates a job, so one mailbox may have many. Within a process the first one works for all; between
// processes, row locks decide.
func (f *Filer) Handle(ctx context.Context, job storage.ClaimedJob) error {
	if !f.enter(job.Subject) {
		return nil // the running job checks again, and is retried if it dies
	}
	for {
		if err := f.drain(ctx, job); err != nil {
			f.leave(job.Subject, true)
			return err
		}
		if f.leave(job.Subject, false) {
			return nil
		}
	}
}

func (f *Filer) enter(mailbox int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, atWork := f.busy[mailbox]; atWork {
		f.busy[mailbox] = true
		return false
	}
	f.busy[mailbox] = false
	return true
}

// leave ends the work on a mailbox, unless more was requested in the meantime.
func (f *Filer) leave(mailbox int64, anyway bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.busy[mailbox] && !anyway {
		f.busy[mailbox] = false
		return false
	}
	delete(f.busy, mailbox)
	return true
}

// Waiting messages are filed in batches, each in one transaction, during which other writers may wait.
const (
	batchMails = 20
	batchBytes = 4 << 20 // larger messages are filed alone
)

// drain files the waiting messages. If it fails after filing some, its error reflects that.
func (f *Filer) drain(ctx context.Context, job storage.ClaimedJob) (err error) {
	const page = 100
	done := 0
	defer func() {
		if err != nil && done > 0 {
			err = jobs.Progress(err)
		}
	}()
	for after := int64(0); ; {
		waiting, err := f.cfg.Intake.Waiting(ctx, job.AccountID, job.Subject, after, page)
		if err != nil {
			return err
		}
		// A process may have died at one of them, in this job or in another.
		careful := job.Lost > 0 || slices.ContainsFunc(waiting, func(m ledger.Mail) bool { return m.Deaths > 0 })
		for rest := waiting; len(rest) > 0; {
			n, file := together(rest), f.fileAll
			if careful {
				n, file = 1, f.fileCarefully
			}
			filed, err := file(ctx, job.AccountID, rest[:n])
			done += filed
			if err != nil {
				return err
			}
			after, rest = rest[n-1].ID, rest[n:]
		}
		if len(waiting) < page {
			return nil
		}
	}
}

// together returns the number of messages in the first batch.
func together(mails []ledger.Mail) int {
	n, size := 1, mails[0].Size
	for n < len(mails) && n < batchMails && size+mails[n].Size <= batchBytes {
		size += mails[n].Size
		n++
	}
	return n
}

// fileCarefully files one message and records that before, so that a message that crashes the process repeatedly is
// quarantined.
func (f *Filer) fileCarefully(ctx context.Context, accountID int64, rows []ledger.Mail) (done int, err error) {
	id := rows[0].ID
	if f.owes(id) { // an outage must not count as a crash
		if err := f.stopMail(ctx, accountID, id); err != nil {
			return 0, err
		}
	}
	ok, err := f.cfg.Intake.StartMail(ctx, accountID, id)
	if !fault.Certain(err) {
		f.owe(id, true)
	}
	if err != nil || !ok {
		return 0, err
	}
	if done, err = f.fileAll(ctx, accountID, rows); err == nil {
		return done, nil
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if stopped := f.stopMail(limited, accountID, id); stopped != nil {
		f.cfg.Logger.WarnContext(ctx, "the end of work on a mail was not noted", "mail_id", id, "error", stopped)
	}
	return done, err
}

// stopMail records that work on a message has ended, now or before the next time that it starts.
func (f *Filer) stopMail(ctx context.Context, accountID, id int64) error {
	err := f.cfg.Intake.StopMail(ctx, accountID, id)
	f.owe(id, err != nil && fault.Certain(err)) // rather count too few crashes than too many
	return err
}

func (f *Filer) owe(id int64, owed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if delete(f.owed, id); owed {
		f.owed[id] = true
	}
}

func (f *Filer) owes(id int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.owed[id]
}

// fileAll files messages together or, after a failure, one by one to find the faulty one. It returns the number handled.
// Messages already read are filed even if the next cannot be read; otherwise unreliable storage could block all progress.
//
// A large message takes several times its size in memory, so only one is filed at a time.
func (f *Filer) fileAll(ctx context.Context, accountID int64, rows []ledger.Mail) (done int, err error) {
	if rows[0].Size > batchBytes {
		select {
		case f.large <- struct{}{}:
			defer func() { <-f.large }()
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	mails, aside, failure := f.readAll(ctx, accountID, rows)
	if len(mails) > 1 && f.try(ctx, accountID, mails...) == nil {
		return aside + len(mails), failure
	}
	done = aside
	for _, m := range mails {
		if err := f.try(ctx, accountID, m); err != nil {
			if err := f.setAside(ctx, accountID, rows[0].MailboxID, m.ID, err); err != nil {
				return done, err
			}
		}
		done++
	}
	return done, failure
}

// readAll reads messages until one fails for a reason that affects all. A message that is itself unreadable is quarantined.
func (f *Filer) readAll(ctx context.Context, accountID int64, rows []ledger.Mail) (mails []ledger.Parsed, aside int, err error) {
	for _, row := range rows {
		mail, err := f.read(ctx, accountID, row)
		if err == nil {
			mails = append(mails, ledger.Parsed{ID: row.ID, Mail: mail})
			continue
		}
		if err := f.setAside(ctx, accountID, row.MailboxID, row.ID, err); err != nil {
			return mails, aside, err
		}
		aside++
	}
	return mails, aside, nil
}

// setAside quarantines a message that cannot be filed, unless the message is not the cause.
func (f *Filer) setAside(ctx context.Context, accountID, mailboxID, id int64, err error) error {
	if ctx.Err() != nil || concernsAll(err) {
		return err
	}
	f.cfg.Logger.WarnContext(ctx, "a mail was quarantined", "mailbox_id", mailboxID, "mail_id", id, "error", err)
	err = f.cfg.Intake.Quarantine(ctx, accountID, id, reason(err))
	if err == nil {
		f.observe(ledger.Quarantined)
	}
	return err
}

func (f *Filer) observe(state ledger.State) {
	if f.cfg.Observe != nil {
		f.cfg.Observe(state)
	}
}

// concernsAll reports whether an error would affect other messages, too.
func concernsAll(err error) bool {
	return fault.Passes(err) || fault.Is(err, fault.Forbidden) || errors.Is(err, context.Canceled)
}

// unreadable is an error whose text may be shown as the reason of a quarantine.
type unreadable struct{ error }

func reason(err error) string {
	if u, ok := errors.AsType[unreadable](err); ok {
		return u.Error()
	}
	if fault.Is(err, fault.NotFound) {
		return "its raw bytes or its mailbox are gone"
	}
	if e, ok := errors.AsType[*fault.Error](err); ok && e.Kind == fault.Invalid {
		return "it could not be stored: " + e.Text()
	}
	return "an unexpected error; the server's log tells more"
}

// try files messages, all or none.
func (f *Filer) try(ctx context.Context, accountID int64, mails ...ledger.Parsed) (err error) {
	defer recovered(&err)
	rows, err := f.cfg.Intake.FileAll(ctx, accountID, mails)
	if err == nil {
		for _, row := range rows {
			f.observe(row.State)
		}
	}
	return err
}

// recovered converts a panic to an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("ingest: panic while filing: %v", p)
	}
}

// read reads and parses a received message.
func (f *Filer) read(ctx context.Context, accountID int64, row ledger.Mail) (in ledger.Incoming, err error) {
	defer recovered(&err)
	raw, err := f.cfg.Intake.Raw(ctx, accountID, row)
	if err != nil {
		return in, err
	}
	// The size was limited already, by the source or by the request to fetch the message again.
	limits := f.cfg.Limits
	limits.Size = max(limits.Size, mail.DefaultSize, int64(len(raw)))
	parsed, err := mail.Parse(raw, limits)
	if err != nil {
		return in, unreadable{err}
	}
	in = incoming(parsed)
	if in.Report == nil {
		in.Attached = attached(in.Attachments, limits)
	}
	if in.Security, err = f.security(ctx, accountID, in.FirstAuthor().Email, parsed.Protection); err != nil {
		return in, err
	}
	in.Authentication, in.Archived = f.fromHeader(parsed), row.Source == ledger.SourceImport
	in.KeptAsSent = row.Source == sourceIMAP && isSentFolder(imapFolder(row.Position))
	return in, nil
}

// incoming converts a parsed message for the help desk.
func incoming(m *mail.Message) ledger.Incoming {
	identity, former := m.Identity(), m.FormerIdentity()
	in := ledger.Incoming{
		Message: m.Message, Identity: identity[:], FormerIdentity: former[:], DateOffset: m.DateOffset(), LastHop: m.LastHop(), Relayed: m.Header.Has("Received"),
	}
	if original, rewritten := m.Rewritten(); rewritten {
		in.Rewritten, in.Original = true, original
	}
	if _, ok := m.Author(); !ok {
		in.Guessed = true
	}
	if report, ok := m.Report(); ok {
		in.Report = deliveryReport(report)
	}
	return in
}

// attached returns the attached message, if there is exactly one. An unreadable one stays an ordinary file.
func attached(files []message.Part, limits mail.Limits) *ledger.Incoming {
	var found []message.Part
	for _, a := range files {
		if a.ContentType == "message/rfc822" || a.ContentType == "message/global" {
			found = append(found, a)
		}
	}
	if len(found) != 1 {
		return nil
	}
	parsed, err := mail.Parse(found[0].Body, limits)
	if err != nil {
		return nil
	}
	in := incoming(parsed)
	return &in
}

// deliveryReport converts a message's report for the help desk.
func deliveryReport(r mail.Report) *sending.Report {
	out := &sending.Report{InWords: r.InWords, Complaint: r.Complaint, MessageIDs: r.MessageIDs, Senders: r.Senders}
	states := map[mail.ReportAction]sending.State{
		mail.ReportFailed: sending.Bounced, mail.ReportDelayed: sending.Deferred, mail.ReportDelivered: sending.Delivered,
		mail.ReportRelayed: sending.Sent,
	}
	for _, one := range r.Recipients {
		out.Recipients = append(out.Recipients, sending.ReportedRecipient{
			Address: one.Address, Original: one.Original, State: states[one.Action], EnhancedCode: one.Status, Response: one.Diagnostic,
		})
	}
	return out
}
