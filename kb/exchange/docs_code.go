package exchange

import "strings"

// codeFence follows fenced code through the lines of a text. The zero value is outside.
type codeFence struct{ mark string }

func (f codeFence) open() bool { return f.mark != "" }

// read reports whether a line belongs to fenced code, including the lines around it.
func (f *codeFence) read(line string) bool {
	text := strings.TrimSpace(line)
	mark := text[:len(text)-len(strings.TrimLeft(text, "`"))]
	if mark == "" {
		mark = text[:len(text)-len(strings.TrimLeft(text, "~"))]
	}
	switch {
	case f.open():
		if len(mark) >= len(f.mark) && mark[0] == f.mark[0] && mark == text {
			f.mark = ""
		}
		return true
	case len(mark) < 3, mark[0] == '`' && strings.Contains(text[len(mark):], "`"):
		return false
	}
	f.mark = mark
	return true
}

// mapProse replaces the parts of a text between fenced code.
func mapProse(s string, f func(prose string) (string, error)) (string, error) {
	var out, prose strings.Builder
	var fence codeFence
	flush := func() error {
		text, err := f(prose.String())
		out.WriteString(text)
		prose.Reset()
		return err
	}
	for line := range strings.SplitAfterSeq(s, "\n") {
		if !fence.read(line) {
			prose.WriteString(line)
			continue
		}
		if err := flush(); err != nil {
			return "", err
		}
		out.WriteString(line)
	}
	err := flush()
	return out.String(), err
}

// codeSpans returns where the code spans of a prose end, by where they begin. They do not go beyond a paragraph.
func codeSpans(s string) map[int]int {
	type run struct{ start, end, paragraph int }
	var runs []run
	paragraph, blank := 0, false
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\n':
			if blank {
				paragraph++
			}
			blank = true
		case ' ', '\t', '\r':
		case '\\':
			blank = false
			if i+1 < len(s) && s[i+1] == '`' {
				i++ // outside of code it is only a sign
			}
		case '`':
			start := i
			for i+1 < len(s) && s[i+1] == '`' {
				i++
			}
			runs, blank = append(runs, run{start, i + 1, paragraph}), false
		default:
			blank = false
		}
	}
	next := map[[2]int]int{} // by paragraph and length
	follows := make([]int, len(runs))
	for n := len(runs) - 1; n >= 0; n-- {
		key := [2]int{runs[n].paragraph, runs[n].end - runs[n].start}
		follows[n] = next[key]
		next[key] = n
	}
	spans := map[int]int{}
	for n := 0; n < len(runs); n++ {
		if to := follows[n]; to > n {
			spans[runs[n].start] = runs[to].end
			n = to
		}
	}
	return spans
}
