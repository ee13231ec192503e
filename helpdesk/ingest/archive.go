package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ingest/archive"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// ImporterConfig configures an [Importer].
type ImporterConfig struct {
	Intake               *helpdesk.Intake // required
	Filer                *Filer           // required
	AccountID, MailboxID int64            // required
	MaxMail              int64            // maximum bytes of a message; a larger one is quarantined with only its header. 0: [mail.DefaultSize]
	// Progress is called after each batch with the number of messages examined. nil: none.
	Progress func(done int)
}

// Importer imports an archive's messages into a mailbox. It can be stopped and restarted at any time: a message is taken
// only once.
type Importer struct{ cfg ImporterConfig }

// NewImporter returns an importer. A missing required field of cfg is an Invalid fault.
func NewImporter(cfg ImporterConfig) (*Importer, error) {
	var problems fault.Collector
	problems.Check(cfg.Intake != nil, "Intake", "is required")
	problems.Check(cfg.Filer != nil, "Filer", "is required")
	problems.Check(cfg.AccountID != 0, "AccountID", "is required")
	problems.Check(cfg.MailboxID != 0, "MailboxID", "is required")
	if cfg.MaxMail == 0 {
		cfg.MaxMail = mail.DefaultSize
	}
	if cfg.Progress == nil {
		cfg.Progress = func(int) {}
	}
	return &Importer{cfg}, problems.Err()
}

// Imported is the result of importing an archive.
type Imported struct {
	Mails int // in the archive
	Known int // of these, already taken: before, or because the archive has them several times
	// Erased of them are from before their sender was erased as a customer, and are left out. Messages of which only the body
	// names an erased customer are not recognized.
	Erased int
}

// Batch limits of taking and filing.
const (
	importMails = 100
	importBytes = 16 << 20
)

// Import takes messages and files them, in order. dryRun only checks which would be taken: the result is the same.
func (im *Importer) Import(ctx context.Context, a *archive.Archive, dryRun bool) (Imported, error) {
	var done Imported
	seen := map[string]bool{}
	for rest := a.Mails; len(rest) > 0; {
		n := importable(rest)
		known, erased, err := im.batch(ctx, a, rest[:n], seen, dryRun)
		if err != nil {
			return done, err
		}
		done.Mails, done.Known, done.Erased, rest = done.Mails+n, done.Known+known, done.Erased+erased, rest[n:]
		im.cfg.Progress(done.Mails)
	}
	return done, nil
}

// importable returns the number of messages in the first batch.
func importable(mails []archive.Entry) int {
	n, size := 1, mails[0].Size
	for n < len(mails) && n < importMails && size+mails[n].Size <= importBytes {
		size += mails[n].Size
		n++
	}
	return n
}

// batch takes and files messages. seen are the positions of those before them in the archive.
func (im *Importer) batch(ctx context.Context, a *archive.Archive, entries []archive.Entry, seen map[string]bool, dryRun bool) (known, erased int, err error) {
	mails, positions, at := make([]ledger.Raw, len(entries)), make([]string, len(entries)), map[string]time.Time{}
	for i, e := range entries {
		if mails[i], err = im.read(a, e); err != nil {
			return 0, 0, err
		}
		positions[i] = mails[i].Position
		at[mails[i].Position] = e.At
	}
	taken, err := im.cfg.Intake.Taken(ctx, im.cfg.AccountID, im.cfg.MailboxID, ledger.SourceImport, positions)
	if err != nil {
		return 0, 0, err
	}
	known = len(mails)
	for _, position := range taken {
		seen[position] = true
	}
	mails = slices.DeleteFunc(mails, func(m ledger.Raw) bool {
		twice := seen[m.Position]
		seen[m.Position] = true
		return twice
	})
	known -= len(mails)
	erased = len(mails)
	if mails, err = im.unerased(ctx, mails, at); err != nil {
		return known, 0, err
	}
	erased -= len(mails)
	if dryRun {
		return known, erased, nil
	}
	if len(mails) > 0 {
		if err := im.cfg.Intake.Take(ctx, im.cfg.AccountID, im.cfg.MailboxID, ledger.SourceImport, mails, nil); err != nil {
			return known, erased, err
		}
	}
	// This includes messages taken by an interrupted import.
	return known, erased, im.cfg.Filer.Handle(ctx, storage.ClaimedJob{Job: storage.Job{AccountID: im.cfg.AccountID, Subject: im.cfg.MailboxID}})
}

// unerased leaves out the messages from before their sender was erased. sent are their times, by position.
func (im *Importer) unerased(ctx context.Context, mails []ledger.Raw, sent map[string]time.Time) ([]ledger.Raw, error) {
	senders := make([]string, len(mails))
	for i, m := range mails {
		senders[i] = m.Head.From.Email
	}
	at, err := im.cfg.Intake.Erased(ctx, im.cfg.AccountID, senders)
	if err != nil || len(at) == 0 {
		return mails, err
	}
	return slices.DeleteFunc(mails, func(m ledger.Raw) bool {
		erased, found := at[m.Head.From.Email]
		return found && !sent[m.Position].After(erased)
	}), nil
}

// read reads an archive's message. Its position is derived from its content, since archives are moved and split.
func (im *Importer) read(a *archive.Archive, e archive.Entry) (ledger.Raw, error) {
	limit := im.cfg.MaxMail
	if e.Size > limit {
		limit = archive.MaxHeader
	}
	raw, err := a.Mail(e, limit)
	if err != nil {
		return ledger.Raw{}, err
	}
	sum := sha256.Sum256(raw)
	m := ledger.Raw{Position: hex.EncodeToString(sum[:]), Raw: raw, DeliveredAt: e.Kept, Head: head(raw)}
	if e.Size > im.cfg.MaxMail {
		m.Problem = fmt.Sprintf("it is too large: %d bytes; only its beginning was imported", e.Size)
	}
	return m, nil
}
