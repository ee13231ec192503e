package mailhtml

import (
	"strconv"
	"strings"

	"github.com/helpwright/helpwright/storage/openelements"
	"golang.org/x/net/html"
)

// VisibleImages returns the addresses of the images that a reader of s can see, in order, with duplicates. An image is not
// visible if it or an element around it has display: none or no opacity, or is at most one pixel wide or, for the image
// itself, high. Images in a closed <details>, as [Fold] makes it, are visible: one click shows them. s is a result of [Clean].
func VisibleImages(s string) []string {
	if !strings.Contains(s, "<img") {
		return nil
	}
	var out []string
	type opened struct {
		tag    string
		hidden bool
	}
	open := []opened{{}}
	z := html.NewTokenizer(strings.NewReader(s))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return out
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			hidden := open[len(open)-1].hidden || unseen(t)
			switch {
			case t.Data == "img" && !hidden && attr(t, "src") != "":
				out = append(out, attr(t, "src"))
			case !openelements.IsVoid(t.Data):
				open = append(open, opened{t.Data, hidden})
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if n := len(open) - 1; open[n].tag == string(name) {
				open = open[:n]
			}
		}
	}
}

// unseen reports whether an element hides its content. Pages limit images to the width of what is around them, so a narrow
// element hides its images; a low one does not.
func unseen(t html.Token) bool {
	for _, a := range t.Attr {
		switch a.Key {
		case "width":
			if (t.Data == "img" || t.Data == "table" || t.Data == "td" || t.Data == "th") && atMost(a.Val, 1) {
				return true
			}
		case "height":
			if t.Data == "img" && atMost(a.Val, 1) {
				return true
			}
		case "style":
			if hides(a.Val, t.Data == "img") {
				return true
			}
		}
	}
	return false
}

func hides(style string, image bool) bool {
	for _, decl := range splitDeclarations(style) {
		name, value, _ := strings.Cut(strings.ToLower(decl), ":")
		value = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "!important"))
		hidden := false
		switch strings.TrimSpace(name) {
		case "display":
			hidden = value == "none"
		case "opacity":
			hidden = atMost(value, 0.05)
		case "width", "max-width":
			hidden = atMost(value, 1)
		case "height", "max-height":
			hidden = image && atMost(value, 1)
		}
		if hidden {
			return true
		}
	}
	return false
}

// atMost reports whether a number or a length in pixels or points is at most limit. Of other units only zero is.
func atMost(value string, limit float64) bool {
	value = strings.ToLower(strings.TrimSpace(value))
	number := value[:len(value)-len(strings.TrimLeft(value, "0123456789."))]
	n, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return false
	}
	switch strings.TrimSpace(value[len(number):]) {
	case "", "px", "pt":
		return n <= limit
	}
	return n == 0
}
