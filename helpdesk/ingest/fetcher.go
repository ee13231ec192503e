package ingest

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"runtime/debug"
	"sync"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ingest/internal/oauth"
	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// FetcherConfig configures a [Fetcher].
type FetcherConfig struct {
	Intake  *helpdesk.Intake // required
	Servers *Servers         // required
	// Refresh is the interval of reading the mailboxes' settings; 0 means 10 s.
	Refresh time.Duration
	// Events reports changes of settings in any process. They are then read at once, though at most once a second. nil: only
	// Refresh applies.
	Events storage.EventNotifier
	// Tracer traces each fetch of a mailbox, the commands to its server, and the storing of mails. nil: no tracing.
	Tracer storage.Tracer
	Logger *slog.Logger // nil: discards
}

// Fetcher runs one source for every mailbox that is fetched, independently: a slow server delays only its own mail. It
// notices changed settings at once through Events, otherwise within Refresh.
type Fetcher struct {
	cfg FetcherConfig

	running map[int64]*running // by mailbox; used by Run's goroutine only
	wait    sync.WaitGroup

	suspects suspects
}

// running is a running source.
type running struct {
	source ledger.FetchSource
	tokens *oauth.Tokens // nil: uses a password
	cancel context.CancelFunc
	done   chan struct{}
}

// NewFetcher returns a fetcher, which starts with Run. A missing required field of cfg is an Invalid fault.
func NewFetcher(cfg FetcherConfig) (*Fetcher, error) {
	var problems fault.Collector
	problems.Check(cfg.Intake != nil, "Intake", "is required")
	problems.Check(cfg.Servers != nil, "Servers", "is required")
	if err := problems.Err(); err != nil {
		return nil, err
	}
	wire.Default(&cfg.Refresh, 10*time.Second)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.Servers.keepIn(cfg.Intake)
	return &Fetcher{cfg: cfg, running: map[int64]*running{}, suspects: newSuspects(cfg.Refresh)}, nil
}

// Run fetches until ctx ends, and returns nil after all its goroutines ended.
func (f *Fetcher) Run(ctx context.Context) error {
	defer f.wait.Wait()
	tick := time.NewTicker(f.cfg.Refresh)
	defer tick.Stop()
	changed := make(chan struct{}, 1)
	if f.cfg.Events != nil {
		defer f.cfg.Events.NotifyEvents(func(int64) {
			select {
			case changed <- struct{}{}:
			default: // an unread signal means the same
			}
		})()
	}
	for {
		began := time.Now()
		if err := f.refresh(ctx); err != nil && ctx.Err() == nil {
			f.cfg.Logger.ErrorContext(ctx, "the mailboxes to fetch could not be listed", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-changed:
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(pauseOfRefresh - time.Since(began)):
			}
		}
	}
}

// pauseOfRefresh is the minimum time between two readings of the settings.
const pauseOfRefresh = time.Second

// refresh starts new sources, and stops removed or changed ones. It does not wait for them to end; the new source of the
// same mailbox does.
func (f *Fetcher) refresh(ctx context.Context) error {
	sources, err := f.cfg.Intake.Sources(ctx)
	if err != nil {
		return err
	}
	wanted := map[int64]ledger.FetchSource{}
	for _, s := range sources {
		wanted[s.MailboxID] = s
	}
	ended := map[int64]<-chan struct{}{}
	for id, r := range f.running {
		if s, ok := wanted[id]; !ok || !r.is(s) {
			r.cancel()
			ended[id] = r.done
			delete(f.running, id)
		}
	}
	for id, s := range wanted {
		if f.running[id] == nil {
			f.start(ctx, s, ended[id])
		}
	}
	return nil
}

// is reports whether r uses these settings. A refresh token that took the place of one that worked is not a change.
func (r *running) is(s ledger.FetchSource) bool {
	if r.tokens != nil && s.RefreshToken != r.source.RefreshToken && r.tokens.Succeeds(s.RefreshToken, r.source.RefreshToken) {
		r.source.RefreshToken = s.RefreshToken
	}
	return reflect.DeepEqual(s, r.source)
}

// start runs a source after the previous one has ended.
func (f *Fetcher) start(ctx context.Context, s ledger.FetchSource, after <-chan struct{}) {
	ctx, cancel := context.WithCancel(ctx)
	r := &running{source: s, cancel: cancel, done: make(chan struct{})}
	r.tokens = f.cfg.Servers.tokens(s)
	f.running[s.MailboxID] = r
	f.wait.Go(func() {
		defer close(r.done)
		defer cancel()
		if after != nil {
			<-after
		}
		for ctx.Err() == nil && f.fetch(ctx, s, r.tokens) != nil {
			wire.Sleep(ctx, afterPanic)
		}
	})
}

// afterPanic is the pause after a source panicked.
const afterPanic = 5 * time.Minute

// fetch runs a source until ctx ends. Its error is a panic of the source.
func (f *Fetcher) fetch(ctx context.Context, s ledger.FetchSource, tokens *oauth.Tokens) (err error) {
	l := &mailboxLedger{
		intake: f.cfg.Intake, accountID: s.AccountID, mailboxID: s.MailboxID, epoch: s.Inbound.Epoch,
		log: f.cfg.Logger.With("mailbox_id", s.MailboxID), suspects: &f.suspects, tracer: f.cfg.Tracer,
	}
	fail := func(err error) {
		l.report(ctx, wire.Status{LastError: err, LastErrorAt: f.cfg.Servers.cfg.Now()})
	}
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("an unexpected error while fetching; the server's log tells more")
			l.log.ErrorContext(ctx, "a source of mail panicked", "panic", p, "stack", string(debug.Stack()))
			fail(err)
		}
	}()
	l.recordStart(ctx)
	if s.Problem != "" {
		fail(errors.New(s.Problem))
		return nil
	}
	source, err := f.cfg.Servers.open(s, tokens, l)
	if err != nil {
		fail(err)
		return nil
	}
	// Run ends with ctx only; its error is ctx's.
	_ = source.Run(ctx)
	return nil
}
