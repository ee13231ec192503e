package exchange

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/contenthtml"
	"github.com/helpwright/helpwright/storage"
)

// Options of an import.
type Options struct {
	// DryRun only tells what would be changed.
	DryRun bool
	// Delete removes from the site what the folder does not have. Otherwise it stays.
	Delete bool
}

// Change is something that an import changes.
type Change struct {
	Action Action
	Path   string // in the folder; of an article, without its locale
}

// Action is what is done.
type Action string

// The actions.
const (
	Create Action = "create"
	Update Action = "update"
	Delete Action = "delete"
)

// String is as a command prints it.
func (c Change) String() string { return fmt.Sprintf("%-6s %s", c.Action, c.Path) }

// Import makes a site what a folder says. Live texts are changed in place, drafts as
// drafts; what is the same already is left alone, so that a second import of the same
// folder changes nothing. Each thing is changed in a transaction of its own: an import
// that ends early is completed by another one. It returns what was changed until then.
func (x Exchange) Import(ctx context.Context, folder Site, opts Options) ([]Change, error) {
	s, err := x.load(ctx)
	if err != nil {
		return nil, err
	}
	if !opts.DryRun && len(s.unnamed) > 0 {
		if err := x.Editor.SetExchangeKeys(ctx, s.unnamed); err != nil {
			return nil, err
		}
	}
	i := &importer{Exchange: x, ctx: ctx, s: s, opts: opts, folder: folder, was: s.folder}
	for _, step := range []func() error{i.site, i.files, i.collections, i.categories, i.articles, i.remove} {
		if err := step(); err != nil {
			return i.changes, err
		}
	}
	return i.changes, nil
}

// importer is one import.
type importer struct {
	Exchange
	ctx      context.Context
	s        *state
	opts     Options
	folder   Site
	was      Site
	changes  []Change
	outdated []int64 // files that were replaced
}

