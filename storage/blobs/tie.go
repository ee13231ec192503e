package blobs

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// MarkKey is the key of the blob that holds the mark.
const MarkKey = "helpwright/mark"

const (
	tieInterval = 5 * time.Second // how long a result is valid, and how often Run checks
	tieLimit    = 10 * time.Second
	sampleSize  = 20
	maxMark     = 200 // bytes
)

// The codes of the faults that say why blobs and a database do not belong together.
const (
	CodeLost        = "blobs_lost"         // the database refers to blobs that do not exist
	CodeOther       = "blobs_of_another"   // the blobs have the mark of another database
	CodeNewDatabase = "blobs_without_rows" // the database refers to no blobs, but there are some
	CodeCopying     = "blobs_being_copied" // a copy to the blob store is incomplete
)

var (
	errLost = &fault.Error{Kind: fault.Unavailable, Code: CodeLost,
		Message: "The files are missing: the blob store has no mark and lacks files that the database refers to. Is its disk mounted?"}
	errOther = &fault.Error{Kind: fault.Unavailable, Code: CodeOther,
		Message: "The blob store belongs to another database: its mark is not this database's."}
	errCopying = &fault.Error{Kind: fault.Unavailable, Code: CodeCopying,
		Message: "Files are still being copied to this blob store. Use the original store until the copy is complete."}
	errNewDatabase = &fault.Error{Kind: fault.Unavailable, Code: CodeNewDatabase,
		Message: "The database is empty, but the blob store holds files of another one. Was the database lost or emptied, or is its disk not mounted?"}
)

// TieConfig says what belongs together. Blobs, Marks and Rows are required.
type TieConfig struct {
	Blobs  storage.Blobs
	Marks  storage.Marks
	Rows   storage.BlobRows
	Logger *slog.Logger // nil: discards
}

// Tie wraps blobs that belong to a database: both have a common mark, chosen at random when they first meet. While the marks
// differ, or the blobs and their mark are gone, as when a disk is not mounted, every method returns an Unavailable fault.
// This keeps files from being written to the wrong place, and unreachable files from being taken for lost. When the blobs
// reappear the Tie works again.
//
// Create it with [NewTie].
type Tie struct {
	cfg TieConfig

	checking sync.Mutex // one check at a time
	known    string     // the database's mark, once the blobs had it

	mu      sync.Mutex
	verdict error
	checked time.Time // zero: never
}

var (
	_ storage.Blobs      = (*Tie)(nil)
	_ storage.BlobWalker = (*Tie)(nil)
	_ storage.BlobTidier = (*Tie)(nil)
)

// NewTie ties blobs to a database. It reads nothing before the first method call. Missing fields are an Invalid fault.
func NewTie(cfg TieConfig) (*Tie, error) {
	var problems fault.Collector
	problems.Check(cfg.Blobs != nil, "Blobs", "is required")
	problems.Check(cfg.Marks != nil, "Marks", "is required")
	problems.Check(cfg.Rows != nil, "Rows", "is required")
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Tie{cfg: cfg}, nil
}

