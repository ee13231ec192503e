package outbound

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// MailerConfig configures a [Mailer].
type MailerConfig struct {
	Outgoing  *helpdesk.Outgoing // required
	Transport Transport          // required
	Relays    *Relays            // for mailboxes with a relay of their own; nil: their mail waits
	Links     sending.MailLinks  // required

	Timeout time.Duration // of one attempt; 0 means 1 min
	Logger  *slog.Logger  // nil: discards
}

// Mailer sends the help desk's own mails to members and invited people, those of [helpdesk.SystemMailKinds]. It is safe for
// concurrent use.
type Mailer struct{ cfg MailerConfig }

// NewMailer returns a mailer. A missing required field of cfg is an Invalid fault.
func NewMailer(cfg MailerConfig) (*Mailer, error) {
	var problems fault.Collector
	problems.Check(cfg.Outgoing != nil, "Outgoing", "is required")
	problems.Check(cfg.Transport != nil, "Transport", "is required")
	cfg.Links.Check(&problems)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = time.Minute
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Mailer{cfg: cfg}, nil
}

// Handle runs one job of the [helpdesk.SystemMailKinds]. An error means that the job must be retried, until the mail has no
// use any more. A mail that can never be sent is given up and logged, without its address.
func (m *Mailer) Handle(ctx context.Context, job storage.ClaimedJob) error {
	out, err := m.cfg.Outgoing.SystemMail(ctx, job, m.cfg.Links)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	tried, err := m.try(ctx, job, out)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	if reportErr := m.cfg.Outgoing.ReportSystemMail(ctx, job, out, tried); reportErr != nil {
		return reportErr
	}
	if tried.State == sending.Failed {
		m.cfg.Logger.WarnContext(ctx, "outbound: a mail of the system cannot be sent", "kind", job.Kind, "account_id", job.AccountID, "subject_id", job.Subject,
			"code", tried.Code, "enhanced_code", tried.EnhancedCode)
		return nil
	}
	if err == nil && tried.State != sending.Sent {
		err = errWaiting
	}
	return err
}

// try attempts to send a mail and returns the outcome. With an error, it is deferred.
func (m *Mailer) try(ctx context.Context, job storage.ClaimedJob, out sending.SystemMail) (helpdesk.Outcome, error) {
	relay, err := transportOf(m.cfg.Transport, m.cfg.Relays, out.Relay)
	if err != nil {
		result := deferral(err)
		return helpdesk.Outcome{State: result.State, Response: result.Response}, err
	}
	if _, spooled := relay.(*Spool); spooled && job.Kind == helpdesk.JobProbe {
		return helpdesk.Outcome{State: sending.Failed, Response: "No mail relay is set: mails are written to the spool and reach nobody."}, nil
	}
	letter, err := m.write(ctx, job, out)
	if invalid, ok := errors.AsType[*mail.InvalidError](err); ok {
		m.cfg.Logger.WarnContext(ctx, "outbound: a mail of the system cannot be composed", "kind", job.Kind, "error", invalid)
		return helpdesk.Outcome{State: sending.Failed, Response: "The mail cannot be composed: " + invalid.Field + " " + invalid.Reason + "."}, nil
	}
	var results []Result
	if err == nil {
		limited, cancel := context.WithTimeout(ctx, m.cfg.Timeout)
		defer cancel()
		results, err = relay.Send(limited, out.From.Email, []string{out.To.Email}, letter)
	}
	switch {
	case err != nil:
		results = []Result{deferral(err)}
	case len(results) == 0:
		results = []Result{{State: sending.Deferred, Response: "The transport gave no result."}}
	}
	r := results[0]
	return helpdesk.Outcome{State: r.State, Code: r.Code, EnhancedCode: r.EnhancedCode, Response: r.Response}, err
}

// write composes and signs a mail, with an ASCII form if that differs. A mail that cannot be signed is sent unsigned.
func (m *Mailer) write(ctx context.Context, job storage.ClaimedJob, out sending.SystemMail) (*Mail, error) {
	composed := composeSystemMail(out)
	letter, err := NewMail(out.MessageID, out.Date, composed)
	if err != nil {
		return nil, err
	}
	if letter.EightBit {
		plain := *composed
		plain.ASCII = true
		if inASCII, err := NewMail(out.MessageID, out.Date, &plain); err == nil {
			letter.Plain = inASCII
		}
	}
	if err := letter.Sign(out.DKIM); err != nil {
		m.cfg.Logger.ErrorContext(ctx, "outbound: a mail of the system leaves without a DKIM signature", "kind", job.Kind, "account_id", job.AccountID, "error", err)
	}
	return letter, nil
}

// composeSystemMail builds the message of a mail.
func composeSystemMail(out sending.SystemMail) *mail.Outgoing {
	m := &mail.Outgoing{
		MessageID: out.MessageID, Date: out.Date.UTC(), AutoSubmitted: true, InReplyTo: out.InReplyTo,
		From:    out.From,
		To:      []mailaddr.Address{out.To},
		Subject: out.Subject, Text: out.Text,
	}
	if out.ReplyTo != "" {
		m.ReplyTo = []mailaddr.Address{{Email: out.ReplyTo}}
	}
	if m.Validate() != nil {
		m.InReplyTo = "" // never a Message-ID from elsewhere
	}
	return m
}
