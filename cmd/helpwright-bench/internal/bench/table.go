package bench

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"
)

// figure is the cost of a row, in parts.
type figure struct{ many, few []time.Duration }

// Table has the results, with the environment of the measurement.
type Table struct {
	cfg    Config
	kinds  []string // of databases
	filled []string
	lines  []line
}

type line struct {
	work    string
	figures map[string]figure // by kind of database
}

func (t *Table) add(kind, work string, f figure) {
	i := slices.IndexFunc(t.lines, func(l line) bool { return l.work == work })
	if i < 0 {
		t.lines = append(t.lines, line{work: work, figures: map[string]figure{}})
		i = len(t.lines) - 1
	}
	t.lines[i].figures[kind] = f
}

// Markdown returns the table as text.
func (t *Table) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d conversations in %d accounts, %d articles; %s/%s, %d processors, %s. Filled: %s.\n",
		t.cfg.Conversations, t.cfg.Accounts, t.cfg.Articles, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), strings.Join(t.filled, ", "))
	fmt.Fprintf(&b, "Growth is how many times the work takes what it takes with a %s of all that.\n\n| work |", part)
	for _, kind := range t.kinds {
		fmt.Fprintf(&b, " %s | growth |", kind)
	}
	b.WriteString("\n| --- |" + strings.Repeat(" --- | --- |", len(t.kinds)) + "\n")
	for _, l := range t.lines {
		fmt.Fprintf(&b, "| %s |", l.work)
		for _, kind := range t.kinds {
			f := l.figures[kind]
			fmt.Fprintf(&b, " %s | %s |", spans(f.many), f.growth())
		}
		b.WriteString("\n")
	}
	return b.String()
}

// growth compares the parts of a figure.
func (f figure) growth() string {
	if len(f.few) == 0 || len(f.few) != len(f.many) {
		return "-"
	}
	texts := make([]string, len(f.many))
	for i := range texts {
		texts[i] = fmt.Sprintf("%.1f", float64(f.many[i])/float64(max(1, f.few[i])))
	}
	return strings.Join(texts, ", ")
}

// spans formats durations in milliseconds.
func spans(all []time.Duration) string {
	if len(all) == 0 {
		return "-"
	}
	texts := make([]string, len(all))
	for i, d := range all {
		texts[i] = fmt.Sprintf("%.2f", float64(d)/float64(time.Millisecond))
	}
	return strings.Join(texts, ", ") + " ms"
}
