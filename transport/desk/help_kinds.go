package desk

import (
	"regexp"
	"strings"

	"golang.org/x/net/html"
)

// A block keeps its kind when it is translated: what is typed beside a heading is a heading, whether or not it was typed as
// Markdown. The page sends the shape of each source block along with its translation.

var (
	pictures   = regexp.MustCompile(`^(?:\[?!\[(?:[^\]\\]|\\.)*\]\([^)\n]*\)(?:\]\([^)\n]*\))?\s*)+$`)
	altText    = regexp.MustCompile(`!\[((?:[^\]\\]|\\.)*)\]`)
	markedLine = regexp.MustCompile(`^>\s*\[!([^\]]+)\]\s*$`)
	itemMark   = regexp.MustCompile(`^\s*(?:[-*+]|[0-9]{1,9}[.)])\s`)
)

// calloutOf returns the kind of a callout, in lower case; "" for other blocks. Kinds that the help centre does not know are
// plain quotes.
func calloutOf(block string) string {
	first, _, _ := strings.Cut(block, "\n")
	m := markedLine.FindStringSubmatch(first)
	if m == nil {
		return ""
	}
	switch kind := strings.ToLower(m[1]); kind {
	case "note", "tip", "important", "warning", "caution":
		return kind
	}
	return ""
}

// calloutClass returns the desk's class for an element of a callout of the help centre; "" for other elements.
func calloutClass(of []html.Attribute) string {
	for _, a := range of {
		kind, ok := strings.CutPrefix(a.Val, "markdown-alert markdown-alert-")
		switch {
		case a.Key != "class":
		case a.Val == "markdown-alert-title":
			return "callout-title"
		case ok && calloutOf("> [!"+kind+"]") == kind:
			return "callout callout-" + kind
		}
	}
	return ""
}

// isHeading reports whether kindOf returned the kind of a heading.
func isHeading(kind string) bool { return strings.HasPrefix(kind, "h#") }

// shapeOf returns what the translation of a block needs to be of its kind; "" for a paragraph.
func shapeOf(source string) string {
	first, _, _ := strings.Cut(source, "\n")
	switch kind := kindOf(source); {
	case isHeading(kind):
		return kind[1:] + " "
	case strings.HasPrefix(kind, "callout"):
		return "> [!" + strings.ToUpper(calloutOf(source)) + "]"
	case kind == "quote":
		return "> "
	case kind == "ul", kind == "ol":
		return strings.TrimLeft(itemMark.FindString(first), " ")
	case kind == "code":
		return strings.TrimSpace(first)
	case kind == "image":
		return source
	}
	return ""
}

// shaped gives a translation the kind of its source where it is plain text. What was typed as another kind is left as it is.
func shaped(shape, text string) string {
	kind := kindOf(text)
	switch {
	case shape == "" || strings.TrimSpace(text) == "":
		return text
	case strings.HasPrefix(shape, "#") && kind == "p":
		return shape + strings.TrimLeft(text, " ")
	case strings.HasPrefix(shape, "> [!"):
		return inCallout(shape, text)
	case shape == "> " && kind == "p":
		return eachLine(text, "> ")
	case strings.HasPrefix(shape, "```"), strings.HasPrefix(shape, "~~~"):
		return inFence(shape, text)
	case kindOf(shape) == "image" && !strings.Contains(text, "![") && kind == "p":
		return withAlt(shape, text)
	case itemMark.MatchString(shape) && kind == "p":
		return inList(shape, text)
	}
	return text
}

func eachLine(text, before string) string {
	return before + strings.ReplaceAll(text, "\n", "\n"+before)
}

// inCallout makes a callout of a text, also of one whose kind was translated along with it.
func inCallout(mark, text string) string {
	switch first, rest, _ := strings.Cut(text, "\n"); {
	case calloutOf(text) != "":
		return text
	case markedLine.MatchString(first):
		return mark + "\n" + rest
	case strings.HasPrefix(first, ">"):
		return mark + "\n" + text
	}
	return mark + "\n" + eachLine(text, "> ")
}

// inFence makes a block of code of a text. The fence is longer than any in it.
func inFence(opening, text string) string {
	if kindOf(text) == "code" {
		return text
	}
	fence := opening[:len(opening)-len(strings.TrimLeft(opening, opening[:1]))]
	language := opening[len(fence):]
	for strings.Contains(text, fence) {
		fence += fence[:1]
	}
	return fence + language + "\n" + text + "\n" + fence
}

// withAlt returns a picture with another description.
func withAlt(image, text string) string {
	alt := strings.NewReplacer("[", `\[`, "]", `\]`, "\n", " ").Replace(strings.TrimSpace(text))
	at := altText.FindStringSubmatchIndex(image)
	if at == nil {
		return text
	}
	return image[:at[2]] + alt + image[at[3]:]
}

// inList makes an item of each line.
func inList(mark, text string) string {
	var items []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			items = append(items, mark+line)
		}
	}
	return strings.Join(items, "\n")
}

// carried returns a block that is the same in every language unless somebody changes it: a picture, code, HTML. It is the
// translation that the page proposes. For other blocks it returns "".
func carried(source string) string {
	switch kindOf(source) {
	case "image", "code", "html":
		return source
	}
	return ""
}

// onlyCarried reports whether a translation has nothing but what the page proposed.
func onlyCarried(source string, p postedText) bool {
	if p.units == nil || p.name != "" || p.summary != "" {
		return false
	}
	same := map[string]bool{}
	for _, block := range blocksOf(source) {
		same[carried(block)] = true
	}
	for _, unit := range p.units {
		if !same[unit] {
			return false
		}
	}
	return true
}
