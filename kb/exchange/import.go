package exchange

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/contenthtml"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/filetype"
	"github.com/helpwright/helpwright/storage/plain"
)

// Options configures an import.
type Options struct {
	// DryRun only reports what would change.
	DryRun bool
	// Delete deletes from the site what the folder does not have. Otherwise it is kept.
	Delete bool
}

// Change is one change made by an import.
type Change struct {
	Action Action
	Path   string // in the folder; of a text, without its locale
	// Fields lists what an update changes: "status", or in a language "en.title"; "+fr" adds a language, "-fr" removes one.
	// "files" means addresses of replaced files.
	Fields []string
}

// Action is what is done.
type Action string

// The actions.
const (
	Create Action = "create"
	Update Action = "update"
	Delete Action = "delete"
)

// String formats the change as a command prints it.
func (c Change) String() string {
	if len(c.Fields) == 0 {
		return fmt.Sprintf("%-6s %s", c.Action, c.Path)
	}
	return fmt.Sprintf("%-6s %s (%s)", c.Action, c.Path, strings.Join(c.Fields, ", "))
}

// Import changes a site to match a folder. It changes live texts in place and drafts as drafts. It leaves alone what already
// matches, so that importing the same folder again changes nothing.
//
// Import first rehearses all changes. If the service would refuse some, it returns an error of type [Problems] and changes
// nothing. Each resource is changed in its own transaction: if an import ends early, for instance because the database
// became unreachable, another one completes it. Import returns the changes made so far.
func (x Exchange) Import(ctx context.Context, folder Site, opts Options) ([]Change, error) {
	s, err := x.load(ctx)
	if err != nil {
		return nil, err
	}
	if opts.Delete {
		s.leaving = folder.lacks(s.folder)
	} else {
		folder = folder.with(s.folder)
	}
	plan := &importer{Exchange: x, ctx: ctx, s: s.clone(), start: s, opts: opts, folder: folder, was: s.folder, rehearsal: true}
	plan.Editor = x.Editor.Rehearsal()
	if err := plan.run(); err != nil {
		return nil, err // nothing has changed
	}
	if opts.DryRun {
		return plan.changes, nil
	}
	if len(s.unnamed) > 0 {
		if err := x.Editor.SetExchangeKeys(ctx, s.unnamed); err != nil {
			return nil, err
		}
	}
	i := &importer{Exchange: x, ctx: ctx, s: s, start: s.clone(), opts: opts, folder: folder, was: s.folder}
	err = i.run()
	return i.changes, err
}

// importer is one import.
type importer struct {
	Exchange
	ctx       context.Context //nolint:containedctx // it is for one import
	s         *state          // current state
	start     *state          // initial state
	opts      Options
	folder    Site
	was       Site
	rehearsal bool // all changes of the editor are rolled back
	problems  Problems
	changes   []Change
	outdated  []int64 // replaced files
	inFolder  map[kb.KeyKind]map[string]bool
	waiting   []func() error // for links to articles that do not exist yet
}

func (i *importer) run() error {
	for _, step := range []func() error{i.site, i.files, i.look, i.collections, i.categories, i.articles, i.links, i.remove} {
		if err := step(); err != nil {
			return err
		}
	}
	if len(i.problems) > 0 {
		return i.problems.sorted()
	}
	return nil
}

// notCreated is the placeholder id of a resource that a rehearsal would create.
const notCreated = -1

// change makes a change and records it. source is the locale of the file to name in problems that the service finds, "" when
// path is the file itself.
func (i *importer) change(c Change, source string, do func() error) error {
	err := do()
	if i.rehearsal {
		f, ok := errors.AsType[*fault.Error](err)
		switch {
		case !ok:
		case f.Kind == fault.Precondition, f.Kind == fault.NotFound, f.Kind == fault.Conflict:
			err = nil // rolled back, or it conflicts with what an earlier rehearsed change deletes or creates
		case f.Kind == fault.Invalid, f.Kind == fault.TooLarge:
			i.refused(c.Path, source, f)
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.Path, err)
	}
	i.changes = append(i.changes, c)
	return nil
}

var translated = regexp.MustCompile(`^translations\[([^]]+)\](?:\[(\w+)\])?$`)

