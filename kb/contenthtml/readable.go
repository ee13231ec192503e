package contenthtml

import "golang.org/x/net/html"

// unwrapped are the elements that only group others or change their look.
var unwrapped = set("address article aside details div figcaption figure footer header section span summary u")

// renamed are elements that Markdown says in other words.
var renamed = map[string]string{"b": "strong", "i": "em", "s": "del", "strike": "del", "samp": "code"}

// decorative attributes say nothing to a reader.
var decorative = set("style class align valign dir lang loading target rel aria-label aria-hidden")

// media are elements that need no paragraph.
var media = set("iframe video audio")

// readable returns the tree without what only changes the look, and with paragraphs around loose text.
func readable(root *node) *node {
	return &node{children: paragraphs(simplified(root.children))}
}

func simplified(nodes []*node) []*node {
	var out []*node
	for _, n := range nodes {
		if n.kind == html.TextToken {
			out = append(out, n)
			continue
		}
		one := &node{token: n.token, children: simplified(n.children)}
		if name := renamed[n.data]; name != "" {
			one.data = name
		}
		if alertKind(n) != "" {
			out = append(out, n)
			continue
		}
		one.attrs = nil
		for _, a := range n.attrs {
			if !decorative[a.Key] || n.data == "code" || n.data == "iframe" || n.data == "th" || n.data == "td" {
				one.attrs = append(one.attrs, a)
			}
		}
		switch {
		case n.data == "blockquote":
			one.children = paragraphs(one.children)
			out = append(out, one)
		case unwrapped[n.data] && isBlock(n):
			out = append(out, paragraphs(one.children)...)
		case unwrapped[n.data]:
			out = append(out, one.children...)
		case n.data == "table":
			out = append(out, squared(one))
		case n.data == "pre" && phrasing(one.children) && !hasElements(one):
			one.children = []*node{{token: token{kind: html.StartTagToken, data: "code"}, children: one.children}}
			out = append(out, one)
		default:
			out = append(out, one)
		}
	}
	return out
}

func hasElements(n *node) bool {
	for _, c := range n.children {
		if c.kind == html.StartTagToken {
			return true
		}
	}
	return false
}

// squared returns a table as Markdown has them, with its first row as its head, or the table itself if its rows differ in
// length, or cells contain blocks.
func squared(table *node) *node {
	var rows []*node
	for _, part := range table.children {
		switch part.data {
		case "thead", "tbody", "tfoot":
			rows = append(rows, elementsOf(part)...)
		case "tr":
			rows = append(rows, part)
		}
	}
	element := func(name string, children ...*node) *node {
		return &node{token: token{kind: html.StartTagToken, data: name}, children: children}
	}
	head, body := element("thead"), element("tbody")
	width := -1
	for i, row := range rows {
		cells := elementsOf(row)
		if width < 0 {
			width = len(cells)
		}
		if !row.is("tr") || len(cells) != width {
			return table
		}
		line := element("tr")
		for _, cell := range cells {
			for _, a := range cell.attrs {
				if a.Key == "colspan" || a.Key == "rowspan" {
					return table
				}
			}
			children := cell.children
			if inner := elementsOf(cell); len(inner) == 1 && inner[0].is("p") && onlyBlocks(cell) {
				children = inner[0].children
			}
			if !phrasing(children) {
				return table
			}
			name := "td"
			if i == 0 {
				name = "th"
			}
			line.children = append(line.children, element(name, children...))
		}
		if i == 0 {
			head.children = append(head.children, line)
		} else {
			body.children = append(body.children, line)
		}
	}
	if len(rows) < 2 {
		return element("table", head)
	}
	return element("table", head, body)
}

// elementsOf returns the elements in an element.
func elementsOf(n *node) []*node {
	var out []*node
	for _, c := range n.children {
		if c.kind == html.StartTagToken {
			out = append(out, c)
		}
	}
	return out
}

// paragraphs puts loose text among nodes into paragraphs.
func paragraphs(nodes []*node) []*node {
	var out []*node
	for run := range runs(nodes) {
		if isBlock(run[0]) || len(run) == 1 && media[run[0].data] {
			out = append(out, run...)
			continue
		}
		out = append(out, &node{token: token{kind: html.StartTagToken, data: "p"}, children: run})
	}
	return out
}
