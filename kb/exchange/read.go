package exchange

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/helpwright/helpwright/kb"
)

// Problem is a problem with a file of the folder.
type Problem struct {
	Path    string
	Line    int // from 1; 0: the file as a whole
	Message string
}

// Problems is the error for a folder that cannot be read, or whose content the site refuses. It names every file concerned.
type Problems []Problem

// Error returns one line per problem.
func (p Problems) Error() string {
	var b strings.Builder
	for i, one := range p {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(one.Path)
		if one.Line > 0 {
			fmt.Fprintf(&b, ":%d", one.Line)
		}
		b.WriteString(": " + one.Message)
	}
	return b.String()
}

func (p Problems) sorted() Problems {
	slices.SortFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Message, b.Message))
	})
	return p
}

// Read reads a folder and skips names that begin with a dot. Any other unexpected file, and any malformed one, is reported
// in an error of type [Problems]. The service checks the content.
func Read(folder fs.FS) (Site, error) {
	r := &reader{folder: folder, collections: map[string]*collection{}, names: map[string]string{}}
	r.site()
	if err := fs.WalkDir(folder, ".", r.visit); err != nil && !errors.Is(err, errTooMany) {
		return Site{}, err
	}
	site := r.finish()
	if len(r.problems) > 0 {
		return Site{}, r.problems.sorted()
	}
	return site, nil
}

var errTooMany = errors.New("too many files")

type reader struct {
	folder      fs.FS
	read        Site
	files       int
	names       map[string]string // of the files, by what file systems compare
	collections map[string]*collection
	problems    Problems
}

// collection is a collection as far as it has been read.
type collection struct {
	index      texts
	categories map[string]*texts
	articles   map[string]*article
}

type texts struct {
	path   string // of one of its files
	source string
	order  Number
	icon   string
	of     map[string]Text
}

type article struct {
	live, draft *Version
	path        string
}

func (r *reader) problem(name, format string, args ...any) { r.problemAt(name, 0, format, args...) }

func (r *reader) problemAt(name string, line int, format string, args ...any) {
	r.problems = append(r.problems, Problem{Path: name, Line: line, Message: fmt.Sprintf(format, args...)})
}

// unread records why a file cannot be read.
func (r *reader) unread(name string, err error) {
	lines, ok := errors.AsType[lineErrors](err)
	if !ok {
		r.problem(name, "%v", err)
	}
	for _, l := range lines {
		r.problemAt(name, l.line, "%s", l.text)
	}
}

func (r *reader) site() {
	data, err := r.load("site.yaml")
	if errors.Is(err, fs.ErrNotExist) {
		r.problem("site.yaml", "there is none: is this the folder of a site?")
		return
	}
	var front siteFront
	var s string
	if err == nil {
		s, err = plainText(data)
	}
	if err == nil {
		err = unmarshal(s, &front)
	}
	if err != nil {
		r.unread("site.yaml", err)
		return
	}
	if front.Look != nil {
		for _, image := range images(front.Look, &kb.Look{}, &kb.LookInput{}) {
			*image.name = norm.NFC.String(*image.name)
		}
		for _, locale := range sorted(front.Look.Texts) {
			if !validLocale(locale) {
				r.problem("site.yaml", "%q is no locale, such as en or pt-BR", locale)
			}
		}
	}
	r.read.Name, r.read.Visibility, r.read.HTMLHead, r.read.Look = front.Name, front.Visibility, front.HTMLHead, front.Look
}

func (r *reader) load(name string) ([]byte, error) {
	f, err := r.folder.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened for reading only
	data, err := io.ReadAll(io.LimitReader(f, MaxTextBytes+1))
	if err == nil && len(data) > MaxTextBytes {
		err = fmt.Errorf("it is larger than %d bytes", MaxTextBytes)
	}
	return data, err
}

