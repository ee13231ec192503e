package outbound

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/helpdesk/pgp"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/jobs"
)

// Transport takes messages to their recipients, or to a relay.
type Transport interface {
	// Send hands over one message for all recipients and returns one result for each, in the order of to. An error applies to
	// all: no relay could be reached, and each is deferred with the error's text, which members of the account may read.
	// Addresses are in RFC 5321 form, without brackets.
	Send(ctx context.Context, from string, to []string, m *Mail) ([]Result, error)
}

// Result is the outcome for one recipient.
type Result struct {
	State        sending.State // sent, deferred or failed
	Code         int           // SMTP reply code; 0: none
	EnhancedCode string        // RFC 3463; "": none
	Response     string        // text of the reply, for people
	MessageID    string        // that the relay gave the mail, see [sending.RelayMessageID]; "": it kept ours, or does not tell
}

// Config configures a [Sender].
type Config struct {
	Outgoing  *helpdesk.Outgoing // required
	Transport Transport          // required

	// Relays are used for mailboxes with a relay of their own; nil: their mail is deferred.
	Relays *Relays

	// SeenURL returns the URL of the tracking image, for accounts that enable it: see transport's /seen. nil: none.
	SeenURL func(token string) string

	// RatingURL returns the address of the page of a link to a rating, see helpdesk.Service.OpenRating. nil: messages have no such
	// links.
	RatingURL func(token string) string
	// RatingWords returns, for a locale, what is above the links if a survey does not say it, and what each link says, the lowest
	// score first. nil: English, and numbers.
	RatingWords func(locale string, scale int) (question string, scores []string)

	Timeout time.Duration // of one attempt for one message; 0 means the maximum of 15 min
	// GiveUp is how long composing a message is retried if the failure may be temporary; 0 means 1 h.
	GiveUp time.Duration
	// TempDir is the directory for large encrypted messages while they are sent; "" means [os.TempDir].
	TempDir string
	// KeepDir is the directory for results that cannot be recorded now, so that they outlive the process. Unrecorded messages
	// are sent again. "": results are kept only in memory.
	KeepDir string

	// Observe is called with the outcome of each attempt for each recipient: sent, deferred or failed. nil: none.
	Observe func(sending.State)

	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: discards
}

// Sender sends replies. It is safe for concurrent use.
type Sender struct {
	cfg  Config
	kept *kept
}

