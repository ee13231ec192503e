package outbound

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// ReturnerConfig is what a [Returner] is made of.
type ReturnerConfig struct {
	Outgoing  *helpdesk.Outgoing // required
	Transport Transport          // required

	Timeout time.Duration // of one try; 0 means 1 min
	Logger  *slog.Logger  // nil: discards
}

// Returner sends mails of members back that could not be done. It is safe for concurrent
// use.
type Returner struct{ cfg ReturnerConfig }

// NewReturner makes a returner. What is missing in cfg is an Invalid fault.
func NewReturner(cfg ReturnerConfig) (*Returner, error) {
	var problems fault.Collector
	problems.Check(cfg.Outgoing != nil, "Outgoing", "is required")
	problems.Check(cfg.Transport != nil, "Transport", "is required")
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = time.Minute
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Returner{cfg: cfg}, nil
}

// Handle does one job of kind [helpdesk.JobReturnMail]. An error means that the job is to
// be done again; it ends at the latest after two days. A mail that can never be sent is
// given up and logged: the ledger has it.
func (r *Returner) Handle(ctx context.Context, job storage.ClaimedJob) error {
	back, err := r.cfg.Outgoing.Returned(ctx, job)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	giveUp := func(reason string, code int) {
		r.cfg.Logger.WarnContext(ctx, "outbound: a member's mail cannot be sent back", "account_id", job.AccountID, "mail_id", job.Subject, "reason", reason, "code", code)
	}
	m, err := NewMail(back.MessageID, back.Date, composeReturned(back))
	if invalid, ok := errors.AsType[*mail.InvalidError](err); ok {
		giveUp(invalid.Error(), 0)
		return nil
	}
	if err != nil {
		return err
	}
	if err := m.Sign(back.DKIM); err != nil {
		r.cfg.Logger.ErrorContext(ctx, "outbound: a mail that goes back to a member leaves without a DKIM signature", "error", err)
	}
	limited, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	results, err := r.cfg.Transport.Send(limited, back.From.Email, []string{back.To.Email}, m)
	if err != nil {
		return err
	}
	if len(results) == 0 || results[0].State == helpdesk.DeliveryDeferred {
		return errWaiting
	}
	if results[0].State == helpdesk.DeliveryFailed {
		giveUp("it was refused", results[0].Code)
	}
	return nil
}

// composeReturned says what the mail is.
func composeReturned(back helpdesk.ReturnedMail) *mail.Outgoing {
	out := &mail.Outgoing{
		MessageID: back.MessageID, Date: back.Date.UTC(), AutoSubmitted: true, InReplyTo: back.InReplyTo,
		From:    mail.Address{Name: back.From.Name, Email: back.From.Email},
		To:      []mail.Address{{Name: back.To.Name, Email: back.To.Email}},
		Subject: back.Subject, Text: back.Text,
	}
	if back.ReplyTo != "" {
		out.ReplyTo = []mail.Address{{Email: back.ReplyTo}}
	}
	if out.Validate() != nil {
		out.InReplyTo = "" // whatever the member's program takes for a Message-ID
	}
	return out
}
