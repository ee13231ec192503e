package outbound

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// InviterConfig is what an [Inviter] is made of.
type InviterConfig struct {
	Outgoing  *helpdesk.Outgoing // required
	Transport Transport          // required
	// Link is the address of a page where an invitation of a token is accepted;
	// required.
	Link func(token string) string

	Timeout time.Duration // of one try; 0 means 1 min
	Logger  *slog.Logger  // nil: discards
}

// Inviter mails invitations. It is safe for concurrent use.
type Inviter struct{ cfg InviterConfig }

// NewInviter makes an inviter. What is missing in cfg is an Invalid fault.
func NewInviter(cfg InviterConfig) (*Inviter, error) {
	var problems fault.Collector
	problems.Check(cfg.Outgoing != nil, "Outgoing", "is required")
	problems.Check(cfg.Transport != nil, "Transport", "is required")
	problems.Check(cfg.Link != nil, "Link", "is required")
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = time.Minute
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Inviter{cfg: cfg}, nil
}

// Handle does one job of kind [helpdesk.JobInvite]. An error means that the job is
// to be done again; it ends at the latest when the invitation has expired. A mail
// that can never be sent is given up and logged: whoever invited has the token too.
func (v *Inviter) Handle(ctx context.Context, job storage.ClaimedJob) error {
	in, err := v.cfg.Outgoing.Invitation(ctx, job.AccountID, job.Subject)
	if fault.Is(err, fault.NotFound) {
		return nil // accepted, withdrawn or expired
	}
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, v.cfg.Timeout)
	defer cancel()
	m, err := NewMail(in.MessageID, in.Date, composeInvitation(in, v.cfg.Link(in.Token)))
	if invalid, ok := errors.AsType[*mail.InvalidError](err); ok {
		v.giveUp(ctx, job, invalid.Error())
		return nil
	}
	if err != nil {
		return err
	}
	results, err := v.cfg.Transport.Send(limited, in.From.Email, []string{in.To.Email}, m)
	if err != nil {
		return err
	}
	if len(results) == 0 || results[0].State == helpdesk.DeliveryDeferred {
		return errWaiting
	}
	if results[0].State == helpdesk.DeliveryFailed {
		v.giveUp(ctx, job, fmt.Sprintf("refused with code %d", results[0].Code))
	}
	return nil
}

func (v *Inviter) giveUp(ctx context.Context, job storage.ClaimedJob, reason string) {
	v.cfg.Logger.WarnContext(ctx, "outbound: an invitation cannot be mailed",
		"account_id", job.AccountID, "invitation_id", job.Subject, "reason", reason)
}

// composeInvitation says what the mail is.
func composeInvitation(in helpdesk.InvitationMail, link string) *mail.Outgoing {
	who := in.Inviter
	if who == "" {
		who = in.Account
	}
	greeting := "Hello,"
	if in.To.Name != "" {
		greeting = "Hello " + in.To.Name + ","
	}
	text := strings.Join([]string{
		greeting,
		who + " invites you to the help desk of " + in.Account + ". To accept, open",
		link,
		"The link works once, until " + in.ExpiresAt.UTC().Format("2 January 2006 15:04 UTC") + ".",
		"If you did not expect this mail, ignore it.",
	}, "\n\n") + "\n"
	return &mail.Outgoing{
		MessageID: in.MessageID, Date: in.Date.UTC(), AutoSubmitted: true,
		From:    mail.Address{Name: in.From.Name, Email: in.From.Email},
		To:      []mail.Address{{Name: in.To.Name, Email: in.To.Email}},
		Subject: "Invitation to the help desk of " + in.Account, Text: text,
	}
}
