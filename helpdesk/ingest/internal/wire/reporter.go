package wire

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// ReporterConfig is what a Reporter is made of. All fields are required, except Known.
type ReporterConfig[S any] struct {
	Protocol, Host         string // for the log
	Common                 func(state *S) *Status
	Copy                   func(state S) S // that later changes do not touch
	Sink                   func(ctx context.Context, state S)
	Known                  []error // see [Reason]
	BackoffMin, BackoffMax time.Duration
	Now                    func() time.Time
	Rand                   func() float64
	Logger                 *slog.Logger
}

// Reporter has the state of a source of mail, passes each change of it to the sink, and repeats the source's work. Its methods
// may be called concurrently.
type Reporter[S any] struct {
	cfg ReporterConfig[S]

	mu    sync.Mutex
	state S
}

// NewReporter returns a Reporter of a state.
func NewReporter[S any](cfg ReporterConfig[S], state S) *Reporter[S] {
	return &Reporter[S]{cfg: cfg, state: state}
}

// Status returns the present state.
func (r *Reporter[S]) Status() S {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cfg.Copy(r.state)
}

// Update changes the state and passes it to the sink.
func (r *Reporter[S]) Update(ctx context.Context, change func(*S)) {
	r.mu.Lock()
	change(&r.state)
	r.mu.Unlock()
	r.cfg.Sink(ctx, r.Status())
}

// Repeat calls work until ctx ends, and returns ctx's error. After an error it waits longer each time, from BackoffMin to
// BackoffMax, unless work made progress. After a success it waits for the pause that work returned.
func (r *Reporter[S]) Repeat(ctx context.Context, work func(ctx context.Context) (pause time.Duration, progress bool, err error)) error {
	for failures := 0; ctx.Err() == nil; {
		pause, progress, err := work(ctx)
		if ctx.Err() != nil {
			break
		}
		if progress || err == nil {
			failures = 0
		}
		if err != nil {
			pause = Backoff(r.cfg.BackoffMin, r.cfg.BackoffMax, failures, err, r.cfg.Rand())
			failures++
			r.failed(ctx, err, pause)
		}
		Sleep(ctx, pause)
	}
	r.change(context.WithoutCancel(ctx), func(st *Status) { st.Connected, st.NextTry = false, time.Time{} })
	return ctx.Err()
}

func (r *Reporter[S]) failed(ctx context.Context, err error, wait time.Duration) {
	step, why := Reason(err, r.cfg.Known...)
	r.cfg.Logger.WarnContext(ctx, r.cfg.Protocol+": connection failed", "host", r.cfg.Host, "step", step, "reason", why, "wait", wait)
	r.change(ctx, func(st *Status) {
		now := r.now()
		st.Connected, st.LastError, st.LastErrorAt, st.NextTry = false, err, now, now.Add(wait)
	})
}

// Failed notes an error of work that is not repeated.
func (r *Reporter[S]) Failed(ctx context.Context, err error) {
	r.change(ctx, func(st *Status) { st.LastError, st.LastErrorAt = err, r.now() })
}

// Succeeded notes that all available mail was fetched.
func (r *Reporter[S]) Succeeded(ctx context.Context) {
	r.change(ctx, func(st *Status) { st.LastSuccess, st.LastError = r.now(), nil })
}

// Log logs a message with an error without text from the server or a mail; err may be nil.
func (r *Reporter[S]) Log(ctx context.Context, level slog.Level, message string, err error, args ...any) {
	args = append(args, "host", r.cfg.Host)
	if err != nil {
		step, why := Reason(err, r.cfg.Known...)
		args = append(args, "step", step, "reason", why)
	}
	r.cfg.Logger.Log(ctx, level, message, args...)
}

func (r *Reporter[S]) change(ctx context.Context, change func(*Status)) {
	r.Update(ctx, func(state *S) { change(r.cfg.Common(state)) })
}

func (r *Reporter[S]) now() time.Time { return r.cfg.Now().UTC() }