// refused records a problem that the service found, with its file.
func (i *importer) refused(path, source string, f *fault.Error) {
	base, draft := strings.CutSuffix(path, " (draft)")
	file := func(locale string) string {
		switch {
		case locale == "":
			return base
		case draft:
			return base + "." + locale + ".draft.md"
		}
		return base + "." + locale + ".md"
	}
	if len(f.Fields) == 0 {
		i.problems = append(i.problems, Problem{Path: file(source), Message: f.Text()})
	}
	for field, messages := range f.Fields {
		at := file(source)
		if m := translated.FindStringSubmatch(field); m != nil {
			at, field = file(m[1]), m[2]
		}
		i.problems = append(i.problems, Problem{Path: at, Message: strings.TrimSpace(field + " " + strings.Join(messages, "; "))})
	}
}

// born records the id of a new resource.
func (i *importer) born(kind kb.KeyKind, id int64, key string) {
	i.s.ids[kind][key], i.s.keys[kind][id] = id, key
}

func (i *importer) site() error {
	want, was := i.folder, i.was
	var fields differences
	fields.add("name", plain.Line(want.Name) != was.Name)
	fields.add("visibility", cmp.Or(want.Visibility, was.Visibility) != was.Visibility)
	fields.add("html_head", lines(plain.Text(want.HTMLHead)) != was.HTMLHead)
	if len(fields) == 0 || want.Partial {
		return nil
	}
	return i.change(Change{Update, "site.yaml", fields}, "", func() error {
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
	before := byKey(i.was.Files, fileKey)
	for _, f := range i.folder.Files {
		change := Change{Create, "files/" + f.Name, nil}
		if old, known := before[f.Name]; known {
			same, err := sameBytes(f, old)
			if err != nil {
				return fmt.Errorf("files/%s: %w", f.Name, err)
			}
			if same {
				continue
			}
			change = Change{Update, "files/" + f.Name, []string{"content"}}
		}
		store := i.upload
		if i.rehearsal {
			store = i.accepts
		}
		if err := i.change(change, "", func() error { return store(f) }); err != nil {
			return err
		}
		if old := i.s.ids[kb.FileKey][f.Name]; i.rehearsal && old != 0 {
			i.outdated = append(i.outdated, old)
		}
	}
	return nil
}

// accepts checks whether the service would accept a file, without storing it.
func (i *importer) accepts(f File) error {
	if limit := i.Service.MaxFile(); f.Size > limit {
		return fault.Newf(fault.TooLarge, "it is larger than %d MB", limit>>20)
	}
	content, err := f.Open()
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // opened for reading only
	head, err := io.ReadAll(io.LimitReader(content, filetype.HeadSize))
	if err != nil {
		return err
	}
	if problem := filetype.Check(filetype.SafeName(f.Name), head, filetype.Documents()); problem != "" {
		return fault.New(fault.Invalid, problem)
	}
	return nil
}

// upload adds a file. An existing file of the same name is deleted once no article uses it.
func (i *importer) upload(f File) error {
	content, err := f.Open()
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // opened for reading only
	made, err := i.Editor.CreateFile(i.ctx, kb.FileUpload{Filename: f.Name, Content: content, ExchangeKey: f.Name})
	if err != nil {
		return err
	}
	if old := i.s.ids[kb.FileKey][f.Name]; old != 0 {
		i.outdated = append(i.outdated, old)
	}
	i.s.files[made.ID] = made
	i.born(kb.FileKey, made.ID, f.Name)
	return nil
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
	defer func() { _ = r.Close() }() // opened for reading only
	h := sha256.New()
	_, err = io.Copy(h, r)
	return h.Sum(nil), err
}

func (i *importer) collections() error {
	before := byKey(i.was.Collections, collectionKey)
	for _, c := range i.folder.Collections {
		old, known := before[c.Key]
		path := "collections/" + c.Key + "/index"
		c.Texts, c.Icon = cleaned(c.Texts), strings.TrimSpace(c.Icon)
		in := kb.CollectionInput{TextInput: named(c.SourceLocale, c.Texts, old.Texts), SortOrder: order(c.SortOrder), ExchangeKey: c.Key}
		if c.Icon != "" {
			in.Icon = storage.Some(c.Icon)
		}
		var fields differences
		fields.add("icon", cmp.Or(c.Icon, old.Icon) != old.Icon)
		fields.texts(c.SourceLocale, old.SourceLocale, c.SortOrder, old.SortOrder, c.Texts, old.Texts)
		var err error
		switch {
		case !known:
			i.s.ids[kb.CollectionKey][c.Key] = notCreated
			err = i.change(Change{Create, path, nil}, c.SourceLocale, func() error {
				made, err := i.Editor.CreateCollection(i.ctx, in)
				if err == nil {
					i.born(kb.CollectionKey, made.ID, c.Key)
				}
				return err
			})
		case len(fields) > 0:
			err = i.change(Change{Update, path, fields}, c.SourceLocale, func() error {
				_, err := i.Editor.UpdateCollection(i.ctx, i.s.ids[kb.CollectionKey][c.Key], in)
				return err
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (i *importer) categories() error {
	before := byKey(categoriesOf(i.was), categoryKey)
	for _, c := range categoriesOf(i.folder) {
		old, known := before[c.T.Key]
		path := "collections/" + c.in + "/categories/" + c.T.Key
		c.T.Texts = cleaned(c.T.Texts)
		in := kb.CategoryInput{
			TextInput: named(c.T.SourceLocale, c.T.Texts, old.T.Texts), CollectionID: i.s.ids[kb.CollectionKey][c.in], SortOrder: order(c.T.SortOrder),
			ExchangeKey: c.T.Key,
		}
		var fields differences
		fields.add("collection", c.in != old.in)
		fields.texts(c.T.SourceLocale, old.T.SourceLocale, c.T.SortOrder, old.T.SortOrder, c.T.Texts, old.T.Texts)
		var err error
		switch {
		case !known:
			i.s.ids[kb.CategoryKey][c.T.Key] = notCreated
			err = i.change(Change{Create, path, nil}, c.T.SourceLocale, func() error {
				made, err := i.Editor.CreateCategory(i.ctx, in)
				if err == nil {
					i.born(kb.CategoryKey, made.ID, c.T.Key)
				}
				return err
			})
		case len(fields) > 0:
			err = i.change(Change{Update, path, fields}, c.T.SourceLocale, func() error {
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
	before := byKey(articlesOf(i.was), articleKey)
	for _, a := range articlesOf(i.folder) {
		old, known := before[a.T.Key]
		path := "collections/" + a.in + "/articles/" + a.T.Key
		live := i.settled(a.in, a.T.Live)
		var fields differences
		fields.add("collection", a.in != old.in)
		fields.version(live, old.T.Live)
		fields.add("files", i.moved(a.in, old.T.Live))
		fields.add("links", known && (i.loose(a.T.Key) || i.linksToNew(a.in, live)))
		var err error
		switch {
		case !known:
			i.s.ids[kb.ArticleKey][a.T.Key] = notCreated
			err = i.change(Change{Create, path, nil}, live.SourceLocale, func() error {
				in := i.input(a.in, live, Version{})
				in.ExchangeKey = a.T.Key
				made, err := i.Editor.CreateArticle(i.ctx, in)
				if err == nil {
					i.born(kb.ArticleKey, made.Article.ID, a.T.Key)
				}
				return err
			})
		case len(fields) > 0:
			err = i.change(Change{Update, path, fields}, live.SourceLocale, func() error {
				_, err := i.Editor.UpdateArticle(i.ctx, i.s.ids[kb.ArticleKey][a.T.Key], i.input(a.in, live, old.T.Live))
				return err
			})
		}
		if i.waits(a.in, live) {
			i.waiting = append(i.waiting, func() error {
				_, err := i.Editor.UpdateArticle(i.ctx, i.s.ids[kb.ArticleKey][a.T.Key], i.input(a.in, live, live))
				return err
			})
		}
		if err == nil && a.T.Draft != nil {
			err = i.draft(path+" (draft)", a, old)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (i *importer) draft(path string, a, old located[Article]) error {
	draft, change, was := i.settled(a.in, *a.T.Draft), Change{Create, path, nil}, a.T.Live
	draft.Status = ""
	if old.T.Draft != nil {
		was = *old.T.Draft
		var fields differences
		fields.add("collection", a.in != old.in)
		fields.version(draft, was)
		fields.add("files", i.moved(a.in, was))
		fields.add("links", i.loose(a.T.Key) || i.linksToNew(a.in, draft))
		if len(fields) == 0 {
			return nil
		}
		change = Change{Update, path, fields}
	}
	if i.waits(a.in, draft) {
		i.waiting = append(i.waiting, func() error {
			in := i.input(a.in, draft, draft)
			in.Status = storage.Some(kb.Unpublished)
			_, err := i.Editor.UpdateDraft(i.ctx, i.s.ids[kb.ArticleKey][a.T.Key], in)
			return err
		})
	}
	return i.change(change, draft.SourceLocale, func() error {
		in := i.input(a.in, draft, was)
		in.Status = storage.Some(kb.Unpublished)
		id := i.s.ids[kb.ArticleKey][a.T.Key]
		if id == notCreated { // the service applies the same rules to both
			_, err := i.Editor.CreateArticle(i.ctx, in)
			return err
		}
		_, err := i.Editor.UpdateDraft(i.ctx, id, in)
		return err
	})
}

// moved reports whether a version uses a replaced file, whose address has changed.
func (i *importer) moved(collection string, v Version) bool {
	if len(i.outdated) == 0 {
		return false
	}
	return i.leadsTo(collection, v, func(kind kb.KeyKind, key string) bool {
		return kind == kb.FileKey && slices.Contains(i.outdated, i.start.ids[kind][key])
	})
}

// linksToNew reports whether a version links to a resource that this import creates, and which it can link to only then.
func (i *importer) linksToNew(collection string, v Version) bool {
	return i.leadsTo(collection, v, i.makes)
}

// loose reports whether an article has paths that an earlier import could not resolve.
func (i *importer) loose(key string) bool { return i.start.loose[i.start.ids[kb.ArticleKey][key]] }

// waits reports whether a version links to an article that this import creates, perhaps later.
func (i *importer) waits(collection string, v Version) bool {
	return i.leadsTo(collection, v, func(kind kb.KeyKind, key string) bool { return kind == kb.ArticleKey && i.makes(kind, key) })
}

// makes reports whether the folder has a resource that the site did not have.
func (i *importer) makes(kind kb.KeyKind, key string) bool {
	if i.inFolder == nil {
		i.inFolder = i.folder.keys()
	}
	return i.inFolder[kind][key] && i.start.ids[kind][key] == 0
}

// keys returns the keys of what a site has.
func (s Site) keys() map[kb.KeyKind]map[string]bool {
	return map[kb.KeyKind]map[string]bool{
		kb.FileKey: keySet(s.Files, fileKey), kb.CollectionKey: keySet(s.Collections, collectionKey),
		kb.CategoryKey: keySet(categoriesOf(s), categoryKey), kb.ArticleKey: keySet(articlesOf(s), articleKey),
	}
}

// lacks returns the keys of what only another site has.
func (s Site) lacks(other Site) map[kb.KeyKind]map[string]bool {
	own, left := s.keys(), other.keys()
	for kind, keys := range left {
		maps.DeleteFunc(keys, func(key string, _ bool) bool { return own[kind][key] })
	}
	return left
}

func keySet[T any](all []T, key func(T) string) map[string]bool {
	set := make(map[string]bool, len(all))
	for _, v := range all {
		set[key(v)] = true
	}
	return set
}

// leadsTo reports whether any path in a version leads to a target that asked accepts.
func (i *importer) leadsTo(collection string, v Version, which func(kind kb.KeyKind, key string) bool) bool {
	found := false
	for _, t := range v.Texts {
		mapped(t.Format, t.Content, func(address string) string {
			if kind, key, _, ok := target(address, collection); ok && !found {
				found = which(kind, key)
			}
			return address
		})
	}
	return found
}

// links updates the articles whose links had to wait for other articles.
func (i *importer) links() error {
	if i.rehearsal {
		return nil
	}
	for _, link := range i.waiting {
		if err := link(); err != nil {
			return err
		}
	}
	return nil
}

// settled returns a version as the site would store it: cleaned, trimmed and sorted.
func (i *importer) settled(collection string, v Version) Version {
	v.Status = cmp.Or(v.Status, string(kb.Published))
	v.Categories = slices.Clone(v.Categories)
	slices.Sort(v.Categories)
	v.Categories = slices.Compact(v.Categories)
	texts := map[string]ArticleText{}
	for locale, t := range v.Texts {
		t.Title, t.Summary = plain.Line(t.Title), plain.Lines(t.Summary)
		if t.Content = lines(plain.Text(t.Content)); t.Format == HTML {
			t.Content = contenthtml.Clean(i.start.toReferences(t.Format, contenthtml.Clean(t.Content), collection))
		} else {
			t.Content = i.start.toReferences(t.Format, t.Content, collection)
		}
		t.Content = i.start.toPaths(t.Format, t.Content, locale)
		if t.Content == "" {
			t.Format = Markdown
		}
		texts[locale] = t
	}
	v.Texts = texts
	return v
}

// input returns the input that makes an article match a version; old is its previous version.
func (i *importer) input(collection string, v, old Version) kb.ArticleInput {
	in := kb.ArticleInput{
		TextInput:    kb.TextInput{SourceLocale: v.SourceLocale, Translations: map[string]storage.Opt[kb.TranslationInput]{}},
		CollectionID: i.s.ids[kb.CollectionKey][collection], SortOrder: order(v.SortOrder), Unfinished: v.Unfinished,
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
		if content := i.s.toReferences(t.Format, t.Content, collection); t.Format == HTML {
			given.Content = storage.Some(content)
		} else {
			given.Markdown = storage.Some(content)
		}
		in.Translations[locale] = storage.Some(given)
	}
	return in
}

// cleaned returns texts as the site would store them.
func cleaned(texts map[string]Text) map[string]Text {
	out := map[string]Text{}
	for locale, t := range texts {
		out[locale] = Text{Name: plain.Line(t.Name), Summary: plain.Lines(t.Summary)}
	}
	return out
}

// named returns the input for the texts of a collection or category.
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

// order returns a place among siblings; without a number an existing resource keeps its place, and a new one goes last.
func order(n Number) storage.Opt[kb.SortOrder] {
	place, err := kb.ParseSortOrder(string(n))
	if n == "" || err != nil {
		return storage.Opt[kb.SortOrder]{}
	}
	return storage.Some(place)
}

// remove deletes what the folder does not have, and files that were replaced.
func (i *importer) remove() error {
	for _, id := range i.outdated {
		if i.rehearsal {
			break // articles still use them
		}
		if err := i.Editor.DeleteFile(i.ctx, id); err != nil {
			return err
		}
	}
	if !i.opts.Delete {
		return nil
	}
	if err := i.removeArticles(); err != nil {
		return err
	}
	categories := byKey(categoriesOf(i.folder), categoryKey)
	for _, c := range categoriesOf(i.was) {
		if _, kept := categories[c.T.Key]; !kept {
			if err := i.delete("collections/"+c.in+"/categories/"+c.T.Key, kb.CategoryKey, c.T.Key, i.Editor.DeleteCategory); err != nil {
				return err
			}
		}
	}
	collections := byKey(i.folder.Collections, collectionKey)
	for _, c := range i.was.Collections {
		if _, kept := collections[c.Key]; !kept {
			if err := i.delete("collections/"+c.Key+"/index", kb.CollectionKey, c.Key, i.Editor.DeleteCollection); err != nil {
				return err
			}
		}
	}
	files := byKey(i.folder.Files, fileKey)
	for _, f := range i.was.Files {
		if _, kept := files[f.Name]; !kept {
			if err := i.delete("files/"+f.Name, kb.FileKey, f.Name, i.Editor.DeleteFile); err != nil {
				return err
			}
		}
	}
	return nil
}

func (i *importer) removeArticles() error {
	articles := byKey(articlesOf(i.folder), articleKey)
	for _, a := range articlesOf(i.was) {
		path := "collections/" + a.in + "/articles/" + a.T.Key
		now, kept := articles[a.T.Key]
		var err error
		if !kept {
			err = i.delete(path, kb.ArticleKey, a.T.Key, i.Editor.DeleteArticle)
		} else if a.T.Draft != nil && now.T.Draft == nil {
			err = i.delete(path+" (draft)", kb.ArticleKey, a.T.Key, i.Editor.DeleteDraft)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (i *importer) delete(path string, kind kb.KeyKind, key string, remove func(context.Context, int64) error) error {
	return i.change(Change{Delete, path, nil}, "", func() error { return remove(i.ctx, i.s.ids[kind][key]) })
}
