package mail

import (
	"strings"
)

// unflow joins the lines of each paragraph of a format=flowed text (RFC 3676) and undoes its stuffing. Quotes keep their
// depth, written as ">", ">>" and a space.
func unflow(s string, delSp bool) string {
	var out strings.Builder
	open, depth := false, 0 // a paragraph continues, at this quote depth
	for line := range strings.Lines(s) {
		line = strings.TrimSuffix(line, "\n")
		quotes := len(line) - len(strings.TrimLeft(line, ">"))
		line = strings.TrimPrefix(line[quotes:], " ") // unstuffed
		mark := line == "-- "                         // signature separator, always a line of its own
		if open && (mark || quotes != depth) {
			out.WriteByte('\n')
			open = false
		}
		if !open && quotes > 0 {
			out.WriteString(strings.Repeat(">", quotes))
			out.WriteByte(' ')
		}
		open, depth = !mark && strings.HasSuffix(line, " "), quotes
		if open && delSp {
			line = line[:len(line)-1]
		}
		out.WriteString(line)
		if !open {
			out.WriteByte('\n')
		}
	}
	text := out.String()
	if !strings.HasSuffix(s, "\n") {
		text = strings.TrimSuffix(text, "\n")
	}
	return text
}
