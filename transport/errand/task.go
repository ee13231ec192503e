package errand

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"sync"
)

// shownNotes and shownText limit what the state of an errand has of its report, which the file has whole.
const (
	shownNotes = 50
	shownText  = 500
)

// Task is a step of an errand that runs.
type Task struct {
	Errand
	office *Office
	folder string // for the unpacked file; "" if it was not needed
	spent  bool
	size   int64

	mu     sync.Mutex
	told   *Progress // nil: nothing new
	counts []Count
	notes  []Note
}

// Tell says how much is done. It may be called often.
func (t *Task) Tell(p Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.told = &p
}

func (t *Task) progress() Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.told == nil {
		return t.Progress
	}
	return *t.told
}

// Note adds a note to the report.
func (t *Task) Note(about, text string) { t.notes = append(t.notes, Note{about, text}) }

// Count adds a number of things to the report.
func (t *Task) Count(what string, n int) { t.counts = append(t.counts, Count{what, int64(n)}) }

// Spend says that the uploaded file is not needed any more once the step is done.
func (t *Task) Spend() { t.spent = true }

// Store stores the result.
func (t *Task) Store(ctx context.Context, content io.Reader) error {
	n, err := t.office.cfg.Blobs.Put(ctx, blobKey(t.Errand, Result), content)
	t.size = n
	return err
}

// report returns what the state has of the report.
func (t *Task) report() Report {
	r := Report{Step: t.Step, Counts: t.counts, Whole: len(t.notes)}
	for _, n := range t.notes[:min(len(t.notes), shownNotes)] {
		if len(n.Text) > shownText {
			n.Text = strings.ToValidUTF8(n.Text[:shownText], "") + "…"
		}
		r.Notes = append(r.Notes, n)
	}
	return r
}

// keepReport stores the file of the report.
func (t *Task) keepReport(ctx context.Context) error {
	if len(t.counts)+len(t.notes) == 0 {
		return nil
	}
	_, err := t.office.cfg.Blobs.Put(ctx, blobKey(t.Errand, ReportFile), bytes.NewReader(t.report().text(t.notes)))
	return err
}

func (t *Task) removeFolder() {
	if t.folder != "" {
		_ = os.RemoveAll(t.folder) // Tidy removes it otherwise
	}
}
