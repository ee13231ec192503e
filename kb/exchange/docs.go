package exchange

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/contenthtml"
	"github.com/helpwright/helpwright/storage/filetype"
)

// DocsOptions configures [ReadDocs].
type DocsOptions struct {
	Locale string // of all pages; "en" when empty
	// Source is the web address of the folder, such as that of a branch of its repository. Links to anything other than pages
	// and files of the site lead there; without Source they become plain text.
	Source string
}

// ReadDocs reads a folder of ordinary Markdown documentation as found in repositories: each .md file becomes an article,
// each top-level folder a collection, and each folder below it a category. Titles come from the front matter (title),
// otherwise from the first heading. ReadDocs also understands description and summary, order, weight, nav_order and
// sidebar_position, draft and published; it ignores other fields. It includes the files that pages link to or show.
//
// Links between pages, with and without .md, relative or from the top of the folder, become links between articles. The
// remarks list broken links and unreadable files, one per line, and what is left out, one per kind. Names that begin with a
// dot or an underscore, and node_modules, are skipped; the label, position and description in _category_.json or .yml of
// Docusaurus count. Admonitions of Docusaurus, VitePress and MkDocs become alerts. An .mdx file is taken without its imports
// and the tags of its components, unless it computes what it shows. ReadDocs fails when the folder cannot be read or has no page.
func ReadDocs(folder fs.FS, opts DocsOptions) (Site, Problems, error) {
	d := &docs{folder: folder, opts: opts, pages: map[string]*page{}, folders: map[string]string{}, files: map[string]string{}, leftOut: map[string][]string{}, labels: map[string]folderLabel{}}
	d.opts.Locale = cmp.Or(d.opts.Locale, "en")
	d.opts.Source = strings.TrimSuffix(d.opts.Source, "/")
	if err := fs.WalkDir(folder, ".", d.visit); err != nil {
		return Site{}, nil, err
	}
	if len(d.pages) == 0 {
		return Site{}, nil, errors.New("there is no Markdown file in it")
	}
	d.name()
	d.arrange()
	site := d.site()
	d.tellLeftOut()
	return site, d.remarks.sorted(), nil
}

// docs is the state of reading a folder.
type docs struct {
	folder  fs.FS
	opts    DocsOptions
	pages   map[string]*page  // by path
	order   []*page           // in display order
	folders map[string]string // paths of the index texts of collections and categories
	files   map[string]string // keys of used files, by path
	keys    Keys              // of files
	used    []File
	remarks Problems
	others  []string               // files that are no pages
	leftOut map[string][]string    // names, by kind
	labels  map[string]folderLabel // of folders, by path
}

// page is a Markdown file.
type page struct {
	path           string
	front          map[string]any
	body           string
	title, summary string
	headings       []contenthtml.Heading
	anchors        anchors
	collection     string // key
	category       string // key; "": none
	key            string
}

func (p *page) dir() string { return path.Dir(p.path) }

// isIndex reports whether the page is the index of its folder.
func (p *page) isIndex() bool {
	name := strings.ToLower(strings.TrimSuffix(path.Base(p.path), path.Ext(p.path)))
	return name == "readme" || name == "index"
}

func isMarkdown(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".md" || ext == ".markdown" || ext == ".mdx"
}

func (d *docs) remark(name, format string, args ...any) {
	d.remarks = append(d.remarks, Problem{Path: name, Message: fmt.Sprintf(format, args...)})
}

func (d *docs) visit(name string, entry fs.DirEntry, err error) error {
	switch {
	case err != nil:
		return err
	case name == ".":
		return nil
	case strings.HasPrefix(entry.Name(), "_category_."):
		d.readFolder(name)
		return nil
	case strings.HasPrefix(entry.Name(), ".") || strings.HasPrefix(entry.Name(), "_") || entry.Name() == "node_modules":
		if strings.HasPrefix(entry.Name(), "_") {
			d.leaveOut("_*", name)
		}
		if entry.IsDir() {
			return fs.SkipDir
		}
		return nil
	case entry.IsDir():
		return nil
	case !entry.Type().IsRegular() || !isMarkdown(name):
		d.others = append(d.others, name)
		return nil
	case len(d.pages) >= MaxFiles:
		return fmt.Errorf("there are more than %d pages", MaxFiles)
	}
	d.read(name)
	return nil
}

