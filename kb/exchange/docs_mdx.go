package exchange

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// fromMDX returns the Markdown of an MDX page: without imports, exports and comments, and without the tags of components,
// whose content stays. dropped names the components. What a page computes cannot be told without running it, and is an error.
func fromMDX(s string) (markdown string, dropped []string, err error) {
	names := map[string]bool{}
	markdown, err = mapProse(s, func(prose string) (string, error) {
		m := mdx{s: withoutModules(prose), dropped: names}
		m.code = codeSpans(m.s)
		return m.markdown()
	})
	for name := range names {
		dropped = append(dropped, name)
	}
	slices.Sort(dropped)
	return markdown, dropped, err
}

var moduleLine = regexp.MustCompile(`^(?:import[ \t]*(?:["'{*]|[A-Za-z_$][\w$]*[ \t]*(?:,|[ \t]from\b))|export[ \t]+(?:const|let|var|function|default|async|class|\{|\*))`)

// withoutModules removes imports and exports: blocks that begin with one.
func withoutModules(prose string) string {
	var out strings.Builder
	start, module := true, false
	for line := range strings.SplitAfterSeq(prose, "\n") {
		blank := strings.TrimSpace(line) == ""
		module = !blank && (module || start && moduleLine.MatchString(line))
		if !module {
			out.WriteString(line)
		}
		start = blank
	}
	return out.String()
}

// mdx is a prose of an MDX page.
type mdx struct {
	s       string
	code    map[int]int
	dropped map[string]bool
	out     strings.Builder
}

var errTag = errors.New("a JSX tag in it does not end")

func (m *mdx) markdown() (string, error) {
	for i := 0; i < len(m.s); {
		end, ok := m.code[i]
		var err error
		switch c := m.s[i]; {
		case ok:
			m.out.WriteString(m.s[i:end])
		case c == '\\' && i+1 < len(m.s):
			end = i + 2
			if !strings.ContainsRune("{}<", rune(m.s[i+1])) {
				end = i + 1
			}
			m.out.WriteString(m.s[i:end])
		case c == '`':
			end = i + len(m.s[i:]) - len(strings.TrimLeft(m.s[i:], "`"))
			m.out.WriteString(m.s[i:end])
		case c == '{':
			end, err = m.expression(i)
		case c == '<':
			end, err = m.tag(i)
		default:
			end = i + 1
			m.out.WriteByte(c)
		}
		if err != nil {
			return "", err
		}
		i = end
	}
	return m.out.String(), nil
}

var headingID = regexp.MustCompile(`^\{#[\w-]+\}[ \t]*(?:\n|$)`)

// expression reads an expression in braces. Of those with a known value, texts stay and comments go.
func (m *mdx) expression(at int) (end int, err error) {
	if id := headingID.FindString(m.s[at:]); id != "" {
		m.out.WriteString(id)
		return at + len(id), nil
	}
	if strings.HasPrefix(m.s[at:], "{/*") {
		if n := strings.Index(m.s[at:], "*/}"); n >= 0 {
			return at + n + 3, nil
		}
	}
	end = closing(m.s, at)
	if end < 0 {
		return 0, fmt.Errorf("an expression in it does not end: %s", shortened(firstLine(m.s[at:]), 40))
	}
	inner := strings.TrimSpace(m.s[at+1 : end-1])
	if len(inner) >= 2 && strings.ContainsRune("\"'`", rune(inner[0])) && inner[0] == inner[len(inner)-1] && !strings.ContainsAny(inner[1:len(inner)-1], "\"'`\\$") {
		m.out.WriteString(inner[1 : len(inner)-1])
		return end, nil
	}
	if inner != "" {
		return 0, fmt.Errorf("what it shows is computed: %s", shortened(firstLine(m.s[at:end]), 40))
	}
	return end, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// closing returns where the braces that open at a place have closed, or -1. Braces in quotes do not count.
func closing(s string, at int) int {
	depth := 0
	var quote byte
	for i := at; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			switch c {
			case '\\':
				i++
			case quote:
				quote = 0
			}
		case c == '"' || c == '\'' || c == '`':
			quote = c
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

var tagName = regexp.MustCompile(`^</?[ \t]*([A-Za-z][\w.:-]*)?`)

// tag reads a tag. Elements of HTML stay, with the attributes that have a value.
func (m *mdx) tag(at int) (end int, err error) {
	name := tagName.FindStringSubmatch(m.s[at:])
	rest := m.s[at+len(name[0]):]
	if name[1] == "" && !strings.HasPrefix(rest, ">") || strings.Contains(name[1], ":") || strings.HasPrefix(rest, "@") {
		m.out.WriteByte('<') // no tag, or an address
		return at + 1, nil
	}
	attributes, size, ok := attributesOf(rest)
	if !ok {
		return 0, errTag
	}
	end = at + len(name[0]) + size
	if name[1] == "" || name[1][0] >= 'A' && name[1][0] <= 'Z' {
		if name[1] != "" {
			m.dropped[name[1]] = true
		}
		return end, nil
	}
	m.out.WriteString(name[0] + attributes + ">")
	return end, nil
}

var attribute = regexp.MustCompile(`^(\s*)(?:([\w.:-]+)(?:=("[^"]*"|'[^']*'|\{))?|\{|/)`)

// attributesOf returns the attributes of a tag that have a value in the text, and the length of the tag with its end.
func attributesOf(s string) (kept string, size int, ok bool) {
	var out strings.Builder
	for size < len(s) {
		if at := size + len(s[size:]) - len(strings.TrimLeft(s[size:], " \t\n")); at < len(s) && s[at] == '>' {
			return out.String(), at + 1, true
		}
		a := attribute.FindStringSubmatch(s[size:])
		if a == nil {
			return "", 0, false
		}
		if strings.HasSuffix(a[0], "{") { // computed
			end := closing(s, size+len(a[0])-1)
			if end < 0 {
				return "", 0, false
			}
			size = end
			continue
		}
		size += len(a[0])
		if a[2] == "className" {
			a[0] = a[1] + "class=" + a[3]
		}
		out.WriteString(a[0])
	}
	return "", 0, false
}