func (r *reader) visit(name string, entry fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	if name != "." && strings.HasPrefix(entry.Name(), ".") {
		if entry.IsDir() {
			return fs.SkipDir
		}
		return nil
	}
	if entry.IsDir() {
		return nil
	}
	if !entry.Type().IsRegular() {
		r.problem(name, "it is not a regular file")
		return nil
	}
	if r.files++; r.files > MaxFiles {
		r.problem(name, "there are more than %d files", MaxFiles)
		return errTooMany
	}
	r.file(name, entry)
	return nil
}

func (r *reader) file(name string, entry fs.DirEntry) {
	parts := strings.Split(norm.NFC.String(name), "/") // some file systems decompose letters
	first, twice := r.names[folded(name)]
	r.names[folded(name)] = name
	switch {
	case twice:
		r.problem(name, "many systems take its name for the same as %s", first)
	case name == "site.yaml" || len(parts) == 1 && strings.EqualFold(name, "README.md"):
	case len(parts) == 2 && parts[0] == "files":
		r.siteFile(name, parts[1], entry)
	case len(parts) < 3 || parts[0] != "collections":
		r.problem(name, "it has no place in a site's folder")
	case !ValidKey(parts[1]):
		r.problem(name, "%q is no key: lower case letters, digits, - and _", parts[1])
	default:
		r.text(name, parts[1], parts[2:])
	}
}

func (r *reader) siteFile(name, key string, entry fs.DirEntry) {
	info, err := entry.Info()
	if err != nil {
		r.problem(name, "%v", err)
		return
	}
	if !validFileName(key) {
		r.problem(name, "not every system takes such a file name")
		return
	}
	folder := r.folder
	r.read.Files = append(r.read.Files, File{Name: key, Size: info.Size(), Open: func() (io.ReadCloser, error) { return folder.Open(name) }})
}

// text reads a text in the collection; rest is its path there.
func (r *reader) text(name, key string, rest []string) {
	c := r.collections[key]
	if c == nil {
		c = &collection{categories: map[string]*texts{}, articles: map[string]*article{}}
		r.collections[key] = c
	}
	base, isMarkdown := strings.CutSuffix(rest[len(rest)-1], ".md")
	base, draft := strings.CutSuffix(base, ".draft")
	own, locale, named := strings.Cut(base, ".")
	switch {
	case !isMarkdown || !named || len(rest) > 2:
		r.problem(name, "a text is named <key>.<locale>.md")
	case !validLocale(locale):
		r.problem(name, "%q is no locale, such as en or pt-BR", locale)
	case len(rest) == 1 && own == "index" && !draft:
		r.addText(name, locale, &c.index)
	case len(rest) == 1:
		r.problem(name, "a collection's own file is named index.<locale>.md")
	case !ValidKey(own):
		r.problem(name, "%q is no key: lower case letters, digits, - and _", own)
	case rest[0] == "categories" && !draft:
		if c.categories[own] == nil {
			c.categories[own] = &texts{}
		}
		r.addText(name, locale, c.categories[own])
		if icon := &c.categories[own].icon; *icon != "" {
			r.problem(name, "only collections have an icon")
			*icon = ""
		}
	case rest[0] == "articles":
		if c.articles[own] == nil {
			c.articles[own] = &article{path: name}
		}
		r.addArticle(name, locale, draft, c.articles[own])
	default:
		r.problem(name, "a collection has categories and articles")
	}
}

// front reads a file with front matter, and records its problems.
func (r *reader) front(name string, into any) (read text, ok bool) {
	data, err := r.load(name)
	if err == nil {
		read, err = parse(data, into)
	}
	if err != nil {
		r.unread(name, err)
	}
	return read, err == nil
}

func (r *reader) addText(name, locale string, to *texts) {
	var front textFront
	summary, ok := r.front(name, &front)
	to.path = name
	if !ok {
		return
	}
	if to.of == nil {
		to.of = map[string]Text{}
	}
	to.of[locale] = Text{Name: front.Name, Summary: summary.body}
	r.shared(name, locale, summary, front.Source, &to.source, front.SortOrder != "" || front.Icon != "")
	if front.Source {
		to.order, to.icon = front.SortOrder, front.Icon
	}
}