func (d *docs) read(name string) {
	r := reader{folder: d.folder}
	data, err := r.load(name)
	var text string
	if err == nil {
		text, err = plainText(data)
	}
	if err != nil {
		d.remark(name, "it is left out: %v", err)
		return
	}
	p := &page{path: name, body: text}
	p.cutFront(d)
	if strings.EqualFold(path.Ext(name), ".mdx") {
		var dropped []string
		if p.body, dropped, err = fromMDX(p.body); err != nil {
			d.remark(name, "it is left out: %v", err)
			d.leaveOut("*.mdx", name)
			return
		}
		if len(dropped) > 0 {
			d.remark(name, "of its components only the content stays: %s", strings.Join(dropped, ", "))
		}
	}
	p.body = withAlerts(p.body)
	d.seeWiki(p)
	content, err := contenthtml.FromMarkdown(p.body)
	if err != nil {
		d.remark(name, "it is left out: its Markdown %v", err)
		return
	}
	p.summary = oneText(p.front, "description", "summary", "excerpt")
	p.summary = shortened(p.summary, kb.MaxSummary)
	p.headings = contenthtml.Headings(content)
	p.anchors = newAnchors(contenthtml.Anchors(content))
	d.pages[name] = p
}

// name gives the pages their titles, from the front matter or else the first heading. A first heading shared by most pages
// is the name of the product, like a letterhead; the heading after it is then the title.
func (d *docs) name() {
	begin, followed := map[string]int{}, map[string]int{}
	for _, p := range d.pages {
		begin[p.heading(0)]++
		if p.heading(1) != "" {
			followed[p.heading(0)]++
		}
	}
	letterhead := func(h string) bool { return begin[h] >= 3 && 2*begin[h] > len(d.pages) && 2*followed[h] >= begin[h] }
	for _, p := range d.pages {
		p.title = oneText(p.front, "title")
		if p.title == "" && !letterhead(p.heading(0)) {
			p.title = p.heading(0)
		} else if p.title == "" {
			p.title = p.heading(1)
		}
		p.title = shortened(cmp.Or(p.title, humanized(p.named())), kb.MaxTitle)
	}
}

// heading returns the first heading of level 1 or, for n = 1, the one after it if that is of level 2.
func (p *page) heading(n int) string {
	first := slices.IndexFunc(p.headings, func(h contenthtml.Heading) bool { return h.Level == 1 })
	if first < 0 || first+n >= len(p.headings) || p.headings[first+n].Level != n+1 {
		return ""
	}
	return p.headings[first+n].Text
}

// named returns the title for a page whose text has none.
func (p *page) named() string {
	if p.isIndex() && p.dir() != "." {
		return path.Base(p.dir())
	}
	return strings.TrimSuffix(path.Base(p.path), path.Ext(p.path))
}

// cutFront removes the front matter from the text. It ignores front matter that is not valid YAML, because that belongs to
// other programs.
func (p *page) cutFront(d *docs) {
	rest, ok := strings.CutPrefix(p.body, string(fence))
	if !ok {
		return
	}
	head, body, ok := strings.Cut("\n"+rest, "\n---\n")
	if !ok {
		if head, ok = strings.CutSuffix("\n"+rest, "\n---"); !ok {
			return // a thematic break
		}
	}
	if len(head) > maxFront {
		d.remark(p.path, "its front matter is left out: it is longer than %d bytes", maxFront)
	} else if err := yaml.Unmarshal([]byte(head), &p.front); err != nil {
		d.remark(p.path, "its front matter is left out: %v", yamlErrors(err))
	}
	p.body = strings.TrimPrefix(body, "\n")
}

// oneText returns the first of the fields that is a text.
func oneText(front map[string]any, fields ...string) string {
	for _, f := range fields {
		if s, ok := front[f].(string); ok && strings.TrimSpace(s) != "" {
			return strings.Join(strings.Fields(s), " ")
		}
	}
	return ""
}

func shortened(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-1]) + "…"
}

var numbered = regexp.MustCompile(`^[0-9]+[-_. ]+`)

// humanized turns the name of a file or folder into words.
func humanized(name string) string {
	words := strings.Join(strings.FieldsFunc(numbered.ReplaceAllString(name, ""), func(r rune) bool { return r == '-' || r == '_' || r == ' ' }), " ")
	if words == "" {
		words = name
	}
	first, size := utf8.DecodeRuneInString(words)
	return string(unicode.ToUpper(first)) + words[size:]
}

// place returns the number that orders a page among its siblings, if it has one.
func (p *page) place() (float64, bool) {
	for _, f := range []string{"sidebar_position", "order", "weight", "nav_order", "sort_order", "position"} {
		switch n := p.front[f].(type) {
		case int:
			return float64(n), true
		case float64:
			return n, true
		}
	}
	return 0, false
}

// draft reports whether a page is marked as unpublished.
func (p *page) draft() bool { return p.front["draft"] == true || p.front["published"] == false }

// compare orders pages: by folder, index pages first, then by their numbers, then by name, where numbers in names compare by
// value.
func (d *docs) compare(a, b *page) int {
	if c := d.compareFolders(a.dir(), b.dir()); c != 0 {
		return c
	}
	if a.isIndex() != b.isIndex() {
		if a.isIndex() {
			return -1
		}
		return 1
	}
	x, xGiven := a.place()
	y, yGiven := b.place()
	if xGiven && yGiven && x != y {
		return cmp.Compare(x, y)
	}
	if xGiven != yGiven {
		if xGiven {
			return -1
		}
		return 1
	}
	return natural(a.path, b.path)
}

