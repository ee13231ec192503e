package helpdesk

import (
	"context"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// SystemMailKinds returns the kinds of jobs that [Outgoing.SystemMail] handles.
func SystemMailKinds() []string {
	return []string{JobInvite, JobProbe, JobReturnMail, JobTellMail, JobPasswordMail, JobCredentialMail}
}

// SystemMail returns the mail of a job of one of the [SystemMailKinds]. If it is no longer to be sent, or its data is gone,
// it is a NotFound fault.
func (o *Outgoing) SystemMail(ctx context.Context, job storage.ClaimedJob, links sending.MailLinks) (sending.SystemMail, error) {
	r, err := o.desk(job.AccountID).Read(transmit)
	if err != nil {
		return sending.SystemMail{}, err
	}
	var out sending.SystemMail
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
		out, err = o.svc.notificationMail(ctx, r, job, links)
	default:
		return sending.SystemMail{}, fault.New(fault.Internal, "This kind of job sends no system mail.")
	}
	if err != nil {
		return sending.SystemMail{}, err
	}
	if out.Relay, err = o.svc.relayOf(ctx, r, out.From.Email); err != nil {
		return sending.SystemMail{}, err
	}
	out.DKIM, err = o.svc.signers(ctx, r, out.From.Email)
	return out, err
}

// relayOf returns the own relay of the mailbox with an address; nil if there is none.
func (s *Service) relayOf(ctx context.Context, r Reader, email string) (*sending.Relay, error) {
	key := mailaddr.Key(email)
	mailboxes, err := r.Mailboxes().List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	for _, m := range mailboxes {
		if m.EmailKey == key {
			return s.relay(m), err
		}
	}
	return nil, err
}

// ReportSystemMail records the outcome of an attempt where it matters beyond retrying: see [Mailboxes.TaggedAddress].
func (o *Outgoing) ReportSystemMail(ctx context.Context, job storage.ClaimedJob, sent sending.SystemMail, out Outcome) error {
	begin, err := o.desk(job.AccountID).Write(transmit)
	if err != nil || job.Kind != JobProbe || out.State == sending.Sent {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error { return o.svc.reportProbe(ctx, tx, job.Subject, sent, out) })
}

// sender returns the sender of mails from the account as a whole: its default mailbox, or else the first one with an
// address; the mailbox avoid (0: none) only if there is no other; without any, no-reply at the intake domain.
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
