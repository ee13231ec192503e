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
	"github.com/helpwright/helpwright/helpdesk/ingest/oauth"
	"github.com/helpwright/helpwright/helpdesk/ingest/wire"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// FetcherConfig is what a [Fetcher] is made of.
type FetcherConfig struct {
	Intake  *helpdesk.Intake // required
	Servers *Servers         // required
	// Refresh is how often the mailboxes' settings are read; 0 means 10 s.
	Refresh time.Duration
	// Events tells when settings may have changed, in any process: then they are read at
	// once, though not more often than once a second. nil: only Refresh does.
	Events storage.EventNotifier
	Logger *slog.Logger // nil: discards
}

// Fetcher runs one source for every mailbox whose mail is fetched, each on its
// own: a slow server delays nobody else's mail. Changed settings are noticed
// at once where Events tells of them, and else within Refresh.
type Fetcher struct {
	cfg FetcherConfig

	running map[int64]*running // by mailbox; of Run's goroutine alone
	wait    sync.WaitGroup

	suspects suspects
}

// running is a source at work.
type running struct {
	source helpdesk.FetchSource
	tokens *oauth.Tokens // nil: a password
	cancel context.CancelFunc
	done   chan struct{}
}

// NewFetcher returns a fetcher that has not begun. What is missing in cfg is an Invalid
// fault.
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
			default: // one that nobody has taken yet says the same
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

// pauseOfRefresh is the least time between two readings of the settings.
const pauseOfRefresh = time.Second

// refresh starts sources that are new, and ends those that are gone or changed. It
// waits for none of them to end: a new source of the same mailbox does that.
func (f *Fetcher) refresh(ctx context.Context) error {
	sources, err := f.cfg.Intake.Sources(ctx)
	if err != nil {
		return err
	}
	wanted := map[int64]helpdesk.FetchSource{}
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

// is tells whether the settings are those that r works with. A refresh token that
// the token endpoint has given in place of the former is no change.
func (r *running) is(s helpdesk.FetchSource) bool {
	if r.tokens != nil && s.RefreshToken != r.source.RefreshToken && s.RefreshToken == r.tokens.RefreshToken() {
		r.source.RefreshToken = s.RefreshToken
	}
	return reflect.DeepEqual(s, r.source)
}

// start runs a source after the one before it has ended.
func (f *Fetcher) start(ctx context.Context, s helpdesk.FetchSource, after <-chan struct{}) {
	ctx, cancel := context.WithCancel(ctx)
	r := &running{source: s, cancel: cancel, done: make(chan struct{})}
	r.tokens = f.cfg.Servers.tokens(s, func(ctx context.Context, old, next string) error {
		return f.cfg.Intake.KeepRefreshToken(ctx, s.AccountID, s.MailboxID, old, next)
	})
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

// afterPanic is how long a mailbox is left alone whose source has panicked.
const afterPanic = 5 * time.Minute

// fetch runs a source until ctx ends. Its error is a panic of the source.
func (f *Fetcher) fetch(ctx context.Context, s helpdesk.FetchSource, tokens *oauth.Tokens) (err error) {
	l := &ledger{
		intake: f.cfg.Intake, accountID: s.AccountID, mailboxID: s.MailboxID, epoch: s.Inbound.Epoch,
		log: f.cfg.Logger.With("mailbox_id", s.MailboxID), suspects: &f.suspects,
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
	l.begin(ctx)
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
