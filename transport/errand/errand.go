// Package errand runs long work of the server that a page starts, watches, stops and resumes, such as an import.
//
// An account has at most one errand of a kind. Its state is in the store and its files are in the blob store, so that every
// server on the store sees them, and any of them continues an errand whose server has crashed. Work must therefore be safe to
// repeat from its start.
package errand

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// State says how far an errand is.
type State string

// The states.
const (
	Waiting  State = "waiting" // for a server that runs it
	Running  State = "running"
	Stopping State = "stopping" // a member stopped it, and it still runs
	Stopped  State = "stopped"
	Failed   State = "failed"
	Done     State = "done"
)

// Active reports whether a server runs it now or soon.
func (s State) Active() bool { return s == Waiting || s == Running || s == Stopping }

// Errand is one piece of work.
type Errand struct {
	ID        string            `json:"id"` // random
	AccountID int64             `json:"account_id"`
	Kind      string            `json:"kind"`    // such as "import"
	Step      string            `json:"step"`    // what to do, such as "check"; "": the kind has one step
	UserID    int64             `json:"user_id"` // who began it
	Input     map[string]string `json:"input"`   // what it needs to know
	File      string            `json:"file"`    // name of the uploaded file, "" if there is none
	Size      int64             `json:"size"`    // of the uploaded file, and once there is one of the result, in bytes
	State     State             `json:"state"`
	Reason    string            `json:"reason"` // why it failed
	Progress  Progress          `json:"progress"`
	Report    Report            `json:"report"` // of the last step that was done
	Tries     int               `json:"tries"`  // how often a server began the step
	Created   time.Time         `json:"created"`
	Changed   time.Time         `json:"changed"` // when the state last changed
}

// Progress says how much is done.
type Progress struct {
	Done  int64 `json:"done"`
	Total int64 `json:"total"` // 0: not known
	Bytes int64 `json:"bytes"` // 0: not counted
}

// Report says what was done, and what was not.
type Report struct {
	Step   string  `json:"step"`
	Counts []Count `json:"counts"`
	Notes  []Note  `json:"notes"` // the first of those in the file of the report
	Whole  int     `json:"whole"` // how many notes the file has
}

// Count is a number of things.
type Count struct {
	What string `json:"what"`
	N    int64  `json:"n"`
}

// Note is something that a person should know of.
type Note struct {
	About string `json:"about"` // such as "problem"
	Text  string `json:"text"`  // in English
}

// N returns a count of the report, 0 if it has none.
func (r Report) N(what string) int64 {
	for _, c := range r.Counts {
		if c.What == what {
			return c.N
		}
	}
	return 0
}

// Names of the files of an errand.
const (
	Uploaded   = "upload"
	ReportFile = "report"
	Result     = "result"
)

// Work does a step of an errand. A canceled context means that it was stopped, or that the server ends. An Unavailable or
// OutcomeUnknown fault makes it begin again later; after any other error it has failed, and members read the message of a
// fault.
type Work func(ctx context.Context, t *Task) error

// Defaults of [Config].
const (
	DefaultMaxUpload   = 4 << 30
	DefaultMaxUnpacked = 20 << 30
	DefaultMaxEntries  = 500_000
	DefaultKeep        = 7 * 24 * time.Hour
)

// Config configures an [Office]. Vault, Blobs, Accounts and Works are required; the other fields have defaults.
type Config struct {
	Vault storage.Vault // keeps the states
	Blobs storage.Blobs // keeps the files, with keys below [Prefix]
	// Accounts reports whether an account exists: errands of others are removed.
	Accounts func(ctx context.Context, id int64) (bool, error)
	Works    map[string]Work // by kind

	Temp        string        // folder for unpacked archives; default: the system's
	MaxUpload   int64         // maximum bytes of an uploaded file; default DefaultMaxUpload
	MaxUnpacked int64         // maximum bytes of what it contains; default DefaultMaxUnpacked
	MaxEntries  int           // maximum number of files in it; default DefaultMaxEntries
	Keep        time.Duration // how long an errand and its files stay after their last change; default DefaultKeep
	// Lease is how long after a crash another server continues an errand; default 30 seconds. Poll is how often a server looks
	// for errands of others; default 5 seconds.
	Lease, Poll time.Duration

	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default: discarded
}

// Office keeps errands and runs them. Make it with [New].
type Office struct {
	cfg  Config
	wake chan struct{}
}

// New returns an office, which runs nothing before [Office.Run]. Missing fields are an Invalid fault.
func New(cfg Config) (*Office, error) {
	var problems fault.Collector
	problems.Check(cfg.Vault != nil, "Vault", "is required")
	problems.Check(cfg.Blobs != nil, "Blobs", "is required")
	problems.Check(cfg.Accounts != nil, "Accounts", "is required")
	problems.Check(len(cfg.Works) > 0, "Works", "is required")
	if err := problems.Err(); err != nil {
		return nil, err
	}
	cfg.Temp = cmp.Or(cfg.Temp, os.TempDir())
	cfg.MaxUpload, cfg.MaxUnpacked = cmp.Or(cfg.MaxUpload, DefaultMaxUpload), cmp.Or(cfg.MaxUnpacked, DefaultMaxUnpacked)
	cfg.MaxEntries, cfg.Keep = cmp.Or(cfg.MaxEntries, DefaultMaxEntries), cmp.Or(cfg.Keep, DefaultKeep)
	cfg.Lease, cfg.Poll = cmp.Or(cfg.Lease, 30*time.Second), cmp.Or(cfg.Poll, 5*time.Second)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Office{cfg: cfg, wake: make(chan struct{}, 1)}, nil
}

// MaxUpload is the maximum size of an uploaded file in bytes.
func (o *Office) MaxUpload() int64 { return o.cfg.MaxUpload }

// Keep is how long an errand and its files stay after their last change.
func (o *Office) Keep() time.Duration { return o.cfg.Keep }
