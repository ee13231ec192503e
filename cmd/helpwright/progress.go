package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/helpwright/helpwright/storage/backup"
)

// isTerminal reports whether somebody watches.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// progress says how far a long command is: on a terminal in one line that changes, elsewhere now and then in a new one.
type progress struct {
	w        io.Writer
	what     string
	files    int64 // that there will be; 0: not known
	terminal bool
	every    time.Duration
	said     time.Time
}

func newProgress(w io.Writer, what string) *progress {
	p := &progress{w: w, what: what, every: 10 * time.Second, said: time.Now()}
	if isTerminal(w) {
		p.terminal, p.every = true, time.Second/4
	}
	return p
}

// tell says how many files are done.
func (p *progress) tell(done backup.Totals) {
	text := fmt.Sprintf("%d files, %s", done.Blobs+done.Missing, megabytes(done.Bytes))
	if p.files > 0 {
		text = fmt.Sprintf("%d of %d files, %s", done.Blobs+done.Missing, p.files, megabytes(done.Bytes))
	}
	p.say(text)
}

// say prints how far the work is, unless it was said a moment ago.
func (p *progress) say(text string) {
	if time.Since(p.said) < p.every {
		return
	}
	p.said = time.Now()
	if p.terminal {
		fmt.Fprintf(p.w, "\r%s: %s\x1b[K", p.what, text)
	} else {
		fmt.Fprintf(p.w, "%s: %s\n", p.what, text)
	}
}

// done leaves the line of a terminal.
func (p *progress) done() {
	if p.terminal {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
