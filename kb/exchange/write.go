package exchange

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// Limits of a folder. Write never exceeds them; Read reports problems.
const (
	MaxFiles     = 500_000          // files in all
	MaxTextBytes = 2<<20 + maxFront // bytes of a text file
)

// Write passes the files of a site to put, in an order that depends only on the site; the same site always gives the same
// bytes. put must not keep the reader.
func Write(s Site, put func(name string, content io.Reader) error) error {
	w := writer{put: put}
	front, err := marshal(siteFront{Name: s.Name, Visibility: s.Visibility, HTMLHead: lines(s.HTMLHead), Look: s.Look})
	if err != nil {
		return err
	}
	w.text("site.yaml", front, nil)
	for _, c := range s.Collections {
		w.collection(c)
	}
	for _, f := range s.Files {
		w.file(f)
	}
	return w.err
}

// writer writes until the first error.
type writer struct {
	put func(name string, content io.Reader) error
	err error
}

func (w *writer) text(name string, data []byte, err error) {
	if w.err == nil {
		w.err = err
	}
	if w.err == nil {
		w.err = w.put(name, strings.NewReader(string(data)))
	}
}

func (w *writer) file(f File) {
	if w.err != nil {
		return
	}
	r, err := f.Open()
	if err != nil {
		w.err = fmt.Errorf("files/%s: %w", f.Name, err)
		return
	}
	defer r.Close()
	w.err = w.put("files/"+f.Name, r)
}

func (w *writer) collection(c Collection) {
	dir := path.Join("collections", c.Key)
	w.texts(path.Join(dir, "index"), c.SourceLocale, c.SortOrder, c.Icon, c.Texts)
	for _, g := range c.Categories {
		w.texts(path.Join(dir, "categories", g.Key), g.SourceLocale, g.SortOrder, "", g.Texts)
	}
	for _, a := range c.Articles {
		base := path.Join(dir, "articles", a.Key)
		w.version(base, ".md", a.Live)
		if a.Draft != nil {
			w.version(base, ".draft.md", *a.Draft)
		}
	}
}

func (w *writer) texts(base, source string, order Number, icon string, texts map[string]Text) {
	for _, locale := range sorted(texts) {
		front := textFront{Name: texts[locale].Name}
		if locale == source {
			front.Source, front.SortOrder, front.Icon = true, order, icon
		}
		data, err := document(front, lines(texts[locale].Summary))
		w.text(base+"."+locale+".md", data, err)
	}
}

func (w *writer) version(base, ending string, v Version) {
	for _, locale := range sorted(v.Texts) {
		t := v.Texts[locale]
		front := articleFront{Title: t.Title, Summary: lines(t.Summary)}
		if t.Format != Markdown {
			front.Format = t.Format
		}
		if locale == v.SourceLocale {
			front.Unfinished = v.Unfinished
			front.Source, front.Status, front.SortOrder, front.Categories = true, v.Status, v.SortOrder, v.Categories
		}
		data, err := document(front, lines(t.Content))
		w.text(base+"."+locale+ending, data, err)
	}
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
