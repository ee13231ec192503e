package helpdesk

import (
	"context"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// SystemMail is a mail from the help desk itself to one recipient who is not a customer. Every
// attempt gets the same content.
type SystemMail struct {
	MessageID string
	Date      time.Time
	From      mailaddr.Address
	ReplyTo   string // address for replies; "": From
	To        mailaddr.Address
	Subject   string
	InReplyTo string
	Text      string
	DKIM      []DKIMKey // to sign with; none: unsigned
}

// MailLinks build the URLs of pages in system mails. All but Forgotten are required.
type MailLinks struct {
	Invitation    func(token string) string        // for accepting an invitation
	Conversation  func(accountID, id int64) string // for reading a conversation
	Mailbox       func(accountID, id int64) string // for managing a mailbox
	Notifications func(accountID int64) string     // for choosing notifications
	Password      func(token string) string        // for choosing a new password
	Forgotten     func() string                    // for asking for a new password; nil: no link
}

// Check adds problems for missing links, on fields below Links.
func (l MailLinks) Check(problems *fault.Collector) {
	problems.Check(l.Invitation != nil, "Links.Invitation", "is required")
	problems.Check(l.Conversation != nil, "Links.Conversation", "is required")
	problems.Check(l.Mailbox != nil, "Links.Mailbox", "is required")
	problems.Check(l.Notifications != nil, "Links.Notifications", "is required")
	problems.Check(l.Password != nil, "Links.Password", "is required")
}

// SystemMailKinds returns the kinds of jobs that [Outgoing.SystemMail] handles.
func SystemMailKinds() []string {
	return []string{JobInvite, JobProbe, JobReturnMail, JobTellMail, JobPasswordMail, JobCredentialMail}
}

// SystemMail returns the mail of a job of one of the [SystemMailKinds]. If it is no longer to be
// sent, or its data is gone, it is a NotFound fault.
func (o *Outgoing) SystemMail(ctx context.Context, job storage.ClaimedJob, links MailLinks) (SystemMail, error) {
	r, err := o.desk(job.AccountID).Read(transmit)
	if err != nil {
		return SystemMail{}, err
	}
	var out SystemMail
	switch job.Kind {
	case JobInvite:
		out, err = o.svc.invitationMail(ctx, r, job, links)
	case JobProbe:
		out, err = o.svc.probeMail(ctx, r, job.Subject)
	case JobReturnMail:
		out, err = o.svc.returnedMail(ctx, r, job)
	case JobPasswordMail:
		return o.svc.passwordMail(ctx, job, links) // belongs to no account
	case JobCredentialMail:
		return o.svc.credentialMail(ctx, job, links) // likewise
	case JobTellMail:
		out, err = o.svc.tellMail(ctx, r, job, links)
	default:
		return SystemMail{}, fault.New(fault.Internal, "No system mail belongs to this kind of job.")
	}
	if err != nil {
		return SystemMail{}, err
	}
	out.DKIM, err = o.svc.signers(ctx, r, out.From.Email)
	return out, err
}

// ReportSystemMail records the outcome of an attempt where it matters beyond retrying: see
// [Desk.TaggedAddress].
func (o *Outgoing) ReportSystemMail(ctx context.Context, job storage.ClaimedJob, sent SystemMail, out Outcome) error {
	begin, err := o.desk(job.AccountID).Write(transmit)
	if err != nil || job.Kind != JobProbe || out.State == DeliverySent {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error { return o.svc.reportProbe(ctx, tx, job.Subject, sent, out) })
}

// sender returns the sender of mails from the account as a whole: its default mailbox, or else the
// first one with an address; the mailbox avoid (0: none) only if there is no other; without any,
// no-reply at the intake domain.
func (s *Service) sender(ctx context.Context, r Reader, avoid int64) (from mailaddr.Address, of Mailbox, err error) {
	account, err := r.Account(ctx)
	if err != nil {
		return from, of, err
	}
	mailboxes, err := r.Mailboxes().List(ctx, storage.NoFilter{}, storage.Seek{Limit: 100})
	from, best := mailaddr.Address{Name: account.Name, Email: "no-reply@" + s.cfg.IntakeDomain}, 0
	for _, m := range mailboxes {
		fit := 2
		switch {
		case m.Email == "":
			fit = 0
		case m.ID == avoid:
			fit = 1
		case m.ID == account.DefaultMailboxID:
			fit = 3
		}
		if fit > best {
			from.Email, of, best = m.Email, m, fit
		}
	}
	return from, of, err
}

// mailFrom returns the sender address for a mailbox's mail.
func (s *Service) mailFrom(m Mailbox) string {
	if m.Email != "" {
		return m.Email
	}
	return s.InternalAddress(m)
}

// paragraphs joins paragraphs to a mail's text.
func paragraphs(parts ...string) string { return strings.Join(parts, "\n\n") + "\n" }

// greeting returns the first line of a mail.
func greeting(name string) string {
	if name == "" {
		return "Hello,"
	}
	return "Hello " + name + ","
}
