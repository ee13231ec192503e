package outbound

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// ProberConfig is what a [Prober] is made of.
type ProberConfig struct {
	Outgoing  *helpdesk.Outgoing // required
	Transport Transport          // required

	Timeout time.Duration // of one try; 0 means 1 min
	Logger  *slog.Logger  // nil: discards
}

// Prober sends the mails by which the help desk finds out whether a mailbox gets what is
// sent to its address with a tag. It is safe for concurrent use.
type Prober struct{ cfg ProberConfig }

// NewProber makes a prober. What is missing in cfg is an Invalid fault.
func NewProber(cfg ProberConfig) (*Prober, error) {
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
	return &Prober{cfg: cfg}, nil
}

// Handle does one job of kind [helpdesk.JobProbe]. An error means that the job is to be
// done again; it ends when the probe has no time left.
func (p *Prober) Handle(ctx context.Context, job storage.ClaimedJob) error {
	probe, err := p.cfg.Outgoing.Probe(ctx, job.AccountID, job.Subject)
	if fault.Is(err, fault.NotFound) {
		return nil // it has ended
	}
	if err != nil {
		return err
	}
	out, err := p.send(ctx, probe)
	if err != nil {
		return err
	}
	if out.State == helpdesk.DeliverySent {
		return nil
	}
	p.cfg.Logger.InfoContext(ctx, "outbound: a test of tagged addresses was not taken", "mailbox_id", job.Subject, "state", string(out.State), "code", out.Code)
	if err := p.cfg.Outgoing.ReportProbe(ctx, job.AccountID, job.Subject, probe, out); err != nil {
		return err
	}
	if out.State == helpdesk.DeliveryDeferred {
		return errWaiting
	}
	return nil
}

// send tries to send a probe and says what became of it. Its error means that nothing is
// to be reported.
func (p *Prober) send(ctx context.Context, probe helpdesk.ProbeMail) (helpdesk.Outcome, error) {
	if _, spooled := p.cfg.Transport.(*Spool); spooled {
		return helpdesk.Outcome{State: helpdesk.DeliveryFailed, Response: "No mail relay is set: mails are written to the spool and reach nobody."}, nil
	}
	limited, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	m, err := NewMail(probe.MessageID, probe.Date, composeProbe(probe))
	if invalid, ok := errors.AsType[*mail.InvalidError](err); ok {
		return helpdesk.Outcome{State: helpdesk.DeliveryFailed, Response: "The mail cannot be composed: " + invalid.Field + " " + invalid.Reason + "."}, nil
	}
	if err != nil {
		return helpdesk.Outcome{}, err
	}
	if err := m.Sign(probe.DKIM); err != nil {
		p.cfg.Logger.ErrorContext(ctx, "outbound: a test of tagged addresses leaves without a DKIM signature", "error", err)
	}
	results, err := p.cfg.Transport.Send(limited, probe.From.Email, []string{probe.To}, m)
	if err != nil && ctx.Err() != nil {
		return helpdesk.Outcome{}, ctx.Err()
	}
	if err != nil {
		results = []Result{deferral(err)}
	}
	if len(results) == 0 {
		results = []Result{{State: helpdesk.DeliveryDeferred, Response: "The transport gave no result."}}
	}
	r := results[0]
	return helpdesk.Outcome{State: r.State, Code: r.Code, EnhancedCode: r.EnhancedCode, Response: r.Response}, nil
}

// composeProbe says what the mail is. Whoever else reads the mailbox sees it.
func composeProbe(probe helpdesk.ProbeMail) *mail.Outgoing {
	text := strings.Join([]string{
		"The help desk sends this mail to",
		probe.To,
		"to find out whether mail to addresses with a tag reaches this mailbox. It needs no answer and may be deleted.",
	}, "\n\n") + "\n"
	return &mail.Outgoing{
		MessageID: probe.MessageID, Date: probe.Date.UTC(), AutoSubmitted: true,
		From:    mail.Address{Name: probe.From.Name, Email: probe.From.Email},
		To:      []mail.Address{{Email: probe.To}},
		Subject: "Test of addresses with a tag", Text: text,
	}
}