func (r *reader) addArticle(name, locale string, draft bool, to *article) {
	var front articleFront
	content, ok := r.front(name, &front)
	version := &to.live
	if draft {
		version = &to.draft
	}
	if *version == nil {
		*version = &Version{Texts: map[string]ArticleText{}}
	}
	if !ok {
		return
	}
	v := *version
	if front.Format == "" {
		front.Format = Markdown
	}
	if front.Format != Markdown && front.Format != HTML {
		r.problemAt(name, content.line("format"), "format is %s or %s", Markdown, HTML)
	}
	v.Texts[locale] = ArticleText{Title: front.Title, Summary: front.Summary, Format: front.Format, Content: content.body}
	r.shared(name, locale, content, front.Source, &v.SourceLocale, front.SortOrder != "" || front.Status != "" || len(front.Categories) > 0)
	if front.Source {
		v.Status, v.SortOrder, v.Unfinished = front.Status, front.SortOrder, front.Unfinished
		for _, key := range front.Categories {
			v.Categories = append(v.Categories, norm.NFC.String(key))
		}
	}
}

// shared checks that exactly one file says source, and that only it has the fields that all languages share.
func (r *reader) shared(name, locale string, t text, source bool, known *string, has bool) {
	switch {
	case !source && has:
		r.problemAt(name, t.line("status", "sort_order", "categories", "icon"), "status, sort_order, categories and icon belong into the file that says source: true")
	case source && *known != "":
		r.problemAt(name, t.line("source"), "%s says source: true already", *known)
	case source:
		*known = locale
	}
}

// finish builds the site from what was read.
func (r *reader) finish() Site {
	site := r.read
	owner := map[string]string{} // of article and category keys, which are unique in the site
	for _, key := range sorted(r.collections) {
		c := r.collections[key]
		out := Collection{Key: key, Icon: c.index.icon}
		out.SourceLocale, out.SortOrder, out.Texts = r.complete(c.index, path.Join("collections", key, "index"))
		for _, k := range sorted(c.categories) {
			g := Category{Key: k}
			g.SourceLocale, g.SortOrder, g.Texts = r.complete(*c.categories[k], c.categories[k].path)
			r.once(owner, "category "+k, c.categories[k].path)
			out.Categories = append(out.Categories, g)
		}
		for _, k := range sorted(c.articles) {
			r.once(owner, "article "+k, c.articles[k].path)
			if a, ok := r.article(k, *c.articles[k], c.categories); ok {
				out.Articles = append(out.Articles, a)
			}
		}
		site.Collections = append(site.Collections, out)
	}
	slices.SortFunc(site.Files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	return site
}

func (r *reader) once(owner map[string]string, what, name string) {
	if first := owner[what]; first != "" {
		r.problem(name, "%s has the same key; it must be the only one of the site", first)
		return
	}
	owner[what] = name
}

func (r *reader) complete(t texts, name string) (string, Number, map[string]Text) {
	if t.path == "" {
		r.problem(name, "there is no index.<locale>.md of the collection")
	} else if t.source == "" && len(t.of) > 0 {
		r.problem(t.path, "the file of one language has to say source: true")
	}
	return t.source, t.order, t.of
}

func (r *reader) article(key string, a article, categories map[string]*texts) (Article, bool) {
	if a.live == nil {
		r.problem(a.path, "it is a draft of an article that is not there")
		return Article{}, false
	}
	for _, v := range []*Version{a.live, a.draft} {
		if v == nil {
			continue
		}
		if v.SourceLocale == "" && len(v.Texts) > 0 {
			r.problem(a.path, "the file of one language has to say source: true")
		}
		for _, c := range v.Categories {
			if categories[c] == nil {
				r.problem(a.path, "its collection has no category %q", c)
			}
		}
	}
	return Article{Key: key, Live: *a.live, Draft: a.draft}, true
}
