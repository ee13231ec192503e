package helpdesk

import (
	"context"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// SystemMail is a mail that the help desk writes by itself, to one recipient who is no
// customer. Every try gives the same.
type SystemMail struct {
	MessageID string
	Date      time.Time
	From      Address
	ReplyTo   string // where answers go to; "": to From
	To        Address
	Subject   string
	InReplyTo string
	Text      string
	DKIM      []DKIMKey // to sign with; none: it is not signed
}

// MailLinks are the addresses of the pages that mails of the system lead to. All are
// required.
type MailLinks struct {
	Invitation    func(token string) string        // where an invitation is accepted
	Conversation  func(accountID, id int64) string // where members read a conversation
	Mailbox       func(accountID, id int64) string // where they look after a mailbox
	Notifications func(accountID int64) string     // where they choose what they are told
	Password      func(token string) string        // where another password is chosen
}

// Check notes what is missing, with problems on fields below Links.
func (l MailLinks) Check(problems *fault.Collector) {
	problems.Check(l.Invitation != nil, "Links.Invitation", "is required")
	problems.Check(l.Conversation != nil, "Links.Conversation", "is required")
	problems.Check(l.Mailbox != nil, "Links.Mailbox", "is required")
	problems.Check(l.Notifications != nil, "Links.Notifications", "is required")
	problems.Check(l.Password != nil, "Links.Password", "is required")
}

// SystemMailKinds returns the kinds of the jobs that [Outgoing.SystemMail] has mails of.
func SystemMailKinds() []string {
	return []string{JobInvite, JobProbe, JobReturnMail, JobTellMail, JobPasswordMail}
}

// SystemMail returns the mail of a job of one of the [SystemMailKinds]. One that is not to
// be sent any more, or of which what it needs is gone, is a NotFound fault.
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
		return o.svc.passwordMail(ctx, job, links) // of no account
	case JobTellMail:
		out, err = o.svc.tellMail(ctx, r, job, links)
	default:
		return SystemMail{}, fault.New(fault.Internal, "No mail of the system belongs to jobs of this kind.")
	}
	if err != nil {
		return SystemMail{}, err
	}
	out.DKIM, err = o.svc.signers(ctx, r, out.From.Email)
	return out, err
}

// ReportSystemMail records what became of a try to send a mail, where that says more than
// that it is to be tried again: see [Desk.TaggedAddress].
func (o *Outgoing) ReportSystemMail(ctx context.Context, job storage.ClaimedJob, sent SystemMail, out Outcome) error {
	begin, err := o.desk(job.AccountID).Write(transmit)
	if err != nil || job.Kind != JobProbe || out.State == DeliverySent {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error { return o.svc.reportProbe(ctx, tx, job.Subject, sent, out) })
}

// sender is who writes what comes from the account as a whole: its default mailbox, or else
// its first one with an address, and only if need be the one to be avoided (0: none); without
// any, no-reply at the intake domain.
func (s *Service) sender(ctx context.Context, r Reader, avoid int64) (from Address, of Mailbox, err error) {
	account, err := r.Account(ctx)
	if err != nil {
		return from, of, err
	}
	mailboxes, err := r.Mailboxes().List(ctx, storage.NoFilter{}, storage.Seek{Limit: 100})
	from, best := Address{Name: account.Name, Email: "no-reply@" + s.cfg.IntakeDomain}, 0
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

// mailFrom is the address that mail of a mailbox comes from.
func (s *Service) mailFrom(m Mailbox) string {
	if m.Email != "" {
		return m.Email
	}
	return s.InternalAddress(m)
}

// paragraphs is the text of a mail.
func paragraphs(parts ...string) string { return strings.Join(parts, "\n\n") + "\n" }

// greeting begins a mail.
func greeting(name string) string {
	if name == "" {
		return "Hello,"
	}
	return "Hello " + name + ","
}
