package desk

import (
	"html"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Parts that occur dozens of times on a page are written here rather than by templates, which take ten times as long: the
// rows of lists, choices, and the navigation. Text from outside the package goes through text.

func drawRows(w words, rows []row) template.HTML {
	var b rowWriter
	b.Grow(1500 * len(rows))
	for i := range rows {
		b.group(&rows[i])
		b.row(w, &rows[i])
	}
	return template.HTML(b.String()) // all that others wrote is escaped
}

// drawOptions writes the options of a filter.
func drawOptions(options []option) template.HTML {
	var b rowWriter
	for _, o := range options {
		b.around(`<li><a href="`, o.URL, `"`+when(o.Active, ` aria-current="true"`)+`>`)
		if o.Color != "" {
			b.around(`<svg class="dye" viewBox="0 0 8 8" aria-hidden="true"><rect width="8" height="8" rx="2" fill="`, o.Color, `"/></svg>`)
		}
		b.around(`<bdi>`, o.Text, `</bdi>`+when(o.Active, drawn("check"))+`</a></li>`)
	}
	return template.HTML(b.String()) // as above
}

// drawNav writes items of the navigation.
func drawNav(items []navItem) template.HTML {
	var b rowWriter
	for _, i := range items {
		b.around(`<li><a href="`, webAddress(i.URL), `"`+when(i.Active, ` aria-current="page"`)+` class="`+when(i.Strong, "strong")+when(i.Bad, " bad")+`"`)
		if i.Key != "" {
			b.around(` data-go="`, i.Key, `"`)
		}
		b.around(` title="`, i.Text, `">`+drawn(i.Icon))
		b.around(`<span>`, i.Text, `</span>`)
		if i.Count != 0 {
			b.put(`<small>`, count(i.Count), `</small>`)
		}
		b.put(`</a></li>`)
	}
	return template.HTML(b.String()) // as above
}

// webAddress returns an address that is safe in a link; an application's own links could contain anything.
func webAddress(address string) string {
	if strings.HasPrefix(address, "/") {
		return address
	}
	if u, err := url.Parse(address); err != nil || !slices.Contains([]string{"", "http", "https", "mailto"}, u.Scheme) {
		return "#"
	}
	return address
}

// drawTags writes tags as buttons that add them to conversations, drawMembers members as assignees.
func drawTags(tags []tagView) template.HTML {
	var b rowWriter
	for _, t := range tags {
		b.put(`<li><button name="act" value="tag-`, itoa(t.ID), `">`)
		b.tag(t)
		b.put(`</button></li>`)
	}
	return template.HTML(b.String()) // as above
}

func drawMembers(members []person) template.HTML {
	var b rowWriter
	for _, p := range members {
		b.put(`<li><button name="act" value="assign-`, itoa(p.ID), `">`)
		b.avatar(p)
		b.around(`<bdi>`, p.Name, `</bdi></button></li>`)
	}
	return template.HTML(b.String()) // as above
}

type rowWriter struct{ strings.Builder }

// put writes HTML from this package, and text escapes everything else.
func (b *rowWriter) put(parts ...string) {
	for _, p := range parts {
		b.WriteString(p)
	}
}

func (b *rowWriter) text(s string) { b.WriteString(html.EscapeString(s)) }

// around writes a text between two pieces of HTML.
func (b *rowWriter) around(before, text, after string) {
	b.WriteString(before)
	b.text(text)
	b.WriteString(after)
}

func (b *rowWriter) group(r *row) {
	if r.Group == "" {
		return
	}
	b.around(`<li class="group`+when(r.GroupBad, " bad")+`"><h2>`, r.Group, `</h2>`)
	if r.GroupSize > 0 {
		b.put(`<small>`, strconv.Itoa(r.GroupSize), `</small>`)
	}
	b.put("</li>\n")
}

func when(is bool, text string) string {
	if is {
		return text
	}
	return ""
}

func (b *rowWriter) row(w words, r *row) {
	id := itoa(r.ID)
	b.put(`<li class="row`, when(r.Unread > 0, " unread"), `" id="row-`, id, `" data-id="`, id, `"><label class="tick"><input type="checkbox" name="id" value="`, id)
	b.around(`" aria-label="`, w.T("Select %s", r.Label), "\"><i></i></label>\n")
	b.around(`<a class="line" href="`, r.URL, `"><span class="who">`)
	if r.Unread > 0 {
		b.around(`<span class="unseen">`, w.T("Unread"), `, </span>`)
	}
	b.around(`<bdi>`, r.Customer, `</bdi>`)
	if r.Unread > 1 {
		b.put(` <small>`, strconv.Itoa(r.Unread), `</small>`)
	}
	b.around(`</span> <span class="what" dir="auto"><b>`, r.Subject, `</b> `)
	b.around(`<span>`, r.Preview, "</span></span></a>\n")
	b.meta(w, r)
	b.put(`<span class="for">`)
	if p := r.Assignee; p != nil {
		b.around(`<span title="`, p.Name, `">`)
		b.avatar(*p)
		b.put(`</span>`)
	}
	b.put("</span>\n", `<time class="wait `, r.Level, `" datetime="`, r.WaitSince, `">`)
	b.around(``, r.Wait, "</time></li>\n")
}

// meta writes the part before the time: the member writing, the priority, the status, the team and tags.
func (b *rowWriter) meta(w words, r *row) {
	b.put(`<span class="meta">`)
	if r.Writer != "" {
		b.put(`<span class="writer-is">`, drawn("pencil"))
		b.around(``, w.T("%s is replying", r.Writer), `</span>`)
	}
	if p := r.Priority; p != nil {
		b.put(`<span class="state `, p.Level, `">`, drawn("flag"))
		b.around(``, p.Text, `</span>`)
	}
	if r.Status != "" {
		b.around(`<span class="state">`, r.Status, `</span>`)
	}
	if r.Team != "" {
		b.put(`<span class="tag">`, drawn("group"))
		b.around(`<bdi>`, r.Team, `</bdi></span>`)
	}
	for _, t := range r.Tags {
		b.tag(t)
	}
	if r.MoreTags > 0 {
		b.put(`<span class="tag">+`, strconv.Itoa(r.MoreTags), `</span>`)
	}
	b.put("</span>\n")
}

func (b *rowWriter) tag(t tagView) {
	b.around(`<span class="tag"><svg viewBox="0 0 8 8" aria-hidden="true"><rect width="8" height="8" rx="2" fill="`, t.Color, `"/></svg>`)
	b.around(`<bdi>`, t.Name, `</bdi></span>`)
}

func (b *rowWriter) avatar(p person) {
	b.around(`<span class="avatar hue`+strconv.Itoa(p.Hue)+when(p.Online, " online")+`" aria-hidden="true">`, p.Initials, `</span>`)
}

// drawn returns an existing icon.
func drawn(name string) string {
	svg, _ := icon(name)
	return string(svg)
}