// change notes a change, and makes it unless none is to be made.
func (i *importer) change(action Action, path string, do func() error) error {
	if i.opts.DryRun {
		i.changes = append(i.changes, Change{action, path})
		return nil
	}
	if err := do(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	i.changes = append(i.changes, Change{action, path})
	return nil
}

// named stores the key of something new.
func (i *importer) named(kind kb.KeyKind, id int64, key string) error {
	i.s.ids[kind][key], i.s.keys[kind][id] = id, key
	return i.Editor.SetExchangeKeys(i.ctx, []kb.ExchangeKey{{Kind: kind, ID: id, Key: key}})
}

func (i *importer) site() error {
	want := i.folder
	if want.Name == i.was.Name && cmp.Or(want.Visibility, i.was.Visibility) == i.was.Visibility && want.HTMLHead == i.was.HTMLHead {
		return nil
	}
	return i.change(Update, "site.yaml", func() error {
		site, err := i.Editor.Site(i.ctx)
		if err != nil {
			return err
		}
		in := kb.SiteInput{AccountID: site.AccountID, Name: want.Name, HTMLHead: storage.Some(want.HTMLHead)}
		if want.Visibility != "" {
			in.Visibility = storage.Some(kb.Visibility(want.Visibility))
		}
		_, err = i.Editor.UpdateSite(i.ctx, in)
		return err
	})
}

func (i *importer) files() error {
	for _, f := range i.folder.Files {
		action := Create
		if old := slices.IndexFunc(i.was.Files, func(o File) bool { return o.Name == f.Name }); old >= 0 {
			same, err := sameBytes(f, i.was.Files[old])
			if err != nil {
				return fmt.Errorf("files/%s: %w", f.Name, err)
			}
			if same {
				continue
			}
			action = Update
		}
		err := i.change(action, "files/"+f.Name, func() error { return i.upload(f) })
		if err != nil {
			return err
		}
	}
	return nil
}

// upload adds a file. One of the same name goes when no article uses it any more.
func (i *importer) upload(f File) error {
	content, err := f.Open()
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // it was only read
	made, err := i.Editor.CreateFile(i.ctx, kb.FileUpload{Filename: f.Name, Content: content})
	if err != nil {
		return err
	}
	if old := i.s.ids[kb.FileKey][f.Name]; old != 0 {
		i.outdated = append(i.outdated, old)
	}
	i.s.files[made.ID] = made
	return i.named(kb.FileKey, made.ID, f.Name)
}

func sameBytes(a, b File) (bool, error) {
	if a.Size != b.Size {
		return false, nil
	}
	x, err := sum(a)
	if err != nil {
		return false, err
	}
	y, err := sum(b)
	return bytes.Equal(x, y), err
}

func sum(f File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // it was only read
	h := sha256.New()
	_, err = io.Copy(h, r)
	return h.Sum(nil), err
}

// lookup finds what has a key.
func lookup[T any](all []T, key func(T) string, wanted string) (T, bool) {
	i := slices.IndexFunc(all, func(v T) bool { return key(v) == wanted })
	if i < 0 {
		var none T
		return none, false
	}
	return all[i], true
}

func collectionKey(c Collection) string { return c.Key }

func (i *importer) collections() error {
	for _, c := range i.folder.Collections {
		old, known := lookup(i.was.Collections, collectionKey, c.Key)
		path := "collections/" + c.Key
		c.Texts = trimmed(c.Texts)
		in := kb.CollectionInput{TextInput: named(c.SourceLocale, c.Texts, old.Texts), SortOrder: order(c.SortOrder)}
		switch {
		case !known:
			err := i.change(Create, path, func() error {
				made, err := i.Editor.CreateCollection(i.ctx, in)
				if err != nil {
					return err
				}
				return i.named(kb.CollectionKey, made.ID, c.Key)
			})
			if err != nil {
				return err
			}
		case c.SourceLocale != old.SourceLocale || cmp.Or(c.SortOrder, old.SortOrder) != old.SortOrder || !maps.Equal(c.Texts, old.Texts):
			err := i.change(Update, path, func() error {
				_, err := i.Editor.UpdateCollection(i.ctx, i.s.ids[kb.CollectionKey][c.Key], in)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// located is something with the collection that it is in.
type located[T any] struct {
	in string
	T  T
}

func spread[T any](site Site, of func(Collection) []T) []located[T] {
	var all []located[T]
	for _, c := range site.Collections {
		for _, v := range of(c) {
			all = append(all, located[T]{c.Key, v})
		}
	}
	return all
}

func categoriesOf(s Site) []located[Category] {
	return spread(s, func(c Collection) []Category { return c.Categories })
}
func articlesOf(s Site) []located[Article] {
	return spread(s, func(c Collection) []Article { return c.Articles })
}
func categoryKey(c located[Category]) string { return c.T.Key }
func articleKey(a located[Article]) string   { return a.T.Key }

func (i *importer) categories() error {
	before := categoriesOf(i.was)
	for _, c := range categoriesOf(i.folder) {
		old, known := lookup(before, categoryKey, c.T.Key)
		path := "collections/" + c.in + "/categories/" + c.T.Key
		c.T.Texts = trimmed(c.T.Texts)
		in := kb.CategoryInput{
			TextInput: named(c.T.SourceLocale, c.T.Texts, old.T.Texts), CollectionID: i.s.ids[kb.CollectionKey][c.in], SortOrder: order(c.T.SortOrder),
		}
		var err error
		switch {
		case !known:
			err = i.change(Create, path, func() error {
				made, err := i.Editor.CreateCategory(i.ctx, in)
				if err != nil {
					return err
				}
				return i.named(kb.CategoryKey, made.ID, c.T.Key)
			})
		case c.in != old.in || c.T.SourceLocale != old.T.SourceLocale || cmp.Or(c.T.SortOrder, old.T.SortOrder) != old.T.SortOrder ||
			!maps.Equal(c.T.Texts, old.T.Texts):
			err = i.change(Update, path, func() error {
				_, err := i.Editor.UpdateCategory(i.ctx, i.s.ids[kb.CategoryKey][c.T.Key], in)
				return err
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (i *importer) articles() error {
	before := articlesOf(i.was)
	for _, a := range articlesOf(i.folder) {
		old, known := lookup(before, articleKey, a.T.Key)
		path := "collections/" + a.in + "/articles/" + a.T.Key
		live := i.settled(a.T.Live)
		switch {
		case !known:
			err := i.change(Create, path, func() error {
				made, err := i.Editor.CreateArticle(i.ctx, i.input(a.in, live, Version{}))
				if err != nil {
					return err
				}
				return i.named(kb.ArticleKey, made.Article.ID, a.T.Key)
			})
			if err != nil {
				return err
			}
		case a.in != old.in || !sameVersion(live, old.T.Live) || i.moved(old.T.Live):
			err := i.change(Update, path, func() error {
				_, err := i.Editor.UpdateArticle(i.ctx, i.s.ids[kb.ArticleKey][a.T.Key], i.input(a.in, live, old.T.Live))
				return err
			})
			if err != nil {
				return err
			}
		}
		if err := i.draft(path+" (draft)", a, old); err != nil {
			return err
		}
	}
	return nil
}

func (i *importer) draft(path string, a, old located[Article]) error {
	if a.T.Draft == nil {
		return nil
	}
	draft, action, was := i.settled(*a.T.Draft), Create, a.T.Live
	draft.Status = ""
	if old.T.Draft != nil {
		action, was = Update, *old.T.Draft
		if a.in == old.in && sameVersion(draft, *old.T.Draft) && !i.moved(*old.T.Draft) {
			return nil
		}
	}
	return i.change(action, path, func() error {
		in := i.input(a.in, draft, was)
		in.Status = storage.Some(kb.Unpublished)
		_, err := i.Editor.UpdateDraft(i.ctx, i.s.ids[kb.ArticleKey][a.T.Key], in)
		return err
	})
}

// moved reports whether a version uses a file that was replaced, which has another
// address now.
func (i *importer) moved(v Version) bool {
	for _, id := range i.outdated {
		name := relative + i.s.files[id].Filename
		for _, t := range v.Texts {
			if strings.Contains(t.Content, name) {
				return true
			}
		}
	}
	return false
}

// settled is a version as the site would have it: cleaned, trimmed and in order.
func (i *importer) settled(v Version) Version {
	v.Status = cmp.Or(v.Status, string(kb.Published))
	v.Categories = slices.Clone(v.Categories)
	slices.Sort(v.Categories)
	v.Categories = slices.Compact(v.Categories)
	texts := map[string]ArticleText{}
	for locale, t := range v.Texts {
		t.Title, t.Summary = strings.TrimSpace(t.Title), strings.TrimSpace(t.Summary)
		if t.Format == HTML {
			t.Content = i.toPaths(i.s, contenthtml.Clean(i.toAddresses(i.s, t.Content)))
		}
		if t.Content == "" {
			t.Format = Markdown
		}
		texts[locale] = t
	}
	v.Texts = texts
	return v
}

func sameVersion(a, b Version) bool {
	a.SortOrder, a.Categories, b.Categories = cmp.Or(a.SortOrder, b.SortOrder), slices.Clip(a.Categories), slices.Clip(b.Categories)
	return a.Status == cmp.Or(b.Status, a.Status) && a.SourceLocale == b.SourceLocale && a.SortOrder == b.SortOrder &&
		slices.Equal(a.Categories, b.Categories) && reflect.DeepEqual(a.Texts, b.Texts)
}

// input is what makes an article of a version; old is what it was.
func (i *importer) input(collection string, v, old Version) kb.ArticleInput {
	in := kb.ArticleInput{
		TextInput:    kb.TextInput{SourceLocale: v.SourceLocale, Translations: map[string]storage.Opt[kb.TranslationInput]{}},
		CollectionID: i.s.ids[kb.CollectionKey][collection], SortOrder: order(v.SortOrder),
	}
	if v.Status != "" {
		in.Status = storage.Some(kb.Status(v.Status))
	}
	categories := []int64{}
	for _, key := range v.Categories {
		categories = append(categories, i.s.ids[kb.CategoryKey][key])
	}
	in.CategoryIDs = storage.Some(categories)
	for locale := range old.Texts {
		in.Translations[locale] = storage.Null[kb.TranslationInput]()
	}
	for locale, t := range v.Texts {
		given := kb.TranslationInput{Title: storage.Some(t.Title), Summary: storage.Some(t.Summary)}
		if content := i.toAddresses(i.s, t.Content); t.Format == HTML {
			given.Content = storage.Some(content)
		} else {
			given.Markdown = storage.Some(content)
		}
		in.Translations[locale] = storage.Some(given)
	}
	return in
}

func trimmed(texts map[string]Text) map[string]Text {
	out := map[string]Text{}
	for locale, t := range texts {
		out[locale] = Text{Name: strings.TrimSpace(t.Name), Summary: strings.TrimSpace(t.Summary)}
	}
	return out
}

// named is what makes the texts of a collection or category.
func named(source string, texts, old map[string]Text) kb.TextInput {
	in := kb.TextInput{SourceLocale: source, Translations: map[string]storage.Opt[kb.TranslationInput]{}}
	for locale := range old {
		in.Translations[locale] = storage.Null[kb.TranslationInput]()
	}
	for locale, t := range texts {
		in.Translations[locale] = storage.Some(kb.TranslationInput{Title: storage.Some(t.Name), Summary: storage.Some(t.Summary)})
	}
	return in
}

// order is a place among siblings; none leaves something where it is, and puts what
// is new last.
func order(n Number) storage.Opt[kb.SortOrder] {
	place, err := kb.ParseSortOrder(string(n))
	if n == "" || err != nil {
		return storage.Opt[kb.SortOrder]{}
	}
	return storage.Some(place)
}

// remove takes away what the folder does not have, and files that were replaced.
func (i *importer) remove() error {
	for _, id := range i.outdated {
		if err := i.Editor.DeleteFile(i.ctx, id); err != nil {
			return err
		}
	}
	if !i.opts.Delete {
		return nil
	}
	articles, categories := articlesOf(i.folder), categoriesOf(i.folder)
	for _, a := range articlesOf(i.was) {
		path, id := "collections/"+a.in+"/articles/"+a.T.Key, i.s.ids[kb.ArticleKey][a.T.Key]
		now, kept := lookup(articles, articleKey, a.T.Key)
		var err error
		if !kept {
			err = i.change(Delete, path, func() error { return i.Editor.DeleteArticle(i.ctx, id) })
		} else if a.T.Draft != nil && now.T.Draft == nil {
			err = i.change(Delete, path+" (draft)", func() error { return i.Editor.DeleteDraft(i.ctx, id) })
		}
		if err != nil {
			return err
		}
	}
	for _, c := range categoriesOf(i.was) {
		if _, kept := lookup(categories, categoryKey, c.T.Key); !kept {
			id := i.s.ids[kb.CategoryKey][c.T.Key]
			if err := i.change(Delete, "collections/"+c.in+"/categories/"+c.T.Key, func() error { return i.Editor.DeleteCategory(i.ctx, id) }); err != nil {
				return err
			}
		}
	}
	for _, c := range i.was.Collections {
		if _, kept := lookup(i.folder.Collections, collectionKey, c.Key); !kept {
			id := i.s.ids[kb.CollectionKey][c.Key]
			if err := i.change(Delete, "collections/"+c.Key, func() error { return i.Editor.DeleteCollection(i.ctx, id) }); err != nil {
				return err
			}
		}
	}
	for _, f := range i.was.Files {
		if _, kept := lookup(i.folder.Files, func(o File) string { return o.Name }, f.Name); !kept {
			id := i.s.ids[kb.FileKey][f.Name]
			if err := i.change(Delete, "files/"+f.Name, func() error { return i.Editor.DeleteFile(i.ctx, id) }); err != nil {
				return err
			}
		}
	}
	return nil
}