var digits = regexp.MustCompile(`[0-9]{1,18}`)

func natural(a, b string) int {
	padded := func(s string) string {
		return digits.ReplaceAllStringFunc(strings.ToLower(s), func(n string) string { return strings.Repeat("0", 18-len(n)) + n })
	}
	return cmp.Or(cmp.Compare(padded(a), padded(b)), cmp.Compare(a, b))
}

// arrange decides on the place of each page in the site.
func (d *docs) arrange() {
	for _, p := range d.pages {
		d.order = append(d.order, p)
	}
	slices.SortFunc(d.order, d.compare)
	var collections, categories, articles Keys
	byFolder := map[string]string{}
	for _, p := range d.order {
		top, below, nested := strings.Cut(p.dir(), "/")
		if byFolder[top] == "" {
			name := top
			if top == "." {
				name = "documentation"
			}
			byFolder[top] = collections.New(name, "collection")
			d.folders[top] = "collections/" + byFolder[top] + "/index"
		}
		p.collection = byFolder[top]
		if nested {
			if byFolder[p.dir()] == "" {
				byFolder[p.dir()] = categories.New(top+"-"+below, "category")
				d.folders[p.dir()] = "collections/" + p.collection + "/categories/" + byFolder[p.dir()]
			}
			p.category = byFolder[p.dir()]
		}
		p.key = articles.New(strings.TrimSuffix(p.path, path.Ext(p.path)), "article")
	}
}

// site builds the site from the folder.
func (d *docs) site() Site {
	site := Site{Partial: true}
	at := map[string]int{}
	known := map[string]bool{}
	for i, p := range d.order {
		if _, ok := at[p.collection]; !ok {
			at[p.collection] = len(site.Collections)
			site.Collections = append(site.Collections, Collection{
				Key: p.collection, SourceLocale: d.opts.Locale, SortOrder: Number(strconv.Itoa(len(at))), Texts: map[string]Text{d.opts.Locale: d.named(p, 1)},
			})
		}
		c := &site.Collections[at[p.collection]]
		if p.category != "" && !known[p.category] {
			known[p.category] = true
			c.Categories = append(c.Categories, Category{
				Key: p.category, SourceLocale: d.opts.Locale, SortOrder: Number(strconv.Itoa(len(c.Categories) + 1)), Texts: map[string]Text{d.opts.Locale: d.named(p, 2)},
			})
		}
		c.Articles = append(c.Articles, d.article(p, i+1))
	}
	for i := range site.Collections {
		sortBy(site.Collections[i].Categories, ownCategoryKey)
		sortBy(site.Collections[i].Articles, ownArticleKey)
	}
	sortBy(site.Collections, collectionKey)
	sortBy(d.used, fileKey)
	site.Files = d.used
	return site
}

// named returns the name of the collection (level 1) or category of a page: the title of the folder's index, or the name of
// the folder.
func (d *docs) named(p *page, level int) Text {
	dir := p.dir()
	if level == 1 {
		dir, _, _ = strings.Cut(dir, "/")
	}
	label := d.labels[dir]
	for _, o := range d.order {
		if o.isIndex() && o.dir() == dir {
			return Text{Name: cmp.Or(label.name, o.title), Summary: cmp.Or(label.summary, o.summary)}
		}
	}
	if label.name != "" {
		return Text{Name: label.name, Summary: label.summary}
	}
	if dir == "." {
		return Text{Name: "Documentation"}
	}
	return Text{Name: humanized(path.Base(dir))}
}

func (d *docs) article(p *page, place int) Article {
	v := Version{
		Status: string(kb.Published), SourceLocale: d.opts.Locale, SortOrder: Number(strconv.Itoa(place)),
		Texts: map[string]ArticleText{d.opts.Locale: {Title: p.title, Summary: p.summary, Format: Markdown, Content: d.linked(p)}},
	}
	if p.draft() {
		v.Status = string(kb.Unpublished)
	}
	if p.category != "" {
		v.Categories = []string{p.category}
	}
	return Article{Key: p.key, Live: v}
}

// file includes a file, if sites accept its type.
func (d *docs) file(at string) string {
	if key, known := d.files[at]; known {
		return key
	}
	d.files[at] = ""
	info, err := fs.Stat(d.folder, at)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := d.folder.Open(at)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // opened for reading only
	head, err := io.ReadAll(io.LimitReader(f, filetype.HeadSize))
	name := filetype.SafeName(strings.ReplaceAll(at, "/", "-"))
	if err != nil || filetype.Check(name, head, filetype.Documents()) != "" {
		return ""
	}
	key := d.keys.NewFile(name)
	d.used = append(d.used, File{Name: key, Size: info.Size(), Open: func() (io.ReadCloser, error) { return d.folder.Open(at) }})
	d.files[at] = "files/" + key
	return d.files[at]
}
