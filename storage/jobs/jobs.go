// Package jobs runs the handlers of jobs: it claims jobs from a queue, extends their leases while they run, and finishes,
// retries or buries them.
//
// A job runs at least once: it runs again after a crash, or when its result could not be written. Handlers must find out
// themselves what was already done.
package jobs

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// Func runs one job. When it returns nil the job is finished. After an error the job is retried after the backoff, or at the
// time of [RetryAt]. [Fail] gives the job up, and so does an error in the last attempt, if attempts are limited. A panic
// counts as an error.
//
// An Unavailable or OutcomeUnknown fault does not count as an attempt: a shared dependency was unavailable, and the job is
// retried soon. The same holds for an error of [Progress].
//
// The context ends when the job was taken over because its lease could not be extended, and when the runner stops and the
// drain time is over.
type Func func(ctx context.Context, job storage.ClaimedJob) error

// Handler runs the jobs of one kind.
type Handler struct {
	Func        Func
	Workers     int // how many run at the same time; 0: Config.Workers
	MaxAttempts int // 0: Config.MaxAttempts; negative: unlimited
}

// Config says which jobs to run and how. Jobs and Handlers are required; the other fields have defaults.
type Config struct {
	Jobs     storage.Jobs
	Handlers map[string]Handler // by kind; jobs of other kinds are left alone
	// Kinds must all have a handler, so that no jobs pile up unnoticed: the JobKinds of the domains.
	Kinds []string
	// Workers is how many jobs of one kind run at the same time, unless the handler sets its own number; default 4. Every kind
	// has its own workers, so that a slow kind does not delay others.
	Workers     int
	Batch       int                            // the most jobs of one kind claimed, and of all kinds finished, at once; default 50
	Lease       time.Duration                  // after a crash a job runs again when its lease expires; default 5 minutes
	Poll        time.Duration                  // how often the queue is polled when it does not wake the runner; default 1 second
	MaxAttempts int                            // failed attempts after which a job is failed; 0: unlimited, only [Fail] gives up
	Backoff     func(failed int) time.Duration // delay after so many failures; default: 2 s, doubled each time up to 1 h, with jitter
	Drain       time.Duration                  // how long running handlers may continue when the runner stops; default 8 seconds
	// Hold is called before jobs are claimed. While it returns an error no jobs are claimed, because a shared dependency is
	// unavailable. Default: no hold.
	Hold func() error
	// Observe is called after each attempt, from several goroutines at once. nil: no reports.
	Observe func(Attempt)
	// Tracer hears of each attempt, as a trace of its own that is linked to what enqueued the job, and the handler's context
	// belongs to its span. nil: nothing is traced.
	Tracer storage.Tracer
	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // nil: discards
}

// Attempt is a completed attempt.
type Attempt struct {
	Kind   string
	Result string // "finished", "retried" or "failed"; "given back" when the runner stopped meanwhile
	Took   time.Duration
}

// Runner runs jobs. Create it with [New].
type Runner struct{ cfg Config }

// New returns a runner, which does nothing before Run. It is an Invalid fault when Config.Jobs, the function of a handler or
// the handler of one of Config.Kinds is missing.
func New(cfg Config) (*Runner, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	setDefault(&cfg.Workers, 4)
	setDefault(&cfg.Batch, 50)
	setDefault(&cfg.Lease, 5*time.Minute)
	setDefault(&cfg.Poll, time.Second)
	setDefault(&cfg.Drain, 8*time.Second)
	if cfg.Backoff == nil {
		cfg.Backoff = backoff
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Runner{cfg}, nil
}

func setDefault[T int | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

// The longest delays between two attempts: after a failure, and after an outage.
const (
	maxBackoff = time.Hour
	maxAway    = 30 * time.Second
)

// backoff doubles from 2 seconds to an hour, minus up to a quarter at random, so that jobs that failed together are not
// retried together.
func backoff(failed int) time.Duration {
	wait := maxBackoff
	if failed < 12 { // 2^12 s is more than an hour
		wait = min(time.Second<<max(failed, 1), maxBackoff)
	}
	return wait - rand.N(wait/4)
}

// RetryAt is the error of a handler that knows when a retry makes sense. It applies to every attempt: the handler decides
// when to give up, with [Fail]. It resets the count of failures.
func RetryAt(at time.Time, err error) error { return &verdict{at: at, err: err} }

// Fail is the error of a handler for a job that no retry can help; a person decides what to do with it.
func Fail(err error) error { return &verdict{bury: true, err: err} }

// Progress is the error of a handler that made progress before it failed and will make more the next time. It resets the
// count of failures, so that the job is retried soon.
func Progress(err error) error { return &verdict{progress: true, err: err} }

// verdict is an error that decides what happens to the job.
type verdict struct {
	bury, progress bool
	at             time.Time // unless one of the other fields is set
	err            error
}

func (v *verdict) Error() string {
	if v.err == nil {
		return "no reason given"
	}
	return v.err.Error()
}

func (v *verdict) Unwrap() error { return v.err }

// maxReason is how many bytes of an error are stored with the job.
const maxReason = 500

// reason returns the text of an error in a form that any database can store.
func reason(err error) string {
	text := plain.Text(err.Error())
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "")
	}
	return text
}

func (c Config) check() error {
	var problems fault.Collector
	problems.Check(c.Jobs != nil, "Jobs", "is required")
	for kind, h := range c.Handlers {
		problems.Check(h.Func != nil, "Handlers["+kind+"]", "has no Func")
	}
	for _, kind := range c.Kinds {
		_, handled := c.Handlers[kind]
		problems.Check(handled, "Handlers["+kind+"]", "is required: nothing else runs jobs of this kind")
	}
	return problems.Err()
}