// New returns a sender. A missing required field of cfg is an Invalid fault.
func New(cfg Config) (*Sender, error) {
	var problems fault.Collector
	problems.Check(cfg.Outgoing != nil, "Outgoing", "is required")
	problems.Check(cfg.Transport != nil, "Transport", "is required")
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if cfg.Timeout <= 0 || cfg.Timeout > 15*time.Minute { // the job holds recipients for half an hour
		cfg.Timeout = 15 * time.Minute
	}
	if cfg.GiveUp <= 0 {
		cfg.GiveUp = time.Hour
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	kept, err := newKept(cfg.KeepDir)
	if err != nil {
		return nil, err
	}
	return &Sender{cfg: cfg, kept: kept}, nil
}

// errWaiting retries a job whose other recipients are not due yet.
var errWaiting = errors.New("outbound: recipients wait for another try")

// Handle runs one job of kind [helpdesk.JobSendMail]: it attempts the due recipients and reports their outcomes. While
// others wait, it returns an error of [jobs.RetryAt]. Other errors mean that the database or the blobs could not be reached,
// and the job must be retried. A message that cannot be composed fails visibly for all due recipients.
//
// A process works on each message only once at a time. Outcomes are kept until they are recorded, even after ctx ends, and
// the message is not attempted again before.
func (s *Sender) Handle(ctx context.Context, job storage.ClaimedJob) error {
	m := mailKey{job.AccountID, job.Subject}
	if !s.kept.enter(m) {
		return jobs.RetryAt(s.cfg.Now().Add(busyWait), errBusy)
	}
	defer s.kept.leave(m)
	if outcomes, err := s.kept.load(m); err != nil {
		return err
	} else if len(outcomes) > 0 {
		if _, err := s.record(ctx, m, outcomes); err != nil {
			return err
		}
	}
	out, err := s.cfg.Outgoing.Begin(ctx, m.account, m.interaction, job.ID)
	if fault.Is(err, fault.NotFound) {
		return nil // deleted, or no longer to be sent
	}
	if err != nil {
		return err
	}
	next := out.NextTry
	if all := letters(out); len(all) > 0 {
		tried, failure := s.tryAll(ctx, out, all)
		if len(tried) > 0 {
			if next, err = s.report(ctx, out, tried); err != nil {
				return err
			}
		}
		if failure != nil {
			return failure
		}
	}
	if next.IsZero() {
		return nil
	}
	return jobs.RetryAt(next, errWaiting)
}

// tried is the outcome for one recipient.
type tried struct {
	delivery int64
	Result
}

// tryAll sends a reply's letters, one after the other. Its error is the reason why those missing from the results were not
// attempted.
func (s *Sender) tryAll(ctx context.Context, out helpdesk.OutgoingMail, all []letter) ([]tried, error) {
	var done []tried
	for _, l := range all {
		results, err := s.try(ctx, out, l)
		if err != nil {
			return done, err
		}
		for i, r := range results {
			done = append(done, tried{l.due[i].ID, r})
		}
	}
	return done, nil
}

// try composes and sends a letter to its due recipients. An error means that nothing was sent and nothing is to be reported.
func (s *Sender) try(ctx context.Context, out helpdesk.OutgoingMail, l letter) ([]Result, error) {
	limited, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	m, done, err := s.write(limited, out, l)
	if err != nil {
		reason := s.impossible(ctx, out, err)
		if reason == "" {
			return nil, err
		}
		s.cfg.Logger.WarnContext(ctx, "outbound: a mail cannot be composed", "interaction_id", out.InteractionID, "error", err)
		return all(len(l.due), Result{State: sending.Failed, Response: reason}), nil
	}
	defer done()
	return s.post(ctx, limited, out, l.due, m)
}

// post hands a message to the transport: in one envelope for all due recipients or, if bounces must identify the recipient,
// in one envelope each. limited is ctx with a deadline. Recipients not reached by then wait.
func (s *Sender) post(ctx, limited context.Context, out helpdesk.OutgoingMail, due []sending.Delivery, m *Mail) ([]Result, error) {
	var results []Result
	for len(due) > 0 {
		n, from := len(due), out.ReturnPaths[due[0].ID]
		if len(out.ReturnPaths) > 0 {
			n = 1
		}
		if from == "" {
			from = out.From.Email
		}
		to := make([]string, n)
		for i, d := range due[:n] {
			to[i] = d.Address
		}
		some, err := s.send(limited, out, from, to, m)
		if err != nil && ctx.Err() != nil {
			if len(results) > 0 {
				return append(results, all(len(due), Result{State: sending.Deferred, Response: "Sending was interrupted."})...), nil
			}
			return nil, ctx.Err() // interrupted; not the recipients' failure
		}
		if errors.Is(err, ErrBusy) && len(results) == 0 {
			return nil, jobs.RetryAt(s.cfg.Now().Add(busyWait), err)
		}
		if err != nil { // it would be the same for the others
			s.cfg.Logger.WarnContext(ctx, "outbound: sending failed", "interaction_id", out.InteractionID, "recipients", len(due), "error", err)
			return append(results, all(len(due), deferral(err))...), nil
		}
		for len(some) < n { // guards against transports that return too few results
			some = append(some, Result{State: sending.Deferred, Response: "The transport gave no result."})
		}
		results, due = append(results, some[:n]...), due[n:]
	}
	return results, nil
}

// send hands over one envelope. If the relay rejects the recipient-specific sender, it uses the plain one.
func (s *Sender) send(ctx context.Context, out helpdesk.OutgoingMail, from string, to []string, m *Mail) ([]Result, error) {
	relay, err := transportOf(s.cfg.Transport, s.cfg.Relays, out.Relay)
	if err != nil {
		return nil, err
	}
	results, err := relay.Send(ctx, from, to, m)
	if err != nil || from == out.From.Email || len(results) != 1 || !aboutSender(results[0]) {
		return results, err
	}
	s.cfg.Logger.InfoContext(ctx, "outbound: the relay refuses the envelope's sender: the plain address is tried",
		"interaction_id", out.InteractionID, "code", results[0].Code, "enhanced_code", results[0].EnhancedCode)
	return relay.Send(ctx, out.From.Email, to, m)
}

// transportOf returns the transport of a mail: a mailbox's own relay, or the server's.
func transportOf(server Transport, relays *Relays, own *sending.Relay) (Transport, error) {
	switch {
	case own == nil:
		return server, nil
	case relays == nil:
		return nil, errNoRelays
	}
	return relays.Of(*own)
}

// errNoRelays defers mail of mailboxes with their own relay.
var errNoRelays = errors.New("this server does not connect to the relays of mailboxes")

// aboutSender reports whether a rejection may be about the envelope sender. Relays that restrict senders, or verify that
// they exist, report that in various ways and at any step. Replies about the recipient's address are excluded.
func aboutSender(r Result) bool {
	if r.State == sending.Sent || r.Code/100 != 4 && r.Code/100 != 5 {
		return false
	}
	_, status, _ := strings.Cut(r.EnhancedCode, ".")
	switch status {
	case "1.0", "1.7", "1.8", "2.252": // RFC 3463 section 3.2; Exchange, which calls it SendAsDenied
		return true
	}
	return r.State == sending.Failed && (r.EnhancedCode == "" || strings.HasPrefix(status, "7."))
}

// write composes and signs a letter, with an ASCII form if that differs. A message that cannot be signed is sent unsigned.
// done releases its resources.
func (s *Sender) write(ctx context.Context, out helpdesk.OutgoingMail, l letter) (m *Mail, done func(), err error) {
	composed := s.compose(ctx, out)
	m, done, err = s.measure(ctx, composed, l)
	if err != nil {
		return nil, nil, err
	}
	if m.EightBit {
		composed := *composed
		composed.ASCII = true
		if plain, plainDone, err := s.measure(ctx, &composed, l); err == nil {
			m.Plain = plain
			first := done
			done = func() { first(); plainDone() }
		}
	}
	if err := m.Sign(out.DKIM); err != nil {
		s.cfg.Logger.ErrorContext(ctx, "outbound: a mail leaves without a DKIM signature", "interaction_id", out.InteractionID, "error", err)
	}
	return m, done, nil
}

func (s *Sender) measure(ctx context.Context, composed *mail.Outgoing, l letter) (m *Mail, done func(), err error) {
	source, err := s.source(composed, l)
	if err != nil {
		return nil, nil, err
	}
	done = func() {
		if err := source.Close(); err != nil {
			s.cfg.Logger.WarnContext(ctx, "outbound: a temporary file stays behind", "error", err)
		}
	}
	if m, err = NewMail(composed.MessageID, composed.Date, source); err != nil {
		done()
		return nil, nil, err
	}
	m.Variant = l.variant()
	return m, done, nil
}

// impossible returns the reason why a message can never be composed; "" if it may be composed later.
func (s *Sender) impossible(ctx context.Context, out helpdesk.OutgoingMail, err error) string {
	if invalid, ok := errors.AsType[*mail.InvalidError](err); ok {
		return "The mail cannot be composed: " + invalid.Field + " " + invalid.Reason + "."
	}
	if key, ok := errors.AsType[*pgp.Error](err); ok {
		return "The mail was not sent: a PGP key that it has to be encrypted to " + key.Reason + "."
	}
	switch {
	case fault.Is(err, fault.NotFound):
		return "The mail cannot be composed: the content of an attachment is missing."
	case fault.Passes(err), ctx.Err() != nil, s.cfg.Now().Sub(out.Date) < s.cfg.GiveUp:
		return ""
	}
	return "The mail cannot be composed: reading an attachment fails."
}

// report records results, even after ctx ended, with several attempts, because unrecorded messages are sent again.
func (s *Sender) report(ctx context.Context, out helpdesk.OutgoingMail, results []tried) (time.Time, error) {
	outcomes := make([]helpdesk.Outcome, len(results))
	counts := map[sending.State]int{}
	codes := make([]int, len(results))
	for i, r := range results {
		if r.State != sending.Sent && r.State != sending.Failed {
			r.State = sending.Deferred
		}
		outcomes[i] = helpdesk.Outcome{
			DeliveryID: r.delivery, State: r.State, Code: r.Code, EnhancedCode: r.EnhancedCode, Response: r.Response,
			MessageID: r.MessageID,
		}
		counts[r.State]++
		if s.cfg.Observe != nil {
			s.cfg.Observe(r.State)
		}
		codes[i] = r.Code
	}
	s.cfg.Logger.InfoContext(ctx, "outbound: mail tried", "interaction_id", out.InteractionID,
		"sent", counts[sending.Sent], "deferred", counts[sending.Deferred],
		"failed", counts[sending.Failed], "codes", codes)
	return s.record(ctx, mailKey{out.AccountID, out.InteractionID}, outcomes)
}

// Timing of recording results when the database does not accept them at once.
const (
	recordTime = 30 * time.Second // of one attempt
	keepAfter  = time.Second      // usual time of recording
	recordWait = 5 * time.Second  // maximum between attempts
	busyWait   = 5 * time.Second
)

// errBusy retries a job whose message is in progress.
var errBusy = errors.New("outbound: the mail is being sent, or its outcome is being recorded")

// record writes results, however long it takes, and keeps them until then. When ctx ends it tries once more, and the
// message's next job continues.
func (s *Sender) record(ctx context.Context, m mailKey, outcomes []helpdesk.Outcome) (time.Time, error) {
	save := sync.OnceFunc(func() {
		if err := s.kept.save(m, outcomes); err != nil {
			s.cfg.Logger.ErrorContext(ctx, "outbound: the outcome of a mail is in memory only", "interaction_id", m.interaction, "error", err)
		}
	})
	keep := time.AfterFunc(keepAfter, save)
	for wait := recordWait / 8; ; wait = min(2*wait, recordWait) {
		last := ctx.Err() != nil
		try, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
		if last {
			try, cancel = context.WithTimeout(context.WithoutCancel(ctx), recordWait)
		}
		next, err := s.cfg.Outgoing.Report(try, m.account, m.interaction, outcomes)
		cancel()
		if err == nil {
			if !keep.Stop() {
				save() // or wait until it is
			}
			return next, s.kept.remove(m)
		}
		s.cfg.Logger.WarnContext(ctx, "outbound: recording the outcome of a mail failed", "interaction_id", m.interaction, "error", err)
		keep.Stop()
		save()
		if last || !fault.Passes(err) && ctx.Err() == nil {
			return time.Time{}, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

func all(n int, r Result) []Result {
	results := make([]Result, n)
	for i := range results {
		results[i] = r
	}
	return results
}

// deferral returns the result for all recipients when no relay could be reached.
func deferral(err error) Result {
	r := Result{State: sending.Deferred, Response: err.Error()}
	if relay, ok := errors.AsType[*RelayError](err); ok {
		r.Code, r.EnhancedCode = relay.Code, relay.EnhancedCode
		r.Response = fmt.Sprintf("The mail relay cannot be used: %s: %s", relay.Step, relay.Reason())
	}
	return r
}
