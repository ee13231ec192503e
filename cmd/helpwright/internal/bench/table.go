package bench

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"
)

// figure is the result of a row.
type figure struct {
	value, floor string
	missed       bool // the goal was missed
}

// Table has the results, with the environment of the measurement.
type Table struct {
	cfg    Config
	kinds  []string // of databases
	filled []string
	lines  []line
}

type line struct {
	row     row
	figures map[string]figure // by kind of database
}

func (t *Table) add(kind string, r row, f figure) {
	i := slices.IndexFunc(t.lines, func(l line) bool { return l.row.work == r.work })
	if i < 0 {
		t.lines = append(t.lines, line{row: r, figures: map[string]figure{}})
		i = len(t.lines) - 1
	}
	t.lines[i].figures[kind] = f
}

// Markdown returns the table as text. Figures that miss the goal are bold.
func (t *Table) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d conversations in %d accounts, %d articles; %s/%s, %d processors, %s. Filled: %s.\n",
		t.cfg.Conversations, t.cfg.Accounts, t.cfg.Articles, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), strings.Join(t.filled, ", "))
	b.WriteString("Floors are measured in the same run, in turns with the work. A figure in bold misses its goal.")
	if t.cfg.nginx == "" {
		b.WriteString(" There is no nginx: handlers of this process take its place.")
	}
	b.WriteString("\n\n| work | goal |")
	for _, kind := range t.kinds {
		fmt.Fprintf(&b, " %s | floor |", kind)
	}
	b.WriteString("\n| --- | --- |" + strings.Repeat(" --- | --- |", len(t.kinds)) + "\n")
	for _, l := range t.lines {
		fmt.Fprintf(&b, "| %s | %s |", l.row.work, l.row.goal)
		for _, kind := range t.kinds {
			f := l.figures[kind]
			value := cmp.Or(f.value, "-")
			if f.missed {
				value = "**" + value + "**"
			}
			fmt.Fprintf(&b, " %s | %s |", value, cmp.Or(f.floor, "-"))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// span formats a duration for people.
func span(d time.Duration) string {
	if d < 10*time.Millisecond {
		return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.0f ms", float64(d)/float64(time.Millisecond))
}

// spans formats durations in milliseconds.
func spans(all []time.Duration) string {
	texts := make([]string, len(all))
	for i, d := range all {
		texts[i] = strings.TrimSuffix(span(d), " ms")
	}
	return strings.Join(texts, ", ") + " ms"
}

// share returns a figure whose goal is a share of its floor's rate.
func share(floor, work time.Duration, goal float64) figure {
	part := float64(floor) / float64(work)
	return figure{value: fmt.Sprintf("%.2f (%.0f/s)", part, perSecond(work)), floor: fmt.Sprintf("%.0f/s", perSecond(floor)), missed: part < goal}
}

// times returns a figure whose goal is at most a multiple of its floor.
func times(floor, work time.Duration, goal float64) figure {
	ratio := float64(work) / float64(floor)
	return figure{value: fmt.Sprintf("%s (%.1fx)", span(work), ratio), floor: span(floor), missed: ratio > goal}
}

func perSecond(d time.Duration) float64 { return float64(time.Second) / float64(d) }
