package exchange

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/helpwright/helpwright/kb"
)

// folderLabel is what _category_.json or .yml of Docusaurus says about its folder.
type folderLabel struct {
	name, summary string
	place         float64
	placed        bool
}

// readFolder reads a _category_ file. JSON is YAML, too.
func (d *docs) readFolder(name string) {
	r := reader{folder: d.folder}
	data, err := r.load(name)
	p := page{}
	if err == nil && len(data) <= maxFront {
		err = yaml.Unmarshal(data, &p.front)
	}
	if err != nil {
		d.remark(name, "it is left out: %v", yamlErrors(err))
		return
	}
	l := folderLabel{name: shortened(oneText(p.front, "label"), kb.MaxTitle), summary: shortened(oneText(p.front, "description"), kb.MaxSummary)}
	if link, ok := p.front["link"].(map[string]any); ok && l.summary == "" {
		l.summary = shortened(oneText(link, "description"), kb.MaxSummary)
	}
	l.place, l.placed = p.place()
	d.labels[path.Dir(name)] = l
}

// compareFolders orders folders part by part: by their positions, those without one last, then by name.
func (d *docs) compareFolders(a, b string) int {
	x, y := strings.Split(a, "/"), strings.Split(b, "/")
	for i := range min(len(x), len(y)) {
		if x[i] == y[i] {
			continue
		}
		p, q := d.labels[path.Join(x[:i+1]...)], d.labels[path.Join(y[:i+1]...)]
		switch {
		case p.placed && q.placed && p.place != q.place:
			return cmp.Compare(p.place, q.place)
		case p.placed && !q.placed:
			return -1
		case q.placed && !p.placed:
			return 1
		}
		return natural(x[i], y[i])
	}
	return cmp.Compare(len(x), len(y))
}

func (d *docs) leaveOut(kind, name string) { d.leftOut[kind] = append(d.leftOut[kind], name) }

var wikiLink = regexp.MustCompile(`!?\[\[[^\[\]\n]{1,300}\]\](\(?)`)

// seeWiki notes the wiki links and embeds of a page, which stay as text.
func (d *docs) seeWiki(p *page) {
	_, _ = mapProse(p.body, func(prose string) (string, error) { // it changes nothing, and does not fail
		spans := codeSpans(prose)
		code := make([]bool, len(prose)+1)
		for from, to := range spans {
			for i := from; i < to; i++ {
				code[i] = true
			}
		}
		for _, at := range wikiLink.FindAllStringSubmatchIndex(prose, -1) {
			if code[at[0]] || at[2] < at[3] {
				continue
			}
			kind := "[[...]]"
			if prose[at[0]] == '!' {
				kind = "![[...]]"
			}
			d.leaveOut(kind, prose[at[0]:at[1]]+" in "+p.path)
		}
		return prose, nil
	})
}

// shownNames is how many names of a kind a remark lists.
const shownNames = 5

// tellLeftOut adds one remark for each kind of what is left out.
func (d *docs) tellLeftOut() {
	for _, name := range d.others {
		if d.files[name] == "" {
			kind := "files without extension"
			if ext := strings.ToLower(path.Ext(name)); ext != "" {
				kind = "*" + ext
			}
			d.leaveOut(kind, name)
		}
	}
	for kind, names := range d.leftOut {
		slices.Sort(names)
		shown := strings.Join(names[:min(len(names), shownNames)], ", ")
		if more := len(names) - shownNames; more > 0 {
			shown += fmt.Sprintf(" and %d more", more)
		}
		if strings.HasSuffix(kind, "]]") {
			d.remark(kind, "%d stay as text: %s", len(names), shown)
		} else {
			d.remark(kind, "%d left out: %s", len(names), shown)
		}
	}
}
