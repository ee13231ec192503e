// Package jobs runs the handlers of jobs: it claims them from a queue, extends
// their lease while they run, and finishes, retries or buries them.
//
// A job runs at least once: after a crash, or when its result could not be written,
// it runs again. Handlers find out themselves what was done already.
package jobs

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Func does one job. Returning nil finishes it; an error has it tried again after
// the backoff, or at the time of [RetryAt]; [Bury], or an error in the last
// attempt where there is one, gives it up. A panic counts as an error.
//
// An Unavailable or OutcomeUnknown fault is no fault of the job: what all jobs need
// was away. It does not count among the attempts, and the job comes back soon. So it
// does after an error of [Progress].
//
// The context ends when the job was taken over because its lease could not be
// extended, and when the runner stops and the time to drain is over.
type Func func(ctx context.Context, job storage.ClaimedJob) error

// Handler is what runs the jobs of one kind.
type Handler struct {
	Func        Func
	Workers     int // how many run at the same time; 0: Config.Workers
	MaxAttempts int // 0: Config.MaxAttempts; negative: never
}

// Config says what is run and how. Jobs and Handlers are required; the other
// fields have defaults.
type Config struct {
	Jobs     storage.Jobs
	Handlers map[string]Handler // by kind; jobs of other kinds are left alone
	// Kinds are those that must have a handler, lest their jobs pile up unseen: the JobKinds of the domains.
	Kinds []string
	// Workers is how many jobs of one kind run at the same time, unless its handler
	// says otherwise; default 4. Every kind has workers of its own, so that a slow
	// kind does not keep another waiting.
	Workers     int
	Batch       int                            // how many are claimed or finished in one go, at most; default 50
	Lease       time.Duration                  // after a crash a job runs again when this is over; default 5 minutes
	Poll        time.Duration                  // how often the queue is asked when it does not wake the runner; default 1 second
	MaxAttempts int                            // so many attempts that failed bury the job; 0: none do, and only [Bury] gives up
	Backoff     func(failed int) time.Duration // wait after so many failures; default: 2 s doubled each time up to 1 h, with jitter
	Drain       time.Duration                  // how long running handlers may go on when the runner stops; default 8 seconds
	// Hold is asked before jobs are claimed: while it returns an error nothing is, because what all jobs need is not
	// there. Default: nothing is held back.
	Hold func() error
	// Observe hears of each attempt when it has ended, from several goroutines at the same time. nil: nobody does.
	Observe func(Attempt)
	Now     func() time.Time // default time.Now
	Logger  *slog.Logger     // nil: discards
}

// Attempt is one that has ended.
type Attempt struct {
	Kind   string
	Result string // "finished", "retried" or "buried"; "given back" when the runner stopped meanwhile
	Took   time.Duration
}

// Runner runs jobs. Make it with [New].
type Runner struct{ cfg Config }

// New makes a runner; nothing happens before Run. It is an Invalid fault when Config.Jobs, the function of a handler or the
// handler of one of Config.Kinds is missing.
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

// The longest waits between two attempts: of a job that fails, and of one that met an outage.
const (
	maxBackoff = time.Hour
	maxAway    = 30 * time.Second
)

// backoff doubles from 2 seconds to an hour, less up to a quarter by chance, so
// that what failed together is not tried together.
func backoff(failed int) time.Duration {
	wait := maxBackoff
	if failed < 12 { // 2^12 s is more than an hour
		wait = min(time.Second<<max(failed, 1), maxBackoff)
	}
	return wait - rand.N(wait/4)
}

// RetryAt is the error of a handler that knows when trying again makes sense. It
// holds in every attempt: the handler decides when to give up, with [Bury]. What
// failed before counts no more.
func RetryAt(at time.Time, err error) error { return &verdict{at: at, err: err} }

// Bury is the error of a handler for a job that trying again cannot help: a person
// decides about it.
func Bury(err error) error { return &verdict{bury: true, err: err} }

// Progress is the error of a handler that got something done before it failed, and
// will get more done the next time: what failed before counts no more, so that the
// job comes back soon.
func Progress(err error) error { return &verdict{progress: true, err: err} }

// verdict is an error that says what to do about it.
type verdict struct {
	bury, progress bool
	at             time.Time // unless it is one of the others
	err            error
}

func (v *verdict) Error() string {
	if v.err == nil {
		return "no reason given"
	}
	return v.err.Error()
}

func (v *verdict) Unwrap() error { return v.err }

// maxReason is how many bytes of an error are kept with the job.
const maxReason = 500

// reason is the text of an error as any database can hold it.
func reason(err error) string {
	text := strings.ReplaceAll(strings.ToValidUTF8(err.Error(), "\uFFFD"), "\x00", "")
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
