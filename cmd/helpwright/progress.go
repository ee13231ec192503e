package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/helpwright/helpwright/storage/backup"
)

// isTerminal reports whether the output is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// progress reports the progress of a long command: on a terminal in one line that changes, otherwise occasionally in a new
// one.
type progress struct {
	w        io.Writer
	what     string
	files    int64 // expected total; 0 if not known
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

// reportFiles reports the number of files done.
func (p *progress) reportFiles(done backup.Totals) {
	text := fmt.Sprintf("%d files, %s", done.Blobs+done.Missing, megabytes(done.Bytes))
	if p.files > 0 {
		text = fmt.Sprintf("%d of %d files, %s", done.Blobs+done.Missing, p.files, megabytes(done.Bytes))
	}
	p.say(text)
}

// say prints the progress, unless it was printed a moment ago.
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

// done ends the line on a terminal.
func (p *progress) done() {
	if p.terminal {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
