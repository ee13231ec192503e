package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ingest/imap"
	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire"
	"github.com/helpwright/helpwright/helpdesk/ingest/pop3"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/jobs"
)

// maxAgain is the maximum size of a message fetched on request, larger than that of automatic fetching.
const maxAgain = 150 << 20

// discardIMAP is the sink of sources that do not import.
type discardIMAP struct{}

func (discardIMAP) Cursor(context.Context, string) (mailserver.Cursor, error) {
	return mailserver.Cursor{}, nil
}
func (discardIMAP) Take(context.Context, string, []imap.Mail, mailserver.Cursor) error { return nil }
func (discardIMAP) Status(context.Context, imap.Status)                                {}

// discardPOP3 is the same for POP3.
type discardPOP3 struct{}

func (discardPOP3) Known(context.Context, []string) ([]string, error) { return nil, nil }
func (discardPOP3) Take(context.Context, []pop3.Mail) error           { return nil }
func (discardPOP3) Status(context.Context, pop3.Status)               {}

// listed converts messages of an IMAP folder for the help desk.
func listed(epoch int, folder string, validity uint32, uids []uint32) ledger.ServerMails {
	mails := ledger.ServerMails{
		Folder: folder, Cursor: place(epoch, folder), Source: sourceIMAP,
		Prefix: place(epoch, strconv.FormatUint(uint64(validity), 10)+":"), Suffix: ":" + folder,
		At: make([]mailserver.Cursor, len(uids)), Positions: make([]string, len(uids)),
	}
	for i, uid := range uids {
		mails.At[i] = mailserver.Cursor{UIDValidity: validity, UID: uid}
		mails.Positions[i] = imapPosition(epoch, folder, mailserver.Cursor{UIDValidity: validity, UID: uid})
	}
	return mails
}

// List implements [ledger.MailServers].
func (s *Servers) List(ctx context.Context, from ledger.FetchSource, since time.Time, each func(context.Context, ledger.ServerMails) error) error {
	if from.Problem != "" {
		return reauth{errors.New(from.Problem)}
	}
	epoch := from.Inbound.Epoch
	switch from.Inbound.Type {
	case ledger.InboundIMAP:
		source, err := imap.New(s.imapConfig(from, s.tokens(from)), discardIMAP{})
		if err != nil {
			return err
		}
		return shown(source.Each(ctx, since, func(ctx context.Context, folder string, validity uint32, uids []uint32) ([]uint32, error) {
			return nil, each(ctx, listed(epoch, folder, validity, uids))
		}))
	case ledger.InboundPOP3:
		source, err := pop3.New(s.pop3Config(from, s.tokens(from)), discardPOP3{})
		if err != nil {
			return err
		}
		ids, err := source.List(ctx)
		if err != nil {
			return shown(err)
		}
		for first := true; first || len(ids) > 0; first = false {
			mails := ledger.ServerMails{Source: sourcePOP3, Prefix: place(epoch, "")}
			for _, id := range ids[:min(500, len(ids))] {
				mails.Positions = append(mails.Positions, place(epoch, id))
			}
			ids = ids[len(mails.Positions):]
			if err := each(ctx, mails); err != nil {
				return err
			}
		}
		return nil
	}
	return notFetched(from.Inbound.Type)
}

// errMoved means that a position belongs to a server that the mailbox no longer uses.
var errMoved = errors.New("the mailbox has another server now")

// fetch fetches one message from its position in the ledger.
func (s *Servers) fetch(ctx context.Context, from ledger.FetchSource, row ledger.Mail) (ledger.Raw, error) {
	none := ledger.Raw{}
	if from.Problem != "" {
		return none, errors.New(from.Problem)
	}
	at, ok := placed(from.Inbound.Epoch, row.Position)
	if !ok {
		return none, errMoved
	}
	switch {
	case row.Source == sourceIMAP && from.Inbound.Type == ledger.InboundIMAP:
		validity, rest, _ := strings.Cut(at, ":")
		uid, folder, _ := strings.Cut(rest, ":")
		v, err := strconv.ParseUint(validity, 10, 32)
		u, err2 := strconv.ParseUint(uid, 10, 32)
		if err != nil || err2 != nil {
			return none, errMoved
		}
		cfg := s.imapConfig(from, s.tokens(from))
		cfg.MaxMessage = maxAgain
		source, err := imap.New(cfg, discardIMAP{})
		if err != nil {
			return none, err
		}
		m, err := source.Fetch(ctx, folder, mailserver.Cursor{UIDValidity: uint32(v), UID: uint32(u)})
		return ledger.Raw{Raw: m.Raw, Problem: problem(m.Problem, m.Oversize, m.Size)}, err
	case row.Source == sourcePOP3 && from.Inbound.Type == ledger.InboundPOP3:
		cfg := s.pop3Config(from, s.tokens(from))
		cfg.MaxMessage = maxAgain
		source, err := pop3.New(cfg, discardPOP3{})
		if err != nil {
			return none, err
		}
		m, err := source.Fetch(ctx, at)
		return ledger.Raw{Raw: m.Raw, Problem: problem(m.Problem, m.Oversize, m.Size)}, err
	}
	return none, errMoved
}