// Run checks regularly until ctx ends, so that [Tie.Err] is never old.
func (t *Tie) Run(ctx context.Context) error {
	ticker := time.NewTicker(tieInterval)
	defer ticker.Stop()
	for {
		_ = t.Check(ctx) // it logs changes
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// Err returns the result of the last check, or nil when there was none.
func (t *Tie) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.verdict
}

// Check finds out whether the blobs belong to the database. It marks both when that is certain: when neither has contents
// yet, or when the blobs exist that the database refers to.
func (t *Tie) Check(ctx context.Context) error {
	t.checking.Lock()
	defer t.checking.Unlock()
	found, failed := t.examine(ctx, true)
	return t.note(ctx, found, failed)
}

// Look is Check without any changes.
func (t *Tie) Look(ctx context.Context) error {
	t.checking.Lock()
	defer t.checking.Unlock()
	found, failed := t.examine(ctx, false)
	return errors.Join(found, failed) // at most one is set
}

// Adopt gives the blobs the database's mark, whatever they are. Missing blobs are then lost, and blobs without a row will be
// swept.
func (t *Tie) Adopt(ctx context.Context) error {
	t.checking.Lock()
	defer t.checking.Unlock()
	found, failed := t.join(ctx, "")
	return t.note(ctx, found, failed)
}

// note stores the result of a check, unless the check itself failed.
func (t *Tie) note(ctx context.Context, found, failed error) error {
	t.mu.Lock()
	before := t.verdict
	if failed == nil || !t.checked.IsZero() {
		t.checked = time.Now() // an unreachable database says nothing about the blobs
	}
	if failed == nil {
		t.verdict = found
	}
	t.mu.Unlock()
	switch {
	case failed != nil:
		return failed
	case found != nil && before == nil:
		t.cfg.Logger.ErrorContext(ctx, "the files cannot be used: what needs them waits", "error", found)
	case found == nil && before != nil:
		t.cfg.Logger.WarnContext(ctx, "the files can be used again")
	}
	return found
}

// fresh returns the last result, after a new check if it is old.
func (t *Tie) fresh(ctx context.Context) error {
	t.mu.Lock()
	verdict, old := t.verdict, time.Since(t.checked) > 2*tieInterval
	t.mu.Unlock()
	if old {
		return t.Check(ctx)
	}
	return verdict
}

// examine compares the marks. found is the result for the blobs; failed is the error when it cannot tell.
func (t *Tie) examine(ctx context.Context, write bool) (found, failed error) {
	ctx, cancel := context.WithTimeout(ctx, tieLimit)
	defer cancel()
	ofBlobs, err := markOf(ctx, t.cfg.Blobs)
	if err != nil {
		return t.unusable(ctx, err)
	}
	switch {
	case ofBlobs != "" && ofBlobs == t.known:
		return nil, nil
	case strings.HasPrefix(ofBlobs, copyingMark):
		return errCopying, nil
	}
	ofDatabase, err := t.cfg.Marks.Mark(ctx)
	switch {
	case err != nil:
		return nil, err
	case ofBlobs != "" && ofBlobs == ofDatabase:
		t.known = ofDatabase
		return nil, nil
	case ofBlobs != "" && ofDatabase != "":
		return errOther, nil
	}
	if found, failed = t.belong(ctx, ofDatabase, ofBlobs); found != nil || failed != nil || !write {
		return found, failed
	}
	return t.join(ctx, ofBlobs)
}

// unusable distinguishes a canceled check from blobs that do not answer.
func (t *Tie) unusable(ctx context.Context, err error) (found, failed error) {
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, err
	}
	if !fault.Is(err, fault.Unavailable) {
		err = fault.Wrap(fault.Unavailable, "blobs.Tie", err)
	}
	return err, nil
}

// join gives the database and the blobs the same mark: that of the database, otherwise that of the blobs, otherwise a new
// one. Between concurrent processes the database decides.
func (t *Tie) join(ctx context.Context, ofBlobs string) (found, failed error) {
	fresh := ofBlobs
	if fresh == "" {
		fresh = strings.ToLower(rand.Text())
	}
	if err := t.cfg.Marks.SetMark(ctx, "", fresh); err != nil && !fault.Is(err, fault.Conflict) {
		return nil, err
	}
	mark, err := t.cfg.Marks.Mark(ctx)
	if err != nil {
		return nil, err
	}
	if mark != ofBlobs {
		if _, err := t.cfg.Blobs.Put(ctx, MarkKey, strings.NewReader(mark+"\n")); err != nil {
			return t.unusable(ctx, err)
		}
	}
	t.known = mark
	return nil, nil
}

// belong decides from the contents, when a mark is missing, whether blobs and database belong together.
func (t *Tie) belong(ctx context.Context, ofDatabase, ofBlobs string) (found, failed error) {
	named, err := t.cfg.Rows.ListNamedBlobs(ctx, "", sampleSize)
	if err != nil {
		return nil, err
	}
	if len(named) == 0 {
		if ofDatabase != "" {
			return nil, nil // whatever the blobs contain, nothing of the database can be lost
		}
		there, err := t.cfg.Blobs.List(ctx, Prefix, "", 1)
		if err != nil {
			return t.unusable(ctx, err)
		}
		if len(there) > 0 {
			return errNewDatabase, nil
		}
		return nil, nil
	}
	there := 0
	for _, key := range named {
		_, err := t.cfg.Blobs.Stat(ctx, key)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return t.unusable(ctx, err)
		}
		if err == nil {
			there++
		}
	}
	switch {
	case 2*there >= len(named):
		return nil, nil
	case ofBlobs != "":
		return errOther, nil
	}
	return errLost, nil
}

// markOf returns the mark of blobs, or "" when there is none.
func markOf(ctx context.Context, blobs storage.Blobs) (string, error) {
	r, err := blobs.Get(ctx, MarkKey)
	if fault.Is(err, fault.NotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, maxMark))
	return strings.TrimSpace(string(text)), err
}
