package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ingest/imap"
	"github.com/helpwright/helpwright/storage/fault"
)

// FetcherConfig is what a [Fetcher] is made of.
type FetcherConfig struct {
	Intake *helpdesk.Intake // required
	// PollInterval is how often a folder is looked at that the server does not tell
	// about by itself; 0 means 60 s.
	PollInterval time.Duration
	// Refresh is how often the mailboxes' settings are read; 0 means 10 s.
	Refresh time.Duration
	// AllowPrivateHosts lets mailboxes name servers at loopback and private addresses.
	AllowPrivateHosts bool
	MaxMessage        int64            // bytes; 0 means 50 MiB
	Now               func() time.Time // nil: time.Now
	Logger            *slog.Logger     // nil: discards
}

// Fetcher runs one source for every mailbox whose mail is fetched, each on its
// own: a slow server delays nobody else's mail. Changed settings are noticed
// within Refresh.
type Fetcher struct {
	cfg  FetcherConfig
	dial DialFunc

	running map[int64]*running // by mailbox; of Run's goroutine alone
	wait    sync.WaitGroup
}

// running is a source at work.
type running struct {
	source helpdesk.FetchSource
	cancel context.CancelFunc
	done   chan struct{}
}

// NewFetcher returns a fetcher that has not begun.
func NewFetcher(cfg FetcherConfig) *Fetcher {
	if cfg.Refresh == 0 {
		cfg.Refresh = 10 * time.Second
	}
	if cfg.PollInterval == 0 {
		cfg.PollInterval = time.Minute
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Fetcher{cfg: cfg, dial: Dialer(cfg.AllowPrivateHosts, 30*time.Second), running: map[int64]*running{}}
}

// Run fetches until ctx ends, and returns nil after all its goroutines ended.
func (f *Fetcher) Run(ctx context.Context) error {
	defer f.wait.Wait()
	tick := time.NewTicker(f.cfg.Refresh)
	defer tick.Stop()
	for {
		if err := f.refresh(ctx); err != nil && ctx.Err() == nil {
			f.cfg.Logger.ErrorContext(ctx, "the mailboxes to fetch could not be listed", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// refresh starts sources that are new, and ends those that are gone or changed.
func (f *Fetcher) refresh(ctx context.Context) error {
	sources, err := f.cfg.Intake.Sources(ctx)
	if err != nil {
		return err
	}
	wanted := map[int64]helpdesk.FetchSource{}
	for _, s := range sources {
		wanted[s.MailboxID] = s
	}
	for id, r := range f.running {
		if s, ok := wanted[id]; !ok || !reflect.DeepEqual(s, r.source) {
			r.cancel()
			<-r.done
			delete(f.running, id)
		}
	}
	for id, s := range wanted {
		if f.running[id] == nil {
			f.start(ctx, s)
		}
	}
	return nil
}

func (f *Fetcher) start(ctx context.Context, s helpdesk.FetchSource) {
	ctx, cancel := context.WithCancel(ctx)
	r := &running{source: s, cancel: cancel, done: make(chan struct{})}
	f.running[s.MailboxID] = r
	f.wait.Go(func() {
		defer close(r.done)
		defer cancel()
		f.fetch(ctx, s)
	})
}

func (f *Fetcher) fetch(ctx context.Context, s helpdesk.FetchSource) {
	log := f.cfg.Logger.With("mailbox_id", s.MailboxID)
	sink := &sink{intake: f.cfg.Intake, accountID: s.AccountID, mailboxID: s.MailboxID, log: log}
	fail := func(err error) { sink.Status(ctx, imap.Status{LastError: err, LastErrorAt: f.cfg.Now()}) }
	if s.Problem != "" {
		fail(errors.New(s.Problem))
		return
	}
	if s.Inbound.Type != helpdesk.InboundIMAP {
		fail(notAvailable(s.Inbound.Type))
		return
	}
	source, err := imap.New(f.imapConfig(s, log), sink)
	if err != nil {
		fail(err)
		return
	}
	// Run ends with ctx only; its error is ctx's.
	_ = source.Run(ctx)
}

func (f *Fetcher) imapConfig(s helpdesk.FetchSource, log *slog.Logger) imap.Config {
	return imap.Config{
		Host: s.Inbound.Host, Port: s.Inbound.Port, Username: s.Inbound.Username, Password: s.Password,
		Encryption: string(s.Inbound.Encryption), ValidateCertificate: s.Inbound.ValidateCertificate, Folders: s.Inbound.Folders,
		Dial: f.dial, PollInterval: f.cfg.PollInterval, MaxMessage: f.cfg.MaxMessage, Logger: log, Now: f.cfg.Now,
	}
}

// TestConnection returns a function that tries a mailbox's settings: it connects,
// signs in and opens each folder. Its error says which step failed.
func TestConnection(allowPrivateHosts bool) func(context.Context, helpdesk.FetchSource) error {
	f := NewFetcher(FetcherConfig{AllowPrivateHosts: allowPrivateHosts})
	return func(ctx context.Context, s helpdesk.FetchSource) error {
		if s.Inbound.Type != helpdesk.InboundIMAP {
			return notAvailable(s.Inbound.Type)
		}
		return imap.Test(ctx, f.imapConfig(s, f.cfg.Logger))
	}
}

func notAvailable(t helpdesk.InboundType) error {
	return fmt.Errorf("fetching by %s is not available in this version", t)
}

// sink takes what an IMAP source yields into the ledger.
type sink struct {
	intake               *helpdesk.Intake
	accountID, mailboxID int64
	log                  *slog.Logger
	last                 helpdesk.FetchStatus
}

func (s *sink) Cursor(ctx context.Context, folder string) (imap.Cursor, error) {
	c, err := s.intake.Cursor(ctx, s.accountID, s.mailboxID, folder)
	return imap.Cursor{UIDValidity: c.UIDValidity, UID: c.UID}, err
}

func (s *sink) Take(ctx context.Context, folder string, mails []imap.Mail, next imap.Cursor) error {
	raw := make([]helpdesk.RawMail, len(mails))
	for i, m := range mails {
		raw[i] = helpdesk.RawMail{
			Position: fmt.Sprintf("%d:%d:%s", m.UIDValidity, m.UID, m.Folder), Raw: m.Raw, Problem: m.Problem,
		}
		if m.Oversize {
			raw[i].Problem = fmt.Sprintf("it is too large: %d bytes; only its header was fetched", m.Size)
		}
	}
	cursor := helpdesk.FolderCursor{Folder: folder, Cursor: helpdesk.FetchCursor{UIDValidity: next.UIDValidity, UID: next.UID}}
	return s.intake.Take(ctx, s.accountID, s.mailboxID, "imap", raw, &cursor)
}

// Status records how fetching goes. Successes that repeat are written once a
// minute at most: they come with every look at the server.
func (s *sink) Status(ctx context.Context, st imap.Status) {
	next := helpdesk.FetchStatus{
		MailboxID: s.mailboxID, Connected: st.Connected, LastSuccessAt: st.LastSuccess.UTC(), LastErrorAt: st.LastErrorAt.UTC(),
	}
	if st.LastError != nil {
		next.LastError = st.LastError.Error()
	}
	same := next.Connected == s.last.Connected && next.LastError == s.last.LastError && next.LastErrorAt.Equal(s.last.LastErrorAt)
	if same && next.LastSuccessAt.Sub(s.last.LastSuccessAt) < time.Minute {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := s.intake.ReportFetch(ctx, s.accountID, next); err != nil {
		if !fault.Is(err, fault.NotFound) { // the mailbox may just have been deleted
			s.log.WarnContext(ctx, "the state of fetching was not recorded", "error", err)
		}
		return
	}
	if !same && st.LastError != nil {
		s.log.WarnContext(ctx, "fetching failed", "error", st.LastError)
	}
	s.last = next
}