// AgainConfig configures an [Again].
type AgainConfig struct {
	Intake  *helpdesk.Intake // required
	Servers *Servers         // required
	// Backoff is the wait before the second attempt, and half of that before the third; 0 means 2 s.
	Backoff time.Duration
	Logger  *slog.Logger // nil: discards
}

// Again fetches messages that importing skipped. It handles jobs of the kinds [helpdesk.JobRefetchMail] and
// [helpdesk.JobBackfill].
type Again struct{ cfg AgainConfig }

// NewAgain returns a handler. A missing required field of cfg is an Invalid fault.
func NewAgain(cfg AgainConfig) (*Again, error) {
	var problems fault.Collector
	problems.Check(cfg.Intake != nil, "Intake", "is required")
	problems.Check(cfg.Servers != nil, "Servers", "is required")
	if err := problems.Err(); err != nil {
		return nil, err
	}
	wire.Default(&cfg.Backoff, 2*time.Second)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Again{cfg: cfg}, nil
}

// Refetch fetches an incomplete message again. A failure becomes the reason of its quarantine, for the member who asked.
func (a *Again) Refetch(ctx context.Context, job storage.ClaimedJob) error {
	row, err := a.cfg.Intake.Mail(ctx, job.AccountID, job.Subject)
	if fault.Is(err, fault.NotFound) || err == nil && !row.Partial {
		return nil
	}
	if err != nil {
		return err
	}
	mail, err := a.fetch(ctx, job.AccountID, row)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		mail = ledger.Raw{Problem: "it could not be fetched again: " + err.Error()}
	}
	return a.cfg.Intake.Refetched(ctx, job.AccountID, row.ID, mail)
}

func (a *Again) fetch(ctx context.Context, accountID int64, row ledger.Mail) (mail ledger.Raw, err error) {
	source, err := a.cfg.Intake.Source(ctx, accountID, row.MailboxID)
	if fault.Is(err, fault.NotFound) {
		return mail, errMoved
	}
	for try := range 3 {
		if try > 0 {
			wire.Sleep(ctx, a.cfg.Backoff/time.Duration(try))
		}
		if err == nil {
			mail, err = a.cfg.Servers.fetch(ctx, source, row)
		}
		if err == nil || errors.Is(err, errMoved) || errors.Is(err, wire.ErrGone) || wire.NeedsReauth(err) || ctx.Err() != nil {
			break
		}
		if try < 2 {
			source, err = a.cfg.Intake.Source(ctx, accountID, row.MailboxID)
		}
	}
	return mail, err
}

// Backfill imports a mailbox's messages that arrived on a day or later and are not in the ledger. After a failure it is
// retried and keeps what was taken.
func (a *Again) Backfill(ctx context.Context, job storage.ClaimedJob) error {
	var order ledger.Backfill
	if err := json.Unmarshal(job.Payload, &order); err != nil {
		return fmt.Errorf("ingest: backfill: %w", err)
	}
	from, err := a.cfg.Intake.Source(ctx, job.AccountID, job.Subject)
	if fault.Is(err, fault.NotFound) || err == nil && from.Inbound.Type != ledger.InboundIMAP {
		return nil
	}
	if err != nil {
		return err
	}
	if from.Problem != "" {
		return errors.New(from.Problem)
	}
	epoch := from.Inbound.Epoch
	l := &mailboxLedger{intake: a.cfg.Intake, accountID: job.AccountID, mailboxID: job.Subject, epoch: epoch}
	taken := 0
	source, err := imap.New(a.cfg.Servers.imapConfig(from, a.cfg.Servers.tokens(from)), backfill{imapLedger{l}, &taken})
	if err != nil {
		return err
	}
	err = source.Each(ctx, order.Since, func(ctx context.Context, folder string, validity uint32, uids []uint32) ([]uint32, error) {
		some := listed(epoch, folder, validity, uids)
		there, err := a.cfg.Intake.Taken(ctx, job.AccountID, job.Subject, sourceIMAP, some.Positions)
		if err != nil {
			return nil, err
		}
		known := make(map[string]bool, len(there))
		for _, position := range there {
			known[position] = true
		}
		var missing []uint32
		for i, position := range some.Positions {
			if !known[position] {
				missing = append(missing, uids[i])
			}
		}
		return missing, nil
	})
	a.cfg.Logger.InfoContext(ctx, "backfill", "mailbox_id", job.Subject, "fetched", taken, "complete", err == nil)
	if err != nil && taken > 0 {
		return jobs.Progress(err) // messages taken so far are kept
	}
	return err
}

// backfill takes messages without moving a cursor.
type backfill struct {
	imapLedger
	taken *int
}

// Take implements [imap.Sink].
func (b backfill) Take(ctx context.Context, _ string, mails []imap.Mail, _ mailserver.Cursor) error {
	err := b.intake.Take(ctx, b.accountID, b.mailboxID, sourceIMAP, b.raw(mails), nil)
	if err == nil {
		*b.taken += len(mails)
	}
	return err
}

// Status implements [imap.Sink]. It does nothing, since the fetcher reports the mailbox's status.
func (backfill) Status(context.Context, imap.Status) {}
